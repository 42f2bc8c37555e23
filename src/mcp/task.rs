//! Tasks: results that are fetched later.

/// The extension that tasks are in the modern era.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// What a host must declare to use them in the modern era: client capabilities, a JSON object.
pub const REQUIRED: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

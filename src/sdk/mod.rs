//! The Rust SDK: what a tool process written in Rust uses.

pub mod peer;

mod args;
mod completion;
mod content;
mod context;
mod error;
mod json;
mod lead;
mod middleware;
mod prompt;
mod resource;
mod result;
mod serve;
mod server;
mod tool;

pub use serde_json::{Value, json};

pub use self::args::{Args, Argument};
pub use self::completion::{Completing, Completion, Reference};
pub use self::content::Content;
pub use self::context::{Context, LogLevel, Root, Sampled, Sampling, ToolChanges, ToolList};
pub use self::error::{Error, ToolError};
pub use self::json::Json;
pub use self::middleware::{AfterCall, BeforeCall, Middleware, middleware};
pub use self::prompt::{Messages, Prompt, PromptBuilder, prompt};
pub use self::resource::{
    Contents, Resource, ResourceBuilder, ResourceTemplate, ResourceTemplateBuilder, Variables, resource,
    resource_template,
};
pub use self::result::ToolResult;
pub use self::server::Server;
pub use self::tool::{Arg, Tool, ToolBuilder, tool};

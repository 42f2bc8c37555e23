//! How a host learns what we are: `initialize` (basic/lifecycle) in the handshake era,
//! `server/discover` (server/discover) in the modern one.

use super::result::{self, Dialect};
use super::revision::{self, Revision};
use super::task;
use crate::jsonrpc::json::{self, Array, Object};

/// What hosts are told about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// Shown by hosts.
    pub name: String,
    /// Any text.
    pub version: String,
    /// For the model: how the server is meant to be used.
    pub instructions: Option<String>,
}

impl ServerInfo {
    /// Name and version as a JSON object, as hosts get them.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        let mut info = Object::open(&mut out);
        info.text("name", &self.name);
        info.text("version", &self.version);
        info.close();
        // What the writers append is text.
        String::from_utf8(out).unwrap_or_default()
    }
}

/// Appends the result of `initialize`.
///
/// Everything is declared, also what the tool process may turn out not to have: hosts ignore
/// later changes of a list whose capability they were not told about.
pub fn write_initialize_result(out: &mut Vec<u8>, revision: Revision, server: &ServerInfo) {
    let mut result = Object::open(out);
    result.text("protocolVersion", revision.as_str());
    write_capabilities(result.member("capabilities"), revision);
    result.token("serverInfo", &server.to_json());
    if let Some(instructions) = &server.instructions {
        result.text("instructions", instructions);
    }
    result.close();
}

/// Appends the result of `server/discover`. Everything is declared here too, so that a method is
/// never missing for a host that asks later.
pub fn write_discover_result(out: &mut Vec<u8>, dialect: Dialect<'_>, server: &ServerInfo) {
    let mut result = result::open(out, dialect);
    let mut versions = Array::open(result.member("supportedVersions"));
    json::write_str(versions.element(), revision::MODERN.as_str());
    versions.close();
    write_capabilities(result.member("capabilities"), dialect.revision);
    if let Some(instructions) = &server.instructions {
        result.text("instructions", instructions);
    }
    result::close_cacheable(result, dialect);
}

fn write_capabilities(out: &mut Vec<u8>, revision: Revision) {
    let mut capabilities = Object::open(out);
    if revision.has_completions() {
        capabilities.raw("completions", "{}");
    }
    if revision.is_modern() {
        let mut extensions = Object::open(capabilities.member("extensions"));
        extensions.raw(task::EXTENSION, "{}");
        extensions.close();
    }
    capabilities.raw("logging", "{}");
    capabilities.raw("prompts", r#"{"listChanged":true}"#);
    capabilities.raw("resources", r#"{"subscribe":true,"listChanged":true}"#);
    if revision.has_core_tasks() {
        capabilities.raw("tasks", r#"{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#);
    }
    capabilities.raw("tools", r#"{"listChanged":true}"#);
    capabilities.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;
    use crate::mcp::result::proof::{MODERN_DIALECT, modern_cacheable};

    #[test]
    fn the_oldest_revision_knows_no_completions() {
        let mut server = ServerInfo { name: "n".into(), version: "1".into(), instructions: None };
        let mut out = Vec::new();
        write_initialize_result(&mut out, Revision::V2024_11_05, &server);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"{"protocolVersion":"2024-11-05","capabilities":{"logging":{},"#,
                r#""prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"#,
                r#""tools":{"listChanged":true}},"serverInfo":{"name":"n","version":"1"}}"#
            )
        );
        server.instructions = Some("Ask\nfirst.".into());
        let mut out = Vec::new();
        write_initialize_result(&mut out, Revision::V2025_03_26, &server);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(r#""capabilities":{"completions":{},"logging":{}"#), "{text}");
        assert!(text.ends_with(r#","instructions":"Ask\nfirst."}"#), "{text}");
        assert!(!text.contains("tasks"), "{text}");
    }

    #[test]
    fn tasks_are_declared_where_they_are_part_of_the_core_and_kept() {
        let server = ServerInfo { name: "n".into(), version: "1".into(), instructions: None };
        let text = written(|out| write_initialize_result(out, Revision::V2025_11_25, &server));
        let tasks = r#","tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}},"tools":"#;
        assert!(text.contains(tasks), "{text}");
        assert!(!text.contains("extensions"), "{text}");
    }

    #[test]
    fn discovery_names_the_modern_era_alone() {
        let instructions = Some("Ask.".to_owned());
        let server = ServerInfo { name: "s".into(), version: "1".into(), instructions };
        assert_eq!(server.to_json(), MODERN_DIALECT.server_json);
        let mut out = Vec::new();
        write_discover_result(&mut out, MODERN_DIALECT, &server);
        let expected = modern_cacheable(concat!(
            r#""supportedVersions":["2026-07-28"],"capabilities":{"completions":{},"#,
            r#""extensions":{"io.modelcontextprotocol/tasks":{}},"logging":{},"#,
            r#""prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"#,
            r#""tools":{"listChanged":true}},"instructions":"Ask.","#,
        ));
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

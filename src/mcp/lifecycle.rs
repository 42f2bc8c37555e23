//! `initialize` (basic/lifecycle).

use super::revision::Revision;
use crate::jsonrpc::json::Object;

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

/// Appends the result of `initialize`.
///
/// Everything is declared, also what the tool process may turn out not to have: hosts ignore
/// later changes of a list whose capability they were not told about.
pub fn write_initialize_result(out: &mut Vec<u8>, revision: Revision, server: &ServerInfo) {
    let mut result = Object::open(out);
    result.text("protocolVersion", revision.as_str());
    let mut capabilities = Object::open(result.member("capabilities"));
    if revision.has_completions() {
        capabilities.raw("completions", "{}");
    }
    capabilities.raw("logging", "{}");
    capabilities.raw("prompts", r#"{"listChanged":true}"#);
    capabilities.raw("resources", r#"{"subscribe":true,"listChanged":true}"#);
    capabilities.raw("tools", r#"{"listChanged":true}"#);
    capabilities.close();
    let mut info = Object::open(result.member("serverInfo"));
    info.text("name", &server.name);
    info.text("version", &server.version);
    info.close();
    if let Some(instructions) = &server.instructions {
        result.text("instructions", instructions);
    }
    result.close();
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}

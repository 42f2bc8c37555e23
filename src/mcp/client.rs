//! The host's side, for one who asks what a server offers: requests as lines, and what is to be
//! found in the answers.

use serde_json::{Value, json};

use super::revision;

/// A list that a server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    ResourceTemplates,
    /// `prompts/list`
    Prompts,
}

impl List {
    const fn method(self) -> &'static str {
        match self {
            List::Tools => "tools/list",
            List::Resources => "resources/list",
            List::ResourceTemplates => "resources/templates/list",
            List::Prompts => "prompts/list",
        }
    }

    const fn field(self) -> &'static str {
        match self {
            List::Tools => "tools",
            List::Resources => "resources",
            List::ResourceTemplates => "resourceTemplates",
            List::Prompts => "prompts",
        }
    }

    /// Asks for a page; without a cursor it is the first.
    pub fn request(self, id: u64, cursor: Option<&str>) -> String {
        let params = cursor.map_or(json!({}), |cursor| json!({"cursor": cursor}));
        request(id, self.method(), params)
    }

    /// The entries in an answer.
    pub fn entries(self, result: &Value) -> impl Iterator<Item = &Value> {
        result[self.field()].as_array().into_iter().flatten()
    }
}

/// Asks for the newest revision.
pub fn initialize(id: u64, name: &str, version: &str) -> String {
    let params = json!({
        "protocolVersion": revision::LATEST.as_str(),
        "capabilities": {},
        "clientInfo": {"name": name, "version": version},
    });
    request(id, "initialize", params)
}

/// Follows the answer to [`initialize`].
pub fn initialized() -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()
}

/// Calls a tool without arguments.
pub fn call(id: u64, tool: &str) -> String {
    request(id, "tools/call", json!({"name": tool, "arguments": {}}))
}

/// The text of a call's result that says that it failed.
pub fn failure(result: &Value) -> Option<&str> {
    let failed = result["isError"] == true;
    failed.then(|| result["content"][0]["text"].as_str().unwrap_or_default())
}

/// Where the next page of a list begins, if there is one.
pub fn next_cursor(result: &Value) -> Option<&str> {
    result["nextCursor"].as_str()
}

/// An entry's name.
pub fn name(entry: &Value) -> &str {
    entry["name"].as_str().unwrap_or_default()
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

//! The host's side of a short conversation: does somebody serve, and what is offered?
//!
//! Pure: lines go in, the lines to answer with come out.

use serde_json::{Value, json};

use super::revision;

/// What a server offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offers {
    /// The tools as hosts see them.
    pub tools: Vec<Value>,
    /// The names of the resources.
    pub resources: Vec<String>,
    /// The names of the resource templates.
    pub resource_templates: Vec<String>,
    /// The names of the prompts.
    pub prompts: Vec<String>,
}

/// A conversation.
#[derive(Debug, Default)]
pub struct Inquiry {
    offers: Offers,
    /// The tool list is there, and with it everything that a start could bring.
    has_tools: bool,
    /// The server said whether a tool process serves; if not, why.
    serves: Option<Result<(), String>>,
    /// The list that was asked for last, its index in [`LISTS`].
    list: usize,
}

/// Where a conversation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send these lines and go on.
    Send(Vec<String>),
    /// Everything was said.
    Done,
}

/// Lists: the method, the field of the answer, and the field that names an entry.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
    ("prompts/list", "prompts"),
];

/// No tool has this name, so that nothing is run: a server that has a tool process knows that.
const NO_TOOL: &str = "pmcp doctor asks whether somebody is there";

const INITIALIZE: u64 = 1;
const CALL: u64 = 2;
const LIST: u64 = 3;

impl Inquiry {
    /// What is said first.
    pub fn open(&self) -> Vec<String> {
        let client = json!({"name": "pmcp doctor", "version": env!("CARGO_PKG_VERSION")});
        let params = json!({
            "protocolVersion": revision::LATEST.as_str(), "capabilities": {}, "clientInfo": client
        });
        vec![request(INITIALIZE, "initialize", params)]
    }

    /// Takes in a line of the server.
    pub fn take(&mut self, line: &str) -> Step {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return Step::Send(Vec::new()) };
        match message["id"].as_u64() {
            Some(INITIALIZE) => {
                let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                // Both at once: whatever becomes of the first start answers both.
                let call = request(CALL, "tools/call", json!({"name": NO_TOOL, "arguments": {}}));
                return Step::Send(vec![initialized.to_string(), self.ask(Value::Null), call]);
            }
            Some(CALL) => {
                let result = &message["result"];
                self.serves = Some(match result["isError"].as_bool() {
                    Some(true) => Err(result["content"][0]["text"].as_str().unwrap_or_default().to_owned()),
                    _ => Ok(()),
                });
            }
            Some(LIST) => {
                self.has_tools = true;
                self.keep(&message["result"]);
                let cursor = &message["result"]["nextCursor"];
                if !cursor.is_null() {
                    return Step::Send(vec![self.ask(cursor.clone())]);
                }
                self.list += 1;
                if self.list > 1 && self.list < LISTS.len() {
                    return Step::Send(vec![self.ask(Value::Null)]);
                }
            }
            _ => return Step::Send(Vec::new()),
        }
        match &self.serves {
            Some(Err(_)) => Step::Done,
            Some(Ok(())) if self.list == 1 => Step::Send(vec![self.ask(Value::Null)]),
            Some(Ok(())) if self.list == LISTS.len() => Step::Done,
            _ => Step::Send(Vec::new()),
        }
    }

    /// Whether the tool list is there.
    pub fn has_tools(&self) -> bool {
        self.has_tools
    }

    /// What came out: the offers, or why there are none. `None` before the end.
    pub fn finish(self) -> Option<Result<Offers, String>> {
        Some(self.serves?.map(|()| self.offers))
    }

    fn ask(&self, cursor: Value) -> String {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        request(LIST, LISTS[self.list.min(LISTS.len() - 1)].0, params)
    }

    fn keep(&mut self, result: &Value) {
        let entries = |field: &str| result[field].as_array().into_iter().flatten();
        let names = |field| entries(field).map(|entry| name(entry).to_owned());
        self.offers.tools.extend(entries(LISTS[0].1).cloned());
        self.offers.resources.extend(names(LISTS[1].1));
        self.offers.resource_templates.extend(names(LISTS[2].1));
        self.offers.prompts.extend(names(LISTS[3].1));
    }
}

/// An entry's name.
pub fn name(entry: &Value) -> &str {
    entry["name"].as_str().unwrap_or_default()
}

fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// What hosts are known to refuse about these tools, or not to show.
pub fn complaints(tools: &[Value]) -> Vec<String> {
    /// Of the strictest hosts.
    const NAME_MAX: usize = 64;
    let mut complaints = Vec::new();
    for tool in tools {
        let name = name(tool);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(is_plain) {
            complaints.push(format!(
                "the tool name {name:?} is refused by some hosts: they want 1 to {NAME_MAX} letters, digits, _ and -"
            ));
        }
        for (field, what) in [("inputSchema", "input"), ("outputSchema", "output")] {
            let schema = &tool[field];
            let combinators = ["anyOf", "oneOf", "allOf"].into_iter();
            for combinator in combinators.filter(|combinator| schema.get(combinator).is_some()) {
                complaints.push(format!(
                    "the {what} schema of {name:?} has {combinator} at its root; some hosts then refuse all tools"
                ));
            }
            if has_reference(schema) {
                complaints.push(format!(
                    "the {what} schema of {name:?} has a $ref, which some hosts do not follow; put the schema in \
                     its place"
                ));
            }
        }
    }
    // The most that a widespread host shows, and the most that another one takes.
    match tools.len() {
        count @ 129.. => {
            complaints.push(format!("there are {count} tools; hosts are known that refuse more than 128"))
        }
        count @ 41.. => {
            complaints.push(format!("there are {count} tools; hosts are known that show only 40"))
        }
        _ => {}
    }
    complaints
}

fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("$ref").is_some_and(Value::is_string) || fields.values().any(has_reference)
        }
        Value::Array(values) => values.iter().any(has_reference),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: u64, result: Value) -> String {
        json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
    }

    /// The methods of what is to be sent.
    fn methods(step: Step) -> Vec<String> {
        let Step::Send(lines) = step else { return vec!["done".into()] };
        let method = |line: &String| {
            let message: Value = serde_json::from_str(line).unwrap();
            let cursor = message["params"]["cursor"].as_str().unwrap_or_default();
            format!("{}{cursor}", message["method"].as_str().unwrap())
        };
        lines.iter().map(method).collect()
    }

    #[test]
    fn everything_is_asked_for_page_by_page() {
        let mut inquiry = Inquiry::default();
        assert_eq!(methods(Step::Send(inquiry.open())), ["initialize"]);
        let opened = inquiry.take(&answer(1, json!({"protocolVersion": "2025-11-25"})));
        assert_eq!(methods(opened), ["notifications/initialized", "tools/list", "tools/call"]);
        assert!(methods(inquiry.take("{}")).is_empty() && methods(inquiry.take("no JSON")).is_empty());
        let page = json!({"tools": [{"name": "a"}], "nextCursor": "2"});
        assert_eq!(methods(inquiry.take(&answer(3, page))), ["tools/list2"]);
        let unknown =
            json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "Unknown tool"}});
        assert!(methods(inquiry.take(&unknown.to_string())).is_empty());
        assert!(inquiry.has_tools());
        assert_eq!(methods(inquiry.take(&answer(3, json!({"tools": [{"name": "b"}]})))), ["resources/list"]);
        let resources = answer(3, json!({"resources": [{"name": "r", "uri": "x:"}]}));
        assert_eq!(methods(inquiry.take(&resources)), ["resources/templates/list"]);
        // An error is no list.
        let error = json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "no"}});
        assert_eq!(methods(inquiry.take(&error.to_string())), ["prompts/list"]);
        assert_eq!(inquiry.take(&answer(3, json!({"prompts": [{"name": "p"}]}))), Step::Done);
        let offers = inquiry.finish().unwrap().unwrap();
        assert_eq!(offers.tools.iter().map(name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((offers.resources, offers.prompts), (vec!["r".to_owned()], vec!["p".to_owned()]));
        assert!(offers.resource_templates.is_empty());
    }

    #[test]
    fn either_answer_may_come_first() {
        let unknown =
            json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -32602, "message": "Unknown tool"}});
        let mut inquiry = Inquiry::default();
        assert!(methods(inquiry.take(&unknown.to_string())).is_empty());
        assert_eq!(methods(inquiry.take(&answer(3, json!({"tools": []})))), ["resources/list"]);
        let mut inquiry = Inquiry::default();
        assert!(methods(inquiry.take(&answer(3, json!({"tools": []})))).is_empty());
        assert_eq!(methods(inquiry.take(&unknown.to_string())), ["resources/list"]);
    }

    #[test]
    fn a_failed_start_ends_it_with_the_reason() {
        let mut inquiry = Inquiry::default();
        inquiry.take(&answer(3, json!({"tools": []})));
        let failed = json!({"content": [{"type": "text", "text": "it exited"}], "isError": true});
        assert_eq!(inquiry.take(&answer(2, failed)), Step::Done);
        assert_eq!(inquiry.finish(), Some(Err("it exited".into())));
        assert_eq!(Inquiry::default().finish(), None);
    }

    #[test]
    fn what_hosts_refuse() {
        let tool = |name: &str, schema: Value| json!({"name": name, "inputSchema": schema});
        let fine = tool("a-b_C1", json!({"type": "object", "properties": {"$ref": {"anyOf": []}}}));
        assert_eq!(complaints(std::slice::from_ref(&fine)), Vec::<String>::new());
        let long = "x".repeat(65);
        for (tool, part) in [
            (tool("a.b", json!({})), "\"a.b\" is refused"),
            (tool("", json!({})), "\"\" is refused"),
            (tool(&long, json!({})), "is refused"),
            (tool("a", json!({"oneOf": []})), "has oneOf at its root"),
            (tool("a", json!({"properties": {"x": [{"$ref": "#/$defs/x"}]}})), "has a $ref"),
            (json!({"name": "a", "outputSchema": {"allOf": []}}), "the output schema of \"a\" has allOf"),
        ] {
            let complaints = complaints(&[tool]);
            assert!(complaints.len() == 1 && complaints[0].contains(part), "{complaints:?}");
        }
        for (count, part) in [(40, None), (41, Some("show only 40")), (129, Some("more than 128"))] {
            let complaints = complaints(&vec![fine.clone(); count]);
            assert_eq!(complaints.len(), usize::from(part.is_some()));
            assert!(part.is_none_or(|part| complaints[0].contains(part)), "{complaints:?}");
        }
    }
}

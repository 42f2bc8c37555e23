//! The host's side of a short conversation: does somebody serve, and what is offered?
//!
//! Pure: lines go in, the lines to answer with come out.

use serde_json::Value;

use crate::mcp::client::{self, List};

/// What a server offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Offers {
    /// The tools as hosts see them.
    pub(super) tools: Vec<Value>,
    /// The names of the resources.
    pub(super) resources: Vec<String>,
    /// The names of the resource templates.
    pub(super) resource_templates: Vec<String>,
    /// The names of the prompts.
    pub(super) prompts: Vec<String>,
}

/// A conversation.
#[derive(Debug, Default)]
pub(super) struct Inquiry {
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
pub(super) enum Step {
    /// Send these lines and go on.
    Send(Vec<String>),
    /// Everything was said.
    Done,
}

/// What is asked for, in this order.
const LISTS: [List; 4] = [List::Tools, List::Resources, List::ResourceTemplates, List::Prompts];

/// No tool has this name, so that nothing is run: a server that has a tool process knows that.
const NO_TOOL: &str = "pmcp doctor asks whether somebody is there";

const INITIALIZE: u64 = 1;
const CALL: u64 = 2;
const LIST: u64 = 3;

impl Inquiry {
    /// What is said first.
    pub(super) fn open(&self) -> Vec<String> {
        vec![client::initialize(INITIALIZE, "pmcp doctor", env!("CARGO_PKG_VERSION"))]
    }

    /// Takes in a line of the server.
    pub(super) fn take(&mut self, line: &str) -> Step {
        let Ok(message) = serde_json::from_str::<Value>(line) else { return Step::Send(Vec::new()) };
        let result = &message["result"];
        match message["id"].as_u64() {
            Some(INITIALIZE) => {
                // Both at once: whatever becomes of the first start answers both.
                return Step::Send(vec![client::initialized(), self.ask(None), client::call(CALL, NO_TOOL)]);
            }
            Some(CALL) => {
                self.serves = Some(client::failure(result).map_or(Ok(()), |why| Err(why.to_owned())));
            }
            Some(LIST) => {
                self.has_tools = true;
                self.keep(result);
                let cursor = client::next_cursor(result);
                if cursor.is_some() {
                    return Step::Send(vec![self.ask(cursor)]);
                }
                self.list += 1;
                if self.list > 1 && self.list < LISTS.len() {
                    return Step::Send(vec![self.ask(None)]);
                }
            }
            _ => return Step::Send(Vec::new()),
        }
        match &self.serves {
            Some(Err(_)) => Step::Done,
            Some(Ok(())) if self.list == 1 => Step::Send(vec![self.ask(None)]),
            Some(Ok(())) if self.list == LISTS.len() => Step::Done,
            _ => Step::Send(Vec::new()),
        }
    }

    /// Whether the tool list is there.
    pub(super) fn has_tools(&self) -> bool {
        self.has_tools
    }

    /// What came out: the offers, or why there are none. `None` before the end.
    pub(super) fn finish(self) -> Option<Result<Offers, String>> {
        Some(self.serves?.map(|()| self.offers))
    }

    fn ask(&self, cursor: Option<&str>) -> String {
        LISTS[self.list.min(LISTS.len() - 1)].request(LIST, cursor)
    }

    fn keep(&mut self, result: &Value) {
        let names = |list: List| list.entries(result).map(|entry| client::name(entry).to_owned());
        self.offers.tools.extend(List::Tools.entries(result).cloned());
        self.offers.resources.extend(names(List::Resources));
        self.offers.resource_templates.extend(names(List::ResourceTemplates));
        self.offers.prompts.extend(names(List::Prompts));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        assert_eq!(offers.tools.iter().map(client::name).collect::<Vec<_>>(), ["a", "b"]);
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
}

//! What the specification says that a server must refuse, line by line, in both eras. A row is the
//! section, what the line has that it must not have, the line, and the code of the error.
//!
//! What takes more than one line to show has a test elsewhere:
//!
//! | rule | test |
//! |---|---|
//! | basic: an id that is in use | `bad_input::an_id_that_is_in_use_is_refused` |
//! | basic: no answer to a notification | `lifecycle::an_unknown_method_is_an_error_and_an_unknown_notification_is_nothing` |
//! | basic: nothing of earlier requests is used | `transcripts` (`both-eras.txt`), `bridge::tests::modern::each_message_is_of_its_own_era` |
//! | basic: a batch only where the revision has them | `lifecycle::batches_are_for_the_revision_that_has_them` |
//! | transports: bytes that are no UTF-8 | `bad_input::bytes_that_are_no_utf_8_are_no_json` |
//! | patterns/mrtr: a state that was altered, is not ours, or is of another request | `mcp::state`, `transcripts` (`2026-07-28.txt`) |
//! | patterns/mrtr: a state of somebody else | `bridge::tests::parked::another_host_cannot_take_up_a_call` |
//! | patterns/mrtr: a state that is used up | `transcripts` (`2026-07-28.txt`) |
//! | patterns/mrtr: a state whose time is over | `bridge::tests::parked::a_host_that_never_comes_back_loses_its_call` |
//! | basic: a question that the host did not say it takes, and cannot do without | `bridge::tests::parked::a_host_that_cannot_be_asked_is_told_so_unless_the_tool_copes` |
//! | patterns/mrtr: never a question that the host did not say it takes | `bridge::tests::stateless::a_host_without_the_capability_is_told_in_the_words_of_its_era` |
//! | patterns/mrtr: missing answers are asked for again | `bridge::tests::parked::what_is_asked_at_once_goes_in_one_answer_and_may_be_answered_in_parts` |
//! | patterns/subscriptions: only what was asked for, nothing after the end | `bridge::tests::modern::news_comes_on_streams_that_asked_for_it` |
//! | patterns/cancellation: unknown, late and malformed ones are passed over | `cancel::a_cancel_for_nothing_is_nothing` |
//! | lifecycle: an unknown revision is answered with one of ours | `lifecycle::each_revision_is_answered_with_itself_and_any_other_with_the_newest` |
//! | server/tools: a tool process whose tool, schema or annotation is malformed | `calls::one_odd_tool_does_not_spoil_the_list`, `mcp::header` |
//! | server/tools: a promised structure that is not there | `calls::a_promised_output_is_kept_or_is_an_error` |
//! | tasks: a cancelled or finished task is not cancelled again | `transcripts` (`2025-11-25.txt`) |
//! | tasks: a task is shown to its maker alone | `bridge::tests::tasks::tasks_are_seen_by_those_alone_who_made_them` |

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::host::Host;
use crate::support::pmcp::Setup;
use crate::support::raw_tool::RawTool;
use crate::support::scripted_tool;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// A host that shook hands, and a tool process that has something of everything.
struct Scene {
    host: Host,
    _tool: RawTool,
}

impl Scene {
    fn new() -> Scene {
        let dir = Arc::new(Dir::new());
        let tool = RawTool::new(&dir);
        let mut host = Setup::run(&dir).arg(tool.file()).host();
        scripted_tool::serve(&tool, false);
        host.initialize();
        Scene { host, _tool: tool }
    }
}

/// Sends each line and looks at the error that comes back.
fn refused(scene: &mut Scene, rows: Vec<(&str, String, i64)>) {
    for (rule, line, code) in rows {
        scene.host.send(&line);
        let answer = scene.host.next().json;
        assert_eq!(answer["error"]["code"], code, "{rule}\n{line}\n{answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{rule}: {answer}");
        let asked: Option<Value> = serde_json::from_str(&line).ok();
        let id = asked.and_then(|asked| asked.get("id").cloned()).filter(|id| id.is_string() || id.is_i64());
        assert_eq!(answer.get("id"), id.as_ref(), "{rule}: the id comes back, if it can be one: {answer}");
        match code {
            -32021 => {
                assert!(answer["error"]["data"]["requiredCapabilities"].is_object(), "{rule}: {answer}")
            }
            -32022 => {
                let data = &answer["error"]["data"];
                assert_eq!(data["supported"], json!(["2026-07-28"]), "{rule}: {answer}");
                assert!(data["requested"].is_string(), "{rule}: {answer}");
            }
            _ => {}
        }
    }
    assert!(scene.host.rest().is_empty(), "one answer each");
    scene.host.call("echo", json!({"text": "alive"}));
}

#[test]
fn what_is_no_message() {
    let mut scene = Scene::new();
    let rows = [
        ("basic: a message is JSON", "nonsense", -32700),
        ("basic: a message is whole", r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, -32700),
        ("basic: one message a line", r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {}"#, -32700),
        ("JSON-RPC: a message is an object", "1", -32600),
        ("JSON-RPC: a message is an object", "null", -32600),
        ("JSON-RPC: an empty batch", "[]", -32600),
        ("basic: a request has a method", r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        ("basic: a method is a string", r#"{"jsonrpc":"2.0","id":1,"method":1}"#, -32600),
        ("JSON-RPC: the version is said", r#"{"id":1,"method":"ping"}"#, -32600),
        ("JSON-RPC: the version is 2.0", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        ("basic: an id is not null", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        ("basic: an id is a string or an integer", r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        ("basic: an id is a string or an integer", r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600),
        ("basic: an id is a string or an integer", r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (
            "JSON-RPC: params are structured",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":1}"#,
            -32602,
        ),
        (
            "basic: params are an object",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#,
            -32602,
        ),
    ];
    refused(&mut scene, rows.map(|(rule, line, code)| (rule, line.into(), code)).into());
}

#[test]
fn the_handshake_era() {
    let mut scene = Scene::new();
    let mut id = 100;
    let mut row = |rule, method: &str, params: Value, code| {
        id += 1;
        (rule, json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(), code)
    };
    let reference = |name: &str| json!({"type": "ref/prompt", "name": name});
    let rows = vec![
        row("lifecycle: initialize says a revision", "initialize", json!({}), -32602),
        row("basic: an unknown method", "no/such", json!({}), -32601),
        row("basic: a notification's method with an id", "notifications/initialized", json!({}), -32601),
        row("versioning: what only the other era has", "server/discover", json!({}), -32601),
        row(
            "versioning: what only the other era has",
            "subscriptions/listen",
            json!({"notifications": {}}),
            -32601,
        ),
        row("basic: what only a client has", "sampling/createMessage", json!({}), -32601),
        row("server/tools: an unknown tool", "tools/call", json!({"name": "no such"}), -32602),
        row("server/tools: a call without a name", "tools/call", json!({}), -32602),
        row("server/tools: a name is a string", "tools/call", json!({"name": 1}), -32602),
        row(
            "server/tools: arguments are an object",
            "tools/call",
            json!({"name": "echo", "arguments": []}),
            -32602,
        ),
        row("server/resources: what is not there", "resources/read", json!({"uri": "x://y"}), -32002),
        row("server/resources: a read without a URI", "resources/read", json!({}), -32602),
        row("server/resources: a subscription without a URI", "resources/subscribe", json!({}), -32602),
        row("server/prompts: an unknown prompt", "prompts/get", json!({"name": "no such"}), -32602),
        row("server/prompts: a missing argument", "prompts/get", json!({"name": "greet"}), -32602),
        row(
            "server/prompts: an argument is a string",
            "prompts/get",
            json!({"name": "greet", "arguments": {"name": 1}}),
            -32602,
        ),
        row(
            "utilities/completion: a reference without a kind",
            "completion/complete",
            json!({"ref": {"name": "greet"}, "argument": {"name": "name", "value": ""}}),
            -32602,
        ),
        row(
            "utilities/completion: an argument without a value",
            "completion/complete",
            json!({"ref": reference("greet"), "argument": {"name": "name"}}),
            -32602,
        ),
        row("utilities/pagination: a cursor that is not ours", "tools/list", json!({"cursor": "x"}), -32602),
        row("utilities/pagination: a cursor is a string", "tools/list", json!({"cursor": 1}), -32602),
        row(
            "utilities/pagination: a cursor that is not ours",
            "resources/list",
            json!({"cursor": "x"}),
            -32602,
        ),
        row(
            "utilities/pagination: a cursor that is not ours",
            "resources/templates/list",
            json!({"cursor": "x"}),
            -32602,
        ),
        row(
            "utilities/pagination: a cursor that is not ours",
            "prompts/list",
            json!({"cursor": "x"}),
            -32602,
        ),
        row("utilities/pagination: a cursor that is not ours", "tasks/list", json!({"cursor": "x"}), -32602),
        row("utilities/logging: an unknown level", "logging/setLevel", json!({"level": "loud"}), -32602),
        row("utilities/logging: no level", "logging/setLevel", json!({}), -32602),
        row("utilities/tasks: an unknown task", "tasks/get", json!({"taskId": "x"}), -32602),
        row("utilities/tasks: an unknown task", "tasks/result", json!({"taskId": "x"}), -32602),
        row("utilities/tasks: an unknown task", "tasks/cancel", json!({"taskId": "x"}), -32602),
        row("utilities/tasks: no task", "tasks/get", json!({}), -32602),
        row("utilities/tasks: a tool that needs a task", "tools/call", json!({"name": "task_only"}), -32601),
        row(
            "utilities/tasks: a tool that is none",
            "tools/call",
            json!({"name": "echo", "arguments": {}, "task": {}}),
            -32601,
        ),
    ];
    refused(&mut scene, rows);
}

#[test]
fn the_modern_era() {
    let mut scene = Scene::new();
    let mut id = 200;
    let mut with = |rule, method: &str, mut params: Value, meta: Value, code| {
        id += 1;
        params["_meta"] = meta;
        (rule, json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(), code)
    };
    let whole = || json!({VERSION: "2026-07-28", CAPABILITIES: {}});
    let tasks = || json!({VERSION: "2026-07-28", CAPABILITIES: {"extensions": {TASKS: {}}}});
    let list = "tools/list";
    let mut rows = vec![
        with("basic: no capabilities", list, json!({}), json!({VERSION: "2026-07-28"}), -32602),
        with("basic: no version", list, json!({}), json!({CAPABILITIES: {}}), -32602),
        with("basic: a version is a string", list, json!({}), json!({VERSION: 1, CAPABILITIES: {}}), -32602),
        with(
            "basic: capabilities are an object",
            list,
            json!({}),
            json!({VERSION: "2026-07-28", CAPABILITIES: []}),
            -32602,
        ),
        with(
            "versioning: an unknown version",
            list,
            json!({}),
            json!({VERSION: "2099-01-01", CAPABILITIES: {}}),
            -32022,
        ),
        with(
            "versioning: a version that needs a handshake",
            list,
            json!({}),
            json!({VERSION: "2025-11-25", CAPABILITIES: {}}),
            -32022,
        ),
        with(
            "versioning: an unknown version of discovery",
            "server/discover",
            json!({}),
            json!({VERSION: "1900-01-01", CAPABILITIES: {}}),
            -32022,
        ),
        with(
            "utilities/logging: an unknown level",
            "tools/call",
            json!({"name": "echo"}),
            json!({VERSION: "2026-07-28", CAPABILITIES: {}, "io.modelcontextprotocol/logLevel": "loud"}),
            -32602,
        ),
        with("tasks: an unknown task", "tasks/get", json!({"taskId": "x"}), tasks(), -32602),
        with(
            "tasks: an unknown task",
            "tasks/update",
            json!({"taskId": "x", "inputResponses": {}}),
            tasks(),
            -32602,
        ),
        with("tasks: an unknown task", "tasks/cancel", json!({"taskId": "x"}), tasks(), -32602),
        with("tasks: no task", "tasks/get", json!({}), tasks(), -32602),
        with(
            "tasks: no such method in the extension",
            "tasks/result",
            json!({"taskId": "x"}),
            tasks(),
            -32601,
        ),
        with("tasks: no such method in the extension", "tasks/list", json!({}), tasks(), -32601),
    ];
    let plain = [
        ("basic: an unknown method", "no/such", json!({}), -32601),
        ("basic: what the era no longer has", "ping", json!({}), -32601),
        ("basic: what the era no longer has", "logging/setLevel", json!({"level": "info"}), -32601),
        ("basic: what the era no longer has", "resources/subscribe", json!({"uri": "x://y"}), -32601),
        ("basic: what the era no longer has", "resources/unsubscribe", json!({"uri": "x://y"}), -32601),
        ("patterns/mrtr: what is no longer asked by request", "roots/list", json!({}), -32601),
        ("server/tools: an unknown tool", "tools/call", json!({"name": "no such"}), -32602),
        ("server/tools: a call without a name", "tools/call", json!({}), -32602),
        (
            "server/tools: arguments are an object",
            "tools/call",
            json!({"name": "echo", "arguments": 1}),
            -32602,
        ),
        ("server/resources: what is not there", "resources/read", json!({"uri": "x://y"}), -32602),
        ("server/resources: a read without a URI", "resources/read", json!({}), -32602),
        ("server/prompts: an unknown prompt", "prompts/get", json!({"name": "no such"}), -32602),
        ("server/prompts: a missing argument", "prompts/get", json!({"name": "greet"}), -32602),
        (
            "utilities/completion: a reference without a kind",
            "completion/complete",
            json!({"ref": {"name": "greet"}, "argument": {"name": "name", "value": ""}}),
            -32602,
        ),
        ("utilities/pagination: a cursor that is not ours", "tools/list", json!({"cursor": "x"}), -32602),
        ("utilities/pagination: a cursor that is not ours", "prompts/list", json!({"cursor": "x"}), -32602),
        (
            "patterns/mrtr: a state that is not ours",
            "tools/call",
            json!({"name": "echo", "requestState": "v1.x", "inputResponses": {}}),
            -32602,
        ),
        (
            "patterns/mrtr: a state is a string",
            "tools/call",
            json!({"name": "echo", "requestState": 1}),
            -32602,
        ),
        (
            "patterns/mrtr: answers are an object",
            "tools/call",
            json!({"name": "echo", "inputResponses": []}),
            -32602,
        ),
        ("patterns/subscriptions: no filter", "subscriptions/listen", json!({}), -32602),
        (
            "patterns/subscriptions: a filter is an object",
            "subscriptions/listen",
            json!({"notifications": []}),
            -32602,
        ),
        (
            "patterns/subscriptions: a wish is true or false",
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": "yes"}}),
            -32602,
        ),
        (
            "patterns/subscriptions: URIs are strings",
            "subscriptions/listen",
            json!({"notifications": {"resourceSubscriptions": [1]}}),
            -32602,
        ),
        (
            "tasks: news of tasks without the extension",
            "subscriptions/listen",
            json!({"notifications": {"taskIds": ["x"]}}),
            -32021,
        ),
        ("tasks: without the extension", "tasks/get", json!({"taskId": "x"}), -32021),
        (
            "tasks: without the extension",
            "tasks/update",
            json!({"taskId": "x", "inputResponses": {}}),
            -32021,
        ),
        ("tasks: without the extension", "tasks/cancel", json!({"taskId": "x"}), -32021),
        (
            "tasks: a tool that is nothing else, without the extension",
            "tools/call",
            json!({"name": "task_only"}),
            -32021,
        ),
    ];
    rows.extend(plain.map(|(rule, method, params, code)| with(rule, method, params, whole(), code)));
    refused(&mut scene, rows);
}

#[test]
fn the_table_names_tests_that_are_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut code = String::new();
    for folder in ["tests", "src/bridge/tests", "src/mcp"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            code.push_str(&std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default());
        }
    }
    let table = include_str!("refusals.rs");
    let names: Vec<&str> = table
        .lines()
        .take_while(|line| line.starts_with("//!"))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter_map(|path| path.rsplit_once("::").map(|(_, name)| name))
        .collect();
    assert!(names.len() > 10);
    for name in names {
        let is_there = [format!("fn {name}("), format!("mod {name};")].iter().any(|said| code.contains(said));
        assert!(is_there, "the table names {name}");
    }
}

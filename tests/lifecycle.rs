//! The handshake, ping, and the rules of JSON-RPC that hold for every message.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::pmcp::Setup;
use crate::support::raw_tool::{RawTool, Trio, tool};

#[test]
fn each_revision_is_answered_with_itself_and_any_other_with_the_newest() {
    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let mut host = Setup::run(&dir).arg(tool.file()).host();
        let result = host.initialize_as(asked, json!({}));
        assert_eq!(result["protocolVersion"], answered, "asked for {asked}");
        host.end();
    }
}

#[test]
fn initialize_and_ping_are_answered_before_the_tool_process_is_up() {
    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    let mut host = Setup::run(&dir).arg(tool.file()).host();
    host.initialize();
    assert_eq!(host.ask("ping", Value::Null), json!({}));
    let list = host.request("tools/list", Value::Null);
    // The list waits for the tool process; nothing else does.
    let messages = host.rest();
    assert!(messages.is_empty(), "{messages:?}");
    let _peer = tool.serve(vec![crate::support::raw_tool::tool("late")]);
    assert_eq!(host.result_of(list)["tools"][0]["name"], "late");
    host.end();
}

#[test]
fn capabilities_are_declared_whether_or_not_there_is_something_to_list() {
    let mut trio = Trio::unready(|setup| setup);
    trio.peer.handshake(vec![]);
    let result = trio.host.initialize();
    assert_eq!(
        result["capabilities"],
        json!({
            "tools": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "prompts": {"listChanged": true},
            "logging": {},
            "completions": {},
            "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
        })
    );
    assert_eq!(trio.host.ask("tools/list", Value::Null), json!({"tools": []}));
    assert_eq!(trio.host.ask("resources/list", Value::Null), json!({"resources": []}));
    assert_eq!(trio.host.ask("resources/templates/list", Value::Null), json!({"resourceTemplates": []}));
    assert_eq!(trio.host.ask("prompts/list", Value::Null), json!({"prompts": []}));
}

#[test]
fn the_oldest_revision_knows_no_completions_capability() {
    let mut trio = Trio::unready(|setup| setup);
    trio.peer.handshake(vec![]);
    let result = trio.host.initialize_as("2024-11-05", json!({}));
    assert!(result["capabilities"].get("completions").is_none(), "{result}");
    assert_eq!(result["capabilities"]["tools"], json!({"listChanged": true}));
}

#[test]
fn the_server_is_named_after_its_file_or_by_flags() {
    let mut trio = Trio::unready(|setup| setup);
    let info = trio.host.initialize();
    assert_eq!(info["serverInfo"]["name"], "raw-tool");
    assert!(info["serverInfo"]["version"].is_string());
    assert!(info.get("instructions").is_none(), "absent, not null or empty: {info}");

    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    let text = dir.write("instructions.md", "Use it \"well\".\nAnd often.\n");
    let mut host = Setup::run(&dir)
        .args(["--name", "a name with ✓", "--instructions"])
        .arg(text)
        .arg(tool.file())
        .host();
    let info = host.initialize();
    assert_eq!(info["serverInfo"]["name"], "a name with ✓");
    assert_eq!(info["instructions"].as_str().unwrap().trim(), "Use it \"well\".\nAnd often.");
}

#[test]
fn ids_come_back_as_they_were_spelled() {
    let mut trio = Trio::new(&["any"]);
    for id in [
        "0",
        "-1",
        "9007199254740993",
        "18446744073709551616",
        "\"\"",
        "\"1\"",
        "\"a-b\"",
        "\"caf\\u00e9 \\/ é\"",
        "\"\\ud83d\\ude00\"",
    ] {
        trio.host.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        let raw = trio.host.next().raw;
        assert!(raw.contains(&format!("\"id\":{id},")), "{id} came back as {raw}");
        // And through the tool process.
        trio.host.send(&format!(
            r#"{{"id":{id},"method":"tools/call","params":{{"name":"any"}},"jsonrpc":"2.0"}}"#
        ));
        let call = trio.peer.call();
        trio.peer.answer_text(&call, "yes");
        let raw = trio.host.next().raw;
        assert!(raw.contains(&format!("\"id\":{id},")), "{id} came back as {raw}");
    }
}

#[test]
fn empty_results_are_exactly_empty() {
    let mut trio = Trio::new(&["any"]);
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "error"})),
        ("resources/subscribe", json!({"uri": "test://a"})),
        ("resources/unsubscribe", json!({"uri": "test://a"})),
    ] {
        let id = trio.host.request(method, params);
        let answer = trio.host.answer(id);
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": id, "result": {}}), "{method}");
    }
}

#[test]
fn null_or_absent_params_are_empty_ones() {
    let mut trio = Trio::new(&["any"]);
    for params in ["", r#","params":null"#, r#","params":{}"#, r#","params":{"_meta":{}}"#] {
        for method in ["ping", "tools/list", "resources/list", "prompts/list"] {
            trio.host.send(&format!(r#"{{"jsonrpc":"2.0","id":"p","method":"{method}"{params}}}"#));
            let answer = trio.host.answer("p");
            assert!(answer["result"].is_object(), "{method} {params}: {answer}");
        }
    }
}

#[test]
fn no_absent_field_is_sent_as_null() {
    let mut trio = Trio::new(&["any"]);
    trio.host.request("tools/list", Value::Null);
    trio.host.request("prompts/list", Value::Null);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    trio.peer.answer_text(&call, "yes");
    for message in trio.host.until_answer(id) {
        assert!(!message.raw.contains("null"), "{}", message.raw);
        let keys: Vec<&String> = message.json.as_object().unwrap().keys().collect();
        for key in keys {
            assert!(["jsonrpc", "id", "method", "params", "result", "error"].contains(&key.as_str()));
        }
    }
}

#[test]
fn an_unknown_method_is_an_error_and_an_unknown_notification_is_nothing() {
    let mut trio = Trio::new(&["any"]);
    for method in ["no/such", "server/discover", "tasks/update", "initialized", ""] {
        let error = trio.host.ask_for_error(method, json!({}));
        assert_eq!(error["code"], -32601, "{method}: {error}");
        assert!(error["message"].as_str().unwrap().contains(method), "{error}");
    }
    trio.host.notify("notifications/of/the/future", json!({"a": 1}));
    trio.host.notify("vendor/thing", Value::Null);
    trio.host.notify("ping", Value::Null);
    assert!(trio.host.rest().is_empty());
    trio.lives();
}

#[test]
fn what_is_no_message_is_answered_with_the_error_that_json_rpc_names() {
    let mut trio = Trio::new(&["any"]);
    for (line, code, id) in [
        ("this is no JSON", -32700, None),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700, None),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}", -32700, None),
        ("\"a string\"", -32600, None),
        ("17", -32600, None),
        ("null", -32600, None),
        ("{}", -32600, None),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"x\"}", -32600, Some("x")),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":7}", -32600, Some("x")),
        ("{\"jsonrpc\":\"1.0\",\"id\":\"x\",\"method\":\"ping\"}", -32600, Some("x")),
        ("{\"id\":\"x\",\"method\":\"ping\"}", -32600, Some("x")),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600, None),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600, None),
        ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600, None),
        ("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", -32600, None),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/list\",\"params\":7}", -32602, Some("x")),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/list\",\"params\":[1]}", -32602, Some("x")),
        ("[]", -32600, None),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, None),
    ] {
        trio.host.send(line);
        let answer = trio.host.next().json;
        let codes = if code == -32602 { vec![-32602, -32600] } else { vec![code] };
        assert!(codes.iter().any(|code| answer["error"]["code"] == *code), "{line}: {answer}");
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty(), "{line}");
        match id {
            Some(id) => assert_eq!(answer["id"], id, "{line}"),
            None => assert!(answer.get("id").is_none(), "no id, not null: {line}: {answer}"),
        }
    }
    trio.lives();
}

#[test]
fn blank_lines_carriage_returns_and_a_byte_order_mark_do_no_harm() {
    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    let mut host = Setup::run(&dir).arg(tool.file()).host();
    host.send_bytes(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n");
    assert_eq!(host.answer(1)["result"], json!({}));
    host.send_bytes(b"\n\r\n   \n\t\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n");
    assert_eq!(host.answer(2)["result"], json!({}));
    // Cut anywhere.
    for piece in b"  {\"jsonrpc\" : \"2.0\", \"method\":\"ping\", \"id\":3}  \r\n".chunks(3) {
        host.send_bytes(piece);
    }
    assert_eq!(host.answer(3)["result"], json!({}));
    assert!(host.rest().is_empty());
}

#[test]
fn batches_are_for_the_revision_that_has_them() {
    let mut trio = Trio::revision(vec![tool("any")], "2025-03-26");
    trio.host.send(
        r#"[{"jsonrpc":"2.0","id":1001,"method":"ping"},
            {"jsonrpc":"2.0","method":"notifications/initialized"},
            {"jsonrpc":"2.0","id":1002,"method":"tools/call","params":{"name":"any"}},
            {"jsonrpc":"2.0","id":1003,"method":"no/such"},
            17]"#
            .replace('\n', " ")
            .as_str(),
    );
    let call = trio.peer.call();
    trio.peer.answer_text(&call, "yes");
    let answers = trio.host.next().json;
    let answers = answers.as_array().expect("a batch is answered with one array");
    assert_eq!(answers.len(), 4, "{answers:?}");
    let of = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(of(1001)["result"], json!({}));
    assert_eq!(of(1002)["result"]["content"][0]["text"], "yes");
    assert_eq!(of(1003)["error"]["code"], -32601);
    assert!(answers.iter().any(|answer| answer["error"]["code"] == -32600));

    // A batch of notifications has no answer, an empty one is an error.
    trio.host.send(r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#);
    assert!(trio.host.rest().is_empty());
    trio.host.send("[]");
    assert_eq!(trio.host.next().json["error"]["code"], -32600);
    trio.lives();
}

#[test]
fn text_survives_whatever_it_is() {
    let mut trio = Trio::new(&["any"]);
    let text = "✓ řemeslník 漢字 😀 \u{0} \u{1b} \u{7f} \u{2028} \u{feff} \\ \" / \r\n\t </script>";
    let id = trio.host.begin_call("any", json!({"text": text}));
    let call = trio.peer.call();
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    assert_eq!(arguments["text"], text);
    trio.peer.answer_text(&call, text);
    assert_eq!(trio.host.result_of(id)["content"][0]["text"], text);
}

#[test]
fn a_good_run_says_nothing_on_stderr() {
    let mut trio = Trio::new(&["any"]);
    trio.lives();
    trio.host.end();
    assert_eq!(trio.host.stderr(), "");
}

//! What the tool process says while it works: log messages and progress.

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::*;
use serde_json::{Value, json};

use crate::support::raw_tool::{Trio, text_result};

const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

fn log(level: &str, logger: &str, data: &str) -> Msg {
    Msg::Log(LogMessage {
        level: level.into(),
        logger: logger.into(),
        data_json: data.into(),
        ..LogMessage::default()
    })
}

fn progress(token: &str, progress: i64, total: i64, message: &str) -> Msg {
    Msg::Progress(ProgressNotification {
        progress_token: token.into(),
        progress,
        total,
        message: message.into(),
    })
}

#[test]
fn each_level_lets_through_itself_and_what_is_graver() {
    let mut trio = Trio::new(&["any"]);
    for (threshold, level) in LEVELS.iter().enumerate() {
        assert_eq!(trio.host.ask("logging/setLevel", json!({"level": level})), json!({}));
        for level in LEVELS {
            trio.peer.send("", log(level, "a logger", r#"{"a":1}"#));
        }
        // Whatever the tool process said before its answer arrives before it.
        trio.lives();
        let heard: Vec<Value> =
            trio.host.rest().iter().map(|message| message.json["params"].clone()).collect();
        let expected: Vec<Value> = LEVELS[threshold..]
            .iter()
            .map(|level| json!({"level": level, "logger": "a logger", "data": {"a": 1}}))
            .collect();
        assert_eq!(heard, expected, "from {level} up");
    }
}

#[test]
fn the_data_of_a_log_message_is_json_or_else_a_text() {
    let mut trio = Trio::new(&["any"]);
    trio.host.ask("logging/setLevel", json!({"level": "debug"}));
    for (sent, data) in [
        (r#"{"a":[1,2]}"#, json!({"a": [1, 2]})),
        ("\"quoted\"", json!("quoted")),
        ("17", json!(17)),
        ("plain words", json!("plain words")),
        ("{broken", json!("{broken")),
        ("two\nlines", json!("two\nlines")),
        ("{\n\"a\":\n1}", json!({"a": 1})),
        ("", json!("")),
    ] {
        trio.peer.send("", log("info", "", sent));
        let params = trio.host.notification("notifications/message");
        assert_eq!(params, json!({"level": "info", "data": data}), "{sent:?}, no empty logger");
    }
    // Levels as other libraries call them.
    for (sent, level) in [("warn", "warning"), ("fatal", "critical"), ("louder", "info")] {
        trio.peer.send("", log(sent, "", "1"));
        let params = trio.host.notification("notifications/message");
        assert_eq!(params["level"], level, "{sent}");
    }
}

#[test]
fn a_level_that_is_none_is_invalid() {
    let mut trio = Trio::new(&["any"]);
    for params in [json!({}), json!({"level": "loud"}), json!({"level": 3}), json!({"level": null})] {
        let error = trio.host.ask_for_error("logging/setLevel", params);
        assert_eq!(error["code"], -32602, "{error}");
    }
}

#[test]
fn progress_carries_the_hosts_token_byte_for_byte() {
    let mut trio = Trio::new(&["any"]);
    for token in ["0", "7", "-3", "\"\"", "\"0\"", "\"a \\u00e9 token\"", "9007199254740993"] {
        trio.host.send(&format!(
            r#"{{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{{"name":"any","_meta":{{"progressToken":{token}}}}}}}"#
        ));
        let call = trio.peer.call();
        assert_ne!(call.progress_token, "", "an empty token would mean: don't report");
        trio.peer.send("", progress(&call.progress_token, 1, 3, "one"));
        trio.peer.send("", progress(&call.progress_token, 2, 0, ""));
        trio.peer.answer_text(&call, "done");
        let first = trio.host.next();
        assert!(first.raw.contains(&format!("\"progressToken\":{token}")), "{}", first.raw);
        assert_eq!(first.method(), "notifications/progress");
        assert_eq!(first.json["params"]["progress"], 1);
        assert_eq!(first.json["params"]["total"], 3);
        assert_eq!(first.json["params"]["message"], "one");
        let second = trio.host.next().json;
        assert_eq!(second["params"]["progress"], 2);
        assert!(second["params"].get("total").is_none(), "unknown, so absent: {second}");
        assert!(second["params"].get("message").is_none(), "{second}");
        assert_eq!(trio.host.next().json["id"], "p", "the answer is the last");
    }
}

#[test]
fn progress_is_for_a_call_that_runs_and_asked_for_it() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    assert_eq!(call.progress_token, "");
    trio.peer.send("", progress("", 1, 0, ""));
    trio.peer.send("", progress("made up", 1, 0, ""));
    trio.peer.answer_text(&call, "done");
    trio.host.result_of(id);
    assert!(trio.host.rest().is_empty());

    // Never after the answer.
    trio.host.send(
        r#"{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"any","_meta":{"progressToken":"t"}}}"#,
    );
    let call = trio.peer.call();
    trio.peer.answer_text(&call, "done");
    trio.peer.send("", progress(&call.progress_token, 9, 9, "too late"));
    trio.host.answer("p");
    trio.lives();
    assert!(trio.host.rest().is_empty());
}

#[test]
fn progress_only_rises() {
    let mut trio = Trio::new(&["any"]);
    trio.host.send(
        r#"{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"any","_meta":{"progressToken":1}}}"#,
    );
    let call = trio.peer.call();
    for value in [5, 5, 3, 6] {
        trio.peer.send("", progress(&call.progress_token, value, 0, ""));
    }
    trio.peer.answer_text(&call, "done");
    let mut values = Vec::new();
    loop {
        let message = trio.host.next();
        if message.method().is_empty() {
            break;
        }
        values.push(message.json["params"]["progress"].as_i64().unwrap());
    }
    assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
    assert_eq!(values.last(), Some(&6));
}

#[test]
fn progress_messages_are_for_revisions_that_know_them() {
    let mut trio = Trio::revision(vec![crate::support::raw_tool::tool("any")], "2024-11-05");
    trio.host.send(
        r#"{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"any","_meta":{"progressToken":1}}}"#,
    );
    let call = trio.peer.call();
    trio.peer.send("", progress(&call.progress_token, 1, 2, "a message"));
    trio.peer.answer(&call, text_result("done"));
    let params = trio.host.notification("notifications/progress");
    assert_eq!(params, json!({"progressToken": 1, "progress": 1, "total": 2}));
}

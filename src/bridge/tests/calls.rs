//! Calls: the way there and back, waiting, cancelling, giving up.

use super::*;
use crate::limits::{CANCEL_HOLD, WAITING_REQUESTS_MAX};
use crate::wire::protomcp::{ProgressNotification, ToolError};

#[test]
fn a_call_goes_there_and_back() {
    let mut scene = Scene::serving(&["add"]);
    scene.say_text(r#"{"jsonrpc":"2.0","id":"x-1","method":"tools/call","params":{"name":"add","arguments":{ "a" : 1.50 }}}"#);
    let told = scene.told_one(1);
    let Some(Msg::CallTool(call)) = &told.msg else { panic!("{told:?}") };
    assert_eq!((call.name.as_str(), call.arguments_json.as_str()), ("add", r#"{ "a" : 1.50 }"#));
    assert_eq!(call.progress_token, "", "nobody asked for progress");
    scene.result(1, &told.request_id, "3");
    let answer = scene.heard_one();
    assert_eq!(answer["id"], "x-1");
    assert_eq!(text(&answer), "3");
    assert_eq!(scene.bridge.deadline(), None, "nothing is due when nothing runs");
}

#[test]
fn a_published_sdk_gets_one_request_at_a_time_and_control_traffic_passes() {
    let mut scene = Scene::serving(&["a", "b"]);
    scene.call(1, "a");
    scene.call(2, "b");
    let first = scene.told_one(1);
    scene.ask(3, "ping", json!({}));
    scene.ask(4, "tools/list", json!({}));
    scene.call(5, "missing");
    let ids: Vec<Value> = scene.heard().iter().map(|message| message["id"].clone()).collect();
    assert_eq!(ids, [3, 4, 5], "what needs no slot is answered at once");
    scene.result(1, &first.request_id, "one");
    assert_eq!(scene.heard_one()["id"], 1);
    let second = scene.told_one(1);
    scene.result(1, &second.request_id, "two");
    assert_eq!(scene.heard_one()["id"], 2);
}

#[test]
fn a_process_that_says_so_gets_several_at_once() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.started(1);
    scene.handshake(1, &["a"], 3);
    for id in 1..=4 {
        scene.call(id, "a");
    }
    let told = scene.told(1);
    assert_eq!(told.len(), 3);
    scene.result(1, &told[1].request_id, "2");
    assert_eq!(scene.heard_one()["id"], 2);
    assert_eq!(scene.told(1).len(), 1);
}

#[test]
fn an_unknown_or_disabled_tool_is_an_error_that_says_which() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "nope");
    let answer = scene.heard_one();
    assert_eq!(answer["error"]["code"], -32602);
    assert!(answer["error"]["message"].as_str().unwrap().contains("nope"), "{answer}");
    scene.tool(
        1,
        "",
        Msg::DisableTools(crate::wire::protomcp::DisableToolsRequest { tool_names: vec!["a".into()] }),
    );
    scene.heard();
    scene.call(2, "a");
    let answer = scene.heard_one();
    assert!(answer["error"]["message"].as_str().unwrap().contains("disabled"), "{answer}");
}

#[test]
fn progress_carries_the_hosts_token_and_only_rises() {
    for token in ["0", "\"\"", "\"a b\"", "-7"] {
        let mut scene = Scene::serving(&["a"]);
        scene.say_text(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","_meta":{{"progressToken":{token}}}}}}}"#
        ));
        let told = scene.told_one(1);
        let Some(Msg::CallTool(call)) = &told.msg else { panic!("{told:?}") };
        assert_ne!(call.progress_token, "");
        let progress = |progress| {
            Msg::Progress(ProgressNotification {
                progress_token: call.progress_token.clone(),
                progress,
                total: 10,
                message: "half".into(),
            })
        };
        for value in [1, 5, 5, 3, 6] {
            scene.tool(1, "", progress(value));
        }
        let heard = scene.heard();
        let values: Vec<_> =
            heard.iter().map(|message| message["params"]["progress"].as_i64().unwrap()).collect();
        assert_eq!(values, [1, 5, 6]);
        assert_eq!(heard[0]["params"]["progressToken"].to_string(), token);
        scene.result(1, &told.request_id, "done");
        scene.heard_one();
        scene.tool(1, "", progress(9));
        assert!(scene.heard().is_empty(), "no progress after the answer");
    }
}

#[test]
fn a_tools_error_reaches_the_host_with_its_details() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    let told = scene.told_one(1);
    let error = ToolError {
        error_code: "NOT_FOUND".into(),
        message: "no such row".into(),
        suggestion: "list first".into(),
        retryable: true,
        rpc_code: 0,
    };
    let response = CallToolResponse { is_error: true, error: Some(error), ..CallToolResponse::default() };
    scene.tool(1, &told.request_id, Msg::CallResult(response));
    let answer = scene.heard_one();
    assert_eq!(answer["result"]["isError"], true);
    let text = text(&answer);
    for part in ["NOT_FOUND", "no such row", "list first"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_cancelled_call_reaches_the_tool_and_is_not_answered() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    let told = scene.told_one(1);
    scene.call(2, "a");
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    let cancel = scene.told_one(1);
    assert!(matches!(cancel.msg, Some(Msg::Cancel(ref cancel)) if cancel.request_id == told.request_id));
    // A published SDK may never answer it; the next call waits until it is done with it all the same.
    scene.wait(CANCEL_HOLD / 2);
    assert!(scene.told(1).is_empty());
    scene.wait(CANCEL_HOLD);
    let probe = scene.told_one(1);
    scene.result(1, &told.request_id, "too late");
    assert!(scene.heard().is_empty());
    scene.result(1, &probe.request_id, "no such tool");
    let second = scene.told_one(1);
    scene.result(1, &second.request_id, "two");
    assert_eq!(scene.heard_one()["id"], 2);
}

#[test]
fn a_cancelled_call_that_answers_frees_its_slot_at_once() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    let told = scene.told_one(1);
    scene.call(2, "a");
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    scene.told_one(1);
    scene.result(1, &told.request_id, "stopped");
    assert!(matches!(scene.told_one(1).msg, Some(Msg::CallTool(_))));
    assert!(scene.heard().is_empty());
}

#[test]
fn a_waiting_call_is_cancelled_without_a_word_to_the_tool() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    let told = scene.told_one(1);
    scene.call(2, "a");
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    scene.result(1, &told.request_id, "one");
    assert_eq!(scene.heard_one()["id"], 1);
    assert!(scene.told(1).is_empty());
    for unknown in [json!(99), json!("1"), Value::Null] {
        scene.say(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": unknown}}),
        );
        assert!(scene.heard().is_empty());
    }
}

#[test]
fn a_call_ends_with_the_call_timeout() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    let told = scene.told_one(1);
    scene.wait(Duration::from_secs(299));
    assert!(scene.heard().is_empty());
    scene.wait(Duration::from_secs(2));
    let answer = scene.heard_one();
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("--call-timeout"), "{answer}");
    let first = scene.told(1).swap_remove(0);
    assert!(matches!(first.msg, Some(Msg::Cancel(ref cancel)) if cancel.request_id == told.request_id));
}

#[test]
fn a_duplicate_id_in_flight_is_refused() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.call(1, "a");
    assert_eq!(scene.heard_one()["error"]["code"], -32600);
    assert_eq!(scene.told(1).len(), 1);
    scene.say_text(r#"{"jsonrpc":"2.0","id":"1","method":"ping"}"#);
    assert_eq!(scene.heard_one(), json!({"jsonrpc": "2.0", "id": "1", "result": {}}), "\"1\" is not 1");
}

#[test]
fn a_full_queue_stops_the_reading_of_hosts() {
    let mut scene = Scene::serving(&["a"]);
    for id in 0..WAITING_REQUESTS_MAX as u64 {
        scene.call(id + 1, "a");
    }
    assert!(scene.bridge.reads_host());
    scene.call(5_000, "a");
    assert!(!scene.bridge.reads_host());
    let told = scene.told_one(1);
    scene.result(1, &told.request_id, "one");
    assert!(scene.bridge.reads_host());
    for id in 10_000..13_000 {
        scene.call(id, "a");
    }
    let refused = scene.heard().iter().filter(|message| message["error"]["code"] == -32603).count();
    assert!(refused > 0, "beyond the bound calls are refused, not kept");
}

#[test]
fn an_answer_of_another_kind_fails_the_call() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    let told = scene.told_one(1);
    scene.tool(
        1,
        &told.request_id,
        Msg::CompletionResponse(crate::wire::protomcp::CompletionResponse::default()),
    );
    let answer = scene.heard_one();
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("another kind"));
    // What nobody asked for is dropped.
    scene.result(1, "777", "surprise");
    scene.result(1, "not a number", "surprise");
    assert!(scene.heard().is_empty());
}

#[test]
fn a_frame_that_cannot_be_read_fails_the_only_call() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.told_one(1);
    scene.tool_bytes(1, &[0, 0, 0, 3, 0xff, 0xff, 0xff]);
    let answer = scene.heard_one();
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("cannot be read"), "{answer}");
    scene.call(2, "a");
    let told = scene.told_one(1);
    scene.result(1, &told.request_id, "fine");
    assert_eq!(text(&scene.heard_one()), "fine");
}

#[test]
fn a_large_result_goes_through_a_worker_unharmed() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    let told = scene.told_one(1);
    let big = "x".repeat(crate::limits::LARGE_MIN + 1);
    scene.result(1, &told.request_id, &big);
    assert_eq!(text(&scene.heard_one()), big);
}

#[test]
fn a_batch_is_answered_as_one_and_only_where_the_revision_has_batches() {
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}]"#;
    let mut scene = Scene::new();
    scene.initialize("2025-03-26");
    scene.started(1);
    scene.handshake(1, &["a"], 0);
    scene.say_text(batch);
    assert!(scene.heard().is_empty(), "not before all answers are there");
    let told = scene.told_one(1);
    scene.result(1, &told.request_id, "x");
    let answers = scene.heard_one();
    assert_eq!(answers[0]["id"], 1);
    assert_eq!(answers[1]["id"], 2);

    let mut scene = Scene::serving(&["a"]);
    scene.say_text(batch);
    assert_eq!(scene.heard_one()["error"]["code"], -32600);
    assert!(scene.told(1).is_empty());
}

//! Cancellation in both directions, and calls that take too long.

use pmcp_bridge::wire::protomcp::envelope::Msg;
use serde_json::json;

use crate::support::raw_tool::{Peer, Trio, tool};

/// The next frame, which must cancel this request.
#[track_caller]
fn is_cancelled(peer: &Peer, id: &str) {
    let envelope = peer.next();
    match envelope.msg {
        Some(Msg::Cancel(request)) => assert_eq!(request.request_id, id),
        other => panic!("a cancel was expected, and this came: {other:?}"),
    }
}

#[test]
fn a_cancelled_call_is_told_to_the_tool_and_never_answered() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    trio.host.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    is_cancelled(&trio.peer, &call.id);
    trio.peer.answer_text(&call, "too late");
    trio.lives();
    assert!(trio.host.rest().is_empty(), "no answer, no progress, nothing");
}

#[test]
fn a_tool_that_never_answers_a_cancelled_call_holds_up_the_next_only_briefly() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    trio.host.notify("notifications/cancelled", json!({"requestId": id}));
    is_cancelled(&trio.peer, &call.id);
    let id = trio.host.begin_call("any", json!({"n": 2}));
    // It shows that it is done with it by answering a call to no tool.
    let probe = trio.peer.call();
    assert_eq!(probe.name, "pmcp/are-you-there");
    trio.peer.answer_text(&probe, "there is no such tool");
    // An answer that comes in the middle of another call is nobody's.
    let next = trio.peer.call();
    assert_eq!(next.name, "any");
    trio.peer.answer_text(&call, "very late");
    trio.peer.answer_text(&next, "in time");
    assert_eq!(trio.host.result_of(id)["content"][0]["text"], "in time");
}

#[test]
fn a_call_that_still_waits_is_cancelled_before_the_tool_hears_of_it() {
    let mut trio = Trio::new(&["any"]);
    let first = trio.host.begin_call("any", json!({"n": 1}));
    let second = trio.host.begin_call("any", json!({"n": 2}));
    let third = trio.host.begin_call("any", json!({"n": 3}));
    let call = trio.peer.call();
    trio.host.notify("notifications/cancelled", json!({"requestId": second}));
    assert!(trio.host.rest().is_empty());
    trio.peer.answer_text(&call, "one");
    trio.host.result_of(first);
    let call = trio.peer.call();
    assert_eq!(call.arguments, r#"{"n":3}"#);
    trio.peer.answer_text(&call, "three");
    assert_eq!(trio.host.result_of(third)["content"][0]["text"], "three");
    assert!(trio.host.rest().is_empty());
}

#[test]
fn a_cancel_for_nothing_is_nothing() {
    let mut trio = Trio::new(&["any"]);
    for params in [
        json!({"requestId": 12345}),
        json!({"requestId": "no such"}),
        json!({"requestId": null}),
        json!({"requestId": {"a": 1}}),
        json!({}),
        json!(null),
    ] {
        trio.host.notify("notifications/cancelled", params);
    }
    assert!(trio.host.rest().is_empty());
    trio.lives();
    // An id is known by its spelling: a string is not a number.
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    trio.host.notify("notifications/cancelled", json!({"requestId": id.to_string()}));
    assert!(trio.host.rest().is_empty());
    trio.peer.answer_text(&call, "still wanted");
    assert_eq!(trio.host.result_of(id)["content"][0]["text"], "still wanted");
}

#[test]
fn a_call_that_takes_too_long_is_ended_with_a_clear_error() {
    let mut trio = Trio::with(vec![tool("any")], |setup| setup.args(["--call-timeout", "150ms"]), |_| {});
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    let answer = trio.host.answer(id);
    let text = answer.to_string();
    assert!(
        answer["result"]["isError"] == true || answer["error"].is_object(),
        "a call that failed must look failed: {text}"
    );
    assert!(text.contains("150ms") || text.contains("0.15") || text.contains("150 ms"), "{text}");
    assert!(text.contains("any"), "names the tool: {text}");
    is_cancelled(&trio.peer, &call.id);
    trio.peer.answer_text(&call, "too late");
    trio.lives();
    assert!(trio.host.rest().is_empty());
}

#[test]
fn an_id_is_free_again_once_its_call_was_cancelled() {
    let mut trio = Trio::new(&["any"]);
    let line = r#"{"jsonrpc":"2.0","id":"again","method":"tools/call","params":{"name":"any"}}"#;
    trio.host.send(line);
    let call = trio.peer.call();
    trio.host.notify("notifications/cancelled", json!({"requestId": "again"}));
    is_cancelled(&trio.peer, &call.id);
    trio.host.send(line);
    trio.peer.answer_text(&call, "of the first");
    let call = trio.peer.call();
    trio.peer.answer_text(&call, "of the second");
    let answer = trio.host.answer("again");
    assert_eq!(answer["result"]["content"][0]["text"], "of the second");
}

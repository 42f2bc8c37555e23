//! What a tool process asks of the host: its model, and its roots.

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::*;
use serde_json::{Value, json};

use crate::support::raw_tool::{Peer, Trio, tool};

fn sampling(messages: &str) -> SamplingRequest {
    SamplingRequest { messages_json: messages.into(), ..SamplingRequest::default() }
}

#[track_caller]
fn sampled(peer: &Peer, id: &str) -> SamplingResponse {
    let envelope = peer.next();
    assert_eq!(envelope.request_id, id);
    match envelope.msg {
        Some(Msg::SamplingResponse(response)) => response,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tool_asks_the_hosts_model_in_the_middle_of_a_call() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    let request = SamplingRequest {
        messages_json: r#"[{"role":"user","content":"a bare string"},
            {"role":"assistant","content":{"type":"text","text":"an object"}}]"#
            .into(),
        model_preferences_json: r#"{"hints":[{"name":"small"}]}"#.into(),
        system_prompt: "be short".into(),
        max_tokens: 5,
        extra_json: r#"{"temperature":0.5}"#.into(),
        ..SamplingRequest::default()
    };
    trio.peer.send("ask-1", Msg::SamplingRequest(request));
    let (question, params) = trio.host.question("sampling/createMessage");
    assert_eq!(
        params,
        json!({
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "a bare string"}},
                {"role": "assistant", "content": {"type": "text", "text": "an object"}},
            ],
            "modelPreferences": {"hints": [{"name": "small"}]},
            "systemPrompt": "be short",
            "maxTokens": 5,
            "temperature": 0.5,
        })
    );
    trio.host.respond(
        &question,
        json!({
            "role": "assistant",
            "content": {"type": "text", "text": "an answer"},
            "model": "a-model",
            "stopReason": "endTurn",
        }),
    );
    let response = sampled(&trio.peer, "ask-1");
    assert_eq!(response.role, "assistant");
    let content: Value = serde_json::from_str(&response.content_json).unwrap();
    assert_eq!(content, json!({"type": "text", "text": "an answer"}));
    assert_eq!(response.model, "a-model");
    assert_eq!(response.stop_reason, "endTurn");
    assert_eq!(response.error, "");
    trio.peer.answer_text(&call, "done");
    trio.host.result_of(id);
}

#[test]
fn a_host_that_refuses_is_an_error_for_the_tool() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    trio.peer.send("ask-1", Msg::SamplingRequest(sampling(r#"[{"role":"user","content":"please"}]"#)));
    let (question, params) = trio.host.question("sampling/createMessage");
    assert!(params["maxTokens"].as_u64().unwrap() > 0, "{params}");
    trio.host.send(
        &json!({"jsonrpc": "2.0", "id": question, "error": {"code": -1, "message": "the user said no"}})
            .to_string(),
    );
    let response = sampled(&trio.peer, "ask-1");
    assert!(response.error.contains("the user said no"), "{}", response.error);

    // And messages that are none are an error at once, not a broken request to the host.
    for messages in ["", "{}", "nonsense", "7"] {
        trio.peer.send("ask-2", Msg::SamplingRequest(sampling(messages)));
        let response = sampled(&trio.peer, "ask-2");
        assert_ne!(response.error, "", "{messages:?}");
    }
    trio.peer.answer_text(&call, "done");
    trio.host.result_of(id);
    assert!(trio.host.rest().is_empty());
}

#[test]
fn a_host_without_the_capability_is_an_error_at_once() {
    let mut trio = Trio::revision(vec![tool("any")], "2025-11-25");
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    trio.peer.send("ask-1", Msg::SamplingRequest(sampling(r#"[{"role":"user","content":"please"}]"#)));
    let response = sampled(&trio.peer, "ask-1");
    assert!(response.error.contains("sampling"), "says what is missing: {}", response.error);
    trio.peer.send("ask-2", Msg::ListRootsRequest(ListRootsRequest::default()));
    let envelope = trio.peer.next();
    let Some(Msg::ListRootsResponse(response)) = envelope.msg else { panic!("{envelope:?}") };
    assert_eq!(envelope.request_id, "ask-2");
    assert!(response.error.contains("roots"), "{}", response.error);
    trio.peer.answer_text(&call, "done");
    trio.host.result_of(id);
    assert!(trio.host.rest().is_empty(), "the host was asked nothing");
}

#[test]
fn roots_are_asked_of_the_host() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    trio.peer.send("ask-1", Msg::ListRootsRequest(ListRootsRequest::default()));
    let (question, _) = trio.host.question("roots/list");
    trio.host.respond(&question, json!({"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}));
    let envelope = trio.peer.next();
    assert_eq!(envelope.request_id, "ask-1");
    let Some(Msg::ListRootsResponse(response)) = envelope.msg else { panic!("{envelope:?}") };
    assert_eq!(
        response.roots,
        [
            RootDef { uri: "file:///a".into(), name: "A".into() },
            RootDef { uri: "file:///b".into(), name: String::new() },
        ]
    );
    assert_eq!(response.error, "");
    trio.peer.answer_text(&call, "done");
    trio.host.result_of(id);
}

#[test]
fn a_cancelled_call_takes_its_questions_with_it() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    trio.peer.send("ask-1", Msg::SamplingRequest(sampling(r#"[{"role":"user","content":"please"}]"#)));
    let (question, _) = trio.host.question("sampling/createMessage");
    trio.host.notify("notifications/cancelled", json!({"requestId": id}));
    let params = trio.host.notification("notifications/cancelled");
    assert_eq!(params["requestId"], question);
    // The host's late answer is nobody's.
    trio.host.respond(&question, json!({"role": "assistant", "content": {}, "model": "m"}));
    trio.peer.answer_text(&call, "too late");
    loop {
        // The cancel, and the end of the question, in either order.
        let envelope = trio.peer.next();
        match envelope.msg {
            Some(Msg::Cancel(cancel)) => {
                assert_eq!(cancel.request_id, call.id);
                break;
            }
            Some(Msg::SamplingResponse(response)) => assert_ne!(response.error, ""),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn answers_to_questions_never_asked_are_nothing() {
    let mut trio = Trio::new(&["any"]);
    for id in ["1", "0", "\"1\"", "\"x\"", "null", "18446744073709551615"] {
        trio.host.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        trio.host.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"no"}}}}"#));
    }
    let errors: Vec<_> = trio.host.rest();
    assert!(errors.iter().all(|message| message.json["error"]["code"] == -32600), "{errors:?}");
    trio.lives();
}

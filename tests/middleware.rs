//! The middleware chain around a call.

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::*;
use serde_json::{Value, json};

use crate::support::raw_tool::{Peer, Trio, text_result, tool};

/// With these middleware registered, in this order.
fn trio(middleware: &[(&str, i32)]) -> Trio {
    let mut trio = Trio::unready(|setup| setup);
    trio.peer.lists().tools = vec![tool("any")];
    trio.peer.expect_list_tools();
    for (name, priority) in middleware {
        trio.peer.register(name, *priority);
    }
    trio.peer.complete();
    trio.host.initialize();
    trio
}

/// The next frame, which must ask this middleware in this phase.
#[track_caller]
fn intercepted(peer: &Peer, name: &str, phase: &str) -> (String, MiddlewareInterceptRequest) {
    let envelope = peer.next();
    match envelope.msg {
        Some(Msg::MiddlewareIntercept(request)) => {
            assert_eq!((request.middleware_name.as_str(), request.phase.as_str()), (name, phase));
            assert_eq!(request.tool_name, "any");
            (envelope.request_id, request)
        }
        other => panic!("{name} {phase} was expected, and this came: {other:?}"),
    }
}

fn answer(peer: &Peer, id: &str, arguments: &str, result: &str) {
    peer.send(
        id,
        Msg::MiddlewareInterceptResponse(MiddlewareInterceptResponse {
            arguments_json: arguments.into(),
            result_json: result.into(),
            ..MiddlewareInterceptResponse::default()
        }),
    );
}

#[test]
fn before_in_rising_priority_after_in_falling() {
    let mut trio = trio(&[("late", 20), ("early", -10), ("middle", 0)]);
    let id = trio.host.begin_call("any", json!({"n": 1}));
    let mut arguments = r#"{"n":1}"#.to_string();
    for name in ["early", "middle", "late"] {
        let (request_id, request) = intercepted(&trio.peer, name, "before");
        assert_eq!(request.arguments_json, arguments, "what the one before made of them");
        arguments = format!(r#"{{"by":"{name}"}}"#);
        answer(&trio.peer, &request_id, &arguments, "");
    }
    let call = trio.peer.call();
    assert_eq!(call.arguments, r#"{"by":"late"}"#);
    trio.peer.answer_text(&call, "made");
    let mut result = r#"[{"text":"made","type":"text"}]"#.to_string();
    for name in ["late", "middle", "early"] {
        let (request_id, request) = intercepted(&trio.peer, name, "after");
        let (got, expected): (Value, Value) =
            (serde_json::from_str(&request.result_json).unwrap(), serde_json::from_str(&result).unwrap());
        assert_eq!(got, expected);
        assert!(!request.is_error);
        assert_eq!(request.arguments_json, r#"{"by":"late"}"#);
        result = format!(r#"[{{"type":"text","text":"after {name}"}}]"#);
        answer(&trio.peer, &request_id, "", &result);
    }
    assert_eq!(trio.host.result_of(id)["content"][0]["text"], "after early");
    // And the chain is there for the next call, too.
    let id = trio.host.begin_call("any", json!({}));
    let (request_id, _) = intercepted(&trio.peer, "early", "before");
    reject(&trio.peer, &request_id, "not now");
    trio.host.result_of(id);
}

fn reject(peer: &Peer, id: &str, reason: &str) {
    peer.send(
        id,
        Msg::MiddlewareInterceptResponse(MiddlewareInterceptResponse {
            reject: true,
            reject_reason: reason.into(),
            ..MiddlewareInterceptResponse::default()
        }),
    );
}

#[test]
fn an_empty_answer_changes_nothing() {
    let mut trio = trio(&[("idle", 1)]);
    let id = trio.host.begin_call("any", json!({"n": 1}));
    let (request_id, _) = intercepted(&trio.peer, "idle", "before");
    answer(&trio.peer, &request_id, "", "");
    let call = trio.peer.call();
    assert_eq!(call.arguments, r#"{"n":1}"#);
    let error = CallToolResponse { is_error: true, ..text_result("broken") };
    trio.peer.answer(&call, error);
    let (request_id, request) = intercepted(&trio.peer, "idle", "after");
    assert!(request.is_error);
    answer(&trio.peer, &request_id, "", "");
    let result = trio.host.result_of(id);
    assert_eq!(result, json!({"content": [{"type": "text", "text": "broken"}], "isError": true}));
}

#[test]
fn a_rejected_call_never_reaches_the_tool() {
    let mut trio = trio(&[("guard", 1), ("second", 2)]);
    let id = trio.host.begin_call("any", json!({}));
    let (request_id, _) = intercepted(&trio.peer, "guard", "before");
    reject(&trio.peer, &request_id, "that word is forbidden");
    let result = trio.host.result_of(id);
    assert_eq!(result["isError"], true);
    assert!(result["content"].to_string().contains("that word is forbidden"), "{result}");
    // The next frame belongs to the next call.
    trio.host.begin_call("any", json!({"next": true}));
    let (_, request) = intercepted(&trio.peer, "guard", "before");
    assert_eq!(request.arguments_json, r#"{"next":true}"#);
}

#[test]
fn a_middleware_that_answers_nonsense_rejects_the_call() {
    let mut trio = trio(&[("broken", 1)]);
    for nonsense in ["{not json", "[1]", "7"] {
        let id = trio.host.begin_call("any", json!({}));
        let (request_id, _) = intercepted(&trio.peer, "broken", "before");
        answer(&trio.peer, &request_id, nonsense, "");
        let result = trio.host.result_of(id);
        assert_eq!(result["isError"], true, "{result}");
        assert!(result["content"].to_string().contains("broken"), "names it: {result}");
    }
    // A crash in the middle of it.
    let id = trio.host.begin_call("any", json!({}));
    intercepted(&trio.peer, "broken", "before");
    trio.tool.order("exit 3");
    let result = trio.host.result_of(id);
    assert_eq!(result["isError"], true, "{result}");
}

#[test]
fn a_call_cancelled_among_its_middleware_goes_no_further() {
    let mut trio = trio(&[("first", 1), ("second", 2)]);
    let id = trio.host.begin_call("any", json!({}));
    let (request_id, _) = intercepted(&trio.peer, "first", "before");
    trio.host.notify("notifications/cancelled", json!({"requestId": id}));
    assert!(trio.host.rest().is_empty());
    answer(&trio.peer, &request_id, "", "");
    let next = trio.host.begin_call("any", json!({"next": true}));
    loop {
        let envelope = trio.peer.next();
        match envelope.msg {
            // Whether the middleware is told of the cancel is left to the bridge.
            Some(Msg::Cancel(_)) => {}
            Some(Msg::MiddlewareIntercept(request)) => {
                assert_eq!(request.middleware_name, "first");
                assert_eq!(request.arguments_json, r#"{"next":true}"#);
                reject(&trio.peer, &envelope.request_id, "enough");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    trio.host.result_of(next);
}

#[test]
fn a_large_result_goes_through_the_chain_too() {
    let mut trio = trio(&[("idle", 1)]);
    let id = trio.host.begin_call("any", json!({}));
    let (request_id, _) = intercepted(&trio.peer, "idle", "before");
    answer(&trio.peer, &request_id, "", "");
    let call = trio.peer.call();
    let text = "z".repeat(1 << 20);
    let result = json!([{"type": "text", "text": text}]).to_string();
    trio.peer.send(
        "",
        Msg::RawHeader(RawHeader {
            request_id: call.id.clone(),
            field_name: "result_json".into(),
            size: result.len() as u64,
            ..RawHeader::default()
        }),
    );
    trio.peer.send_bytes(result.as_bytes());
    let (request_id, request) = intercepted(&trio.peer, "idle", "after");
    assert_eq!(request.result_json.len(), result.len());
    answer(&trio.peer, &request_id, "", "");
    assert_eq!(trio.host.result_of(id)["content"][0]["text"], text);
}

#[test]
fn an_old_process_that_never_says_complete_is_complete_after_silence() {
    let mut trio = Trio::unready(|setup| setup);
    trio.peer.lists().tools = vec![tool("any")];
    trio.peer.expect_list_tools();
    trio.host.initialize();
    let begin = std::time::Instant::now();
    let list = trio.host.ask("tools/list", Value::Null);
    assert_eq!(list["tools"][0]["name"], "any");
    assert!(begin.elapsed() < std::time::Duration::from_secs(5));
    let id = trio.host.begin_call("any", json!({}));
    // Lists may be asked for now; this peer answers them once it calls itself complete.
    loop {
        let envelope = trio.peer.next();
        match envelope.msg {
            Some(Msg::CallTool(_)) => {
                trio.peer.send(&envelope.request_id, Msg::CallResult(text_result("old")));
                break;
            }
            Some(Msg::ListResourcesRequest(_)) => trio
                .peer
                .send(&envelope.request_id, Msg::ResourceListResponse(ResourceListResponse::default())),
            Some(Msg::ListResourceTemplatesRequest(_)) => trio.peer.send(
                &envelope.request_id,
                Msg::ResourceTemplateListResponse(ResourceTemplateListResponse::default()),
            ),
            Some(Msg::ListPromptsRequest(_)) => {
                trio.peer.send(&envelope.request_id, Msg::PromptListResponse(PromptListResponse::default()))
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(trio.host.result_of(id)["content"][0]["text"], "old");
}

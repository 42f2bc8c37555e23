//! Running calls whose host is asked in the modern era: they wait for its return.

use super::modern::{offering, serving};
use super::*;
use crate::limits::{INPUT_TIMEOUT, QUESTIONS_GATHER};
use crate::wire::protomcp::{
    CallToolResponse, ElicitRequest, ElicitResponse, GetPromptResponse, ListRootsRequest, PromptMessage,
    SamplingRequest, ToolError,
};

pub(super) fn everything() -> Value {
    offering(json!({"elicitation": {}, "sampling": {}, "roots": {}}))
}

pub(super) fn elicit(call: &str) -> Msg {
    Msg::ElicitRequest(ElicitRequest {
        message: "Who?".into(),
        requested_schema_json: r#"{"type":"object","properties":{"name":{"type":"string"}}}"#.into(),
        call_request_id: call.into(),
        ..Default::default()
    })
}

fn sample(call: &str) -> Msg {
    Msg::SamplingRequest(SamplingRequest {
        messages_json: r#"[{"role":"user","content":"hi"}]"#.into(),
        call_request_id: call.into(),
        ..Default::default()
    })
}

/// What a host sends for a call, the first time and again.
pub(super) fn call(scene: &mut Scene, id: u64, arguments: Value, again: Option<(&Value, Value)>) {
    let mut params = json!({"name": "a", "arguments": arguments, "_meta": everything()});
    if let Some((state, responses)) = again {
        params["requestState"] = state.clone();
        params["inputResponses"] = responses;
    }
    scene.ask(id, "tools/call", params);
}

/// A call whose host was asked: the request that the tool works on, and what the host was told.
pub(super) fn asked() -> (Scene, String, Value) {
    let mut scene = serving(&["a"]);
    call(&mut scene, 1, json!({"n": 1, "m": [2]}), None);
    let request = scene.told_one(1).request_id;
    scene.tool(1, "e1", elicit(&request));
    assert!(scene.heard().is_empty(), "more may be asked at once");
    scene.wait(QUESTIONS_GATHER);
    let answer = scene.heard_one();
    (scene, request, answer)
}

pub(super) fn only_key(answer: &Value) -> String {
    let requests = answer["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{answer:#}"));
    assert_eq!(requests.len(), 1, "{answer:#}");
    requests.keys().next().unwrap().clone()
}

pub(super) fn state(answer: &Value) -> Value {
    let state = answer["result"]["requestState"].clone();
    assert!(state.is_string(), "{answer:#}");
    state
}

#[track_caller]
pub(super) fn elicited(scene: &mut Scene) -> ElicitResponse {
    let told = scene.told_one(1);
    let Some(Msg::ElicitResponse(response)) = told.msg else { panic!("{told:?}") };
    response
}

pub(super) fn accept() -> Value {
    json!({"action": "accept", "content": {"name": "Eve"}})
}

#[test]
fn a_call_goes_on_when_its_host_comes_back() {
    let (mut scene, request, answer) = asked();
    assert_eq!((&answer["id"], &answer["result"]["resultType"]), (&json!(1), &json!("input_required")));
    let key = only_key(&answer);
    let shown = &answer["result"]["inputRequests"][&key];
    assert_eq!(shown["method"], "elicitation/create");
    assert_eq!(shown["params"]["message"], "Who?");
    // The arguments are the same, spelled in another order.
    call(&mut scene, 2, json!({"m": [2], "n": 1}), Some((&state(&answer), json!({key: accept()}))));
    let response = elicited(&mut scene);
    assert_eq!((response.action.as_str(), response.content_json.as_str()), ("accept", r#"{"name":"Eve"}"#));
    scene.result(1, &request, "hello Eve");
    let answer = scene.heard_one();
    assert_eq!((&answer["id"], &*text(&answer)), (&json!(2), "hello Eve"));
    assert_eq!(scene.bridge.deadline(), None);
}

#[test]
fn what_is_asked_at_once_goes_in_one_answer_and_may_be_answered_in_parts() {
    let mut scene = serving(&["a"]);
    call(&mut scene, 1, json!({}), None);
    let request = scene.told_one(1).request_id;
    scene.tool(1, "e", elicit(&request));
    scene.tool(1, "s", sample(&request));
    scene.tool(1, "r", Msg::ListRootsRequest(ListRootsRequest { call_request_id: request.clone() }));
    scene.wait(QUESTIONS_GATHER);
    let answer = scene.heard_one();
    let requests = answer["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 3);
    let key = |method: &str| requests.iter().find(|(_, it)| it["method"] == method).unwrap().0.clone();
    let (who, roots, model) = (key("elicitation/create"), key("roots/list"), key("sampling/createMessage"));
    let some = json!({&who: {"action": "decline"}, &roots: {"roots": [{"uri": "file:///a"}]}, "unknown": 7});
    call(&mut scene, 2, json!({}), Some((&state(&answer), some)));
    let told = scene.told(1);
    assert_eq!(told.iter().map(|it| it.request_id.as_str()).collect::<Vec<_>>(), ["e", "r"]);
    // The rest is asked again, with what the tool asks next.
    scene.wait(QUESTIONS_GATHER);
    let again = scene.heard_one();
    assert_eq!((&again["id"], only_key(&again)), (&json!(2), model.clone()));
    let result = json!({"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"});
    call(&mut scene, 3, json!({}), Some((&state(&again), json!({model: result}))));
    assert!(matches!(scene.told_one(1).msg, Some(Msg::SamplingResponse(ref it)) if it.model == "m"));
    scene.result(1, &request, "done");
    assert_eq!(text(&scene.heard_one()), "done");
}

#[track_caller]
fn refused(scene: &mut Scene, id: u64, word: &str) {
    let answer = scene.heard_one();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32602)), "{answer:#}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(word), "{message}");
    assert!(scene.told(1).is_empty(), "the tool heard of it");
}

#[test]
fn a_state_that_is_not_ours_or_for_something_else_changes_nothing() {
    let (mut scene, request, answer) = asked();
    let (good, key) = (state(&answer), only_key(&answer));
    let responses = json!({&key: accept()});
    let text = good.as_str().unwrap();
    for at in [0, text.len() / 2, text.len() - 1] {
        let other = if &text[at..=at] == "A" { "B" } else { "A" };
        let altered = json!(format!("{}{other}{}", &text[..at], &text[at + 1..]));
        call(&mut scene, 2, json!({"n": 1, "m": [2]}), Some((&altered, responses.clone())));
        refused(&mut scene, 2, "requestState");
    }
    for foreign in ["", "p1.AAAA", "x", "\u{0}", &"A".repeat(10_000)] {
        call(&mut scene, 2, json!({"n": 1, "m": [2]}), Some((&json!(foreign), responses.clone())));
        refused(&mut scene, 2, "requestState");
    }
    call(&mut scene, 2, json!({"n": 2, "m": [2]}), Some((&good, responses.clone())));
    refused(&mut scene, 2, "requestState");
    // A malformed answer is told, and the call still waits.
    for bad in
        [json!({}), json!({"action": "yes"}), json!(7), json!({"action": "accept", "content": {"a": {}}})]
    {
        call(&mut scene, 2, json!({"n": 1, "m": [2]}), Some((&good, json!({&key: bad}))));
        refused(&mut scene, 2, "inputResponses");
    }
    call(&mut scene, 3, json!({"n": 1, "m": [2]}), Some((&good, responses.clone())));
    elicited(&mut scene);
    // A state is good for one return.
    call(&mut scene, 4, json!({"n": 1, "m": [2]}), Some((&good, responses.clone())));
    refused(&mut scene, 4, "used already");
    scene.result(1, &request, "done");
    assert_eq!(scene.heard_one()["id"], 3);
    call(&mut scene, 5, json!({"n": 1, "m": [2]}), Some((&good, responses)));
    refused(&mut scene, 5, "is over");
}

#[test]
fn another_host_cannot_take_up_a_call() {
    let (mut scene, _, answer) = asked();
    let session = SessionId(9);
    scene.input(Input::SessionOpened { session, lasts: true, principal: "mallory".into() });
    let params = json!({"name": "a", "arguments": {"n": 1, "m": [2]}, "_meta": everything(),
        "requestState": state(&answer), "inputResponses": {only_key(&answer): accept()}});
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    scene.input(Input::Host { route: Route::session(session), message: request::parse(line.as_bytes()) });
    refused(&mut scene, 1, "requestState");
}

#[test]
fn a_host_that_never_comes_back_loses_its_call() {
    let (mut scene, request, answer) = asked();
    scene.wait(INPUT_TIMEOUT);
    let told = scene.told(1);
    assert!(
        told.iter().any(|it| matches!(&it.msg, Some(Msg::Cancel(cancel)) if cancel.request_id == request)),
        "{told:?}"
    );
    assert!(scene.heard().is_empty());
    call(&mut scene, 2, json!({"n": 1, "m": [2]}), Some((&state(&answer), json!({}))));
    let over = scene.heard_one();
    assert!(over["error"]["message"].as_str().unwrap().contains("is over"), "{over}");
    assert!(scene.bridge.calls.is_empty());
}

#[test]
fn time_stands_still_while_a_host_is_away() {
    let (mut scene, request, answer) = asked();
    scene.wait(INPUT_TIMEOUT - Duration::from_secs(1));
    call(
        &mut scene,
        2,
        json!({"n": 1, "m": [2]}),
        Some((&state(&answer), json!({only_key(&answer): accept()}))),
    );
    elicited(&mut scene);
    scene.wait(Duration::from_secs(299));
    assert!(scene.heard().is_empty());
    scene.wait(Duration::from_secs(2));
    assert!(text(&scene.heard_one()).contains("--call-timeout"));
    let _ = request;
}

#[test]
fn what_a_call_ended_with_meanwhile_is_there_when_its_host_comes_back() {
    // The tool gave up waiting, or its process died.
    for dies in [false, true] {
        let (mut scene, request, answer) = asked();
        if dies {
            scene.exited(1, "was killed by signal 9", "no memory");
        } else {
            scene.result(1, &request, "nobody answered");
        }
        assert!(scene.heard().is_empty());
        call(
            &mut scene,
            2,
            json!({"n": 1, "m": [2]}),
            Some((&state(&answer), json!({only_key(&answer): accept()}))),
        );
        let late = scene.heard_one();
        assert_eq!(late["id"], 2);
        assert!(text(&late).contains(if dies { "no memory" } else { "nobody answered" }), "{late}");
        assert_eq!(late["result"]["resultType"], "complete");
    }
}

#[test]
fn a_host_that_cannot_be_asked_is_told_so_unless_the_tool_copes() {
    for (code, is_error) in [("MISSING_CAPABILITY", true), ("", false)] {
        let mut scene = serving(&["a"]);
        scene.ask(1, "tools/call", json!({"name": "a", "_meta": offering(json!({"sampling": {}}))}));
        let request = scene.told_one(1).request_id;
        scene.tool(1, "e", elicit(&request));
        let response = elicited(&mut scene);
        assert_eq!(response.error_code, "MISSING_CAPABILITY");
        assert!(scene.heard().is_empty());
        let error = is_error.then(|| ToolError {
            error_code: code.into(),
            message: response.error,
            ..ToolError::default()
        });
        let result_json = r#"[{"type":"text","text":"without asking"}]"#.into();
        let response = CallToolResponse { is_error, result_json, error, ..CallToolResponse::default() };
        scene.tool(1, &request, Msg::CallResult(response));
        let answer = scene.heard_one();
        if is_error {
            assert_eq!(answer["error"]["code"], -32021, "{answer}");
            let required = json!({"elicitation": {"form": {}}});
            assert_eq!(answer["error"]["data"]["requiredCapabilities"], required);
        } else {
            assert_eq!(text(&answer), "without asking");
        }
    }
}

#[test]
fn prompts_ask_too() {
    let mut scene = serving(&["a"]);
    let params = |more: Value| {
        let mut params = json!({"name": "p", "arguments": {"x": "1"}, "_meta": everything()});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    scene.ask(1, "prompts/get", params(json!({})));
    let list = scene.told_one(1).request_id;
    let prompts = vec![crate::wire::protomcp::PromptDefinition { name: "p".into(), ..Default::default() }];
    scene.tool(1, &list, Msg::PromptListResponse(crate::wire::protomcp::PromptListResponse { prompts }));
    let request = scene.told_one(1).request_id;
    scene.tool(1, "e", elicit(&request));
    scene.wait(QUESTIONS_GATHER);
    let answer = scene.heard_one();
    let responses = json!({only_key(&answer): accept()});
    scene.ask(2, "prompts/get", params(json!({"requestState": state(&answer), "inputResponses": responses})));
    elicited(&mut scene);
    let messages =
        vec![PromptMessage { role: "user".into(), content_json: r#"{"type":"text","text":"x"}"#.into() }];
    scene.tool(1, &request, Msg::GetPromptResponse(GetPromptResponse { messages, ..Default::default() }));
    let answer = scene.heard_one();
    assert_eq!((&answer["id"], &answer["result"]["messages"][0]["role"]), (&json!(2), &json!("user")));
}

#[test]
fn a_call_can_be_cancelled_after_its_host_came_back() {
    let (mut scene, request, answer) = asked();
    // The first request has its answer; a late cancel of it is nothing.
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    assert!(scene.told(1).is_empty());
    call(
        &mut scene,
        2,
        json!({"n": 1, "m": [2]}),
        Some((&state(&answer), json!({only_key(&answer): accept()}))),
    );
    elicited(&mut scene);
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    assert!(matches!(scene.told_one(1).msg, Some(Msg::Cancel(cancel)) if cancel.request_id == request));
    scene.result(1, &request, "late");
    assert!(scene.heard().is_empty());
}

#[test]
fn the_end_does_not_wait_for_hosts_that_are_away() {
    let (mut scene, _, _) = asked();
    scene.input(Input::HostLeft(HOST));
    assert!(scene.orders().contains(&"term 1".to_owned()));
    scene.exited(1, "exited with status 0", "");
    assert!(scene.orders().contains(&"exit".to_owned()));
}

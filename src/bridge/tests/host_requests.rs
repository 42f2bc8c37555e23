//! What a tool asks of its host.

use super::*;
use crate::limits::INPUT_TIMEOUT;
use crate::wire::protomcp::{ListRootsRequest, ListRootsResponse, SamplingRequest, SamplingResponse};

fn sample(call: &str) -> Msg {
    Msg::SamplingRequest(SamplingRequest {
        messages_json: r#"[{"role":"user","content":"hi"}]"#.into(),
        max_tokens: 10,
        call_request_id: call.into(),
        ..Default::default()
    })
}

#[track_caller]
fn sampled(scene: &mut Scene) -> SamplingResponse {
    let told = scene.told_one(1);
    assert_eq!(told.request_id, "s-1");
    let Some(Msg::SamplingResponse(response)) = told.msg else { panic!("{told:?}") };
    response
}

#[test]
fn sampling_goes_to_the_host_and_back() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.told_one(1);
    scene.tool(1, "s-1", sample(""));
    let request = scene.heard_one();
    assert_eq!(request["method"], "sampling/createMessage");
    assert_eq!(request["params"]["messages"][0]["content"], json!({"type": "text", "text": "hi"}));
    let result = json!({"role": "assistant", "content": {"type": "text", "text": "yo"}, "model": "m", "stopReason": "endTurn"});
    scene.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    let response = sampled(&mut scene);
    assert_eq!(
        (response.role.as_str(), response.model.as_str(), response.error.as_str()),
        ("assistant", "m", "")
    );
    assert!(response.content_json.contains("yo"));
    // A second answer to it is nobody's.
    scene.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": {}}));
    assert!(scene.told(1).is_empty());
}

#[test]
fn a_hosts_refusal_reaches_the_tool() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.told_one(1);
    scene.tool(1, "s-1", sample(""));
    let id = scene.heard_one()["id"].clone();
    scene.say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "User rejected"}}));
    assert!(sampled(&mut scene).error.contains("User rejected"));
}

#[test]
fn a_host_without_the_capability_is_not_asked() {
    let mut scene = Scene::new();
    scene.ask(0, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "h", "version": "1"}}));
    scene.heard_one();
    scene.started(1);
    scene.handshake(1, &["a"], 0);
    scene.call(1, "a");
    scene.told_one(1);
    scene.tool(1, "s-1", sample(""));
    assert!(scene.heard().is_empty());
    assert!(sampled(&mut scene).error.contains("does not offer sampling"));
    scene.tool(1, "s-1", Msg::ListRootsRequest(ListRootsRequest::default()));
    let told = scene.told_one(1);
    assert!(
        matches!(told.msg, Some(Msg::ListRootsResponse(ref response)) if response.error.contains("roots"))
    );
}

#[test]
fn nonsense_for_messages_is_refused() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.told_one(1);
    scene.tool(
        1,
        "s-1",
        Msg::SamplingRequest(SamplingRequest { messages_json: "{".into(), ..Default::default() }),
    );
    assert!(scene.heard().is_empty());
    assert_ne!(sampled(&mut scene).error, "");
    assert_eq!(scene.bridge.questions.deadline(), None);
}

#[test]
fn roots_come_as_a_list() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.told_one(1);
    scene.tool(1, "r", Msg::ListRootsRequest(ListRootsRequest::default()));
    let request = scene.heard_one();
    assert_eq!(request["method"], "roots/list");
    scene.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": {"roots": [{"uri": "file:///x", "name": "x"}]}}));
    let told = scene.told_one(1);
    let Some(Msg::ListRootsResponse(ListRootsResponse { roots, error, .. })) = told.msg else {
        panic!("{told:?}")
    };
    assert_eq!((roots[0].uri.as_str(), error.as_str()), ("file:///x", ""));
}

#[test]
fn a_cancelled_call_withdraws_its_questions() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.told_one(1);
    scene.tool(1, "s-1", sample(""));
    let id = scene.heard_one()["id"].clone();
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    let heard = scene.heard_one();
    assert_eq!(heard["method"], "notifications/cancelled");
    assert_eq!(heard["params"]["requestId"], id);
    let told = scene.told(1);
    assert!(told.iter().any(
        |told| matches!(&told.msg, Some(Msg::SamplingResponse(response)) if !response.error.is_empty())
    ));
}

#[test]
fn a_host_that_never_answers_is_given_up() {
    let mut scene = Scene::serving(&["a"]);
    scene.tool(1, "s-1", sample(""));
    scene.heard_one();
    scene.wait(INPUT_TIMEOUT);
    assert_eq!(scene.heard_one()["method"], "notifications/cancelled");
    assert!(sampled(&mut scene).error.contains("did not answer"));
}

#[test]
fn with_several_calls_the_question_must_say_whose_it_is() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.started(1);
    scene.handshake(1, &["a"], 2);
    scene.call(1, "a");
    scene.call(2, "a");
    let told = scene.told(1);
    scene.tool(1, "s-1", sample(""));
    assert!(sampled(&mut scene).error.contains("call_request_id"));
    scene.tool(1, "s-1", sample(&told[1].request_id));
    assert_eq!(scene.heard_one()["method"], "sampling/createMessage");
    scene.tool(1, "s-1", sample("424242"));
    assert!(sampled(&mut scene).error.contains("not running"));
}

#[test]
fn questions_of_a_dead_process_are_withdrawn() {
    let mut scene = Scene::serving(&["a"]);
    scene.tool(1, "s-1", sample(""));
    let id = scene.heard_one()["id"].clone();
    scene.exited(1, "exited with status 0", "");
    assert_eq!(scene.heard_one()["params"]["requestId"], id);
}

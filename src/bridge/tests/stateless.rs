//! Tools that answer with questions and are called again.

use super::modern::{offering, serving};
use super::parked::{elicit, everything};
use super::*;
use crate::limits::INPUT_ROUNDS_MAX;
use crate::wire::protomcp::{
    InputGiven, InputQuestion, InputRequired, input_answer::Answer, input_question::Question,
};

fn question(key: &str) -> InputQuestion {
    let Msg::ElicitRequest(request) = elicit("") else { unreachable!() };
    InputQuestion { key: key.into(), question: Some(Question::Elicit(request)) }
}

fn required(keys: &[&str], state: &str) -> Msg {
    let questions = keys.iter().map(|key| question(key)).collect();
    Msg::InputRequired(InputRequired { questions, state: state.into() })
}

#[track_caller]
fn given(envelope: Envelope) -> (String, InputGiven) {
    let Some(Msg::CallTool(call)) = envelope.msg else { panic!("{envelope:?}") };
    assert_eq!(call.arguments_json, r#"{"n":1}"#);
    (envelope.request_id, call.input.expect("what was given"))
}

fn params(more: Value) -> Value {
    let mut params = json!({"name": "a", "arguments": {"n": 1}, "_meta": everything()});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

#[test]
fn any_replica_with_the_key_takes_the_retry() {
    let mut one = serving(&["a"]);
    one.ask(1, "tools/call", params(json!({})));
    let request = one.told_one(1).request_id;
    one.tool(1, &request, required(&["who", "why"], "step 1"));
    let answer = one.heard_one();
    assert_eq!(answer["result"]["resultType"], "input_required");
    let keys: Vec<&String> = answer["result"]["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["who", "why"]);
    assert!(one.bridge.calls.is_empty(), "nothing is kept");
    assert_eq!(one.bridge.deadline(), None);

    let mut other = Scene::new();
    other.bridge.config.instance = 2;
    other.started(1);
    other.handshake(1, &["a"], 0);
    let state = answer["result"]["requestState"].clone();
    let who = json!({"who": {"action": "accept", "content": {"name": "Eve"}}, "odd": 1});
    other.ask(7, "tools/call", params(json!({"requestState": state, "inputResponses": who})));
    let (request, given) = given(other.told_one(1));
    assert_eq!(given.state, b"step 1");
    let [answer] = &given.answers[..] else { panic!("{given:?}") };
    assert!(matches!(&answer.answer, Some(Answer::Elicit(it)) if it.action == "accept"), "{answer:?}");
    assert_eq!(answer.key, "who");
    other.result(1, &request, "done");
    assert_eq!(text(&other.heard_one()), "done");

    // With another key it is not ours.
    let mut stranger = serving(&["a"]);
    stranger.bridge.config.state_key = Key::new(b"another key, of 32 bytes or perhaps more");
    stranger.ask(1, "tools/call", params(json!({"requestState": state})));
    assert_eq!(stranger.heard_one()["error"]["code"], -32602);
    // And it expires.
    let mut late = serving(&["a"]);
    late.bridge.set_wall_clock(Duration::from_secs(601));
    late.ask(1, "tools/call", params(json!({"requestState": state})));
    let error = late.heard_one();
    assert!(error["error"]["message"].as_str().unwrap().contains("expired"), "{error}");
}

#[test]
fn a_host_of_the_handshake_era_is_asked_and_the_tool_called_again() {
    let mut scene = Scene::new();
    let capabilities = json!({"elicitation": {}});
    scene.ask(0, "initialize", json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "h", "version": "1"}}));
    scene.heard_one();
    scene.started(1);
    scene.handshake(1, &["a", "b"], 0);
    scene.call(1, "a");
    let first = scene.told_one(1).request_id;
    scene.tool(1, &first, required(&["who", "why"], "s"));
    let asked = scene.heard();
    assert_eq!(asked.len(), 2, "{asked:#?}");
    // The slot is free while the host thinks.
    scene.call(2, "b");
    let between = scene.told_one(1).request_id;
    scene.result(1, &between, "b");
    assert_eq!(scene.heard_one()["id"], 2);
    for (at, action) in [(1, "decline"), (0, "accept")] {
        assert!(scene.told(1).is_empty());
        let mut result = json!({"action": action});
        if action == "accept" {
            result["content"] = json!({});
        }
        scene.say(&json!({"jsonrpc": "2.0", "id": asked[at]["id"], "result": result}));
    }
    let (request, given) = given(scene.told_one(1));
    assert_eq!(given.state, b"s");
    let keys: Vec<&str> = given.answers.iter().map(|answer| answer.key.as_str()).collect();
    assert_eq!(keys, ["why", "who"]);
    scene.result(1, &request, "done");
    let answer = scene.heard_one();
    assert_eq!((&answer["id"], &*text(&answer)), (&json!(1), "done"));
}

#[test]
fn what_cannot_be_asked_is_told() {
    let table: [(Msg, &str); 4] = [
        (required(&[], ""), "neither"),
        (required(&["k", "k"], ""), "two questions"),
        (
            Msg::InputRequired(InputRequired {
                questions: vec![InputQuestion { key: "k".into(), question: None }],
                state: Vec::new(),
            }),
            "asks nothing",
        ),
        (
            Msg::InputRequired(InputRequired {
                questions: vec![InputQuestion {
                    key: "k".into(),
                    question: Some(Question::Elicit(crate::wire::protomcp::ElicitRequest {
                        mode: "telepathy".into(),
                        ..Default::default()
                    })),
                }],
                state: Vec::new(),
            }),
            "telepathy",
        ),
    ];
    for (msg, word) in table {
        let mut scene = serving(&["a"]);
        scene.ask(1, "tools/call", params(json!({})));
        let request = scene.told_one(1).request_id;
        scene.tool(1, &request, msg);
        let answer = scene.heard_one();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text(&answer).contains(word), "{answer}");
    }
}

#[test]
fn a_host_without_the_capability_is_told_in_the_words_of_its_era() {
    let mut scene = serving(&["a"]);
    scene.ask(1, "tools/call", json!({"name": "a", "arguments": {}, "_meta": offering(json!({}))}));
    let request = scene.told_one(1).request_id;
    scene.tool(1, &request, required(&["who"], ""));
    let answer = scene.heard_one();
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(answer["error"]["data"]["requiredCapabilities"], json!({"elicitation": {"form": {}}}));

    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    let request = scene.told_one(1).request_id;
    scene.tool(1, &request, required(&["who"], ""));
    let answer = scene.heard_one();
    assert!(text(&answer).contains("does not offer elicitation"), "{answer}");
}

#[test]
fn a_tool_that_asks_without_end_is_stopped() {
    let mut scene = Scene::serving(&["a"]);
    scene.ask(1, "tools/call", json!({"name": "a", "arguments": {"n": 1}}));
    for round in 0..INPUT_ROUNDS_MAX {
        let request = scene.told_one(1).request_id;
        assert!(scene.heard().is_empty(), "round {round}");
        scene.tool(1, &request, required(&[], "again"));
    }
    let request = scene.told_one(1).request_id;
    scene.tool(1, &request, required(&[], "again"));
    assert!(text(&scene.heard_one()).contains("limit"));
}

#[test]
fn answers_without_a_state_are_given_by_their_shape() {
    let mut scene = serving(&["a"]);
    let responses = json!({
        "who": {"action": "accept", "content": {"name": "Eve"}},
        "model": {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"},
        "roots": {"roots": []},
        "odd": {"x": 1}, "odder": 7, "bad": {"action": "perhaps"},
    });
    scene.ask(1, "tools/call", params(json!({"inputResponses": responses})));
    let (_, given) = given(scene.told_one(1));
    assert!(given.state.is_empty());
    let mut keys: Vec<&str> = given.answers.iter().map(|answer| answer.key.as_str()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["model", "roots", "who"]);
}

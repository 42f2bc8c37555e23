//! What was wrong once with questions to hosts.

use super::super::modern::{offering, serving};
use super::super::parked::{accept, asked, call, elicit, elicited, everything, only_key, state};
use super::*;
use crate::limits::{INPUT_TIMEOUT, LEFT_BYTES_MAX, QUESTIONS_GATHER};
use crate::wire::protomcp::{InputQuestion, InputRequired, input_question::Question};

fn required(keys: &[&str], state: &str) -> Msg {
    let Msg::ElicitRequest(request) = elicit("") else { unreachable!() };
    let question =
        |key: &&str| InputQuestion { key: (*key).into(), question: Some(Question::Elicit(request.clone())) };
    Msg::InputRequired(InputRequired { questions: keys.iter().map(question).collect(), state: state.into() })
}

/// Once upon a time a tool that did not wait for the answer to its question, and answered with a large
/// result while that was on its way to the host, had the host sent away with the question; and what
/// the host then got was one message inside another.
#[test]
fn a_result_that_a_worker_spells_is_the_answer() {
    let mut scene = serving(&["a"]);
    scene.ask(1, "tools/call", json!({"name": "a", "_meta": everything()}));
    let request = scene.told_one(1).request_id;
    scene.tool(1, "e", elicit(&request));
    let result_json = json!([{"type": "text", "text": "y".repeat(LARGE_MIN)}]).to_string();
    let response = CallToolResponse { result_json, ..Default::default() };
    let envelope =
        Envelope { request_id: request, msg: Some(Msg::CallResult(response)), ..Default::default() };
    let received = Received::CallResult { frame: envelope.encode_to_vec().into() };
    let (now, generation) = (scene.now, Generation(1));
    scene.bridge.handle(Input::Tool { generation, received }, now, &mut scene.outputs);
    let at = scene.outputs.iter().position(|output| matches!(output, Output::Job(_))).expect("a job");
    let Output::Job(job) = scene.outputs.remove(at) else { unreachable!() };
    scene.wait(QUESTIONS_GATHER);
    scene.input(Input::JobDone(job.run()));
    let answer = scene.heard_one();
    assert_eq!((&answer["id"], &answer["result"]["resultType"]), (&json!(1), &json!("complete")));
}

/// Once upon a time a tool that asked and waited, and then answered with questions all the same, was
/// called again while its host was away: nobody gave that up if the host never came, and the bytes of
/// the line were miscounted when it did.
#[test]
fn a_tool_that_asks_in_both_ways_is_not_called_for_a_host_that_is_away() {
    for keys in [&[] as &[&str], &["who"]] {
        let (mut scene, request, answer) = asked();
        scene.tool(1, &request, required(keys, "mine"));
        assert!(scene.told(1).iter().all(|told| !matches!(told.msg, Some(Msg::CallTool(_)))));
        assert!(scene.bridge.calls.is_empty());
        let responses = json!({only_key(&answer): accept()});
        call(&mut scene, 2, json!({"n": 1, "m": [2]}), Some((&state(&answer), responses)));
        let again = scene.heard_one();
        assert_eq!(again["result"]["resultType"], "input_required");
        call(&mut scene, 3, json!({"n": 1, "m": [2]}), Some((&state(&again), json!({"who": accept()}))));
        let Some(Msg::CallTool(told)) = scene.told_one(1).msg else { panic!() };
        let given = told.input.expect("what was given");
        assert_eq!((given.state.as_slice(), given.answers.len()), (&b"mine"[..], keys.len()));
    }
}

/// Once upon a time the state of a tool was refused when it came back from a host that offers
/// nothing: the arguments that it belongs to had been given away.
#[test]
fn a_host_that_offers_nothing_can_bring_a_state_back() {
    let mut scene = serving(&["a"]);
    let params = json!({"name": "a", "arguments": {"n": 1}, "_meta": offering(json!({}))});
    scene.ask(1, "tools/call", params.clone());
    let request = scene.told_one(1).request_id;
    scene.tool(1, &request, required(&[], "half way"));
    let answer = scene.heard_one();
    let mut again = params;
    again["requestState"] = state(&answer);
    scene.ask(2, "tools/call", again);
    let Some(Msg::CallTool(told)) = scene.told_one(1).msg else { panic!() };
    assert_eq!(told.input.expect("what was given").state, b"half way");
}

/// Once upon a time a host that came back with a part of the answers was asked for the rest, whether
/// it offered that in its new request or not.
#[test]
fn a_host_is_asked_again_only_for_what_it_offers_now() {
    let (mut scene, request, answer) = asked();
    let params = json!({"name": "a", "arguments": {"n": 1, "m": [2]}, "_meta": offering(json!({"roots": {}})),
        "requestState": state(&answer)});
    scene.ask(2, "tools/call", params);
    scene.wait(QUESTIONS_GATHER);
    assert!(scene.heard().is_empty(), "it cannot be asked");
    assert_eq!(elicited(&mut scene).error_code, "MISSING_CAPABILITY");
    scene.result(1, &request, "without");
    let answer = scene.heard_one();
    assert_eq!((&answer["id"], &*text(&answer)), (&json!(2), "without"));
}

/// Once upon a time a result that was larger than all results of calls whose hosts are away may be
/// together was dropped at once.
#[test]
fn the_last_result_is_kept_however_large() {
    let (mut scene, request, answer) = asked();
    scene.bridge.config.message_max = 4 * LEFT_BYTES_MAX;
    let outcome = "y".repeat(LEFT_BYTES_MAX);
    let result_json = json!([{"type": "text", "text": outcome}]).to_string();
    let response = CallToolResponse { result_json, ..Default::default() };
    let envelope =
        Envelope { request_id: request, msg: Some(Msg::CallResult(response)), ..Default::default() };
    let received = Received::CallResult { frame: envelope.encode_to_vec().into() };
    let (now, generation) = (scene.now, Generation(1));
    scene.bridge.handle(Input::Tool { generation, received }, now, &mut scene.outputs);
    scene.input(Input::Tick);
    let responses = json!({only_key(&answer): accept()});
    call(&mut scene, 2, json!({"n": 1, "m": [2]}), Some((&state(&answer), responses)));
    assert_eq!(text(&scene.heard_one()).len(), outcome.len());
}

/// Once upon a time a tool that does not say for which call it asks, and whose only call had been
/// cancelled with its session, asked another host.
#[test]
fn a_cancelled_call_asks_no_other_host() {
    let mut scene = Scene::serving(&["a"]);
    let session = SessionId(7);
    scene.input(Input::SessionOpened { session, lasts: true, principal: "".into() });
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}});
    scene.say_from(Route { session, exchange: 1 }, &line);
    scene.told_one(1);
    scene.input(Input::SessionClosed(session));
    scene.told(1);
    scene.tool(
        1,
        "s",
        Msg::SamplingRequest(SamplingRequest { messages_json: "[]".into(), ..Default::default() }),
    );
    assert!(scene.heard().is_empty());
    assert!(
        matches!(scene.told_one(1).msg, Some(Msg::SamplingResponse(it)) if it.error_code == "UNAVAILABLE")
    );
}

/// Once upon a time calls whose tools had asked without waiting were kept without end, for hosts that
/// never answer.
#[test]
fn calls_that_wait_for_hosts_are_bounded() {
    let mut scene = Scene::serving(&["a"]);
    let mut id = 0;
    let refusal = loop {
        id += 1;
        assert!(id <= 4 * WAITING_REQUESTS_MAX as u64, "they are kept without end");
        scene.call(id, "a");
        let Some(told) = scene.told(1).pop() else { break scene.heard_one() };
        let roots = InputQuestion { key: "k".into(), question: Some(Question::Roots(Default::default())) };
        let msg = Msg::InputRequired(InputRequired { questions: vec![roots], state: Vec::new() });
        scene.tool(1, &told.request_id, msg);
        scene.heard();
    };
    assert!(refusal["error"]["message"].as_str().unwrap().contains("try again later"), "{refusal}");
    assert!(scene.bridge.reads_host(), "it may answer");
    scene.wait(INPUT_TIMEOUT);
    assert_eq!(
        scene.bridge.waiting.len(),
        WAITING_REQUESTS_MAX * 2 - 1,
        "all are called again, one at a time"
    );
}

//! What was wrong once with tasks.

use super::super::parked::{elicit, everything};
use super::super::tasks::{created, get, knows_tasks, modern, remote, serving, status};
use super::*;
use crate::bridge::restart::Plan;
use crate::limits::{LIST_TIMEOUT, QUESTIONS_GATHER, TASK_POLL};
use crate::wire::protomcp::{InputQuestion, InputRequired, input_question::Question};

/// Once upon a time a call that asked something and then became a task was taken from the task when
/// its question should go to the host, and the task never ended.
#[test]
fn a_task_keeps_its_call() {
    let mut scene = serving();
    scene.ask(1, "tools/call", json!({"name": "quick", "_meta": knows_tasks()}));
    let request = scene.told_one(1).request_id;
    scene.tool(1, "e", elicit(&request));
    remote(&mut scene, &request);
    let answer = scene.heard_one();
    assert_eq!(answer["result"]["resultType"], "task");
    scene.wait(QUESTIONS_GATHER);
    let task = answer["result"]["taskId"].as_str().unwrap().to_owned();
    assert_eq!(get(&mut scene, 2, &task)["status"], "input_required");
    scene.tool(1, "", status("job-7", "completed", 0, ""));
    let fetch = scene.told(1).pop().unwrap().request_id;
    scene.result(1, &fetch, "done");
    assert_eq!(get(&mut scene, 3, &task)["status"], "completed");
}

/// Once upon a time a host that wanted a task and could not have one got the failed result of a call,
/// which is none of the answers that it understands.
#[test]
fn who_wants_a_task_gets_a_task_or_an_error() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.ask(1, "tools/call", json!({"name": "slow", "task": {}}));
    scene.exited(1, "exited with status 1", "ImportError: boom");
    let answer = scene.heard_one();
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("ImportError: boom"));
}

/// Once upon a time what a task said of itself was heard only when its numbers rose as well.
#[test]
fn what_a_task_says_is_heard_whatever_its_numbers() {
    let mut scene = serving();
    scene.ask(1, "tools/call", json!({"name": "quick", "_meta": knows_tasks()}));
    let request = scene.told_one(1).request_id;
    remote(&mut scene, &request);
    let task = scene.heard_one()["result"]["taskId"].as_str().unwrap().to_owned();
    for (id, says) in [(2, "reading"), (3, "writing")] {
        scene.tool(1, "", status("job-7", "running", 0, says));
        assert_eq!(get(&mut scene, id, &task)["statusMessage"], says);
    }
}

/// Once upon a time a look at a task that was not answered counted as its result that was not
/// given, if the task had ended meanwhile.
#[test]
fn a_look_that_is_not_answered_is_no_result_that_is_missing() {
    let mut scene = serving();
    scene.call(1, "quick");
    let request = scene.told_one(1).request_id;
    remote(&mut scene, &request);
    scene.wait(TASK_POLL);
    assert!(matches!(scene.told_one(1).msg, Some(Msg::TaskStatus(_))));
    scene.wait(LIST_TIMEOUT - Duration::from_secs(1));
    scene.tool(1, "", status("job-7", "completed", 0, ""));
    let fetch = scene.told_one(1).request_id;
    scene.wait(Duration::from_secs(2));
    assert!(scene.heard().is_empty());
    scene.result(1, &fetch, "done");
    assert_eq!(text(&scene.heard_one()), "done");
}

/// Once upon a time a call that was answered with how far a task is waited for ever.
#[test]
fn how_far_a_task_is_answers_no_call() {
    let mut scene = serving();
    scene.call(1, "quick");
    let request = scene.told_one(1).request_id;
    scene.tool(1, &request, status("job-7", "running", 0, ""));
    assert!(text(&scene.heard_one()).contains("a message of another kind"));
    assert_eq!(scene.bridge.processes[&Generation(1)].busy, 0);
}

/// Once upon a time a task that waited for a process that had been left down waited until its time was
/// over.
#[test]
fn a_process_that_stays_down_is_started_for_a_task() {
    let mut scene = serving();
    created(&mut scene, 1);
    created(&mut scene, 2);
    let answer = modern(&mut scene, 3, "tools/call", json!({"name": "slow"}));
    let waiting = answer["result"]["taskId"].as_str().unwrap().to_owned();
    scene.bridge.restart.plan = Plan::Down(None);
    scene.input(Input::ToolDisconnected { generation: Generation(1), reason: "closed it".into() });
    assert_eq!(scene.orders(), ["start 2"]);
    assert_eq!(get(&mut scene, 4, &waiting)["status"], "working");
}

/// Once upon a time sessions that were over heard of their tasks.
#[test]
fn a_session_that_is_over_hears_nothing_of_its_tasks() {
    let mut scene = serving();
    let session = SessionId(3);
    scene.input(Input::SessionOpened { session, lasts: true, principal: "ann".into() });
    let capabilities = json!({"elicitation": {}});
    let info = json!({"name": "h", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
    let call = json!({"name": "slow", "task": {}, "_meta": {"progressToken": 5}});
    for (id, method, params) in [(1, "initialize", hello), (2, "tools/call", call)] {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        scene.say_from(Route { session, exchange: id }, &line);
    }
    let line = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    scene.say_from(Route::session(session), &line);
    let request = scene.told_one(1).request_id;
    scene.tool(1, "e", elicit(&request));
    assert_eq!(scene.heard().len(), 4);
    scene.input(Input::SessionClosed(session));
    assert!(scene.heard().is_empty(), "it is closed");
    let progress = crate::wire::protomcp::ProgressNotification {
        progress_token: request.clone(),
        progress: 3,
        ..Default::default()
    };
    scene.tool(1, "", Msg::Progress(progress));
    scene.result(1, &request, "done");
    assert!(scene.heard().is_empty());
}

/// Once upon a time who listened to a task heard again of questions that had just been answered
/// together with others.
#[test]
fn what_is_answered_is_not_asked_again() {
    let mut scene = serving();
    let (task, request) = created(&mut scene, 1);
    for ask in ["e1", "e2", "e3"] {
        scene.tool(1, ask, elicit(&request));
    }
    let seen = get(&mut scene, 2, &task);
    let keys: Vec<&String> = seen["inputRequests"].as_object().unwrap().keys().collect();
    let params = json!({"notifications": {"taskIds": [task]}, "_meta": knows_tasks()});
    scene.ask(3, "subscriptions/listen", params);
    scene.heard();
    let decline = json!({"action": "decline"});
    let responses = json!({keys[0]: decline, keys[1]: decline});
    scene.ask(
        4,
        "tasks/update",
        json!({"taskId": task, "inputResponses": responses, "_meta": knows_tasks()}),
    );
    let heard = scene.heard();
    assert_eq!(heard.len(), 2, "{heard:#?}");
    let left: Vec<&String> = heard[1]["params"]["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(left, [keys[2]]);
}

/// Once upon a time a host could have as many requests wait for the end of one task as it liked.
#[test]
fn those_who_wait_for_a_task_are_bounded() {
    let mut scene = serving();
    scene.ask(1, "tools/call", json!({"name": "slow", "task": {}}));
    let task = scene.heard_one()["result"]["task"]["taskId"].clone();
    let mut id = 2;
    while scene.heard().is_empty() {
        assert!(id < 4 * WAITING_REQUESTS_MAX as u64, "they are kept without end");
        scene.ask(id, "tasks/result", json!({"taskId": task}));
        id += 1;
    }
}

/// Once upon a time a task of the tool process whose result was a question held on to the process that
/// it came from.
#[test]
fn a_task_that_ends_with_questions_is_a_call_again() {
    let mut scene = serving();
    scene.call(1, "quick");
    let request = scene.told_one(1).request_id;
    remote(&mut scene, &request);
    scene.tool(1, "", status("job-7", "completed", 0, ""));
    let fetch = scene.told_one(1).request_id;
    let Msg::ElicitRequest(elicit) = elicit("") else { unreachable!() };
    let question = InputQuestion { key: "k".into(), question: Some(Question::Elicit(elicit)) };
    let msg = Msg::InputRequired(InputRequired { questions: vec![question], state: Vec::new() });
    scene.tool(1, &fetch, msg);
    let asked = scene.heard_one();
    assert_eq!(asked["method"], "elicitation/create");
    assert!(!scene.bridge.works(Generation(1)), "it has nothing to do for it");
    scene.exited(1, "exited with status 0", "");
    scene.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "cancel"}}));
    assert!(scene.heard().is_empty(), "the next process takes it");
    let _ = everything();
}

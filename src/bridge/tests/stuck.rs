//! Tool processes that ignore a cancel.

use super::*;
use crate::limits::{CANCEL_HOLD, PROBE_TIMEOUT};

const GRACE: Duration = Duration::from_secs(5);

fn cancel(scene: &mut Scene, id: u64) {
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
}

/// A process with so many slots whose only call was cancelled; 0 is a published SDK.
fn cancelled(concurrency: u32) -> (Scene, String) {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.started(1);
    scene.handshake(1, &["a"], concurrency);
    scene.call(1, "a");
    let request = scene.told_one(1).request_id;
    cancel(&mut scene, 1);
    assert!(matches!(scene.told_one(1).msg, Some(Msg::Cancel(cancel)) if cancel.request_id == request));
    (scene, request)
}

#[test]
fn a_process_that_ignores_a_cancel_is_restarted() {
    let (mut scene, _) = cancelled(2);
    scene.wait(GRACE - Duration::from_millis(1));
    assert!(scene.orders().is_empty());
    scene.wait(Duration::from_millis(1));
    assert_eq!(scene.orders(), ["kill 1"]);
    assert!(scene.logged(Level::Warning).iter().any(|line| line.contains("--cancel-grace")));
    scene.exited(1, "was killed by signal 9 (SIGKILL)", "");
    scene.wait(Duration::from_secs(1));
    assert_eq!(scene.orders(), ["start 2"]);
    assert!(scene.heard().is_empty(), "nothing is said of a cancelled call");
}

#[test]
fn one_that_answers_lives_on() {
    for concurrency in [0, 2] {
        let (mut scene, request) = cancelled(concurrency);
        scene.wait(Duration::from_millis(100));
        scene.result(1, &request, "late");
        scene.wait(10 * GRACE);
        assert!(scene.orders().is_empty() && scene.told(1).is_empty());
    }
}

#[test]
fn other_calls_do_not_suffer() {
    let (mut scene, _) = cancelled(2);
    scene.call(2, "a");
    let other = scene.told_one(1).request_id;
    scene.wait(3 * GRACE);
    assert!(scene.orders().is_empty());
    scene.result(1, &other, "fine");
    assert_eq!(text(&scene.heard_one()), "fine");
    scene.wait(GRACE);
    assert_eq!(scene.orders(), ["kill 1"]);
}

#[test]
fn a_published_sdk_that_says_nothing_is_asked_whether_it_is_there() {
    let (mut scene, _) = cancelled(0);
    // Whoever calls meanwhile does not suffer from what it may be stuck in.
    scene.call(2, "a");
    scene.wait(CANCEL_HOLD);
    let probe = scene.told_one(1);
    let Some(Msg::CallTool(call)) = &probe.msg else { panic!("{probe:?}") };
    assert_ne!(call.name, "a");
    scene.wait(GRACE - CANCEL_HOLD - Duration::from_millis(1));
    assert!(scene.told(1).is_empty() && scene.orders().is_empty());
    scene.result(1, &probe.request_id, "Tool not found");
    let next = scene.told_one(1).request_id;
    scene.result(1, &next, "fine");
    assert_eq!(text(&scene.heard_one()), "fine");
    scene.wait(10 * GRACE);
    assert!(scene.orders().is_empty() && scene.told(1).is_empty() && scene.heard().is_empty());
    assert_eq!(scene.bridge.deadline(), None);
}

#[test]
fn and_restarted_if_it_is_not() {
    let (mut scene, _) = cancelled(0);
    // Whoever calls meanwhile waits for the next process.
    scene.call(2, "a");
    scene.wait(GRACE);
    assert_eq!(scene.orders(), ["kill 1"]);
    scene.exited(1, "was killed by signal 9 (SIGKILL)", "");
    scene.wait(Duration::from_secs(1));
    scene.started(2);
    scene.handshake(2, &["a"], 0);
    let request = scene.told_one(2).request_id;
    scene.result(2, &request, "fine");
    assert_eq!(text(&scene.heard_one()), "fine");
}

#[test]
fn a_published_sdk_that_works_on_is_let_be() {
    let (mut scene, _) = cancelled(0);
    scene.wait(CANCEL_HOLD);
    let probe = scene.told_one(1).request_id;
    scene.result(1, &probe, "Tool not found");
    for id in 2..5 {
        scene.call(id, "a");
        let request = scene.told_one(1).request_id;
        scene.result(1, &request, "fine");
        assert_eq!(scene.heard_one()["id"], id);
        scene.wait(GRACE);
        assert!(scene.orders().is_empty() && scene.told(1).is_empty());
    }
}

#[test]
fn each_cancelled_call_has_its_own_grace() {
    let (mut scene, _) = cancelled(4);
    // What is cancelled later, and ends, changes nothing for what does not.
    for id in 2..4 {
        scene.wait(GRACE / 2 - Duration::from_millis(1));
        assert!(scene.orders().is_empty());
        scene.call(id, "a");
        let request = scene.told_one(1).request_id;
        cancel(&mut scene, id);
        scene.told_one(1);
        scene.result(1, &request, "late");
    }
    scene.wait(Duration::from_millis(2));
    assert_eq!(scene.orders(), ["kill 1"]);
    // And what ends in its time does not have another one restarted before that has had its own.
    let (mut scene, request) = cancelled(4);
    scene.wait(GRACE / 2);
    scene.call(2, "a");
    scene.told_one(1);
    cancel(&mut scene, 2);
    scene.result(1, &request, "late");
    scene.wait(GRACE - Duration::from_millis(1));
    assert!(scene.orders().is_empty());
    scene.wait(Duration::from_millis(1));
    assert_eq!(scene.orders(), ["kill 1"]);
}

#[test]
fn a_short_grace_leaves_time_to_answer() {
    let mut scene = Scene::new();
    scene.bridge.config.cancel_grace = Duration::ZERO;
    scene.initialize("2025-11-25");
    scene.started(1);
    scene.handshake(1, &["a"], 0);
    scene.call(1, "a");
    cancel(&mut scene, 1);
    scene.wait(CANCEL_HOLD);
    let probe = scene.told(1).pop().unwrap().request_id;
    scene.wait(PROBE_TIMEOUT / 2);
    assert!(scene.orders().is_empty());
    scene.result(1, &probe, "Tool not found");
    scene.wait(PROBE_TIMEOUT);
    assert!(scene.orders().is_empty());
}

#[test]
fn the_slot_of_a_stuck_call_is_given_to_no_other() {
    let (mut scene, _) = cancelled(2);
    scene.call(2, "a");
    let second = scene.told_one(1).request_id;
    // It runs on and on, and its host is asked so that its time stands still.
    let question = crate::wire::protomcp::SamplingRequest {
        messages_json: "[]".into(),
        call_request_id: second.clone(),
        ..Default::default()
    };
    scene.tool(1, "q", Msg::SamplingRequest(question));
    scene.heard_one();
    scene.wait(Duration::from_secs(301));
    scene.call(3, "a");
    assert!(scene.told(1).is_empty(), "nobody would answer it");
    scene.result(1, &second, "fine");
    scene.told(1);
    scene.wait(Duration::from_secs(1));
    assert!(scene.orders().is_empty());
}

#[test]
fn a_task_of_a_stuck_process_does_not_suffer_without_end() {
    for (is_over, time) in [(true, GRACE + Duration::from_secs(7)), (false, Duration::from_secs(302))] {
        let mut scene = Scene::serving(&["a"]);
        scene.ask(1, "tools/call", json!({"name": "a"}));
        let request = scene.told_one(1).request_id;
        let create = crate::wire::protomcp::CreateTaskResponse { task_id: "job".into() };
        scene.tool(1, &request, Msg::CreateTask(create));
        scene.call(2, "a");
        scene.told(1);
        cancel(&mut scene, 2);
        if is_over {
            let state = "completed".into();
            let over = crate::wire::protomcp::TaskStatusResponse {
                task_id: "job".into(),
                state,
                ..Default::default()
            };
            scene.tool(1, "", Msg::TaskStatusResponse(over));
        }
        scene.wait(GRACE);
        assert!(scene.orders().is_empty(), "the task may end");
        scene.wait(time - GRACE);
        assert_eq!(scene.orders(), ["kill 1"], "{is_over}");
    }
}

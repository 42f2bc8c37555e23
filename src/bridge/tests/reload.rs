//! Reloads: beside the old process, after it, inside it, and what goes wrong on the way.

use super::*;
use crate::limits::STATE_MAX;
use crate::wire::protomcp::{DisableToolsRequest, SaveState};

/// Like [`Scene::serving`], with the reload's part of the configuration changed.
fn serving_with(change: impl FnOnce(&mut Config)) -> Scene {
    let mut scene = Scene::new();
    change(&mut scene.bridge.config);
    scene.initialize("2025-11-25");
    scene.started(1);
    scene.handshake(1, &["a"], 0);
    scene
}

fn changed(scene: &mut Scene) {
    scene.input(Input::Reload { cause: "tools.py changed".into() });
}

#[test]
fn a_changed_file_is_proven_beside_the_serving_process() {
    let mut scene = Scene::serving(&["a"]);
    scene.ask(1, "tools/list", json!({}));
    scene.heard_one();
    scene.call(2, "a");
    let running = scene.told_one(1);
    scene.input(Input::Reload { cause: "tools.py changed".into() });
    scene.started(2);
    scene.call(3, "b");
    scene.heard_one();
    scene.handshake(2, &["a", "b"], 0);
    assert_eq!(scene.heard_one()["method"], "notifications/tools/list_changed");
    scene.call(4, "b");
    let told = scene.told_one(2);
    assert!(scene.orders().is_empty(), "the old one still has a call");
    scene.result(1, &running.request_id, "old");
    assert_eq!((scene.heard_one()["id"].clone(), scene.orders()), (json!(2), vec!["term 1".to_owned()]));
    scene.exited(1, "exited with status 0", "");
    scene.result(2, &told.request_id, "new");
    assert_eq!(text(&scene.heard_one()), "new");
    assert!(scene.orders().is_empty());
}

#[test]
fn the_tool_lists_state_survives_a_reload() {
    let mut scene = Scene::serving(&["a", "b", "secret"]);
    scene.ask(1, "tools/list", json!({}));
    scene.heard_one();
    scene.tool(
        1,
        "",
        Msg::DisableTools(DisableToolsRequest { tool_names: vec!["b".into(), "secret".into()] }),
    );
    scene.heard_one();
    scene.input(Input::Reload { cause: "tools.py changed".into() });
    scene.started(2);
    scene.handshake(2, &["a", "b", "c"], 0);
    scene.heard_one();
    scene.ask(2, "tools/list", json!({}));
    assert_eq!(names(&scene.heard_one(), "tools"), ["a", "c"]);
}

#[test]
fn a_broken_save_leaves_the_old_process_serving_and_everybody_learns_it() {
    let mut scene = Scene::serving(&["a"]);
    changed(&mut scene);
    assert_eq!(scene.orders(), ["start 2"]);
    scene.exited(2, "exited with status 1", "Traceback\nSyntaxError: invalid syntax\n");
    let news = scene.heard_one();
    assert_eq!(
        (&news["method"], &news["params"]["level"]),
        (&json!("notifications/message"), &json!("error"))
    );
    assert!(news["params"]["data"].as_str().unwrap().contains("SyntaxError"), "{news}");
    assert!(scene.logged(Level::Error)[0].contains("SyntaxError"));
    scene.call(1, "a");
    let told = scene.told_one(1);
    scene.result(1, &told.request_id, "still here");
    let answer = scene.heard_one();
    assert_eq!(text(&answer), "still here");
    let note = answer["result"]["content"][1]["text"].as_str().unwrap();
    assert!(note.contains("version 1") && note.contains("SyntaxError: invalid syntax"), "{note}");
    let meta = &answer["result"]["_meta"]["protomcp/reload"];
    assert_eq!(*meta, json!({"serving": 1, "error": "SyntaxError: invalid syntax"}));
    assert_eq!(scene.bridge.deadline(), None);
    // The next good save ends it.
    changed(&mut scene);
    scene.started(3);
    scene.handshake(3, &["a"], 0);
    scene.call(2, "a");
    let told = scene.told_one(3);
    scene.result(3, &told.request_id, "new");
    let answer = scene.heard_one();
    assert_eq!(answer["result"], json!({"content": [{"type": "text", "text": "new"}]}));
}

#[test]
fn one_reload_runs_and_at_most_one_waits() {
    let mut scene = Scene::serving(&["a"]);
    for _ in 0..5 {
        changed(&mut scene);
    }
    scene.started(2);
    assert!(scene.orders().is_empty());
    scene.handshake(2, &["a"], 0);
    assert_eq!(scene.orders(), ["term 1", "start 3"]);
    scene.exited(1, "exited with status 0", "");
    scene.exited(3, "exited with status 1", "oops");
    assert!(scene.orders().is_empty());
    // What waited when a save failed is loaded too.
    changed(&mut scene);
    changed(&mut scene);
    assert_eq!(scene.orders(), ["start 4"]);
    scene.exited(4, "exited with status 1", "oops");
    assert_eq!(scene.orders(), ["start 5"]);
}

#[test]
fn a_change_during_a_failing_start_is_loaded_at_once() {
    let mut scene = Scene::new();
    scene.orders();
    changed(&mut scene);
    scene.exited(1, "exited with status 1", "oops");
    assert_eq!(scene.orders(), ["start 2"], "without the backoff");
}

#[test]
fn a_crash_while_a_new_process_is_proven_waits_for_that_one() {
    let mut scene = Scene::serving(&["a"]);
    changed(&mut scene);
    scene.exited(1, "was killed by signal 11", "");
    scene.call(1, "a");
    scene.started(2);
    assert_eq!(scene.bridge.restart.deadline(), None);
    scene.handshake(2, &["a"], 0);
    let told = scene.told_one(2);
    scene.result(2, &told.request_id, "new");
    assert_eq!(text(&scene.heard_one()), "new");
}

#[test]
fn calls_of_a_replaced_process_end_with_the_drain() {
    let mut scene = serving_with(|config| config.drain = Duration::from_secs(3));
    scene.call(1, "a");
    scene.told_one(1);
    changed(&mut scene);
    scene.started(2);
    scene.handshake(2, &["a"], 0);
    scene.wait(Duration::from_secs(2));
    assert!(scene.orders().is_empty());
    scene.wait(Duration::from_secs(1));
    assert_eq!(scene.orders(), ["kill 1"]);
    scene.exited(1, "was killed by signal 9 (SIGKILL)", "");
    let answer = scene.heard_one();
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("replaced by a newer one"), "{answer}");
    assert!(scene.logged(Level::Error).is_empty());
}

#[test]
fn immediate_kills_first_and_says_so_at_once() {
    let mut scene = serving_with(|config| config.reload = ReloadMode::Immediate);
    scene.call(1, "a");
    scene.told_one(1);
    changed(&mut scene);
    assert_eq!(scene.orders(), ["kill 1", "start 2"]);
    let answer = scene.heard_one();
    assert!(text(&answer).contains("tools.py changed (--hot-reload immediate)"), "{answer}");
    changed(&mut scene);
    assert_eq!(scene.orders(), ["kill 2", "start 3"]);
    scene.exited(1, "was killed by signal 9", "");
    scene.exited(2, "was killed by signal 9", "");
    assert!(scene.orders().is_empty());
}

#[test]
fn exclusive_never_has_two_processes() {
    let mut scene = serving_with(|config| config.exclusive = true);
    scene.call(1, "a");
    let told = scene.told_one(1);
    changed(&mut scene);
    scene.call(2, "a");
    changed(&mut scene);
    assert!(scene.orders().is_empty(), "a call is running");
    scene.result(1, &told.request_id, "old");
    assert_eq!(text(&scene.heard_one()), "old");
    assert_eq!(scene.orders(), ["term 1"]);
    scene.exited(1, "was killed by signal 15", "");
    scene.started(2);
    scene.handshake(2, &["a"], 0);
    // The change that came meanwhile has its turn, and the waiting call goes to the newest code.
    assert_eq!(scene.orders(), ["term 2"]);
    scene.exited(2, "exited with status 3", "");
    scene.started(3);
    scene.handshake(3, &["a"], 0);
    let told = scene.told_one(3);
    scene.result(3, &told.request_id, "new");
    assert_eq!(text(&scene.heard_one()), "new");
}

#[test]
fn exclusive_starts_anew_when_the_old_process_crashes_while_it_is_drained() {
    let mut scene = serving_with(|config| config.exclusive = true);
    scene.call(1, "a");
    changed(&mut scene);
    scene.exited(1, "was killed by signal 11", "");
    assert_eq!(scene.orders(), ["start 2"]);
}

#[test]
fn a_broken_save_that_leaves_nobody_is_told_once() {
    for (exclusive, reload) in [(true, ReloadMode::Safe), (false, ReloadMode::Immediate)] {
        let mut scene = serving_with(|config| (config.exclusive, config.reload) = (exclusive, reload));
        let broken = |scene: &mut Scene, generation: u64| {
            scene.exited(generation, "exited with status 1", "SyntaxError: line 7\n");
            scene.heard()
        };
        changed(&mut scene);
        scene.exited(1, "was killed by signal 15", "");
        let heard = broken(&mut scene, 2);
        assert_eq!(heard.len(), 1, "{heard:?}");
        let params = &heard[0]["params"];
        assert_eq!(
            (&heard[0]["method"], &params["level"]),
            (&json!("notifications/message"), &json!("error"))
        );
        let data = params["data"].as_str().unwrap();
        assert_eq!(data, "The newest save does not start; nothing serves: SyntaxError: line 7");
        // The next attempt fails likewise, which is no news; the next save is.
        scene.wait(Duration::from_secs(1));
        assert!(broken(&mut scene, 3).is_empty());
        changed(&mut scene);
        assert_eq!(broken(&mut scene, 4).len(), 1);
        changed(&mut scene);
        scene.started(5);
        scene.handshake(5, &["a"], 0);
        scene.heard();
        scene.exited(5, "was killed by signal 11", "");
        scene.wait(Duration::from_secs(1));
        assert!(broken(&mut scene, 6).is_empty(), "a crash is no save");
    }
    // Nothing served before: whoever calls learns it.
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.exited(1, "exited with status 1", "");
    changed(&mut scene);
    scene.exited(2, "exited with status 1", "");
    assert!(scene.heard().is_empty());
}

#[test]
fn exclusive_and_immediate_kills_and_then_starts() {
    let mut scene = serving_with(|config| {
        config.exclusive = true;
        config.reload = ReloadMode::Immediate;
    });
    changed(&mut scene);
    assert_eq!(scene.orders(), ["kill 1"]);
    scene.exited(1, "was killed by signal 9", "");
    assert_eq!(scene.orders(), ["start 2"]);
}

/// A process that says that it reloads in place.
fn reloading_in_place() -> Scene {
    let mut scene = serving_with(|config| config.reload = ReloadMode::Graceful);
    let tools = vec![definition("a")];
    scene.tool(
        1,
        "",
        Msg::ToolList(ToolListResponse { tools, max_concurrent_calls: 1, reloads_in_place: true }),
    );
    scene.ask(1, "tools/list", json!({}));
    scene.heard_one();
    changed(&mut scene);
    assert!(scene.orders().is_empty());
    scene
}

#[test]
fn graceful_asks_the_process_itself() {
    let mut scene = reloading_in_place();
    let told = scene.told_one(1);
    assert!(matches!(told.msg, Some(Msg::Reload(_))));
    scene.tool(
        1,
        &told.request_id,
        Msg::ReloadResponse(ReloadResponse { success: true, error: String::new() }),
    );
    let tools = vec![definition("a"), definition("b")];
    scene.tool(
        1,
        "",
        Msg::ToolList(ToolListResponse { tools, max_concurrent_calls: 1, reloads_in_place: true }),
    );
    scene.tool(1, "", Msg::ReloadResponse(ReloadResponse { success: true, error: String::new() }));
    assert_eq!(scene.heard_one()["method"], "notifications/tools/list_changed");
    assert_eq!(scene.bridge.deadline(), None);
}

#[test]
fn a_process_that_fails_to_reload_in_place_serves_on_and_says_so() {
    for answers in [true, false] {
        let mut scene = reloading_in_place();
        let told = scene.told_one(1);
        if answers {
            let response = ReloadResponse { success: false, error: "line 3".into() };
            scene.tool(1, &told.request_id, Msg::ReloadResponse(response));
        } else {
            scene.wait(Duration::from_secs(31));
        }
        assert_eq!(scene.heard_one()["method"], "notifications/message");
        scene.call(2, "a");
        let told = scene.told_one(1);
        scene.result(1, &told.request_id, "old");
        let note = scene.heard_one()["result"]["content"][1]["text"].to_string();
        assert!(note.contains(if answers { "line 3" } else { "did not reload" }), "{note}");
    }
}

#[test]
fn graceful_falls_back_for_a_published_sdk_and_tells() {
    let mut scene = serving_with(|config| config.reload = ReloadMode::Graceful);
    changed(&mut scene);
    assert_eq!(scene.orders(), ["start 2"]);
    assert!(scene.logged(Level::Info).iter().any(|line| line.contains("can't reload in place")));
}

#[test]
fn what_a_process_saves_reaches_the_next_one_before_its_first_call() {
    let mut scene = Scene::serving(&["a"]);
    scene.tool(1, "", Msg::SaveState(SaveState { state: b"one".to_vec() }));
    scene.tool(1, "", Msg::SaveState(SaveState { state: vec![0; STATE_MAX + 1] }));
    assert_eq!(scene.logged(Level::Warning).len(), 1, "too much is refused");
    changed(&mut scene);
    scene.call(1, "a");
    scene.told_one(1);
    scene.started(2);
    scene.handshake(2, &["a"], 0);
    let restored = |told: Envelope| match told.msg {
        Some(Msg::RestoreState(restored)) => restored.state,
        other => panic!("{other:?}"),
    };
    assert_eq!(restored(scene.told_one(2)), b"one");
    // The old one speaks too late; a crash of the new one loses nothing.
    scene.tool(1, "", Msg::SaveState(SaveState { state: b"late".to_vec() }));
    scene.tool(2, "", Msg::SaveState(SaveState { state: b"two".to_vec() }));
    scene.exited(1, "exited with status 0", "");
    scene.heard();
    scene.exited(2, "exited with status 1", "");
    scene.wait(Duration::from_millis(200));
    scene.started(3);
    scene.handshake(3, &["a"], 0);
    assert_eq!(restored(scene.told_one(3)), b"two");
}

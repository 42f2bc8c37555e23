//! The life of tool processes: start, crash, restart, reload, shutdown.

use super::*;
use crate::limits::{BACKOFF_MIN, HANDSHAKE_SILENCE, KILL_AFTER, QUICK_DEATHS_MAX, SETTLE};
use crate::wire::protomcp::{
    DisableToolsRequest, LogMessage, ProgressNotification, RegisterMiddlewareRequest,
};

#[test]
fn initialize_and_ping_are_answered_before_the_tool_process_is_up() {
    let mut scene = Scene::new();
    scene.initialize("2025-06-18");
    scene.ask(1, "ping", json!({}));
    assert_eq!(scene.heard_one(), json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    scene.ask(2, "tools/list", json!({}));
    scene.call(3, "a");
    assert!(scene.heard().is_empty());
    scene.started(1);
    scene.handshake(1, &["a"], 0);
    assert_eq!(names(&scene.heard_one(), "tools"), ["a"]);
    assert!(matches!(scene.told_one(1).msg, Some(Msg::CallTool(_))));
}

#[test]
fn silence_completes_the_handshake_of_an_old_sdk() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.started(1);
    scene.ask(1, "tools/list", json!({}));
    scene.declare(1, &["a"], 0);
    scene.wait(HANDSHAKE_SILENCE - Duration::from_millis(1));
    assert!(scene.heard().is_empty());
    scene.wait(Duration::from_millis(2));
    assert_eq!(names(&scene.heard_one(), "tools"), ["a"]);
}

#[test]
fn nothing_but_acknowledgements_is_sent_during_the_handshake() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.started(1);
    scene.call(1, "a");
    scene.declare(1, &["a"], 0);
    for name in ["one", "two"] {
        scene.wait(HANDSHAKE_SILENCE / 2);
        let request = RegisterMiddlewareRequest { name: name.into(), priority: 1 };
        scene.tool(1, "", Msg::RegisterMiddleware(request));
        let told = scene.told_one(1);
        assert!(matches!(told.msg, Some(Msg::RegisterMiddlewareResponse(ref ack)) if ack.success));
        assert_eq!(told.request_id, "");
    }
}

#[test]
fn a_process_that_refuses_to_serve_is_ended_with_its_reason() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.call(1, "a");
    scene.started(1);
    scene.declare(1, &["a"], 1);
    scene.tool(1, "", Msg::ReloadResponse(ReloadResponse { success: false, error: "no database".into() }));
    assert_eq!(scene.orders(), ["kill 1"]);
    scene.exited(1, "was killed by signal 9 (SIGKILL)", "");
    assert!(text(&scene.heard_one()).contains("refused to serve: no database"));
}

#[test]
fn hidden_tools_are_never_seen() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.started(1);
    scene.ask(1, "tools/list", json!({}));
    scene.declare(1, &["a", "secret"], 0);
    scene.tool(1, "", Msg::ReloadResponse(ReloadResponse { success: true, error: String::new() }));
    scene.tool(1, "", Msg::DisableTools(DisableToolsRequest { tool_names: vec!["secret".into()] }));
    scene.wait(SETTLE);
    assert_eq!(names(&scene.heard_one(), "tools"), ["a"], "and no list_changed");
}

#[test]
fn a_crash_fails_the_calls_in_flight_with_the_reason_and_a_restart_serves_the_next() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.call(2, "a");
    scene.told_one(1);
    scene
        .input(Input::ToolDisconnected { generation: Generation(1), reason: "closed its connection".into() });
    scene.exited(1, "exited with status 3", "Traceback\nboom");
    let answer = scene.heard_one();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(true)));
    for part in ["exited with status 3", "boom", "python3 tools.py"] {
        assert!(text(&answer).contains(part), "{answer}");
    }
    assert!(scene.orders().is_empty(), "not before the backoff");
    scene.wait(BACKOFF_MIN * 2);
    scene.started(2);
    scene.handshake(2, &["a"], 0);
    let told = scene.told_one(2);
    scene.result(2, &told.request_id, "back");
    assert_eq!(text(&scene.heard_one()), "back");
}

#[test]
fn a_process_that_loses_its_connection_but_lives_on_is_killed() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene
        .input(Input::ToolDisconnected { generation: Generation(1), reason: "closed its connection".into() });
    scene.wait(Duration::from_millis(60));
    assert_eq!(scene.orders(), ["kill 1"]);
    scene.exited(1, "was killed by signal 9", "");
    assert!(text(&scene.heard_one()).contains("closed its connection"));
}

#[test]
fn what_was_never_started_wrote_nothing_and_nobody_says_so() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.call(1, "a");
    scene.exited(1, "could not be started: --socket: /x/s can't be used", "");
    let answer = scene.heard_one();
    assert!(text(&answer).ends_with("could not be started: --socket: /x/s can't be used"), "{answer}");
}

#[test]
fn a_process_that_does_not_start_fails_those_who_wait_and_stays_down_in_the_end() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.call(1, "a");
    scene.ask(2, "tools/list", json!({}));
    let mut generation = 1;
    assert_eq!(scene.orders(), ["start 1"]);
    scene.exited(generation, "exited with status 1", "SyntaxError: invalid syntax");
    let heard = scene.heard();
    assert!(text(&heard[0]).contains("SyntaxError"), "{}", heard[0]);
    assert!(text(&heard[0]).contains("before it connected"), "{}", heard[0]);
    assert_eq!(names(&heard[1], "tools"), [""; 0]);
    for _ in 1..QUICK_DEATHS_MAX {
        scene.wait(Duration::from_secs(15));
        generation += 1;
        assert_eq!(scene.orders(), [format!("start {generation}")]);
        scene.exited(generation, "exited with status 1", "");
    }
    scene.wait(Duration::from_secs(600));
    assert!(scene.orders().is_empty(), "it stays down");
    assert_eq!(scene.bridge.deadline(), None, "and costs nothing");
    scene.call(3, "a");
    generation += 1;
    assert_eq!(scene.orders(), [format!("start {generation}")], "a call starts it again");
    scene.exited(generation, "exited with status 1", "");
    assert!(text(&scene.heard_one()).contains("status 1"));
    assert!(scene.orders().is_empty());
    scene.input(Input::Reload { cause: "tools.py changed".into() });
    assert_eq!(scene.orders(), [format!("start {}", generation + 1)], "so does a file change");
}

#[test]
fn a_process_that_never_connects_is_killed_and_named() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.call(1, "a");
    scene.wait(Duration::from_secs(29));
    assert_eq!(scene.orders(), ["start 1"]);
    scene.wait(Duration::from_secs(2));
    assert_eq!(scene.orders(), ["kill 1"]);
    scene.exited(1, "was killed by signal 9", "waiting for the moon");
    let answer = scene.heard_one();
    for part in ["did not connect within 30s", "--start-timeout", "waiting for the moon"] {
        assert!(text(&answer).contains(part), "{answer}");
    }
}

#[test]
fn the_time_to_start_begins_when_the_program_is_built() {
    let mut scene = Scene::building(Some(Duration::from_secs(600)));
    scene.initialize("2025-11-25");
    scene.wait(Duration::from_secs(599));
    scene.call(1, "a");
    assert_eq!(scene.orders(), ["start 1"]);
    scene.input(Input::ToolLaunched(Generation(1)));
    scene.wait(Duration::from_secs(29));
    assert!(scene.orders().is_empty());
    scene.wait(Duration::from_secs(1));
    assert_eq!(scene.orders(), ["kill 1"]);
    scene.exited(1, "was killed by signal 9", "");
    assert!(text(&scene.heard_one()).contains("did not connect within 30s (--start-timeout)"));
}

#[test]
fn a_build_that_fails_leaves_the_serving_process_alone_and_one_that_takes_too_long_is_killed() {
    let mut scene = Scene::building(Some(Duration::from_secs(600)));
    scene.initialize("2025-11-25");
    scene.call(1, "a");
    scene.orders();
    scene.exited(1, "could not be built: `cargo build` exited with status 101", "error: expected `;`");
    let answer = scene.heard_one();
    let said =
        "the tool process (python3 tools.py) could not be built: `cargo build` exited with status 101; ";
    assert!(text(&answer).starts_with(said) && text(&answer).ends_with("expected `;`"), "{answer}");
    scene.wait(Duration::from_secs(60));
    assert!(scene.orders().is_empty(), "the same sources would fail again");
    scene.input(Input::Reload { cause: "main.rs changed".into() });
    scene.input(Input::ToolLaunched(Generation(2)));
    scene.started(2);
    scene.handshake(2, &["a"], 0);
    scene.input(Input::Reload { cause: "main.rs changed".into() });
    scene.input(Input::Reload { cause: "main.rs changed".into() });
    assert_eq!(scene.orders(), ["start 3", "kill 3", "start 4"], "a newer save ends a build");
    scene.exited(3, "could not be built: `cargo build` was killed by signal 9", "");
    scene.wait(Duration::from_secs(600));
    assert_eq!(scene.orders(), ["kill 4"]);
    scene.logged(Level::Error);
    scene.exited(4, "could not be built: `cargo build` was killed by signal 9", "");
    assert!(scene.logged(Level::Error)[0].contains("was not built within 600s (--build-timeout)"));
    assert_eq!(scene.heard_one()["method"], "notifications/message");
    scene.call(2, "a");
    let told = scene.told_one(2);
    scene.result(2, &told.request_id, "still here");
    assert_eq!(text(&scene.heard_one()), "still here");
}

#[test]
fn the_backoff_doubles_and_is_forgotten_after_health() {
    let mut scene = Scene::serving(&["a"]);
    let mut waits = Vec::new();
    for generation in 1..=9 {
        scene.wait(Duration::from_secs(6));
        scene.exited(generation, "exited with status 1", "");
        let before = scene.now;
        let at = scene.bridge.deadline().expect("a restart is due");
        waits.push((at - before).as_millis());
        scene.wait(at - before);
        scene.started(generation + 1);
        scene.handshake(generation + 1, &["a"], 0);
    }
    for (wait, least) in waits.iter().zip([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]) {
        assert!((least..=least + least / 4 + 1).contains(wait), "{waits:?}");
    }
    scene.wait(Duration::from_secs(31));
    scene.exited(10, "exited with status 1", "");
    let wait = scene.bridge.deadline().expect("a restart is due") - scene.now;
    assert!(wait <= BACKOFF_MIN * 2);
}

#[test]
fn the_hosts_end_lets_running_calls_finish_and_then_takes_all_down() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    let told = scene.told_one(1);
    scene.input(Input::HostLeft(HOST));
    assert!(scene.orders().is_empty());
    scene.wait(Duration::from_millis(500));
    scene.result(1, &told.request_id, "in time");
    assert_eq!(text(&scene.heard_one()), "in time");
    assert_eq!(scene.orders(), ["term 1"]);
    scene.wait(KILL_AFTER);
    assert_eq!(scene.orders(), ["kill 1"]);
    scene.exited(1, "was killed by signal 9", "");
    assert_eq!(scene.orders(), ["exit"]);
}

#[test]
fn the_grace_is_bounded_and_every_call_is_answered() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.call(2, "a");
    scene.input(Input::Stop { reason: "SIGTERM".into() });
    scene.call(3, "a");
    assert_eq!(scene.heard_one()["id"], 3, "new calls are refused");
    scene.wait(Duration::from_secs(1));
    let heard = scene.heard();
    assert_eq!(heard.len(), 2);
    assert!(heard.iter().all(|answer| text(answer).contains("SIGTERM")), "{heard:#?}");
    assert_eq!(scene.orders(), ["term 1"]);
    scene.exited(1, "was killed by signal 15", "");
    assert_eq!(scene.orders(), ["exit"]);
}

#[test]
fn a_second_signal_ends_at_once() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.input(Input::Stop { reason: "SIGTERM".into() });
    scene.input(Input::Stop { reason: "SIGTERM".into() });
    assert_eq!(scene.orders(), ["kill 1", "exit"]);
}

#[test]
fn a_session_that_is_closed_takes_its_calls_with_it_and_the_others_go_on() {
    let mut scene = Scene::serving(&["a"]);
    let (session, exchange) = (SessionId(7), 3);
    scene.input(Input::SessionOpened { session, lasts: true, principal: "ann".into() });
    let line =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}).to_string();
    let route = Route { session, exchange };
    scene.input(Input::Host { route, message: request::parse(line.as_bytes()) });
    let call = scene.told_one(1);
    scene.input(Input::SessionClosed(session));
    let Some(Msg::Cancel(cancel)) = scene.told_one(1).msg else { panic!("the call was not cancelled") };
    assert_eq!(cancel.request_id, call.request_id);
    scene.result(1, &call.request_id, "late");
    assert!(scene.heard().is_empty());
    scene.call(1, "a");
    let call = scene.told_one(1);
    scene.result(1, &call.request_id, "mine");
    assert_eq!(text(&scene.heard_one()), "mine");
    assert!(scene.orders().is_empty(), "nothing ends with a session");
}

#[test]
fn each_message_says_what_it_means_for_its_exchange() {
    let mut scene = Scene::serving(&["a"]);
    let sorts = |scene: &mut Scene| {
        let mut sorts = Vec::new();
        for output in std::mem::take(&mut scene.outputs) {
            match output {
                Output::Host { sort, .. } => sorts.push(Some(sort)),
                Output::Unanswered(_) => sorts.push(None),
                _ => {}
            }
        }
        sorts
    };
    scene.ask(1, "ping", json!({}));
    assert_eq!(sorts(&mut scene), [Some(Sort::Answer { error: None })]);
    scene.ask(2, "no/such", json!({}));
    assert_eq!(sorts(&mut scene), [Some(Sort::Answer { error: Some(-32601) })]);
    scene.ask(3, "tools/call", json!({"name": "a", "_meta": {"progressToken": 1}}));
    let call = scene.told_one(1);
    let progress =
        ProgressNotification { progress_token: call.request_id, progress: 1, ..Default::default() };
    scene.tool(1, "", Msg::Progress(progress));
    assert_eq!(sorts(&mut scene), [Some(Sort::Message)]);
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}));
    assert_eq!(sorts(&mut scene), [None]);
}

/// A second host, with calls of its own.
fn another_host(scene: &mut Scene, session: SessionId) -> Route {
    let route = Route { session, exchange: 0 };
    scene.input(Input::SessionOpened { session, lasts: true, principal: "".into() });
    let host = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "h", "version": "1"}});
    let line = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": host}).to_string();
    scene.input(Input::Host { route, message: request::parse(line.as_bytes()) });
    let line = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    scene.input(Input::Host { route, message: request::parse(line.as_bytes()) });
    scene.heard();
    Route { session, exchange: 5 }
}

/// Where the messages to hosts went.
fn routes(scene: &mut Scene) -> Vec<Route> {
    let routes = scene.outputs.iter().filter_map(|output| match output {
        Output::Host { route, .. } => Some(*route),
        _ => None,
    });
    let routes = routes.collect();
    scene.heard();
    routes
}

#[test]
fn a_log_message_never_goes_to_another_host() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.started(1);
    scene.handshake(1, &["a"], 4);
    let log = |named: &str| {
        let (level, call_request_id) = ("error".into(), named.into());
        Msg::Log(LogMessage { level, data_json: "1".into(), call_request_id, ..Default::default() })
    };
    scene.tool(1, "", log(""));
    assert_eq!(routes(&mut scene), [Route::session(HOST)], "there is but one host");
    let other = another_host(&mut scene, SessionId(2));
    scene.tool(1, "", log(""));
    assert_eq!(routes(&mut scene), [], "nobody knows whose it is");
    let call = |scene: &mut Scene, id: u64, route| {
        let params = json!({"name": "a"});
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string();
        scene.input(Input::Host { route, message: request::parse(line.as_bytes()) });
        scene.told_one(1).request_id
    };
    let first = call(&mut scene, 1, other);
    scene.tool(1, "", log(""));
    assert_eq!(routes(&mut scene), [other], "it is of the one call that runs");
    call(&mut scene, 2, other);
    scene.tool(1, "", log(""));
    assert_eq!(routes(&mut scene), [Route::session(other.session)], "it is of one of its calls");
    let mine = call(&mut scene, 1, Route::session(HOST));
    scene.tool(1, "", log(""));
    assert_eq!(routes(&mut scene), [], "it may be of either");
    scene.tool(1, "", log(&mine));
    scene.tool(1, "", log(&first));
    assert_eq!(routes(&mut scene), [Route::session(HOST), other]);
    scene.tool(1, "", log("99"));
    assert_eq!(routes(&mut scene), [], "that call is over");
}

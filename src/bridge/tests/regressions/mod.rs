//! What was wrong once, each with its story.

mod questions;
mod tasks;

use super::*;
use crate::limits::{LARGE_MIN, UNKNOWN_NAMES_MAX, WAITING_REQUESTS_MAX};
use crate::wire::protomcp::{
    DisableToolsRequest, MiddlewareInterceptResponse, PromptListResponse, RegisterMiddlewareRequest,
    ResourceListResponse, ResourceTemplateListResponse, SamplingRequest,
};

fn cancel(scene: &mut Scene, id: u64) {
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
}

/// A process with these middleware serves, with so many slots.
fn with_middleware(names: &[&str], slots: u32, mode: ReloadMode) -> Scene {
    let mut scene = Scene::new();
    scene.bridge.config.reload = mode;
    scene.initialize("2025-11-25");
    scene.started(1);
    let list = ToolListResponse {
        tools: vec![definition("a")],
        max_concurrent_calls: slots,
        reloads_in_place: mode == ReloadMode::Graceful,
    };
    let opening = scene.bridge.processes[&Generation(1)].opening.unwrap().0.to_string();
    scene.tool(1, &opening, Msg::ToolList(list));
    for name in names {
        let request = RegisterMiddlewareRequest { name: (*name).into(), priority: 1 };
        scene.tool(1, "", Msg::RegisterMiddleware(request));
    }
    scene.tool(1, "", Msg::ReloadResponse(ReloadResponse { success: true, error: String::new() }));
    scene.wait(crate::limits::SETTLE);
    scene.told(1);
    scene
}

/// Lets the next middleware pass what it sees.
fn pass(scene: &mut Scene) {
    let told = scene.told_one(1);
    assert!(matches!(told.msg, Some(Msg::MiddlewareIntercept(_))), "{told:?}");
    scene.tool(1, &told.request_id, Msg::MiddlewareInterceptResponse(MiddlewareInterceptResponse::default()));
}

/// Once upon a time the ids of requests that were answered without a slot, or cancelled, stayed in
/// the line while the slot was busy, until the host was no longer read: not even for the cancel of
/// the call that held the slot.
#[test]
fn what_is_answered_or_cancelled_does_not_wait() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    for id in 2..2 * WAITING_REQUESTS_MAX as u64 {
        scene.ask(id, "tools/list", json!({}));
        assert_eq!(scene.heard_one()["id"], id);
        scene.call(id, "a");
        cancel(&mut scene, id);
        assert!(scene.bridge.reads_host(), "after {id} requests that are over");
    }
}

/// Once upon a time questions of our own were waiting calls too, and started a process that had
/// been left down again and again.
#[test]
fn a_process_that_stays_down_is_not_started_for_questions_of_our_own() {
    let mut scene = Scene::serving(&["a"]);
    let lists = [
        ("resources/list", Msg::ResourceListResponse(ResourceListResponse::default())),
        (
            "resources/templates/list",
            Msg::ResourceTemplateListResponse(ResourceTemplateListResponse::default()),
        ),
        ("prompts/list", Msg::PromptListResponse(PromptListResponse::default())),
    ];
    for (id, (method, answer)) in lists.into_iter().enumerate() {
        scene.ask(10 + id as u64, method, json!({}));
        let told = scene.told_one(1);
        scene.tool(1, &told.request_id, answer);
    }
    scene.exited(1, "was killed by signal 11", "");
    let mut starts = 1;
    while let Some(at) = scene.bridge.deadline() {
        assert!(starts < 20, "it is started for ever");
        scene.wait(at - scene.now);
        if scene.orders().is_empty() {
            continue;
        }
        starts += 1;
        scene.input(Input::ToolConnected(Generation(starts)));
        scene.told(starts);
        scene.handshake(starts, &["a"], 0);
        assert!(scene.bridge.waiting.len() <= 3, "each list is asked for once");
        scene.exited(starts, "was killed by signal 11", "");
    }
    assert!(scene.orders().is_empty());
}

/// Once upon a time a restart that was planned stayed planned when the end had begun, and the loop
/// spun on its deadline.
#[test]
fn no_deadline_stays_in_the_past_while_the_bridge_ends() {
    let mut scene = Scene::serving(&["a"]);
    scene.exited(1, "exited with status 1", "");
    scene.call(1, "a");
    scene.input(Input::HostLeft(HOST));
    scene.now += Duration::from_millis(300);
    scene.input(Input::Tick);
    assert!(scene.bridge.deadline().is_none_or(|at| at > scene.now));
    assert!(text(&scene.heard_one()).contains("exited with status 1"), "it is told at once");
}

/// Once upon a time a large result whose process died while a worker read it went to the host
/// without the middleware that was to see it.
#[test]
fn no_result_passes_its_middleware_unseen() {
    let mut scene = with_middleware(&["redact"], 0, ReloadMode::Safe);
    scene.call(1, "a");
    pass(&mut scene);
    let told = scene.told_one(1);
    let text_of_it = format!("SECRET{}", "y".repeat(LARGE_MIN));
    let result_json = json!([{"type": "text", "text": text_of_it}]).to_string();
    let response = CallToolResponse { result_json, ..Default::default() };
    let envelope =
        Envelope { request_id: told.request_id, msg: Some(Msg::CallResult(response)), ..Default::default() };
    let received = Received::CallResult { frame: envelope.encode_to_vec().into() };
    let (now, generation) = (scene.now, Generation(1));
    scene.bridge.handle(Input::Tool { generation, received }, now, &mut scene.outputs);
    let at = scene.outputs.iter().position(|output| matches!(output, Output::Job(_))).expect("a job");
    let Output::Job(job) = scene.outputs.remove(at) else { unreachable!() };
    scene.exited(1, "was killed by signal 9", "");
    scene.input(Input::JobDone(job.run()));
    let answer = scene.heard_one();
    assert_eq!(answer["result"]["isError"], true);
    assert!(!answer.to_string().contains("SECRET"));
}

/// Once upon a time a reload in place took the middleware away from under a call, which then
/// waited for nobody.
#[test]
fn a_call_keeps_the_middleware_that_it_began_with() {
    let mut scene = with_middleware(&["x", "y"], 4, ReloadMode::Graceful);
    scene.call(1, "a");
    pass(&mut scene);
    pass(&mut scene);
    let told = scene.told_one(1);
    scene.result(1, &told.request_id, "r");
    let last = scene.told_one(1);
    scene.input(Input::Reload { cause: "tools.py changed".into() });
    let reload = scene.told_one(1);
    let done = ReloadResponse { success: true, error: String::new() };
    scene.tool(1, &reload.request_id, Msg::ReloadResponse(done));
    scene.tool(1, &last.request_id, Msg::MiddlewareInterceptResponse(MiddlewareInterceptResponse::default()));
    pass(&mut scene);
    assert_eq!(text(&scene.heard_one()), "r");
    // And one that registers while a call runs is not for that call.
    scene.call(2, "a");
    let told = scene.told_one(1);
    let request = RegisterMiddlewareRequest { name: "late".into(), priority: 1 };
    scene.tool(1, "", Msg::RegisterMiddleware(request));
    scene.told_one(1);
    scene.result(1, &told.request_id, "unseen");
    assert_eq!(text(&scene.heard_one()), "unseen");
}

/// Once upon a time a request that could not be understood but used the id of a running call made
/// that call one that could not be cancelled.
#[test]
fn a_bad_request_with_the_id_of_a_call_is_nothing_to_the_call() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.told_one(1);
    scene.ask(1, "no/such", json!({}));
    assert_eq!(scene.heard_one()["error"]["code"], -32600);
    cancel(&mut scene, 1);
    assert!(matches!(scene.told_one(1).msg, Some(Msg::Cancel(_))));
}

/// Once upon a time a call that waited while the bridge was ending was told of that, and not that
/// its tool process had died.
#[test]
fn a_death_while_the_bridge_ends_is_told_at_once() {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.call(1, "a");
    scene.started(1);
    scene.input(Input::HostLeft(HOST));
    scene.exited(1, "exited with status 1", "ImportError: boom");
    assert!(text(&scene.heard_one()).contains("ImportError: boom"));
    assert!(scene.logged(Level::Error)[0].contains("ImportError: boom"));
    assert_eq!(scene.orders(), ["exit"]);
}

/// Once upon a time some ends of calls forgot the questions that belonged to them.
#[test]
fn questions_end_with_their_call() {
    let mut scene = Scene::serving(&["a"]);
    scene.ask(1, "resources/list", json!({}));
    let told = scene.told_one(1);
    let question = SamplingRequest { messages_json: "[]".into(), ..Default::default() };
    scene.tool(1, "q", Msg::SamplingRequest(question));
    scene.heard_one();
    scene.tool(1, &told.request_id, Msg::ResourceListResponse(ResourceListResponse::default()));
    assert_eq!(scene.heard().len(), 2, "the answer and the withdrawal");
    assert!(scene.bridge.questions.is_empty());
}

/// Once upon a time new code that had learned to list resources was never asked for them.
#[test]
fn a_reload_in_place_may_answer_what_was_not_answered_before() {
    let mut scene = with_middleware(&[], 1, ReloadMode::Graceful);
    scene.ask(1, "resources/list", json!({}));
    scene.wait(crate::limits::LIST_TIMEOUT);
    scene.heard_one();
    scene.told(1);
    scene.input(Input::Reload { cause: "tools.py changed".into() });
    let reload = scene.told_one(1);
    let done = ReloadResponse { success: true, error: String::new() };
    scene.tool(1, &reload.request_id, Msg::ReloadResponse(done));
    assert!(matches!(scene.told_one(1).msg, Some(Msg::ListResourcesRequest(_))));
}

/// Once upon a time every name that was ever disabled was kept.
#[test]
fn names_of_tools_that_do_not_exist_are_bounded() {
    let mut scene = Scene::serving(&["a"]);
    for round in 0..10 {
        let tool_names = (0..1000).map(|n| format!("n{round}-{n}")).collect();
        scene.tool(1, "", Msg::DisableTools(DisableToolsRequest { tool_names }));
    }
    assert!(scene.bridge.processes[&Generation(1)].tool_list.len() <= UNKNOWN_NAMES_MAX + 1);
}

/// Once upon a time only the arguments of waiting calls were counted.
#[test]
fn all_that_waits_counts() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    let uri = "u".repeat(1 << 20);
    for id in 2..30 {
        scene.ask(id, "resources/read", json!({"uri": uri}));
    }
    assert!(!scene.bridge.reads_host());
}

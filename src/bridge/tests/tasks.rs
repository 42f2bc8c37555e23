//! Calls whose answers are fetched later, in both forms of the protocol.

use super::modern::offering;
use super::parked::elicit;
use super::*;
use crate::limits::{TASK_POLL, TASK_TTL};
use crate::wire::protomcp::{
    CallToolResponse, CreateTaskResponse, ElicitRequest, ProgressNotification, TaskStatusResponse,
};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

pub(super) fn knows_tasks() -> Value {
    offering(json!({"elicitation": {}, "extensions": {EXTENSION: {}}}))
}

/// A process whose tools are `quick` (no task), `slow` (may be one) and `long` (must be one). It
/// works on two at a time.
pub(super) fn serving() -> Scene {
    let mut scene = Scene::new();
    let host = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "h", "version": "1"}});
    scene.ask(0, "initialize", host);
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    scene.heard_one();
    scene.started(1);
    let mut tools: Vec<ToolDefinition> = ["quick", "slow", "long"].into_iter().map(definition).collect();
    tools[1].task_support = true;
    tools[2].task_required = true;
    let list = ToolListResponse { tools, max_concurrent_calls: 2, ..Default::default() };
    let opening = scene.bridge.processes[&Generation(1)].opening.unwrap().0.to_string();
    scene.tool(1, &opening, Msg::ToolList(list));
    scene.tool(1, "", Msg::ReloadResponse(ReloadResponse { success: true, error: String::new() }));
    scene.wait(crate::limits::SETTLE);
    scene.bridge.set_wall_clock(Duration::from_secs(1_800_000_000));
    scene
}

pub(super) fn modern(scene: &mut Scene, id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = knows_tasks();
    scene.ask(id, method, params);
    scene.heard_one()
}

/// Creates a task of the modern era: its id, and the request that the tool works on.
pub(super) fn created(scene: &mut Scene, id: u64) -> (String, String) {
    let answer = modern(scene, id, "tools/call", json!({"name": "slow", "arguments": {}}));
    let result = &answer["result"];
    assert_eq!((&result["resultType"], &result["status"]), (&json!("task"), &json!("working")), "{answer:#}");
    let task = result["taskId"].as_str().unwrap().to_owned();
    (task, scene.told_one(1).request_id)
}

pub(super) fn get(scene: &mut Scene, id: u64, task: &str) -> Value {
    modern(scene, id, "tasks/get", json!({"taskId": task}))["result"].clone()
}

#[test]
fn a_task_of_the_modern_era_from_its_creation_to_its_result() {
    let mut scene = serving();
    let (task, request) = created(&mut scene, 1);
    assert!(task.len() >= 20, "{task} can be guessed");
    let seen = get(&mut scene, 2, &task);
    assert_eq!((&seen["resultType"], &seen["status"]), (&json!("complete"), &json!("working")));
    assert_eq!(seen["createdAt"], "2027-01-15T08:00:00.000Z");
    assert!(seen["ttlMs"].is_u64() && seen["pollIntervalMs"].is_u64(), "{seen}");
    let progress = ProgressNotification {
        progress_token: request.clone(),
        progress: 3,
        total: 4,
        message: String::new(),
    };
    scene.tool(1, "", Msg::Progress(progress));
    assert!(scene.heard().is_empty(), "tasks have no progress notifications");
    assert_eq!(get(&mut scene, 3, &task)["statusMessage"], "3 of 4");
    scene.result(1, &request, "done");
    assert!(scene.heard().is_empty());
    let seen = get(&mut scene, 4, &task);
    assert_eq!(seen["status"], "completed");
    assert_eq!(seen["result"]["content"][0]["text"], "done");
    assert_eq!(get(&mut scene, 5, &task)["status"], "completed", "it can be seen again");
    scene.wait(TASK_TTL);
    let gone = modern(&mut scene, 6, "tasks/get", json!({"taskId": task}));
    assert_eq!(gone["error"]["code"], -32602);
    assert!(gone["error"]["message"].as_str().unwrap().contains("no longer kept"), "{gone}");
    assert_eq!(scene.bridge.deadline(), None);
}

#[test]
fn a_failed_tool_completes_its_task_and_a_dead_process_fails_it() {
    let mut scene = serving();
    let (failed, request) = created(&mut scene, 1);
    let (lost, _) = created(&mut scene, 2);
    let result_json = r#"[{"type":"text","text":"no"}]"#.into();
    let response = CallToolResponse { is_error: true, result_json, ..Default::default() };
    scene.tool(1, &request, Msg::CallResult(response));
    let seen = get(&mut scene, 3, &failed);
    assert_eq!((&seen["status"], &seen["result"]["isError"]), (&json!("completed"), &json!(true)));
    scene.exited(1, "was killed by signal 9", "out of memory");
    let seen = get(&mut scene, 4, &lost);
    assert_eq!((&seen["status"], &seen["error"]["code"]), (&json!("failed"), &json!(-32603)));
    assert!(seen["error"]["message"].as_str().unwrap().contains("out of memory"), "{seen}");
    assert!(seen.get("result").is_none());
}

#[test]
fn a_task_asks_and_is_told() {
    let mut scene = serving();
    let (task, request) = created(&mut scene, 1);
    for ask in ["e1", "e2"] {
        scene.tool(1, ask, elicit(&request));
    }
    let seen = get(&mut scene, 2, &task);
    assert_eq!(seen["status"], "input_required");
    let keys: Vec<String> = seen["inputRequests"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys.len(), 2);
    let accept = json!({"action": "accept", "content": {"name": "Eve"}});
    let update = |responses: Value| json!({"taskId": task, "inputResponses": responses});
    let bad = modern(&mut scene, 3, "tasks/update", update(json!({&keys[0]: {"action": "perhaps"}})));
    assert_eq!(bad["error"]["code"], -32602);
    scene.ask(4, "tasks/update", {
        let mut params = update(json!({&keys[0]: accept, "unknown": {}}));
        params["_meta"] = knows_tasks();
        params
    });
    let acknowledged = scene.heard_one();
    assert_eq!(acknowledged["result"]["resultType"], "complete");
    assert_eq!(scene.told_one(1).request_id, "e1");
    let seen = get(&mut scene, 5, &task);
    assert_eq!(seen["inputRequests"].as_object().unwrap().len(), 1, "the rest is still open");
    modern(&mut scene, 6, "tasks/update", update(json!({&keys[0]: accept, &keys[1]: {"action": "cancel"}})));
    assert_eq!(scene.told_one(1).request_id, "e2");
    assert_eq!(get(&mut scene, 7, &task)["status"], "working");
    scene.result(1, &request, "done");
    assert_eq!(get(&mut scene, 8, &task)["status"], "completed");
}

#[test]
fn a_cancelled_task_stays_cancelled() {
    let mut scene = serving();
    let (task, request) = created(&mut scene, 1);
    modern(&mut scene, 2, "tasks/cancel", json!({"taskId": task}));
    assert!(matches!(scene.told_one(1).msg, Some(Msg::Cancel(cancel)) if cancel.request_id == request));
    scene.result(1, &request, "late");
    assert_eq!(get(&mut scene, 3, &task)["status"], "cancelled");
    let again = modern(&mut scene, 4, "tasks/cancel", json!({"taskId": task}));
    assert_eq!(again["result"]["resultType"], "complete", "to cancel twice is no mistake");
}

#[test]
fn listeners_hear_of_each_change() {
    let mut scene = serving();
    let (task, request) = created(&mut scene, 1);
    let listen = json!({"notifications": {"taskIds": [task, "invented"]}, "_meta": knows_tasks()});
    scene.ask(9, "subscriptions/listen", listen);
    let acknowledged = scene.heard_one();
    assert_eq!(acknowledged["params"]["notifications"]["taskIds"], json!([task]));
    let heard = |scene: &mut Scene| {
        let message = scene.heard_one();
        assert_eq!(message["method"], "notifications/tasks");
        let params = message["params"].clone();
        assert_eq!(params["_meta"]["io.modelcontextprotocol/subscriptionId"], 9);
        assert_eq!(params["taskId"], json!(task));
        params
    };
    scene.tool(1, "e", elicit(&request));
    let asks = heard(&mut scene);
    assert_eq!(asks["status"], "input_required");
    let key = asks["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answer =
        json!({"taskId": task, "inputResponses": {key: {"action": "decline"}}, "_meta": knows_tasks()});
    scene.ask(10, "tasks/update", answer);
    let both = scene.heard();
    assert_eq!((&both[0]["id"], &both[1]["params"]["status"]), (&json!(10), &json!("working")), "{both:#?}");
    scene.result(1, &request, "done");
    let over = heard(&mut scene);
    assert_eq!(
        (&over["status"], &over["result"]["content"][0]["text"]),
        (&json!("completed"), &json!("done"))
    );
    // Who comes late hears it at once.
    scene.ask(
        11,
        "subscriptions/listen",
        json!({"notifications": {"taskIds": [task]}, "_meta": knows_tasks()}),
    );
    assert_eq!(scene.heard()[1]["params"]["status"], "completed");
}

#[test]
fn a_host_that_knows_no_tasks_waits_for_the_result() {
    let mut scene = serving();
    scene.ask(1, "tools/call", json!({"name": "slow", "_meta": offering(json!({}))}));
    let request = scene.told_one(1).request_id;
    scene.call(2, "slow");
    let other = scene.told_one(1).request_id;
    scene.result(1, &request, "done");
    assert_eq!(text(&scene.heard_one()), "done");
    scene.result(1, &other, "done");
    assert_eq!(text(&scene.heard_one()), "done");
    // Where there is no other way it is told so.
    scene.ask(3, "tools/call", json!({"name": "long", "_meta": offering(json!({}))}));
    let answer = scene.heard_one();
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(answer["error"]["data"]["requiredCapabilities"], json!({"extensions": {EXTENSION: {}}}));
    scene.call(4, "long");
    assert_eq!(scene.heard_one()["error"]["code"], -32601);
    assert!(scene.told(1).is_empty());
}

#[test]
fn tasks_are_seen_by_those_alone_who_made_them() {
    let mut scene = serving();
    let (task, _) = created(&mut scene, 1);
    let unknown = |answer: &Value| {
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("Unknown task"), "{answer}");
    };
    let session = SessionId(5);
    scene.input(Input::SessionOpened { session, lasts: true, principal: "mallory".into() });
    for method in ["tasks/get", "tasks/cancel"] {
        let params = json!({"taskId": task, "_meta": knows_tasks()});
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        scene.input(Input::Host { route: Route::session(session), message: request::parse(line.as_bytes()) });
        unknown(&scene.heard_one());
    }
    // Nor are they seen in the other era, and nobody guesses one.
    scene.ask(2, "tasks/get", json!({"taskId": task}));
    unknown(&scene.heard_one());
    let mut guess = task.clone();
    let last = if guess.pop() == Some('A') { 'B' } else { 'A' };
    guess.push(last);
    for other in [guess.as_str(), "", "1", "x"] {
        unknown(&modern(&mut scene, 3, "tasks/get", json!({"taskId": other})));
    }
    scene.ask(4, "tasks/get", json!({"taskId": task, "_meta": offering(json!({}))}));
    assert_eq!(scene.heard_one()["error"]["code"], -32021);
}

#[test]
fn the_oldest_finished_task_makes_room_and_none_that_runs() {
    let mut scene = serving(); // It keeps four.
    let (first, request) = created(&mut scene, 1);
    scene.result(1, &request, "1");
    let (second, request) = created(&mut scene, 2);
    scene.result(1, &request, "2");
    created(&mut scene, 3);
    created(&mut scene, 4);
    // The two slots are taken; a task may wait for one.
    let answer = modern(&mut scene, 5, "tools/call", json!({"name": "slow"}));
    assert_eq!(answer["result"]["resultType"], "task");
    let gone = modern(&mut scene, 6, "tasks/get", json!({"taskId": first}));
    assert!(gone["error"]["message"].as_str().unwrap().contains("no longer kept"), "{gone}");
    assert_eq!(get(&mut scene, 7, &second)["status"], "completed");
    modern(&mut scene, 8, "tools/call", json!({"name": "slow"}));
    // Four run: the next host waits for its result, and one that insists is told.
    scene.ask(9, "tools/call", json!({"name": "slow", "_meta": knows_tasks()}));
    assert!(scene.heard().is_empty());
    scene.ask(10, "tools/call", json!({"name": "slow", "task": {}}));
    let full = scene.heard_one();
    assert!(full["error"]["message"].as_str().unwrap().contains("--tasks-max"), "{full}");
}

#[test]
fn a_task_that_outlives_its_time_is_cancelled() {
    let mut scene = serving();
    let (_, request) = created(&mut scene, 1);
    scene.ask(2, "subscriptions/listen", json!({"notifications": {}, "_meta": knows_tasks()}));
    scene.heard_one();
    scene.wait(TASK_TTL);
    assert!(
        scene.told(1).iter().any(|it| matches!(&it.msg, Some(Msg::Cancel(it)) if it.request_id == request))
    );
    assert!(scene.bridge.calls.is_empty());
}

#[test]
fn the_form_of_2025_11_25() {
    let mut scene = serving();
    scene.ask(
        1,
        "tools/call",
        json!({"name": "slow", "task": {"ttl": 60000}, "_meta": {"progressToken": "t"}}),
    );
    let created = scene.heard_one()["result"]["task"].clone();
    assert_eq!((&created["status"], &created["ttl"]), (&json!("working"), &json!(60000)));
    let task = created["taskId"].as_str().unwrap().to_owned();
    let request = scene.told_one(1).request_id;
    let related = json!({"io.modelcontextprotocol/related-task": {"taskId": task}});
    // Who wants the result waits, and may change its mind.
    scene.ask(2, "tasks/result", json!({"taskId": task}));
    scene.ask(3, "tasks/result", json!({"taskId": task}));
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}));
    assert!(scene.heard().is_empty());
    let progress =
        ProgressNotification { progress_token: request.clone(), progress: 1, ..Default::default() };
    scene.tool(1, "", Msg::Progress(progress));
    let progress = scene.heard_one();
    assert_eq!((&progress["params"]["progressToken"], &progress["params"]["_meta"]), (&json!("t"), &related));
    scene.tool(1, "e", elicit(&request));
    let asked = scene.heard();
    assert_eq!(asked[0]["params"]["_meta"], related);
    assert_eq!(
        (&asked[1]["method"], &asked[1]["params"]["status"]),
        (&json!("notifications/tasks/status"), &json!("input_required"))
    );
    scene.say(&json!({"jsonrpc": "2.0", "id": asked[0]["id"], "result": {"action": "decline"}}));
    assert!(matches!(scene.told_one(1).msg, Some(Msg::ElicitResponse(it)) if it.action == "decline"));
    assert_eq!(scene.heard_one()["params"]["status"], "working");
    scene.ask(4, "tasks/list", json!({}));
    assert_eq!(scene.heard_one()["result"]["tasks"][0]["taskId"], json!(task));
    scene.result(1, &request, "done");
    let over = scene.heard();
    let result = &over.iter().find(|message| message["id"] == 2).unwrap()["result"];
    assert_eq!((&result["content"][0]["text"], &result["_meta"]), (&json!("done"), &related));
    scene.ask(5, "tasks/get", json!({"taskId": task}));
    let seen = scene.heard_one()["result"].clone();
    assert_eq!(seen["status"], "completed");
    assert!(seen.get("result").is_none() && seen.get("resultType").is_none(), "{seen}");
    scene.ask(6, "tasks/cancel", json!({"taskId": task}));
    assert_eq!(scene.heard_one()["error"]["code"], -32602);
    scene.ask(7, "tasks/update", json!({"taskId": task, "inputResponses": {}}));
    assert_eq!(scene.heard_one()["error"]["code"], -32601, "the other form has no such method");
}

#[test]
fn in_2025_11_25_a_failed_tool_fails_its_task_and_a_cancelled_one_has_an_error() {
    let mut scene = serving();
    let create = |scene: &mut Scene, id| {
        scene.ask(id, "tools/call", json!({"name": "long", "task": {}}));
        let task = scene.heard_one()["result"]["task"]["taskId"].as_str().unwrap().to_owned();
        (task, scene.told_one(1).request_id)
    };
    let (task, request) = create(&mut scene, 1);
    let result_json = r#"[{"type":"text","text":"no"}]"#.into();
    let response = CallToolResponse { is_error: true, result_json, ..Default::default() };
    scene.tool(1, &request, Msg::CallResult(response));
    assert_eq!(scene.heard_one()["params"]["status"], "failed");
    scene.ask(2, "tasks/result", json!({"taskId": task}));
    assert_eq!(scene.heard_one()["result"]["isError"], true);
    let (task, _) = create(&mut scene, 3);
    scene.ask(4, "tasks/cancel", json!({"taskId": task}));
    let both = scene.heard();
    assert_eq!(both[1]["result"]["status"], "cancelled", "{both:#?}");
    scene.ask(5, "tasks/result", json!({"taskId": task}));
    assert!(scene.heard_one()["error"]["message"].as_str().unwrap().contains("cancelled"));
    scene.ask(6, "tools/call", json!({"name": "quick", "task": {}}));
    assert_eq!(scene.heard_one()["error"]["code"], -32601);
}

#[test]
fn earlier_revisions_know_no_tasks() {
    let mut scene = Scene::new();
    scene.initialize("2025-06-18");
    scene.started(1);
    scene.handshake(1, &["a"], 0);
    scene.ask(1, "tasks/list", json!({}));
    assert_eq!(scene.heard_one()["error"]["code"], -32601);
    scene.ask(2, "tools/call", json!({"name": "a", "task": {}}));
    let request = scene.told_one(1).request_id;
    scene.result(1, &request, "done");
    assert_eq!(text(&scene.heard_one()), "done", "what it does not know it ignores");
}

pub(super) fn status(task: &str, state: &str, progress: i64, message: &str) -> Msg {
    let (task_id, state, message) = (task.into(), state.into(), message.into());
    Msg::TaskStatusResponse(TaskStatusResponse { task_id, state, progress, total: 10, message })
}

/// A call of `quick` that the tool process made a task of its own.
pub(super) fn remote(scene: &mut Scene, request: &str) {
    scene.tool(1, request, Msg::CreateTask(CreateTaskResponse { task_id: "job-7".into() }));
}

#[test]
fn a_task_of_the_tool_process_is_looked_at_until_it_has_a_result() {
    let mut scene = serving();
    scene.ask(1, "tools/call", json!({"name": "quick", "_meta": knows_tasks()}));
    let request = scene.told_one(1).request_id;
    remote(&mut scene, &request);
    let answer = scene.heard_one();
    assert_eq!(answer["result"]["resultType"], "task");
    let task = answer["result"]["taskId"].as_str().unwrap().to_owned();
    assert_ne!(task, "job-7");
    scene.wait(TASK_POLL);
    let look = scene.told_one(1);
    assert!(matches!(&look.msg, Some(Msg::TaskStatus(it)) if it.task_id == "job-7"), "{look:?}");
    scene.tool(1, &look.request_id, status("job-7", "running", 4, "at it"));
    assert_eq!(get(&mut scene, 2, &task)["statusMessage"], "at it");
    // It can still ask, in the name of the call that it was.
    scene.tool(
        1,
        "e",
        Msg::ElicitRequest(ElicitRequest {
            call_request_id: request.clone(),
            message: "?".into(),
            requested_schema_json: r#"{"type":"object","properties":{}}"#.into(),
            ..Default::default()
        }),
    );
    assert_eq!(get(&mut scene, 3, &task)["status"], "input_required");
    let key = get(&mut scene, 4, &task)["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    modern(
        &mut scene,
        5,
        "tasks/update",
        json!({"taskId": task, "inputResponses": {key: {"action": "cancel"}}}),
    );
    assert_eq!(scene.told_one(1).request_id, "e");
    // It need not wait to be asked.
    scene.tool(1, "", status("job-7", "completed", 10, ""));
    let fetch = scene.told_one(1);
    assert!(matches!(&fetch.msg, Some(Msg::TaskResult(it)) if it.task_id == "job-7"), "{fetch:?}");
    scene.result(1, &fetch.request_id, "done");
    let seen = get(&mut scene, 6, &task);
    assert_eq!(
        (&seen["status"], &seen["result"]["content"][0]["text"]),
        (&json!("completed"), &json!("done"))
    );
    assert_eq!(scene.bridge.processes[&Generation(1)].busy, 0);
}

#[test]
fn to_other_hosts_it_is_a_call_with_progress() {
    let mut scene = serving();
    scene.ask(1, "tools/call", json!({"name": "quick", "_meta": {"progressToken": 5}}));
    let request = scene.told_one(1).request_id;
    remote(&mut scene, &request);
    assert!(scene.heard().is_empty());
    scene.wait(TASK_POLL);
    let look = scene.told_one(1).request_id;
    scene.tool(1, &look, status("job-7", "running", 4, "at it"));
    let progress = scene.heard_one();
    assert_eq!(
        (&progress["params"]["progress"], &progress["params"]["message"]),
        (&json!(4), &json!("at it"))
    );
    scene.tool(1, "", status("job-7", "completed", 10, ""));
    let fetch = scene.told_one(1).request_id;
    scene.result(1, &fetch, "done");
    assert_eq!(text(&scene.heard_one()), "done");
}

#[test]
fn a_task_of_the_tool_process_can_fail_be_cancelled_and_die() {
    for end in ["silent", "cancelled", "cancel", "death", "replaced"] {
        let mut scene = serving();
        scene.ask(1, "tools/call", json!({"name": "quick"}));
        let request = scene.told_one(1).request_id;
        remote(&mut scene, &request);
        match end {
            "silent" => {
                scene.tool(1, "", status("job-7", "failed", 0, "no paper"));
                scene.told_one(1);
                scene.wait(Duration::from_secs(6));
                assert!(text(&scene.heard_one()).contains("no paper"));
            }
            "cancelled" => {
                scene.tool(1, "", status("job-7", "cancelled", 0, "why not"));
                assert!(text(&scene.heard_one()).contains("why not"));
            }
            "cancel" => {
                let params = json!({"requestId": 1});
                scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
                let told = scene.told_one(1);
                assert!(matches!(&told.msg, Some(Msg::TaskCancel(it)) if it.task_id == "job-7"), "{told:?}");
                scene.tool(1, &told.request_id, status("job-7", "cancelled", 0, ""));
                assert!(scene.heard().is_empty());
            }
            "death" => {
                scene.exited(1, "exited with status 3", "oh no");
                assert!(text(&scene.heard_one()).contains("oh no"));
            }
            _ => {
                // A new process takes over; the old one stays until its task is done.
                scene.input(Input::Reload { cause: "tools.py changed".into() });
                scene.started(2);
                scene.handshake(2, &["quick"], 2);
                assert!(scene.orders().is_empty());
                scene.tool(1, "", status("job-7", "completed", 10, ""));
                let fetch = scene.told(1).pop().unwrap().request_id;
                scene.result(1, &fetch, "done");
                scene.input(Input::Tick);
                assert!(scene.heard().iter().any(|it| it["id"] == 1));
                assert_eq!(scene.orders(), ["term 1"]);
            }
        }
        assert!(scene.bridge.calls.is_empty(), "{end}");
    }
}

#[test]
fn in_2025_11_25_what_is_not_listed_cannot_be_had() {
    let mut scene = serving();
    scene.ask(1, "tools/call", json!({"name": "slow", "task": {}}));
    let task = scene.heard_one()["result"]["task"]["taskId"].clone();
    // Another session, of nobody in particular as the first one.
    let session = SessionId(5);
    let route = Route::session(session);
    scene.input(Input::SessionOpened { session, lasts: true, principal: "".into() });
    let host = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "h", "version": "1"}});
    for (id, method, params) in [
        (0, "initialize", host),
        (1, "tasks/list", json!({})),
        (2, "tasks/get", json!({"taskId": task})),
        (3, "tasks/cancel", json!({"taskId": task})),
        (4, "tasks/result", json!({"taskId": task})),
    ] {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        scene.input(Input::Host { route, message: request::parse(line.as_bytes()) });
    }
    let heard = scene.heard();
    assert_eq!(heard[1]["result"]["tasks"], json!([]));
    for refused in &heard[2..] {
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    assert_eq!(heard.len(), 5, "{heard:#?}");
    scene.ask(2, "tasks/get", json!({"taskId": task}));
    assert_eq!(scene.heard_one()["result"]["status"], "working");
}

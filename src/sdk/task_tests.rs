//! Tasks over a connection: the handler goes on, the bridge looks at it and fetches its result.

#![allow(clippy::disallowed_methods, reason = "a test may panic when no thread can be had")]

use std::thread;

use super::serve_tests::{Bridge, gate};
use super::{Server, ToolError, tool};
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{
    CallToolRequest, CreateTaskResponse, ElicitResponse, TaskCancelRequest, TaskResultRequest,
    TaskStatusRequest, TaskStatusResponse,
};

fn created(bridge: &mut Bridge) -> String {
    match bridge.next() {
        (_, Msg::CreateTask(CreateTaskResponse { task_id })) => task_id,
        other => panic!("{other:?}"),
    }
}

fn status(bridge: &mut Bridge) -> TaskStatusResponse {
    match bridge.next() {
        (_, Msg::TaskStatusResponse(status)) => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_task_leaves_its_place_to_other_calls() {
    let (gate, enters, go) = gate("gate");
    let long = tool("long").handler(|ctx, _| {
        ctx.start_task()?;
        Ok(format!("{} {}", ctx.elicit("Go on?")?.accepted(), ctx.task_id().is_some()))
    });
    let mut bridge = Bridge::of(Server::new().concurrency(1).tool(long).tool(gate));
    bridge.call("1", "long");
    let task_id = created(&mut bridge);
    let (asked, question) = bridge.next();
    assert!(matches!(question, Msg::ElicitRequest(it) if it.call_request_id == "1"));
    bridge.send("2", Msg::TaskResult(TaskResultRequest { task_id: task_id.clone() }));

    // While it waits for the user, the one place is taken by another call.
    bridge.call("3", "gate");
    enters.recv().unwrap();
    bridge.send("4", Msg::TaskStatus(TaskStatusRequest { task_id: task_id.clone() }));
    assert_eq!(status(&mut bridge).state, "running");

    bridge
        .send(&asked, Msg::ElicitResponse(ElicitResponse { action: "accept".into(), ..Default::default() }));
    assert_eq!(
        status(&mut bridge),
        TaskStatusResponse { task_id, state: "completed".into(), ..Default::default() }
    );
    let (id, result) = bridge.result();
    assert_eq!((id.as_str(), result.result_json.as_str()), ("2", r#"[{"type":"text","text":"true true"}]"#));
    go.send(()).unwrap();
    assert_eq!(bridge.result().0, "3");
    bridge.close().unwrap();
}

#[test]
fn a_quick_call_may_become_a_task() {
    let moody = tool("moody").handler(|ctx, args| {
        if args.get_or("long", false)? {
            ctx.start_task()?;
            while !ctx.is_cancelled() {
                thread::yield_now();
            }
            ctx.check_cancelled()?;
        }
        Ok("done")
    });
    let mut bridge = Bridge::of(Server::new().concurrency(1).tool(moody));
    for _ in 0..20 {
        // Quick calls run on the reading thread, and so does the first moment of the task.
        for _ in 0..20 {
            bridge.call("1", "moody");
            bridge.result();
        }
        let arguments_json = r#"{"long":true}"#.to_owned();
        let call = CallToolRequest { name: "moody".into(), arguments_json, ..Default::default() };
        bridge.send("2", Msg::CallTool(call));
        let task_id = created(&mut bridge);
        bridge.call("3", "moody");
        assert_eq!(bridge.result().0, "3");
        bridge.send("4", Msg::TaskCancel(TaskCancelRequest { task_id: task_id.clone() }));
        let (one, other) = (status(&mut bridge).state, status(&mut bridge).state);
        assert!(one == "cancelled" || other == "cancelled", "{one} {other}");
        bridge.send("5", Msg::TaskResult(TaskResultRequest { task_id }));
        let (id, result) = bridge.result();
        assert_eq!((id.as_str(), result.error.unwrap().error_code.as_str()), ("5", "CANCELLED"));
    }
    bridge.close().unwrap();
}

#[test]
fn a_task_that_panics_says_so() {
    let long = tool("long").handler(|ctx, _| -> Result<(), ToolError> {
        ctx.start_task()?;
        ctx.task_status("about to go wrong");
        panic!("out of luck")
    });
    let mut bridge = Bridge::of(Server::new().tool(long));
    bridge.call("1", "long");
    let task_id = created(&mut bridge);
    assert_eq!(status(&mut bridge).message, "about to go wrong");
    let ended = status(&mut bridge);
    assert!(ended.state == "completed" && ended.message.contains("out of luck"), "{ended:?}");
    bridge.send("2", Msg::TaskResult(TaskResultRequest { task_id }));
    assert_eq!(bridge.result().1.error.unwrap().error_code, "PANIC");
    bridge.close().unwrap();
}

#[test]
fn the_result_of_a_task_has_to_fit_too() {
    let long = tool("long").handler(|ctx, _| {
        ctx.start_task()?;
        Ok("x".repeat(2000))
    });
    let mut bridge = Bridge::with_max(Server::new().tool(long), 1000);
    bridge.call("1", "long");
    let task_id = created(&mut bridge);
    assert_eq!(status(&mut bridge).state, "completed");
    bridge.send("2", Msg::TaskResult(TaskResultRequest { task_id }));
    let (id, result) = bridge.result();
    assert_eq!((id.as_str(), result.error.unwrap().error_code.as_str()), ("2", "RESULT_TOO_LARGE"));
    bridge.close().unwrap();
}

#[test]
fn the_end_of_the_connection_is_the_end_of_tasks_too() {
    let (stopped, stops) = std::sync::mpsc::channel();
    let long = tool("long").handler(move |ctx, _| {
        ctx.start_task()?;
        let answer = ctx.elicit("Go on?").map(drop);
        stopped.send((answer, ctx.is_cancelled(), ctx.clone().start_task().is_ok())).unwrap();
        Ok(())
    });
    let mut bridge = Bridge::of(Server::new().tool(long));
    bridge.call("1", "long");
    created(&mut bridge);
    bridge.next();
    bridge.close().unwrap();
    let (answer, cancelled, still_one) = stops.recv().unwrap();
    assert_eq!(answer.unwrap_err().code(), "BRIDGE_GONE");
    assert!(cancelled && still_one);
}

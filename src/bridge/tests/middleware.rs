//! The middleware chain around a call.

use super::*;
use crate::limits::MIDDLEWARE_TIMEOUT;
use crate::wire::protomcp::{
    MiddlewareInterceptRequest, MiddlewareInterceptResponse, RegisterMiddlewareRequest,
};

/// A process with two middleware, registered in falling priority.
fn with_middleware() -> Scene {
    let mut scene = Scene::new();
    scene.initialize("2025-11-25");
    scene.started(1);
    scene.declare(1, &["a"], 0);
    for (name, priority) in [("late", 20), ("early", 10)] {
        scene.tool(1, "", Msg::RegisterMiddleware(RegisterMiddlewareRequest { name: name.into(), priority }));
        scene.told_one(1);
    }
    scene.tool(1, "", Msg::ReloadResponse(ReloadResponse { success: true, error: String::new() }));
    scene.wait(crate::limits::SETTLE);
    scene.call(1, "a");
    scene
}

#[track_caller]
fn intercept(scene: &mut Scene, name: &str, phase: &str) -> (String, MiddlewareInterceptRequest) {
    let told = scene.told_one(1);
    let Some(Msg::MiddlewareIntercept(request)) = told.msg else { panic!("{told:?}") };
    assert_eq!((request.middleware_name.as_str(), request.phase.as_str()), (name, phase));
    assert_eq!(request.tool_name, "a");
    (told.request_id, request)
}

fn respond(scene: &mut Scene, id: &str, arguments: &str, result: &str) {
    let response = MiddlewareInterceptResponse {
        arguments_json: arguments.into(),
        result_json: result.into(),
        ..Default::default()
    };
    scene.tool(1, id, Msg::MiddlewareInterceptResponse(response));
}

#[test]
fn before_rises_after_falls_and_both_rewrite() {
    let mut scene = with_middleware();
    let (id, request) = intercept(&mut scene, "early", "before");
    assert_eq!(request.arguments_json, r#"{"n":1}"#);
    respond(&mut scene, &id, r#"{"n":2}"#, "");
    let (id, request) = intercept(&mut scene, "late", "before");
    assert_eq!(request.arguments_json, r#"{"n":2}"#);
    respond(&mut scene, &id, "", "");
    let told = scene.told_one(1);
    let Some(Msg::CallTool(call)) = &told.msg else { panic!("{told:?}") };
    assert_eq!(call.arguments_json, r#"{"n":2}"#);
    scene.result(1, &told.request_id, "first");
    let (id, request) = intercept(&mut scene, "late", "after");
    assert!(request.result_json.contains("first"));
    assert_eq!(request.arguments_json, r#"{"n":2}"#);
    respond(&mut scene, &id, "", r#"[{"type":"text","text":"second"}]"#);
    let (id, request) = intercept(&mut scene, "early", "after");
    assert!(request.result_json.contains("second"));
    respond(&mut scene, &id, "", "");
    assert_eq!(text(&scene.heard_one()), "second");
}

#[test]
fn a_rejection_ends_the_call() {
    let mut scene = with_middleware();
    let (id, _) = intercept(&mut scene, "early", "before");
    let response = MiddlewareInterceptResponse {
        reject: true,
        reject_reason: "not on Sundays".into(),
        ..Default::default()
    };
    scene.tool(1, &id, Msg::MiddlewareInterceptResponse(response));
    let answer = scene.heard_one();
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("not on Sundays") && text(&answer).contains("early"), "{answer}");
    assert!(scene.told(1).is_empty());
}

#[test]
fn arguments_that_are_no_object_reject_the_call() {
    let mut scene = with_middleware();
    let (id, _) = intercept(&mut scene, "early", "before");
    respond(&mut scene, &id, "[1]", "");
    assert!(text(&scene.heard_one()).contains("not a JSON object"));
}

#[test]
fn a_middleware_that_hangs_rejects_the_call() {
    let mut scene = with_middleware();
    intercept(&mut scene, "early", "before");
    scene.wait(MIDDLEWARE_TIMEOUT);
    let answer = scene.heard_one();
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("\"early\" did not answer"), "{answer}");
    scene.call(2, "a");
    scene.wait(crate::limits::CANCEL_HOLD);
    let probe = scene.told(1).pop().unwrap().request_id;
    scene.result(1, &probe, "no such tool");
    intercept(&mut scene, "early", "before");
}

#[test]
fn a_process_that_dies_in_a_middleware_fails_the_call() {
    let mut scene = with_middleware();
    intercept(&mut scene, "early", "before");
    scene.exited(1, "was killed by signal 11 (SIGSEGV)", "");
    assert!(text(&scene.heard_one()).contains("SIGSEGV"));
}

#[test]
fn a_large_result_passes_middleware_too() {
    let mut scene = with_middleware();
    for name in ["early", "late"] {
        let (id, _) = intercept(&mut scene, name, "before");
        respond(&mut scene, &id, "", "");
    }
    let told = scene.told_one(1);
    let big = "y".repeat(crate::limits::LARGE_MIN + 1);
    scene.result(1, &told.request_id, &big);
    for name in ["late", "early"] {
        let (id, request) = intercept(&mut scene, name, "after");
        assert!(request.result_json.contains(&big));
        respond(&mut scene, &id, "", "");
    }
    assert_eq!(text(&scene.heard_one()), big);
}

//! The revision 2026-07-28: no handshake, no session, and both eras on one pipe.

use super::*;
use crate::wire::protomcp::{
    DisableToolsRequest, EnableToolsRequest, LogMessage, ProgressNotification, ResourceChangedNotification,
};

/// What every modern request says, with more of it.
pub(super) fn meta(more: Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"sampling": {}}
    });
    if let (Some(meta), Some(more)) = (meta.as_object_mut(), more.as_object()) {
        meta.extend(more.clone());
    }
    meta
}

/// The same of a host that offers these capabilities.
pub(super) fn offering(capabilities: Value) -> Value {
    meta(json!({"io.modelcontextprotocol/clientCapabilities": capabilities}))
}

pub(super) fn ask(scene: &mut Scene, id: u64, method: &str, mut params: Value) {
    params["_meta"] = meta(json!({}));
    scene.ask(id, method, params);
}

/// A process serves, and no host has said a word.
pub(super) fn serving(tools: &[&str]) -> Scene {
    let mut scene = Scene::new();
    scene.started(1);
    scene.handshake(1, tools, 0);
    scene
}

#[test]
fn discover_is_answered_at_once_and_settles_nothing() {
    let mut scene = Scene::new();
    ask(&mut scene, 1, "server/discover", json!({}));
    let result = scene.heard_one()["result"].clone();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "test");
    assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string());
    assert_eq!(result["capabilities"]["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    // A host that goes on with the handshake all the same is welcome.
    scene.initialize("2025-11-25");
}

#[test]
fn each_message_is_of_its_own_era() {
    let mut scene = Scene::serving(&["a"]);
    for round in 0..3 {
        ask(&mut scene, 10 + round, "tools/list", json!({}));
        let modern = scene.heard_one();
        assert_eq!(modern["result"]["resultType"], "complete");
        scene.ask(20 + round, "tools/list", json!({}));
        let old = scene.heard_one();
        assert!(old["result"].get("resultType").is_none() && old["result"].get("_meta").is_none(), "{old}");
        assert_eq!(names(&modern, "tools"), names(&old, "tools"));
    }
}

#[test]
fn a_call_needs_no_handshake() {
    let mut scene = serving(&["a"]);
    let params = json!({"name": "a", "arguments": {}, "_meta": meta(json!({"progressToken": 0}))});
    scene.ask(1, "tools/call", params);
    let told = scene.told_one(1);
    let Some(Msg::CallTool(call)) = &told.msg else { panic!("{told:?}") };
    let progress = ProgressNotification {
        progress_token: call.progress_token.clone(),
        progress: 1,
        ..Default::default()
    };
    scene.tool(1, "", Msg::Progress(progress));
    assert_eq!(scene.heard_one()["params"]["progressToken"], 0);
    scene.result(1, &told.request_id, "yes");
    let answer = scene.heard_one();
    assert_eq!(text(&answer), "yes");
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[test]
fn what_the_era_does_not_have_is_not_there() {
    let mut scene = serving(&["a"]);
    let params = [
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "info"})),
        ("resources/subscribe", json!({"uri": "x://y"})),
        ("tasks/get", json!({"taskId": "t"})),
    ];
    for (method, params) in params {
        ask(&mut scene, 1, method, params);
        let code = scene.heard_one()["error"]["code"].clone();
        assert!(code == -32601 || method == "tasks/get" && code == -32021, "{method}: {code}");
    }
    let mut params = json!({"_meta": meta(json!({}))});
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    scene.ask(2, "tools/list", params);
    let error = scene.heard_one()["error"].clone();
    assert_eq!((&error["code"], &error["data"]["requested"]), (&json!(-32022), &json!("2099-01-01")));
    assert_eq!(error["data"]["supported"], json!(["2026-07-28"]));
    let params = json!({"name": "a", "requestState": "v1.forged", "_meta": meta(json!({}))});
    scene.ask(3, "tools/call", params);
    assert_eq!(scene.heard_one()["error"]["code"], -32602);
    assert!(scene.told(1).is_empty());
}

#[test]
fn news_comes_on_streams_that_asked_for_it() {
    let mut scene = serving(&["a", "b"]);
    let wanted = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["x://y"]}});
    ask(&mut scene, 7, "subscriptions/listen", wanted);
    let first = scene.heard_one();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let stream =
        |message: &Value| message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
    assert_eq!(stream(&first), 7);
    ask(&mut scene, 8, "subscriptions/listen", json!({"notifications": {"promptsListChanged": true}}));
    scene.heard_one();
    scene.tool(1, "", Msg::DisableTools(DisableToolsRequest { tool_names: vec!["b".into()] }));
    let news = scene.heard_one();
    assert_eq!((&news["method"], stream(&news)), (&json!("notifications/tools/list_changed"), json!(7)));
    for uri in ["x://y", "x://z"] {
        scene.tool(1, "", Msg::ResourceChanged(ResourceChangedNotification { uri: uri.into() }));
    }
    let news = scene.heard_one();
    assert_eq!((&news["params"]["uri"], stream(&news)), (&json!("x://y"), json!(7)));
    // An id names one stream; ended by the host, it is heard of no more.
    ask(&mut scene, 7, "subscriptions/listen", json!({"notifications": {}}));
    assert_eq!(scene.heard_one()["error"]["code"], -32600);
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}));
    scene.tool(1, "", Msg::EnableTools(EnableToolsRequest { tool_names: vec!["b".into()] }));
    assert!(scene.heard().is_empty());
    // Ended by us, it has its result.
    scene.input(Input::Stop { reason: "SIGTERM".into() });
    let end = scene.heard_one();
    assert_eq!(end["id"], 8);
    assert_eq!(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 8);
}

#[test]
fn a_log_line_goes_to_the_call_that_asked_for_it() {
    let log = |level: &str| {
        Msg::Log(LogMessage { level: level.into(), data_json: "\"x\"".into(), ..LogMessage::default() })
    };
    // A session of the handshake era lives on the same pipe.
    let mut scene = Scene::serving(&["a"]);
    let level = json!({"io.modelcontextprotocol/logLevel": "warning"});
    for (id, level, heard) in [(1, level, 1), (2, json!({}), 0)] {
        scene.ask(id, "tools/call", json!({"name": "a", "_meta": meta(level)}));
        let told = scene.told_one(1);
        scene.tool(1, "", log("error"));
        scene.tool(1, "", log("info"));
        assert_eq!(scene.heard().len(), heard, "for the call alone, from its level up");
        scene.result(1, &told.request_id, "done");
        scene.heard_one();
    }
    scene.tool(1, "", log("info"));
    assert_eq!(scene.heard_one()["method"], "notifications/message", "between calls it is the session's");
}

#[test]
fn a_modern_call_is_cancelled_by_a_notification() {
    let mut scene = serving(&["a"]);
    ask(&mut scene, 1, "tools/call", json!({"name": "a"}));
    let told = scene.told_one(1);
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    assert!(matches!(scene.told_one(1).msg, Some(Msg::Cancel(_))));
    scene.result(1, &told.request_id, "late");
    assert!(scene.heard().is_empty());
}

#[test]
fn who_listens_hears_of_changes_without_having_asked_for_a_list() {
    use crate::wire::protomcp::{PromptDefinition, PromptListResponse};
    let prompts = |names: &[&str]| {
        let prompts =
            names.iter().map(|name| PromptDefinition { name: (*name).into(), ..Default::default() });
        Msg::PromptListResponse(PromptListResponse { prompts: prompts.collect() })
    };
    // The stream is open before the process serves, or after that.
    for early in [true, false] {
        let mut scene = Scene::new();
        let listen = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
        if early {
            ask(&mut scene, 1, "subscriptions/listen", listen.clone());
        }
        scene.started(1);
        scene.handshake(1, &["a", "b"], 0);
        if !early {
            ask(&mut scene, 1, "subscriptions/listen", listen);
        }
        assert_eq!(scene.heard_one()["method"], "notifications/subscriptions/acknowledged");
        let request = scene.told_one(1);
        assert!(matches!(request.msg, Some(Msg::ListPromptsRequest(_))), "{request:?}");
        scene.tool(1, &request.request_id, prompts(&["p"]));
        assert!(scene.heard().is_empty());
        scene.tool(1, "", Msg::DisableTools(DisableToolsRequest { tool_names: vec!["b".into()] }));
        assert_eq!(scene.heard_one()["method"], "notifications/tools/list_changed");
        scene.tool(1, "", prompts(&["p", "q"]));
        assert_eq!(scene.heard_one()["method"], "notifications/prompts/list_changed");
    }
}

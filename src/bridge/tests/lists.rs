//! Lists, prompts, resources, completions, and what hosts are told of changes.

use super::*;
use crate::limits::{LIST_TIMEOUT, PAGE_MAX};
use crate::wire::protomcp::{
    BatchUpdateRequest, CompletionResponse, EnableToolsRequest, GetActiveToolsRequest, GetPromptResponse,
    PromptArgument, PromptDefinition, PromptListResponse, ReadResourceResponse, ResourceChangedNotification,
    ResourceContent, ResourceDefinition, ResourceListResponse, SetAllowedRequest,
};

fn resources(names: &[&str]) -> Msg {
    let resources = names
        .iter()
        .map(|name| ResourceDefinition {
            uri: format!("x://{name}"),
            name: name.to_string(),
            ..Default::default()
        })
        .collect();
    Msg::ResourceListResponse(ResourceListResponse { resources })
}

fn prompts() -> Msg {
    let argument = PromptArgument { name: "who".into(), required: true, ..Default::default() };
    let prompt = PromptDefinition { name: "hello".into(), arguments: vec![argument], ..Default::default() };
    Msg::PromptListResponse(PromptListResponse { prompts: vec![prompt] })
}

#[test]
fn tool_list_requests_are_answered_at_once_and_hosts_hear_of_changes_only() {
    let mut scene = Scene::serving(&["a", "b", "c"]);
    scene.ask(1, "tools/list", json!({}));
    scene.heard_one();
    let active = |scene: &mut Scene, msg: Msg| {
        scene.tool(1, "", msg);
        let told = scene.told_one(1);
        let Some(Msg::ActiveTools(active)) = told.msg else { panic!("{told:?}") };
        active.tool_names
    };
    let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(active(&mut scene, Msg::GetActiveTools(GetActiveToolsRequest {})), ["a", "b", "c"]);
    assert!(scene.heard().is_empty());
    assert_eq!(active(&mut scene, Msg::SetAllowed(SetAllowedRequest { tool_names: list(&["b"]) })), ["b"]);
    assert_eq!(scene.heard_one()["method"], "notifications/tools/list_changed");
    assert_eq!(active(&mut scene, Msg::EnableTools(EnableToolsRequest { tool_names: list(&["b"]) })), ["b"]);
    assert!(scene.heard().is_empty(), "nothing changed");
    let both = BatchUpdateRequest { allow: list(&["a"]), block: list(&["b"]), ..Default::default() };
    assert_eq!(active(&mut scene, Msg::Batch(both)), ["b"]);
    assert_eq!(scene.logged(Level::Warning).len(), 1);
    assert_eq!(active(&mut scene, Msg::SetAllowed(SetAllowedRequest::default())), ["a", "b", "c"]);
    scene.heard_one();
    scene.ask(2, "tools/list", json!({}));
    assert_eq!(names(&scene.heard_one(), "tools"), ["a", "b", "c"]);
}

#[test]
fn a_result_can_enable_and_disable_tools() {
    let mut scene = Scene::serving(&["a", "b"]);
    scene.ask(1, "tools/list", json!({}));
    scene.heard_one();
    scene.call(2, "a");
    let told = scene.told_one(1);
    let response = CallToolResponse {
        result_json: "[]".into(),
        disable_tools: vec!["a".into()],
        enable_tools: vec!["b".into()],
        ..Default::default()
    };
    scene.tool(1, &told.request_id, Msg::CallResult(response));
    let heard = scene.heard();
    assert_eq!(heard[0]["method"], "notifications/tools/list_changed", "the host knows before it goes on");
    assert_eq!(heard[1]["id"], 2);
}

#[test]
fn a_long_list_comes_in_pages() {
    let all: Vec<String> = (0..PAGE_MAX + 5).map(|i| format!("t{i}")).collect();
    let mut scene = Scene::serving(&all.iter().map(String::as_str).collect::<Vec<_>>());
    scene.ask(1, "tools/list", json!({}));
    let first = scene.heard_one();
    let cursor = first["result"]["nextCursor"].clone();
    scene.ask(2, "tools/list", json!({"cursor": cursor}));
    let second = scene.heard_one();
    assert_eq!(second["result"].get("nextCursor"), None);
    let got: Vec<String> = names(&first, "tools").into_iter().chain(names(&second, "tools")).collect();
    assert_eq!(got, all);
    scene.ask(3, "tools/list", json!({"cursor": "nonsense"}));
    assert_eq!(scene.heard_one()["error"]["code"], -32602);
}

#[test]
fn resources_are_asked_for_and_read() {
    let mut scene = Scene::serving(&[]);
    scene.ask(1, "resources/list", json!({}));
    let told = scene.told_one(1);
    scene.tool(1, &told.request_id, resources(&["one", "two"]));
    assert_eq!(names(&scene.heard_one(), "resources"), ["one", "two"]);
    scene.ask(2, "resources/read", json!({"uri": "x://one"}));
    let told = scene.told_one(1);
    let content = ResourceContent { uri: "x://one".into(), text: "hi".into(), ..Default::default() };
    let response = ReadResourceResponse { contents: vec![content], error: None };
    scene.tool(1, &told.request_id, Msg::ReadResourceResponse(response));
    assert_eq!(scene.heard_one()["result"]["contents"][0]["text"], "hi");
    scene.ask(3, "resources/read", json!({"uri": "x://no"}));
    let told = scene.told_one(1);
    let text = "Resource not found: x://no".to_owned();
    let content = ResourceContent { uri: "x://no".into(), text, ..Default::default() };
    let response = ReadResourceResponse { contents: vec![content], error: None };
    scene.tool(1, &told.request_id, Msg::ReadResourceResponse(response));
    let error = &scene.heard_one()["error"];
    assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(-32002), &json!("x://no")));
}

#[test]
fn a_library_that_ignores_a_list_has_an_empty_one_and_is_not_asked_again() {
    let mut scene = Scene::serving(&["a"]);
    scene.ask(1, "resources/list", json!({}));
    scene.call(2, "a");
    assert_eq!(scene.told(1).len(), 1);
    scene.wait(LIST_TIMEOUT);
    assert_eq!(names(&scene.heard_one(), "resources"), [""; 0]);
    let told = scene.told_one(1);
    scene.result(1, &told.request_id, "x");
    scene.heard_one();
    scene.ask(3, "resources/list", json!({}));
    assert_eq!(names(&scene.heard_one(), "resources"), [""; 0]);
    assert!(scene.told(1).is_empty());
}

#[test]
fn a_list_that_comes_late_is_asked_for_again() {
    let mut scene = Scene::serving(&["a"]);
    scene.ask(1, "resources/list", json!({}));
    let told = scene.told_one(1);
    scene.wait(LIST_TIMEOUT);
    assert_eq!(names(&scene.heard_one(), "resources"), [""; 0]);
    scene.tool(1, &told.request_id, resources(&["slow"]));
    assert_eq!(scene.heard_one()["method"], "notifications/resources/list_changed");
    scene.ask(2, "resources/list", json!({}));
    let told = scene.told_one(1);
    scene.tool(1, &told.request_id, resources(&["slow"]));
    assert_eq!(names(&scene.heard_one(), "resources"), ["slow"]);
}

#[test]
fn a_prompts_required_arguments_are_checked() {
    let mut scene = Scene::serving(&[]);
    scene.ask(1, "prompts/get", json!({"name": "hello"}));
    let told = scene.told_one(1);
    assert!(matches!(told.msg, Some(Msg::ListPromptsRequest(_))));
    scene.tool(1, &told.request_id, prompts());
    let error = &scene.heard_one()["error"];
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains("who"), "{error}");
    scene.ask(2, "prompts/get", json!({"name": "hello", "arguments": {"who": "you"}}));
    let told = scene.told_one(1);
    let Some(Msg::GetPromptRequest(request)) = &told.msg else { panic!("{told:?}") };
    assert_eq!(request.arguments_json, r#"{"who":"you"}"#);
    scene.tool(1, &told.request_id, Msg::GetPromptResponse(GetPromptResponse::default()));
    assert_eq!(scene.heard_one()["result"]["messages"], json!([]));
    scene.ask(3, "prompts/get", json!({"name": "nope"}));
    let told = scene.told_one(1);
    let description = "Prompt not found: nope".to_owned();
    let response = GetPromptResponse { description, ..Default::default() };
    scene.tool(1, &told.request_id, Msg::GetPromptResponse(response));
    assert_eq!(scene.heard_one()["error"]["code"], -32602);
}

#[test]
fn prompts_work_with_a_library_that_does_not_list_them() {
    let mut scene = Scene::serving(&[]);
    scene.ask(1, "prompts/get", json!({"name": "hello"}));
    scene.told_one(1);
    scene.wait(LIST_TIMEOUT);
    let told = scene.told_one(1);
    assert!(matches!(told.msg, Some(Msg::GetPromptRequest(_))));
    scene.tool(1, &told.request_id, Msg::GetPromptResponse(GetPromptResponse::default()));
    assert_eq!(scene.heard_one()["id"], 1);
}

#[test]
fn completions_are_cut_to_a_hundred() {
    let mut scene = Scene::serving(&[]);
    let reference = json!({"type": "ref/prompt", "name": "hello"});
    scene.ask(1, "completion/complete", json!({"ref": reference, "argument": {"name": "who", "value": "y"}}));
    let told = scene.told_one(1);
    let values = (0..150).map(|i| i.to_string()).collect();
    scene.tool(
        1,
        &told.request_id,
        Msg::CompletionResponse(CompletionResponse { values, total: 150, has_more: false }),
    );
    let completion = scene.heard_one()["result"]["completion"].clone();
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(150), &json!(true)));
}

#[test]
fn only_subscribed_resources_are_news() {
    let mut scene = Scene::serving(&[]);
    let changed = |uri: &str| Msg::ResourceChanged(ResourceChangedNotification { uri: uri.into() });
    scene.tool(1, "", changed("x://one"));
    assert!(scene.heard().is_empty());
    scene.ask(1, "resources/subscribe", json!({"uri": "x://one"}));
    assert_eq!(scene.heard_one()["result"], json!({}));
    scene.tool(1, "", changed("x://two"));
    scene.tool(1, "", changed("x://one"));
    let heard = scene.heard_one();
    assert_eq!(heard["method"], "notifications/resources/updated");
    assert_eq!(heard["params"]["uri"], "x://one");
    scene.ask(2, "resources/unsubscribe", json!({"uri": "x://one"}));
    scene.heard_one();
    scene.tool(1, "", changed("x://one"));
    assert!(scene.heard().is_empty());
}

#[test]
fn a_reload_tells_only_what_changed() {
    let mut scene = Scene::serving(&["a"]);
    scene.ask(1, "tools/list", json!({}));
    scene.ask(2, "resources/list", json!({}));
    let told = scene.told_one(1);
    scene.tool(1, &told.request_id, resources(&["one"]));
    scene.heard();
    for (generation, names, news) in [(2, vec!["one"], 0), (3, vec!["one", "two"], 1)] {
        scene.input(Input::Reload { cause: "tools.py changed".into() });
        scene.started(generation);
        scene.handshake(generation, &["a"], 0);
        let told = scene.told_one(generation);
        assert!(matches!(told.msg, Some(Msg::ListResourcesRequest(_))));
        scene.tool(generation, &told.request_id, resources(&names));
        let heard = scene.heard();
        assert_eq!(heard.len(), news, "{heard:#?}");
        assert!(heard.iter().all(|news| news["method"] == "notifications/resources/list_changed"));
        scene.orders();
        scene.exited(generation - 1, "exited with status 0", "");
    }
}

#[test]
fn log_messages_are_filtered_by_each_hosts_level() {
    let mut scene = Scene::serving(&[]);
    let log = |level: &str| {
        Msg::Log(crate::wire::protomcp::LogMessage {
            level: level.into(),
            logger: "x".into(),
            data_json: "not JSON".into(),
            ..Default::default()
        })
    };
    scene.tool(1, "", log("debug"));
    assert!(scene.heard().is_empty(), "info is where it starts");
    scene.tool(1, "", log("info"));
    assert_eq!(scene.heard_one()["params"]["data"], "not JSON");
    scene.ask(1, "logging/setLevel", json!({"level": "error"}));
    assert_eq!(scene.heard_one()["result"], json!({}));
    scene.tool(1, "", log("warning"));
    assert!(scene.heard().is_empty());
    scene.tool(1, "", log("critical"));
    assert_eq!(scene.heard_one()["params"]["level"], "critical");
    scene.ask(2, "logging/setLevel", json!({"level": "loud"}));
    assert_eq!(scene.heard_one()["error"]["code"], -32602);
}

#[test]
fn a_process_may_say_that_a_list_is_another_one_now() {
    use crate::wire::protomcp::{
        PromptDefinition, PromptListResponse, ResourceDefinition, ResourceListResponse,
    };
    let mut scene = Scene::serving(&["a"]);
    let prompts = |names: &[&str]| {
        let prompts =
            names.iter().map(|name| PromptDefinition { name: (*name).into(), ..Default::default() });
        Msg::PromptListResponse(PromptListResponse { prompts: prompts.collect() })
    };
    scene.ask(1, "prompts/list", json!({}));
    let request = scene.told_one(1).request_id;
    scene.tool(1, &request, prompts(&["p"]));
    scene.heard_one();
    scene.tool(1, "", prompts(&["p"]));
    assert!(scene.heard().is_empty(), "it is the same");
    scene.tool(1, "", prompts(&["p", "q"]));
    assert_eq!(scene.heard_one()["method"], "notifications/prompts/list_changed");
    let resources = vec![ResourceDefinition { uri: "a:b".into(), name: "b".into(), ..Default::default() }];
    scene.tool(1, "", Msg::ResourceListResponse(ResourceListResponse { resources }));
    assert_eq!(scene.heard_one()["method"], "notifications/resources/list_changed");
}

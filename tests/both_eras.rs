//! One tool file, hosts of both eras: `examples/conformance` asks, answers with questions and works
//! for long, and knows nothing of eras.
//!
//! `PMCP_CONFORMANCE_FILE` names another one to test, in another language.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::host::Host;
use crate::support::pmcp::{Setup, example};

fn host() -> Host {
    let file = std::env::var_os("PMCP_CONFORMANCE_FILE");
    let file = file.map_or_else(|| example("conformance"), PathBuf::from);
    Setup::run(&Arc::new(Dir::new())).arg(file.canonicalize().unwrap()).host()
}

fn initialized() -> Host {
    let mut host = host();
    initialize(&mut host);
    host
}

fn initialize(host: &mut Host) {
    host.initialize_as("2025-11-25", serde_json::from_str(ASKABLE).unwrap());
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

/// What a host can be asked: in the modern era it says so with each request.
const ASKABLE: &str = r#"{"elicitation":{},"sampling":{},"roots":{}}"#;
const KNOWS_TASKS: &str = r#"{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

fn modern(mut params: Value, capabilities: &str) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": serde_json::from_str::<Value>(capabilities).unwrap(),
    });
    params
}

fn call(host: &mut Host, params: Value, capabilities: &str) -> Value {
    host.ask("tools/call", modern(params, capabilities))
}

fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

/// The params of a request again, with an answer to each question of its result.
fn again(mut params: Value, asks: &Value, answer: impl Fn(&Value) -> Value) -> Value {
    assert_eq!(asks["resultType"], "input_required", "{asks}");
    let answered = asks["inputRequests"].as_object().unwrap().iter();
    params["inputResponses"] = answered.map(|(key, asked)| (key.clone(), answer(asked))).collect();
    params["requestState"] = asks["requestState"].clone();
    params
}

#[test]
fn the_user_fills_in_a_form() {
    let mut host = initialized();
    let id = host.begin_call("test_elicitation", json!({"message": "Who?"}));
    let (question, asked) = host.question("elicitation/create");
    assert_eq!(asked["message"], "Who?");
    assert_eq!(asked["requestedSchema"]["required"], json!(["username", "email"]));
    host.respond(&question, accept(json!({"username": "ada", "email": "a@b.c"})));
    let answered = r#"User response: action=accept, content={"username":"ada","email":"a@b.c"}"#;
    let sorted = r#"User response: action=accept, content={"email":"a@b.c","username":"ada"}"#;
    assert!([answered, sorted].contains(&text(&host.result_of(id))));

    let id = host.begin_call("test_streaming_elicitation", json!({}));
    let (question, _) = host.question("elicitation/create");
    host.respond(&question, json!({"action": "decline"}));
    assert_eq!(text(&host.result_of(id)), "It stopped.");

    // The same with a host of the other era, on the same pipe.
    let params = json!({"name": "test_streaming_elicitation"});
    let asks = call(&mut host, params.clone(), ASKABLE);
    let result = call(&mut host, again(params, &asks, |_| accept(json!({}))), ASKABLE);
    assert_eq!(text(&result), "It went on.");
    host.end();
}

#[test]
fn what_a_host_lacks_is_said_in_its_own_way() {
    let mut host = host();
    let params = json!({"name": "test_missing_capability"});
    let error = host.ask_for_error("tools/call", modern(params, "{}"));
    assert_eq!(error["code"], -32021);
    assert_eq!(error["data"], json!({"requiredCapabilities": {"sampling": {}}}));
    // This tool does with what there is.
    let params = json!({"name": "test_input_required_result_capabilities"});
    let asks = call(&mut host, params, r#"{"sampling":{}}"#);
    let methods: Vec<&Value> =
        asks["inputRequests"].as_object().unwrap().values().map(|asked| &asked["method"]).collect();
    assert_eq!(methods, ["sampling/createMessage"]);

    host.initialize_as("2025-11-25", json!({}));
    let result = host.call("test_missing_capability", json!({}));
    assert_eq!(result["isError"], true);
    assert_eq!(result["_meta"]["protomcp/error"]["code"], "MISSING_CAPABILITY");
}

#[test]
fn questions_as_an_answer_work_in_both_eras() {
    let mut host = initialized();
    let id = host.begin_call("test_input_required_result_multi_round", json!({}));
    for content in [json!({"name": "Ada"}), json!({"color": "green"})] {
        let (question, _) = host.question("elicitation/create");
        host.respond(&question, accept(content));
    }
    assert_eq!(text(&host.result_of(id)), "Ada: green");
    let id = host.request("prompts/get", json!({"name": "test_input_required_result_prompt"}));
    let (question, _) = host.question("elicitation/create");
    host.respond(&question, accept(json!({"context": "tests"})));
    assert!(host.result_of(id)["messages"].to_string().contains("in the context of tests"));

    let params = json!({"name": "test_input_required_result_multiple_inputs"});
    let asks = call(&mut host, params.clone(), ASKABLE);
    let answer = |asked: &Value| match asked["method"].as_str() {
        Some("elicitation/create") => accept(json!({"name": "Ada"})),
        Some("roots/list") => json!({"roots": [{"uri": "file:///a"}]}),
        _ => json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Welcome"}}),
    };
    let result = call(&mut host, again(params, &asks, answer), ASKABLE);
    assert_eq!(text(&result), "Welcome Ada, 1 roots");
    let params = json!({"name": "test_input_required_result_prompt"});
    let asks = host.ask("prompts/get", modern(params.clone(), ASKABLE));
    let params = modern(again(params, &asks, |_| accept(json!({"context": "tests"}))), ASKABLE);
    assert!(host.ask("prompts/get", params)["messages"].to_string().contains("in the context of tests"));
    host.end();
}

/// Looks at a task until it has come so far.
fn task(host: &mut Host, task: &Value, status: &str) -> Value {
    loop {
        let seen = host.ask("tasks/get", modern(json!({"taskId": task}), KNOWS_TASKS));
        if seen["status"] == status {
            return seen;
        }
        assert!(seen["status"] == "working" || seen["status"] == "input_required", "{seen}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_call_that_turns_into_a_task_of_its_process() {
    let mut host = host();
    let params = json!({"name": "test_tool_with_task"});
    let asks = call(&mut host, params.clone(), KNOWS_TASKS);
    let params = again(params, &asks, |_| accept(json!({"name": "Ada"})));
    let begun = call(&mut host, params.clone(), KNOWS_TASKS);
    assert_eq!(begun["resultType"], "task", "{begun}");
    let ended = task(&mut host, &begun["taskId"], "completed");
    assert_eq!(text(&ended["result"]), "Hello, Ada!");
    // And a host that knows no tasks just waits.
    assert_eq!(text(&call(&mut host, params, r#"{"elicitation":{}}"#)), "Hello, Ada!");
    initialize(&mut host);
    let id = host.begin_call("test_tool_with_task", json!({}));
    let (question, _) = host.question("elicitation/create");
    host.respond(&question, accept(json!({"name": "Ada"})));
    assert_eq!(text(&host.result_of(id)), "Hello, Ada!");
    host.end();
}

#[test]
fn a_task_asks_several_things_at_once_and_ends_as_it_likes() {
    let mut host = host();
    let begun = call(&mut host, json!({"name": "multi_input"}), KNOWS_TASKS);
    for left in [2, 1] {
        let asks = loop {
            let seen = task(&mut host, &begun["taskId"], "input_required");
            if seen["inputRequests"].as_object().unwrap().len() == left {
                break seen["inputRequests"].clone();
            }
        };
        let (key, asked) = asks.as_object().unwrap().iter().next().unwrap();
        let which = asked["params"]["message"].as_str().unwrap().split(' ').nth(1).unwrap();
        let answers = json!({key.as_str(): accept(json!({"name": which}))});
        let update = json!({"taskId": begun["taskId"], "inputResponses": answers});
        host.ask("tasks/update", modern(update, KNOWS_TASKS));
    }
    let ended = task(&mut host, &begun["taskId"], "completed");
    assert_eq!(text(&ended["result"]), "first and second");

    let begun = call(&mut host, json!({"name": "protocol_error_job"}), KNOWS_TASKS);
    assert_eq!(task(&mut host, &begun["taskId"], "failed")["error"]["code"], -32603);
    let params = json!({"name": "slow_compute", "arguments": {"seconds": 100}});
    let begun = call(&mut host, params, KNOWS_TASKS);
    host.ask("tasks/cancel", modern(json!({"taskId": begun["taskId"]}), KNOWS_TASKS));
    task(&mut host, &begun["taskId"], "cancelled");
    host.end();
}

/// The names are the official suite's.
#[test]
fn the_conformance_tool_file_has_what_the_suite_looks_for() {
    let mut host = initialized();
    let mut names = |method: &str, list: &str, name: &str| -> Vec<String> {
        let result = host.ask(method, Value::Null);
        let listed = result[list].as_array().unwrap();
        assert!(listed.iter().all(|it| it["description"].is_string()), "{listed:?}");
        listed.iter().map(|it| it[name].as_str().unwrap().to_owned()).collect()
    };
    let tools = names("tools/list", "tools", "name");
    for name in [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_error_handling",
        "test_tool_with_progress",
        "test_tool_with_logging",
        "test_sampling",
        "test_elicitation",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_reconnection",
        "json_schema_2020_12_tool",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_logging_tool",
        "test_trigger_tool_change",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
        "test_custom_header",
        "greet",
        "slow_compute",
        "failing_job",
        "protocol_error_job",
        "confirm_delete",
        "multi_input",
        "test_tool_with_task",
    ] {
        assert!(tools.iter().any(|tool| tool == name), "{name} is not in {tools:?}");
    }
    assert!(!tools.iter().any(|tool| tool == "test_dynamic_tool"), "hidden at first");
    assert_eq!(
        names("resources/list", "resources", "uri"),
        ["test://static-text", "test://static-binary", "test://watched-resource"]
    );
    assert_eq!(
        names("resources/templates/list", "resourceTemplates", "uriTemplate"),
        ["test://template/{id}/data"]
    );
    assert_eq!(
        names("prompts/list", "prompts", "name"),
        [
            "test_simple_prompt",
            "test_prompt_with_arguments",
            "test_prompt_with_embedded_resource",
            "test_prompt_with_image",
            "test_input_required_result_prompt",
        ]
    );
    host.call("test_trigger_tool_change", json!({}));
    host.notification("notifications/tools/list_changed");
    assert_eq!(text(&host.call("test_dynamic_tool", json!({}))), "You found me.");
    host.end();
}

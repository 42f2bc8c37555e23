//! Prompts, and the completion of their arguments.

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::*;
use serde_json::{Value, json};

use crate::support::raw_tool::{Trio, tool};

fn trio() -> Trio {
    Trio::with(
        vec![tool("any")],
        |setup| setup,
        |lists| {
            lists.prompts = vec![
                PromptDefinition {
                    name: "greet".into(),
                    description: "Greets".into(),
                    title: "A greeting".into(),
                    arguments: vec![
                        PromptArgument {
                            name: "name".into(),
                            description: "Whom".into(),
                            required: true,
                            ..PromptArgument::default()
                        },
                        PromptArgument { name: "tone".into(), ..PromptArgument::default() },
                    ],
                    ..PromptDefinition::default()
                },
                PromptDefinition { name: "bare".into(), ..PromptDefinition::default() },
            ];
        },
    )
}

/// Gets a prompt; the other side gives this answer.
#[track_caller]
fn get(trio: &mut Trio, name: &str, arguments: Value, response: GetPromptResponse) -> Value {
    let id = trio.host.request("prompts/get", json!({"name": name, "arguments": arguments}));
    let envelope = trio.peer.next();
    let Some(Msg::GetPromptRequest(request)) = envelope.msg else {
        panic!("{envelope:?}");
    };
    assert_eq!(request.name, name);
    if !arguments.is_null() {
        assert_eq!(serde_json::from_str::<Value>(&request.arguments_json).unwrap(), arguments);
    }
    trio.peer.send(&envelope.request_id, Msg::GetPromptResponse(response));
    trio.host.answer(id)
}

fn message(role: &str, content: &str) -> PromptMessage {
    PromptMessage { role: role.into(), content_json: content.into() }
}

#[test]
fn prompts_are_listed_with_their_arguments() {
    let mut trio = trio();
    let list = trio.host.ask("prompts/list", Value::Null);
    let prompts = list["prompts"].as_array().unwrap();
    assert_eq!(prompts[0]["name"], "greet");
    assert_eq!(prompts[0]["title"], "A greeting");
    assert_eq!(prompts[0]["description"], "Greets");
    assert_eq!(prompts[0]["arguments"][0], json!({"name": "name", "description": "Whom", "required": true}));
    assert_eq!(prompts[0]["arguments"][1]["name"], "tone");
    assert_ne!(prompts[0]["arguments"][1]["required"], true);
    assert_eq!(prompts[1]["name"], "bare");
}

#[test]
fn a_prompt_is_made_with_the_hosts_arguments() {
    let mut trio = trio();
    let response = GetPromptResponse {
        description: "A greeting for Ada".into(),
        messages: vec![
            message("user", r#"{"type":"text","text":"Greet Ada"}"#),
            message("assistant", r#"{"type":"image","data":"AAEC","mimeType":"image/png"}"#),
            message("user", "no JSON at all"),
        ],
        error: None,
    };
    let answer = get(&mut trio, "greet", json!({"name": "Ada", "tone": "warm"}), response);
    let result = &answer["result"];
    assert_eq!(result["description"], "A greeting for Ada");
    assert_eq!(
        result["messages"],
        json!([
            {"role": "user", "content": {"type": "text", "text": "Greet Ada"}},
            {"role": "assistant",
             "content": {"type": "image", "data": "AAEC", "mimeType": "image/png"}},
            {"role": "user", "content": {"type": "text", "text": "no JSON at all"}},
        ])
    );
    let response = GetPromptResponse {
        messages: vec![message("user", r#"{"type":"text","text":"bare"}"#)],
        ..GetPromptResponse::default()
    };
    let answer = get(&mut trio, "bare", Value::Null, response);
    assert!(answer["result"].get("description").is_none(), "absent, not empty: {answer}");
}

#[test]
fn a_missing_argument_or_prompt_is_a_protocol_error() {
    let mut trio = trio();
    for arguments in [json!({}), json!({"tone": "warm"}), Value::Null] {
        let error = trio.host.ask_for_error("prompts/get", json!({"name": "greet", "arguments": arguments}));
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains("name"), "{error}");
    }
    for params in [json!({}), json!({"name": 7}), json!({"name": "greet", "arguments": [1]})] {
        let error = trio.host.ask_for_error("prompts/get", params);
        assert_eq!(error["code"], -32602, "{error}");
    }
}

#[test]
fn a_prompt_that_the_tool_process_does_not_find_is_a_protocol_error() {
    let mut trio = trio();
    // As published SDKs say it.
    let response = GetPromptResponse {
        description: "Prompt not found: bare".into(),
        messages: vec![message("assistant", r#"{"type":"text","text":"Prompt not found: bare"}"#)],
        error: None,
    };
    let answer = get(&mut trio, "bare", json!({}), response);
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("bare"), "{answer}");
    // With the field that says so.
    let response = GetPromptResponse {
        error: Some(ToolError {
            error_code: "NOT_FOUND".into(),
            message: "gone".into(),
            ..ToolError::default()
        }),
        ..GetPromptResponse::default()
    };
    let answer = get(&mut trio, "bare", json!({}), response);
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// Completes an argument; the other side gives this answer.
#[track_caller]
fn complete(trio: &mut Trio, params: Value, response: CompletionResponse) -> CompletionRequest {
    let id = trio.host.request("completion/complete", params);
    let envelope = trio.peer.next();
    let Some(Msg::CompletionRequest(request)) = envelope.msg else {
        panic!("{envelope:?}");
    };
    trio.peer.send(&envelope.request_id, Msg::CompletionResponse(response));
    trio.host.result_of(id);
    request
}

#[test]
fn completion_is_asked_of_the_tool_process() {
    let mut trio = trio();
    let request = complete(
        &mut trio,
        json!({
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "tone", "value": "wa"},
            "context": {"arguments": {"name": "Ada"}},
        }),
        CompletionResponse::default(),
    );
    assert_eq!(request.ref_type, "ref/prompt");
    assert_eq!(request.ref_name, "greet");
    assert_eq!(request.argument_name, "tone");
    assert_eq!(request.argument_value, "wa");
    assert_eq!(request.context_arguments_json, r#"{"name":"Ada"}"#);
    let request = complete(
        &mut trio,
        json!({
            "ref": {"type": "ref/resource", "uri": "note://{id}"},
            "argument": {"name": "id", "value": ""},
        }),
        CompletionResponse::default(),
    );
    assert_eq!(request.ref_type, "ref/resource");
    assert_eq!(request.ref_name, "note://{id}");
}

#[test]
fn completion_gives_a_hundred_values_at_most() {
    let mut trio = trio();
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "tone", "value": ""},
    });
    let values = |count: usize| (0..count).map(|n| format!("value {n}")).collect::<Vec<_>>();
    for (given, total, has_more, expected) in [
        (2, 0, false, json!({"values": ["value 0", "value 1"], "hasMore": false})),
        (1, 7, true, json!({"values": ["value 0"], "total": 7, "hasMore": true})),
        (0, 0, false, json!({"values": [], "hasMore": false})),
        (150, 150, false, json!({"values": values(100), "total": 150, "hasMore": true})),
        (100, 100, false, json!({"values": values(100), "total": 100, "hasMore": false})),
    ] {
        let id = trio.host.request("completion/complete", params.clone());
        let envelope = trio.peer.next();
        let response = CompletionResponse { values: values(given), total, has_more };
        trio.peer.send(&envelope.request_id, Msg::CompletionResponse(response));
        let mut completion = trio.host.result_of(id)["completion"].clone();
        // Absent means false.
        completion.as_object_mut().unwrap().entry("hasMore").or_insert(json!(false));
        assert_eq!(completion, expected);
    }
}

#[test]
fn a_completion_of_nothing_is_invalid() {
    let mut trio = trio();
    let argument = json!({"name": "tone", "value": ""});
    for params in [
        json!({}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}}),
        json!({"ref": {"type": "ref/prompt"}, "argument": argument}),
        json!({"ref": {"type": "ref/resource"}, "argument": argument}),
        json!({"ref": {"type": "ref/tool", "name": "any"}, "argument": argument}),
        json!({"ref": "greet", "argument": argument}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"value": ""}}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "a", "value": 1}}),
    ] {
        let error = trio.host.ask_for_error("completion/complete", params.clone());
        assert_eq!(error["code"], -32602, "{params}: {error}");
    }
}

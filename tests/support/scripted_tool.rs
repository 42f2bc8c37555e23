//! A tool process that has something of everything and answers by itself, without an SDK: what it
//! sends is what stands here.

use std::collections::BTreeMap;
use std::thread::JoinHandle;

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::*;
use serde_json::{Value, json};

use super::raw_tool::{Call, Lists, Peer, RawTool, text_result, tool};

/// Waits for the tool process to start and answers for it on a thread; `has_more` adds a tool, a
/// resource and a prompt.
#[track_caller]
pub(crate) fn serve(raw: &RawTool, has_more: bool) -> JoinHandle<()> {
    let peer = raw.connect();
    offer(&mut peer.lists(), has_more);
    let tools = peer.lists().tools.clone();
    peer.handshake(tools);
    std::thread::spawn(move || answer_all(&peer))
}

/// What the tool process has.
fn offer(lists: &mut Lists, has_more: bool) {
    let object = |properties: &str| format!(r#"{{"type":"object","properties":{properties}}}"#);
    let mut echo = tool("echo");
    echo.input_schema_json = object(r#"{"text":{"type":"string"}}"#);
    echo.title = "Echo".into();
    echo.annotations_json = r#"{"readOnlyHint":true}"#.into();
    echo.icons_json =
        r#"[{"src":"data:image/png;base64,AA==","mimeType":"image/png","sizes":["16x16"]}]"#.into();
    let mut structured = tool("structured");
    structured.output_schema_json = object(r#"{"n":{"type":"integer"}}"#);
    let job = ToolDefinition { task_support: true, ..tool("job") };
    let task_only = ToolDefinition { task_support: true, task_required: true, ..tool("task_only") };
    let names = ["contents", "fail", "steps", "log", "touch", "sample", "roots", "elicit", "visit", "finish"];
    lists.tools = vec![echo, structured, job, task_only];
    lists.tools.extend(names.map(tool));
    lists.resources = vec![ResourceDefinition {
        uri: "text://a".into(),
        name: "a".into(),
        title: "A text".into(),
        mime_type: "text/plain".into(),
        size: 5,
        annotations_json: r#"{"audience":["user"],"priority":0.5}"#.into(),
        ..ResourceDefinition::default()
    }];
    lists.templates = vec![ResourceTemplateDefinition {
        uri_template: "text://{name}".into(),
        name: "texts".into(),
        ..ResourceTemplateDefinition::default()
    }];
    let argument = PromptArgument { name: "name".into(), required: true, ..PromptArgument::default() };
    lists.prompts = vec![PromptDefinition {
        name: "greet".into(),
        description: "Greet somebody".into(),
        arguments: vec![argument],
        ..PromptDefinition::default()
    }];
    lists.max_concurrent_calls = 8;
    if has_more {
        lists.tools.push(tool("more"));
        lists.resources.push(ResourceDefinition {
            uri: "text://more".into(),
            name: "more".into(),
            ..ResourceDefinition::default()
        });
        lists.prompts.push(PromptDefinition { name: "more".into(), ..PromptDefinition::default() });
    }
}

/// Does the tool process's part until the connection ends.
fn answer_all(peer: &Peer) {
    // Calls that wait for an answer of the host, by the id of their question.
    let mut asking: BTreeMap<String, Call> = BTreeMap::new();
    // Calls that go on until `finish` is called.
    let mut held: Vec<Call> = Vec::new();
    while let Some(envelope) = peer.next_or_end() {
        let id = envelope.request_id;
        let Some(msg) = envelope.msg else { continue };
        match msg {
            Msg::CallTool(request) => {
                let call = Call {
                    id: id.clone(),
                    name: request.name,
                    arguments: request.arguments_json,
                    progress_token: request.progress_token,
                };
                if let Some(question) = question(&call) {
                    let question_id = format!("about {id}");
                    peer.send(&question_id, question);
                    asking.insert(question_id, call);
                } else if call.name == "job" {
                    held.push(call);
                } else {
                    if call.name == "finish" {
                        held.drain(..).for_each(|job| peer.answer_text(&job, "done"));
                    }
                    work(peer, &call);
                }
            }
            Msg::SamplingResponse(response) => {
                settle(peer, asking.remove(&id), &response.error, &response.content_json)
            }
            Msg::ElicitResponse(response) => {
                let text = format!("{} {}", response.action, response.content_json);
                settle(peer, asking.remove(&id), &response.error, text.trim());
            }
            Msg::ListRootsResponse(response) => {
                let roots: Vec<String> = response.roots.into_iter().map(|root| root.uri).collect();
                settle(peer, asking.remove(&id), &response.error, &roots.join(" "));
            }
            Msg::ReadResourceRequest(request) => {
                let mut response = ReadResourceResponse::default();
                if request.uri == "text://a" {
                    response.contents = vec![
                        ResourceContent {
                            uri: request.uri.clone(),
                            mime_type: "text/plain".into(),
                            text: "Hello".into(),
                            ..ResourceContent::default()
                        },
                        ResourceContent {
                            uri: request.uri,
                            blob: vec![1, 2, 3],
                            ..ResourceContent::default()
                        },
                    ];
                } else {
                    response.error = Some(not_found());
                }
                peer.send(&id, Msg::ReadResourceResponse(response));
            }
            Msg::GetPromptRequest(request) => {
                let mut response = GetPromptResponse::default();
                if request.name == "greet" {
                    response.description = "Greet somebody".into();
                    let content_json = r#"{"type":"text","text":"Say hello."}"#.into();
                    response.messages = vec![PromptMessage { role: "user".into(), content_json }];
                } else {
                    response.error = Some(not_found());
                }
                peer.send(&id, Msg::GetPromptResponse(response));
            }
            Msg::CompletionRequest(_) => {
                let values = vec!["Ada".into(), "Alan".into()];
                peer.send(
                    &id,
                    Msg::CompletionResponse(CompletionResponse { values, total: 2, has_more: false }),
                );
            }
            _ => {}
        }
    }
}

fn not_found() -> ToolError {
    ToolError { error_code: "NOT_FOUND".into(), ..ToolError::default() }
}

/// What a tool asks the host first.
fn question(call: &Call) -> Option<Msg> {
    let call_request_id = call.id.clone();
    Some(match call.name.as_str() {
        "sample" => Msg::SamplingRequest(SamplingRequest {
            messages_json: r#"[{"role":"user","content":{"type":"text","text":"why?"}}]"#.into(),
            max_tokens: 10,
            call_request_id,
            ..SamplingRequest::default()
        }),
        "roots" => Msg::ListRootsRequest(ListRootsRequest { call_request_id }),
        "elicit" => Msg::ElicitRequest(ElicitRequest {
            message: "Who?".into(),
            requested_schema_json:
                r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#.into(),
            call_request_id,
            ..ElicitRequest::default()
        }),
        "visit" => Msg::ElicitRequest(ElicitRequest {
            message: "Sign in".into(),
            mode: "url".into(),
            url: "https://example.com/sign-in".into(),
            call_request_id,
            ..ElicitRequest::default()
        }),
        "job" if call.arguments.contains("ask") => Msg::ElicitRequest(ElicitRequest {
            message: "Go on?".into(),
            requested_schema_json: r#"{"type":"object","properties":{}}"#.into(),
            call_request_id,
            ..ElicitRequest::default()
        }),
        _ => return None,
    })
}

fn settle(peer: &Peer, call: Option<Call>, error: &str, text: &str) {
    if let Some(call) = call {
        peer.answer_text(&call, if error.is_empty() { text } else { error });
    }
}

/// What a tool does that asks nothing.
fn work(peer: &Peer, call: &Call) {
    let mut response = text_result("done");
    match call.name.as_str() {
        "echo" => {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            response = text_result(arguments["text"].as_str().unwrap_or_default());
        }
        "contents" => {
            response.result_json = json!([
                {"type": "text", "text": "a text", "annotations": {"audience": ["user"]}},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "text://a", "name": "a"},
                {"type": "resource", "resource": {"uri": "text://a", "mimeType": "text/plain", "text": "Hello"}},
            ])
            .to_string();
        }
        "structured" => {
            response.result_json = "[]".into();
            response.structured_content_json = r#"{"n":1}"#.into();
        }
        "fail" => {
            response.is_error = true;
            response.result_json.clear();
            response.error = Some(ToolError { message: "it went wrong".into(), ..ToolError::default() });
        }
        "steps" => {
            for progress in 1..=2 {
                let token = call.progress_token.clone();
                peer.send(
                    "",
                    Msg::Progress(ProgressNotification {
                        progress_token: token,
                        progress,
                        total: 2,
                        message: format!("step {progress}"),
                    }),
                );
            }
        }
        "log" => peer.send(
            &call.id,
            Msg::Log(LogMessage {
                level: "warning".into(),
                logger: "raw".into(),
                data_json: r#"{"careful":true}"#.into(),
                call_request_id: call.id.clone(),
            }),
        ),
        "touch" => {
            peer.send("", Msg::ResourceChanged(ResourceChangedNotification { uri: "text://a".into() }))
        }
        _ => {}
    }
    peer.answer(call, response);
}

//! The official Rust client as a host, in the mode that MODE names (its own choice without): connects
//! to the command given, carries out the steps of SCRIPT and prints what came of each, one line of
//! JSON a step. The first line says with whom it speaks.

// Sampling, roots and logging are deprecated; hosts have them for years to come.
#![allow(deprecated)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RunningService};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient, ServiceError, ServiceExt,
};
use serde::de::DeserializeOwned;
use serde_json::{json, Value};
use tokio::process::Command;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(20);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What the host is asked and told.
#[derive(Clone)]
struct Host {
    logs: Arc<Mutex<Vec<Value>>>,
    progress: UnboundedSender<Value>,
    tools: UnboundedSender<Value>,
    updated: UnboundedSender<Value>,
}

/// What the host heard.
struct Heard {
    progress: UnboundedReceiver<Value>,
    tools: UnboundedReceiver<Value>,
    updated: UnboundedReceiver<Value>,
}

fn is<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the protocol's shape")
}

/// What a host answers; the hosts in other languages do the same.
fn answer(request: &Value) -> Value {
    let params = &request["params"];
    match request["method"].as_str() {
        Some("sampling/createMessage") => {
            let text = params["messages"][0]["content"]["text"].as_str().unwrap_or_default();
            let content = json!({"type": "text", "text": format!("you said {text}")});
            json!({"role": "assistant", "model": "a-model", "stopReason": "endTurn", "content": content})
        }
        Some("roots/list") => {
            json!({"roots": [{"uri": "file:///home/ada", "name": "home"}, {"uri": "file:///srv"}]})
        }
        _ if params["message"].as_str().unwrap_or_default().contains("decline") => {
            json!({"action": "decline"})
        }
        _ => json!({"action": "accept", "content": {"name": "Ada", "copies": 2}}),
    }
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let capabilities = json!({
            "sampling": {}, "elicitation": {}, "roots": {"listChanged": true},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        });
        ClientConfig::new(is(capabilities), Implementation::new("rmcp", "1"))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Ok(is(answer(&json!({"method": "sampling/createMessage", "params": params}))))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(is(answer(&json!({"method": "roots/list"}))))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(is(answer(&json!({"method": "elicitation/create", "params": request}))))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.progress.send(json!([params.progress, params.total, params.message]));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.logs.lock().unwrap().push(json!([params.level, params.data]));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.updated.send(json!(params.uri));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.tools.send(Value::Null);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut words = std::env::args_os().skip(1);
    let first = words.next().ok_or("a command or a URL is missing")?;
    if let Some(url) = first.to_str().filter(|first| first.starts_with("http://")) {
        return serve(StreamableHttpClientTransport::from_uri(url.to_owned())).await;
    }
    let mut command = Command::new(first);
    command.args(words);
    serve(TokioChildProcess::new(command)?).await
}

async fn serve<T, E, A>(transport: T) -> Result<(), Failure>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let (host, heard) = host();
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let client = match std::env::var("MODE").as_deref() {
        Ok("discover") => {
            let mode = ClientLifecycleMode::Discover { preferred_versions };
            host.clone().serve_with_lifecycle(transport, mode).await?
        }
        Ok("auto") => {
            let mode = ClientLifecycleMode::Auto { preferred_versions, legacy_version: None };
            host.clone().serve_with_lifecycle(transport, mode).await?
        }
        _ => host.clone().serve(transport).await?,
    };
    let info = serde_json::to_value(client.peer().peer_info().as_deref())?;
    let revision = info["protocolVersion"].clone();
    println!("{}", json!({"server": info["serverInfo"]["name"], "revision": revision}));
    let mut steps = Steps { client, host, heard, is_modern: revision == "2026-07-28" };
    let script: Vec<Value> = serde_json::from_str(&std::env::var("SCRIPT")?)?;
    for step in &script {
        let seen = match steps.carry_out(step).await {
            Ok(seen) => seen,
            Err(failure) => match failure.downcast_ref::<ServiceError>() {
                Some(ServiceError::McpError(error)) => {
                    json!({"error": {"code": error.code, "message": error.message}})
                }
                _ => return Err(failure),
            },
        };
        println!("{seen}");
    }
    steps.client.cancel().await?;
    Ok(())
}

fn host() -> (Host, Heard) {
    let (progress, heard_progress) = unbounded_channel();
    let (tools, heard_tools) = unbounded_channel();
    let (updated, heard_updated) = unbounded_channel();
    let host = Host { logs: Arc::default(), progress, tools, updated };
    (host, Heard { progress: heard_progress, tools: heard_tools, updated: heard_updated })
}

struct Steps {
    client: RunningService<RoleClient, Host>,
    host: Host,
    heard: Heard,
    is_modern: bool,
}

impl Steps {
    async fn carry_out(&mut self, step: &Value) -> Result<Value, Failure> {
        let peer = self.client.peer().clone();
        Ok(match step["do"].as_str().unwrap_or_default() {
            "list" => {
                let names = |list: Value, name: &str| -> Value {
                    list.as_array().into_iter().flatten().map(|entry| entry[name].clone()).collect()
                };
                let json = |value| serde_json::to_value(value);
                json!({
                    "tools": names(json(peer.list_all_tools().await?)?, "name"),
                    "resources": names(serde_json::to_value(peer.list_all_resources().await?)?, "uri"),
                    "templates": names(
                        serde_json::to_value(peer.list_all_resource_templates().await?)?,
                        "uriTemplate",
                    ),
                    "prompts": names(serde_json::to_value(peer.list_all_prompts().await?)?, "name"),
                })
            }
            "call" => {
                while self.heard.progress.try_recv().is_ok() {}
                let mut result = serde_json::to_value(self.client.call_tool(self.named(step)).await?)?;
                let mut progress = Vec::new();
                for _ in 0..step["progress"].as_u64().unwrap_or(0) {
                    progress.push(next(&mut self.heard.progress).await?);
                }
                if !progress.is_empty() {
                    result["progress"] = progress.into();
                }
                result
            }
            "cancel" => {
                while self.heard.progress.try_recv().is_ok() {}
                let request = ClientRequest::CallToolRequest(CallToolRequest::new(self.named(step)));
                let call = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
                next(&mut self.heard.progress).await?;
                call.cancel(Some("enough".into())).await?;
                json!({"cancelled": "enough"})
            }
            "task" => self.task(step).await?,
            "read" => {
                let params = is(json!({"uri": step["uri"]}));
                serde_json::to_value(self.client.read_resource(params).await?)?
            }
            "prompt" => {
                let params = is(json!({"name": step["name"], "arguments": step.get("arguments")}));
                serde_json::to_value(self.client.get_prompt(params).await?)?
            }
            "complete" => {
                let params = is(json!({
                    "ref": {"type": "ref/prompt", "name": step["prompt"]},
                    "argument": {"name": step["argument"], "value": step["value"]},
                }));
                json!({"values": peer.complete(params).await?.completion.values})
            }
            "level" => {
                peer.set_level(is(json!({"level": step["level"]}))).await?;
                json!({})
            }
            "watch" if self.is_modern => {
                let filter = json!({"toolsListChanged": true, "resourceSubscriptions": [step["uri"]]});
                let mut stream = peer.listen(is(filter)).await?;
                let host = self.host.clone();
                tokio::spawn(async move {
                    while let Ok(Some(news)) = stream.next().await {
                        let _ = match news {
                            ServerNotification::ToolListChangedNotification(_) => {
                                host.tools.send(Value::Null)
                            }
                            ServerNotification::ResourceUpdatedNotification(news) => {
                                host.updated.send(json!(news.params.uri))
                            }
                            _ => Ok(()),
                        };
                    }
                });
                json!({})
            }
            "watch" => {
                peer.subscribe(is(json!({"uri": step["uri"]}))).await?;
                json!({})
            }
            "heard" => {
                let heard =
                    if step["kind"] == "tools" { &mut self.heard.tools } else { &mut self.heard.updated };
                json!({"heard": next(heard).await?})
            }
            "logs" => json!({"logs": *self.host.logs.lock().unwrap()}),
            "errors" => json!({"errors": []}),
            other => return Err(format!("no such step: {other}").into()),
        })
    }

    fn named(&self, step: &Value) -> CallToolRequestParams {
        let mut params =
            json!({"name": step["tool"], "arguments": step.get("arguments").unwrap_or(&json!({}))});
        if self.is_modern {
            params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "warning"});
        }
        is(params)
    }

    /// Has a call run as a task to its end, or to where it is cancelled.
    async fn task(&self, step: &Value) -> Result<Value, Failure> {
        let CallToolResponse::Task(created) = self.client.call_tool_once(self.named(step)).await? else {
            return Err("no task came".into());
        };
        let id = created.task.task_id.clone();
        let mut statuses = vec![json!(created.task.status)];
        if step["cancel"] == true {
            self.client.peer().cancel_task(is(json!({"taskId": id}))).await?;
        }
        loop {
            let task = self.client.peer().get_task(is(json!({"taskId": id}))).await?;
            let task = serde_json::to_value(task)?;
            statuses.push(task["status"].clone());
            match task["status"].as_str() {
                Some("input_required") => {
                    let mut responses = json!({});
                    for (key, request) in task["inputRequests"].as_object().into_iter().flatten() {
                        responses[key] = answer(request);
                    }
                    let update = json!({"taskId": id, "inputResponses": responses});
                    self.client.peer().update_task(is(update)).await?;
                }
                Some("completed") => {
                    let mut result = task["result"].clone();
                    result["statuses"] = statuses.into();
                    return Ok(result);
                }
                Some("cancelled" | "failed") => {
                    return Ok(json!({"status": task["status"], "error": task["error"]}))
                }
                _ => {}
            }
            let pause = task["pollIntervalMs"].as_u64().unwrap_or(50);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }
}

async fn next(heard: &mut UnboundedReceiver<Value>) -> Result<Value, Failure> {
    let news = tokio::time::timeout(PATIENCE, heard.recv()).await?;
    news.ok_or_else(|| "nothing more is to be heard".into())
}

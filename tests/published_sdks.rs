//! Tool processes written with the SDKs as they are published, unmodified: Python 0.3.0 and 0.3.1,
//! Rust 0.3.1. `tests/environments.sh` makes what they need.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::host::Host;
use crate::support::pmcp::Setup;
use crate::support::{environment, eventually};

/// One SDK: what is started, and with which runtime.
struct Sdk {
    version: &'static str,
    file: PathBuf,
    runtime: Option<PathBuf>,
}

impl Sdk {
    fn host(&self, dir: &Arc<Dir>) -> Host {
        let mut setup = Setup::run(dir).arg(&self.file);
        if let Some(python) = &self.runtime {
            setup = setup.env("PROTOMCP_PYTHON", python).env("PYTHONDONTWRITEBYTECODE", "1");
        }
        setup.host()
    }
}

/// The Python SDKs that are there; what is not is said.
fn pythons() -> Vec<Sdk> {
    ["0.3.0", "0.3.1"].into_iter().filter_map(python).collect()
}

fn python(version: &'static str) -> Option<Sdk> {
    let runtime = environment::file(&format!("protomcp-{version}/bin/python"))?;
    Some(Sdk { version, file: environment::source("published/everything.py"), runtime: Some(runtime) })
}

fn rust() -> Option<Sdk> {
    let file = environment::file("rust-sdk/tool")?;
    Some(Sdk { version: "rust", file, runtime: None })
}

fn all() -> Vec<Sdk> {
    pythons().into_iter().chain(rust()).collect()
}

/// Runs a test with each of these SDKs.
fn with_each(sdks: Vec<Sdk>, test: impl Fn(&Sdk, &mut Host, &Arc<Dir>)) {
    for sdk in sdks {
        let dir = Arc::new(Dir::new());
        let mut host = sdk.host(&dir);
        host.initialize();
        test(&sdk, &mut host, &dir);
        host.end();
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn tools_are_listed_and_called() {
    with_each(all(), |sdk, host, _| {
        let list = host.ask("tools/list", Value::Null);
        let add = list["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "add").unwrap();
        assert_eq!(add["description"], "Adds two numbers");
        assert_eq!(add["inputSchema"]["type"], "object");
        assert_eq!(add["inputSchema"]["properties"]["a"]["type"], "integer");
        assert_eq!(add["annotations"]["readOnlyHint"], true);
        assert_eq!(text(&host.call("add", json!({"a": 2, "b": 3}))), "5", "{}", sdk.version);
        let odd = "✓ řemeslník 漢字 \" \\ \n";
        assert_eq!(text(&host.call("echo", json!({"text": odd}))), odd, "{}", sdk.version);
        let error = host.ask_for_error("tools/call", json!({"name": "no such"}));
        assert_eq!(error["code"], -32602);
    });
}

#[test]
fn errors_keep_all_that_they_say() {
    with_each(all(), |_, host, _| {
        let result = host.call("fail", json!({}));
        assert_eq!(result["isError"], true);
        let content = result["content"].to_string();
        for part in ["NOT_FOUND", "There is no user 7", "List the users first"] {
            assert!(content.contains(part), "{part} is missing: {content}");
        }
        assert_eq!(
            result["_meta"]["protomcp/error"],
            json!({
                "code": "NOT_FOUND",
                "message": "There is no user 7",
                "suggestion": "List the users first",
                "retryable": true,
            })
        );
    });
    with_each(pythons(), |_, host, _| {
        let result = host.call("throw", json!({}));
        assert_eq!(result["isError"], true);
        assert_eq!(text(&result), "this is what went wrong");
        // A handler that does not get what it needs.
        assert_eq!(host.call("add", json!({"a": 1}))["isError"], true);
    });
}

#[test]
fn large_results_come_raw_and_compressed() {
    with_each(all(), |sdk, host, _| {
        for size in [1000, 65_536, 70_000, 5_000_000] {
            let result = host.call("big", json!({"size": size}));
            assert_eq!(text(&result).len(), size, "{}", sdk.version);
        }
    });
    with_each(pythons(), |_, host, _| {
        let result = host.call("noise", json!({"size": 400_000}));
        assert_eq!(text(&result).len(), 400_000);
    });
    // Raw without compression.
    for sdk in pythons() {
        let dir = Arc::new(Dir::new());
        let mut host = Setup::run(&dir)
            .arg(&sdk.file)
            .env("PROTOMCP_PYTHON", sdk.runtime.as_ref().unwrap())
            .env("PROTOMCP_COMPRESS_THRESHOLD", "100000000")
            .host();
        host.initialize();
        assert_eq!(text(&host.call("noise", json!({"size": 400_000}))).len(), 400_000);
    }
}

#[test]
fn progress_and_logs_arrive_before_the_answer() {
    with_each(pythons(), |sdk, host, _| {
        let params = json!({
            "name": "steps",
            "arguments": {"count": 3},
            "_meta": {"progressToken": 0},
        });
        let id = host.request("tools/call", params);
        let messages = host.until_answer(id);
        let progress: Vec<&Value> = messages
            .iter()
            .filter(|message| message.method() == "notifications/progress")
            .map(|message| &message.json["params"])
            .collect();
        assert_eq!(progress.len(), 3, "{}", sdk.version);
        assert_eq!(progress[1], &json!({"progressToken": 0, "progress": 2, "total": 3, "message": "step 2"}));
        assert_eq!(text(&host.call("steps", json!({"count": 2}))), "2 steps", "without a token");

        host.ask("logging/setLevel", json!({"level": "info"}));
        let id = host.begin_call("logs", json!({}));
        let heard: Vec<Value> = host
            .until_answer(id)
            .iter()
            .filter(|message| message.method() == "notifications/message")
            .map(|message| message.json["params"].clone())
            .collect();
        let levels: Vec<&Value> = heard.iter().map(|params| &params["level"]).collect();
        assert_eq!(levels, ["info", "warning", "error"], "{heard:?}");
        assert_eq!(heard[0]["data"], json!({"number": 1}));
        assert_eq!(heard[1]["data"], json!({"message": "careful"}));
    });
}

#[test]
fn hidden_tools_appear_when_a_result_says_so() {
    with_each(pythons(), |_, host, _| {
        let names = |host: &mut Host| -> Vec<String> {
            let list = host.ask("tools/list", Value::Null);
            list["tools"]
                .as_array()
                .unwrap()
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_string())
                .collect()
        };
        // The hiding follows the handshake; the process has done it once it answers a call.
        host.call("add", json!({"a": 1, "b": 1}));
        let first = names(host);
        assert!(first.contains(&"before".to_string()) && !first.contains(&"after".to_string()), "{first:?}");
        assert_eq!(host.ask_for_error("tools/call", json!({"name": "after"}))["code"], -32602);
        assert_eq!(text(&host.call("swap", json!({}))), "swapped");
        host.notification("notifications/tools/list_changed");
        let then = names(host);
        assert!(!then.contains(&"before".to_string()) && then.contains(&"after".to_string()), "{then:?}");
        assert_eq!(text(&host.call("after", json!({}))), "after");
        assert_eq!(host.ask_for_error("tools/call", json!({"name": "before"}))["code"], -32602);
    });
    with_each(rust().into_iter().collect(), |_, host, _| {
        host.ask("tools/list", Value::Null);
        host.call("swap", json!({}));
        host.notification("notifications/tools/list_changed");
    });
}

#[test]
fn the_tool_manager_gets_its_answer() {
    // Version 0.3.1 reads the socket from two threads at once, so there the answer can go astray
    // whatever the bridge does.
    with_each(python("0.3.0").into_iter().collect(), |_, host, _| {
        host.ask("tools/list", Value::Null);
        let id = host.begin_call("manage", json!({"name": "after"}));
        let waiting = host.begin_call("add", json!({"a": 1, "b": 2}));
        let active = host.result_of(id);
        assert!(text(&active).contains("add,after,"), "{active}");
        assert_eq!(text(&host.result_of(waiting)), "3");
        host.notification("notifications/tools/list_changed");
    });
}

#[test]
fn the_middleware_takes_part() {
    with_each(all(), |sdk, host, _| {
        assert_eq!(text(&host.call("guarded", json!({"word": "quiet"}))), "VERY LOUD", "{}", sdk.version);
        let result = host.call("guarded", json!({"word": "forbidden"}));
        assert_eq!(result["isError"], true);
        assert!(text(&result).contains("that word is forbidden"), "{result}");
        assert_eq!(text(&host.call("guarded", json!({"word": "plain"}))), "plain");
    });
}

#[test]
fn resources_are_listed_and_read() {
    with_each(all(), |sdk, host, _| {
        let list = host.ask("resources/list", Value::Null);
        assert_eq!(list["resources"][0]["uri"], "test://static", "{}", sdk.version);
        assert_eq!(list["resources"][0]["mimeType"], "text/plain");
        let list = host.ask("resources/templates/list", Value::Null);
        assert_eq!(list["resourceTemplates"][0]["uriTemplate"], "note://{id}");
        let read = host.ask("resources/read", json!({"uri": "test://static"}));
        assert_eq!(
            read["contents"],
            json!([{"uri": "test://static", "mimeType": "text/plain", "text": "static text"}])
        );
        let read = host.ask("resources/read", json!({"uri": "note://17"}));
        assert_eq!(read["contents"][0]["text"], "note 17");
    });
    with_each(pythons(), |_, host, _| {
        let read = host.ask("resources/read", json!({"uri": "test://binary"}));
        assert_eq!(read["contents"][0]["blob"], "AAH+/w==");
        assert!(read["contents"][0].get("text").is_none());
        let error = host.ask_for_error("resources/read", json!({"uri": "test://no/such"}));
        assert_eq!(error["code"], -32002);
        assert_eq!(error["data"], json!({"uri": "test://no/such"}));
    });
}

#[test]
fn prompts_are_listed_made_and_completed() {
    with_each(all(), |sdk, host, _| {
        let list = host.ask("prompts/list", Value::Null);
        assert_eq!(list["prompts"][0]["name"], "greet");
        assert_eq!(list["prompts"][0]["arguments"][0]["required"], true);
        let prompt = host.ask("prompts/get", json!({"name": "greet", "arguments": {"name": "Ada"}}));
        let first = prompt["messages"][0]["content"]["text"].as_str().unwrap();
        assert!(first.starts_with("Greet Ada"), "{}: {prompt}", sdk.version);
        let error = host.ask_for_error("prompts/get", json!({"name": "greet"}));
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains("name"), "{error}");
    });
    with_each(pythons(), |_, host, _| {
        let error = host.ask_for_error("prompts/get", json!({"name": "no such"}));
        assert_eq!(error["code"], -32602);
        let completion = |host: &mut Host, value: &str| {
            let params = json!({
                "ref": {"type": "ref/prompt", "name": "greet"},
                "argument": {"name": "tone", "value": value},
            });
            host.ask("completion/complete", params)["completion"].clone()
        };
        let found = completion(host, "tone14");
        assert_eq!(found["values"].as_array().unwrap().len(), 11);
        assert_eq!(found["total"], 11);
        let found = completion(host, "");
        assert_eq!(found["values"].as_array().unwrap().len(), 100);
        assert_eq!(found["total"], 150);
        assert_eq!(found["hasMore"], true);
    });
}

#[test]
fn the_hosts_model_is_asked() {
    with_each(python("0.3.1").into_iter().collect(), |_, host, _| {
        let id = host.begin_call("ask", json!({"question": "why?"}));
        let (question, params) = host.question("sampling/createMessage");
        assert_eq!(
            params["messages"],
            json!([{"role": "user", "content": {"type": "text", "text": "why?"}}])
        );
        assert_eq!(params["maxTokens"], 5);
        assert_eq!(params["systemPrompt"], "short");
        host.respond(
            &question,
            json!({"role": "assistant", "content": {"type": "text", "text": "because"}, "model": "m"}),
        );
        assert_eq!(text(&host.result_of(id)), "because");
    });
    // A host that has no model to ask.
    if let Some(sdk) = python("0.3.1") {
        let dir = Arc::new(Dir::new());
        let mut host = sdk.host(&dir);
        host.initialize_as("2025-11-25", json!({}));
        let result = host.call("ask", json!({"question": "why?"}));
        assert!(text(&result).contains("sampling"), "{result}");
    }
}

#[test]
fn a_cancelled_call_stops_and_the_next_one_works() {
    with_each(python("0.3.1").into_iter().collect(), |_, host, dir| {
        let path = dir.join("wait");
        let begun = dir.join("wait.begun");
        let id = host.begin_call("wait", json!({"path": path}));
        eventually("the call has begun", || begun.exists());
        host.notify("notifications/cancelled", json!({"requestId": id}));
        assert_eq!(text(&host.call("add", json!({"a": 1, "b": 2}))), "3");
        assert!(dir.join("wait.cancelled").exists());
        assert!(host.rest().is_empty(), "the cancelled one has no answer");
    });
}

#[test]
fn what_the_file_prints_is_seen_and_does_no_harm() {
    with_each(pythons(), |_, host, _| {
        assert_eq!(text(&host.call("chatter", json!({}))), "said");
        for line in ["a stray print", "a stray write", "a complaint"] {
            host.stderr_says(line);
        }
    });
}

#[test]
fn a_crash_is_said_and_survived() {
    with_each(pythons(), |_, host, _| {
        let result = host.call("crash", json!({"status": 3}));
        assert_eq!(result["isError"], true);
        let said = text(&result);
        assert!(said.contains('3') && said.contains("the last words"), "{said}");
        assert_eq!(text(&host.call("add", json!({"a": 1, "b": 2}))), "3");
    });
}

#[test]
fn a_broken_file_is_an_error_that_says_where() {
    for sdk in pythons() {
        for (source, words) in [
            ("import protomcp\ndef (:\n", ["SyntaxError", "line 2"]),
            ("import no_such_module_at_all\n", ["ModuleNotFoundError", "no_such_module_at_all"]),
            ("from protomcp import tool\n@tool('a')\ndef a() -> str: return 'a'\n", ["status 0", "connect"]),
        ] {
            let dir = Arc::new(Dir::new());
            let file = dir.write("broken.py", source);
            let broken = Sdk { file, version: sdk.version, runtime: sdk.runtime.clone() };
            let mut host = broken.host(&dir);
            host.initialize();
            let result = host.call("a", json!({}));
            assert_eq!(result["isError"], true);
            for word in words {
                assert!(text(&result).contains(word), "{word}: {result}");
            }
            assert_eq!(host.ask("tools/list", Value::Null), json!({"tools": []}));
            host.end();
        }
    }
}

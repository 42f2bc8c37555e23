//! The official clients connect over stdio, use what there is, and are content. Each runs a script
//! of its own language (`tests/clients`) that prints what it saw.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::pmcp::{binary, example};
use crate::support::{environment, eventually, process};

/// A client, its mode, its interpreter and its script.
type Client = (&'static str, &'static str, PathBuf, PathBuf);

/// The clients of the handshake era that are there; what is not is said.
fn clients() -> Vec<Client> {
    let mut clients = python("legacy");
    if let Some(script) = environment::file("client-node/host.mjs") {
        clients.push(("TypeScript", "", "node".into(), script));
    }
    clients
}

/// The Python client in one of its modes; the empty one is what it does by itself.
fn python(mode: &'static str) -> Vec<Client> {
    let python = environment::file("client-python/bin/python");
    python
        .map(|python| ("Python", mode, python, environment::source("clients/host.py")))
        .into_iter()
        .collect()
}

/// Has each client serve itself from this tool process by this script; what each saw.
fn each_sees(clients: Vec<Client>, tool: &[&str], script: Value, check: impl Fn(&str, Value)) {
    for (name, mode, interpreter, file) in clients {
        let dir = Arc::new(Dir::new());
        let mut child = Command::new(interpreter)
            .arg(file)
            .arg(binary())
            .args(tool)
            .env("SCRIPT", script.to_string())
            .env("MODE", mode)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .current_dir(dir.path())
            .spawn()
            .unwrap();
        let mut errors = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        let status = child.wait().unwrap();
        let stderr = stderr.join().unwrap();
        assert!(status.success(), "{name}: {status}\n{output}\n{stderr}");
        let seen = serde_json::from_str(&output)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{output}\n{stderr}"));
        check(name, seen);
    }
}

fn answer<'a>(name: &str, seen: &'a Value, index: usize) -> &'a Value {
    let answer = &seen["answers"][index];
    assert!(answer.get("error").is_none(), "{name}, step {index}: {answer}");
    &answer["result"]
}

#[test]
fn they_are_content_with_the_sdk_of_this_tree() {
    let tool = example("tool-everything");
    let call = |name: &str, arguments: Value| json!({"do": "call", "params": {"name": name, "arguments": arguments}});
    let script = json!([
        call("echo", json!({"text": "✓ 漢字"})),
        call("log", json!({"level": "warning", "text": "careful"})),
        call("fail", json!({})),
        call("structured", json!({})),
        call("image", json!({})),
        call("audio", json!({})),
        call("link", json!({})),
        call("embedded", json!({})),
    ]);
    each_sees(clients(), &["run", tool.to_str().unwrap()], script, |name, seen| {
        assert_eq!(seen["server"]["name"], "tool-everything", "{name}");
        assert_eq!(seen["capabilities"]["tools"]["listChanged"], true);
        assert!(seen["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "echo"));
        assert_eq!(answer(name, &seen, 0)["content"][0]["text"], "✓ 漢字", "{name}");
        assert!(
            seen["logs"].as_array().unwrap().iter().any(|log| log[0] == "warning"),
            "{name}: {}",
            seen["logs"]
        );
        assert_eq!(answer(name, &seen, 2)["isError"], true, "{name}");
        // The clients check it against the schema that was listed.
        let structured = &answer(name, &seen, 3)["structuredContent"];
        assert_eq!(structured, &json!({"name": "Ada", "age": 36}), "{name}");
        for (index, kind) in [(4, "image"), (5, "audio"), (6, "resource_link"), (7, "resource")] {
            assert_eq!(answer(name, &seen, index)["content"][0]["type"], kind, "{name}");
        }
        assert_eq!(seen.get("errors").unwrap_or(&json!([])), &json!([]), "{name}");
    });
}

#[test]
fn they_are_content_with_a_published_sdk() {
    let Some(python) = environment::file("protomcp-0.3.1/bin/python") else { return };
    let tool = environment::source("published/everything.py");
    let script = json!([
        {"do": "call", "params": {"name": "add", "arguments": {"a": 2, "b": 3}}},
        {"do": "call", "progress": true, "params": {"name": "steps", "arguments": {"count": 2}}},
        {"do": "call", "params": {"name": "logs", "arguments": {}}},
        {"do": "call", "params": {"name": "ask", "arguments": {"question": "why?"}}},
        {"do": "call", "params": {"name": "big", "arguments": {"size": 300_000}}},
        {"do": "call", "params": {"name": "swap", "arguments": {}}},
        {"do": "tools"},
        {"do": "read", "params": {"uri": "test://static"}},
        {"do": "read", "params": {"uri": "test://no/such"}},
        {"do": "subscribe", "params": {"uri": "test://static"}},
        {"do": "prompt", "params": {"name": "greet", "arguments": {"name": "Ada"}}},
        {"do": "complete", "params": {
            "ref": {"type": "ref/prompt", "name": "greet"},
            "argument": {"name": "tone", "value": "tone14"},
        }},
        {"do": "call", "params": {"name": "fail", "arguments": {}}},
    ]);
    let runtime = python.to_str().unwrap();
    each_sees(clients(), &["run", "--runtime", runtime, tool.to_str().unwrap()], script, |name, seen| {
        assert_eq!(seen["resources"], json!(["test://static", "test://binary"]), "{name}");
        assert_eq!(seen["templates"], json!(["note://{id}"]));
        assert_eq!(seen["prompts"], json!(["greet"]));
        assert_eq!(answer(name, &seen, 0)["content"][0]["text"], "5");
        let progress = seen["answers"][1]["progress"].as_array().unwrap();
        assert_eq!(progress.len(), 2, "{name}");
        assert_eq!(progress[1]["progress"].as_f64(), Some(2.0));
        assert_eq!(progress[1]["message"], "step 2");
        let levels: Vec<&Value> = seen["logs"].as_array().unwrap().iter().map(|log| &log[0]).collect();
        assert_eq!(levels, ["debug", "info", "warning", "error"], "{name}");
        assert_eq!(answer(name, &seen, 3)["content"][0]["text"], "you said why?", "{name}");
        assert_eq!(answer(name, &seen, 4)["content"][0]["text"].as_str().unwrap().len(), 300_000);
        let names = answer(name, &seen, 6)["tools"].to_string();
        assert!(names.contains("\"after\"") && !names.contains("\"before\""), "{name}: {names}");
        assert_eq!(answer(name, &seen, 7)["contents"][0]["text"], "static text");
        assert_eq!(seen["answers"][8]["error"]["code"], -32002, "{name}");
        assert!(answer(name, &seen, 9).is_object());
        let prompt = answer(name, &seen, 10);
        assert_eq!(prompt["messages"][0]["content"]["text"], "Greet Ada, warm");
        let values = &answer(name, &seen, 11)["completion"]["values"];
        assert_eq!(values.as_array().unwrap().len(), 11, "{name}");
        assert_eq!(answer(name, &seen, 12)["isError"], true);
        if name == "TypeScript" {
            assert_eq!(seen["listChanged"], 1);
        } else {
            let messages = seen["messages"].to_string();
            assert!(messages.contains("ToolListChanged"), "{messages}");
        }
        assert_eq!(seen.get("errors").unwrap_or(&json!([])), &json!([]), "{name}");
    });
    let marked = |pid: &u32| process::describe(*pid).contains("published/everything.py");
    eventually("nothing is left", || {
        let all: Vec<u32> = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        // Other tests run the same file at the same time; only those count that have no parent.
        !all.iter().filter(|pid| marked(pid)).any(|pid| process::status(*pid, "PPid").as_deref() == Some("1"))
    });
}

#[test]
fn the_modern_era_is_theirs_without_a_handshake() {
    let tool = example("tool-everything");
    let call = |name: &str, arguments: Value| json!({"do": "call", "params": {"name": name, "arguments": arguments}});
    let script = json!([
        call("echo", json!({"text": "✓ 漢字"})),
        call("fail", json!({})),
        call("structured", json!({})),
        call("image", json!({})),
        {"do": "call", "params": {"name": "progress", "arguments": {"steps": 3}}, "progress": true},
        {"do": "read", "params": {"uri": "text://greeting"}},
        {"do": "read", "params": {"uri": "text://nowhere"}},
    ]);
    for mode in ["", "2026-07-28"] {
        each_sees(python(mode), &["run", tool.to_str().unwrap()], script.clone(), |name, seen| {
            if mode.is_empty() {
                assert_eq!(seen["server"]["name"], "tool-everything", "it begins with server/discover");
            }
            assert!(seen["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "echo"));
            assert_eq!(answer(name, &seen, 0)["content"][0]["text"], "✓ 漢字");
            assert_eq!(answer(name, &seen, 0)["resultType"], "complete", "it was no handshake: {seen}");
            assert_eq!(answer(name, &seen, 1)["isError"], true);
            assert!(!answer(name, &seen, 2)["structuredContent"].is_null());
            assert_eq!(answer(name, &seen, 3)["content"][0]["type"], "image");
            assert_eq!(seen["answers"][4]["progress"].as_array().unwrap().len(), 3);
            assert!(answer(name, &seen, 5)["contents"][0]["text"].is_string());
            assert_eq!(seen["answers"][6]["error"]["code"], -32602);
        });
    }
}

//! The official clients connect over stdio and over HTTP in each of their ways, use what there is, and
//! are content.
//! One scenario serves all: each has a program in its own language (`tests/clients`) that carries out
//! the steps and prints what came of each.

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::pmcp::{binary, example};
use crate::support::web::Web;
use crate::support::{environment, eventually, process};

const HANDSHAKE: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// A client's program.
struct Client {
    name: &'static str,
    program: PathBuf,
    script: Option<PathBuf>,
}

impl Client {
    /// The official Python client.
    fn python() -> Option<Client> {
        let program = environment::file("client-python/bin/python")?;
        Some(Client { name: "Python", program, script: Some(environment::source("clients/host.py")) })
    }

    fn fastmcp() -> Option<Client> {
        let program = environment::file("client-python/bin/python")?;
        Some(Client {
            name: "FastMCP",
            program,
            script: Some(environment::source("clients/fastmcp_host.py")),
        })
    }

    /// The official TypeScript client of the handshake era.
    fn typescript_sdk() -> Option<Client> {
        let script = environment::file("client-node/sdk_host.mjs")?;
        Some(Client { name: "TypeScript SDK 1", program: "node".into(), script: Some(script) })
    }

    /// The official TypeScript client of both eras.
    fn typescript() -> Option<Client> {
        let script = environment::file("client-node/client_host.mjs")?;
        Some(Client { name: "TypeScript 2", program: "node".into(), script: Some(script) })
    }

    /// The official Rust client.
    fn rust() -> Option<Client> {
        let program = environment::file("client-rust/host")?;
        Some(Client { name: "Rust", program, script: None })
    }

    /// Carries out the steps with this tool process; the lines that it printed.
    fn run(&self, mode: &str, tool: &[&str], steps: &[Value]) -> Vec<Value> {
        let mut to: Vec<OsString> = Vec::new();
        if std::env::var_os("PMCP_TRANSCRIPTS").is_some() {
            to.push(example("recorder").into());
        }
        to.push(binary().into());
        to.extend(tool.iter().map(OsString::from));
        self.connect(mode, &to, steps)
    }

    /// Carries out the steps with what this command line or URL names.
    fn connect(&self, mode: &str, to: &[OsString], steps: &[Value]) -> Vec<Value> {
        let name = format!("{} {mode}", self.name);
        let dir = Arc::new(Dir::new());
        let mut command = Command::new(&self.program);
        command.args(&self.script);
        let mut child = command
            .args(to)
            .env("SCRIPT", Value::from(steps).to_string())
            .env("MODE", mode)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONWARNINGS", "ignore")
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
        let lines: Vec<Value> = output
            .lines()
            .map(|line| {
                serde_json::from_str(line)
                    .unwrap_or_else(|error| panic!("{name}: {error}\n{output}\n{stderr}"))
            })
            .collect();
        assert_eq!(lines.len(), 1 + steps.len(), "{name}: a line for each step\n{output}\n{stderr}");
        lines
    }

    /// Goes through steps over stdio and compares.
    fn is_content(&self, mode: &str, revision: &str, steps: Vec<(Value, Seen)>) {
        let tool = example("tool-everything");
        let (steps, expected): (Vec<Value>, Vec<Seen>) = steps.into_iter().unzip();
        let lines = self.run(mode, &["run", tool.to_str().unwrap()], &steps);
        self.compare(mode, revision, &steps, &expected, &lines);
    }

    /// The same over HTTP, with a server of its own.
    fn is_content_over_http(&self, mode: &str, revision: &str, steps: Vec<(Value, Seen)>) {
        let dir = Arc::new(Dir::new());
        let server = Web::start(&dir, &example("tool-everything"), &[]);
        let url = format!("http://{}/mcp", server.address);
        let (steps, expected): (Vec<Value>, Vec<Seen>) = steps.into_iter().unzip();
        let lines = self.connect(mode, &[url.into()], &steps);
        self.compare(mode, revision, &steps, &expected, &lines);
    }

    fn compare(&self, mode: &str, revision: &str, steps: &[Value], expected: &[Seen], lines: &[Value]) {
        assert_eq!(lines[0]["revision"], revision, "{} {mode}", self.name);
        for ((step, expected), seen) in steps.iter().zip(expected).zip(&lines[1..]) {
            let holds = match expected {
                Seen::Like(expected) => is_like(seen, expected),
                Seen::Error(code) => self.is_error(seen, *code),
                Seen::Tool(name) => {
                    seen["tools"].as_array().is_some_and(|tools| tools.contains(&json!(name)))
                }
                // These clients look at notifications later than at the answer behind them, and
                // then no longer know what they are about: some at the end may be lost.
                Seen::Progress(all) if self.name.starts_with("TypeScript") => {
                    let some = seen["progress"].as_array().map_or(&[][..], Vec::as_slice);
                    let all = all.as_array().unwrap();
                    some.len() <= all.len() && is_like(&some.into(), &all[..some.len()].into())
                }
                Seen::Progress(all) => is_like(&seen["progress"], all),
                Seen::Cancelled => seen["cancelled"].as_str().is_some_and(|how| !how.is_empty()),
                Seen::NoErrors => seen["errors"].as_array().is_some_and(|errors| {
                    errors
                        .iter()
                        .all(|error| error.to_string().contains("progress notification for an unknown token"))
                }),
            };
            assert!(holds, "{} {mode}: {step}\nexpected: {expected:?}\nseen: {seen}", self.name);
        }
    }

    /// Whether this is an error of the code. One client tells all resources that are not there by the
    /// newest revision's code.
    fn is_error(&self, seen: &Value, code: i64) -> bool {
        let is_translated = self.name == "TypeScript 2" && code == -32002;
        seen["error"]["code"] == if is_translated { -32602 } else { code }
    }
}

/// What a step shall print.
#[derive(Debug)]
enum Seen {
    /// At least this.
    Like(Value),
    /// An error of this code.
    Error(i64),
    /// A list with this tool in it.
    Tool(&'static str),
    /// The progress of a call.
    Progress(Value),
    /// How a cancelled call ended.
    Cancelled,
    /// Nothing that the client could not make sense of.
    NoErrors,
}

/// Whether all that is expected is there.
fn is_like(seen: &Value, expected: &Value) -> bool {
    match (seen, expected) {
        (Value::Object(seen), Value::Object(expected)) => {
            expected.iter().all(|(name, value)| seen.get(name).is_some_and(|seen| is_like(seen, value)))
        }
        (Value::Array(seen), Value::Array(expected)) => {
            seen.len() == expected.len()
                && seen.iter().zip(expected).all(|(seen, expected)| is_like(seen, expected))
        }
        (Value::Number(seen), Value::Number(expected)) => seen.as_f64() == expected.as_f64(),
        _ => seen == expected,
    }
}

/// The steps, and what they shall print.
fn scenario(revision: &str) -> Vec<(Value, Seen)> {
    let call = |tool: &str, arguments: Value| json!({"do": "call", "tool": tool, "arguments": arguments});
    let text = |text: &str| Seen::Like(json!({"content": [{"type": "text", "text": text}]}));
    let greeting = json!({"uri": "text://greeting"});
    let person = json!({"name": "Ada", "age": 36});
    let no_resource = if revision == MODERN { -32602 } else { -32002 };
    let mut steps = vec![
        (json!({"do": "list"}), Seen::Tool("echo")),
        (
            json!({"do": "list"}),
            Seen::Like(json!({
                "resources": ["text://greeting", "blob://pixel"],
                "templates": ["note://{id}"],
                "prompts": ["hello", "review"],
            })),
        ),
        (call("echo", json!({"text": "✓ 漢字"})), text("✓ 漢字")),
        // The clients check it against the schema that was listed.
        (call("structured", json!({})), Seen::Like(json!({"structuredContent": person}))),
        (call("fail", json!({})), Seen::Like(json!({"isError": true}))),
        (call("no-such-tool", json!({})), Seen::Error(-32602)),
        (
            json!({"do": "call", "tool": "progress", "arguments": {"steps": 3}, "progress": 3}),
            Seen::Progress(json!([[1.0, 3.0, "step 1"], [2.0, 3.0, "step 2"], [3.0, 3.0, "step 3"]])),
        ),
        (
            json!({"do": "read", "uri": "text://greeting"}),
            Seen::Like(json!({"contents": [{"uri": "text://greeting", "text": "Hello!"}]})),
        ),
        (json!({"do": "read", "uri": "text://nowhere"}), Seen::Error(no_resource)),
        (
            json!({"do": "prompt", "name": "review", "arguments": {"code": "1+1", "language": "Rust"}}),
            Seen::Like(json!({"messages": [
                {"role": "user", "content": {"text": "Review this Rust code:\n1+1"}},
                {"role": "assistant", "content": {"text": "Gladly."}},
            ]})),
        ),
        (json!({"do": "prompt", "name": "no-such-prompt", "arguments": {}}), Seen::Error(-32602)),
        (
            json!({"do": "complete", "prompt": "review", "argument": "language", "value": "P"}),
            Seen::Like(json!({"values": ["Python"]})),
        ),
        (call("log", json!({"level": "warning", "text": "careful"})), Seen::Like(json!({}))),
        (json!({"do": "logs"}), Seen::Like(json!({"logs": [["warning", "careful"]]}))),
    ];
    for (tool, kind) in
        [("image", "image"), ("audio", "audio"), ("link", "resource_link"), ("embedded", "resource")]
    {
        steps.push((call(tool, json!({})), Seen::Like(json!({"content": [{"type": kind}]}))));
    }
    steps.extend([
        (call("sample", json!({"prompt": "why?"})), text("a-model: you said why?")),
        (call("roots", json!({})), text("file:///home/ada\nfile:///srv")),
        (call("order", json!({"message": "How many?"})), text("2 copies for Ada")),
        (call("order", json!({"message": "Please decline."})), text("nothing was ordered")),
        // Three questions one after the other: in the modern era four requests.
        (call("interview", json!({})), text("Ada; you said I am Ada; 2 roots")),
        (json!({"do": "watch", "uri": "text://greeting"}), Seen::Like(json!({}))),
        (call("touch", greeting), Seen::Like(json!({}))),
        (json!({"do": "heard", "kind": "updated"}), Seen::Like(json!({"heard": "text://greeting"}))),
        (call("unlock", json!({})), text("unlocked")),
        (json!({"do": "heard", "kind": "tools"}), Seen::Like(json!({"heard": null}))),
        (json!({"do": "list"}), Seen::Tool("secret")),
        (json!({"do": "cancel", "tool": "linger", "arguments": {}}), Seen::Cancelled),
        (call("lingered", json!({"count": 1})), text("1")),
        (json!({"do": "errors"}), Seen::NoErrors),
    ]);
    steps
}

#[test]
fn python() {
    let Some(client) = Client::python() else { return };
    client.is_content("legacy", HANDSHAKE, scenario(HANDSHAKE));
    // By itself it asks what there is before anything else.
    client.is_content("", MODERN, scenario(MODERN));
    client.is_content("2026-07-28", MODERN, scenario(MODERN));
}

#[test]
fn fastmcp() {
    let Some(client) = Client::fastmcp() else { return };
    client.is_content("legacy", HANDSHAKE, scenario(HANDSHAKE));
    client.is_content("", MODERN, scenario(MODERN));
}

#[test]
fn typescript_sdk() {
    let Some(client) = Client::typescript_sdk() else { return };
    client.is_content("", HANDSHAKE, scenario(HANDSHAKE));
}

#[test]
fn typescript() {
    let Some(client) = Client::typescript() else { return };
    client.is_content("", HANDSHAKE, scenario(HANDSHAKE));
    // It asks a process of its own what there is, and goes on with another.
    client.is_content("auto", MODERN, scenario(MODERN));
    client.is_content("2026-07-28", MODERN, scenario(MODERN));
}

#[test]
fn rust() {
    let Some(client) = Client::rust() else { return };
    // By itself it shakes hands for a revision that has no handshake.
    client.is_content("", HANDSHAKE, scenario(HANDSHAKE));
    client.is_content("discover", MODERN, scenario(MODERN));
    client.is_content("auto", MODERN, scenario(MODERN));
}

#[test]
fn python_over_http() {
    let Some(client) = Client::python() else { return };
    client.is_content_over_http("legacy", HANDSHAKE, scenario(HANDSHAKE));
    client.is_content_over_http("", MODERN, scenario(MODERN));
    client.is_content_over_http("2026-07-28", MODERN, scenario(MODERN));
}

#[test]
fn fastmcp_over_http() {
    let Some(client) = Client::fastmcp() else { return };
    client.is_content_over_http("legacy", HANDSHAKE, scenario(HANDSHAKE));
    client.is_content_over_http("", MODERN, scenario(MODERN));
}

#[test]
fn typescript_sdk_over_http() {
    let Some(client) = Client::typescript_sdk() else { return };
    client.is_content_over_http("", HANDSHAKE, scenario(HANDSHAKE));
    client.is_content_over_http("", HANDSHAKE, tasks());
}

#[test]
fn typescript_over_http() {
    let Some(client) = Client::typescript() else { return };
    client.is_content_over_http("", HANDSHAKE, scenario(HANDSHAKE));
    client.is_content_over_http("auto", MODERN, scenario(MODERN));
    client.is_content_over_http("2026-07-28", MODERN, scenario(MODERN));
    client.is_content_over_http("auto", MODERN, tasks());
}

#[test]
fn rust_over_http() {
    let Some(client) = Client::rust() else { return };
    client.is_content_over_http("", HANDSHAKE, scenario(HANDSHAKE));
    client.is_content_over_http("discover", MODERN, scenario(MODERN));
    client.is_content_over_http("auto", MODERN, scenario(MODERN));
}

/// Calls that run as tasks, where the client knows such: to the end, with a question on the way, and
/// cancelled.
fn tasks() -> Vec<(Value, Seen)> {
    let task = |tool: &str| json!({"do": "task", "tool": tool});
    let text = |text: &str| Seen::Like(json!({"content": [{"type": "text", "text": text}]}));
    vec![
        (json!({"do": "list"}), Seen::Tool("job")),
        (json!({"do": "task", "tool": "job", "arguments": {"steps": 3}}), text("3 steps")),
        (task("commission"), text("2 copies for Ada")),
        (task("task_only"), text("done")),
        (
            json!({"do": "task", "tool": "endless", "cancel": true}),
            Seen::Like(json!({"status": "cancelled"})),
        ),
        (json!({"do": "call", "tool": "lingered", "arguments": {"count": 1}}), text("1")),
        (json!({"do": "errors"}), Seen::NoErrors),
    ]
}

#[test]
fn tasks_are_theirs_as_well() {
    let clients = [
        (Client::typescript_sdk(), "", HANDSHAKE),
        (Client::typescript(), "", HANDSHAKE),
        (Client::typescript(), "auto", MODERN),
        (Client::rust(), "discover", MODERN),
    ];
    for (client, mode, revision) in clients {
        let Some(client) = client else { continue };
        client.is_content(mode, revision, tasks());
    }
    // Others call the same tools and wait, but for the one that nobody should wait for.
    for (mode, revision, code) in [("legacy", HANDSHAKE, -32601), ("", MODERN, -32021)] {
        let Some(client) = Client::python() else { continue };
        let steps = vec![
            (
                json!({"do": "call", "tool": "job", "arguments": {"steps": 2}, "progress": 2}),
                Seen::Progress(json!([[1.0, 2.0, "step 1"], [2.0, 2.0, "step 2"]])),
            ),
            (
                json!({"do": "call", "tool": "commission"}),
                Seen::Like(json!({"content": [{"type": "text", "text": "2 copies for Ada"}]})),
            ),
            (json!({"do": "call", "tool": "task_only"}), Seen::Error(code)),
        ];
        client.is_content(mode, revision, steps);
    }
}

#[test]
fn they_are_content_with_a_published_sdk() {
    let Some(python) = environment::file("protomcp-0.3.1/bin/python") else { return };
    let tool = environment::source("published/everything.py");
    let call = |tool: &str, arguments: Value| json!({"do": "call", "tool": tool, "arguments": arguments});
    let steps = [
        // News of a list is for those who have it.
        json!({"do": "list"}),
        json!({"do": "level", "level": "debug"}),
        call("add", json!({"a": 2, "b": 3})),
        call("logs", json!({})),
        json!({"do": "logs"}),
        call("ask", json!({"question": "why?"})),
        call("big", json!({"size": 300_000})),
        call("swap", json!({})),
        json!({"do": "heard", "kind": "tools"}),
        json!({"do": "list"}),
        json!({"do": "read", "uri": "test://static"}),
        json!({"do": "watch", "uri": "test://static"}),
        json!({"do": "prompt", "name": "greet", "arguments": {"name": "Ada"}}),
        json!({"do": "complete", "prompt": "greet", "argument": "tone", "value": "tone14"}),
        call("fail", json!({})),
    ];
    let tool = ["run", "--runtime", python.to_str().unwrap(), tool.to_str().unwrap()];
    let clients = [(Client::python(), "legacy"), (Client::typescript_sdk(), ""), (Client::rust(), "")];
    for (client, mode) in clients {
        let Some(client) = client else { continue };
        let seen = client.run(mode, &tool, &steps);
        let name = client.name;
        assert_eq!(seen[3]["content"][0]["text"], "5", "{name}");
        let levels: Vec<&Value> = seen[5]["logs"].as_array().unwrap().iter().map(|log| &log[0]).collect();
        assert_eq!(levels, ["debug", "info", "warning", "error"], "{name}");
        assert_eq!(seen[6]["content"][0]["text"], "you said why?", "{name}");
        assert_eq!(seen[7]["content"][0]["text"].as_str().unwrap().len(), 300_000, "{name}");
        let list = &seen[10];
        let names = list["tools"].to_string();
        assert!(names.contains("\"after\"") && !names.contains("\"before\""), "{name}: {names}");
        assert_eq!(list["resources"], json!(["test://static", "test://binary"]), "{name}");
        assert_eq!(list["templates"], json!(["note://{id}"]), "{name}");
        assert_eq!(list["prompts"], json!(["greet"]), "{name}");
        assert_eq!(seen[11]["contents"][0]["text"], "static text", "{name}");
        assert!(seen[12].get("error").is_none(), "{name}");
        assert_eq!(seen[13]["messages"][0]["content"]["text"], "Greet Ada, warm", "{name}");
        assert_eq!(seen[14]["values"].as_array().unwrap().len(), 11, "{name}");
        assert_eq!(seen[15]["isError"], true, "{name}");
    }
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

//! Tool files in Python with the SDK of this tree, behind the real bridge; and the published SDK
//! beside it on the same file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::environment;
use crate::support::host::Host;
use crate::support::pmcp::Setup;

/// The folder that holds the package.
fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/python")
}

/// A Python that the SDK is for, or `None` after it was said that there is none.
#[track_caller]
fn python() -> Option<PathBuf> {
    let fits = |candidate: &str| {
        let check = "import sys; sys.exit(sys.version_info < (3, 9))";
        Command::new(candidate).args(["-c", check]).status().is_ok_and(|status| status.success())
    };
    let found = std::env::var("PYTHON").ok().into_iter().chain(["python3".to_owned()]).find(|it| fits(it));
    if found.is_none() {
        environment::skip("there is no Python from 3.9 up");
    }
    found.map(PathBuf::from)
}

/// The command line for a file of this text.
fn setup(dir: &Arc<Dir>, python: &Path, text: &str) -> Setup {
    let file = dir.write("server.py", text);
    Setup::run(dir)
        .arg(file)
        .env("PROTOMCP_PYTHON", python)
        .env("PYTHONPATH", package())
        .env("PYTHONDONTWRITEBYTECODE", "1")
}

fn host(text: &str) -> Option<Host> {
    let dir = Arc::new(Dir::new());
    let mut host = setup(&dir, &python()?, text).host();
    host.initialize_as("2025-11-25", json!({"sampling": {}, "elicitation": {}, "roots": {}}));
    Some(host)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

const TOOLS: &str = r#"
import asyncio, os, sys, time
from dataclasses import dataclass
from protomcp import *

@tool("Adds", read_only=True, destructive=False)
def add(a: int, b: int = 1) -> int:
    return a + b

@tool("Waits")
def wait(seconds: float) -> str:
    time.sleep(seconds)
    return "waited"

@tool("Waits, too")
async def wait_async(seconds: float) -> str:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        print("interrupted", flush=True)
        raise
    return "waited"

@tool("Waits for its cancellation")
def until_cancelled(ctx: ToolContext) -> str:
    while not ctx.is_cancelled():
        time.sleep(0.001)
    print("flag seen", flush=True)
    return "cancelled"

@dataclass
class City:
    name: str
    people: int = 0

@tool("Finds")
def find(name: str) -> City:
    if name != "Brno":
        raise ToolError(f"there is no city {name}", code="NOT_FOUND", suggestion="try Brno")
    return City(name, 400_000)

@tool("All kinds")
def kinds() -> list:
    return ["a text", Image(b"\x00", "image/png"), Audio(b"\x00"), ResourceLink("test://a", "a"),
            EmbeddedResource("test://b", text="held")]

@tool("A lot")
def big(size: int) -> str:
    return "x" * size

@tool("Fails")
def fail(how: str) -> str:
    if how == "protocol":
        raise ProtocolError("that makes no sense", -32602)
    if how == "crash":
        print("the last words", file=sys.stderr, flush=True)
        os._exit(3)
    print("a stray print", flush=True)
    raise ValueError("it broke")

@tool("Asks")
async def ask(ctx: ToolContext, what: str) -> object:
    if what == "model":
        return (await ctx.sample_async("Why?"))["content"]
    if what == "roots":
        return [root.uri for root in await ctx.roots_async()]
    answer = await ctx.elicit_async("Which?", City)
    return answer.value if answer else answer.action

@tool("Reports")
def report(ctx: ToolContext) -> str:
    ctx.report_progress(1, 2, "half")
    ctx.log.warning("careful")
    resource_changed("test://a")
    return "reported"

@tool("Counts over lives")
def count(ctx: ToolContext) -> str:
    ctx.state["count"] = ctx.state.get("count", 0) + 1
    return f"{ctx.state['count']} in life {generation()}"

@tool("Hidden", hidden=True)
def hidden() -> str:
    return "seen"

@tool("Shows and hides")
def show() -> ToolResult:
    return ToolResult(",".join(tool_manager.enable(["hidden"])), disable_tools=["add"])

@resource("test://a", "A text", mime_type="text/plain")
def a(uri: str) -> str:
    return "text of a"

@resource_template("note://{id}", "A note")
def note(id: str):
    if id == "none":
        raise NotFound("no such note")
    return {"id": id}

@prompt("Greets")
def greet(name: str, tone: str = "warm"):
    return f"Greet {name}, {tone}"

@completion("ref/prompt", "greet", "tone")
def tones(value: str):
    return [tone for tone in ("warm", "cold") if tone.startswith(value)]

@middleware("upper")
def upper(phase, tool_name, args_json, result_json, is_error):
    return {"result_json": result_json.replace("waited", "WAITED")} if phase == "after" else {}
"#;

#[test]
fn what_hosts_see() {
    let Some(mut host) = host(TOOLS) else { return };
    let list = host.ask("tools/list", Value::Null);
    let names: Vec<&str> =
        list["tools"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    assert!(names.contains(&"add") && !names.contains(&"hidden"), "{names:?}");
    let add = &list["tools"][0];
    assert_eq!(add["annotations"], json!({"readOnlyHint": true, "destructiveHint": false}));
    assert_eq!(add["inputSchema"]["properties"]["b"], json!({"type": "integer", "default": 1}));
    assert_eq!(text(&host.call("add", json!({"a": 1, "b": 2}))), "3");
    assert_eq!(text(&host.call("wait", json!({"seconds": 0}))), "WAITED");
    let found = host.call("find", json!({"name": "Brno"}));
    assert_eq!(found["structuredContent"], json!({"name": "Brno", "people": 400_000}));
    assert_eq!(serde_json::from_str::<Value>(text(&found)).unwrap(), found["structuredContent"]);
    let kinds: Vec<Value> = host.call("kinds", json!({}))["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].clone())
        .collect();
    assert_eq!(kinds, ["text", "image", "audio", "resource_link", "resource"]);
    for size in [1000, 300_000, 3_000_000] {
        assert_eq!(text(&host.call("big", json!({"size": size}))).len(), size);
    }
    host.end();
}

#[test]
fn eight_calls_of_a_second_take_about_one() {
    let Some(mut host) = host(TOOLS) else { return };
    // What the first call of a kind sets up is not to be measured.
    host.call("wait_async", json!({"seconds": 0}));
    for name in ["wait", "wait_async"] {
        let begin = Instant::now();
        let ids: Vec<u64> = (0..8).map(|_| host.begin_call(name, json!({"seconds": 1}))).collect();
        for id in ids {
            assert_eq!(text(&host.result_of(id)), "WAITED");
        }
        let took = begin.elapsed();
        assert!(took < Duration::from_millis(2500), "eight seconds of {name} took {took:?}");
    }
    host.end();
}

#[test]
fn failures_are_told_to_all_whom_they_concern() {
    let Some(mut host) = host(TOOLS) else { return };
    let missing = host.call("find", json!({"name": "Atlantis"}));
    assert_eq!(missing["isError"], true);
    assert_eq!(missing["_meta"]["protomcp/error"]["code"], "NOT_FOUND");
    assert!(text(&missing).contains("try Brno"), "{missing}");
    assert!(text(&host.call("add", json!({"a": "one"}))).contains("the argument a must be an integer"));
    let error = host.ask_for_error("tools/call", json!({"name": "fail", "arguments": {"how": "protocol"}}));
    assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!("that makes no sense")));
    assert_eq!(text(&host.call("fail", json!({"how": "raise"}))), "it broke");
    host.stderr_says("a stray print");
    host.stderr_says("ValueError: it broke");
    let crashed = host.call("fail", json!({"how": "crash"}));
    let said = crashed["content"].to_string();
    assert!(said.contains("status 3") && said.contains("the last words"), "{said}");
    assert_eq!(text(&host.call("add", json!({"a": 1}))), "2");
    host.end();
}

#[test]
fn a_cancel_arrives() {
    let Some(mut host) = host(TOOLS) else { return };
    for (name, sign) in [("until_cancelled", "flag seen"), ("wait_async", "interrupted")] {
        let id = host.begin_call(
            name,
            json!({"seconds": 60})
                .as_object()
                .filter(|_| name == "wait_async")
                .map_or(json!({}), |it| json!(it)),
        );
        // It has begun when one that was asked for later is answered.
        host.call("wait_async", json!({"seconds": 0.01}));
        host.notify("notifications/cancelled", json!({"requestId": id}));
        host.stderr_says(sign);
    }
    assert!(host.rest().is_empty(), "no answer to a cancelled call");
    host.end();
}

#[test]
fn a_call_talks_and_asks() {
    let Some(mut host) = host(TOOLS) else { return };
    host.ask("resources/subscribe", json!({"uri": "test://a"}));
    let params = json!({"name": "report", "arguments": {}, "_meta": {"progressToken": "t"}});
    let id = host.request("tools/call", params);
    let methods: Vec<String> = host.until_answer(id).iter().map(|m| m.method().to_owned()).collect();
    assert_eq!(
        methods[..3],
        ["notifications/progress", "notifications/message", "notifications/resources/updated"]
    );
    let id = host.begin_call("ask", json!({"what": "model"}));
    let (question, params) = host.question("sampling/createMessage");
    assert_eq!(params["messages"][0]["content"], json!({"type": "text", "text": "Why?"}));
    let content = json!({"type": "text", "text": "because"});
    host.respond(&question, json!({"role": "assistant", "content": content, "model": "m"}));
    assert_eq!(text(&host.result_of(id)), "because");
    let id = host.begin_call("ask", json!({"what": "user"}));
    let (question, params) = host.question("elicitation/create");
    assert_eq!(params["requestedSchema"]["required"], json!(["name"]));
    host.respond(&question, json!({"action": "accept", "content": {"name": "Brno"}}));
    assert_eq!(host.result_of(id)["structuredContent"], json!({"name": "Brno", "people": 0}));
    let id = host.begin_call("ask", json!({"what": "roots"}));
    let (question, _) = host.question("roots/list");
    host.respond(&question, json!({"roots": [{"uri": "file:///a"}]}));
    assert_eq!(text(&host.result_of(id)), r#"["file:///a"]"#);
    host.end();
}

#[test]
fn state_outlives_the_process() {
    let Some(mut host) = host(TOOLS) else { return };
    assert_eq!(text(&host.call("count", json!({}))), "1 in life 1");
    assert_eq!(text(&host.call("count", json!({}))), "2 in life 1");
    host.call("fail", json!({"how": "crash"}));
    assert_eq!(text(&host.call("count", json!({}))), "3 in life 2");
    host.end();
}

#[test]
fn resources_prompts_and_the_tool_list() {
    let Some(mut host) = host(TOOLS) else { return };
    let read = host.ask("resources/read", json!({"uri": "test://a"}));
    assert_eq!(read["contents"][0]["text"], "text of a");
    let note = host.ask("resources/read", json!({"uri": "note://7"}));
    assert_eq!(note["contents"][0]["text"], r#"{"id":"7"}"#);
    host.ask_for_error("resources/read", json!({"uri": "note://none"}));
    let prompt = host.ask("prompts/get", json!({"name": "greet", "arguments": {"name": "Ada"}}));
    assert_eq!(prompt["messages"][0]["content"]["text"], "Greet Ada, warm");
    let reference = json!({"type": "ref/prompt", "name": "greet"});
    let argument = json!({"name": "tone", "value": "c"});
    let found = host.ask("completion/complete", json!({"ref": reference, "argument": argument}));
    assert_eq!(found["completion"]["values"], json!(["cold"]));
    host.ask("tools/list", Value::Null);
    assert!(text(&host.call("show", json!({}))).contains("hidden"));
    host.notification("notifications/tools/list_changed");
    assert_eq!(text(&host.call("hidden", json!({}))), "seen");
    host.end();
}

#[test]
fn a_mistake_of_the_author_is_one_line() {
    let Some(python) = python() else { return };
    let dir = Arc::new(Dir::new());
    let broken = "from protomcp import tool\n\n@tool('Adds')\ndef add(a: int, b):\n    return a + b\n";
    let mut host = setup(&dir, &python, broken).host();
    host.initialize();
    host.stderr_says(r#"server.py:3: the tool "add": the parameter b needs a type hint, such as b: str"#);
    assert!(!host.stderr().contains("Traceback"), "{}", host.stderr());
    host.hang_up();
}

/// A file as the published SDK's documentation shows it, with what works there. (Actions stand in the
/// order of their names: that is how the published one lists them, ours keeps the author's.)
const REFERENCE: &str = r#"
import json
from dataclasses import dataclass
from typing import Literal, Optional
from protomcp import (
    tool, ToolResult, ToolContext, log, tool_manager, resource, resource_template, ResourceContent, prompt,
    PromptArg, PromptMessage, completion, CompletionResult, tool_group, action, local_middleware,
    server_context, telemetry_sink, ToolCallEvent, workflow, step, StepResult,
)

@dataclass
class Weather:
    location: str
    temperature: float

@tool("Adds", title="Add", read_only=True, idempotent=True)
def add(a: int, b: int) -> ToolResult:
    return ToolResult(result=str(a + b))

@tool("Multiplies")
def multiply(a: float, b: float) -> ToolResult:
    return ToolResult(result=str(a * b))

@tool("Weather", output_type=Weather)
def weather(location: str, unit: Literal["C", "F"] = "C", days: Optional[int] = None) -> ToolResult:
    return ToolResult(result=json.dumps({"location": location, "temperature": 21.5}))

@tool("Structured")
def structured(text: str) -> ToolResult:
    return ToolResult(structured_content={"text": text})

@tool("Fails")
def fail(how: str) -> ToolResult:
    if how == "raise":
        raise RuntimeError("it broke")
    return ToolResult(result="no", is_error=True, error_code="NO", message="no", suggestion="ask", retryable=True)

@tool("Says")
def say(text: str) -> str:
    return text

@tool("Lists")
def lists(items: list[str], options: dict[str, int], flag: bool = False) -> ToolResult:
    return ToolResult(result=f"{sorted(items)} {sorted(options.items())} {flag}")

@tool("Watches", task_support=True)
def watch(ctx: ToolContext, steps: int = 2) -> ToolResult:
    for number in range(steps):
        if ctx.is_cancelled():
            return ToolResult(result="cancelled", is_error=True)
        ctx.report_progress(number + 1, steps, f"step {number + 1}")
    return ToolResult(result="watched")

@local_middleware(priority=10)
def stars(ctx, tool_name: str, args: dict, next_handler):
    result = next_handler(ctx, args)
    if tool_name == "say":
        return ToolResult(result=f"* {result} *")
    return result

@telemetry_sink
def sink(event: ToolCallEvent):
    assert event.phase in ("start", "success", "error", "progress")

@tool_group("math", description="Math")
class Math:
    @action("square", description="Squares")
    def square(self, n: int) -> ToolResult:
        return ToolResult(result=str(n * n))

@tool_group("db", description="A database", strategy="union")
class Database:
    @action("insert", requires=["table"], enum_fields={"table": ["users", "events"]})
    def insert(self, table: str) -> ToolResult:
        return ToolResult(result=f"into {table}")

    @action("query", description="Asks", requires=["sql"])
    def query(self, sql: str, limit: int = 100) -> ToolResult:
        return ToolResult(result=f"{sql} {limit}")

@resource(uri="config://app", description="Configuration", mime_type="application/json")
def config(uri: str) -> ResourceContent:
    return ResourceContent(uri=uri, text='{"debug": false}', mime_type="application/json")

@resource_template(uri_template="note://{id}", description="A note")
def note(uri: str) -> ResourceContent:
    return ResourceContent(uri=uri, text="note " + uri.replace("note://", ""))

@prompt(description="Summarizes", arguments=[PromptArg(name="topic", required=True), PromptArg(name="style")])
def summarize(topic: str, style: str = "brief") -> list[PromptMessage]:
    return [PromptMessage(role="user", content=f"Summarize {topic}, {style}"),
            PromptMessage(role="assistant", content="Gladly.")]

@completion("ref/prompt", "summarize", "style")
def styles(value: str) -> CompletionResult:
    found = [style for style in ("brief", "bullet") if style.startswith(value)]
    return CompletionResult(values=found, total=len(found))

if __name__ == "__main__":
    from protomcp.runner import run
    run()
"#;

/// What a host hears of that file.
fn heard(mut host: Host) -> Vec<(String, Value)> {
    let mut heard = Vec::new();
    let mut hear = |host: &mut Host, method: &str, params: Value| {
        let id = host.request(method, params.clone());
        let answer = host.until_answer(id).pop().unwrap().json;
        let said = if answer["error"].is_object() { &answer["error"] } else { &answer["result"] };
        heard.push((format!("{method} {params}"), said.clone()));
    };
    for (name, arguments) in [
        ("add", json!({"a": 1, "b": 2})),
        ("multiply", json!({"a": 2, "b": 3})),
        ("multiply", json!({"a": 2.5, "b": 2})),
        ("weather", json!({"location": "Brno", "unit": "F"})),
        ("structured", json!({"text": "✓"})),
        ("fail", json!({"how": "raise"})),
        ("fail", json!({"how": "result"})),
        ("say", json!({"text": "řemeslník"})),
        ("lists", json!({"items": ["b", "a"], "options": {"x": 1}, "flag": true})),
        ("watch", json!({})),
        ("math.square", json!({"n": 7})),
        ("db", json!({"action": "query", "sql": "S"})),
        ("db", json!({"action": "query"})),
        ("db", json!({"action": "insert", "table": "user"})),
        ("db", json!({"action": "quary"})),
        ("db", json!({})),
    ] {
        hear(&mut host, "tools/call", json!({"name": name, "arguments": arguments}));
    }
    hear(&mut host, "resources/list", json!({}));
    hear(&mut host, "resources/templates/list", json!({}));
    hear(&mut host, "resources/read", json!({"uri": "config://app"}));
    hear(&mut host, "resources/read", json!({"uri": "note://7"}));
    hear(&mut host, "prompts/list", json!({}));
    hear(&mut host, "prompts/get", json!({"name": "summarize", "arguments": {"topic": "x"}}));
    let reference = json!({"type": "ref/prompt", "name": "summarize"});
    let argument = json!({"name": "style", "value": "bu"});
    hear(&mut host, "completion/complete", json!({"ref": reference, "argument": argument}));
    let listed = host.ask("tools/list", Value::Null);
    let mut names: Vec<Value> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    names.sort_by_key(Value::to_string);
    heard.push(("names".to_owned(), json!(names)));
    host.end();
    heard
}

/// What is not compared: `_meta`, where ours has a code for every error, and how JSON is spelled in a
/// text.
fn compared(mut said: Value) -> Value {
    if let Some(result) = said.as_object_mut() {
        result.remove("_meta");
    }
    for block in said.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        let json: Option<Value> = block["text"].as_str().and_then(|text| serde_json::from_str(text).ok());
        if let Some(json) = json {
            block["text"] = json;
        }
    }
    said
}

#[test]
fn the_published_sdk_beside_ours_on_one_file() {
    let (Some(python), Some(published)) = (python(), environment::file("protomcp-0.3.1/bin/python")) else {
        return;
    };
    let dir = Arc::new(Dir::new());
    let file = dir.write("reference.py", REFERENCE);
    let start = |setup: Setup| {
        let mut host = setup.host();
        host.initialize_as("2025-11-25", json!({}));
        host
    };
    let theirs =
        Setup::run(&dir).arg(&file).env("PROTOMCP_PYTHON", published).env("PYTHONDONTWRITEBYTECODE", "1");
    let theirs = heard(start(theirs));
    let ours = Setup::run(&dir).arg(&file).env("PROTOMCP_PYTHON", python).env("PYTHONPATH", package());
    let ours = heard(start(ours.env("PYTHONDONTWRITEBYTECODE", "1")));
    assert_eq!(theirs.len(), ours.len());
    let both = theirs
        .into_iter()
        .zip(ours)
        .map(|((question, theirs), (_, ours))| (question, compared(theirs), compared(ours)));
    let different: Vec<String> = both
        .filter(|(_, theirs, ours)| theirs != ours)
        .map(|(question, theirs, ours)| format!("{question}\n  theirs {theirs}\n  ours   {ours}"))
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

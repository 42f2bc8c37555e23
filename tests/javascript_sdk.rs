//! The JavaScript SDK of this tree behind the real bridge: its examples, and tool files of a test's
//! own. What needs no bridge has its tests beside the SDK.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::environment;
use crate::support::host::Host;
use crate::support::pmcp::Setup;

/// Whether there is a Node.js to run tool files with.
fn has_node() -> bool {
    let found = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        environment::skip("there is no Node.js");
    }
    found
}

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/javascript")
}

/// A host of one of the examples.
fn example(name: &str) -> Option<Host> {
    if !has_node() {
        return None;
    }
    let dir = Arc::new(Dir::new());
    let mut host = Setup::run(&dir).arg(package().join("examples").join(name)).host();
    host.initialize();
    Some(host)
}

/// A folder in which `protomcp` can be imported.
fn folder() -> Arc<Dir> {
    let dir = Arc::new(Dir::new());
    std::fs::create_dir_all(dir.join("node_modules")).unwrap();
    std::os::unix::fs::symlink(package(), dir.join("node_modules/protomcp")).unwrap();
    dir
}

/// A host of this tool file.
fn host_of(source: &str) -> Option<Host> {
    if !has_node() {
        return None;
    }
    let dir = folder();
    let file = dir.write("server.mjs", source);
    let mut host = Setup::run(&dir).arg(file).host();
    host.initialize();
    Some(host)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

fn tools(host: &mut Host) -> Vec<String> {
    let list = host.ask("tools/list", Value::Null);
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_first_tool_file_needs_nothing_but_tools() {
    let Some(mut host) = example("basic.js") else { return };
    assert_eq!(tools(&mut host), ["add", "greet"]);
    assert_eq!(text(&host.call("add", json!({"a": 1, "b": 2}))), "3");
    assert_eq!(text(&host.call("greet", json!({}))), "Hello, World!");
    let wrong = host.call("add", json!({"a": 1, "b": "2"}));
    assert_eq!(wrong["isError"], true);
    assert_eq!(wrong["_meta"]["protomcp/error"]["code"], "INVALID_ARGUMENTS");
    assert!(text(&wrong).contains("b: expected number"), "{wrong}");
    host.end();
}

#[test]
fn resources_and_prompts_are_there_and_can_fail() {
    let Some(mut host) = example("resources-and-prompts.js") else { return };
    let read = host.ask("resources/read", json!({"uri": "recipe://goulash"}));
    assert_eq!(read["contents"][0]["mimeType"], "text/plain");
    let error = host.ask_for_error("resources/read", json!({"uri": "recipe://gold"}));
    assert_eq!(error["code"], -32002);
    let params = json!({"name": "cook", "arguments": {"recipe": "dumplings"}});
    let messages = host.ask("prompts/get", params)["messages"].clone();
    assert!(messages[0]["content"]["text"].as_str().unwrap().contains("Flour"), "{messages}");
    assert_eq!(messages[1]["role"], "assistant");
    let params = json!({
        "ref": {"type": "ref/resource", "uri": "recipe://{name}"},
        "argument": {"name": "name", "value": "d"},
    });
    assert_eq!(host.ask("completion/complete", params)["completion"]["values"], json!(["dumplings"]));
    host.ask("resources/subscribe", json!({"uri": "recipe://tea"}));
    let result = host.call("write_recipe", json!({"name": "tea", "text": "Water, leaves."}));
    assert_eq!(text(&result), "There are 3 recipes.");
    assert_eq!(host.notification("notifications/resources/updated"), json!({"uri": "recipe://tea"}));
    host.end();
}

#[test]
fn groups_are_one_tool_or_several() {
    let Some(mut host) = example("groups.js") else { return };
    assert_eq!(tools(&mut host), ["library", "room.reserve", "room.free"]);
    let list = host.call("library", json!({"action": "list", "shelf": "fiction"}));
    assert_eq!(list["structuredContent"], json!({"shelf": "fiction", "books": ["Švejk"]}));
    let wrong = host.call("library", json!({"action": "add", "shelf": "sience", "title": "x"}));
    assert!(text(&wrong).contains("Did you mean \"science\"?"), "{wrong}");
    let long = host.call("library", json!({"action": "add", "shelf": "science", "title": "x".repeat(41)}));
    assert!(text(&long).contains("Long titles are cut"), "{long}");
    let crossed = host.call("room.reserve", json!({"from": 9, "to": 8, "name": "Ada"}));
    assert_eq!(crossed["_meta"]["protomcp/error"]["code"], "CROSS_PARAM_VIOLATION");
    host.call("room.reserve", json!({"from": 8, "to": 17, "name": "Ada"}));
    assert_eq!(host.call("room.free", json!({}))["structuredContent"], json!({"hours": [17]}));
    host.end();
}

#[test]
fn a_workflow_shows_only_what_may_come_next() {
    let Some(mut host) = example("workflow.js") else { return };
    let before = tools(&mut host);
    assert_eq!(before, ["parcel.weigh", "rates", "opening_hours"]);
    let mut step = |name: &str, arguments: Value, then: &[&str]| {
        let result = host.call(name, arguments);
        host.notification("notifications/tools/list_changed");
        assert_eq!(tools(&mut host), then, "after {name}: {result}");
        result
    };
    step("parcel.weigh", json!({"grams": 900}), &["parcel.label", "parcel.refuse", "parcel.cancel", "rates"]);
    step("parcel.label", json!({"to": "nowhere"}), &["parcel.refuse", "parcel.cancel", "rates"]);
    step("parcel.refuse", json!({}), &["parcel.weigh", "rates", "opening_hours"]);
    step("parcel.weigh", json!({"grams": 900}), &["parcel.label", "parcel.refuse", "parcel.cancel", "rates"]);
    step("parcel.label", json!({"to": "Brno"}), &["parcel.pay", "rates"]);
    step("parcel.pay", json!({}), &["parcel.hand_over", "rates"]);
    let sent = step("parcel.hand_over", json!({}), &["parcel.weigh", "rates", "opening_hours"]);
    assert_eq!(sent["structuredContent"], json!({"sent": {"grams": 900, "to": "Brno"}}));
    step("parcel.weigh", json!({"grams": 90_000}), &["parcel.refuse", "parcel.cancel", "rates"]);
    let cancelled = step("parcel.cancel", json!({}), &["parcel.weigh", "rates", "opening_hours"]);
    assert_eq!(text(&cancelled), "Stopped after \"weigh\".");
    host.end();
}

#[test]
fn what_stands_around_handlers_does_its_part() {
    let Some(mut host) = example("middleware-and-telemetry.js") else { return };
    let list = host.ask("tools/list", Value::Null);
    assert_eq!(list["tools"][1]["inputSchema"]["properties"], json!({}));
    let refused = host.call("repeat", json!({"word": "password"}));
    assert!(text(&refused).contains("Never send passwords"), "{refused}");
    assert_eq!(text(&host.call("repeat", json!({"word": "hunter2"}))), "***** *****");
    let wrong = host.call("repeat", json!({"word": "a", "times": -1}));
    assert_eq!(wrong["_meta"]["protomcp/error"]["code"], "INVALID_ARGUMENTS");
    assert!(!text(&host.call("whoami", json!({}))).is_empty());
    let calls = host.call("statistics", json!({}))["structuredContent"]["calls"].clone();
    assert_eq!((&calls["repeat start"], &calls["repeat error"]), (&json!(2), &json!(1)), "{calls}");
    host.end();
}

#[test]
fn files_are_searched_with_progress_until_nobody_wants_to_know() {
    let Some(mut host) = example("real-world.js") else { return };
    let source = package().join("examples");
    let arguments = json!({"folder": source, "words": "Švejk"});
    let params = json!({"name": "search_files", "arguments": arguments, "_meta": {"progressToken": 1}});
    let id = host.request("tools/call", params);
    let messages = host.until_answer(id);
    assert!(messages.len() > 5, "{}", messages.len());
    let result = messages.last().unwrap().json["result"].clone();
    assert!(text(&result).contains("groups.js:"), "{result}");
    assert_eq!(result["content"][1]["type"], "resource_link");
    let missing = host.call("search_files", json!({"folder": "/no/such", "words": "x"}));
    assert_eq!(missing["_meta"]["protomcp/error"]["code"], "NOT_FOUND");
    host.end();
}

const SLOW: &str = r#"
import { tool } from 'protomcp';
tool({ name: 'slow', async handler({ ms }, { signal }) {
    await new Promise((resolve) => {
        setTimeout(resolve, ms);
        signal.addEventListener('abort', () => { console.log('slow: cancelled'); resolve(); });
    });
    return `waited ${ms} ms`;
} });
tool({ name: 'stuck', handler: () => new Promise(() => {}) });
tool({ name: 'echo', handler: ({ text }) => text });
"#;

#[test]
fn calls_run_at_once() {
    let Some(mut host) = host_of(SLOW) else { return };
    let begin = Instant::now();
    let ids: Vec<u64> = (0..8).map(|_| host.begin_call("slow", json!({"ms": 1000}))).collect();
    assert_eq!(text(&host.call("echo", json!({"text": "in between"}))), "in between");
    for id in ids {
        assert_eq!(text(&host.result_of(id)), "waited 1000 ms");
    }
    let took = begin.elapsed();
    assert!(took < Duration::from_millis(3000), "eight seconds took {took:?}");
    host.end();
}

#[test]
fn a_cancelled_call_knows_it_and_keeps_no_place() {
    let Some(mut host) = host_of(SLOW) else { return };
    let id = host.begin_call("slow", json!({"ms": 600_000}));
    host.call("echo", json!({"text": "behind"}));
    host.notify("notifications/cancelled", json!({"requestId": id}));
    host.stderr_says("slow: cancelled");
    // More than can run at once, and nobody ends by himself.
    for _ in 0..40 {
        let id = host.begin_call("stuck", json!({}));
        host.notify("notifications/cancelled", json!({"requestId": id}));
    }
    assert_eq!(text(&host.call("echo", json!({"text": "still here"}))), "still here");
    assert!(host.rest().is_empty(), "no answer to a cancelled call");
    host.end();
}

#[test]
fn a_handler_that_breaks_is_told_to_those_who_ought_to_know() {
    let Some(mut host) = host_of(
        r#"
        import { tool } from 'protomcp';
        tool({ name: 'throw', handler() { throw new TypeError('no ink'); } });
        tool({ name: 'nonsense', handler: () => Symbol('s') });
        tool({ name: 'print', handler: () => { console.log('to be', 'seen'); console.error('and this'); } });
        tool({ name: 'block', handler: ({ ms }) => { const end = Date.now() + ms; while (Date.now() < end); return 'done'; } });
        tool({ name: 'exit', handler() { process.exit(3); } });
        tool({ name: 'later', handler() { setTimeout(() => { throw new Error('in the night'); }); return new Promise(() => {}); } });
        tool({ name: 'big', handler: ({ bytes }) => 'x'.repeat(bytes) });
        "#,
    ) else {
        return;
    };
    assert_eq!(text(&host.call("throw", json!({}))), "no ink");
    host.stderr_says("the tool \"throw\" failed: TypeError: no ink");
    host.stderr_says("server.mjs:3:");
    assert!(text(&host.call("nonsense", json!({}))).contains("symbol"));
    assert_eq!(host.call("print", json!({}))["content"], json!([]));
    host.stderr_says("to be seen");
    assert_eq!(text(&host.call("block", json!({"ms": 300}))), "done");
    assert_eq!(text(&host.call("big", json!({"bytes": 3_000_000}))).len(), 3_000_000);
    assert!(host.call("exit", json!({}))["content"].to_string().contains("status 3"));
    let died = host.call("later", json!({}));
    assert!(died["content"].to_string().contains("in the night"), "{died}");
    assert_eq!(text(&host.call("throw", json!({}))), "no ink", "it is there again");
    host.end();
}

#[test]
fn the_state_outlives_the_process() {
    let Some(mut host) = host_of(
        r#"
        import { generation, tool } from 'protomcp';
        tool({ name: 'visit', handler(_, { state }) {
            state.visits = (state.visits ?? 0) + 1;
            return `visit ${state.visits}, life ${generation}`;
        } });
        tool({ name: 'die', handler() { process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}); } });
        "#,
    ) else {
        return;
    };
    assert_eq!(text(&host.call("visit", json!({}))), "visit 1, life 1");
    assert_eq!(host.call("die", json!({}))["isError"], true);
    assert_eq!(text(&host.call("visit", json!({}))), "visit 2, life 2");
    host.end();
}

#[test]
fn tools_that_are_defined_late_are_news() {
    let Some(mut host) = host_of(
        r#"
        import { tool } from 'protomcp';
        await new Promise((resolve) => { setTimeout(resolve, 50); });
        tool({ name: 'first', handler: () => {
            tool({ name: 'second', handler: () => 'there' });
        } });
        "#,
    ) else {
        return;
    };
    assert_eq!(tools(&mut host), ["first"]);
    host.call("first", json!({}));
    host.notification("notifications/tools/list_changed");
    assert_eq!(tools(&mut host), ["first", "second"]);
    assert_eq!(text(&host.call("second", json!({}))), "there");
    host.end();
}

#[test]
fn a_mistake_of_the_author_is_one_line_with_file_and_number() {
    let Some(mut host) =
        host_of("import { tool } from 'protomcp';\n\ntool({ name: 'add', handler: 'add' });")
    else {
        return;
    };
    let line = "server.mjs:3: the tool \"add\": its handler is not a function, but string";
    let error = host.call("add", json!({}));
    assert!(error.to_string().contains(&line.replace('"', "\\\"")), "{error}");
    host.stderr_says(line);
    assert!(!host.stderr().contains("    at "), "{}", host.stderr());
}

#[test]
fn typescript_runs_as_it_is() {
    let relative = format!(
        "schemas/node_modules/node-linux-{}/bin/node",
        if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" }
    );
    let Some(node) = environment::file(&relative) else { return };
    let dir = folder();
    let file = dir.write(
        "server.ts",
        r#"
        import { tool, ToolResult, ToolContext, ServerLogger } from 'protomcp';
        import type { PromptMessage } from 'protomcp';
        interface Named { name: string }
        const logger = new ServerLogger();
        const hello = ({ name }: Named): PromptMessage['content'] => `Hello, ${name}!`;
        tool({ name: 'hello', handler(args: Named, ctx: ToolContext) {
            logger.info('called', { cancelled: ctx.isCancelled() });
            return new ToolResult({ result: hello(args) as string });
        } });
        "#,
    );
    let mut host = Setup::run(&dir).arg(file).env("PROTOMCP_NODE", node).host();
    host.initialize();
    assert_eq!(text(&host.call("hello", json!({"name": "Ada"}))), "Hello, Ada!");
    host.end();
}

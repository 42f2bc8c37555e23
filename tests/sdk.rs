//! The SDK of this tree behind the real bridge: everything that a tool can do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::host::Host;
use crate::support::pmcp::{Setup, example};

fn host() -> Host {
    let dir = Arc::new(Dir::new());
    let mut host = Setup::run(&dir).arg(example("tool-everything")).host();
    host.initialize();
    host
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn calls_run_at_once() {
    let mut host = host();
    let begin = Instant::now();
    let ids: Vec<u64> = (0..8).map(|_| host.begin_call("slow", json!({"ms": 500}))).collect();
    for id in ids {
        assert_eq!(text(&host.result_of(id)), "waited 500 ms");
    }
    let took = begin.elapsed();
    assert!(took < Duration::from_millis(2000), "eight half seconds took {took:?}");
    host.end();
}

#[test]
fn results_are_of_every_kind() {
    let mut host = host();
    assert_eq!(text(&host.call("echo", json!({"text": "✓ 漢字"}))), "✓ 漢字");
    assert_eq!(host.call("structured", json!({}))["structuredContent"], json!({"name": "Ada", "age": 36}));
    for (name, kind) in
        [("image", "image"), ("audio", "audio"), ("link", "resource_link"), ("embedded", "resource")]
    {
        assert_eq!(host.call(name, json!({}))["content"][0]["type"], kind);
    }
    assert_eq!(text(&host.call("big", json!({"bytes": 3_000_000}))).len(), 3_000_000);
    let list = host.ask("tools/list", Value::Null);
    let echo = &list["tools"][0];
    assert_eq!(echo["name"], "echo");
    assert_eq!(echo["annotations"]["destructiveHint"], false, "a hint can say no");
    assert_eq!(echo["_meta"], json!({"origin": "tests"}));
}

#[test]
fn failures_are_answers() {
    let mut host = host();
    let result = host.call("fail", json!({}));
    assert_eq!(result["isError"], true);
    assert_eq!(result["_meta"]["protomcp/error"]["code"], "NOT_FOUND");
    let result = host.call("panic", json!({}));
    assert_eq!(result["isError"], true);
    assert!(result["content"].to_string().contains("this tool panics"), "{result}");
    assert_eq!(host.call("add", json!({"a": "no number"}))["isError"], true);
    let result = host.call("crash", json!({"code": 4}));
    let said = result["content"].to_string();
    assert!(said.contains("status 4") && said.contains("about to exit with 4"), "{said}");
    assert_eq!(text(&host.call("add", json!({"a": 1, "b": 2}))), "3");
}

#[test]
fn a_call_talks_while_it_runs() {
    let mut host = host();
    let params =
        json!({"name": "progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "a token"}});
    let id = host.request("tools/call", params);
    let messages = host.until_answer(id);
    assert_eq!(messages.len(), 4);
    assert_eq!(
        messages[2].json["params"],
        json!({"progressToken": "a token", "progress": 3, "total": 3, "message": "step 3"})
    );
    let id = host.begin_call("log", json!({"level": "warning", "text": "careful"}));
    let messages = host.until_answer(id);
    assert_eq!(messages[0].json["params"]["level"], "warning");
    host.call("print", json!({"text": "to be seen"}));
    host.stderr_says("out: to be seen");
    host.stderr_says("err: to be seen");
    host.ask("resources/subscribe", json!({"uri": "text://greeting"}));
    host.call("touch", json!({"uri": "text://greeting"}));
    assert_eq!(host.notification("notifications/resources/updated"), json!({"uri": "text://greeting"}));
}

#[test]
fn a_cancelled_call_knows_it_at_once() {
    let mut host = host();
    let id = host.begin_call("slow", json!({"ms": 25_000}));
    // It runs when another one, asked for later, has been answered.
    host.call("echo", json!({"text": "behind"}));
    host.notify("notifications/cancelled", json!({"requestId": id}));
    host.stderr_says("slow: cancelled");
    host.call("echo", json!({"text": "behind"}));
    assert!(host.rest().is_empty(), "no answer to a cancelled call");
    host.end();
}

#[test]
fn the_host_is_asked() {
    let mut host = host();
    // Two at once, each with its own answer.
    let ids = ["one", "two"].map(|prompt| host.begin_call("sample", json!({"prompt": prompt})));
    for _ in 0..2 {
        let (question, params) = host.question("sampling/createMessage");
        let asked = params["messages"][0]["content"]["text"].as_str().unwrap().to_string();
        let content = json!({"type": "text", "text": format!("you said {asked}")});
        host.respond(&question, json!({"role": "assistant", "content": content, "model": "m"}));
    }
    assert_eq!(text(&host.result_of(ids[0])), "m: you said one");
    assert_eq!(text(&host.result_of(ids[1])), "m: you said two");
    let id = host.begin_call("roots", json!({}));
    let (question, _) = host.question("roots/list");
    host.respond(&question, json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]}));
    assert_eq!(text(&host.result_of(id)), "file:///a\nfile:///b");
}

#[test]
fn tools_change_the_tool_list() {
    let mut host = host();
    let shown = |host: &mut Host| host.ask("tools/list", Value::Null).to_string().contains("\"secret\"");
    assert!(!shown(&mut host));
    host.call("unlock", json!({}));
    host.notification("notifications/tools/list_changed");
    assert!(shown(&mut host));
    assert_eq!(text(&host.call("secret", json!({}))), "42");
    let active = host.call("tools", json!({"change": "disable", "names": ["secret"]}));
    assert!(!text(&active).contains("secret"), "{active}");
    host.notification("notifications/tools/list_changed");
    let active = host.call("tools", json!({"change": "allow", "names": ["tools", "echo"]}));
    let mut names: Vec<&str> = text(&active).split(',').collect();
    names.sort_unstable();
    assert_eq!(names, ["echo", "tools"]);
    let batch = json!({"change": "batch", "batch": {"allow": ["echo"], "block": ["add"]}});
    assert_eq!(host.ask_for_error("tools/call", json!({"name": "add"}))["code"], -32602);
    host.call("tools", batch);
}

#[test]
fn resources_and_prompts_are_there() {
    let mut host = host();
    let list = host.ask("resources/list", Value::Null);
    assert_eq!(list["resources"][0]["uri"], "text://greeting");
    let read = host.ask("resources/read", json!({"uri": "note://7"}));
    assert_eq!(read["contents"][0]["text"], "note 7");
    let read = host.ask("resources/read", json!({"uri": "blob://pixel"}));
    assert!(read["contents"][0]["blob"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    for uri in ["note://missing", "test://no/such"] {
        let error = host.ask_for_error("resources/read", json!({"uri": uri}));
        assert_eq!(error["code"], -32002, "{uri}");
        assert_eq!(error["data"], json!({"uri": uri}));
    }
    let prompt = host.ask("prompts/get", json!({"name": "review", "arguments": {"code": "a + b"}}));
    assert_eq!(prompt["messages"][1]["role"], "assistant");
    assert_eq!(host.ask_for_error("prompts/get", json!({"name": "review"}))["code"], -32602);
    let params = json!({
        "ref": {"type": "ref/resource", "uri": "note://{id}"},
        "argument": {"name": "id", "value": ""},
    });
    let found = host.ask("completion/complete", params)["completion"].clone();
    assert_eq!(found["values"].as_array().unwrap().len(), 100);
    assert_eq!(found["hasMore"], true);
    host.end();
}

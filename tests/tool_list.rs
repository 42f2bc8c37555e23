//! Which tools are offered: hidden ones, changes within results, requests of the tool process and
//! their three modes, and what the host hears of it.

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::*;
use serde_json::{Value, json};

use crate::support::raw_tool::{Lists, Trio, text_result, tool};

const CHANGED: &str = "notifications/tools/list_changed";

fn names(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn enable(words: &[&str]) -> Msg {
    Msg::EnableTools(EnableToolsRequest { tool_names: names(words) })
}

fn disable(words: &[&str]) -> Msg {
    Msg::DisableTools(DisableToolsRequest { tool_names: names(words) })
}

fn allow(words: &[&str]) -> Msg {
    Msg::SetAllowed(SetAllowedRequest { tool_names: names(words) })
}

fn block(words: &[&str]) -> Msg {
    Msg::SetBlocked(SetBlockedRequest { tool_names: names(words) })
}

#[track_caller]
fn listed(trio: &mut Trio) -> Vec<String> {
    let list = trio.host.ask("tools/list", Value::Null);
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
}

/// How often the host was told that the list changed, since it was last asked.
#[track_caller]
fn changes(trio: &mut Trio) -> usize {
    trio.host.methods_left().iter().filter(|method| *method == CHANGED).count()
}

#[test]
fn tools_that_the_process_hides_after_its_handshake_are_not_offered() {
    let mut trio = Trio::unready(|setup| setup);
    trio.peer.handshake(vec![tool("a"), tool("hidden"), tool("b")]);
    assert_eq!(trio.peer.change_tools(disable(&["hidden"])), ["a", "b"]);
    trio.host.initialize();
    trio.lives();
    assert_eq!(listed(&mut trio), ["a", "b"]);
    let error = trio.host.ask_for_error("tools/call", json!({"name": "hidden"}));
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains("hidden"), "{error}");
}

#[test]
fn a_result_can_swap_tools_and_the_host_hears_of_it_once() {
    let mut trio = Trio::new(&["a", "b"]);
    assert_eq!(listed(&mut trio), ["a", "b"]);
    trio.peer.change_tools(disable(&["b"]));
    assert_eq!(changes(&mut trio), 1);
    let id = trio.host.begin_call("a", json!({}));
    let call = trio.peer.call();
    let response = CallToolResponse {
        enable_tools: names(&["b"]),
        disable_tools: names(&["a"]),
        ..text_result("swapped")
    };
    trio.peer.answer(&call, response);
    trio.host.result_of(id);
    assert_eq!(listed(&mut trio), ["b"]);
    assert_eq!(changes(&mut trio), 1);
}

#[test]
fn the_host_hears_only_of_changes() {
    let mut trio = Trio::new(&["a", "b"]);
    assert_eq!(listed(&mut trio), ["a", "b"]);
    assert_eq!(trio.peer.change_tools(enable(&["a"])), ["a", "b"]);
    assert_eq!(trio.peer.change_tools(disable(&["no such"])), ["a", "b"]);
    assert_eq!(trio.peer.change_tools(Msg::Batch(BatchUpdateRequest::default())), ["a", "b"]);
    let get = || Msg::GetActiveTools(GetActiveToolsRequest {});
    assert_eq!(trio.peer.change_tools(get()), ["a", "b"]);
    assert_eq!(changes(&mut trio), 0);
    assert_eq!(trio.peer.change_tools(disable(&["a"])), ["b"]);
    assert_eq!(trio.peer.change_tools(disable(&["a"])), ["b"]);
    assert_eq!(changes(&mut trio), 1);
    assert_eq!(trio.peer.change_tools(get()), ["b"]);
    // Other lists have not changed.
    assert_eq!(trio.peer.change_tools(enable(&["a"])), ["a", "b"]);
    assert_eq!(trio.host.methods_left(), [CHANGED]);
}

#[test]
fn a_host_that_has_seen_no_list_is_told_of_no_change() {
    let mut trio = Trio::new(&["a", "b"]);
    assert_eq!(trio.peer.change_tools(disable(&["a"])), ["b"]);
    assert_eq!(changes(&mut trio), 0);
    assert_eq!(listed(&mut trio), ["b"]);
}

#[test]
fn nobody_is_told_before_the_hello() {
    let mut trio = Trio::unready(|setup| setup);
    trio.peer.handshake(vec![tool("a"), tool("b")]);
    assert_eq!(trio.peer.change_tools(disable(&["a"])), ["b"]);
    assert!(trio.host.rest().is_empty());
    trio.host.initialize();
    assert_eq!(listed(&mut trio), ["b"]);
}

#[test]
fn an_allow_list_offers_what_is_on_it() {
    let mut trio = Trio::new(&["a", "b", "c"]);
    assert_eq!(trio.peer.change_tools(allow(&["a", "no such"])), ["a"]);
    assert_eq!(listed(&mut trio), ["a"]);
    assert_eq!(trio.peer.change_tools(enable(&["b"])), ["a", "b"]);
    assert_eq!(trio.peer.change_tools(disable(&["a"])), ["b"]);
    let error = trio.host.ask_for_error("tools/call", json!({"name": "a"}));
    assert_eq!(error["code"], -32602);
    assert_eq!(trio.peer.change_tools(allow(&["c"])), ["c"]);
    // Empty: everything again.
    let active = trio.peer.change_tools(allow(&[]));
    assert!(active.contains(&"b".to_string()) && active.contains(&"c".to_string()), "{active:?}");
}

#[test]
fn a_block_list_offers_what_is_not_on_it() {
    let mut trio = Trio::new(&["a", "b", "c"]);
    assert_eq!(trio.peer.change_tools(block(&["a"])), ["b", "c"]);
    assert_eq!(listed(&mut trio), ["b", "c"]);
    assert_eq!(trio.peer.change_tools(disable(&["b"])), ["c"]);
    assert_eq!(trio.peer.change_tools(enable(&["a"])), ["a", "c"]);
    assert!(!trio.peer.change_tools(block(&["c"])).contains(&"c".to_string()));
    let active = trio.peer.change_tools(block(&[]));
    assert!(active.contains(&"a".to_string()) && active.contains(&"c".to_string()), "{active:?}");
}

#[test]
fn a_batch_sets_its_mode_first() {
    let mut trio = Trio::new(&["a", "b", "c"]);
    assert_eq!(listed(&mut trio), ["a", "b", "c"]);
    let batch = |allow: &[&str], block: &[&str], enable: &[&str], disable: &[&str]| {
        Msg::Batch(BatchUpdateRequest {
            allow: names(allow),
            block: names(block),
            enable: names(enable),
            disable: names(disable),
        })
    };
    assert_eq!(trio.peer.change_tools(batch(&["a"], &[], &["b"], &[])), ["a", "b"]);
    assert_eq!(changes(&mut trio), 1, "one batch is one change");
    assert_eq!(trio.peer.change_tools(batch(&[], &["b"], &[], &["c"])), ["a"]);
    // Both modes at once is a contradiction: nothing changes.
    assert_eq!(trio.peer.change_tools(batch(&["b"], &["a"], &[], &[])), ["a"]);
    assert_eq!(listed(&mut trio), ["a"]);
    assert_eq!(changes(&mut trio), 1);
}

#[test]
fn a_call_that_waits_for_a_tool_that_goes_is_told_so() {
    let mut trio = Trio::new(&["a", "b"]);
    let first = trio.host.begin_call("a", json!({}));
    let second = trio.host.begin_call("b", json!({}));
    let call = trio.peer.call();
    assert!(trio.host.rest().is_empty());
    let response = CallToolResponse { disable_tools: names(&["b"]), ..text_result("done") };
    trio.peer.answer(&call, response);
    trio.host.result_of(first);
    // Either is right: it was asked for while the tool was there, or it is refused by name.
    let answer = {
        let envelope = trio.peer.nothing_within(std::time::Duration::from_millis(100));
        if envelope { Some(trio.host.answer(second)) } else { None }
    };
    if let Some(answer) = answer {
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

/// A process dies and its next life has these lists; gives what the host hears of it.
#[track_caller]
fn restarted(trio: &mut Trio, tools: &[&str], resource: &str, template: &str, prompt: &str) -> Vec<String> {
    trio.tool.order("exit 0");
    trio.peer = trio.tool.connect();
    offer(&mut trio.peer.lists(), resource, template, prompt);
    trio.peer.handshake(tools.iter().map(|name| tool(name)).collect());
    trio.lives();
    // What is told of a list is told before an answer that shows it.
    for (method, list, key, expected) in [
        ("resources/list", "resources", "name", resource),
        ("resources/templates/list", "resourceTemplates", "name", template),
        ("prompts/list", "prompts", "name", prompt),
    ] {
        assert_eq!(trio.host.ask(method, Value::Null)[list][0][key], expected);
    }
    assert_eq!(listed(trio), tools);
    let mut heard = trio.host.methods_left();
    heard.sort();
    heard
}

fn offer(lists: &mut Lists, resource: &str, template: &str, prompt: &str) {
    lists.resources = vec![ResourceDefinition {
        uri: format!("test://{resource}"),
        name: resource.into(),
        ..ResourceDefinition::default()
    }];
    lists.templates = vec![ResourceTemplateDefinition {
        uri_template: format!("test://{template}/{{x}}"),
        name: template.into(),
        ..ResourceTemplateDefinition::default()
    }];
    lists.prompts = vec![PromptDefinition { name: prompt.into(), ..PromptDefinition::default() }];
}

#[test]
fn a_restarted_process_with_other_lists_is_a_change_of_those() {
    const RESOURCES: &str = "notifications/resources/list_changed";
    const PROMPTS: &str = "notifications/prompts/list_changed";
    let mut trio = Trio::with(vec![tool("a")], |setup| setup, |lists| offer(lists, "r", "t", "p"));
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        trio.host.ask(method, Value::Null);
    }
    // Four lives more: after a fifth quick death it would stay down. The same again: nobody needs to know.
    assert_eq!(restarted(&mut trio, &["a"], "r", "t", "p"), [""; 0]);
    assert_eq!(restarted(&mut trio, &["a", "new"], "r", "t", "q"), [PROMPTS, CHANGED]);
    assert_eq!(restarted(&mut trio, &["a", "new"], "s", "t", "q"), [RESOURCES]);
    // Templates have no notification of their own.
    assert_eq!(restarted(&mut trio, &["a", "new"], "s", "u", "q"), [RESOURCES]);
}

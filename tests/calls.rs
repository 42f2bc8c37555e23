//! `tools/list` and `tools/call`: what reaches the tool process, and what comes back.

use pmcp_bridge::wire::protomcp::{CallToolResponse, ToolDefinition, ToolError};
use serde_json::{Value, json};

use crate::support::raw_tool::{Trio, text_result, tool};

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

#[test]
fn a_tool_is_listed_with_all_that_it_says_and_nothing_else() {
    let full = ToolDefinition {
        title: "The title".into(),
        output_schema_json: r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.into(),
        read_only_hint: true,
        idempotent_hint: true,
        ..tool("full")
    };
    let answered = ToolDefinition {
        annotations_json: r#"{"destructiveHint":false,"openWorldHint":false}"#.into(),
        icons_json: r#"[{"src":"data:image/png;base64,AAAA"}]"#.into(),
        meta_json: r#"{"example.org/a":1}"#.into(),
        ..tool("own-fields")
    };
    let mut trio = Trio::with(vec![tool("bare"), full, answered], |setup| setup, |_| {});
    let list = trio.host.ask("tools/list", Value::Null);
    let tools = list["tools"].as_array().unwrap();
    assert_eq!(
        tools[0],
        json!({
            "name": "bare",
            "description": "The tool bare",
            "inputSchema": {"type": "object"},
        })
    );
    assert_eq!(tools[1]["title"], "The title");
    assert_eq!(tools[1]["outputSchema"]["properties"]["n"]["type"], "integer");
    assert_eq!(tools[1]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[1]["annotations"]["idempotentHint"], true);
    assert_eq!(tools[2]["annotations"]["destructiveHint"], false);
    assert_eq!(tools[2]["annotations"]["openWorldHint"], false);
    assert_eq!(tools[2]["icons"][0]["src"], "data:image/png;base64,AAAA");
    assert_eq!(tools[2]["_meta"], json!({"example.org/a": 1}));
}

#[test]
fn a_schema_reaches_the_host_verbatim() {
    let schema = concat!(
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","#,
        r##""$defs":{"address":{"$anchor":"addressDef","type":"object"}},"zeta":1.0,"alpha":1e2,"##,
        r##""properties":{"home":{"$ref":"#/$defs/address"},"b":{"anyOf":[{"type":"string"},"##,
        r#"{"type":"null"}]}},"allOf":[{"anyOf":[{"required":["home"]}]}],"if":{},"then":{},"#,
        r#""else":{},"additionalProperties":false,"big":123456789012345678901234567890}"#
    );
    let definition = ToolDefinition { input_schema_json: schema.into(), ..tool("exact") };
    let mut trio = Trio::with(vec![definition], |setup| setup, |_| {});
    let id = trio.host.request("tools/list", Value::Null);
    let messages = trio.host.until_answer(id);
    let raw = &messages.last().unwrap().raw;
    assert!(raw.contains(&format!("\"inputSchema\":{schema}")), "{raw}");
}

#[test]
fn one_odd_tool_does_not_spoil_the_list() {
    let with_schema =
        |name: &str, schema: &str| ToolDefinition { input_schema_json: schema.into(), ..tool(name) };
    let tools = vec![
        tool("first"),
        with_schema("no-schema", ""),
        with_schema("no-json", "{type: object"),
        with_schema("no-object", "[1,2]"),
        with_schema("no-type", r#"{"properties":{"a":{"type":"string"}}}"#),
        with_schema("with-newlines", "{\n  \"type\": \"object\",\r\n  \"title\": \"a\\nb\"\n}"),
        tool(""),
        tool("last"),
    ];
    let mut trio = Trio::with(tools, |setup| setup, |_| {});
    let list = trio.host.ask("tools/list", Value::Null);
    let tools = list["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["first", "no-schema", "no-json", "no-object", "no-type", "with-newlines", "last"],
        "a tool without a name can't be offered, the others in the order of the tool process"
    );
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    assert_eq!(tools[4]["inputSchema"]["properties"]["a"]["type"], "string");
    assert_eq!(tools[5]["inputSchema"]["title"], "a\nb");
    trio.lives();
}

#[test]
fn a_long_list_comes_in_pages_that_hold_every_tool_once() {
    let tools = (0..2500).map(|number| tool(&format!("tool-{number:04}"))).collect();
    let mut trio = Trio::with(tools, |setup| setup, |_| {});
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    let mut pages = 0;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = trio.host.ask("tools/list", params);
        pages += 1;
        for tool in page["tools"].as_array().unwrap() {
            names.push(tool["name"].as_str().unwrap().to_string());
        }
        let Some(next) = page.get("nextCursor") else { break };
        assert!(next.is_string(), "{next}");
        cursor = next.clone();
    }
    assert_eq!(pages, 3);
    let expected: Vec<String> = (0..2500).map(|number| format!("tool-{number:04}")).collect();
    assert_eq!(names, expected);
    for bad in [json!("no such"), json!(""), json!(7), json!("OTk5OTk5OTk5")] {
        let error = trio.host.ask_for_error("tools/list", json!({"cursor": bad}));
        assert_eq!(error["code"], -32602, "{bad}: {error}");
    }
}

#[test]
fn arguments_reach_the_tool_as_the_text_that_the_host_wrote() {
    let mut trio = Trio::new(&["any"]);
    for (written, arrives) in [
        (
            r#","arguments":{"a":1.0,"b":1e400,"c":"\u00e9\/","a":2,"z":[],"y":{}}"#,
            r#"{"a":1.0,"b":1e400,"c":"\u00e9\/","a":2,"z":[],"y":{}}"#,
        ),
        (r#","arguments":{}"#, "{}"),
        (r#","arguments":null"#, "{}"),
        ("", "{}"),
    ] {
        trio.host.send(&format!(
            r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"any"{written}}}}}"#
        ));
        let call = trio.peer.call();
        assert_eq!(call.arguments, arrives);
        assert_eq!(call.progress_token, "");
        trio.peer.answer_text(&call, "yes");
        trio.host.answer("a");
    }
}

#[test]
fn a_call_that_is_no_call_is_an_invalid_one() {
    let mut trio = Trio::new(&["any"]);
    for params in [
        json!({}),
        json!({"name": 7}),
        json!({"name": null}),
        json!({"arguments": {}}),
        json!({"name": "any", "arguments": []}),
        json!({"name": "any", "arguments": "{}"}),
        json!({"name": "any", "arguments": 7}),
        json!({"name": "no such tool", "arguments": {}}),
        json!({"name": ""}),
    ] {
        let error = trio.host.ask_for_error("tools/call", params.clone());
        assert_eq!(error["code"], -32602, "{params}: {error}");
    }
    let error = trio.host.ask_for_error("tools/call", json!({"name": "no such tool"}));
    assert!(error["message"].as_str().unwrap().contains("no such tool"), "{error}");
    trio.lives();
}

#[test]
fn every_content_type_passes_through_as_given() {
    let mut trio = Trio::new(&["any"]);
    let content = concat!(
        r#"[{"type":"text","text":"a","annotations":{"audience":["user"],"priority":0.50}},"#,
        r#"{"type":"image","data":"AAEC","mimeType":"image/png"},"#,
        r#"{"type":"audio","data":"AAEC","mimeType":"audio/wav","_meta":{"k":1e2}},"#,
        r#"{"type":"resource_link","uri":"test://a","name":"a","size":1},"#,
        r#"{"type":"resource","resource":{"uri":"test://b","text":"\u00e9","mimeType":"text/plain"}},"#,
        r#"{"type":"resource","resource":{"uri":"test://c","blob":"AAEC"}}]"#
    );
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    trio.peer.answer(&call, CallToolResponse { result_json: content.into(), ..Default::default() });
    let messages = trio.host.until_answer(id);
    let raw = &messages[0].raw;
    assert!(raw.contains(&format!("\"content\":{content}")), "{raw}");
    assert!(!raw.contains("isError"), "said only when it is one: {raw}");
}

#[test]
fn a_revision_gets_only_content_types_that_it_knows() {
    let content = concat!(
        r#"[{"type":"text","text":"a"},{"type":"image","data":"AAEC","mimeType":"image/png"},"#,
        r#"{"type":"audio","data":"AAEC","mimeType":"audio/wav"},"#,
        r#"{"type":"resource_link","uri":"test://linked","name":"linked"},"#,
        r#"{"type":"resource","resource":{"uri":"test://b","text":"b"}}]"#
    );
    for revision in REVISIONS {
        let mut trio = Trio::revision(vec![tool("any")], revision);
        let id = trio.host.begin_call("any", json!({}));
        let call = trio.peer.call();
        trio.peer.answer(&call, CallToolResponse { result_json: content.into(), ..Default::default() });
        let result = trio.host.result_of(id);
        let types: Vec<&str> = result["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["type"].as_str().unwrap())
            .collect();
        let audio = if revision >= "2025-03-26" { "audio" } else { "text" };
        let link = if revision >= "2025-06-18" { "resource_link" } else { "text" };
        assert_eq!(types, ["text", "image", audio, link, "resource"], "{revision}");
        if link == "text" {
            let text = result["content"][3]["text"].as_str().unwrap();
            assert!(text.contains("test://linked"), "the address is not lost: {text}");
        }
    }
}

#[test]
fn a_result_that_is_no_content_becomes_text() {
    let mut trio = Trio::new(&["any"]);
    for (result, text) in [
        ("plain words", "plain words"),
        ("{\"a\": 1}", "{\"a\": 1}"),
        ("[1, 2]", "[1, 2]"),
        ("\"a string\"", "\"a string\""),
        ("[{\"type\":\"hologram\",\"data\":1}]", "[{\"type\":\"hologram\",\"data\":1}]"),
        ("[{\"type\":\"text\"}]", "[{\"type\":\"text\"}]"),
        ("[{\"type\":\"text\",\"text\":\"cut", "[{\"type\":\"text\",\"text\":\"cut"),
        ("several\nlines\r\n", "several\nlines\r\n"),
    ] {
        let id = trio.host.begin_call("any", json!({}));
        let call = trio.peer.call();
        trio.peer.answer(&call, CallToolResponse { result_json: result.into(), ..Default::default() });
        let got = trio.host.result_of(id);
        assert_eq!(got, json!({"content": [{"type": "text", "text": text}]}), "{result}");
    }
    for result in ["", "[]", " [ ] "] {
        let id = trio.host.begin_call("any", json!({}));
        let call = trio.peer.call();
        trio.peer.answer(&call, CallToolResponse { result_json: result.into(), ..Default::default() });
        assert_eq!(trio.host.result_of(id), json!({"content": []}), "{result:?}");
    }
}

#[test]
fn newlines_between_the_tokens_of_a_result_do_not_break_the_line() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    let response = CallToolResponse {
        result_json: "[\n  {\"type\": \"text\",\r\n  \"text\": \"a\\nb\"}\n]\n".into(),
        structured_content_json: "{\n\"n\":\r\n1}".into(),
        ..Default::default()
    };
    trio.peer.answer(&call, response);
    let result = trio.host.result_of(id);
    assert_eq!(result["content"][0]["text"], "a\nb");
    assert_eq!(result["structuredContent"], json!({"n": 1}));
    assert!(trio.host.rest().is_empty());
}

#[test]
fn an_error_keeps_its_code_message_suggestion_and_whether_to_try_again() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    let error = ToolError {
        error_code: "NOT_FOUND".into(),
        message: "There is no user 7".into(),
        suggestion: "List the users first".into(),
        retryable: true,
        rpc_code: 0,
    };
    let response = CallToolResponse { is_error: true, error: Some(error), ..Default::default() };
    trio.peer.answer(&call, response);
    let result = trio.host.result_of(id);
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().unwrap();
    for part in ["NOT_FOUND", "There is no user 7", "List the users first", "retr"] {
        assert!(text.contains(part), "{part} is missing: {text}");
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

    // Beside a text of its own, which stays.
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    let error = ToolError { error_code: "BUSY".into(), message: "later".into(), ..Default::default() };
    let response = CallToolResponse { is_error: true, error: Some(error), ..text_result("my own") };
    trio.peer.answer(&call, response);
    let result = trio.host.result_of(id);
    let all = result["content"].to_string();
    assert!(all.contains("my own") && all.contains("BUSY") && all.contains("later"), "{all}");
}

#[test]
fn structured_content_comes_beside_its_text_for_those_who_know_it() {
    for revision in REVISIONS {
        let mut trio = Trio::revision(vec![tool("any")], revision);
        let structured = r#"{"b":1.0,"a":[1e2]}"#;
        let id = trio.host.begin_call("any", json!({}));
        let call = trio.peer.call();
        let response = CallToolResponse { structured_content_json: structured.into(), ..Default::default() };
        trio.peer.answer(&call, response);
        let messages = trio.host.until_answer(id);
        let result = &messages[0].json["result"];
        assert_eq!(result["content"][0], json!({"type": "text", "text": structured}), "{revision}");
        if revision >= "2025-06-18" {
            let raw = &messages[0].raw;
            assert!(raw.contains(&format!("\"structuredContent\":{structured}")), "{raw}");
        } else {
            assert!(result.get("structuredContent").is_none(), "{revision}: {result}");
        }

        // A text of its own is not doubled, and an error has none.
        let id = trio.host.begin_call("any", json!({}));
        let call = trio.peer.call();
        let response = CallToolResponse {
            is_error: true,
            structured_content_json: structured.into(),
            ..text_result("broken")
        };
        trio.peer.answer(&call, response);
        let result = trio.host.result_of(id);
        assert_eq!(result, json!({"content": [{"type": "text", "text": "broken"}], "isError": true}));
    }
}

#[test]
fn a_promised_output_is_kept_or_is_an_error() {
    let promising = ToolDefinition {
        output_schema_json: r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#.into(),
        ..tool("promising")
    };
    let mut trio = Trio::with(vec![promising], |setup| setup, |_| {});
    let mut result_for = |response: CallToolResponse| {
        let id = trio.host.begin_call("promising", json!({}));
        let call = trio.peer.call();
        trio.peer.answer(&call, response);
        trio.host.result_of(id)
    };
    // A text that is an object is what was meant.
    let result = result_for(text_result(r#"{"n": 1}"#));
    assert_eq!(result["structuredContent"], json!({"n": 1}));
    // Nothing structured at all would make official clients throw.
    let result = result_for(text_result("one"));
    assert_eq!(result["isError"], true);
    assert!(result["content"].to_string().contains("one"), "{result}");
    // Text that claims to be JSON and is none.
    let result =
        result_for(CallToolResponse { structured_content_json: "{n: 1".into(), ..Default::default() });
    assert_eq!(result["isError"], true);
    assert!(result.get("structuredContent").is_none());
    // No object, which was promised.
    let result =
        result_for(CallToolResponse { structured_content_json: "[1,2]".into(), ..Default::default() });
    assert_eq!(result["isError"], true);
}

#[test]
fn structured_content_that_is_no_object_is_wrapped_where_nothing_was_promised() {
    let mut trio = Trio::new(&["any"]);
    for (structured, wrapped) in [("[1,2]", json!({"result": [1, 2]})), ("7", json!({"result": 7}))] {
        let id = trio.host.begin_call("any", json!({}));
        let call = trio.peer.call();
        let response = CallToolResponse { structured_content_json: structured.into(), ..Default::default() };
        trio.peer.answer(&call, response);
        let result = trio.host.result_of(id);
        assert_eq!(result["structuredContent"], wrapped);
        assert_eq!(result["content"][0]["text"], structured);
    }
}

#[test]
fn an_output_schema_that_is_no_object_is_wrapped() {
    let listing = ToolDefinition {
        output_schema_json:
            r##"{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}"##.into(),
        ..tool("listing")
    };
    let mut trio = Trio::with(vec![listing], |setup| setup, |_| {});
    let list = trio.host.ask("tools/list", Value::Null);
    let schema = &list["tools"][0]["outputSchema"];
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["result"]));
    assert_eq!(schema["properties"]["result"]["type"], "array");
    assert_eq!(schema["properties"]["result"]["items"]["$ref"], "#/properties/result/$defs/n");
    let id = trio.host.begin_call("listing", json!({}));
    let call = trio.peer.call();
    let response = CallToolResponse { structured_content_json: "[1]".into(), ..Default::default() };
    trio.peer.answer(&call, response);
    assert_eq!(trio.host.result_of(id)["structuredContent"], json!({"result": [1]}));
}

#[test]
fn a_published_sdk_is_given_one_request_at_a_time() {
    let mut trio = Trio::new(&["any"]);
    let first = trio.host.begin_call("any", json!({"n": 1}));
    let second = trio.host.begin_call("any", json!({"n": 2}));
    let one = trio.peer.call();
    assert_eq!(one.arguments, r#"{"n":1}"#);
    // The host has been heard (it got its pong), and still the second call is held back.
    assert!(trio.host.rest().is_empty());
    assert!(trio.peer.nothing_within(std::time::Duration::from_millis(100)));
    trio.peer.answer_text(&one, "one");
    let two = trio.peer.call();
    assert_eq!(two.arguments, r#"{"n":2}"#);
    assert_eq!(trio.host.result_of(first)["content"][0]["text"], "one");
    trio.peer.answer_text(&two, "two");
    assert_eq!(trio.host.result_of(second)["content"][0]["text"], "two");
}

#[test]
fn a_tool_process_that_announced_more_is_given_more() {
    let mut trio = Trio::with(vec![tool("any")], |setup| setup, |lists| lists.max_concurrent_calls = 3);
    let ids: Vec<u64> = (0..5).map(|n| trio.host.begin_call("any", json!({"n": n}))).collect();
    let mut calls = vec![trio.peer.call(), trio.peer.call(), trio.peer.call()];
    assert!(trio.peer.nothing_within(std::time::Duration::from_millis(100)));
    // Answered in another order than asked.
    let third = calls.pop().unwrap();
    trio.peer.answer_text(&third, &third.arguments);
    assert_eq!(trio.host.result_of(ids[2])["content"][0]["text"], r#"{"n":2}"#);
    calls.push(trio.peer.call());
    for call in calls {
        trio.peer.answer_text(&call, &call.arguments);
    }
    let last = trio.peer.call();
    trio.peer.answer_text(&last, &last.arguments);
    for n in [0, 1, 3, 4] {
        let text = trio.host.result_of(ids[n])["content"][0]["text"].clone();
        assert_eq!(text, format!(r#"{{"n":{n}}}"#));
    }
}

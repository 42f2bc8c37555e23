//! What either side should never send. Each gets the error that the specification names or a clear
//! text, and the bridge lives on.

use std::time::{Duration, Instant};

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::*;
use serde_json::{Value, json};

use crate::support::raw_tool::{Trio, frame, text_result, tool};

#[test]
fn bytes_that_are_no_utf_8_are_no_json() {
    let mut trio = Trio::new(&["any"]);
    for line in [
        &b"\xff\xfe\n"[..],
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\x80\"}}\n",
        b"\0\0\0\0\n",
    ] {
        trio.host.send_bytes(line);
        let answer = trio.host.next().json;
        assert_eq!(answer["error"]["code"], -32700, "{line:?}: {answer}");
        assert!(answer.get("id").is_none(), "{answer}");
    }
    trio.lives();
}

#[test]
fn a_line_over_the_limit_is_refused_and_passed_over() {
    let mut trio = Trio::with(vec![tool("any")], |setup| setup.args(["--max-message", "128K"]), |_| {});
    let long = "x".repeat(300 * 1024);
    trio.host.send(&format!(
        r#"{{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{{"name":"any","arguments":{{"a":"{long}"}}}}}}"#
    ));
    let answer = trio.host.next().json;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(text.contains("max-message"), "says what to do about it: {text}");
    assert!(trio.host.rest().is_empty(), "reported once");
    trio.lives();
    // At the limit it is taken.
    let fits = "x".repeat(100 * 1024);
    let id = trio.host.begin_call("any", json!({"a": fits}));
    let call = trio.peer.call();
    trio.peer.answer_text(&call, &fits);
    assert_eq!(trio.host.result_of(id)["content"][0]["text"], fits);
}

#[test]
fn nesting_without_end_is_refused() {
    let mut trio = Trio::new(&["any"]);
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(200_000), close.repeat(200_000));
        trio.host.send(&deep);
        assert!(trio.host.next().json["error"].is_object());
        trio.host.send(&open.repeat(200_000));
        assert!(trio.host.next().json["error"].is_object());
        // As arguments: refused, or handed on as text; the call behind it arrives either way.
        trio.host.send(&format!(
            r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{{"name":"any","arguments":{{"a":{deep}}}}}}}"#
        ));
        let id = trio.host.begin_call("any", json!({"behind": true}));
        let mut call = trio.peer.call();
        if !call.arguments.contains("behind") {
            trio.peer.answer_text(&call, "deep");
            call = trio.peer.call();
        }
        trio.peer.answer_text(&call, "behind");
        trio.host.result_of(id);
        trio.host.next();
        // As a result.
        let id = trio.host.begin_call("any", json!({}));
        let call = trio.peer.call();
        let response = CallToolResponse {
            result_json: deep.clone(),
            structured_content_json: deep,
            ..CallToolResponse::default()
        };
        trio.peer.answer(&call, response);
        trio.host.result_of(id);
        trio.lives();
    }
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let mut trio = Trio::new(&["any"]);
    let line = r#"{"jsonrpc":"2.0","id":"twice","method":"tools/call","params":{"name":"any"}}"#;
    trio.host.send(line);
    let call = trio.peer.call();
    trio.host.send(line);
    let answer = trio.host.next().json;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    trio.peer.answer_text(&call, "of the first");
    let answer = trio.host.answer("twice");
    assert_eq!(answer["result"]["content"][0]["text"], "of the first");
    // Free again.
    trio.host.send(line);
    let call = trio.peer.call();
    trio.peer.answer_text(&call, "of the second");
    let answer = trio.host.answer("twice");
    assert_eq!(answer["result"]["content"][0]["text"], "of the second");
    assert!(trio.host.rest().is_empty());
}

#[test]
fn a_flood_of_nonsense_is_answered_line_by_line() {
    let mut trio = Trio::new(&["any"]);
    let nonsense = "nonsense\n".repeat(20_000);
    trio.host.send_bytes(nonsense.as_bytes());
    for _ in 0..20_000 {
        assert_eq!(trio.host.next().json["error"]["code"], -32700);
    }
    trio.lives();
}

#[test]
fn more_calls_than_may_wait_all_get_their_answer() {
    let mut trio = Trio::new(&["any"]);
    // The bridge stops reading its host when enough is waiting, so the tool side must go on
    // meanwhile.
    let peer = trio.peer;
    let tool_side = std::thread::spawn(move || {
        for n in 0..3000 {
            let call = peer.call();
            assert_eq!(call.arguments, format!(r#"{{"n":{n}}}"#), "in their order");
            peer.answer_text(&call, &call.arguments);
        }
        peer
    });
    let ids: Vec<u64> = (0..3000).map(|n| trio.host.begin_call("any", json!({"n": n}))).collect();
    for id in ids {
        trio.host.result_of(id);
    }
    trio.peer = tool_side.join().unwrap();
    trio.lives();
}

#[test]
fn a_frame_that_is_no_protobuf_is_passed_over() {
    let mut trio = Trio::new(&["any"]);
    for body in [
        &b""[..],
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        b"plain text, not protobuf",
        &[0x0a, 0x7f, 0x00],
        // A message of a later version: field 2000, empty.
        &[0x82, 0x7d, 0x00],
    ] {
        let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
        bytes.extend_from_slice(body);
        trio.peer.send_bytes(&bytes);
        // Frames arrive in order: what follows was read behind it.
        trio.peer.send("", Msg::Log(LogMessage { level: "error".into(), ..LogMessage::default() }));
        trio.host.notification("notifications/message");
        trio.lives();
    }
    assert!(trio.host.rest().is_empty());
}

#[test]
fn an_answer_to_no_request_is_nobodys() {
    let mut trio = Trio::new(&["any"]);
    // A tool list without an id would be a new tool list.
    for id in ["777", "no such request", "9999999999"] {
        trio.peer.send(id, Msg::CallResult(text_result("for nobody")));
        trio.peer.send(id, Msg::ToolList(ToolListResponse::default()));
        trio.peer.send(id, Msg::PromptListResponse(PromptListResponse::default()));
        trio.peer.send(id, Msg::GetPromptResponse(GetPromptResponse::default()));
        trio.peer.send(id, Msg::MiddlewareInterceptResponse(MiddlewareInterceptResponse::default()));
        trio.peer.send(id, Msg::CallTool(CallToolRequest::default()));
    }
    trio.lives();
    // An answer of the wrong kind, then a second answer.
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    trio.peer.answer_text(&call, "first");
    trio.peer.answer_text(&call, "second");
    assert_eq!(trio.host.result_of(id)["content"][0]["text"], "first");
    trio.lives();
    let left = trio.host.methods_left();
    assert!(left.iter().all(|method| method.starts_with("notifications/")), "{left:?}");
}

#[test]
fn a_frame_over_the_limit_ends_the_process_with_a_reason() {
    for prefix in [0xFFFF_FFF0_u32, 300 * 1024] {
        let mut trio = Trio::with(vec![tool("any")], |setup| setup.args(["--max-message", "256K"]), |_| {});
        let id = trio.host.begin_call("any", json!({}));
        trio.peer.call();
        trio.peer.send_bytes(&prefix.to_be_bytes());
        let result = trio.host.result_of(id);
        assert_eq!(result["isError"], true);
        let text = result["content"].to_string();
        assert!(text.contains("max-message"), "says what to do about it: {text}");
        trio.peer.is_dropped();
        // The next one serves.
        trio.peer = trio.tool.serve(vec![tool("any")]);
        trio.lives();
        let peak = crate::support::process::memory(trio.host.pid(), "VmHWM");
        assert!(peak < 32 << 20, "nothing is set aside for a claim: {peak}");
    }
}

#[test]
fn a_claim_alone_takes_no_memory() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    // Just within the limit, and then nothing for a while.
    let mut claim = (60_u32 << 20).to_be_bytes().to_vec();
    claim.extend_from_slice(&[0; 1000]);
    trio.peer.send_bytes(&claim);
    assert!(trio.host.rest().is_empty());
    let resident = crate::support::process::memory(trio.host.pid(), "VmRSS");
    assert!(resident < 32 << 20, "{resident}");
    drop(call);
    trio.tool.order("exit 0");
    assert_eq!(trio.host.result_of(id)["isError"], true);
}

#[test]
fn a_result_with_bad_utf_8_fails_its_call_and_nothing_else() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    let mut bytes = frame(&call.id, Msg::CallResult(text_result("MARKER")));
    let at = bytes.windows(6).position(|window| window == b"MARKER").unwrap();
    bytes[at] = 0xff;
    trio.peer.send_bytes(&bytes);
    let begin = Instant::now();
    let result = trio.host.result_of(id);
    assert_eq!(result["isError"], true, "{result}");
    assert!(begin.elapsed() < Duration::from_secs(5));
    trio.lives();
}

#[test]
fn a_process_that_speaks_before_it_is_asked_does_no_harm() {
    let mut trio = Trio::unready(|setup| setup);
    trio.peer.send("", Msg::CallResult(text_result("early")));
    trio.peer.send("", Msg::Log(LogMessage { level: "error".into(), ..LogMessage::default() }));
    trio.peer.send_bytes(&[0, 0, 0, 2, 0xff, 0xff]);
    trio.peer.handshake(vec![tool("any")]);
    trio.host.initialize();
    trio.lives();
    let list = trio.host.ask("tools/list", Value::Null);
    assert_eq!(list["tools"].as_array().unwrap().len(), 1);
}

//! Streamable HTTP: both eras on one endpoint, many clients, and each message on the stream that it
//! belongs to.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::{ProgressNotification, ResourceChangedNotification, SamplingRequest};
use serde_json::json;

use crate::support::dir::Dir;
use crate::support::pmcp::{Setup, example};
use crate::support::raw_tool::{text_result, tool};
use crate::support::web::{Client, Served, Web, post};
use crate::support::{PATIENCE, process};

fn progress(token: &str, progress: i64) -> Msg {
    Msg::Progress(ProgressNotification { progress_token: token.into(), progress, ..Default::default() })
}

#[test]
fn one_endpoint_serves_both_eras() {
    let mut served = Served::new(vec![tool("any")], &[]);
    let session = served.web.session("2025-11-25", json!({}));
    let mut client = served.web.connect();
    client.request(&session, 1, "tools/call", json!({"name": "any", "arguments": {"a": 1}}));
    let call = served.peer.call();
    assert_eq!(call.arguments, r#"{"a":1}"#);
    served.peer.answer_text(&call, "one");
    let response = client.response();
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.json()["result"]["content"][0]["text"], "one");
    // The same connection, the other era.
    client.modern("tools/call", Some("any"), r#""name":"any","arguments":{"a":2},"#);
    let call = served.peer.call();
    served.peer.answer_text(&call, "two");
    let response = client.response();
    assert_eq!(response.json()["result"]["content"][0]["text"], "two");
    assert_eq!(response.json()["result"]["resultType"], "complete");
    assert_eq!(response.header("mcp-session-id"), None);
    client.modern("no/such", None, "");
    assert_eq!(client.response().status, 404);
    client.modern("tools/call", Some("other"), r#""name":"any","#);
    let response = client.response();
    assert_eq!((response.status, response.json()["error"]["code"].as_i64()), (400, Some(-32020)));
    assert!(served.web.end("TERM").success());
    served.web.nothing_left();
}

#[test]
fn what_belongs_to_a_call_goes_to_its_stream_and_to_no_other() {
    let served = Served::new(vec![tool("any")], &[]);
    let clients = [json!({"sampling": {}}), json!({"sampling": {}})].map(|capabilities| {
        let session = served.web.session("2025-11-25", capabilities);
        let mut listener = served.web.connect();
        listener.listen(&session);
        assert_eq!(listener.head().header("x-accel-buffering"), Some("no"));
        (session, listener, served.web.connect())
    });
    let [(one, mut own_one, mut post_one), (two, mut own_two, mut post_two)] = clients;
    let params = |n: u64| json!({"name": "any", "arguments": {"n": n}, "_meta": {"progressToken": n}});
    post_one.request(&one, 1, "tools/call", params(1));
    let first = served.peer.call();
    served.peer.send("", progress(&first.progress_token, 1));
    let sampling = SamplingRequest {
        messages_json: r#"[{"role":"user","content":"hi"}]"#.into(),
        call_request_id: first.id.clone(),
        ..SamplingRequest::default()
    };
    served.peer.send("ask", Msg::SamplingRequest(sampling));
    assert_eq!(post_one.head().header("content-type"), Some("text/event-stream"));
    let priming = post_one.event().expect("an event");
    assert!(!priming.id.is_empty() && priming.data.trim().is_empty(), "{priming:?}");
    assert_eq!(post_one.message()["method"], "notifications/progress");
    let question = post_one.message();
    assert_eq!(question["method"], "sampling/createMessage");
    // Only who was asked may answer.
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "m"}});
    for (session, is_mine) in [(&two, false), (&one, true)] {
        post_two.post(session, &answer.to_string());
        assert_eq!(post_two.response().status, 202);
        if is_mine {
            let Some(Msg::SamplingResponse(response)) = served.peer.next().msg else { panic!("an answer") };
            assert!(response.error.is_empty(), "{response:?}");
        }
    }
    served.peer.answer_text(&first, "done");
    assert_eq!(post_one.message()["result"]["content"][0]["text"], "done");
    assert_eq!(post_one.event(), None);
    // What belongs to no call goes to those who wanted it, and is the first that these hear.
    for session in [&one, &two] {
        assert_eq!(post_two.ask(session, "resources/subscribe", json!({"uri": "a:b"})).status, 200);
    }
    let changed = ResourceChangedNotification { uri: "a:b".into() };
    served.peer.send("", Msg::ResourceChanged(changed));
    for listener in [&mut own_one, &mut own_two] {
        let message = listener.message();
        assert_eq!(message["method"], "notifications/resources/updated", "{message}");
    }
}

#[test]
fn a_client_that_leaves_cancels_in_one_era_and_comes_again_in_the_other() {
    let served = Served::new(vec![tool("any")], &[]);
    let mut client = served.web.connect();
    client.modern("tools/call", Some("any"), r#""name":"any","#);
    let call = served.peer.call();
    drop(client);
    match served.peer.next().msg {
        Some(Msg::Cancel(cancel)) => assert_eq!(cancel.request_id, call.id),
        other => panic!("a cancel was expected: {other:?}"),
    }
    served.peer.answer_text(&call, "too late");

    let session = served.web.session("2025-11-25", json!({}));
    let mut client = served.web.connect();
    let params = json!({"name": "any", "_meta": {"progressToken": "p"}});
    client.request(&session, 7, "tools/call", params);
    let call = served.peer.call();
    served.peer.send("", progress(&call.progress_token, 1));
    client.head();
    let priming = client.event().expect("an event");
    assert_eq!(client.message()["params"]["progress"], 1);
    drop(client);
    served.peer.send("", progress(&call.progress_token, 2));
    served.peer.answer_text(&call, "kept");
    let mut client = served.web.connect();
    client.listen(&format!("{session}Last-Event-ID: {}\r\n", priming.id));
    assert_eq!(client.head().status, 200);
    let mut messages = Vec::new();
    while let Some(chunk) = client.chunk() {
        messages.push(chunk);
    }
    let all = messages.concat();
    assert!(all.contains("\"progress\":1") && all.contains("\"progress\":2"), "{all}");
    assert!(all.contains("kept") && !all.contains("too late"), "{all}");
}

#[test]
fn news_go_to_those_who_listen() {
    let served = Served::new(vec![tool("one"), tool("two")], &[]);
    let mut modern = served.web.connect();
    modern.modern("subscriptions/listen", None, r#""notifications":{"toolsListChanged":true},"#);
    assert_eq!(modern.head().status, 200);
    assert_eq!(modern.message()["method"], "notifications/subscriptions/acknowledged");
    let session = served.web.session("2025-06-18", json!({}));
    let mut client = served.web.connect();
    let list = client.ask(&session, "tools/list", json!({})).json();
    assert_eq!(list["result"]["tools"].as_array().map(Vec::len), Some(2));
    let mut listener = served.web.connect();
    listener.listen(&session);
    assert_eq!(listener.head().status, 200);
    client.request(&session, 2, "tools/call", json!({"name": "one"}));
    let call = served.peer.call();
    let mut result = text_result("ok");
    result.disable_tools = vec!["two".into()];
    served.peer.answer(&call, result);
    assert_eq!(client.response().status, 200);
    for listener in [&mut modern, &mut listener] {
        assert_eq!(listener.message()["method"], "notifications/tools/list_changed");
    }
}

#[test]
fn sessions_end_and_clients_recover_after_a_restart() {
    let dir = Arc::new(Dir::new());
    let file = example("basic");
    let mut web = Web::start(&dir, &file, &[]);
    let session = web.session("2025-11-25", json!({}));
    let mut client = web.connect();
    assert_eq!(client.call(&session, "add", json!({"a": 1, "b": 2})), "3");
    web.end("KILL");
    let port = web.address.rsplit(':').next().unwrap().to_owned();
    let web = Web::start(&dir, &file, &["--port", &port]);
    let mut client = web.connect();
    let response = client.ask(&session, "tools/list", json!({}));
    assert_eq!(response.status, 404, "{response:?}");
    // Some clients begin anew with the old name still in their headers.
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let response = client.ask(&session, "initialize", hello);
    let fresh = format!("Mcp-Session-Id: {}\r\n", response.header("mcp-session-id").expect("a session"));
    assert_ne!(fresh, session);
    assert_eq!(client.call(&fresh, "add", json!({"a": 2, "b": 2})), "4");
    client.send(format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{fresh}\r\n"));
    assert_eq!(client.response().status, 204);
    assert_eq!(client.ask(&fresh, "tools/list", json!({})).status, 404);
}

#[test]
fn a_session_may_have_a_tool_process_of_its_own() {
    let dir = Arc::new(Dir::new());
    let flags = ["--isolate", "session", "--processes-max", "2"];
    let mut web = Web::start(&dir, &example("tool-everything"), &flags);
    let (mine, other) = (web.session("2025-11-25", json!({})), web.session("2025-11-25", json!({})));
    let mut client = web.connect();
    assert_eq!(client.call(&mine, "unlock", json!({})), "unlocked");
    let tools = |client: &mut Client, session: &str| {
        client.ask(session, "tools/list", json!({})).json()["result"]["tools"].to_string()
    };
    assert!(tools(&mut client, &mine).contains("\"secret\""));
    assert!(!tools(&mut client, &other).contains("\"secret\""), "what one does is nothing to the other");
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let refused = client.ask("", "initialize", hello.clone());
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("--processes-max"), "{}", refused.body);
    client.send(format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{mine}\r\n"));
    assert_eq!(client.response().status, 204);
    assert_eq!(client.ask("", "initialize", hello).status, 200);
    assert!(web.end("TERM").success());
    web.nothing_left();
}

#[test]
fn batches_belong_to_one_revision() {
    let dir = Arc::new(Dir::new());
    let web = Web::start(&dir, &example("basic"), &[]);
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":1}}}]"#;
    let notes = r#"[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}]"#;
    let mut client = web.connect();
    let session = web.session("2025-03-26", json!({}));
    client.post(&session, batch);
    let answers = client.response().json();
    assert_eq!(answers.as_array().map(Vec::len), Some(2), "{answers}");
    client.post(&session, notes);
    assert_eq!(client.response().status, 202);
    let session = web.session("2025-06-18", json!({}));
    client.post(&session, batch);
    assert_eq!(client.response().json()["error"]["code"], -32600);
}

#[test]
fn it_listens_where_it_is_told() {
    let dir = Arc::new(Dir::new());
    let path = dir.join("s.sock");
    let unix = format!("unix:{}", path.display());
    let mut web = Web::start(&dir, &example("basic"), &["--listen", &unix]);
    assert_eq!(web.address, unix);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /nowhere HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 404") && text.contains("/mcp"), "{text}");
    // Nobody else can have it while we live, and whoever comes after a kill can.
    let other = Setup::run(&dir).arg(example("basic")).args(["--listen", &unix]).output();
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("is in use"), "{other:?}");
    web.end("KILL");
    assert!(path.exists());
    let mut web = Web::start(&dir, &example("basic"), &["--listen", &unix]);
    assert!(web.end("TERM").success() && !path.exists());

    let web = Web::start(&dir, &example("basic"), &["--listen", "[::1]:0"]);
    assert!(web.address.starts_with("[::1]:"), "{}", web.address);
    assert_eq!(web.connect().ask("", "ping", json!({})).status, 400);
    let port = web.address.rsplit(':').next().unwrap();
    let taken = Setup::run(&dir).arg(example("basic")).args(["--listen", &format!("[::1]:{port}")]).output();
    assert_eq!(taken.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&taken.stderr).contains("cannot listen"), "{taken:?}");
}

#[test]
fn pages_may_ask_when_their_origin_is_allowed() {
    let dir = Arc::new(Dir::new());
    let web = Web::start(&dir, &example("basic"), &["--allow-origin", "https://app.example"]);
    let mut client = web.connect();
    let origin = "Origin: https://app.example\r\n";
    client.send(format!(
        "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n{origin}Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type, mcp-param-city\r\n\r\n"
    ));
    let response = client.response();
    assert_eq!(response.status, 200);
    assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(response.header("access-control-allow-headers"), Some("content-type, mcp-param-city"));
    assert!(
        response.header("access-control-allow-methods").is_some_and(|methods| methods.contains("DELETE"))
    );
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let response = client.ask(origin, "initialize", hello.clone());
    assert_eq!(response.status, 200);
    assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(
        response
            .header("access-control-expose-headers")
            .is_some_and(|names| names.starts_with("Mcp-Session-Id"))
    );
    let response = client.ask("Origin: https://evil.example\r\n", "initialize", hello.clone());
    assert!(response.status == 403 && response.body.contains("--allow-origin"), "{response:?}");
    assert_eq!(response.header("access-control-allow-origin"), None);
    client.send(post("", "{}").replace("Host: localhost", "Host: evil.example"));
    assert_eq!(client.response().status, 403);
    // A program on this machine is no page.
    assert_eq!(client.ask("", "initialize", hello).status, 200);
}

#[test]
fn a_secret_is_asked_of_everybody() {
    let dir = Arc::new(Dir::new());
    let setup = Setup::run(&dir).arg(example("basic")).env("TOKEN", "s3cret").args(["--auth", "token:TOKEN"]);
    let web = Web::spawn(setup.args(["--port", "0"]), &dir);
    let mut client = web.connect();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    for headers in ["", "Authorization: Bearer wrong\r\n"] {
        let response = client.ask(headers, "initialize", hello.clone());
        assert_eq!(response.status, 401, "{headers}");
        assert!(response.header("www-authenticate").is_some(), "{response:?}");
    }
    let token = "Authorization: Bearer s3cret\r\n";
    let response = client.ask(token, "initialize", hello);
    let session = format!("Mcp-Session-Id: {}\r\n", response.header("mcp-session-id").expect("a session"));
    assert_eq!(client.ask(&session, "tools/list", json!({})).status, 401);
    assert_eq!(client.ask(&format!("{session}{token}"), "tools/list", json!({})).status, 200);
}

#[test]
fn large_messages_pass_in_both_directions() {
    let served = Served::new(vec![tool("any")], &[]);
    let session = served.web.session("2025-11-25", json!({}));
    let mut client = served.web.connect();
    let text = "x".repeat(5 << 20);
    client.request(&session, 1, "tools/call", json!({"name": "any", "arguments": {"text": text}}));
    let call = served.peer.call();
    assert!(call.arguments.len() > text.len());
    served.peer.answer_text(&call, &text);
    let response = client.response();
    assert!(response.json()["result"]["content"][0]["text"] == text.as_str());
    // And in chunks of any size.
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "any", "arguments": {"text": text}}}).to_string();
    client.send(format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n{session}\r\n"
    ));
    for piece in body.as_bytes().chunks(100_003) {
        client.send(format!("{:x}\r\n", piece.len()));
        client.send(piece);
        client.send("\r\n");
    }
    client.send("0\r\n\r\n");
    let call = served.peer.call();
    served.peer.answer_text(&call, "taken");
    assert_eq!(client.response().json()["result"]["content"][0]["text"], "taken");
}

#[test]
fn a_crash_of_the_tool_process_is_an_answer_to_each() {
    let served = Served::new(vec![tool("any")], &[]);
    let session = served.web.session("2025-11-25", json!({}));
    let mut clients: Vec<_> = (0..8).map(|_| served.web.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.request(&session, n as u64, "tools/call", json!({"name": "any", "arguments": {"n": n}}));
        if n == 0 {
            served.peer.call();
        }
    }
    process::signal(served.peer.pid, "KILL");
    // Those that had not begun are taken by the next process.
    let next = served.tool.serve(vec![tool("any")]);
    for _ in 1..clients.len() {
        let call = next.call();
        next.answer_text(&call, &call.arguments);
    }
    for (n, client) in clients.iter_mut().enumerate() {
        let result = client.response().json()["result"].clone();
        let text = result["content"][0]["text"].as_str().expect("a text");
        if n == 0 {
            assert!(result["isError"] == true && text.contains("SIGKILL"), "{result}");
        } else {
            assert_eq!(text, format!("{{\"n\":{n}}}"));
        }
    }
}

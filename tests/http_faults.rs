//! Clients over HTTP that are slow, greedy, broken or hostile: whatever they do, the others are
//! served, and every request has one answer or a connection that ends.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use pmcp_bridge::wire::protomcp::ProgressNotification;
use pmcp_bridge::wire::protomcp::envelope::Msg;
use serde_json::json;

use crate::support::dir::Dir;
use crate::support::pmcp::example;
use crate::support::raw_tool::tool;
use crate::support::web::{Client, Served, Web, post};
use crate::support::{PATIENCE, eventually, process};

const MIB: u64 = 1 << 20;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn basic(flags: &[&str]) -> (Web, Arc<Dir>) {
    let dir = Arc::new(Dir::new());
    (Web::start(&dir, &example("basic"), flags), dir)
}

#[test]
fn bytes_may_come_one_at_a_time_and_many_requests_at_once() {
    let (web, _dir) = basic(&[]);
    let session = web.session("2025-11-25", json!({}));
    let mut client = web.connect();
    for byte in post(&session, PING).bytes() {
        client.send([byte]);
    }
    assert_eq!(client.response().json()["result"], json!({}));
    // Pipelined, of both eras, and answered in their order.
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    client.send([post(&session, PING), post(&session, list), post("", PING), post(&session, PING)].concat());
    assert_eq!(client.response().json()["result"], json!({}));
    assert_eq!(client.response().json()["result"]["tools"][0]["name"], "add");
    assert_eq!(client.response().status, 400);
    assert_eq!(client.response().json()["result"], json!({}));
    // Half a connection is enough for an answer.
    client.send(post(&session, PING));
    client.hang_up();
    assert_eq!(client.response().json()["result"], json!({}));
    assert!(client.is_closed());
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let (web, _dir) = basic(&["--max-message", "64K"]);
    let session = web.session("2025-11-25", json!({}));
    let long = "x".repeat(40 * 1024);
    for (text, expected) in [
        (format!("GET /{long}"), 431),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(200)), 431),
        (post(&session, PING).replace("Content-Length: 40", "Content-Length: 999999999"), 413),
        (post(&session, PING).replace("Content-Length: 40", "Content-Length: 99999999999999999999999"), 413),
        (
            format!(
                "{}{}",
                post(&session, "").replace("Content-Length: 0", "Transfer-Encoding: chunked"),
                "fffff\r\n"
            ),
            413,
        ),
    ] {
        let mut client = web.connect();
        client.send(&text);
        if expected == 413 {
            client.send(vec![b' '; 100 * 1024]);
        }
        let response = client.response();
        assert_eq!(response.status, expected, "{}", &text[..80]);
        assert_eq!(response.header("connection"), Some("close"));
    }
    let peak = process::memory(web.pid(), "VmHWM");
    assert!(peak < 30 * MIB, "{} MiB", peak / MIB);
}

#[test]
fn nothing_is_smuggled_in_behind_a_request() {
    let (web, _dir) = basic(&[]);
    let session = web.session("2025-11-25", json!({}));
    let evil = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{session}\r\n");
    let head =
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{session}");
    for framing in [
        "Content-Length: 40\r\nContent-Length: 0\r\n",
        "Content-Length: 0, 40\r\n",
        "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding:\x0bchunked\r\n",
        "Content-Length : 0\r\n",
        "X: y\r\n Content-Length: 0\r\n",
        "X: y\nContent-Length: 0\r\n",
        "X: y\rContent-Length: 0\r\n",
        "Host: other\r\n",
    ] {
        let mut client = web.connect();
        client.send(format!("{head}{framing}\r\n0\r\n\r\n{evil}"));
        let response = client.response();
        assert!(matches!(response.status, 400 | 501), "{framing:?}: {response:?}");
        assert!(client.is_closed(), "{framing:?}");
    }
    for body in [
        "5\nhello\r\n0\r\n\r\n",
        "5;\n\r\nhello\r\n",
        "5\r\nhelloworld\r\n0\r\n\r\n",
        "-5\r\n",
        "5 \r\nhello\r\n",
    ] {
        let mut client = web.connect();
        client.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n{body}{evil}"));
        assert_eq!(client.response().status, 400, "{body:?}");
        assert!(client.is_closed(), "{body:?}");
    }
    assert_eq!(web.connect().ask(&session, "ping", json!({})).status, 200, "the session lives");
}

#[test]
fn no_text_of_a_client_becomes_a_header() {
    let (web, _dir) = basic(&["--allow-origin", "*", "--insecure"]);
    let mut client = web.connect();
    // What a client says comes back in an error, and its origin in a header.
    let body = r#"{"jsonrpc":"2.0","id":"a\r\nEvil: 1","method":"b\r\nEvil: 1\r\n\r\n","params":{}}"#;
    client.post("Origin: https://a\tb;c\r\nMcp-Session-Id: x\x7fy\r\n", body);
    let response = client.head();
    assert!(response.header("evil").is_none(), "{response:?}");
    assert!(response.status >= 400);
}

#[test]
fn a_reader_that_takes_nothing_is_left_and_hurts_nobody() {
    let served = Served::new(vec![tool("any")], &[]);
    let session = served.web.session("2025-11-25", json!({}));
    let mut slow = served.web.connect();
    let params = json!({"name": "any", "_meta": {"progressToken": "slow"}});
    slow.request(&session, 1, "tools/call", params);
    let call = served.peer.call();
    // 40 MiB of news for somebody who does not read.
    let text = "x".repeat(64 * 1024);
    for n in 0..640 {
        let progress = ProgressNotification {
            progress_token: call.progress_token.clone(),
            progress: n,
            message: text.clone(),
            ..ProgressNotification::default()
        };
        served.peer.send("", Msg::Progress(progress));
    }
    served.peer.answer_text(&call, "done");
    let mut other = served.web.connect();
    other.request(&session, 2, "tools/call", json!({"name": "any"}));
    let call = served.peer.call();
    served.peer.answer_text(&call, "quick");
    assert_eq!(other.response().json()["result"]["content"][0]["text"], "quick");
    let peak = process::memory(served.web.pid(), "VmHWM");
    assert!(peak < 40 * MIB, "{} MiB", peak / MIB);
    assert!(served.web.stderr().contains("disconnected"), "{}", served.web.stderr());
    // What was on its way arrives, and then the end.
    let mut bytes = Vec::new();
    let mut stream = slow.stream();
    let read = std::io::Read::read_to_end(&mut stream, &mut bytes);
    assert!(read.is_err() || !bytes.ends_with(b"0\r\n\r\n"), "the stream must be seen to have broken");
}

#[test]
fn who_connects_beyond_the_limit_is_told() {
    let (web, _dir) = basic(&["--connections-max", "10"]);
    let mut clients: Vec<Client> = (0..10).map(|_| web.connect()).collect();
    // That it answers says that it has let all of them in.
    for client in &mut clients {
        client.send("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(client.response().status, 404);
    }
    let mut surplus = web.connect();
    let response = surplus.response();
    assert!(response.status == 503 && response.body.contains("--connections-max"), "{response:?}");
    assert_eq!(response.header("retry-after"), Some("1"));
    assert!(surplus.is_closed());
    drop(surplus);
    clients.pop();
    eventually("there is room again", || {
        let mut client = web.connect();
        client.send("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n");
        client.response().status == 404
    });
}

#[test]
fn thousands_of_idle_connections_cost_little_and_wake_nobody() {
    let (web, _dir) = basic(&[]);
    let session = web.session("2025-11-25", json!({}));
    let before = process::memory(web.pid(), "VmRSS");
    let limit = std::fs::read_to_string("/proc/self/limits").unwrap();
    let files = limit.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let files: usize = files.split_whitespace().nth(3).unwrap().parse().unwrap();
    // All tests together have to do with the files that there are.
    let count = (files / 4).min(2000);
    let idle: Vec<TcpStream> = (0..count).map(|_| TcpStream::connect(&web.address).unwrap()).collect();
    let mut client = web.connect();
    assert_eq!(client.call(&session, "add", json!({"a": 1, "b": 2})), "3");
    let each = process::memory(web.pid(), "VmRSS").saturating_sub(before) / count as u64;
    assert!(each < 4 * 1024, "{each} bytes for each of {count}");
    process::stays_idle(web.pid());
    drop(idle);
    assert_eq!(client.call(&session, "add", json!({"a": 2, "b": 2})), "4");
}

#[test]
fn the_end_waits_for_calls_and_ends_streams_well() {
    let mut served = Served::new(vec![tool("any")], &["--grace", "20s"]);
    let session = served.web.session("2025-11-25", json!({}));
    let mut idle = served.web.connect();
    let mut listener = served.web.connect();
    listener.listen(&session);
    assert_eq!(listener.head().status, 200);
    let mut news = served.web.connect();
    news.modern("subscriptions/listen", None, r#""notifications":{"toolsListChanged":true},"#);
    assert_eq!(news.head().status, 200);
    assert_eq!(news.message()["method"], "notifications/subscriptions/acknowledged");
    let mut caller = served.web.connect();
    caller.request(&session, 1, "tools/call", json!({"name": "any"}));
    let call = served.peer.call();
    process::signal(served.web.pid(), "TERM");
    assert!(idle.is_closed());
    eventually("nobody is let in", || TcpStream::connect(&served.web.address).is_err());
    served.peer.answer_text(&call, "in time");
    let response = caller.response();
    assert_eq!(response.json()["result"]["content"][0]["text"], "in time");
    assert_eq!(response.header("connection"), Some("close"));
    assert!(news.message()["result"]["resultType"] == "complete");
    assert_eq!(news.event(), None);
    while listener.event().is_some() {}
    let begin = Instant::now();
    assert!(served.web.wait().success());
    assert!(begin.elapsed() < PATIENCE / 2);
    served.web.nothing_left();
}

#[test]
fn a_kill_under_load_leaves_no_process_and_no_half_answer() {
    let dir = Arc::new(Dir::new());
    let mut web = Web::start(&dir, &example("basic"), &[]);
    let session = web.session("2025-11-25", json!({}));
    let (ready, go) = std::sync::mpsc::channel();
    let callers: Vec<_> = (0..4)
        .map(|n| {
            let (mut client, session, ready) = (web.connect(), session.clone(), ready.clone());
            std::thread::spawn(move || {
                for round in 0.. {
                    let params = json!({"name": "add", "arguments": {"a": n, "b": round}});
                    let body = json!({"jsonrpc": "2.0", "id": n * 1_000_000 + round, "method": "tools/call", "params": params});
                    let mut stream = client.stream();
                    if std::io::Write::write_all(&mut stream, post(&session, &body.to_string()).as_bytes()).is_err() {
                        return;
                    }
                    // A response is whole, or there is none.
                    if client.stream().peek(&mut [0; 1]).ok().is_none_or(|count| count == 0) {
                        return;
                    }
                    let response = client.response();
                    assert_eq!(response.json()["result"]["content"][0]["text"], (n + round).to_string());
                    if round == 50 {
                        ready.send(()).unwrap();
                    }
                }
            })
        })
        .collect();
    for _ in 0..4 {
        go.recv_timeout(PATIENCE).unwrap();
    }
    web.end("KILL");
    for caller in callers {
        caller.join().unwrap();
    }
    eventually("the tool process is gone", || process::of_folder(dir.path()).is_empty());
}

#[test]
fn a_stream_is_broken_off_and_resumed_without_loss() {
    let served = Served::new(vec![tool("any")], &["--stream-time", "300ms"]);
    let session = served.web.session("2025-11-25", json!({}));
    let mut client = served.web.connect();
    client.request(&session, 1, "tools/call", json!({"name": "any", "_meta": {"progressToken": 1}}));
    let call = served.peer.call();
    let mut last = String::new();
    let mut heard = Vec::new();
    for n in 1..=3 {
        if n > 1 {
            client.listen(&format!("{session}Last-Event-ID: {last}\r\n"));
        }
        assert_eq!(client.head().status, 200);
        let progress = ProgressNotification {
            progress_token: call.progress_token.clone(),
            progress: n,
            ..ProgressNotification::default()
        };
        served.peer.send("", Msg::Progress(progress));
        if n == 3 {
            served.peer.answer_text(&call, "whole");
        }
        while let Some(chunk) = client.chunk() {
            for event in chunk.split("\n\n").filter(|event| !event.is_empty()) {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                last = field("id: ").map_or(last, str::to_owned);
                heard.extend(field("data: ").filter(|data| data.len() > 1).map(str::to_owned));
            }
        }
    }
    assert_eq!(heard.len(), 4, "{heard:?}");
    for (n, message) in heard.iter().take(3).enumerate() {
        assert!(message.contains(&format!("\"progress\":{}", n + 1)), "{heard:?}");
    }
    assert!(heard[3].contains("whole"));
}

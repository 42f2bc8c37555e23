//! A server as those see it who run it: probes, numbers, the access log, HUP, and sockets that
//! somebody else opened.

use std::io::Write;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use pmcp_bridge::wire::protomcp::CallToolResponse;
use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::pmcp::{Setup, binary};
use crate::support::raw_tool::{Peer, RawTool, tool};
use crate::support::served::{Response, Served};
use crate::support::{environment, eventually, process};

/// A server whose tool process has not said anything yet.
fn unready(dir: &Arc<Dir>, flags: &[&str], variables: &[(&str, &str)]) -> (Served, RawTool) {
    let raw = RawTool::new(dir);
    let setup = Setup::run(dir).args(["--transport", "http", "--port", "0"]).args(flags).arg(raw.file());
    let setup = variables.iter().fold(setup, |setup, (name, value)| setup.env(name, value));
    (Served::start(setup, 1), raw)
}

/// What the program itself says of a server, and its code.
#[track_caller]
fn health(url: &str) -> (String, i32) {
    let output = Command::new(binary()).args(["health", url]).env_clear().output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let (_, said) = said.trim_end().split_once("z: ").expect("what was asked, and what was answered");
    (said.to_owned(), output.status.code().unwrap())
}

/// A call, from its request to its response.
#[track_caller]
fn call(served: &Served, peer: &Peer, name: &str, headers: &[(&str, &str)], is_error: bool) -> Response {
    let envelope = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": name, "arguments": {}, "_meta": envelope});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let own = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", name)];
    let all = [&own[..], headers].concat();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| served.ask("POST /mcp", &all, &body));
        let call = peer.call();
        let response = CallToolResponse { is_error, result_json: "[]".into(), ..Default::default() };
        peer.answer(&call, response);
        asked.join().unwrap()
    })
}

#[test]
fn probes_tell_whether_a_tool_process_serves_and_need_nothing() {
    let dir = Arc::new(Dir::new());
    let (served, raw) = unready(&dir, &["--auth", "token:T"], &[("T", "secret")]);
    let address = served.address().to_owned();
    let ready = || health(&address);
    let peer = raw.connect();
    assert_eq!(ready(), ("503 the tool process is starting".into(), 1));
    assert_eq!(health(&format!("http://{address}/livez")), ("200 alive".into(), 0));
    peer.handshake(vec![tool("any")]);
    eventually("it is ready", || ready().1 == 0);
    assert_eq!(ready(), ("200 ready".into(), 0));
    // Whoever probes brings no secret; on loopback only a page would know us by another name.
    let response = served.ask("GET /readyz", &[("Host", "localhost:80")], "");
    assert_eq!((response.status, &*response.body), (200, "ready\n"));
    assert_eq!(served.ask("GET /readyz", &[("Host", "10.1.2.3:80")], "").status, 403);
    raw.order("echo 'a secret word' >&2; exit 3");
    eventually("its end is seen", || ready().1 == 1);
    let peer = raw.connect();
    assert_eq!(ready(), ("503 the tool process is starting".into(), 1));
    peer.handshake(vec![tool("any")]);
    eventually("it is ready again", || ready().1 == 0);
    assert_eq!(served.ask("GET /metrics", &[], "").status, 401);
}

#[test]
fn a_tool_process_that_does_not_start_leaves_the_server_alive_and_says_so() {
    let dir = Arc::new(Dir::new());
    let file = dir.script("tool", "#!/bin/sh\necho 'a secret word' >&2\nexit 1\n");
    let setup = Setup::run(&dir).args(["--port", "0"]).arg(file);
    let served = Served::start(setup, 1);
    let mut said = String::new();
    eventually("it has died", || {
        said = health(served.address()).0;
        said.contains("died")
    });
    assert!(said.starts_with("503 the tool process died and is started again within"), "{said}");
    assert!(said.ends_with("the log says why"), "{said}");
    assert_eq!(health(&format!("http://{}/livez", served.address())), ("200 alive".into(), 0));
}

#[test]
fn metrics_are_what_prometheus_reads_and_what_happened() {
    let Some(python) = environment::file("operation/bin/python") else { return };
    let dir = Arc::new(Dir::new());
    let (served, raw) = unready(&dir, &["--auth", "token:T"], &[("T", "secret")]);
    let bearer = ("Authorization", "Bearer secret");
    // A name may hold whatever its author likes.
    let odd = "o\"d}d\n\\ 1";
    let peer = raw.serve(vec![tool("any"), tool(odd)]);
    assert_eq!(call(&served, &peer, "any", &[bearer], false).status, 200);
    assert_eq!(call(&served, &peer, "any", &[bearer], true).status, 200);
    // Nor need a host know its names.
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"no/such\"method"}"#;
    let response = served.initialize(&[bearer]);
    let session = response.one("mcp-session-id").to_owned();
    assert_eq!(served.ask("POST /mcp", &[bearer, ("Mcp-Session-Id", &session)], list).status, 200);
    let odd_call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": odd}});
    std::thread::scope(|scope| {
        let headers = [bearer, ("Mcp-Session-Id", session.as_str())];
        let body = odd_call.to_string();
        let asked = scope.spawn({
            let served = &served;
            move || served.ask("POST /mcp", &headers, &body)
        });
        let call = peer.call();
        assert_eq!(call.name, odd);
        peer.answer_text(&call, "odd");
        assert_eq!(asked.join().unwrap().status, 200);
    });
    let page = served.ask("GET /metrics", &[bearer], "");
    assert_eq!(page.one("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let samples = parsed(&python, &page.body);
    let value = |name: &str, labels: Value| {
        let wanted = [json!(name), labels];
        let found = samples.iter().find(|sample| sample[0] == wanted[0] && sample[1] == wanted[1]);
        found.unwrap_or_else(|| panic!("no {wanted:?} in {}", page.body))[2].as_f64().unwrap()
    };
    for (name, labels, expected) in [
        ("pmcp_requests_total", json!({"method": "tools/call", "outcome": "result"}), 2.0),
        ("pmcp_requests_total", json!({"method": "tools/call", "outcome": "tool_error"}), 1.0),
        ("pmcp_requests_total", json!({"method": "initialize", "outcome": "result"}), 1.0),
        ("pmcp_errors_total", json!({"code": "-32601"}), 1.0),
        ("pmcp_tool_call_duration_seconds_count", json!({"tool": "any"}), 2.0),
        ("pmcp_tool_call_duration_seconds_count", json!({"tool": odd}), 1.0),
        ("pmcp_tool_call_failures_total", json!({"tool": "any"}), 1.0),
        ("pmcp_tool_process_starts_total", json!({}), 1.0),
        ("pmcp_calls_in_flight", json!({}), 0.0),
        ("pmcp_sessions", json!({}), 1.0),
        ("pmcp_ready", json!({}), 1.0),
        ("pmcp_build_info", json!({"version": env!("CARGO_PKG_VERSION")}), 1.0),
        ("pmcp_http_responses_total", json!({"status": "200"}), 5.0),
    ] {
        assert_eq!(value(name, labels.clone()), expected, "{name} {labels}");
    }
    for name in ["process_resident_memory_bytes", "pmcp_uptime_seconds", "process_start_time_seconds"] {
        assert!(value(name, json!({})) > 0.0, "{name}");
    }
    assert!(value("pmcp_http_received_bytes_total", json!({})) > 1000.0);
    assert!(value("pmcp_http_sent_bytes_total", json!({})) > 500.0);
}

/// The samples of a page, as Prometheus's parser finds them.
#[track_caller]
fn parsed(python: &Path, page: &str) -> Vec<Value> {
    let mut command = Command::new(python);
    command.arg(environment::source("operation/metrics.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{page}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_access_log_tells_everything_but_secrets() {
    let dir = Arc::new(Dir::new());
    let variables = [("T", "token-secret"), ("K", "key-secret")];
    let flags = ["--auth", "token:T", "--auth", "apikey:K", "-v"];
    let (served, raw) = unready(&dir, &flags, &variables);
    let peer = raw.serve(vec![tool("any")]);
    let secrets = [("Authorization", "Bearer token-secret"), ("X-API-Key", "key-secret")];
    assert_eq!(call(&served, &peer, "any", &secrets, false).status, 200);
    let session = served.initialize(&secrets).one("mcp-session-id").to_owned();
    served.ask("GET /mcp?key=query-secret", &[("Authorization", "Bearer wrong-secret")], "");
    served.ask("GET /no%0Asuch\u{1b}", &[], "");
    let logged = |what: &str| served.stderr().lines().find(|line| line.contains(what)).map(str::to_owned);
    for (begin, end) in [
        ("method=POST path=/mcp status=200 sent=", " principal="),
        ("method=POST path=/mcp status=200 sent=", " session="),
        ("method=GET path=/mcp status=401 sent=", ""),
        ("status=40", ""),
    ] {
        eventually(begin, || {
            logged(begin).is_some_and(|line| line.contains(end)) || {
                let log = served.stderr();
                log.lines().any(|line| line.contains(begin) && line.contains(end))
            }
        });
    }
    let log = served.stderr();
    assert!(!log.contains("secret") && !log.contains(&session), "{log}");
    assert!(log.chars().all(|c| c == '\n' || !c.is_control()), "{log:?}");
    let line = logged("status=200").unwrap();
    assert!(line.starts_with("pmcp: debug: http method=POST path=/mcp status=200 sent="), "{line}");
    let (_, principal) = line.split_once("principal=").unwrap();
    assert_eq!(principal.len(), 8, "only a part of a hash: {line}");
}

/// A key of an issuer, good enough to be read.
const KEYS: &str =
    r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

#[test]
fn a_hang_up_reads_keys_again_and_ends_nothing() {
    let dir = Arc::new(Dir::new());
    let keys = dir.write("keys.json", KEYS);
    let path = dir.join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(crate::support::PATIENCE)).unwrap();
    let flags = ["--oauth-issuer", "https://issuer.example.com", "--oauth-audience", "https://a.example.com"];
    let flags = [&flags[..], &["--oauth-jwks", keys.to_str().unwrap(), "-v"]].concat();
    let (served, raw) = unready(&dir, &flags, &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    let _peer = raw.serve(vec![tool("any")]);
    let heard = |begin: &str| {
        let mut buffer = [0; 1024];
        loop {
            let count = manager.recv(&mut buffer).expect("it tells something");
            if buffer[..count].starts_with(begin.as_bytes()) {
                return;
            }
        }
    };
    heard("READY=1");
    for count in 1..3 {
        process::signal(served.pid(), "HUP");
        eventually("the keys are read", || served.stderr().matches("1 keys of the issuer").count() == count);
        heard("RELOADING=1\nMONOTONIC_USEC=");
        heard("READY=1");
    }
    assert_eq!(health(served.address()).1, 0);
    process::signal(served.pid(), "TERM");
    heard("STOPPING=1");
}

/// Starts a server with a listener where systemd puts it.
#[track_caller]
fn activated(dir: &Arc<Dir>, listener: OwnedFd, raw: &RawTool) -> Served {
    // A shell moves what is its standard input to the third descriptor, and knows its own pid.
    let script = "exec 3<&0 0</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=mcp exec \"$@\"";
    let setup = Setup::run(dir).args(["--transport", "http"]).arg(raw.file());
    Served::start_with(setup.under(["sh", "-c", script, "sh"]), 1, Stdio::from(listener))
}

#[test]
fn sockets_of_the_service_manager_are_used_and_not_passed_on() {
    let dir = Arc::new(Dir::new());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let raw = RawTool::new(&dir);
    let served = activated(&dir, listener.into(), &raw);
    assert_eq!(served.urls, [format!("http://{address}/mcp")]);
    let peer = raw.serve(vec![tool("any")]);
    eventually("it is ready", || health(&address).1 == 0);
    assert_eq!(call(&served, &peer, "any", &[], false).status, 200);
    raw.order("echo \"variables: ${LISTEN_FDS-none} ${LISTEN_PID-none}; descriptors: $(ls -l /proc/$$/fd)\" | tr '\\n' ' '; echo");
    // Neither the socket nor its variables are a tool's business.
    eventually("it lists", || served.stderr().contains("variables:"));
    let log = served.stderr();
    let line = log.lines().find(|line| line.contains("variables:")).unwrap();
    assert!(line.contains("variables: none none;") && !line.contains("socket:"), "{line}");

    let dir = Arc::new(Dir::new());
    let path = dir.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let raw = RawTool::new(&dir);
    let served = activated(&dir, listener.into(), &raw);
    let url = format!("unix:{}", path.display());
    assert_eq!(served.urls, [url.as_str()]);
    let _peer = raw.serve(vec![tool("any")]);
    eventually("it is ready", || health(&url).1 == 0);
    drop(served);
    assert!(path.exists(), "it belongs to who made it");
}

#[test]
fn a_handed_socket_that_strangers_can_reach_needs_what_any_such_does() {
    let dir = Arc::new(Dir::new());
    dir.script("tool", "#!/bin/sh\nexit 1\n");
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let script = "exec 3<&0; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"";
    for (stdin, said) in [
        (Stdio::from(OwnedFd::from(listener)), "--insecure"),
        (Stdio::null(), "LISTEN_FDS: descriptor 3 is no socket that listens"),
    ] {
        let setup = Setup::run(&dir).args(["--transport", "http", "tool"]).under(["sh", "-c", script, "sh"]);
        let output = setup.build().stdin(stdin).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(said), "{error}");
    }
}

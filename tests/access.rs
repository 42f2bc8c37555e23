//! Who may ask over HTTP: what refuses to start, names, secrets, how often.

use std::sync::Arc;

use crate::support::dir::Dir;
use crate::support::pmcp::Setup;
use crate::support::raw_tool::{Peer, RawTool, tool};
use crate::support::served::Served;

/// A server with a tool process.
pub(crate) struct Server {
    served: Served,
    _dir: Arc<Dir>,
    peer: Peer,
}

impl std::ops::Deref for Server {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.served
    }
}

/// Starts one with these flags, on any port of 127.0.0.1 if they name none, in this folder.
#[track_caller]
pub(crate) fn serve_in(dir: Arc<Dir>, flags: &[&str], environment: &[(&str, &str)]) -> Server {
    let raw = RawTool::new(&dir);
    let port = if flags.contains(&"--port") { &[][..] } else { &["--port", "0"] };
    let setup = Setup::run(&dir).args(["--transport", "http"]).args(port).args(flags).arg(raw.file());
    let setup = environment.iter().fold(setup, |setup, (name, value)| setup.env(name, value));
    let served = Served::start(setup, 1);
    let peer = raw.serve(vec![tool("any")]);
    Server { served, _dir: dir, peer }
}

fn serve(flags: &[&str], environment: &[(&str, &str)]) -> Server {
    serve_in(Arc::new(Dir::new()), flags, environment)
}

/// What is said where these flags refuse to start.
#[track_caller]
fn refused(flags: &[&str], environment: &[(&str, &str)]) -> String {
    let dir = Arc::new(Dir::new());
    dir.script("tool.sh", "#!/bin/sh\nexit 1\n");
    let setup = Setup::run(&dir).args(["--transport", "http"]).args(flags).arg("tool.sh");
    let setup = environment.iter().fold(setup, |setup, (name, value)| setup.env(name, value));
    let output = setup.output();
    assert_eq!(output.status.code(), Some(2), "{flags:?}");
    assert!(output.stdout.is_empty(), "{flags:?}");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn what_would_let_strangers_in_does_not_start() {
    let token = ["--port", "0", "--auth", "token:T"];
    for (flags, environment, said) in [
        (&token[..], &[][..], "the variable T is not set"),
        (&token, &[("T", "")], "the variable T holds is empty"),
        (&token, &[("T", "s3cret\n")], "white space"),
        (&["--auth", "token:A", "--auth", "token:B"], &[("A", "a"), ("B", "b")], "given twice"),
        (&["--auth", "s3cret"], &[], "token:VARIABLE"),
        (&["--listen", "0.0.0.0:0"], &[], "--insecure"),
        (&["--listen", "[::]:0"], &[], "--insecure"),
        (&["--listen", "127.0.0.1:0", "--listen", "0.0.0.0:0"], &[], "--insecure"),
        (&["--port", "0", "--allow-origin", "*"], &[], "--insecure"),
        (&["--port", "0", "--oauth-issuer", "https://i"], &[], "all three"),
        (&["--port", "0", "--rate", "0/s"], &[], "--rate"),
        (&["--port", "0", "--tls-cert", "c"], &[], "both"),
    ] {
        let line = refused(flags, environment);
        assert!(line.contains(said) && !line.contains("s3cret\n"), "{flags:?}: {line}");
    }
}

#[test]
fn secrets_are_needed_for_everything_but_health() {
    let server =
        serve(&["--auth", "token:T", "--auth", "apikey:K", "-v"], &[("T", "s3cret-t"), ("K", "s3cret-k")]);
    let token = ("Authorization", "Bearer s3cret-t");
    let key = ("X-API-Key", "s3cret-k");
    assert_eq!(server.initialize(&[token, key]).status, 200);
    for headers in [
        &[][..],
        &[token],
        &[key],
        &[("Authorization", "Bearer s3cret-k"), ("X-API-Key", "s3cret-t")],
        &[("Authorization", "s3cret-t"), key],
        &[("Authorization", "Basic s3cret-t"), key],
        &[("Authorization", "Bearer s3cret-t2"), key],
    ] {
        let response = server.initialize(headers);
        assert_eq!(response.status, 401, "{headers:?}");
        assert!(!response.all("www-authenticate").is_empty(), "{headers:?}");
        assert!(!response.body.contains("s3cret"), "{response:?}");
    }
    let both = server.initialize(&[]);
    assert_eq!(both.all("www-authenticate").len(), 2, "{both:?}");
    assert_eq!(server.initialize(&[token, token, key]).status, 400);
    for (line, status) in [
        ("GET /.well-known/oauth-protected-resource", 404),
        ("GET /mcp", 401),
        ("DELETE /mcp", 401),
        ("GET /metrics", 401),
        ("GET /", 401),
        ("OPTIONS /mcp", 200),
    ] {
        assert_eq!(server.ask(line, &[], "").status, status, "{line}");
    }
    for health in ["GET /livez", "GET /readyz"] {
        assert_ne!(server.ask(health, &[], "").status, 401, "{health}");
    }
    assert!(!server.stderr().contains("s3cret"), "{}", server.stderr());
}

#[test]
fn a_page_that_goes_by_another_name_is_refused() {
    let server = serve(&[], &[]);
    let port = server.address().rsplit(':').next().expect("a port").to_string();
    for host in
        [format!("localhost:{port}"), format!("127.0.0.1:{port}"), "localhost".into(), "[::1]:1".into()]
    {
        assert_eq!(server.initialize(&[("Host", &host)]).status, 200, "{host}");
    }
    let evil = server.initialize(&[("Host", "evil.example")]);
    assert!(evil.status == 403 && evil.body.contains("--allow-host evil.example"), "{evil:?}");
    let page = server.initialize(&[("Origin", "https://evil.example")]);
    assert!(page.status == 403 && page.body.contains("--allow-origin https://evil.example"), "{page:?}");
    let rebound = format!("evil.example:{port}");
    let rebound = [("Host", rebound.as_str()), ("Origin", "http://evil.example")];
    assert_eq!(server.initialize(&rebound).status, 403);
    assert_eq!(server.initialize(&[("Origin", "http://localhost:6274")]).status, 200);
    assert_eq!(server.ask("GET http://evil.example/mcp", &[], "").status, 403, "the whole URL counts");
    assert_eq!(server.ask("OPTIONS /mcp", &[("Origin", "https://evil.example")], "").status, 403);
}

#[test]
fn names_that_are_allowed_and_a_proxy_that_is_trusted() {
    let flags = ["--allow-host", "mcp.example.com", "--allow-origin", "https://app.example.com"];
    let server = serve(&flags, &[]);
    let forwarded = ("X-Forwarded-Host", "mcp.example.com");
    // nginx sends its own name for us by default, or passes on the client's.
    assert_eq!(server.initialize(&[("Host", "mcp.example.com")]).status, 200);
    assert_eq!(server.initialize(&[]).status, 200);
    let own = ("Origin", "https://mcp.example.com");
    assert_eq!(server.initialize(&[("Host", "mcp.example.com"), own]).status, 200);
    assert_eq!(server.initialize(&[forwarded, own]).status, 403, "nobody is trusted");
    let app = server.initialize(&[("Origin", "https://app.example.com")]);
    assert_eq!(app.status, 200);
    assert_eq!(app.one("access-control-allow-origin"), "https://app.example.com");
    let preflight = [("Origin", "https://app.example.com"), ("Access-Control-Request-Method", "POST")];
    let preflight = server.ask("OPTIONS /mcp", &preflight, "");
    assert_eq!(preflight.one("access-control-allow-origin"), "https://app.example.com");
    let trusting = serve(&[&flags[..], &["--proxy", "127.0.0.1"]].concat(), &[]);
    assert_eq!(trusting.initialize(&[forwarded, own]).status, 200);
    assert_eq!(trusting.initialize(&[("X-Forwarded-Host", "evil.example")]).status, 403);
}

#[test]
fn a_page_reads_why_it_was_refused() {
    let flags = ["--auth", "token:T", "--allow-origin", "https://app.example.com"];
    let server = serve(&flags, &[("T", "s3cret")]);
    let refused = server.initialize(&[("Origin", "https://app.example.com")]);
    assert_eq!(
        (refused.status, refused.one("access-control-allow-origin")),
        (401, "https://app.example.com")
    );
    let exposed = refused.one("access-control-expose-headers").to_ascii_lowercase();
    assert!(exposed.contains("www-authenticate") && exposed.contains("retry-after"), "{exposed}");
    let stranger = server.initialize(&[("Origin", "https://evil.example")]);
    assert_eq!((stranger.status, stranger.all("access-control-allow-origin")), (403, Vec::new()));
}

#[test]
fn too_many_requests_are_told_to_wait() {
    let server = serve(&["--rate", "1/h"], &[]);
    let passed = (0..20).take_while(|_| server.initialize(&[]).status == 200).count();
    assert_eq!(passed, 10, "a burst");
    let refused = server.initialize(&[]);
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.one("retry-after").parse().expect("seconds");
    assert!((3500..=3600).contains(&wait), "{wait}");
    assert!(refused.body.contains("1/h"), "{refused:?}");
    assert_ne!(server.ask("GET /livez", &[], "").status, 429);
}

#[test]
fn only_so_many_requests_are_worked_on() {
    let server = serve(&["--max-in-flight", "1"], &[]);
    let session = server.initialize(&[]).one("mcp-session-id").to_string();
    let headers = [("Mcp-Session-Id", session.as_str())];
    let call = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"any\"}}";
    let served = &server.served;
    std::thread::scope(|scope| {
        let first = scope.spawn(|| served.ask("POST /mcp", &headers, call));
        let running = server.peer.call();
        let refused = server.ask("POST /mcp", &headers, call);
        assert_eq!((refused.status, refused.one("retry-after")), (503, "1"));
        assert!(refused.body.contains("--max-in-flight"), "{refused:?}");
        server.peer.answer_text(&running, "done");
        let answered = first.join().expect("an answer");
        assert!(answered.status == 200 && answered.body.contains("done"), "{answered:?}");
    });
    // There is room again.
    std::thread::scope(|scope| {
        let again = scope.spawn(|| served.ask("POST /mcp", &headers, call));
        let running = server.peer.call();
        server.peer.answer_text(&running, "again");
        assert_eq!(again.join().expect("an answer").status, 200);
    });
}

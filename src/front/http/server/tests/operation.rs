//! What is told to those who watch over us.

use super::*;

/// A body, behind its head.
fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").expect(response).1
}

impl World {
    fn ask(&mut self, key: Key, method: &str, path: &str) -> String {
        self.send(key, &format!("{method} {path} HTTP/1.1\r\nHost: any\r\n\r\n"));
        self.got(key)
    }

    fn log(&mut self) -> Vec<String> {
        self.server.take_log()
    }
}

#[test]
fn probes_are_answered_by_what_is_behind() {
    let mut world = World::new();
    let key = world.connect();
    for (path, unready, expected) in [
        ("/livez", None, (200, "alive\n")),
        ("/readyz", None, (200, "ready\n")),
        ("/livez", Some("why"), (200, "alive\n")),
        ("/readyz", Some("why"), (503, "why\n")),
    ] {
        world.bridge.unready = unready.map(Into::into);
        let response = world.ask(key, "GET", path);
        assert_eq!((status(&response), body(&response)), expected, "{path}");
        assert!(response.contains("\r\nCache-Control: no-store\r\n"), "{response}");
        let head = world.ask(key, "HEAD", path);
        assert_eq!((status(&head), body(&head)), (expected.0, ""));
        assert_eq!(status(&world.ask(key, "POST", path)), 405);
    }
    // Until the end it is alive, and sends nobody here.
    world.server.stop();
    world.carry_out();
    let mut world = World::new();
    for (path, expected) in [("/livez", 200), ("/readyz", 503)] {
        let key = world.connect();
        world.send(key, "GET ");
        world.server.stop();
        world.send(key, &format!("{path} HTTP/1.1\r\nHost: any\r\n\r\n"));
        assert_eq!(status(&world.got(key)), expected, "{path}");
        world.server.is_stopping = false;
    }
}

#[test]
fn metrics_hold_what_is_counted_on_both_sides() {
    let mut world = World::with(|config| config.connections_max = 2);
    let (_, _) = world.session("2025-11-25");
    let key = world.connect();
    let sent = "GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n";
    world.send(key, sent);
    let refused = world.got(key);
    let other = world.connect();
    assert!(status(&refused) == 404 && world.server.connected(Peer::Unix).is_some());
    world.carry_out();
    let before = world.server.counts.received;
    let page = world.ask(other, "GET", "/metrics");
    assert!(page.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{page}");
    for line in [
        "behind 7",
        "pmcp_connections 3",
        "pmcp_connections_total 4",
        "pmcp_connections_refused_total 1",
        "pmcp_sessions 1",
        "pmcp_sessions_total 1",
        "pmcp_http_responses_total{status=\"200\"} 1",
        "pmcp_http_responses_total{status=\"404\"} 1",
        "pmcp_http_responses_total{status=\"503\"} 1",
    ] {
        assert!(body(&page).lines().any(|found| found == line), "{line} is not in {page}");
    }
    let asked = "GET /metrics HTTP/1.1\r\nHost: any\r\n\r\n".len() as u64;
    assert!(page.contains(&format!("\npmcp_http_received_bytes_total {}\n", before + asked)), "{page}");
    let head = world.ask(other, "HEAD", "/metrics");
    assert_eq!((status(&head), body(&head)), (200, ""));
}

#[test]
fn what_was_sent_is_counted_to_the_byte() {
    let mut world = World::new();
    let key = world.connect();
    let mut sent = 0;
    for path in ["/livez", "/nowhere", "/metrics"] {
        let before = world.server.counts.sent();
        assert_eq!(before, sent);
        sent += world.ask(key, "GET", path).len() as u64;
    }
}

#[test]
fn each_response_is_logged_when_it_is_over() {
    let mut world = World::with(|config| config.access_log = true);
    let key = world.connect();
    let response = world.ask(key, "GET", "/livez?token=secret");
    assert_eq!(
        world.log(),
        [format!("http method=GET path=/livez status=200 sent={} took=0.000000", response.len())]
    );
    world.send(key, "POST /a=b\"c HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer secret\r\n\r\n");
    assert!(world.log()[0].starts_with("http method=POST path=/a?b?c status=404 sent="));
    world.send(key, "nonsense\r\n\r\n");
    assert!(world.log()[0].starts_with("http method=- path=- status=400 sent="));
    // A session is told by its number, and a stream when it ends.
    let (name, session) = world.session("2025-11-25");
    assert!(world.log()[0].ends_with(&format!(" session={}", session.0)));
    let listener = world.get(&name);
    assert_eq!(world.log(), [""; 0]);
    world.pass(Duration::from_millis(1500));
    world.message(Route::session(session), "{}");
    let sent = world.got(listener).len();
    world.gone(listener);
    let expected =
        format!("http method=GET path=/mcp status=200 sent={sent} took=1.500000 session={}", session.0);
    assert_eq!(world.log(), [expected]);
    let (name, _) = name.trim_end().split_once(": ").map(|(_, name)| (name, ())).unwrap();
    world.session("2025-11-25");
    assert!(world.log().iter().all(|line| !line.contains(name) && !line.contains("secret")));
}

#[test]
fn nothing_is_logged_that_nobody_reads() {
    let mut world = World::new();
    let key = world.connect();
    world.ask(key, "GET", "/livez");
    assert_eq!(world.log(), [""; 0]);
    let mut world = World::with(|config| config.access_log = true);
    let key = world.connect();
    for _ in 0..crate::limits::ACCESS_LINES_MAX + 7 {
        world.ask(key, "GET", "/livez");
    }
    let lines = world.log();
    assert_eq!(lines.len(), crate::limits::ACCESS_LINES_MAX + 1);
    assert!(lines.last().unwrap().contains("(7 more"));
}

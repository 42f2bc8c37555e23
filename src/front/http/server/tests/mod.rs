//! Clients and a bridge that only writes down what it is told, on a clock that the test moves.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::front::http::guard::Rules;
use crate::limits::{
    HTTP_BODY_STALL, HTTP_EVICT_AFTER, HTTP_FINISHED_MAX, HTTP_HEAD_TIMEOUT, HTTP_KEEP_ALIVE, HTTP_LINGER,
    HTTP_LISTENERS_MAX, HTTP_QUIET, HTTP_TICK, HTTP_WRITE_STALL, LARGE_MIN,
};

/// What belongs to one era, and what to the other.
mod eras;
/// Bounds of time and number, and what is refused.
mod limits;
/// Probes, numbers, the access log.
mod operation;

/// The bridge.
#[derive(Default)]
struct Heard {
    open: Vec<SessionId>,
    messages: Vec<(Route, HostMessage<'static>)>,
    bodies: Vec<(Key, Vec<u8>)>,
    names: u8,
    unready: Option<String>,
}

impl Backend for Heard {
    fn open(&mut self, session: SessionId, _: bool, _: &Principal) {
        self.open.push(session);
    }

    fn close(&mut self, session: SessionId) {
        assert!(self.open.contains(&session), "it is closed once");
        self.open.retain(|open| *open != session);
    }

    fn hand_in(&mut self, route: Route, message: HostMessage<'_>) {
        assert!(self.open.contains(&route.session), "a message of a session that is open");
        self.messages.push((route, message.into_owned()));
    }

    fn parse(&mut self, connection: Key, body: Vec<u8>) {
        self.bodies.push((connection, body));
    }

    fn input_schema(&self, _: &str) -> Option<&str> {
        None
    }

    fn unready(&self) -> Option<String> {
        self.unready.clone()
    }

    fn write_metrics(&self, page: &mut Page<'_>) {
        page.number("behind", crate::metrics::Kind::Gauge, "What the bridge counts.", 7);
    }

    fn random(&mut self) -> Option<[u8; 16]> {
        self.names += 1;
        Some([self.names; 16])
    }
}

/// A server and all that it sent.
struct World {
    server: Server,
    bridge: Heard,
    now: Instant,
    sent: BTreeMap<Key, String>,
    closed: Vec<Key>,
    cut: Vec<Key>,
}

impl World {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            message_max: 4 * LARGE_MIN,
            connections_max: 50,
            sessions_max: 5,
            sessions_flag: "sessions-max",
            session_idle: Duration::from_secs(600),
            stream_time: None,
            access_log: false,
        };
        change(&mut config);
        let now = Instant::now();
        Self {
            server: Server::new(config, Guard::new(Rules::default()), now),
            bridge: Heard::default(),
            now,
            sent: BTreeMap::new(),
            closed: Vec::new(),
            cut: Vec::new(),
        }
    }

    fn connect(&mut self) -> Key {
        let key = self.server.connected(Peer::Unix).expect("there is room");
        self.carry_out();
        key
    }

    /// Carries out what the server wants, as the loop does.
    fn carry_out(&mut self) {
        loop {
            let effects = self.server.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match effect {
                    Effect::Send(key, bytes) => {
                        assert!(!self.closed.contains(&key), "nothing is sent behind the end");
                        self.sent.entry(key).or_default().push_str(&String::from_utf8(bytes).unwrap());
                    }
                    Effect::More(key) => self.server.received(key, b"", &mut self.bridge),
                    Effect::Close(key) => self.closed.push(key),
                    Effect::Cut(key) => self.cut.push(key),
                }
            }
        }
    }

    fn send(&mut self, key: Key, text: &str) {
        self.server.received(key, text.as_bytes(), &mut self.bridge);
        self.carry_out();
    }

    /// What was sent to a client since this was asked last.
    fn got(&mut self, key: Key) -> String {
        self.sent.remove(&key).unwrap_or_default()
    }

    fn post(&mut self, key: Key, headers: &str, body: &str) {
        let text = format!(
            "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.send(key, &text);
    }

    /// The route of the message that the bridge heard last.
    fn last_route(&self) -> Route {
        self.bridge.messages.last().expect("a message").0
    }

    fn answer(&mut self, route: Route, text: &str) {
        self.server.answer(route, text.into(), None, &mut self.bridge);
        self.carry_out();
    }

    fn message(&mut self, route: Route, text: &str) {
        self.server.message(route, text.as_bytes());
        self.carry_out();
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.server.deadline().filter(|at| *at <= end) {
            self.now = at;
            self.server.set_time(at, Duration::ZERO);
            self.server.tick(&mut self.bridge);
            self.carry_out();
        }
        self.now = end;
        self.server.set_time(end, Duration::ZERO);
    }

    /// Begins a session; its header line and its id.
    fn session(&mut self, revision: &str) -> (String, SessionId) {
        let key = self.connect();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}}}}}}"#
        );
        self.post(key, "", &body);
        let route = self.last_route();
        self.answer(route, "{}");
        let response = self.got(key);
        let name = response.split("Mcp-Session-Id: ").nth(1).expect("a name").split("\r\n").next().unwrap();
        assert_eq!(name.len(), 32);
        self.gone(key);
        (format!("Mcp-Session-Id: {name}\r\n"), route.session)
    }

    fn gone(&mut self, key: Key) {
        self.server.gone(key, &mut self.bridge);
        self.carry_out();
    }

    fn get(&mut self, headers: &str) -> Key {
        let key = self.connect();
        self.send(
            key,
            &format!("GET /mcp HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n{headers}\r\n"),
        );
        key
    }
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const MODERN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const MODERN_HEADERS: &str = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n";

fn status(response: &str) -> u16 {
    response.strip_prefix("HTTP/1.1 ").unwrap_or_default()[..3].parse().expect(response)
}

/// The events of a stream in chunks, without its head: each chunk on a line.
fn chunks(stream: &str) -> Vec<String> {
    let mut rest =
        stream.split_once("\r\n\r\n").filter(|_| stream.starts_with("HTTP")).map_or(stream, |(_, rest)| rest);
    let mut chunks = Vec::new();
    while let Some((size, data)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect(stream);
        chunks.push(data[..size].to_owned());
        assert_eq!(&data[size..size + 2], "\r\n");
        rest = &data[size + 2..];
    }
    assert!(rest.is_empty(), "{stream}");
    chunks
}

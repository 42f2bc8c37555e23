//! Load over Streamable HTTP, on the bridge and on a server written with the official Rust SDK.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::report::{self, Target};

/// Connections that call at once.
const CALLERS: usize = 32;

/// Sessions that listen and do nothing.
const LISTENERS: usize = 1000;

/// Connections that do nothing.
const IDLE: usize = 10_000;

/// What one round measured.
#[derive(Clone, Debug, Default)]
struct Round {
    /// Median round trip of a small call, microseconds.
    median: f64,
    /// 99th percentile of the same.
    p99: f64,
    /// Calls per second over all callers.
    calls: f64,
    /// CPU of the server process alone for one of those, microseconds.
    cpu: f64,
    /// The median round trip in the era without sessions, microseconds.
    modern: f64,
    /// Memory of one session that listens, KiB.
    listener: f64,
}

const MEASURES: [(&str, fn(&Round) -> f64); 6] = [
    ("round trip, median us", |round| round.median),
    ("round trip, p99 us", |round| round.p99),
    ("calls over 32 connections /s", |round| round.calls),
    ("CPU per call us", |round| round.cpu),
    ("modern round trip, median us", |round| round.modern),
    ("listening session KiB", |round| round.listener),
];

/// Measures both, prints the numbers and gives the targets.
pub fn measure(pmcp: &Path, folder: &Path, rounds: usize, calls: usize, quiet: bool) -> Vec<Target> {
    let tool = folder.join("echo-tool").display().to_string();
    let recipes = [
        (folder.join("rmcp-http-server"), vec![]),
        (pmcp.to_path_buf(), ["run", &tool, "--port", "0"].map(String::from).to_vec()),
    ];
    let mut all: [Vec<Round>; 2] = Default::default();
    for turn in 0..rounds {
        for offset in 0..2 {
            let which = (turn + offset) % 2;
            let (program, arguments) = &recipes[which];
            all[which].push(round(program, arguments, calls));
        }
    }
    let median =
        |which: usize, of: fn(&Round) -> f64| report::median(all[which].iter().map(of).collect::<Vec<_>>());
    if !quiet {
        println!("{:<32}{:>12}{:>12}{:>14}", "over HTTP", "rmcp", "pmcp", "pmcp / rmcp");
        for (name, of) in MEASURES {
            let [rmcp, pmcp] = [median(0, of), median(1, of)];
            println!("{name:<32}{rmcp:>12.2}{pmcp:>12.2}{:>14.2}", pmcp / rmcp);
        }
        println!();
    }
    let ratio = |at: usize| median(1, MEASURES[at].1) / median(0, MEASURES[at].1);
    let (program, arguments) = &recipes[1];
    let (held, wanted) = hold(program, arguments);
    vec![
        Target {
            what: "HTTP round trip at most 1.3 of rmcp's".into(),
            got: format!("{:.2} of rmcp's", ratio(0)),
            met: Some(ratio(0) <= 1.3),
        },
        Target {
            what: "calls per second over 32 connections at least 1.0 of rmcp's".into(),
            got: format!("{:.2} of rmcp's", ratio(2)),
            met: Some(ratio(2) >= 1.0),
        },
        Target {
            what: "an idle session with an open stream at most 20 KiB".into(),
            got: format!("{:.2} KiB", median(1, MEASURES[5].1)),
            met: Some(median(1, MEASURES[5].1) <= 20.0),
        },
        Target {
            what: format!("{IDLE} open connections are held"),
            got: format!("{held} of {wanted}"),
            met: (wanted == IDLE).then_some(held == wanted),
        },
    ]
}

fn round(program: &Path, arguments: &[String], calls: usize) -> Round {
    let server = Server::start(program, arguments);
    let text = "x".repeat(64);
    let session = server.session();
    let mut connection = server.connect();
    let call = server.call(Some(&session), 0, &text);
    for _ in 0..500 {
        connection.exchange(&call);
    }
    let mut trips: Vec<Duration> = (0..calls / 10).map(|_| connection.exchange(&call)).collect();
    let median = microseconds(report::percentile(&mut trips, 0.5));
    let p99 = microseconds(report::percentile(&mut trips, 0.99));

    let mut callers: Vec<Connection> = (0..CALLERS).map(|_| server.connect()).collect();
    let before = server.cpu();
    let begin = Instant::now();
    let requests: Vec<Vec<u8>> = (0..CALLERS).map(|id| server.call(Some(&session), id, &text)).collect();
    for (caller, request) in callers.iter_mut().zip(&requests) {
        caller.send(request);
    }
    let turns = calls / CALLERS;
    for turn in 0..turns {
        for (caller, request) in callers.iter_mut().zip(&requests) {
            caller.receive();
            if turn + 1 < turns {
                caller.send(request);
            }
        }
    }
    let took = begin.elapsed();
    let done = (turns * CALLERS) as f64;
    let cpu = microseconds(server.cpu() - before) / done;

    let modern = server.call(None, 0, &text);
    for _ in 0..200 {
        connection.exchange(&modern);
    }
    let mut trips: Vec<Duration> = (0..calls / 10).map(|_| connection.exchange(&modern)).collect();
    let modern = microseconds(report::percentile(&mut trips, 0.5));

    // All sessions first begin on one connection, so that only what listens is counted.
    let before = server.memory();
    let listeners: Vec<Connection> = (0..LISTENERS).map(|_| server.listener()).collect();
    let listener = (server.memory() as f64 - before as f64) / LISTENERS as f64;
    drop(listeners);
    server.stop();
    Round { median, p99, calls: done / took.as_secs_f64(), cpu, modern, listener }
}

/// How many idle connections a server holds, while it answers others; and how many were wanted.
fn hold(program: &Path, arguments: &[String]) -> (usize, usize) {
    let server = Server::start(program, arguments);
    let wanted = IDLE.min(open_files().saturating_sub(100));
    let idle: Vec<TcpStream> = (0..wanted).map_while(|_| TcpStream::connect(&server.address).ok()).collect();
    let session = server.session();
    server.connect().exchange(&server.call(Some(&session), 0, "still here"));
    let held = idle.iter().filter(|stream| {
        let mut stream: &TcpStream = stream;
        stream.set_nonblocking(true).expect("a socket");
        // One that was closed would give its end.
        matches!(stream.read(&mut [0; 16]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    });
    let held = held.count();
    server.stop();
    (held, wanted)
}

/// How many files this process may open.
fn open_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    line.and_then(|line| line.split_whitespace().nth(3)).and_then(|word| word.parse().ok()).unwrap_or(1024)
}

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(program: &Path, arguments: &[String]) -> Server {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()));
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().split("://").nth(1).and_then(|url| url.split('/').next());
        Server { child, address: address.unwrap_or_else(|| panic!("no URL in {line:?}")).to_owned() }
    }

    fn connect(&self) -> Connection {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
        Connection { stream: BufReader::new(stream), head: String::new(), body: Vec::new() }
    }

    fn post(&self, headers: &str, body: &str) -> Vec<u8> {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .into_bytes()
    }

    /// Shakes hands; the header that names the session.
    fn session(&self) -> String {
        let mut connection = self.connect();
        connection.send(&self.post("", "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"load\",\"version\":\"0\"}}}"));
        connection.receive();
        let name = connection.header("mcp-session-id").expect("a session");
        let session = format!("Mcp-Session-Id: {name}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
        connection.send(&self.post(&session, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
        connection.receive();
        session
    }

    /// A call under an id that no other call has at the same time.
    fn call(&self, session: Option<&str>, id: usize, text: &str) -> Vec<u8> {
        let (headers, meta) = match session {
            Some(session) => (session, ""),
            None => (
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n",
                ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}",
            ),
        };
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"text\":\"{text}\"}}{meta}}}}}"
        );
        self.post(headers, &body)
    }

    /// A session of its own that listens.
    fn listener(&self) -> Connection {
        let session = self.session();
        let mut connection = self.connect();
        connection.send(
            format!("GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n{session}\r\n", self.address)
                .as_bytes(),
        );
        connection.read_head();
        connection
    }

    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("a process");
        let fields: Vec<&str> = stat[stat.rfind(')').expect("a name") + 1..].split_whitespace().collect();
        let ticks = |at: usize| fields[at].parse::<u64>().expect("a number");
        Duration::from_millis((ticks(11) + ticks(12)) * 10)
    }

    /// Resident memory in KiB.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|rest| rest.split_whitespace().next()).and_then(|word| word.parse().ok()).unwrap_or(0)
    }

    fn stop(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Connection {
    stream: BufReader<TcpStream>,
    head: String,
    body: Vec<u8>,
}

impl Connection {
    fn exchange(&mut self, request: &[u8]) -> Duration {
        let begin = Instant::now();
        self.send(request);
        self.receive();
        begin.elapsed()
    }

    fn send(&mut self, request: &[u8]) {
        self.stream.get_mut().write_all(request).expect("the server reads");
    }

    fn read_head(&mut self) {
        self.head.clear();
        while !self.head.ends_with("\r\n\r\n") {
            let count = self.stream.read_line(&mut self.head).expect("a line");
            assert!(count > 0, "the server closed the connection: {}", self.head);
        }
        assert!(self.head.starts_with("HTTP/1.1 2"), "{}", self.head);
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (header, value) = line.split_once(':')?;
            header.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Reads one whole response.
    fn receive(&mut self) {
        self.read_head();
        self.body.clear();
        if self.header("transfer-encoding").is_some() {
            loop {
                let mut line = String::new();
                self.stream.read_line(&mut line).expect("a size");
                let size = usize::from_str_radix(line.trim(), 16).expect("a size");
                let start = self.body.len();
                self.body.resize(start + size + 2, 0);
                self.stream.read_exact(&mut self.body[start..]).expect("a chunk");
                if size == 0 {
                    break;
                }
            }
        } else {
            let length = self.header("content-length").map_or(0, |length| length.parse().expect("a length"));
            self.body.resize(length, 0);
            self.stream.read_exact(&mut self.body).expect("a body");
        }
        let failed = self.body.windows(8).any(|window| window == b"\"error\":");
        assert!(!failed, "{}", String::from_utf8_lossy(&self.body));
    }
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

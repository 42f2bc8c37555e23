//! A server under load: the process, its pipes and what `/proc` says about it.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How to start one.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// What it is called in the report.
    pub name: &'static str,
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// One that runs.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    next_id: u64,
}

const HELLO: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\
    \"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\
    \"clientInfo\":{\"name\":\"load\",\"version\":\"0\"}}}\n";

impl Server {
    /// Starts it, says `initialize`, and returns the time from exec to the answer.
    pub fn start(recipe: &Recipe) -> (Server, Duration) {
        let begin = Instant::now();
        let mut child = Command::new(&recipe.program)
            .args(&recipe.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", recipe.program.display()));
        let input = child.stdin.take().expect("a pipe was asked for");
        let output = child.stdout.take().expect("a pipe was asked for");
        let mut server = Server {
            child,
            input: Some(input),
            output: BufReader::with_capacity(1024 * 1024, output),
            line: Vec::new(),
            next_id: 1,
        };
        server.write(HELLO);
        server.read_line();
        let answered = begin.elapsed();
        assert!(contains(&server.line, b"serverInfo"), "{}: {}", recipe.name, server.text());
        server.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        (server, answered)
    }

    /// One call of `echo`, there and back. Returns what came back when `keep` is set.
    pub fn round_trip(&mut self, text: &str) -> Duration {
        let mut request = Vec::with_capacity(text.len() + 200);
        let id = self.compose(&mut request, text);
        let begin = Instant::now();
        self.write(&request);
        self.read_line();
        let took = begin.elapsed();
        self.check(id, text);
        took
    }

    /// `calls` calls with `window` of them under way at any time; how long they took.
    pub fn pipeline(&mut self, calls: usize, window: usize, text: &str) -> Duration {
        let mut batch = Vec::new();
        let mut sent = 0;
        let mut received = 0;
        let begin = Instant::now();
        while received < calls {
            batch.clear();
            while sent < calls && sent - received < window {
                self.compose(&mut batch, text);
                sent += 1;
            }
            if !batch.is_empty() {
                self.write(&batch);
            }
            // Whatever has arrived is taken before more is sent, as a busy host does.
            self.read_line();
            received += 1;
            assert!(contains(&self.line, b"\"result\""), "{}", self.text());
            while received < calls && self.output.buffer().contains(&b'\n') {
                self.read_line();
                received += 1;
            }
        }
        begin.elapsed()
    }

    /// Asks for the list of tools.
    pub fn list_tools(&mut self) {
        self.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"list\",\"method\":\"tools/list\"}\n");
        self.read_line();
        assert!(contains(&self.line, b"\"tools\""), "{}", self.text());
    }

    /// Reads up to a notification.
    pub fn wait_for(&mut self, method: &str) {
        loop {
            self.line.clear();
            let length = self.output.read_until(b'\n', &mut self.line).expect("the server writes");
            assert!(length > 0, "the server ended");
            if contains(&self.line, method.as_bytes()) {
                return;
            }
        }
    }

    /// CPU time of the process so far, its children not counted.
    pub fn cpu(&self) -> Duration {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("the process is there");
        let fields: Vec<&str> =
            stat[stat.rfind(')').expect("a name in brackets") + 1..].split_whitespace().collect();
        let ticks: u64 =
            fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime");
        // The kernel reports these in hundredths of a second on every Linux that we build for.
        Duration::from_millis(ticks * 10)
    }

    /// One number of `/proc/PID/status`, as it stands there (kB for memory).
    pub fn status(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .expect("the process is there");
        status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .and_then(|rest| rest.split_whitespace().next())
            .and_then(|number| number.parse().ok())
            .unwrap_or(0)
    }

    /// Ends it.
    pub fn stop(mut self) {
        self.input = None;
        let _ = self.child.wait();
    }

    fn compose(&mut self, request: &mut Vec<u8>, text: &str) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        write!(
            request,
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":\
             {{\"name\":\"echo\",\"arguments\":{{\"text\":\"{text}\"}}}}}}"
        )
        .expect("a vector takes all");
        request.push(b'\n');
        id
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("open").write_all(bytes).expect("the server reads");
    }

    /// Reads one line into `self.line`; notifications are passed over.
    fn read_line(&mut self) {
        loop {
            self.line.clear();
            let length = self.output.read_until(b'\n', &mut self.line).expect("the server writes");
            assert!(length > 0, "the server ended");
            let head = &self.line[..self.line.len().min(200)];
            if !contains(head, b"\"method\":\"notifications/") {
                return;
            }
        }
    }

    fn check(&self, id: u64, text: &str) {
        let answer: serde_json::Value = serde_json::from_slice(&self.line).expect("JSON");
        assert_eq!(answer["id"], id, "{}", self.text());
        assert!(
            answer["result"]["content"][0]["text"].as_str() == Some(text),
            "another text came back: {}",
            self.text()
        );
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.line[..self.line.len().min(2000)]).into_owned()
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

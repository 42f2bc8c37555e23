//! The program as a server over HTTP, and a client that sends exactly what a test writes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use super::pmcp::Setup;
use super::{PATIENCE, process};

/// A server that ends with its value.
pub(crate) struct Served {
    child: Child,
    /// Where it listens, in the order of its flags, as it says.
    pub(crate) urls: Vec<String>,
    stderr: Arc<Mutex<String>>,
}

/// What a server answered.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    /// The values under a name, which is in lower case.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(header, _)| header == name).map(|(_, value)| value.as_str()).collect()
    }

    /// The one value under a name.
    #[track_caller]
    pub(crate) fn one(&self, name: &str) -> &str {
        match self.all(name)[..] {
            [value] => value,
            ref others => panic!("{name}: {others:?} in {self:?}"),
        }
    }

    fn parse(bytes: &[u8]) -> Response {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text:?}"));
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let header = |line: &str| {
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no header: {line:?}"));
            (name.to_ascii_lowercase(), value.trim().to_string())
        };
        Response {
            status: status.unwrap_or_else(|| panic!("no status: {text:?}")),
            headers: lines.map(header).collect(),
            body: body.to_string(),
        }
    }
}

impl Served {
    /// Starts it, with the flags for HTTP among those that were given, and waits until it listens in
    /// as many places.
    #[track_caller]
    pub(crate) fn start(setup: Setup, places: usize) -> Served {
        Served::start_with(setup, places, Stdio::null())
    }

    /// The same with another standard input.
    #[track_caller]
    pub(crate) fn start_with(setup: Setup, places: usize, stdin: Stdio) -> Served {
        Served::spawn(setup.build(), places, stdin)
    }

    /// The same with a whole command.
    #[track_caller]
    pub(crate) fn spawn(mut command: Command, places: usize, stdin: Stdio) -> Served {
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let said = Arc::clone(&stderr);
        let errors = child.stderr.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                *said.lock().unwrap() += &(line + "\n");
            }
        });
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let lines: Vec<String> = stdout.lines().take(places).map_while(Result::ok).collect();
        let url = |line: &String| line.strip_prefix("listening on ").map(str::to_string);
        let urls: Vec<String> = lines.iter().filter_map(url).collect();
        let served = Served { child, urls, stderr };
        assert_eq!(served.urls.len(), places, "{lines:?} {}", served.stderr());
        served
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// The first address, such as `127.0.0.1:4711`.
    pub(crate) fn address(&self) -> &str {
        let (_, rest) = self.urls[0].split_once("://").expect("a URL");
        rest.split('/').next().expect("an address")
    }

    /// Sends these bytes over a connection of their own and reads until the server closes it.
    pub(crate) fn exchange(&self, request: &str) -> Response {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Response::parse(&bytes)
    }

    /// Asks with these headers, and with a `Host` that is right if they have none.
    pub(crate) fn ask(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut request = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request += &format!("Host: {}\r\n", self.address());
        }
        if !body.is_empty() {
            request += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        self.exchange(&format!("{request}\r\n{body}"))
    }

    /// The request with which a host of the handshake era begins.
    pub(crate) fn initialize(&self, headers: &[(&str, &str)]) -> Response {
        let body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\
            \"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\
            \"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}}";
        self.ask("POST /mcp", headers, body)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if process::alive(self.child.id()) {
            process::signal(self.child.id(), "TERM");
        }
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("stderr of the server:\n{}", self.stderr());
        }
    }
}

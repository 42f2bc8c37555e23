//! The program as a web server, and clients whose every byte a test decides.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pmcp_bridge::wire::protomcp::ToolDefinition;
use serde_json::{Value, json};

use super::dir::Dir;
use super::pmcp::Setup;
use super::raw_tool::{Peer, RawTool};
use super::{PATIENCE, process};

/// The program, listening.
pub(crate) struct Web {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
    stderr: Arc<Mutex<String>>,
    dir: Arc<Dir>,
}

/// One connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

/// A response, or the head of one.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The status line and the headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) data: String,
}

/// What a request of the modern era has besides.
pub(crate) const ENVELOPE: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

impl Web {
    /// Starts `pmcp run` with these flags, on a port of its own unless they say where to listen.
    #[track_caller]
    pub(crate) fn start(dir: &Arc<Dir>, file: &std::path::Path, flags: &[&str]) -> Web {
        let mut setup = Setup::run(dir).arg(file).args(flags);
        if !flags.contains(&"--listen") && !flags.contains(&"--port") {
            setup = setup.args(["--port", "0"]);
        }
        Web::spawn(setup, dir)
    }

    #[track_caller]
    pub(crate) fn spawn(setup: Setup, dir: &Arc<Dir>) -> Web {
        let mut command = setup.build();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut errors = child.stderr.take().unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let said = Arc::clone(&stderr);
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(length @ 1..) = errors.read(&mut bytes) {
                said.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_default();
        let address =
            address.strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp")).unwrap_or(address);
        Web { child, address: address.to_owned(), stderr, dir: Arc::clone(dir) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    #[track_caller]
    pub(crate) fn connect(&self) -> Client {
        Client::new(TcpStream::connect(&self.address).unwrap())
    }

    /// Begins a session of the handshake era; the headers of its requests.
    #[track_caller]
    pub(crate) fn session(&self, revision: &str, capabilities: Value) -> String {
        let mut client = self.connect();
        let params = json!({
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "a scripted client", "version": "1"},
        });
        let response = client.ask("", "initialize", params);
        assert_eq!(response.status, 200, "{response:?}");
        let session =
            format!("Mcp-Session-Id: {}\r\n", response.header("mcp-session-id").expect("a session"));
        client.post(&session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(client.response().status, 202);
        session
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Sends a signal and waits for the end.
    #[track_caller]
    pub(crate) fn end(&mut self, signal: &str) -> std::process::ExitStatus {
        process::signal(self.pid(), signal);
        self.wait()
    }

    #[track_caller]
    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begin.elapsed() < PATIENCE, "the program does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// No process and no file of the program is left.
    #[track_caller]
    pub(crate) fn nothing_left(&self) {
        let left: Vec<String> =
            process::of_folder(self.dir.path()).into_iter().map(process::describe).collect();
        assert!(left.is_empty(), "processes are left: {left:?}");
        let files: Vec<_> =
            std::fs::read_dir(self.dir.join("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.is_empty(), "files are left: {files:?}");
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- stderr\n{}", self.stderr.lock().unwrap_or_else(|poison| poison.into_inner()));
        }
    }
}

impl Client {
    pub(crate) fn new(stream: TcpStream) -> Client {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Client { stream: BufReader::new(stream) }
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    pub(crate) fn send(&mut self, text: impl AsRef<[u8]>) {
        self.stream.get_mut().write_all(text.as_ref()).unwrap();
    }

    /// Posts a message.
    pub(crate) fn post(&mut self, headers: &str, body: &str) {
        self.send(post(headers, body));
    }

    /// Posts a request.
    pub(crate) fn request(&mut self, headers: &str, id: u64, method: &str, params: Value) {
        self.post(
            headers,
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
    }

    /// Posts a request and reads the response.
    #[track_caller]
    pub(crate) fn ask(&mut self, headers: &str, method: &str, params: Value) -> Response {
        self.request(headers, 1, method, params);
        self.response()
    }

    /// Calls a tool, and gives the text of its result.
    #[track_caller]
    pub(crate) fn call(&mut self, headers: &str, name: &str, arguments: Value) -> String {
        let response = self.ask(headers, "tools/call", json!({"name": name, "arguments": arguments}));
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    /// Posts a request of the modern era, with the headers that it needs. `params` are members with
    /// a comma behind them.
    pub(crate) fn modern(&mut self, method: &str, name: Option<&str>, params: &str) {
        let name = name.map_or(String::new(), |name| format!("Mcp-Name: {name}\r\n"));
        self.post(
            &format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"),
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{ENVELOPE}}}}}"#),
        );
    }

    /// Opens a stream of a session.
    pub(crate) fn listen(&mut self, headers: &str) {
        self.send(format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{headers}\r\n"
        ));
    }

    /// The head of the next response.
    #[track_caller]
    pub(crate) fn head(&mut self) -> Response {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let count = self.stream.read_line(&mut head).unwrap();
            assert!(count > 0, "the connection ended after {head:?}");
        }
        let status = head.get(9..12).and_then(|status| status.parse().ok()).expect("a status");
        Response { status, head, body: String::new() }
    }

    /// The next response, whole.
    #[track_caller]
    pub(crate) fn response(&mut self) -> Response {
        let mut response = self.head();
        if response.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk() {
                response.body.push_str(&chunk);
            }
        } else if let Some(length) = response.header("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut body).unwrap();
            response.body = String::from_utf8(body).unwrap();
        }
        response
    }

    /// The next chunk of a body; `None` at its end.
    #[track_caller]
    pub(crate) fn chunk(&mut self) -> Option<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let size = usize::from_str_radix(line.trim(), 16).unwrap_or_else(|_| panic!("a size, not {line:?}"));
        let mut data = vec![0; size + 2];
        self.stream.read_exact(&mut data).unwrap();
        data.truncate(size);
        (size > 0).then(|| String::from_utf8(data).unwrap())
    }

    /// The next event of a stream, comments passed over; `None` at its end.
    #[track_caller]
    pub(crate) fn event(&mut self) -> Option<Event> {
        let begin = Instant::now();
        loop {
            // Comments come as long as nothing else does.
            assert!(begin.elapsed() < PATIENCE, "no event in {PATIENCE:?}");
            let text = self.chunk()?;
            let mut event = Event::default();
            for line in text.lines() {
                match line.split_once(": ") {
                    Some(("id", id)) => event.id = id.into(),
                    Some(("data", data)) => event.data = data.into(),
                    _ => {}
                }
            }
            if event != Event::default() {
                return Some(event);
            }
        }
    }

    /// The next message of a stream.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Value {
        loop {
            let event = self.event().expect("an event");
            if !event.data.trim().is_empty() {
                return serde_json::from_str(&event.data).unwrap();
            }
        }
    }

    /// Whether the server closes the connection without another word.
    #[track_caller]
    pub(crate) fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0; 1]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }

    /// Says that nothing more is sent.
    pub(crate) fn hang_up(&self) {
        self.stream.get_ref().shutdown(Shutdown::Write).unwrap();
    }
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (header, value) = line.split_once(':')?;
            header.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A posted message as it is spelled.
pub(crate) fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A server with a raw tool process behind it.
pub(crate) struct Served {
    pub(crate) web: Web,
    pub(crate) tool: RawTool,
    pub(crate) peer: Peer,
    _dir: Arc<Dir>,
}

impl Served {
    #[track_caller]
    pub(crate) fn new(tools: Vec<ToolDefinition>, flags: &[&str]) -> Served {
        let dir = Arc::new(Dir::new());
        let tool = RawTool::new(&dir);
        let web = Web::start(&dir, tool.file(), flags);
        let peer = tool.serve(tools);
        Served { web, tool, peer, _dir: dir }
    }
}

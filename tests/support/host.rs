//! A scripted MCP host at the pipes of the program. A test that fails prints the whole
//! conversation, what was said on stderr, and how the program ended.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::dir::Dir;
use super::transcript::Transcript;
use super::{PATIENCE, process};

/// One line of the program, as it was spelled and as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) raw: String,
    pub(crate) json: Value,
}

impl Message {
    #[track_caller]
    fn of(raw: String) -> Message {
        let json = serde_json::from_str(&raw)
            .unwrap_or_else(|error| panic!("a line that is not JSON ({error}): {raw}"));
        Message { raw, json }
    }

    pub(crate) fn method(&self) -> &str {
        self.json["method"].as_str().unwrap_or("")
    }
}

/// The host.
pub(crate) struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    inbox: VecDeque<Message>,
    transcript: Arc<Mutex<Vec<String>>>,
    kept: Arc<Transcript>,
    stderr: Arc<Mutex<String>>,
    next_id: u64,
    dir: Arc<Dir>,
}

impl Host {
    /// Starts a command whose three descriptors are pipes.
    pub(crate) fn start(mut command: Command, dir: &Arc<Dir>) -> Host {
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().unwrap();
        let mut errors = child.stderr.take().unwrap();
        let transcript = Arc::new(Mutex::new(Vec::new()));
        let stderr = Arc::new(Mutex::new(String::new()));
        let (sender, lines) = channel();
        let kept = Arc::new(Transcript::new());
        let written = (Arc::clone(&transcript), Arc::clone(&kept));
        std::thread::spawn(move || {
            for line in BufReader::with_capacity(1 << 20, stdout).split(b'\n') {
                let Ok(line) = line else { return };
                written.1.program(&line);
                let line = String::from_utf8_lossy(&line).into_owned();
                written.0.lock().unwrap().push(shortened("<- ", &line));
                if sender.send(line).is_err() {
                    return;
                }
            }
            written.0.lock().unwrap().push("<- end".into());
        });
        let said = Arc::clone(&stderr);
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(length @ 1..) = errors.read(&mut bytes) {
                said.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        Host {
            child,
            stdin,
            lines,
            inbox: VecDeque::new(),
            transcript,
            kept,
            stderr,
            next_id: 1,
            dir: Arc::clone(dir),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as they are.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        self.transcript.lock().unwrap().push(shortened("-> ", line.trim_end_matches('\n')));
        self.kept.host(bytes);
        self.stdin.as_mut().expect("stdin is open").write_all(bytes).unwrap();
    }

    /// Sends one line.
    pub(crate) fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Sends a request and returns its id.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message.to_string());
        id
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message.to_string());
    }

    /// The next line of the program.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Message {
        if let Some(message) = self.inbox.pop_front() {
            return message;
        }
        self.receive(PATIENCE).unwrap_or_else(|| panic!("the program said nothing in {PATIENCE:?}"))
    }

    /// The next line of the program, if one comes within the time.
    pub(crate) fn within(&mut self, time: Duration) -> Option<Message> {
        let line = self.inbox.pop_front();
        line.or_else(|| self.lines.recv_timeout(time).ok().map(Message::of))
    }

    /// The lines up to the end of the program's output.
    #[track_caller]
    pub(crate) fn until_end(&mut self) -> Vec<String> {
        let mut left: Vec<String> = self.inbox.drain(..).map(|message| message.raw).collect();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => left.push(line),
                Err(RecvTimeoutError::Disconnected) => return left,
                Err(RecvTimeoutError::Timeout) => panic!("the program does not close its output"),
            }
        }
    }

    /// The first message for which `wanted` holds; others stay for later, in their order.
    #[track_caller]
    pub(crate) fn find(&mut self, what: &str, wanted: impl Fn(&Message) -> bool) -> Message {
        if let Some(at) = self.inbox.iter().position(&wanted) {
            return self.inbox.remove(at).unwrap();
        }
        let begin = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(begin.elapsed());
            let Some(message) = self.receive(left) else {
                panic!("waited in vain for {what}");
            };
            if wanted(&message) {
                return message;
            }
            self.inbox.push_back(message);
        }
    }

    /// The answer to the request with this id.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.find(&format!("the answer to {id}"), |message| {
            message.json["id"] == id && message.method().is_empty()
        })
        .json
    }

    /// The result of the request with this id.
    #[track_caller]
    pub(crate) fn result_of(&mut self, id: u64) -> Value {
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "an error came: {answer}");
        answer["result"].clone()
    }

    /// Asks, and gives the result.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.result_of(id)
    }

    /// Asks, and gives the error.
    #[track_caller]
    pub(crate) fn ask_for_error(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.answer(id);
        assert!(answer.get("result").is_none(), "a result came: {answer}");
        answer["error"].clone()
    }

    /// Calls a tool.
    pub(crate) fn begin_call(&mut self, name: &str, arguments: Value) -> u64 {
        self.request("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Calls a tool, and gives the result.
    #[track_caller]
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin_call(name, arguments);
        self.result_of(id)
    }

    /// The params of the next notification of this method.
    #[track_caller]
    pub(crate) fn notification(&mut self, method: &str) -> Value {
        let message = self.find(method, |message| message.method() == method && message.json["id"].is_null());
        message.json["params"].clone()
    }

    /// The next request of the program to its host: id and params.
    #[track_caller]
    pub(crate) fn question(&mut self, method: &str) -> (Value, Value) {
        let message =
            self.find(method, |message| message.method() == method && !message.json["id"].is_null());
        (message.json["id"].clone(), message.json["params"].clone())
    }

    pub(crate) fn respond(&mut self, id: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
    }

    /// Everything up to the answer to this id, in order, with the answer as the last.
    #[track_caller]
    pub(crate) fn until_answer(&mut self, id: u64) -> Vec<Message> {
        let mut messages = Vec::new();
        loop {
            let message = self.next();
            let last = message.json["id"] == id && message.method().is_empty();
            messages.push(message);
            if last {
                return messages;
            }
        }
    }

    /// Everything that has come and was not taken: all that the program had said before it
    /// answered a ping.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<Message> {
        let id = self.request("ping", Value::Null);
        let mut messages = self.until_answer(id);
        messages.pop();
        messages
    }

    /// Which methods are among what has come and was not taken.
    #[track_caller]
    pub(crate) fn methods_left(&mut self) -> Vec<String> {
        self.rest().iter().map(|message| message.method().to_string()).collect()
    }

    /// Says hello in the newest revision of the handshake era, as a host that can be asked
    /// anything.
    #[track_caller]
    pub(crate) fn initialize(&mut self) -> Value {
        self.initialize_as("2025-11-25", json!({"sampling": {}, "roots": {"listChanged": true}}))
    }

    #[track_caller]
    pub(crate) fn initialize_as(&mut self, revision: &str, capabilities: Value) -> Value {
        let result = self.ask(
            "initialize",
            json!({
                "protocolVersion": revision,
                "capabilities": capabilities,
                "clientInfo": {"name": "a scripted host", "version": "1"},
            }),
        );
        self.notify("notifications/initialized", Value::Null);
        result
    }

    /// Closes the program's stdin: the host is gone.
    pub(crate) fn hang_up(&mut self) {
        self.transcript.lock().unwrap().push("-> end".into());
        self.stdin = None;
    }

    /// Waits for the program's end.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begin.elapsed() < PATIENCE, "the program does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Hangs up and checks that the program ends well and leaves nothing behind: no process and
    /// no file of its own.
    #[track_caller]
    pub(crate) fn end(&mut self) {
        self.hang_up();
        let status = self.wait();
        assert!(status.success(), "the program ended with {status}");
        self.nothing_left();
    }

    #[track_caller]
    pub(crate) fn nothing_left(&self) {
        let left: Vec<String> =
            process::of_folder(self.dir.path()).into_iter().map(process::describe).collect();
        assert!(left.is_empty(), "processes are left: {left:?}");
        let files: Vec<_> =
            std::fs::read_dir(self.dir.join("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.is_empty(), "files are left: {files:?}");
    }

    /// What the program said on stderr so far.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Waits until stderr says this.
    #[track_caller]
    pub(crate) fn stderr_says(&self, text: &str) {
        super::eventually(&format!("{text:?} on stderr"), || self.stderr.lock().unwrap().contains(text));
    }

    fn receive(&mut self, patience: Duration) -> Option<Message> {
        match self.lines.recv_timeout(patience) {
            Ok(raw) => Some(Message::of(raw)),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the program closed its output"),
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the conversation");
            for line in self.transcript.lock().unwrap_or_else(|poison| poison.into_inner()).iter() {
                eprintln!("{line}");
            }
            eprintln!("--- stderr of the program");
            eprintln!("{}", self.stderr.lock().unwrap_or_else(|poison| poison.into_inner()));
            match self.child.try_wait() {
                Ok(Some(status)) => eprintln!("--- the program ended with {status}"),
                _ => eprintln!("--- the program still ran"),
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in process::of_folder(self.dir.path()) {
            // The shell's kill, best effort: the process may just have ended.
            let _ = Command::new("kill").arg("-KILL").arg(pid.to_string()).output();
        }
    }
}

fn shortened(arrow: &str, line: &str) -> String {
    const SHOWN: usize = 600;
    if line.len() <= SHOWN {
        return format!("{arrow}{line}");
    }
    let mut cut = SHOWN;
    while !line.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{arrow}{}… ({} bytes)", &line[..cut], line.len())
}

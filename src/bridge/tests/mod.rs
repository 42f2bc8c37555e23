//! The bridge driven in memory on a simulated clock: hosts speak JSON, tool processes speak
//! envelopes, and jobs run in place.

mod calls;
mod health;
mod host_requests;
mod isolation;
mod life;
mod lists;
mod middleware;
mod modern;
mod pair;
mod parked;
mod regressions;
mod reload;
mod stateless;
mod stuck;
mod tasks;
#[path = "../../../tests/support/transcript.rs"]
mod transcript;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use prost::Message;
use serde_json::{Value, json};

use self::transcript::Transcript;
use super::*;
use crate::mcp::request;
use crate::wire::envelope::Reader;
use crate::wire::frame;
use crate::wire::protomcp::{
    CallToolResponse, Envelope, ReloadResponse, ToolDefinition, ToolListResponse, envelope::Msg,
};

/// The session of stdio.
pub(super) const HOST: SessionId = SessionId(0);

/// A bridge, its clock, and all that it put out and nobody looked at yet.
pub(super) struct Scene {
    pub(super) bridge: Bridge,
    pub(super) now: Instant,
    pub(super) outputs: Outputs,
    transcript: Transcript,
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What nobody looked at was said all the same.
        for output in &self.outputs {
            self.transcript.keep(output);
        }
    }
}

impl Transcript {
    /// Keeps what went to the session of stdio.
    fn keep(&self, output: &Output) {
        if let Output::Host { route, message, .. } = output
            && route.session == HOST
        {
            self.program(message);
        }
    }
}

impl Scene {
    /// One session is open and the first tool process is starting.
    pub(super) fn new() -> Self {
        Self::building(None)
    }

    /// The same with a build before each start.
    pub(super) fn building(build_timeout: Option<Duration>) -> Self {
        Self::with(|config| config.build_timeout = build_timeout)
    }

    /// The same with another configuration.
    pub(super) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            server: ServerInfo { name: "test".into(), version: "1".into(), instructions: None },
            start_timeout: Duration::from_secs(30),
            build_timeout: None,
            call_timeout: Duration::from_secs(300),
            grace: Duration::from_secs(1),
            message_max: 1 << 20,
            command: "python3 tools.py".into(),
            reload: ReloadMode::Safe,
            exclusive: false,
            drain: Duration::from_secs(30),
            input_timeout: Duration::from_secs(600),
            tasks_max: 4,
            cancel_grace: Duration::from_secs(5),
            is_unattended: false,
            isolate: false,
            state_key: Key::new(b"a key for tests, of 32 bytes and more"),
            instance: 1,
            seed: 1,
        };
        change(&mut config);
        let mut scene = Self {
            bridge: Bridge::new(config),
            now: Instant::now(),
            outputs: Vec::new(),
            transcript: Transcript::new(),
        };
        scene.input(Input::SessionOpened { session: HOST, lasts: true, principal: "".into() });
        scene
    }

    /// A host has initialized and a process with these tools serves.
    pub(super) fn serving(tools: &[&str]) -> Self {
        let mut scene = Self::new();
        scene.initialize("2025-11-25");
        scene.started(1);
        scene.handshake(1, tools, 0);
        scene
    }

    /// Hands one input in and checks the invariants.
    pub(super) fn input(&mut self, input: Input<'_>) {
        self.bridge.handle(input, self.now, &mut self.outputs);
        self.run_jobs();
        self.check();
    }

    fn run_jobs(&mut self) {
        while let Some(at) = self.outputs.iter().position(|output| matches!(output, Output::Job(_))) {
            let Output::Job(job) = self.outputs.remove(at) else { unreachable!() };
            self.bridge.handle(Input::JobDone(job.run()), self.now, &mut self.outputs);
        }
    }

    /// What must hold after every input.
    fn check(&self) {
        let bridge = &self.bridge;
        if bridge.calls.len() > 100 && !bridge.calls.len().is_multiple_of(100) {
            return; // Long queues are looked at now and then.
        }
        for session in bridge.sessions.values() {
            for call in session.in_flight.values() {
                assert!(bridge.calls.contains_key(call), "a request in flight has no call");
            }
        }
        let waiting: usize =
            bridge.calls.values().filter(|call| call.stage == call::Stage::Waiting).map(Call::size).sum();
        let aside = bridge.calls.values().filter_map(|call| call.aside).sum();
        assert_eq!(bridge.waiting.bytes(), (waiting, aside), "the bytes of waiting calls are miscounted");
        let times = |call: &Call| {
            let looks_at = call.remote.as_ref().and_then(|remote| remote.looks_at);
            [call.until, call.gathers_until, looks_at].into_iter().flatten().count()
        };
        let timed: usize = bridge.calls.values().map(times).sum();
        assert_eq!(bridge.timers.len(), timed, "a time is left over or forgotten");
        let (questions, kept) = bridge.questions.bytes();
        assert_eq!(questions, kept, "the bytes of questions are miscounted");
        let (tasks, ends, bytes, kept) = bridge.tasks.counts();
        assert_eq!((tasks, bytes), (ends, kept), "tasks or their bytes are miscounted");
        for call in bridge.tasks.running() {
            assert!(bridge.calls.contains_key(&call), "a running task has no call");
        }
        for process in bridge.processes.values() {
            let fetched = bridge.calls.values().filter(|call| call.remote.is_some()).count();
            let held = bridge
                .calls
                .values()
                .filter(|call| call.place.is_some_and(|place| place.generation == process.generation))
                .count();
            let orphans = process.asks.values().filter(|ask| ask.call.is_none() && ask.holds_slot).count();
            assert_eq!(process.busy, held + orphans, "slots are miscounted");
            assert!(process.busy <= process.slots + fetched + orphans, "more slots are taken than there are");
        }
    }

    /// Lets time pass, ticking at every deadline on the way, as the loop does.
    pub(super) fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..1000 {
            match self.bridge.deadline() {
                Some(at) if at <= end => {
                    self.now = self.now.max(at);
                    self.input(Input::Tick);
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
        panic!("the bridge has a deadline that never passes");
    }

    /// The host sends a line.
    pub(super) fn say(&mut self, line: &Value) {
        self.say_text(&line.to_string());
    }

    /// The host sends a line as it is spelled.
    pub(super) fn say_text(&mut self, line: &str) {
        self.transcript.host(format!("{line}\n").as_bytes());
        let route = Route::session(HOST);
        self.input(Input::Host { route, message: request::parse(line.as_bytes()) });
    }

    /// A host sends a line.
    pub(super) fn say_from(&mut self, route: Route, line: &Value) {
        let line = line.to_string();
        self.input(Input::Host { route, message: request::parse(line.as_bytes()) });
    }

    /// The host sends a request.
    pub(super) fn ask(&mut self, id: u64, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// The host calls a tool.
    pub(super) fn call(&mut self, id: u64, tool: &str) {
        self.ask(id, "tools/call", json!({"name": tool, "arguments": {"n": id}}));
    }

    /// All that went to the host since the last look.
    pub(super) fn heard(&mut self) -> Vec<Value> {
        let mut heard = Vec::new();
        self.outputs.retain(|output| match output {
            Output::Host { message, .. } => {
                assert!(!message.contains(&b'\n'), "a message holds a newline");
                self.transcript.keep(output);
                heard.push(serde_json::from_slice(message).expect("every message is JSON"));
                false
            }
            _ => true,
        });
        heard
    }

    /// The one message that went to the host since the last look.
    #[track_caller]
    pub(super) fn heard_one(&mut self) -> Value {
        let mut heard = self.heard();
        assert_eq!(heard.len(), 1, "{heard:#?}");
        heard.remove(0)
    }

    /// All envelopes that went to a tool process since the last look.
    pub(super) fn told(&mut self, generation: u64) -> Vec<Envelope> {
        let mut told = Vec::new();
        self.outputs.retain(|output| match output {
            Output::Tool { generation: to, frame } if to.0 == generation => {
                told.push(Envelope::decode(&frame[frame::HEADER..]).expect("every frame is an envelope"));
                false
            }
            _ => true,
        });
        told
    }

    /// The one envelope that went to a tool process since the last look.
    #[track_caller]
    pub(super) fn told_one(&mut self, generation: u64) -> Envelope {
        let mut told = self.told(generation);
        assert_eq!(told.len(), 1, "{told:#?}");
        told.remove(0)
    }

    /// Takes the orders about processes: `start 2`, `term 1`, `kill 1`, `exit`.
    pub(super) fn orders(&mut self) -> Vec<String> {
        let mut orders = Vec::new();
        self.outputs.retain(|output| {
            orders.push(match output {
                Output::Start(generation) => format!("start {}", generation.0),
                Output::Kill { generation, now: false } => format!("term {}", generation.0),
                Output::Kill { generation, now: true } => format!("kill {}", generation.0),
                Output::Exit => "exit".to_owned(),
                _ => return true,
            });
            false
        });
        orders
    }

    /// `initialize` and `notifications/initialized`.
    pub(super) fn initialize(&mut self, revision: &str) {
        let capabilities = json!({"sampling": {}, "roots": {}});
        let client = json!({"name": "host", "version": "1"});
        self.ask(
            0,
            "initialize",
            json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client}),
        );
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(self.heard_one()["id"], 0);
    }

    /// The process connected and was asked for its tools.
    pub(super) fn started(&mut self, generation: u64) -> String {
        assert!(self.orders().contains(&format!("start {generation}")));
        self.input(Input::ToolConnected(Generation(generation)));
        let opening = self.told_one(generation);
        assert!(matches!(opening.msg, Some(Msg::ListTools(_))));
        opening.request_id
    }

    /// The process tells its tools and completes the handshake. `concurrency` 0 is that of a
    /// published SDK.
    pub(super) fn handshake(&mut self, generation: u64, tools: &[&str], concurrency: u32) {
        self.declare(generation, tools, concurrency);
        self.tool(
            generation,
            "",
            Msg::ReloadResponse(ReloadResponse { success: true, error: String::new() }),
        );
        self.wait(crate::limits::SETTLE);
    }

    /// The process tells its tools.
    pub(super) fn declare(&mut self, generation: u64, tools: &[&str], concurrency: u32) {
        let tools = tools.iter().map(|name| definition(name)).collect();
        let list = ToolListResponse { tools, max_concurrent_calls: concurrency, ..Default::default() };
        let opening = self.bridge.processes[&Generation(generation)].opening;
        let request_id = opening.map(|opening| opening.0.to_string()).unwrap_or_default();
        self.tool(generation, &request_id, Msg::ToolList(list));
    }

    /// The process sends an envelope, through the real reader.
    pub(super) fn tool(&mut self, generation: u64, request_id: &str, msg: Msg) {
        let envelope = Envelope { request_id: request_id.to_owned(), msg: Some(msg), ..Envelope::default() };
        self.tool_bytes(generation, &frame::encode(&envelope));
    }

    /// The process sends bytes.
    pub(super) fn tool_bytes(&mut self, generation: u64, mut bytes: &[u8]) {
        let mut reader = Reader::new(2 << 20);
        while !bytes.is_empty() {
            let space = reader.space();
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            reader.advance(count);
            bytes = &bytes[count..];
            while let Some(received) = reader.next().expect("the bytes are good") {
                let generation = Generation(generation);
                self.bridge.handle(Input::Tool { generation, received }, self.now, &mut self.outputs);
            }
        }
        self.run_jobs();
        self.check();
    }

    /// The process answers a call with a text.
    pub(super) fn result(&mut self, generation: u64, request_id: &str, text: &str) {
        let result_json = json!([{"type": "text", "text": text}]).to_string();
        let response = CallToolResponse { result_json, ..CallToolResponse::default() };
        self.tool(generation, request_id, Msg::CallResult(response));
    }

    /// The process ended.
    pub(super) fn exited(&mut self, generation: u64, how: &str, stderr: &str) {
        self.input(Input::ToolExited {
            generation: Generation(generation),
            how: how.to_owned(),
            stderr: stderr.to_owned(),
        });
    }

    /// What was logged at this level or above since the last look.
    pub(super) fn logged(&mut self, level: Level) -> Vec<String> {
        let mut lines = Vec::new();
        self.outputs.retain(|output| match output {
            Output::Log(of, text) => {
                if *of <= level {
                    lines.push(text.clone());
                }
                false
            }
            _ => true,
        });
        lines
    }
}

/// A tool without frills.
pub(super) fn definition(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: format!("does {name}"),
        input_schema_json: r#"{"type":"object"}"#.to_owned(),
        ..ToolDefinition::default()
    }
}

/// The text of a result's only content block.
#[track_caller]
pub(super) fn text(message: &Value) -> Cow<'_, str> {
    message["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {message:#}"))
        .into()
}

/// The names in an answer to a list request.
pub(super) fn names(message: &Value, list: &str) -> Vec<String> {
    let entries = message["result"][list].as_array().unwrap_or_else(|| panic!("no {list} in {message:#}"));
    entries.iter().map(|entry| entry["name"].as_str().unwrap_or_default().to_owned()).collect()
}

//! A tool process whose bytes the test writes itself.
//!
//! The process that the bridge starts is a shell script. It tells the test its pid and its socket
//! through a FIFO and then carries out the shell commands that the test gives it through another
//! one; the test itself connects to the socket (the bridge checks the user, not the process).

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::*;
use prost::Message as _;

use super::PATIENCE;
use super::dir::Dir;
use super::host::Host;
use super::pmcp::Setup;

/// One life of the tool process.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) pid: u32,
    pub(crate) socket: PathBuf,
}

/// The file that the bridge is told to serve, and what came of it.
pub(crate) struct RawTool {
    file: PathBuf,
    orders: PathBuf,
    lives: Receiver<Life>,
}

impl RawTool {
    pub(crate) fn new(dir: &Dir) -> RawTool {
        let starts = dir.join("starts");
        let orders = dir.join("orders");
        for fifo in [&starts, &orders] {
            assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
        }
        let file = dir.script(
            "tool/raw-tool",
            &format!(
                "#!/bin/sh\n\
                 echo \"$$ $PROTOMCP_SOCKET\" > '{}'\n\
                 while :; do read -r order < '{}' && eval \"$order\"; done\n",
                starts.display(),
                orders.display()
            ),
        );
        let (sender, lives) = channel();
        std::thread::spawn(move || {
            // Opening blocks until a process has something to say.
            while let Ok(text) = std::fs::read_to_string(&starts) {
                for line in text.lines() {
                    let Some((pid, socket)) = line.split_once(' ') else { continue };
                    let Ok(pid) = pid.parse() else { continue };
                    if sender.send(Life { pid, socket: socket.into() }).is_err() {
                        return;
                    }
                }
            }
        });
        RawTool { file, orders, lives }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Waits for the next start of the tool process.
    #[track_caller]
    pub(crate) fn started(&self) -> Life {
        self.lives.recv_timeout(PATIENCE).expect("the tool process is started")
    }

    /// Starts that nobody waited for.
    pub(crate) fn starts_so_far(&self) -> usize {
        self.lives.try_iter().count()
    }

    /// Has the process carry out a line of shell.
    pub(crate) fn order(&self, line: &str) {
        let mut orders = OpenOptions::new().write(true).open(&self.orders).unwrap();
        orders.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Waits for the next start and connects.
    #[track_caller]
    pub(crate) fn connect(&self) -> Peer {
        Peer::connect(&self.started())
    }

    /// Waits for the next start, connects, and offers these tools.
    #[track_caller]
    pub(crate) fn serve(&self, tools: Vec<ToolDefinition>) -> Peer {
        let peer = self.connect();
        peer.handshake(tools);
        peer
    }
}

/// What the other side answers to list requests once the handshake is complete.
#[derive(Default)]
pub(crate) struct Lists {
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) max_concurrent_calls: u32,
    pub(crate) resources: Vec<ResourceDefinition>,
    pub(crate) templates: Vec<ResourceTemplateDefinition>,
    pub(crate) prompts: Vec<PromptDefinition>,
}

/// The connection to the bridge, from the tool's side. A thread reads it, answers what asks for
/// lists (a bridge asks for them when it likes) and hands on everything, marked.
pub(crate) struct Peer {
    stream: UnixStream,
    shared: Arc<Shared>,
    frames: Receiver<Option<Frame>>,
    pub(crate) pid: u32,
}

struct Frame {
    envelope: Envelope,
    was_answered: bool,
}

struct Shared {
    writer: Mutex<UnixStream>,
    lists: Mutex<Lists>,
    is_complete: AtomicBool,
    reading: Mutex<()>,
}

/// One `CallToolRequest`.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) progress_token: String,
}

impl Peer {
    #[track_caller]
    pub(crate) fn connect(life: &Life) -> Peer {
        let stream = UnixStream::connect(&life.socket).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let shared = Arc::new(Shared {
            writer: Mutex::new(stream.try_clone().unwrap()),
            lists: Mutex::new(Lists::default()),
            is_complete: AtomicBool::new(false),
            reading: Mutex::new(()),
        });
        let (sender, frames) = channel();
        let (input, inside) = (stream.try_clone().unwrap(), Arc::clone(&shared));
        std::thread::spawn(move || read(input, &inside, &sender));
        Peer { stream, shared, frames, pid: life.pid }
    }

    /// The connection itself.
    pub(crate) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// What list requests are answered with.
    pub(crate) fn lists(&self) -> MutexGuard<'_, Lists> {
        self.shared.lists.lock().unwrap()
    }

    /// While the guard lives, at most one more frame is read.
    pub(crate) fn stop_reading(&self) -> impl Drop + '_ {
        self.shared.reading.lock().unwrap()
    }

    #[track_caller]
    pub(crate) fn send_bytes(&self, bytes: &[u8]) {
        self.shared.writer.lock().unwrap().write_all(bytes).unwrap();
    }

    #[track_caller]
    pub(crate) fn send(&self, request_id: &str, msg: Msg) {
        self.send_bytes(&frame(request_id, msg));
    }

    /// The next frame, whatever it is; `None` at the end of the connection.
    #[track_caller]
    pub(crate) fn receive(&self) -> Option<Envelope> {
        let frame = self.frames.recv_timeout(PATIENCE).expect("the bridge sends something");
        frame.map(|frame| frame.envelope)
    }

    /// The next frame that was not answered already.
    #[track_caller]
    pub(crate) fn next(&self) -> Envelope {
        loop {
            let frame = self.frames.recv_timeout(PATIENCE).expect("the bridge sends something");
            let frame = frame.expect("the bridge keeps the connection");
            if !frame.was_answered {
                return frame.envelope;
            }
        }
    }

    /// The next frame that was not answered already, however long it takes; `None` at the end of
    /// the connection.
    pub(crate) fn next_or_end(&self) -> Option<Envelope> {
        loop {
            let frame = self.frames.recv().ok()??;
            if !frame.was_answered {
                return Some(frame.envelope);
            }
        }
    }

    /// Waits for the bridge to end the connection.
    #[track_caller]
    pub(crate) fn is_dropped(&self) {
        while self.receive().is_some() {}
    }

    /// Whether nothing but list requests came within the time. For what must not come: the time is
    /// short, and a bridge that is slower than it goes unnoticed, so a test that can tell by the
    /// order of frames does so instead.
    pub(crate) fn nothing_within(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            match self.frames.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Some(frame)) if !frame.was_answered => return false,
                Ok(_) => {}
                Err(_) => return true,
            }
        }
    }

    /// A call that has come already.
    #[track_caller]
    pub(crate) fn try_call(&self) -> Option<Call> {
        let frames = std::iter::from_fn(|| self.frames.try_recv().ok());
        frames
            .map(|frame| frame.expect("the bridge keeps the connection"))
            .find(|frame| !frame.was_answered)
            .map(|frame| Call::of(frame.envelope))
    }

    /// The next call.
    #[track_caller]
    pub(crate) fn call(&self) -> Call {
        Call::of(self.next())
    }
}

impl Call {
    #[track_caller]
    fn of(envelope: Envelope) -> Call {
        match envelope.msg {
            Some(Msg::CallTool(request)) => Call {
                id: envelope.request_id,
                name: request.name,
                arguments: request.arguments_json,
                progress_token: request.progress_token,
            },
            other => panic!("a call was expected, and this came: {other:?}"),
        }
    }
}

impl Peer {
    /// Answers a call.
    #[track_caller]
    pub(crate) fn answer(&self, call: &Call, response: CallToolResponse) {
        self.send(&call.id, Msg::CallResult(response));
    }

    /// Answers a call with one text.
    #[track_caller]
    pub(crate) fn answer_text(&self, call: &Call, text: &str) {
        self.answer(call, text_result(text));
    }

    /// Offers these tools and says that the handshake is complete, as published SDKs do.
    #[track_caller]
    pub(crate) fn handshake(&self, tools: Vec<ToolDefinition>) {
        self.lists().tools = tools;
        self.expect_list_tools();
        self.complete();
    }

    /// Answers the request for the tool list.
    #[track_caller]
    pub(crate) fn expect_list_tools(&self) {
        let envelope = self.receive().expect("the bridge asks for the tools");
        assert!(matches!(envelope.msg, Some(Msg::ListTools(_))), "{envelope:?}");
        self.send(&envelope.request_id, self.shared.list_for(&envelope).unwrap());
    }

    /// Says that the handshake is complete.
    #[track_caller]
    pub(crate) fn complete(&self) {
        self.shared.is_complete.store(true, Ordering::SeqCst);
        self.send("", Msg::ReloadResponse(ReloadResponse { success: true, error: String::new() }));
    }

    /// Registers a middleware and waits for the acknowledgement, which must be the next frame:
    /// published SDKs take that one, whatever it is.
    #[track_caller]
    pub(crate) fn register(&self, name: &str, priority: i32) {
        let request = RegisterMiddlewareRequest { name: name.into(), priority };
        self.send("", Msg::RegisterMiddleware(request));
        let envelope = self.receive().expect("the bridge acknowledges");
        let Some(Msg::RegisterMiddlewareResponse(response)) = envelope.msg else {
            panic!("anything but the acknowledgement would be taken for it: {envelope:?}");
        };
        assert!(response.success);
    }

    /// Asks for a change of the tool list and gives the active tools, sorted. They must come as the
    /// very next frame: published SDKs take that one, whatever it is.
    #[track_caller]
    pub(crate) fn change_tools(&self, msg: Msg) -> Vec<String> {
        while self.frames.try_recv().is_ok() {}
        self.send("", msg);
        let envelope = self.receive().expect("the bridge answers");
        let Some(Msg::ActiveTools(mut active)) = envelope.msg else {
            panic!("the very next frame must be the active tools: {envelope:?}");
        };
        active.tool_names.sort();
        active.tool_names
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The reading thread holds a descriptor of its own.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Shared {
    fn list_for(&self, envelope: &Envelope) -> Option<Msg> {
        let lists = self.lists.lock().unwrap();
        Some(match &envelope.msg {
            Some(Msg::ListTools(_)) => Msg::ToolList(ToolListResponse {
                tools: lists.tools.clone(),
                max_concurrent_calls: lists.max_concurrent_calls,
                ..ToolListResponse::default()
            }),
            Some(Msg::ListResourcesRequest(_)) => {
                Msg::ResourceListResponse(ResourceListResponse { resources: lists.resources.clone() })
            }
            Some(Msg::ListResourceTemplatesRequest(_)) => {
                let templates = lists.templates.clone();
                Msg::ResourceTemplateListResponse(ResourceTemplateListResponse { templates })
            }
            Some(Msg::ListPromptsRequest(_)) => {
                Msg::PromptListResponse(PromptListResponse { prompts: lists.prompts.clone() })
            }
            _ => return None,
        })
    }
}

/// The reading thread.
fn read(mut input: UnixStream, shared: &Shared, sender: &Sender<Option<Frame>>) {
    loop {
        drop(shared.reading.lock());
        let mut header = [0; 4];
        let envelope = input.read_exact(&mut header).ok().and_then(|()| {
            let mut body = vec![0; u32::from_be_bytes(header) as usize];
            input.read_exact(&mut body).ok()?;
            Some(Envelope::decode(body.as_slice()).expect("the bridge sends envelopes"))
        });
        let Some(envelope) = envelope else {
            let _ = sender.send(None);
            return;
        };
        let mut was_answered = false;
        if shared.is_complete.load(Ordering::SeqCst)
            && let Some(list) = shared.list_for(&envelope)
        {
            let bytes = frame(&envelope.request_id, list);
            was_answered = shared.writer.lock().unwrap().write_all(&bytes).is_ok();
        }
        if sender.send(Some(Frame { envelope, was_answered })).is_err() {
            return;
        }
    }
}

/// A length and an envelope.
pub(crate) fn frame(request_id: &str, msg: Msg) -> Vec<u8> {
    let envelope = Envelope { request_id: request_id.into(), msg: Some(msg), ..Envelope::default() };
    let body = envelope.encode_to_vec();
    let mut frame = (body.len() as u32).to_be_bytes().to_vec();
    frame.extend_from_slice(&body);
    frame
}

/// A result of one text.
pub(crate) fn text_result(text: &str) -> CallToolResponse {
    CallToolResponse {
        result_json: serde_json::json!([{"type": "text", "text": text}]).to_string(),
        ..CallToolResponse::default()
    }
}

/// A tool that takes anything.
pub(crate) fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        description: format!("The tool {name}"),
        input_schema_json: r#"{"type":"object"}"#.into(),
        ..ToolDefinition::default()
    }
}

/// A host and a raw tool process with the bridge between them, all greeted.
pub(crate) struct Trio {
    pub(crate) host: Host,
    pub(crate) tool: RawTool,
    pub(crate) peer: Peer,
    pub(crate) dir: Arc<Dir>,
}

impl Trio {
    /// With these tools, in the newest revision.
    #[track_caller]
    pub(crate) fn new(tools: &[&str]) -> Trio {
        Trio::with(tools.iter().map(|name| tool(name)).collect(), |setup| setup, |_| {})
    }

    /// With flags, or lists that the tool process offers.
    #[track_caller]
    pub(crate) fn with(
        tools: Vec<ToolDefinition>,
        flags: impl FnOnce(Setup) -> Setup,
        lists: impl FnOnce(&mut Lists),
    ) -> Trio {
        let mut trio = Trio::unready(flags);
        lists(&mut trio.peer.lists());
        trio.peer.handshake(tools);
        trio.host.initialize();
        trio
    }

    /// With these tools and a host of this revision.
    #[track_caller]
    pub(crate) fn revision(tools: Vec<ToolDefinition>, revision: &str) -> Trio {
        let mut trio = Trio::unready(|setup| setup);
        trio.peer.handshake(tools);
        trio.host.initialize_as(revision, serde_json::json!({}));
        trio
    }

    /// The tool process is connected and has said nothing, the host neither.
    #[track_caller]
    pub(crate) fn unready(flags: impl FnOnce(Setup) -> Setup) -> Trio {
        let dir = Arc::new(Dir::new());
        let tool = RawTool::new(&dir);
        let host = flags(Setup::run(&dir).arg(tool.file())).host();
        let peer = tool.connect();
        Trio { host, tool, peer, dir }
    }

    /// A call that is answered with a text, as a proof that all three still live.
    #[track_caller]
    pub(crate) fn lives(&mut self) {
        let name = self.peer.lists().tools[0].name.clone();
        let id = self.host.begin_call(&name, serde_json::json!({"alive": true}));
        let call = self.peer.call();
        assert_eq!(call.name, name);
        self.peer.answer_text(&call, "alive");
        assert_eq!(self.host.result_of(id)["content"][0]["text"], "alive");
    }
}

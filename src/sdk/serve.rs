//! The blocking rim around [`Peer`]: one socket, and threads that take turns at reading it.
//!
//! A message is handled by the thread that read it: answers to questions of ours and cancels
//! while it is still the only reader, requests after it made another one possible (see
//! [`lead`](super::lead)). Frames are written whole, one after the other.
//!
//! No lock is held while another is taken, and none while a handler runs.

use std::env;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Instant;

use prost::Message;

use super::context::{Context, Link};
use super::error::{Error, ToolError};
use super::lead::{Lead, Wanted};
use super::peer::{self, Peer, Request, Step, Work};
use super::result::failed_call;
use super::server::{Handlers, Server};
use crate::limits::{SDK_MESSAGE_MAX, SDK_QUICK, SDK_TICK};
use crate::wire::frame::{self, Frame, FrameReader};
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{
    CompletionResponse, Envelope, GetPromptResponse, MiddlewareInterceptResponse, ReadResourceResponse,
};

/// Where the bridge listens.
const SOCKET: &str = "PROTOMCP_SOCKET";

/// The largest message that the bridge takes, in bytes.
const MAX_MESSAGE: &str = "PROTOMCP_MAX_MESSAGE";

impl Server {
    /// Connects to the bridge that started this process and serves it until it closes the
    /// connection. Handlers that still run then are told that they are cancelled and are not
    /// waited for: the process should end.
    ///
    /// # Errors
    ///
    /// [`Error::NotStartedByBridge`] in a program that was started by hand; otherwise what is
    /// wrong with the server's definition or with the connection.
    pub fn run(self) -> Result<(), Error> {
        let path = env::var_os(SOCKET).filter(|path| !path.is_empty()).ok_or(Error::NotStartedByBridge)?;
        let stream = UnixStream::connect(&path)
            .map_err(|error| Error::Connect { path: path.to_string_lossy().into_owned(), error })?;
        let message_max = env::var(MAX_MESSAGE).ok().and_then(|max| max.parse().ok());
        self.serve(stream, message_max.unwrap_or(SDK_MESSAGE_MAX))
    }

    /// Serves a connection of yours, as [`Server::run`] does. A message of more than
    /// `message_max` bytes is not sent; a result that would need it becomes an error.
    ///
    /// # Errors
    ///
    /// What is wrong with the server's definition or with the connection.
    pub fn serve(self, stream: UnixStream, message_max: usize) -> Result<(), Error> {
        let (offer, handlers) = self.into_parts()?;
        // One more than the handlers that run at once: somebody always reads.
        let threads_max = offer.concurrency.max(1) as usize + 1;
        // The bridge is trusted with its lengths: it started us.
        let reader = FrameReader::new(u32::MAX as usize);
        let connection = Arc::new_cyclic(|myself| Connection {
            stream,
            writing: Mutex::new(()),
            shared: Mutex::new(Shared { peer: Peer::new(offer), asking: Vec::new(), outcome: None }),
            lead: Lead::new(reader, threads_max),
            handlers,
            message_max,
            myself: myself.clone(),
        });
        let token = connection.lead.take();
        if token.map(|token| connection.lead.release(token)) == Some(Wanted::Thread) {
            connection.start_thread();
        }
        // Handlers never run on this thread, so that nothing holds it up when the bridge goes.
        connection.lead.watch(SDK_TICK, || connection.start_thread());
        connection.shared().outcome.take().unwrap_or(Ok(()))
    }
}

/// What all threads see.
struct Connection {
    stream: UnixStream,
    /// Held while one frame is written.
    writing: Mutex<()>,
    shared: Mutex<Shared>,
    lead: Lead<FrameReader>,
    handlers: Handlers,
    message_max: usize,
    /// For new threads.
    myself: Weak<Self>,
}

struct Shared {
    peer: Peer,
    /// Handlers that wait for the answer to a question, by its request id.
    asking: Vec<(String, Sender<Msg>)>,
    /// Set when all is over.
    outcome: Option<Result<(), Error>>,
}

impl Connection {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_thread(&self) {
        let Some(connection) = self.myself.upgrade() else { return };
        let started = thread::Builder::new().name("pmcp-handler".to_owned()).spawn(move || {
            let link: Arc<dyn Link> = connection.clone();
            connection.take_turns(&link);
        });
        if let Err(error) = started {
            eprintln!("a thread could not be started: {error}");
            self.lead.thread_failed();
            if self.lead.has_no_threads() {
                self.end(Err(Error::Io(error)));
            }
        }
    }

    /// The life of a thread.
    fn take_turns(&self, link: &Arc<dyn Link>) {
        let mut steps = Vec::new();
        while let Some(mut reader) = self.lead.take() {
            match self.read_request(&mut reader, &mut steps) {
                Ok(Some(request)) => self.run(request, reader, link),
                Ok(None) => return self.end(Ok(())),
                Err(error) => return self.end(Err(error)),
            }
        }
    }

    /// Reads until there is something for a handler; `None` when the bridge is gone. All else is
    /// dealt with on the way.
    fn read_request(
        &self,
        reader: &mut FrameReader,
        steps: &mut Vec<Step>,
    ) -> Result<Option<Request>, Error> {
        loop {
            while let Some(frame) = reader.next().map_err(|error| Error::Wire(error.to_string()))? {
                let Frame::Body(body) = frame else { continue };
                match Envelope::decode(&*body) {
                    Ok(envelope) => self.shared().peer.receive(envelope, steps),
                    Err(error) => eprintln!("a message of the bridge can't be read and is skipped: {error}"),
                }
                let mut request = None;
                for step in steps.drain(..) {
                    match step {
                        Step::Send(envelope) => self.write(&envelope).map_err(|size| {
                            Error::Definition(format!("a list of {size} bytes is more than the bridge takes"))
                        })?,
                        Step::Answer { request_id, message } => self.deliver(&request_id, message),
                        Step::Run(run) => request = Some(run),
                    }
                }
                if request.is_some() {
                    return Ok(request);
                }
            }
            match (&self.stream).read(reader.space()) {
                Ok(0) => return Ok(None),
                Ok(count) => reader.advance(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(Error::Io(error)),
            }
        }
    }

    /// Runs one request and those that waited for its end.
    fn run(&self, request: Request, reader: FrameReader, link: &Arc<dyn Link>) {
        let quick = self.handlers.pace(&request.work).is_some_and(|pace| pace.is_quick());
        if quick {
            self.lead.keep(reader);
        } else if self.lead.release(reader) == Wanted::Thread {
            self.start_thread();
        }
        let mut next = Some(request);
        while let Some(request) = next {
            next = self.run_one(request, link);
            if next.is_some() {
                self.attend();
            }
        }
    }

    /// Runs one request and answers it; hands out one that waited for its end.
    fn run_one(&self, mut request: Request, link: &Arc<dyn Link>) -> Option<Request> {
        let progress_token = match &mut request.work {
            Work::Call { progress_token, .. } => std::mem::take(progress_token),
            _ => String::new(),
        };
        let pace = self.handlers.pace(&request.work);
        let context =
            Context::new(link.clone(), request.request_id.clone(), progress_token, request.cancelled.clone());
        let work = std::mem::replace(&mut request.work, Work::Read { uri: String::new() });
        let started = Instant::now();
        let answer = self.handlers.handle(&context, work);
        if let Some(pace) = pace {
            pace.set_quick(started.elapsed() < SDK_QUICK);
        }
        drop(context);
        let next = self.shared().peer.finish(&request);
        let mut envelope = peer::envelope(request.request_id, answer);
        if let Err(size) = self.write(&envelope) {
            envelope.msg = envelope.msg.map(|answer| too_large(answer, size, self.message_max));
            let _ = self.write(&envelope);
        }
        next
    }

    /// Writes one frame, or says how large it would be if that is too large. That the connection
    /// is broken is noticed where it is read.
    fn write(&self, envelope: &Envelope) -> Result<(), usize> {
        let size = envelope.encoded_len();
        if size > self.message_max {
            return Err(size);
        }
        let frame = frame::encode(envelope);
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = (&self.stream).write_all(&frame);
        Ok(())
    }

    /// Gives an answer to the handler that waits for it.
    fn deliver(&self, request_id: &str, message: Msg) {
        let mut shared = self.shared();
        if let Some(at) = shared.asking.iter().position(|(id, _)| id == request_id) {
            let (_, answer) = shared.asking.swap_remove(at);
            drop(shared);
            let _ = answer.send(message);
        }
    }

    fn end(&self, outcome: Result<(), Error>) {
        let mut shared = self.shared();
        shared.peer.close();
        shared.asking.clear();
        shared.outcome = Some(outcome);
        drop(shared);
        self.lead.end();
    }
}

impl Link for Connection {
    fn send(&self, message: Msg) {
        if let Err(size) = self.write(&peer::envelope(String::new(), message)) {
            eprintln!("a message of {size} bytes is more than the bridge takes and was dropped");
        }
    }

    fn ask(&self, message: Msg) -> Result<Msg, ToolError> {
        self.attend();
        let (answer, answered) = mpsc::channel();
        let envelope = {
            let mut shared = self.shared();
            if shared.outcome.is_some() {
                return Err(gone());
            }
            let envelope = shared.peer.ask(message);
            shared.asking.push((envelope.request_id.clone(), answer));
            envelope
        };
        if let Err(size) = self.write(&envelope) {
            let mut shared = self.shared();
            shared.peer.forget(&envelope.request_id);
            shared.asking.retain(|(id, _)| *id != envelope.request_id);
            return Err(ToolError::new("TOO_LARGE", too_large_text("question", size, self.message_max)));
        }
        answered.recv().map_err(|_| gone())
    }

    fn attend(&self) {
        if self.lead.attend() == Wanted::Thread {
            self.start_thread();
        }
    }
}

fn gone() -> ToolError {
    ToolError::new("BRIDGE_GONE", "the bridge closed the connection")
}

fn too_large_text(what: &str, size: usize, max: usize) -> String {
    format!("the {what} takes {size} bytes, the bridge accepts {max} (see --max-message)")
}

/// What is sent in place of an answer that the bridge would refuse.
fn too_large(answer: Msg, size: usize, max: usize) -> Msg {
    let error = ToolError::new("RESULT_TOO_LARGE", too_large_text("result", size, max));
    match answer {
        Msg::CallResult(_) => Msg::CallResult(failed_call(error.suggestion("ask for less at once"))),
        Msg::ReadResourceResponse(_) => Msg::ReadResourceResponse(ReadResourceResponse {
            error: Some(error.into_wire()),
            ..Default::default()
        }),
        Msg::GetPromptResponse(_) => {
            Msg::GetPromptResponse(GetPromptResponse { error: Some(error.into_wire()), ..Default::default() })
        }
        Msg::MiddlewareInterceptResponse(_) => {
            let reason = error.to_string();
            Msg::MiddlewareInterceptResponse(MiddlewareInterceptResponse {
                result_json: reason.clone(),
                reject: true,
                reject_reason: reason,
                ..Default::default()
            })
        }
        _ => Msg::CompletionResponse(CompletionResponse::default()),
    }
}

#[cfg(test)]
mod tests {
    // A test may panic when no thread can be had.
    #![allow(clippy::disallowed_methods)]

    use super::super::{LogLevel, Reference, completion::Completion, middleware, prompt, resource, tool};
    use super::*;
    use crate::wire::protomcp::{
        ActiveToolsResponse, CallToolRequest, CallToolResponse, CancelRequest, CompletionRequest,
        GetPromptRequest, ListToolsRequest, MiddlewareInterceptRequest, ReadResourceRequest,
        RegisterMiddlewareResponse, SamplingResponse,
    };
    use std::sync::mpsc::Receiver;
    use std::thread::JoinHandle;

    /// The bridge's end of a connection to a server that runs on a thread of its own.
    struct Bridge {
        stream: UnixStream,
        reader: FrameReader,
        server: JoinHandle<Result<(), Error>>,
    }

    impl Bridge {
        fn of(server: Server) -> Self {
            Self::with_max(server, SDK_MESSAGE_MAX)
        }

        fn with_max(server: Server, message_max: usize) -> Self {
            let (stream, other) = UnixStream::pair().unwrap();
            let server = thread::spawn(move || server.serve(other, message_max));
            Self { stream, reader: FrameReader::new(usize::MAX), server }
        }

        fn send(&mut self, request_id: &str, message: Msg) {
            self.stream.write_all(&frame::encode(&peer::envelope(request_id.to_owned(), message))).unwrap();
        }

        fn call(&mut self, request_id: &str, name: &str) {
            let call = CallToolRequest { name: name.to_owned(), ..Default::default() };
            self.send(request_id, Msg::CallTool(call));
        }

        fn next(&mut self) -> (String, Msg) {
            loop {
                if let Some(Frame::Body(body)) = self.reader.next().unwrap() {
                    let envelope = Envelope::decode(&*body).unwrap();
                    return (envelope.request_id, envelope.msg.unwrap());
                }
                let count = self.stream.read(self.reader.space()).unwrap();
                assert!(count > 0, "the server hung up");
                self.reader.advance(count);
            }
        }

        fn result(&mut self) -> (String, CallToolResponse) {
            match self.next() {
                (id, Msg::CallResult(result)) => (id, result),
                other => panic!("not a result: {other:?}"),
            }
        }

        /// Ends the connection and waits for the server.
        fn close(self) -> Result<(), Error> {
            drop(self.stream);
            self.server.join().unwrap()
        }
    }

    /// A tool that tells when it runs and goes on when it is told to.
    fn gate(name: &str) -> (super::super::Tool, Receiver<()>, Sender<()>) {
        let (entered, enters) = mpsc::channel();
        let (go, gone) = mpsc::channel();
        let gone = Mutex::new(gone);
        let tool = tool(name).handler(move |_, _| {
            entered.send(()).unwrap();
            let _ = gone.lock().unwrap().recv();
            Ok("done")
        });
        (tool, enters, go)
    }

    #[test]
    fn a_handshake_and_a_call() {
        let server = Server::new()
            .concurrency(3)
            .tool(
                tool("add")
                    .arg::<i64>("a", "")
                    .arg::<i64>("b", "")
                    .handler(|_, args| Ok(args.get::<i64>("a")? + args.get::<i64>("b")?)),
            )
            .tool(tool("secret").hidden().handler(|_, _| Ok(())))
            .middleware(middleware("m"));
        let mut bridge = Bridge::of(server);
        bridge.send("1", Msg::ListTools(ListToolsRequest {}));
        assert!(matches!(bridge.next(), (id, Msg::ToolList(list))
            if id == "1" && list.tools.len() == 2 && list.max_concurrent_calls == 3));
        assert!(matches!(bridge.next(), (_, Msg::RegisterMiddleware(it)) if it.name == "m"));
        bridge.send("", Msg::RegisterMiddlewareResponse(RegisterMiddlewareResponse { success: true }));
        assert!(matches!(bridge.next(), (id, Msg::ReloadResponse(it)) if id.is_empty() && it.success));
        assert!(matches!(bridge.next(), (_, Msg::DisableTools(it)) if it.tool_names == ["secret"]));
        let arguments_json = r#"{"a": 2, "b": 3}"#.to_owned();
        let call = CallToolRequest { name: "add".to_owned(), arguments_json, ..Default::default() };
        // Slow at first, on the reading thread once the handler is known to be quick.
        for _ in 0..50 {
            bridge.send("2", Msg::CallTool(call.clone()));
            let (id, result) = bridge.result();
            assert_eq!((id.as_str(), result.result_json.as_str()), ("2", r#"[{"type":"text","text":"5"}]"#));
        }
        bridge.close().unwrap();
    }

    #[test]
    fn as_many_handlers_run_at_once_as_was_said() {
        let (tool, enters, go) = gate("gate");
        let mut bridge = Bridge::of(Server::new().concurrency(2).tool(tool));
        for id in ["1", "2", "3"] {
            bridge.call(id, "gate");
        }
        // Two are in at once; the gate opens for one at a time, so the third comes in afterwards.
        enters.recv().unwrap();
        enters.recv().unwrap();
        assert!(enters.try_recv().is_err());
        go.send(()).unwrap();
        bridge.result();
        enters.recv().unwrap();
        go.send(()).unwrap();
        go.send(()).unwrap();
        bridge.result();
        bridge.result();
        bridge.close().unwrap();
    }

    #[test]
    fn a_handler_sees_that_it_is_cancelled_and_answers() {
        let (entered, enters) = mpsc::channel();
        let wait = tool("wait").handler(move |context, _| {
            entered.send(()).unwrap();
            while !context.is_cancelled() {
                thread::yield_now();
            }
            context.check_cancelled()
        });
        let mut bridge = Bridge::of(Server::new().concurrency(1).tool(wait));
        bridge.call("1", "wait");
        enters.recv().unwrap();
        bridge.send("", Msg::Cancel(CancelRequest { request_id: "1".to_owned() }));
        let (id, result) = bridge.result();
        assert_eq!((id.as_str(), result.error.unwrap().error_code.as_str()), ("1", "CANCELLED"));
        bridge.close().unwrap();
    }

    #[test]
    fn a_handler_that_is_suddenly_slow_holds_nothing_up() {
        let (entered, enters) = mpsc::channel();
        let (go, gone) = mpsc::channel::<()>();
        let gone = Mutex::new(gone);
        let moody = tool("moody").handler(move |_, args| {
            if args.get_or("wait", false)? {
                entered.send(()).unwrap();
                let _ = gone.lock().unwrap().recv();
            }
            Ok("done")
        });
        let mut bridge = Bridge::of(Server::new().tool(moody));
        for _ in 0..50 {
            bridge.call("1", "moody");
            bridge.result();
        }
        let arguments_json = r#"{"wait": true}"#.to_owned();
        let call = CallToolRequest { name: "moody".to_owned(), arguments_json, ..Default::default() };
        bridge.send("2", Msg::CallTool(call));
        enters.recv().unwrap();
        bridge.call("3", "moody");
        assert_eq!(bridge.result().0, "3");
        go.send(()).unwrap();
        assert_eq!(bridge.result().0, "2");
        bridge.close().unwrap();
    }

    #[test]
    fn a_panic_is_an_error_and_the_process_lives_on() {
        let server = Server::new()
            .tool(tool("panic").handler(|_, _| -> Result<(), ToolError> { panic!("out of {}", "luck") }))
            .middleware(middleware("bad").before(|_| panic!("no")));
        let mut bridge = Bridge::of(server);
        for id in ["1", "2"] {
            bridge.call(id, "panic");
            let (_, result) = bridge.result();
            assert!(result.is_error && result.result_json.contains("the handler panicked: out of luck"));
        }
        let intercept = MiddlewareInterceptRequest {
            middleware_name: "bad".to_owned(),
            phase: "before".to_owned(),
            ..Default::default()
        };
        bridge.send("3", Msg::MiddlewareIntercept(intercept));
        assert!(matches!(bridge.next(), (_, Msg::MiddlewareInterceptResponse(it)) if it.reject));
        bridge.close().unwrap();
    }

    #[test]
    fn questions_are_answered_while_handlers_wait() {
        let server = Server::new()
            .concurrency(2)
            .tool(tool("sample").handler(|context, _| Ok(context.sample("hi")?.text())))
            .tool(tool("unlock").handler(|context, _| Ok(context.tools().enable(["secret"])?.join(","))));
        let mut bridge = Bridge::of(server);
        bridge.call("1", "sample");
        let (ask, question) = bridge.next();
        let Msg::SamplingRequest(question) = question else { panic!("{question:?}") };
        assert_eq!(question.call_request_id, "1");
        bridge.call("2", "unlock");
        let (other_ask, enable) = bridge.next();
        assert!(matches!(enable, Msg::EnableTools(it) if it.tool_names == ["secret"]));
        assert_ne!(ask, other_ask);
        let tool_names = vec!["sample".to_owned(), "secret".to_owned()];
        bridge.send(&other_ask, Msg::ActiveTools(ActiveToolsResponse { tool_names }));
        assert!(bridge.result().1.result_json.contains("sample,secret"));
        let content_json = r#"{"type":"text","text":"hello"}"#.to_owned();
        bridge.send(&ask, Msg::SamplingResponse(SamplingResponse { content_json, ..Default::default() }));
        assert!(bridge.result().1.result_json.contains("hello"));
        bridge.close().unwrap();
    }

    #[test]
    fn what_the_bridge_would_refuse_is_an_error_instead() {
        let server = Server::new()
            .tool(tool("big").handler(|context, _| {
                context.log(LogLevel::Info, "x".repeat(2000));
                Ok("x".repeat(2000))
            }))
            .tool(tool("ask").handler(|context, _| Ok(context.sample("x".repeat(2000))?.text())));
        let mut bridge = Bridge::with_max(server, 1000);
        bridge.call("1", "big");
        let (id, result) = bridge.result();
        let error = result.error.unwrap();
        assert_eq!((id.as_str(), error.error_code.as_str()), ("1", "RESULT_TOO_LARGE"));
        assert!(error.message.contains("the bridge accepts 1000"), "{}", error.message);
        bridge.call("2", "ask");
        assert_eq!(bridge.result().1.error.unwrap().error_code, "TOO_LARGE");
        bridge.close().unwrap();
    }

    #[test]
    fn resources_prompts_and_completions_are_answered() {
        let server = Server::new()
            .resource(resource("a://b").mime_type("text/x").read(|_| Ok("text")))
            .resource_template(
                super::super::resource_template("n://{id}").read(|_, it| Ok(it["id"].to_uppercase())),
            )
            .prompt(prompt("p").required_arg("who", "").handler(|_, args| args.get::<String>("who")))
            .completion(Reference::prompt("p"), "who", |_, it| -> Result<Completion, _> {
                Ok(it.matching(["Ann", "Bob"]))
            });
        let mut bridge = Bridge::of(server);
        let read = |bridge: &mut Bridge, uri: &str| {
            bridge.send("1", Msg::ReadResourceRequest(ReadResourceRequest { uri: uri.to_owned() }));
            match bridge.next() {
                (_, Msg::ReadResourceResponse(response)) => response,
                other => panic!("{other:?}"),
            }
        };
        let response = read(&mut bridge, "a://b");
        assert_eq!((&*response.contents[0].text, &*response.contents[0].mime_type), ("text", "text/x"));
        let response = read(&mut bridge, "n://x");
        assert_eq!((&*response.contents[0].text, &*response.contents[0].uri), ("X", "n://x"));
        assert_eq!(read(&mut bridge, "z://").error.unwrap().error_code, "NOT_FOUND");

        let get = |bridge: &mut Bridge, name: &str, arguments: &str| {
            let (name, arguments_json) = (name.to_owned(), arguments.to_owned());
            bridge.send("2", Msg::GetPromptRequest(GetPromptRequest { name, arguments_json }));
            match bridge.next() {
                (_, Msg::GetPromptResponse(response)) => response,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(get(&mut bridge, "p", r#"{"who":"me"}"#).messages.len(), 1);
        assert_eq!(get(&mut bridge, "p", "{}").error.unwrap().error_code, "INVALID_ARGUMENTS");
        assert_eq!(get(&mut bridge, "q", "{}").error.unwrap().error_code, "NOT_FOUND");

        let complete = CompletionRequest {
            ref_type: "ref/prompt".to_owned(),
            ref_name: "p".to_owned(),
            argument_name: "who".to_owned(),
            argument_value: "a".to_owned(),
            ..Default::default()
        };
        bridge.send("3", Msg::CompletionRequest(complete));
        assert!(matches!(bridge.next(), (_, Msg::CompletionResponse(it)) if it.values == ["Ann"]));
        bridge.close().unwrap();
    }

    #[test]
    fn the_end_of_the_connection_is_the_end_whatever_runs() {
        let (tool, enters, _go) = gate("gate");
        let asks = super::super::tool("ask").handler(|context, _| Ok(context.roots()?.len()));
        let mut bridge = Bridge::of(Server::new().tool(tool).tool(asks));
        bridge.call("1", "gate");
        bridge.call("2", "ask");
        enters.recv().unwrap();
        assert!(matches!(bridge.next(), (_, Msg::ListRootsRequest(it)) if it.call_request_id == "2"));
        bridge.close().unwrap();
    }

    #[test]
    fn junk_is_skipped_but_a_wrong_definition_is_not_served() {
        let mut bridge = Bridge::of(Server::new());
        bridge.stream.write_all(&[0, 0, 0, 2, 0xff, 0xff, 0, 0, 0, 0]).unwrap();
        bridge.call("1", "nothing");
        assert_eq!(bridge.result().1.error.unwrap().error_code, "NOT_FOUND");
        bridge.close().unwrap();

        let (_here, there) = UnixStream::pair().unwrap();
        let twice = || tool("a").handler(|_, _| Ok(()));
        let error = Server::new().tool(twice()).tool(twice()).serve(there, 1000).unwrap_err();
        assert_eq!(error.to_string(), "this server can't be offered: two tools are called \"a\"");
    }
}

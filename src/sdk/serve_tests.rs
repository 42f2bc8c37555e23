//! A server on one end of a socket pair, a bridge of a few lines on the other.

#![allow(clippy::disallowed_methods, reason = "a test may panic when no thread can be had")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use prost::Message;

use super::{
    Error, LogLevel, Reference, Server, Tool, ToolError, middleware, peer, prompt, resource,
    resource_template, tool,
};
use crate::limits::SDK_MESSAGE_MAX;
use crate::wire::frame::{self, Frame, FrameReader};
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{
    ActiveToolsResponse, CallToolRequest, CallToolResponse, CancelRequest, CompletionRequest, Envelope,
    GetPromptRequest, ListToolsRequest, MiddlewareInterceptRequest, ReadResourceRequest,
    RegisterMiddlewareResponse, RestoreState, SamplingResponse,
};

/// The bridge's end of a connection to a server that runs on a thread of its own.
pub(super) struct Bridge {
    stream: UnixStream,
    reader: FrameReader,
    server: JoinHandle<Result<(), Error>>,
}

impl Bridge {
    pub(super) fn of(server: Server) -> Self {
        Self::with_max(server, SDK_MESSAGE_MAX)
    }

    pub(super) fn with_max(server: Server, message_max: usize) -> Self {
        let (stream, other) = UnixStream::pair().unwrap();
        let server = thread::spawn(move || server.serve(other, message_max));
        Self { stream, reader: FrameReader::new(usize::MAX), server }
    }

    pub(super) fn send(&mut self, request_id: &str, message: Msg) {
        self.stream.write_all(&frame::encode(&peer::envelope(request_id.to_owned(), message))).unwrap();
    }

    pub(super) fn call(&mut self, request_id: &str, name: &str) {
        let call = CallToolRequest { name: name.to_owned(), ..Default::default() };
        self.send(request_id, Msg::CallTool(call));
    }

    pub(super) fn next(&mut self) -> (String, Msg) {
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

    pub(super) fn result(&mut self) -> (String, CallToolResponse) {
        match self.next() {
            (id, Msg::CallResult(result)) => (id, result),
            other => panic!("not a result: {other:?}"),
        }
    }

    /// Ends the connection and waits for the server.
    pub(super) fn close(self) -> Result<(), Error> {
        drop(self.stream);
        self.server.join().unwrap()
    }
}

/// A tool that tells when it runs and goes on when it is told to.
pub(super) fn gate(name: &str) -> (Tool, Receiver<()>, Sender<()>) {
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
        .resource_template(resource_template("n://{id}").read(|_, it| Ok(it["id"].to_uppercase())))
        .prompt(prompt("p").required_arg("who", "").handler(|_, args| args.get::<String>("who")))
        .completion(Reference::prompt("p"), "who", |_, it| Ok(it.matching(["Ann", "Bob"])));
    let mut bridge = Bridge::of(server);
    let read = |bridge: &mut Bridge, uri: &str| {
        bridge.send("1", Msg::ReadResourceRequest(ReadResourceRequest { uri: uri.to_owned(), input: None }));
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
        bridge.send("2", Msg::GetPromptRequest(GetPromptRequest { name, arguments_json, input: None }));
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
fn state_goes_from_one_process_to_the_next() {
    let (restored, seen) = mpsc::channel();
    let save = tool("save").handler(|context, _| {
        context.save_state("small")?;
        Ok(context.save_state(vec![0; crate::limits::STATE_MAX + 1]).unwrap_err().to_string())
    });
    let server = Server::new().tool(save).restore(move |state| restored.send(state.to_vec()).unwrap());
    let mut bridge = Bridge::of(server);
    bridge.send("", Msg::RestoreState(RestoreState { state: b"left".to_vec() }));
    bridge.call("1", "save");
    assert_eq!(seen.recv().unwrap(), b"left");
    assert!(matches!(bridge.next(), (_, Msg::SaveState(it)) if it.state == b"small"));
    assert!(bridge.result().1.result_json.contains("STATE_TOO_LARGE"));
    bridge.close().unwrap();
}

#[test]
fn the_end_of_the_connection_is_the_end_whatever_runs() {
    let (tool, enters, _go) = gate("gate");
    let asks = super::tool("ask").handler(|context, _| Ok(context.roots()?.len()));
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

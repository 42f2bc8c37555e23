//! Questions to the host over a connection: asked while the handler waits, or answered with.

use std::sync::mpsc;

use super::serve_tests::Bridge;
use super::{
    Elicitation, Field, InputRequired, Messages, Server, ToolError, ToolResult, prompt, resource, tool,
};
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::input_answer::Answer;
use crate::wire::protomcp::input_question::Question;
use crate::wire::protomcp::{
    CallToolRequest, CancelRequest, ElicitResponse, GetPromptRequest, InputAnswer, InputGiven,
    ReadResourceRequest, SamplingResponse,
};

fn accepted(content: &str) -> ElicitResponse {
    ElicitResponse { action: "accept".to_owned(), content_json: content.to_owned(), ..Default::default() }
}

fn lacking() -> ElicitResponse {
    let (error, error_code) = ("the host can't ask".to_owned(), "MISSING_CAPABILITY".to_owned());
    ElicitResponse { error, error_code, ..Default::default() }
}

/// A tool, a prompt and a resource that each ask for a name and wait.
fn waiting() -> Server {
    let form = || Elicitation::form("Who?").field(Field::text("name"));
    Server::new()
        .tool(tool("t").handler(move |ctx, _| ctx.elicit(form())?.get::<String>("name")))
        .prompt(prompt("p").handler(move |ctx, _| ctx.elicit(form())?.get::<String>("name")))
        .resource(resource("r://r").read(move |ctx| ctx.elicit(form())?.get::<String>("name")))
}

/// The same that answer with the question.
fn answering() -> Server {
    fn ask() -> InputRequired {
        InputRequired::new().elicit("who", "Who?").sample("what", "What?").roots("where").state("so far")
    }
    Server::new()
        .tool(tool("t").handler(|ctx, _| {
            let Some(who) = ctx.input().elicited("who") else { return Ok(ask().into()) };
            let state = std::str::from_utf8(ctx.input().state())?.to_owned();
            Ok(ToolResult::from(format!("{} {state}", who?.get::<String>("name")?)))
        }))
        .prompt(prompt("p").handler(|ctx, _| match ctx.input().sampled("what") {
            Some(what) => Ok(Messages::from(what?.text())),
            None => Ok(ask().into()),
        }))
        .resource(resource("r://r").read(|ctx| match ctx.input().is_first() {
            true => Ok(super::Contents::from(ask())),
            false => Ok("again".into()),
        }))
}

fn requests(input: Option<InputGiven>) -> [Msg; 3] {
    [
        Msg::CallTool(CallToolRequest { name: "t".to_owned(), input: input.clone(), ..Default::default() }),
        Msg::GetPromptRequest(GetPromptRequest {
            name: "p".to_owned(),
            input: input.clone(),
            ..Default::default()
        }),
        Msg::ReadResourceRequest(ReadResourceRequest { uri: "r://r".to_owned(), input }),
    ]
}

fn error_of(message: Msg) -> crate::wire::protomcp::ToolError {
    let error = match message {
        Msg::CallResult(result) => result.error,
        Msg::GetPromptResponse(response) => response.error,
        Msg::ReadResourceResponse(response) => response.error,
        other => panic!("{other:?}"),
    };
    error.expect("it failed")
}

#[test]
fn the_user_is_asked_by_tools_prompts_and_resources() {
    let mut bridge = Bridge::of(waiting());
    for (at, request) in requests(None).into_iter().enumerate() {
        let id = at.to_string();
        bridge.send(&id, request);
        let (ask, question) = bridge.next();
        let Msg::ElicitRequest(question) = question else { panic!("{question:?}") };
        assert_eq!((&question.call_request_id, question.message.as_str()), (&id, "Who?"));
        assert_eq!(
            question.requested_schema_json,
            r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#
        );
        bridge.send(&ask, Msg::ElicitResponse(accepted(r#"{"name":"Ada"}"#)));
        let (answered, answer) = bridge.next();
        assert_eq!(answered, id);
        assert!(format!("{answer:?}").contains("Ada"), "{answer:?}");
    }
    bridge.close().unwrap();
}

#[test]
fn what_the_host_lacks_is_passed_on_by_its_code() {
    let mut bridge = Bridge::of(waiting());
    for request in requests(None) {
        bridge.send("1", request);
        let (ask, _) = bridge.next();
        bridge.send(&ask, Msg::ElicitResponse(lacking()));
        let error = error_of(bridge.next().1);
        assert_eq!(
            (error.error_code.as_str(), error.message.as_str()),
            ("MISSING_CAPABILITY", "the host can't ask")
        );
    }
    bridge.close().unwrap();
}

#[test]
fn a_cancel_ends_the_wait_for_an_answer() {
    let (stopped, stops) = mpsc::channel();
    let ask = tool("ask").handler(move |ctx, _| {
        let first = ctx.elicit("Go on?").map(drop);
        // And nothing more is asked on behalf of a cancelled call.
        let second = ctx.sample("anyway").map(drop);
        stopped.send((first, second)).unwrap();
        Ok(())
    });
    let mut bridge = Bridge::of(Server::new().tool(ask));
    bridge.call("1", "ask");
    let (asked, question) = bridge.next();
    assert!(matches!(question, Msg::ElicitRequest(_)));
    bridge.send("", Msg::Cancel(CancelRequest { request_id: "1".to_owned() }));
    let (first, second) = stops.recv().unwrap();
    assert_eq!(first.unwrap_err().code(), "CANCELLED");
    assert_eq!(second.unwrap_err().code(), "CANCELLED");
    bridge.send(&asked, Msg::ElicitResponse(accepted("")));
    assert_eq!(bridge.result().0, "1", "it is answered nevertheless");
    bridge.close().unwrap();
}

#[test]
fn a_handler_learns_that_the_bridge_is_gone() {
    let (stopped, stops) = mpsc::channel();
    let ask = tool("ask").handler(move |ctx, _| {
        stopped.send(ctx.elicit("Go on?").map(drop)).unwrap();
        stopped.send(ctx.elicit("Go on?").map(drop)).unwrap();
        Ok(())
    });
    let mut bridge = Bridge::of(Server::new().tool(ask));
    bridge.call("1", "ask");
    bridge.next();
    bridge.close().unwrap();
    for _ in 0..2 {
        assert_eq!(stops.recv().unwrap().unwrap_err().code(), "BRIDGE_GONE");
    }
}

#[test]
fn handlers_answer_with_questions_and_are_called_again() {
    let mut bridge = Bridge::of(answering());
    for request in requests(None) {
        bridge.send("1", request);
        let (id, asks) = bridge.next();
        let Msg::InputRequired(asks) = asks else { panic!("{asks:?}") };
        assert_eq!((id.as_str(), asks.state.as_slice()), ("1", &b"so far"[..]));
        let keys: Vec<&str> = asks.questions.iter().map(|question| question.key.as_str()).collect();
        assert_eq!(keys, ["who", "what", "where"]);
        assert!(matches!(&asks.questions[0].question, Some(Question::Elicit(it)) if it.message == "Who?"));
    }
    let content_json = r#"{"type":"text","text":"tea"}"#.to_owned();
    let sampled = SamplingResponse { content_json, ..Default::default() };
    let answers = vec![
        InputAnswer { key: "who".to_owned(), answer: Some(Answer::Elicit(accepted(r#"{"name":"Ada"}"#))) },
        InputAnswer { key: "what".to_owned(), answer: Some(Answer::Sampling(sampled)) },
    ];
    let input = InputGiven { state: b"so far".to_vec(), answers };
    for (request, expected) in requests(Some(input)).into_iter().zip(["Ada so far", "tea", "again"]) {
        bridge.send("2", request);
        let (_, answer) = bridge.next();
        assert!(format!("{answer:?}").contains(expected), "{answer:?}");
    }
    bridge.close().unwrap();
}

#[test]
fn questions_that_are_none_or_too_large_are_errors() {
    let huge = || InputRequired::new().state(vec![0; 2000]);
    let server = Server::new()
        .tool(tool("t").handler(move |_, _| Ok(ToolResult::from(huge()))))
        .prompt(prompt("p").handler(move |_, _| Ok(Messages::from(huge()))))
        .resource(resource("r://r").read(move |_| Ok(super::Contents::from(huge()))))
        .tool(tool("nothing").handler(|_, _| Ok(ToolResult::from(InputRequired::new()))));
    let mut bridge = Bridge::with_max(server, 1000);
    for request in requests(None) {
        bridge.send("1", request);
        assert_eq!(error_of(bridge.next().1).error_code, "RESULT_TOO_LARGE");
    }
    bridge.call("2", "nothing");
    assert_eq!(error_of(bridge.next().1).error_code, "INVALID");
    bridge.close().unwrap();
}

#[test]
fn a_protocol_error_says_its_code_everywhere() {
    let wrong = || ToolError::protocol(-32602, "no such page");
    let server = Server::new()
        .tool(tool("t").handler(move |_, _| -> Result<(), ToolError> { Err(wrong()) }))
        .prompt(prompt("p").handler(move |_, _| -> Result<String, ToolError> { Err(wrong()) }))
        .resource(resource("r://r").read(move |_| -> Result<String, ToolError> { Err(wrong()) }));
    let mut bridge = Bridge::of(server);
    for request in requests(None) {
        bridge.send("1", request);
        let error = error_of(bridge.next().1);
        assert_eq!((error.rpc_code, error.message.as_str()), (-32602, "no such page"));
    }
    bridge.close().unwrap();
}

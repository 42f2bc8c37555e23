//! The peer, driven as a bridge would.

use super::*;
use crate::wire::protomcp::{
    ActiveToolsResponse, CallToolRequest, CallToolResponse, CancelRequest, ElicitRequest, ElicitResponse,
    GetActiveToolsRequest, GetPromptRequest, InputGiven, ListPromptsRequest, ListResourcesRequest,
    ListRootsRequest, ListToolsRequest, ReadResourceRequest, RegisterMiddlewareResponse, ReloadRequest,
    SamplingRequest, SamplingResponse,
};

pub(super) fn offer() -> Offer {
    let middleware = |name: &str, priority| RegisterMiddlewareRequest { name: name.to_owned(), priority };
    Offer {
        tools: vec![ToolDefinition { name: "a".to_owned(), ..Default::default() }],
        middleware: vec![middleware("first", 1), middleware("second", 2)],
        hidden: vec!["a".to_owned()],
        concurrency: 2,
        ..Default::default()
    }
}

pub(super) fn give(peer: &mut Peer, request_id: &str, message: Msg) -> Vec<Step> {
    let mut steps = Vec::new();
    peer.receive(envelope(request_id.to_owned(), message), &mut steps);
    steps
}

/// The ids and messages of steps that must all be sends.
pub(super) fn sent(steps: Vec<Step>) -> Vec<(String, Msg)> {
    let sent = |step| match step {
        Step::Send(envelope) => (envelope.request_id, envelope.msg.unwrap()),
        other => panic!("not a send: {other:?}"),
    };
    steps.into_iter().map(sent).collect()
}

pub(super) fn call(peer: &mut Peer, request_id: &str) -> Option<Request> {
    let call = CallToolRequest { name: "a".to_owned(), ..Default::default() };
    match give(peer, request_id, Msg::CallTool(call)).pop() {
        Some(Step::Run(request)) => Some(request),
        None => None,
        other => panic!("{other:?}"),
    }
}

/// Ends a request; hands out the next one.
pub(super) fn finish(peer: &mut Peer, request: &Request) -> Option<Request> {
    let mut steps = Vec::new();
    let next = peer.finish(request.clone(), Msg::CallResult(CallToolResponse::default()), &mut steps);
    let sent = sent(steps);
    assert!(matches!(&sent[..], [(id, Msg::CallResult(_))] if *id == request.request_id), "{sent:?}");
    next
}

pub(super) fn cancel(peer: &mut Peer, request_id: &str) {
    let cancel = Msg::Cancel(CancelRequest { request_id: request_id.to_owned() });
    assert!(give(peer, "", cancel).is_empty());
}

fn acknowledge(peer: &mut Peer, success: bool) -> Vec<(String, Msg)> {
    sent(give(peer, "", Msg::RegisterMiddlewareResponse(RegisterMiddlewareResponse { success })))
}

#[test]
fn the_handshake_waits_for_each_acknowledgement() {
    let mut peer = Peer::new(offer());
    let opening = sent(give(&mut peer, "7", Msg::ListTools(ListToolsRequest {})));
    let [(id, Msg::ToolList(list)), (empty, Msg::RegisterMiddleware(first))] = &opening[..] else {
        panic!("{opening:?}");
    };
    assert_eq!((id.as_str(), empty.as_str()), ("7", ""));
    assert_eq!((list.tools.len(), list.max_concurrent_calls), (1, 2));
    assert_eq!((first.name.as_str(), first.priority), ("first", 1));
    assert!(!peer.is_ready());

    let next = acknowledge(&mut peer, true);
    assert!(matches!(&next[..], [(_, Msg::RegisterMiddleware(second))] if second.name == "second"));

    let last = acknowledge(&mut peer, true);
    let [(id, Msg::ReloadResponse(ready)), (_, Msg::DisableTools(hidden))] = &last[..] else {
        panic!("{last:?}");
    };
    assert!(id.is_empty() && ready.success && peer.is_ready());
    assert_eq!(hidden.tool_names, ["a"]);

    assert!(acknowledge(&mut peer, true).is_empty(), "an acknowledgement of nothing is skipped");
}

#[test]
fn a_refused_middleware_is_a_failed_handshake() {
    let mut peer = Peer::new(offer());
    give(&mut peer, "7", Msg::ListTools(ListToolsRequest {}));
    let last = acknowledge(&mut peer, false);
    let Some((_, Msg::ReloadResponse(failed))) = last.first() else { panic!("{last:?}") };
    assert!(!failed.success && failed.error.contains("first"));
}

#[test]
fn a_plain_offer_is_ready_at_once() {
    let mut peer = Peer::new(Offer::default());
    let steps = sent(give(&mut peer, "1", Msg::ListTools(ListToolsRequest {})));
    let [(_, Msg::ToolList(list)), (_, Msg::ReloadResponse(_))] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!(list.max_concurrent_calls, 1);
}

#[test]
fn no_more_runs_than_was_offered() {
    let mut peer = Peer::new(offer());
    let first = call(&mut peer, "1").unwrap();
    let second = call(&mut peer, "2").unwrap();
    assert!(call(&mut peer, "3").is_none());
    assert!(call(&mut peer, "4").is_none());
    let third = finish(&mut peer, &second).unwrap();
    assert_eq!(third.request_id, "3");
    assert!(finish(&mut peer, &second).is_none(), "finished twice counts once");
    assert_eq!(finish(&mut peer, &first).unwrap().request_id, "4");
    assert!(finish(&mut peer, &third).is_none());
    assert!(call(&mut peer, "5").is_some());
}

#[test]
fn a_cancel_reaches_running_and_waiting_requests() {
    let mut peer = Peer::new(offer());
    let first = call(&mut peer, "1").unwrap();
    let second = call(&mut peer, "2").unwrap();
    assert!(call(&mut peer, "3").is_none());
    cancel(&mut peer, "2");
    cancel(&mut peer, "3");
    cancel(&mut peer, "99");
    assert!(!first.cancelled.get());
    assert!(second.cancelled.get());
    assert!(finish(&mut peer, &first).unwrap().cancelled.get());
    cancel(&mut peer, "1");
    assert!(!first.cancelled.get(), "a finished request can't be cancelled");
}

#[test]
fn two_requests_with_one_id_end_each_for_itself() {
    let mut peer = Peer::new(offer());
    let one = call(&mut peer, "1").unwrap();
    let other = call(&mut peer, "1").unwrap();
    assert!(call(&mut peer, "2").is_none());
    assert!(finish(&mut peer, &other).is_some());
    cancel(&mut peer, "1");
    assert!(one.cancelled.get() && !other.cancelled.get());
}

#[test]
fn answers_find_their_question_or_are_skipped() {
    let mut peer = Peer::new(offer());
    let answer = || Msg::ActiveTools(ActiveToolsResponse::default());
    let one = peer.ask(Msg::GetActiveTools(GetActiveToolsRequest {})).request_id;
    let other = peer.ask(Msg::GetActiveTools(GetActiveToolsRequest {})).request_id;
    assert_ne!(one, other);
    assert!(give(&mut peer, "", answer()).is_empty(), "the answer about hidden tools has no id");
    let steps = give(&mut peer, &other, answer());
    assert!(matches!(&steps[..], [Step::Answer { request_id, .. }] if *request_id == other));
    assert!(give(&mut peer, &other, answer()).is_empty(), "only once");
    assert!(peer.forget(&one));
    assert!(give(&mut peer, &one, answer()).is_empty(), "it was taken back");
}

#[test]
fn lists_and_reloads_are_answered_without_a_handler() {
    let mut peer = Peer::new(offer());
    let steps = sent(give(&mut peer, "1", Msg::ListResourcesRequest(ListResourcesRequest {})));
    assert!(matches!(&steps[..], [(id, Msg::ResourceListResponse(_))] if id == "1"));
    let steps = sent(give(&mut peer, "2", Msg::ListPromptsRequest(ListPromptsRequest {})));
    assert!(matches!(&steps[..], [(id, Msg::PromptListResponse(_))] if id == "2"));
    let steps = sent(give(&mut peer, "3", Msg::Reload(ReloadRequest {})));
    assert!(matches!(&steps[..], [(id, Msg::ReloadResponse(no))] if id == "3" && !no.success));
}

#[test]
fn what_makes_no_sense_is_skipped() {
    let mut peer = Peer::new(offer());
    let mut steps = Vec::new();
    peer.receive(Envelope::default(), &mut steps);
    peer.receive(envelope("1".to_owned(), Msg::ToolList(ToolListResponse::default())), &mut steps);
    assert!(steps.is_empty());
}

#[test]
fn when_the_bridge_is_gone_nothing_starts_and_all_are_cancelled() {
    let mut peer = Peer::new(offer());
    let first = call(&mut peer, "1").unwrap();
    call(&mut peer, "2").unwrap();
    assert!(call(&mut peer, "3").is_none());
    peer.close();
    assert!(first.cancelled.get());
    assert!(finish(&mut peer, &first).is_none());
}

#[test]
fn a_cancelled_call_takes_its_questions_back() {
    let mut peer = Peer::new(offer());
    call(&mut peer, "1").unwrap();
    call(&mut peer, "2").unwrap();
    let sampling = |call: &str| SamplingRequest { call_request_id: call.to_owned(), ..Default::default() };
    let elicit = ElicitRequest { call_request_id: "1".to_owned(), ..Default::default() };
    let roots = ListRootsRequest { call_request_id: "1".to_owned() };
    let mine =
        [Msg::SamplingRequest(sampling("1")), Msg::ElicitRequest(elicit), Msg::ListRootsRequest(roots)]
            .map(|question| peer.ask(question).request_id);
    let other = peer.ask(Msg::SamplingRequest(sampling("2"))).request_id;
    let list = peer.ask(Msg::GetActiveTools(GetActiveToolsRequest {})).request_id;
    let nobody = Msg::Cancel(CancelRequest::default());
    assert!(give(&mut peer, "", nobody).is_empty());

    let steps = give(&mut peer, "", Msg::Cancel(CancelRequest { request_id: "1".to_owned() }));
    let taken = |step: &Step| match step {
        Step::TakenBack { request_id } => request_id.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(steps.iter().map(taken).collect::<Vec<_>>(), mine);
    let late = Msg::ElicitResponse(ElicitResponse::default());
    assert!(give(&mut peer, &mine[1], late).is_empty(), "nobody waits for it any more");
    let answer = Msg::SamplingResponse(SamplingResponse::default());
    assert!(matches!(&give(&mut peer, &other, answer)[..], [Step::Answer { .. }]));
    let active = Msg::ActiveTools(ActiveToolsResponse::default());
    assert!(matches!(&give(&mut peer, &list, active)[..], [Step::Answer { .. }]));
}

#[test]
fn a_request_brings_its_trace_and_what_was_answered() {
    let mut peer = Peer::new(offer());
    let input = Some(InputGiven { state: b"s".to_vec(), answers: Vec::new() });
    let works = [
        Msg::CallTool(CallToolRequest { input: input.clone(), ..Default::default() }),
        Msg::ReadResourceRequest(ReadResourceRequest { input: input.clone(), ..Default::default() }),
        Msg::GetPromptRequest(GetPromptRequest { input: input.clone(), ..Default::default() }),
    ];
    for message in works {
        let mut received = envelope("1".to_owned(), message);
        received.trace_json = "{}".to_owned();
        let mut steps = Vec::new();
        peer.receive(received, &mut steps);
        let [Step::Run(request)] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!((request.trace_json.as_str(), &request.input), ("{}", &input));
        finish(&mut peer, request);
    }
}

#[test]
fn what_is_hidden_is_not_listed_and_a_change_is_news() {
    let prompt = |name: &str| PromptDefinition { name: name.to_owned(), ..Default::default() };
    let offer = Offer {
        prompts: vec![prompt("p"), prompt("q")],
        unlisted: [["q".to_owned()].into(), Default::default()],
        ..Offer::default()
    };
    let mut peer = Peer::new(offer);
    let names = |message: &Msg| match message {
        Msg::PromptListResponse(list) => list.prompts.iter().map(|it| it.name.clone()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let listed = sent(give(&mut peer, "1", Msg::ListPromptsRequest(ListPromptsRequest {})));
    assert_eq!(names(&listed[0].1), ["p"]);
    let news = peer.set_listed(Listed::Prompts, &["q".to_owned(), "invented".to_owned()], true).unwrap();
    assert_eq!((news.request_id.as_str(), names(&news.msg.unwrap())), ("", vec!["p".into(), "q".into()]));
    assert!(peer.set_listed(Listed::Prompts, &["q".to_owned()], true).is_none(), "it is shown already");
    assert!(peer.is_listed(Listed::Prompts, "q"));
    assert!(peer.set_listed(Listed::Prompts, &["invented".to_owned()], false).is_none());
    let news = peer.set_listed(Listed::Prompts, &["p".to_owned()], false).unwrap();
    assert_eq!(names(&news.msg.unwrap()), ["q"]);
}

//! Tasks of the peer: what the bridge hears of them, in every order.

use super::tests::{call, cancel, finish, give, offer, sent};
use super::*;
use crate::limits::{SDK_TASK_MESSAGE_MAX, SDK_TASKS_KEPT_BYTES, SDK_TASKS_KEPT_MAX, SDK_TASKS_MAX};
use crate::sdk::result::failed_call;
use crate::wire::protomcp::{
    CallToolResponse, CancelRequest, ElicitRequest, InputRequired, ReadResourceRequest, TaskCancelRequest,
    TaskResultRequest, TaskStatusRequest,
};

/// A call that has become a task.
fn task(peer: &mut Peer, request_id: &str) -> (Request, String) {
    let request = call(peer, request_id).unwrap();
    let started = peer.start_task(&request.cancelled).unwrap();
    let announcement = started.announcement.unwrap();
    assert_eq!(announcement.request_id, request_id);
    assert!(matches!(announcement.msg, Some(Msg::CreateTask(it)) if it.task_id == started.task_id));
    (request, started.task_id)
}

fn text(text: &str) -> CallToolResponse {
    CallToolResponse { result_json: text.to_owned(), ..Default::default() }
}

fn failure(message: &str) -> CallToolResponse {
    failed_call(ToolError::protocol(-32603, message))
}

/// Ends a task; what is sent is news first and then results.
fn end(peer: &mut Peer, request: &Request, result: CallToolResponse) -> Vec<(String, Msg)> {
    let mut steps = Vec::new();
    assert!(peer.finish(request.clone(), Msg::CallResult(result), &mut steps).is_none());
    sent(steps)
}

#[track_caller]
fn status_of(mut sent: Vec<(String, Msg)>, request_id: &str) -> TaskStatusResponse {
    match (sent.pop(), sent.pop()) {
        (Some((id, Msg::TaskStatusResponse(status))), None) if id == request_id => status,
        other => panic!("{other:?}"),
    }
}

fn status(peer: &mut Peer, task_id: &str) -> TaskStatusResponse {
    let asks = Msg::TaskStatus(TaskStatusRequest { task_id: task_id.to_owned() });
    status_of(sent(give(peer, "s", asks)), "s")
}

fn state(peer: &mut Peer, task_id: &str) -> String {
    status(peer, task_id).state
}

fn ask_for_result(peer: &mut Peer, request_id: &str, task_id: &str) -> Vec<(String, Msg)> {
    sent(give(peer, request_id, Msg::TaskResult(TaskResultRequest { task_id: task_id.to_owned() })))
}

#[track_caller]
fn fetch(peer: &mut Peer, task_id: &str) -> CallToolResponse {
    match ask_for_result(peer, "r", task_id).pop() {
        Some((id, Msg::CallResult(result))) if id == "r" => result,
        other => panic!("{other:?}"),
    }
}

fn cancel_task(peer: &mut Peer, task_id: &str) -> Vec<Step> {
    give(peer, "c", Msg::TaskCancel(TaskCancelRequest { task_id: task_id.to_owned() }))
}

#[test]
fn a_task_tells_how_it_stands_until_its_result_is_fetched() {
    let mut peer = Peer::new(offer());
    let (request, id) = task(&mut peer, "1");
    assert_eq!(state(&mut peer, &id), "running");
    peer.note_progress(&request.cancelled, 1, 4, "cutting".to_owned());
    peer.note_progress(&request.cancelled, 2, 4, String::new());
    let expected = TaskStatusResponse {
        task_id: id.clone(),
        state: "running".to_owned(),
        progress: 2,
        total: 4,
        message: "cutting".to_owned(),
    };
    assert_eq!(status(&mut peer, &id), expected);
    let news = peer.note_status(&request.cancelled, "glueing".to_owned()).unwrap();
    let expected = TaskStatusResponse { message: "glueing".to_owned(), ..expected };
    assert_eq!((news.request_id.as_str(), news.msg), ("", Some(Msg::TaskStatusResponse(expected.clone()))));

    let news = status_of(end(&mut peer, &request, text("done")), "");
    let expected = TaskStatusResponse { state: "completed".to_owned(), ..expected };
    assert_eq!(news, expected);
    assert_eq!(status(&mut peer, &id), expected);
    assert!(peer.note_status(&request.cancelled, "late".to_owned()).is_none());
    assert_eq!(fetch(&mut peer, &id), text("done"));

    let gone = fetch(&mut peer, &id);
    assert_eq!(gone.error.unwrap().error_code, "NOT_FOUND", "it is forgotten once it was fetched");
    let gone = status(&mut peer, &id);
    assert!(gone.state == "failed" && gone.message.contains("no task"), "{gone:?}");
}

#[test]
fn a_result_that_is_asked_for_early_comes_at_the_end() {
    let mut peer = Peer::new(offer());
    let (request, id) = task(&mut peer, "1");
    assert!(ask_for_result(&mut peer, "7", &id).is_empty());
    assert!(ask_for_result(&mut peer, "8", &id).is_empty());
    let sent = end(&mut peer, &request, text("done"));
    let [(_, Msg::TaskStatusResponse(news)), (first, Msg::CallResult(one)), (second, Msg::CallResult(two))] =
        &sent[..]
    else {
        panic!("{sent:?}")
    };
    assert_eq!(news.state, "completed");
    assert_eq!((first.as_str(), second.as_str()), ("7", "8"));
    assert!(*one == text("done") && one == two);
    assert_eq!(fetch(&mut peer, &id).error.unwrap().error_code, "NOT_FOUND", "nothing was kept");
}

#[test]
fn a_task_is_not_counted_among_the_requests() {
    let mut peer = Peer::new(offer());
    let (first, _) = task(&mut peer, "1");
    let second = call(&mut peer, "2").unwrap();
    let third = call(&mut peer, "3").unwrap();
    assert!(call(&mut peer, "4").is_none());
    let mut steps = Vec::new();
    let next = peer.finish(first, Msg::CallResult(text("")), &mut steps);
    assert!(next.is_none(), "its end makes no room");
    assert_eq!(finish(&mut peer, &second).unwrap().request_id, "4");
    finish(&mut peer, &third);
}

#[test]
fn a_request_that_waited_may_run_when_a_task_ends() {
    let mut peer = Peer::new(Offer { concurrency: 1, ..offer() });
    let first = call(&mut peer, "1").unwrap();
    assert!(call(&mut peer, "2").is_none());
    peer.start_task(&first.cancelled).unwrap();
    let mut steps = Vec::new();
    let next = peer.finish(first, Msg::CallResult(text("")), &mut steps).unwrap();
    assert_eq!(next.request_id, "2");
}

#[test]
fn only_a_running_call_can_become_a_task_and_only_once() {
    let mut peer = Peer::new(offer());
    let (request, id) = task(&mut peer, "1");
    let again = peer.start_task(&request.cancelled).unwrap();
    assert_eq!((again.task_id, again.announcement), (id, None));
    end(&mut peer, &request, text(""));
    assert_eq!(peer.start_task(&request.cancelled).unwrap_err().code(), "INVALID");

    let read = Msg::ReadResourceRequest(ReadResourceRequest::default());
    let Some(Step::Run(read)) = give(&mut peer, "2", read).pop() else { panic!("it runs") };
    assert_eq!(peer.start_task(&read.cancelled).unwrap_err().code(), "INVALID");

    let cancelled = call(&mut peer, "3").unwrap();
    cancel(&mut peer, "3");
    assert_eq!(peer.start_task(&cancelled.cancelled).unwrap_err().code(), "CANCELLED");
    assert!(finish(&mut peer, &cancelled).is_none());
}

#[test]
fn a_cancelled_task_runs_until_its_handler_gives_in() {
    for by_call in [false, true] {
        let mut peer = Peer::new(offer());
        let (request, id) = task(&mut peer, "1");
        if by_call {
            cancel(&mut peer, "1");
        } else {
            assert_eq!(status_of(sent(cancel_task(&mut peer, &id)), "c").state, "running");
        }
        assert!(request.cancelled.get());
        assert_eq!(state(&mut peer, &id), "running");
        let news = status_of(end(&mut peer, &request, failed_call(ToolError::cancelled())), "");
        assert_eq!(news.state, "cancelled");
        assert_eq!(status_of(sent(cancel_task(&mut peer, &id)), "c").state, "cancelled");
        assert!(fetch(&mut peer, &id).is_error);
    }
}

#[test]
fn a_task_that_is_done_in_spite_of_a_cancel_is_done() {
    let mut peer = Peer::new(offer());
    let (request, id) = task(&mut peer, "1");
    cancel_task(&mut peer, &id);
    assert_eq!(status_of(end(&mut peer, &request, text("done")), "").state, "completed");
    assert_eq!(status_of(sent(cancel_task(&mut peer, &id)), "c").state, "completed");
    assert_eq!(fetch(&mut peer, &id), text("done"));
    assert_eq!(status_of(sent(cancel_task(&mut peer, "task-99")), "c").state, "failed");
}

#[test]
fn a_cancelled_task_takes_its_questions_back() {
    let mut peer = Peer::new(offer());
    let (_request, id) = task(&mut peer, "1");
    let question = ElicitRequest { call_request_id: "1".to_owned(), ..Default::default() };
    let asked = peer.ask(Msg::ElicitRequest(question)).request_id;
    let steps = cancel_task(&mut peer, &id);
    let [Step::TakenBack { request_id }, Step::Send(_)] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!(*request_id, asked);
}

#[test]
fn a_failed_task_says_why() {
    let mut peer = Peer::new(offer());
    let (request, id) = task(&mut peer, "1");
    let long = "ř".repeat(SDK_TASK_MESSAGE_MAX);
    let news = status_of(end(&mut peer, &request, failure(&long)), "");
    assert_eq!(news.state, "failed");
    assert!(news.message.starts_with("řř") && news.message.len() < SDK_TASK_MESSAGE_MAX + 8);
    assert_eq!(fetch(&mut peer, &id), failure(&long), "the result has all of it");
}

#[test]
fn an_error_of_the_tool_is_a_result() {
    let mut peer = Peer::new(offer());
    let (request, id) = task(&mut peer, "1");
    let broken = failed_call(ToolError::new("BROKEN", "no paper"));
    let news = status_of(end(&mut peer, &request, broken.clone()), "");
    assert_eq!((news.state.as_str(), news.message.as_str()), ("completed", "no paper"));
    assert_eq!(fetch(&mut peer, &id), broken);
}

#[test]
fn a_task_cannot_be_answered_with_questions() {
    let mut peer = Peer::new(offer());
    let (request, id) = task(&mut peer, "1");
    let mut steps = Vec::new();
    peer.finish(request, Msg::InputRequired(InputRequired::default()), &mut steps);
    assert_eq!(status_of(sent(steps), "").state, "completed");
    let result = fetch(&mut peer, &id);
    assert!(result.is_error);
    assert_eq!(result.error.unwrap().error_code, "INVALID");
}

#[test]
fn there_is_a_most_of_tasks_that_run() {
    let mut peer = Peer::new(offer());
    let mut tasks: Vec<_> = (0..SDK_TASKS_MAX).map(|n| task(&mut peer, &n.to_string())).collect();
    let more = call(&mut peer, "more").unwrap();
    let error = peer.start_task(&more.cancelled).unwrap_err();
    assert_eq!(error.code(), "TOO_MANY_TASKS");
    let (ended, _) = tasks.swap_remove(5);
    end(&mut peer, &ended, text(""));
    assert!(peer.start_task(&more.cancelled).is_ok());
}

#[test]
fn results_that_nobody_fetches_are_dropped_oldest_first() {
    let mut peer = Peer::new(offer());
    let run = |peer: &mut Peer, result: CallToolResponse| {
        let (request, id) = task(peer, "1");
        end(peer, &request, result);
        id
    };
    let first = run(&mut peer, text("1"));
    let second = run(&mut peer, text("2"));
    let rest: Vec<String> = (1..SDK_TASKS_KEPT_MAX).map(|_| run(&mut peer, text("n"))).collect();
    assert_eq!(state(&mut peer, &first), "failed", "dropped");
    assert_eq!(state(&mut peer, &second), "completed");

    // By size: two of these are too many, one alone is not.
    let huge = text(&"x".repeat(SDK_TASKS_KEPT_BYTES + 1));
    let one = run(&mut peer, huge.clone());
    assert_eq!(state(&mut peer, rest.last().unwrap()), "failed");
    assert_eq!(state(&mut peer, &one), "completed");
    let small = run(&mut peer, text("small"));
    assert_eq!(state(&mut peer, &one), "failed");
    assert_eq!(fetch(&mut peer, &small), text("small"));
    let one = run(&mut peer, huge.clone());
    assert_eq!(fetch(&mut peer, &one), huge);
    let small = [1, 2].map(|_| run(&mut peer, text("small")));
    assert_eq!(state(&mut peer, &small[0]), "completed", "what was fetched no longer counts");
}

#[test]
fn when_the_bridge_is_gone_tasks_are_cancelled() {
    let mut peer = Peer::new(offer());
    let (request, id) = task(&mut peer, "1");
    peer.close();
    assert!(request.cancelled.get());
    assert_eq!(status_of(end(&mut peer, &request, failure("no")), "").state, "cancelled");
    assert_eq!(state(&mut peer, &id), "cancelled");
    let unasked = Msg::Cancel(CancelRequest { request_id: "1".to_owned() });
    assert!(give(&mut peer, "", unasked).is_empty());
}

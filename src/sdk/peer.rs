//! The protocol of a tool process as a value: envelopes in, envelopes and work out.
//!
//! [`Peer`] knows what the process offers and what is going on; it does not know the functions
//! behind the tools, owns no descriptor, starts no thread and reads no clock. [`super::serve`]
//! puts threads and a socket around it; a test can put a bridge at its other end.
//!
//! ```text
//!  envelope ──▶ Peer::receive ──▶ Step::Send    an envelope for the bridge
//!                             ──▶ Step::Run     a request for a handler; its end: Peer::finish
//!                             ──▶ Step::Answer  the answer to a question of ours: Peer::ask
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{
    CompletionRequest, DisableToolsRequest, Envelope, MiddlewareInterceptRequest, PromptDefinition,
    PromptListResponse, RegisterMiddlewareRequest, ReloadResponse, ResourceDefinition, ResourceListResponse,
    ResourceTemplateDefinition, ResourceTemplateListResponse, ToolDefinition, ToolListResponse,
};

/// What a tool process announces. Plain data; [`super::Server`] makes it from its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offer {
    /// The tools, hidden ones included.
    pub tools: Vec<ToolDefinition>,
    /// Names of the tools that are disabled right after the handshake.
    pub hidden: Vec<String>,
    /// The middleware, in the order of registration.
    pub middleware: Vec<RegisterMiddlewareRequest>,
    /// Resources with a fixed URI.
    pub resources: Vec<ResourceDefinition>,
    /// Families of resources.
    pub templates: Vec<ResourceTemplateDefinition>,
    /// The prompts.
    pub prompts: Vec<PromptDefinition>,
    /// How many requests run at once; 0 stands for 1.
    pub concurrency: u32,
}

/// Whether the host still wants an answer; shared with the handler at work.
#[derive(Clone, Debug, Default)]
pub struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    /// Whether the host has lost interest.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A request of the bridge that needs a handler.
#[derive(Clone, Debug)]
pub struct Request {
    /// Goes back in the answer.
    pub request_id: String,
    /// Raised when the bridge takes the request back. It is answered nevertheless.
    pub cancelled: Cancelled,
    /// What to do.
    pub work: Work,
}

/// What a handler is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Call a tool; answered by [`Msg::CallResult`].
    Call {
        /// The tool.
        name: String,
        /// A JSON object.
        arguments_json: String,
        /// Goes into progress; empty when nobody wants any.
        progress_token: String,
    },
    /// Read a resource; answered by [`Msg::ReadResourceResponse`].
    Read {
        /// The resource.
        uri: String,
    },
    /// Make a prompt; answered by [`Msg::GetPromptResponse`].
    Prompt {
        /// The prompt.
        name: String,
        /// A JSON object of strings.
        arguments_json: String,
    },
    /// Complete an argument; answered by [`Msg::CompletionResponse`].
    Complete(CompletionRequest),
    /// Run a middleware; answered by [`Msg::MiddlewareInterceptResponse`].
    Intercept(MiddlewareInterceptRequest),
}

/// What is to be done, in this order.
#[derive(Clone, Debug)]
pub enum Step {
    /// Send this to the bridge.
    Send(Envelope),
    /// Have a handler work on this and call [`Peer::finish`] when it has.
    Run(Request),
    /// The process before this one left this; comes before the first request.
    Restore(Vec<u8>),
    /// The bridge answered a question.
    Answer {
        /// The request id that [`Peer::ask`] minted.
        request_id: String,
        /// The answer.
        message: Msg,
    },
}

/// The state machine.
#[derive(Debug)]
pub struct Peer {
    offer: Offer,
    handshake: Handshake,
    /// Requests that handlers are at; never more than the offered concurrency.
    running: Vec<Running>,
    /// Requests beyond that, for a bridge that does not hold them back.
    waiting: VecDeque<Request>,
    /// Request ids of our questions that have no answer yet.
    asked: Vec<String>,
    last_ask: u64,
}

#[derive(Debug)]
struct Running {
    request_id: String,
    cancelled: Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handshake {
    /// The bridge has not asked for the tools yet.
    Idle,
    /// This many middlewares are acknowledged, the next one is on its way.
    Registering { acknowledged: usize },
    /// Told to the bridge as complete.
    Complete,
}

impl Peer {
    /// A peer that has not been spoken to.
    pub fn new(offer: Offer) -> Self {
        Self {
            offer,
            handshake: Handshake::Idle,
            running: Vec::new(),
            waiting: VecDeque::new(),
            asked: Vec::new(),
            last_ask: 0,
        }
    }

    /// Takes one message of the bridge and appends what follows from it. At most one of the
    /// steps is a [`Step::Run`]. Messages that are unknown or make no sense here are skipped.
    pub fn receive(&mut self, envelope: Envelope, steps: &mut Vec<Step>) {
        let Envelope { request_id, msg: Some(message), .. } = envelope else { return };
        let work = match message {
            Msg::CallTool(call) => Work::Call {
                name: call.name,
                arguments_json: call.arguments_json,
                progress_token: call.progress_token,
            },
            Msg::MiddlewareIntercept(intercept) => Work::Intercept(intercept),
            Msg::ReadResourceRequest(read) => Work::Read { uri: read.uri },
            Msg::GetPromptRequest(get) => Work::Prompt { name: get.name, arguments_json: get.arguments_json },
            Msg::CompletionRequest(complete) => Work::Complete(complete),
            message => return self.receive_other(request_id, message, steps),
        };
        let request = Request { request_id, cancelled: Cancelled::default(), work };
        if self.running.len() < self.concurrency() {
            steps.push(Step::Run(self.start(request)));
        } else {
            self.waiting.push_back(request);
        }
    }

    /// Everything that needs no handler.
    fn receive_other(&mut self, request_id: String, message: Msg, steps: &mut Vec<Step>) {
        match message {
            Msg::ListTools(_) => {
                let list = ToolListResponse {
                    tools: self.offer.tools.clone(),
                    max_concurrent_calls: self.offer.concurrency.max(1),
                    reloads_in_place: false,
                };
                steps.push(Step::Send(envelope(request_id, Msg::ToolList(list))));
                self.register(0, steps);
            }
            Msg::RegisterMiddlewareResponse(acknowledgement) => {
                let Handshake::Registering { acknowledged } = self.handshake else { return };
                if acknowledgement.success {
                    self.register(acknowledged + 1, steps);
                } else {
                    // To serve on without it could let through what it was there to stop.
                    let name = &self.offer.middleware[acknowledged].name;
                    self.complete(Err(format!("the middleware {name:?} was refused")), steps);
                }
            }
            Msg::Reload(_) => {
                let error = "a compiled program can't reload its code in place; start it anew";
                let response = ReloadResponse { success: false, error: error.to_owned() };
                steps.push(Step::Send(envelope(request_id, Msg::ReloadResponse(response))));
            }
            Msg::Cancel(cancel) => self.cancel(&cancel.request_id),
            Msg::RestoreState(restore) => steps.push(Step::Restore(restore.state)),
            Msg::ListResourcesRequest(_) => {
                let list = ResourceListResponse { resources: self.offer.resources.clone() };
                steps.push(Step::Send(envelope(request_id, Msg::ResourceListResponse(list))));
            }
            Msg::ListResourceTemplatesRequest(_) => {
                let list = ResourceTemplateListResponse { templates: self.offer.templates.clone() };
                steps.push(Step::Send(envelope(request_id, Msg::ResourceTemplateListResponse(list))));
            }
            Msg::ListPromptsRequest(_) => {
                let list = PromptListResponse { prompts: self.offer.prompts.clone() };
                steps.push(Step::Send(envelope(request_id, Msg::PromptListResponse(list))));
            }
            message @ (Msg::ActiveTools(_) | Msg::SamplingResponse(_) | Msg::ListRootsResponse(_)) => {
                let was_open = self.forget(&request_id);
                steps.extend(was_open.then_some(Step::Answer { request_id, message }));
            }
            _ => {}
        }
    }

    /// Goes on with the handshake when `acknowledged` middlewares are.
    fn register(&mut self, acknowledged: usize, steps: &mut Vec<Step>) {
        match self.offer.middleware.get(acknowledged) {
            Some(middleware) => {
                self.handshake = Handshake::Registering { acknowledged };
                let message = Msg::RegisterMiddleware(middleware.clone());
                steps.push(Step::Send(envelope(String::new(), message)));
            }
            None => self.complete(Ok(()), steps),
        }
    }

    fn complete(&mut self, outcome: Result<(), String>, steps: &mut Vec<Step>) {
        self.handshake = Handshake::Complete;
        let response = ReloadResponse { success: outcome.is_ok(), error: outcome.err().unwrap_or_default() };
        steps.push(Step::Send(envelope(String::new(), Msg::ReloadResponse(response))));
        if !self.offer.hidden.is_empty() {
            let hidden = DisableToolsRequest { tool_names: self.offer.hidden.clone() };
            steps.push(Step::Send(envelope(String::new(), Msg::DisableTools(hidden))));
        }
    }

    fn concurrency(&self) -> usize {
        self.offer.concurrency.max(1) as usize
    }

    fn start(&mut self, request: Request) -> Request {
        self.running
            .push(Running { request_id: request.request_id.clone(), cancelled: request.cancelled.clone() });
        request
    }

    /// A handler is done with this request. Hands out the next one if any was waiting; it is to
    /// be run like a [`Step::Run`].
    pub fn finish(&mut self, request: &Request) -> Option<Request> {
        // By the flag and not by the id: a confused bridge may use one id twice, and each of the
        // two requests ends for itself.
        let own = |running: &Running| Arc::ptr_eq(&running.cancelled.0, &request.cancelled.0);
        let at = self.running.iter().position(own)?;
        self.running.swap_remove(at);
        let next = self.waiting.pop_front()?;
        Some(self.start(next))
    }

    fn cancel(&mut self, request_id: &str) {
        let waiting = self.waiting.iter().map(|request| (&request.request_id, &request.cancelled));
        let running = self.running.iter().map(|running| (&running.request_id, &running.cancelled));
        running.chain(waiting).filter(|(id, _)| *id == request_id).for_each(|(_, cancelled)| cancelled.set());
    }

    /// Makes an envelope for a question of ours, with a request id of its own. Its answer comes
    /// as [`Step::Answer`].
    pub fn ask(&mut self, message: Msg) -> Envelope {
        self.last_ask += 1;
        let request_id = format!("t{}", self.last_ask);
        self.asked.push(request_id.clone());
        envelope(request_id, message)
    }

    /// Takes a question back: its answer will be skipped. Says whether it was open.
    pub fn forget(&mut self, request_id: &str) -> bool {
        let Some(at) = self.asked.iter().position(|asked| asked == request_id) else { return false };
        self.asked.swap_remove(at);
        true
    }

    /// The bridge is gone: nobody wants any answer, nothing that waits will start.
    pub fn close(&mut self) {
        self.waiting.clear();
        self.asked.clear();
        self.running.iter().for_each(|running| running.cancelled.set());
    }

    /// Whether the handshake has been completed.
    pub fn is_ready(&self) -> bool {
        self.handshake == Handshake::Complete
    }
}

/// A message under a request id; the empty one for messages that want no answer.
pub fn envelope(request_id: String, message: Msg) -> Envelope {
    Envelope { request_id, msg: Some(message), ..Envelope::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::protomcp::{
        ActiveToolsResponse, CallToolRequest, CancelRequest, GetActiveToolsRequest, ListPromptsRequest,
        ListResourcesRequest, ListToolsRequest, RegisterMiddlewareResponse, ReloadRequest,
    };

    fn offer() -> Offer {
        let middleware = |name: &str, priority| RegisterMiddlewareRequest { name: name.to_owned(), priority };
        Offer {
            tools: vec![ToolDefinition { name: "a".to_owned(), ..Default::default() }],
            middleware: vec![middleware("first", 1), middleware("second", 2)],
            hidden: vec!["a".to_owned()],
            concurrency: 2,
            ..Default::default()
        }
    }

    fn give(peer: &mut Peer, request_id: &str, message: Msg) -> Vec<Step> {
        let mut steps = Vec::new();
        peer.receive(envelope(request_id.to_owned(), message), &mut steps);
        steps
    }

    /// The ids and messages of steps that must all be sends.
    fn sent(steps: Vec<Step>) -> Vec<(String, Msg)> {
        let sent = |step| match step {
            Step::Send(envelope) => (envelope.request_id, envelope.msg.unwrap()),
            other => panic!("not a send: {other:?}"),
        };
        steps.into_iter().map(sent).collect()
    }

    fn call(peer: &mut Peer, request_id: &str) -> Option<Request> {
        let call = CallToolRequest { name: "a".to_owned(), ..Default::default() };
        match give(peer, request_id, Msg::CallTool(call)).pop() {
            Some(Step::Run(request)) => Some(request),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    fn cancel(peer: &mut Peer, request_id: &str) {
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
        let third = peer.finish(&second).unwrap();
        assert_eq!(third.request_id, "3");
        assert!(peer.finish(&second).is_none(), "finished twice counts once");
        assert_eq!(peer.finish(&first).unwrap().request_id, "4");
        assert!(peer.finish(&third).is_none());
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
        assert!(peer.finish(&first).unwrap().cancelled.get());
        cancel(&mut peer, "1");
        assert!(!first.cancelled.get(), "a finished request can't be cancelled");
    }

    #[test]
    fn two_requests_with_one_id_end_each_for_itself() {
        let mut peer = Peer::new(offer());
        let one = call(&mut peer, "1").unwrap();
        let other = call(&mut peer, "1").unwrap();
        assert!(call(&mut peer, "2").is_none());
        assert!(peer.finish(&other).is_some());
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
        assert!(peer.finish(&first).is_none());
    }
}

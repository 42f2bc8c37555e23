//! The requests of the bridge that need a handler: which run, and which wait for their turn.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{CompletionRequest, Envelope, InputGiven, MiddlewareInterceptRequest};

/// Whether the host still wants an answer; shared with the handler at work.
#[derive(Clone, Debug, Default)]
pub struct Cancelled(Arc<AtomicBool>);

impl Cancelled {
    /// Whether the host has lost interest.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether both belong to one request. A confused bridge may use one id twice, and each of
    /// the two requests is still its own.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A request of the bridge that needs a handler.
#[derive(Clone, Debug)]
pub struct Request {
    /// Goes back in the answer.
    pub request_id: String,
    /// Raised when the bridge takes the request back. It is answered nevertheless.
    pub cancelled: Cancelled,
    /// The trace context that came with it: a JSON object, or empty.
    pub trace_json: String,
    /// What the host answered, when an earlier round asked for input.
    pub input: Option<InputGiven>,
    /// What to do.
    pub work: Work,
}

/// What a handler is asked to do. A call, a resource and a prompt may also be answered by
/// [`Msg::InputRequired`].
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

impl Request {
    /// The request in an envelope, or its id and message if that needs no handler; `None` if
    /// there is no message that we know.
    pub(super) fn from_envelope(envelope: Envelope) -> Option<Result<Self, (String, Msg)>> {
        let Envelope { request_id, trace_json, msg, .. } = envelope;
        let (work, input) = match msg? {
            Msg::CallTool(call) => {
                let work = Work::Call {
                    name: call.name,
                    arguments_json: call.arguments_json,
                    progress_token: call.progress_token,
                };
                (work, call.input)
            }
            Msg::MiddlewareIntercept(intercept) => (Work::Intercept(intercept), None),
            Msg::ReadResourceRequest(read) => (Work::Read { uri: read.uri }, read.input),
            Msg::GetPromptRequest(get) => {
                (Work::Prompt { name: get.name, arguments_json: get.arguments_json }, get.input)
            }
            Msg::CompletionRequest(complete) => (Work::Complete(complete), None),
            other => return Some(Err((request_id, other))),
        };
        Some(Ok(Self { request_id, cancelled: Cancelled::default(), trace_json, input, work }))
    }
}

/// The requests that handlers are at, and those behind them.
#[derive(Debug)]
pub(super) struct Requests {
    /// Never more than `running_max`.
    running: Vec<Running>,
    running_max: usize,
    /// Requests beyond that, for a bridge that does not hold them back.
    waiting: VecDeque<Request>,
}

#[derive(Debug)]
struct Running {
    request_id: String,
    cancelled: Cancelled,
    is_call: bool,
}

impl Requests {
    pub(super) fn new(running_max: usize) -> Self {
        Self { running: Vec::new(), running_max, waiting: VecDeque::new() }
    }

    /// Takes a request in; hands it back if a handler shall begin at once.
    pub(super) fn begin(&mut self, request: Request) -> Option<Request> {
        self.waiting.push_back(request);
        self.next()
    }

    /// The request that shall run next, if one waits and may.
    pub(super) fn next(&mut self) -> Option<Request> {
        if self.running.len() >= self.running_max {
            return None;
        }
        let request = self.waiting.pop_front()?;
        self.running.push(Running {
            request_id: request.request_id.clone(),
            cancelled: request.cancelled.clone(),
            is_call: matches!(request.work, Work::Call { .. }),
        });
        Some(request)
    }

    fn position(&self, cancelled: &Cancelled) -> Option<usize> {
        self.running.iter().position(|running| running.cancelled.is(cancelled))
    }

    /// A request no longer counts: it is answered, or has become a task.
    pub(super) fn leave(&mut self, cancelled: &Cancelled) {
        if let Some(at) = self.position(cancelled) {
            self.running.swap_remove(at);
        }
    }

    /// The id of a running call of a tool; `None` if this is none, or no longer.
    pub(super) fn call_id(&self, cancelled: &Cancelled) -> Option<&str> {
        let running = self.running.get(self.position(cancelled)?)?;
        running.is_call.then_some(running.request_id.as_str())
    }

    pub(super) fn cancel(&self, request_id: &str) {
        let waiting = self.waiting.iter().map(|request| (&request.request_id, &request.cancelled));
        let running = self.running.iter().map(|running| (&running.request_id, &running.cancelled));
        running.chain(waiting).filter(|(id, _)| *id == request_id).for_each(|(_, cancelled)| cancelled.set());
    }

    /// Nothing that waits will start, and nobody wants what runs.
    pub(super) fn close(&mut self) {
        self.waiting.clear();
        self.running.iter().for_each(|running| running.cancelled.set());
    }
}

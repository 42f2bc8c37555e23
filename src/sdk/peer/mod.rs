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
//!
//! A call that [`Peer::start_task`] made a task is no longer counted as a running request. Its
//! answer is kept until the bridge asks for it.

mod requests;
#[cfg(test)]
mod task_tests;
mod tasks;
#[cfg(test)]
mod tests;

pub use self::requests::{Cancelled, Request, Work};

use std::collections::BTreeSet;

use self::requests::Requests;
use self::tasks::Tasks;
use super::error::ToolError;
use super::listing::Listed;
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{
    CreateTaskResponse, DisableToolsRequest, Envelope, PromptDefinition, PromptListResponse,
    RegisterMiddlewareRequest, ReloadResponse, ResourceDefinition, ResourceListResponse,
    ResourceTemplateDefinition, ResourceTemplateListResponse, TaskStatusResponse, ToolDefinition,
    ToolListResponse,
};

/// What a tool process announces. Plain data; [`super::Server`] makes it from its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offer {
    /// The tools, hidden ones included.
    pub tools: Vec<ToolDefinition>,
    /// Names of the tools that are disabled right after the handshake.
    pub hidden: Vec<String>,
    /// Names of the prompts and URIs of the resources that are left out of the lists.
    pub unlisted: [BTreeSet<String>; 2],
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
    /// A question will have no answer, because its call was cancelled.
    TakenBack {
        /// The request id that [`Peer::ask`] minted.
        request_id: String,
    },
}

/// A call that has become a task.
#[derive(Debug)]
pub struct StartedTask {
    /// What the bridge knows it by.
    pub task_id: String,
    /// Tells the bridge; `None` if it was a task already.
    pub announcement: Option<Envelope>,
}

/// The state machine.
#[derive(Debug)]
pub struct Peer {
    offer: Offer,
    handshake: Handshake,
    requests: Requests,
    tasks: Tasks,
    /// Questions of ours that have no answer yet.
    asked: Vec<Asked>,
    last_ask: u64,
}

#[derive(Debug)]
struct Asked {
    request_id: String,
    /// The request on whose behalf we ask; empty if there is none.
    call_request_id: String,
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
        let requests = Requests::new(offer.concurrency.max(1) as usize);
        Self {
            offer,
            handshake: Handshake::Idle,
            requests,
            tasks: Tasks::default(),
            asked: Vec::new(),
            last_ask: 0,
        }
    }

    /// A list as hosts see it.
    fn list(&self, listed: Listed) -> Msg {
        let is_shown = |name: &str| !self.offer.unlisted[listed as usize].contains(name);
        match listed {
            Listed::Prompts => {
                let prompts = self.offer.prompts.iter().filter(|prompt| is_shown(&prompt.name));
                Msg::PromptListResponse(PromptListResponse { prompts: prompts.cloned().collect() })
            }
            Listed::Resources => {
                let resources = self.offer.resources.iter().filter(|resource| is_shown(&resource.uri));
                Msg::ResourceListResponse(ResourceListResponse { resources: resources.cloned().collect() })
            }
        }
    }

    /// Shows or hides entries of a list; the news of it, if it changed anything.
    pub fn set_listed(&mut self, listed: Listed, names: &[String], shown: bool) -> Option<Envelope> {
        let exists = |name: &String| match listed {
            Listed::Prompts => self.offer.prompts.iter().any(|prompt| prompt.name == *name),
            Listed::Resources => self.offer.resources.iter().any(|resource| resource.uri == *name),
        };
        let names: Vec<&String> = names.iter().filter(|name| exists(name)).collect();
        let unlisted = &mut self.offer.unlisted[listed as usize];
        let mut changed = false;
        for name in names {
            changed |= if shown { unlisted.remove(name) } else { unlisted.insert(name.clone()) };
        }
        changed.then(|| envelope(String::new(), self.list(listed)))
    }

    /// Whether hosts see an entry of a list.
    pub fn is_listed(&self, listed: Listed, name: &str) -> bool {
        !self.offer.unlisted[listed as usize].contains(name)
    }

    /// Takes one message of the bridge and appends what follows from it. At most one of the
    /// steps is a [`Step::Run`]. Messages that are unknown or make no sense here are skipped.
    pub fn receive(&mut self, envelope: Envelope, steps: &mut Vec<Step>) {
        match Request::from_envelope(envelope) {
            Some(Ok(request)) => steps.extend(self.requests.begin(request).map(Step::Run)),
            Some(Err((request_id, message))) => self.receive_other(request_id, message, steps),
            None => {}
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
            Msg::Cancel(cancel) => self.cancel(&cancel.request_id, steps),
            Msg::TaskStatus(task) => self.answer_status(request_id, &task.task_id, steps),
            Msg::TaskResult(task) => {
                if let Some(result) = self.tasks.fetch(&task.task_id, &request_id) {
                    steps.push(Step::Send(envelope(request_id, Msg::CallResult(result))));
                }
            }
            Msg::TaskCancel(task) => {
                if let Some(call_request_id) = self.tasks.cancel(&task.task_id).map(str::to_owned) {
                    self.take_back(&call_request_id, steps);
                }
                self.answer_status(request_id, &task.task_id, steps);
            }
            Msg::RestoreState(restore) => steps.push(Step::Restore(restore.state)),
            Msg::ListResourcesRequest(_) => {
                steps.push(Step::Send(envelope(request_id, self.list(Listed::Resources))));
            }
            Msg::ListResourceTemplatesRequest(_) => {
                let list = ResourceTemplateListResponse { templates: self.offer.templates.clone() };
                steps.push(Step::Send(envelope(request_id, Msg::ResourceTemplateListResponse(list))));
            }
            Msg::ListPromptsRequest(_) => {
                steps.push(Step::Send(envelope(request_id, self.list(Listed::Prompts))));
            }
            message @ (Msg::ActiveTools(_)
            | Msg::SamplingResponse(_)
            | Msg::ListRootsResponse(_)
            | Msg::ElicitResponse(_)) => {
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

    /// A handler is done with this request. Appends its answer, and hands out the next request if
    /// any was waiting; that one is to be run like a [`Step::Run`].
    pub fn finish(&mut self, request: Request, answer: Msg, steps: &mut Vec<Step>) -> Option<Request> {
        let Request { request_id, cancelled, .. } = request;
        if self.tasks.id_of(&cancelled).is_none() {
            steps.push(Step::Send(envelope(request_id, answer)));
        } else if let Some(ended) = self.tasks.end(&cancelled, answer) {
            steps.push(news(ended.status));
            let result = |(request_id, result)| Step::Send(envelope(request_id, Msg::CallResult(result)));
            steps.extend(ended.results.into_iter().map(result));
        }
        self.requests.leave(&cancelled);
        self.requests.next()
    }

    /// Makes a running call a task: the bridge gets an id in place of the result, and the handler
    /// goes on. Does no more than to name the task if it is one.
    ///
    /// # Errors
    ///
    /// `TOO_MANY_TASKS`, `CANCELLED`, or `INVALID` for what is not a running call of a tool.
    pub fn start_task(&mut self, call: &Cancelled) -> Result<StartedTask, ToolError> {
        if let Some(task_id) = self.tasks.id_of(call) {
            return Ok(StartedTask { task_id: task_id.to_owned(), announcement: None });
        }
        let Some(request_id) = self.requests.call_id(call).map(str::to_owned) else {
            return Err(ToolError::new("INVALID", "only the running call of a tool can become a task"));
        };
        if call.get() {
            return Err(ToolError::cancelled());
        }
        let task_id = self.tasks.begin(&request_id, call)?;
        let created = Msg::CreateTask(CreateTaskResponse { task_id: task_id.clone() });
        let announcement = Some(envelope(request_id, created));
        self.requests.leave(call);
        Ok(StartedTask { task_id, announcement })
    }

    /// Notes how far a task has come, for when the bridge asks. An empty message leaves the one
    /// before. Nothing happens if this call is no running task.
    pub fn note_progress(&mut self, call: &Cancelled, progress: i64, total: i64, message: String) {
        self.tasks.note(call, Some((progress, total)), message);
    }

    /// Notes what a task is doing; the envelope tells it to the bridge. `None` if this call is no
    /// running task.
    pub fn note_status(&mut self, call: &Cancelled, message: String) -> Option<Envelope> {
        let status = self.tasks.note(call, None, message)?.clone();
        Some(envelope(String::new(), Msg::TaskStatusResponse(status)))
    }

    fn answer_status(&self, request_id: String, task_id: &str, steps: &mut Vec<Step>) {
        let status = self.tasks.status(task_id);
        steps.push(Step::Send(envelope(request_id, Msg::TaskStatusResponse(status))));
    }

    fn cancel(&mut self, request_id: &str, steps: &mut Vec<Step>) {
        self.requests.cancel(request_id);
        self.tasks.cancel_call(request_id);
        self.take_back(request_id, steps);
    }

    /// Takes back all questions on behalf of a cancelled request: its handler shall not wait for
    /// answers that nobody may give any more.
    fn take_back(&mut self, call_request_id: &str, steps: &mut Vec<Step>) {
        if call_request_id.is_empty() {
            return;
        }
        let is_of_call = |asked: &mut Asked| asked.call_request_id == call_request_id;
        let taken = self.asked.extract_if(.., is_of_call);
        steps.extend(taken.map(|asked| Step::TakenBack { request_id: asked.request_id }));
    }

    /// Makes an envelope for a question of ours, with a request id of its own. Its answer comes
    /// as [`Step::Answer`], unless its call is cancelled before: then [`Step::TakenBack`] comes.
    pub fn ask(&mut self, message: Msg) -> Envelope {
        self.last_ask += 1;
        let request_id = format!("t{}", self.last_ask);
        let call_request_id = call_of(&message).to_owned();
        self.asked.push(Asked { request_id: request_id.clone(), call_request_id });
        envelope(request_id, message)
    }

    /// Takes a question back: its answer will be skipped. Says whether it was open.
    pub fn forget(&mut self, request_id: &str) -> bool {
        let Some(at) = self.asked.iter().position(|asked| asked.request_id == request_id) else {
            return false;
        };
        self.asked.swap_remove(at);
        true
    }

    /// The bridge is gone: nobody wants any answer, nothing that waits will start.
    pub fn close(&mut self) {
        self.requests.close();
        self.tasks.close();
        self.asked.clear();
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

/// A message about a task that nobody asked for.
fn news(status: TaskStatusResponse) -> Step {
    Step::Send(envelope(String::new(), Msg::TaskStatusResponse(status)))
}

/// On whose behalf a question is asked; empty if it does not say.
fn call_of(message: &Msg) -> &str {
    match message {
        Msg::SamplingRequest(request) => &request.call_request_id,
        Msg::ListRootsRequest(request) => &request.call_request_id,
        Msg::ElicitRequest(request) => &request.call_request_id,
        _ => "",
    }
}

//! What a host said: requests become answers or calls.

use std::sync::Arc;
use std::time::Instant;

use crate::ids::{Route, SessionId};
use crate::jsonrpc::message::{RequestId, RpcError, write_empty_result, write_error, write_result};
use crate::limits::{SUBSCRIPTION_BYTES_MAX, SUBSCRIPTIONS_MAX};
use crate::mcp::lifecycle::{write_discover_result, write_initialize_result};
use crate::mcp::request::{Era, HostMessage, Initialize, Notification, Request};
use crate::mcp::{error, revision};

use super::call::{Asker, Call, ListKind, Reply, ToolCall, Work};
use super::metrics::{Ending, INVALID};
use super::parked::Again;
use super::session::BatchEnd;
use super::{Bridge, Output, Outputs, Sort};

impl Bridge {
    /// One message of a host.
    pub(super) fn host_said(
        &mut self,
        route: Route,
        message: HostMessage<'_>,
        now: Instant,
        out: &mut Outputs,
    ) {
        match message {
            HostMessage::Batch(messages) => self.host_batch(route, messages, now, out),
            message => self.host_message(route, None, message, now, out),
        }
    }

    fn host_message(
        &mut self,
        route: Route,
        batch: Option<u64>,
        message: HostMessage<'_>,
        now: Instant,
        out: &mut Outputs,
    ) {
        match message {
            HostMessage::Request { id, era, request } => {
                let Some(session) = self.sessions.get(&route.session) else { return };
                if session.is_in_use(&id) {
                    let error = error::duplicate_id(id.as_str());
                    return self.send_error(route, batch, Some(&id), &error, out);
                }
                let method = request.as_ref().map_or(INVALID, Request::method);
                let reply = Reply { route, id, batch, method };
                match request {
                    Ok(request) => self.request(reply, era, request, now, out),
                    Err(error) => self.answer_error(&reply, &error, out),
                }
            }
            HostMessage::Notification(notification) => self.notification(route, notification, now, out),
            HostMessage::Response { id, outcome } => self.host_answered(route.session, id, outcome, now, out),
            HostMessage::Invalid { id, error } => self.send_error(route, batch, id.as_ref(), &error, out),
            HostMessage::Batch(_) => {
                let error = RpcError::invalid_request("a batch must not hold another batch");
                self.send_error(route, batch, None, &error, out);
            }
        }
    }

    /// A JSON-RPC batch: part of revision 2025-03-26 alone.
    fn host_batch(&mut self, route: Route, messages: Vec<HostMessage<'_>>, now: Instant, out: &mut Outputs) {
        let Some(session) = self.sessions.get_mut(&route.session) else { return };
        // Empty and endless ones were refused when they were parsed.
        let is_modern =
            |message: &HostMessage<'_>| matches!(message, HostMessage::Request { era: Era::Modern(_), .. });
        if !session.initialized || !session.revision.has_batches() || messages.iter().any(is_modern) {
            let error = error::no_batches(session.revision);
            return self.send_error(route, None, None, &error, out);
        }
        let answered = |message: &&HostMessage<'_>| {
            matches!(
                message,
                HostMessage::Request { .. } | HostMessage::Invalid { .. } | HostMessage::Batch(_)
            )
        };
        let outstanding = messages.iter().filter(answered).count();
        let batch = (outstanding > 0).then(|| session.open_batch(route, outstanding));
        for message in messages {
            if let HostMessage::Request { id, request: Ok(Request::Initialize(_)), .. } = message {
                let error = RpcError::invalid_request("initialize must not be part of a batch");
                self.send_error(route, batch, Some(&id), &error, out);
            } else {
                self.host_message(route, batch, message, now, out);
            }
        }
    }

    fn request(&mut self, reply: Reply, era: Era, request: Request<'_>, now: Instant, out: &mut Outputs) {
        let Some(session) = self.sessions.get_mut(&reply.route.session) else { return };
        // A modern request tells nothing of the session that may live beside it.
        session.live |= session.initialized && era == Era::Handshake;
        let mut retry = None;
        let work = match request {
            Request::Initialize(initialize) => return self.initialize(&reply, &initialize, out),
            Request::Ping => return self.answer_empty(&reply, out),
            Request::SetLevel(level) => {
                session.log_level = level;
                return self.answer_empty(&reply, out);
            }
            Request::Subscribe { uri } => {
                let bytes: usize = session.subscriptions.iter().map(String::len).sum();
                let is_full = session.subscriptions.len() >= SUBSCRIPTIONS_MAX
                    || bytes + uri.len() > SUBSCRIPTION_BYTES_MAX;
                if is_full && !session.subscriptions.contains(&uri) {
                    let error = RpcError::invalid_params(format!(
                        "a session holds at most {SUBSCRIPTIONS_MAX} subscriptions of {SUBSCRIPTION_BYTES_MAX} bytes in all"
                    ));
                    return self.answer_error(&reply, &error, out);
                }
                session.subscriptions.insert(uri);
                return self.answer_empty(&reply, out);
            }
            Request::Unsubscribe { uri } => {
                session.subscriptions.remove(&uri);
                return self.answer_empty(&reply, out);
            }
            Request::ListTools { cursor } => Work::List { kind: ListKind::Tools, cursor },
            Request::ListResources { cursor } => Work::List { kind: ListKind::Resources, cursor },
            Request::ListResourceTemplates { cursor } => Work::List { kind: ListKind::Templates, cursor },
            Request::ListPrompts { cursor } => Work::List { kind: ListKind::Prompts, cursor },
            Request::ReadResource { uri, retry: again } => {
                retry = again;
                Work::Read { uri }
            }
            Request::GetPrompt { name, arguments, retry: again } => {
                retry = again;
                Work::Prompt { name, arguments: arguments.into_owned() }
            }
            Request::Complete(complete) => Work::Complete(complete),
            Request::CallTool(call) => {
                retry = call.retry;
                // Revisions without tasks in their core have no such member.
                let wish = call.task.filter(|_| era == Era::Handshake && session.revision.has_core_tasks());
                Work::Tool(ToolCall {
                    name: call.name,
                    arguments: call.arguments.into_owned(),
                    progress_token: call.progress_token,
                    progress: None,
                    wish,
                    tool: None,
                    chain: Arc::default(),
                    result: None,
                })
            }
            Request::Discover => return self.discover(&reply, out),
            Request::Listen(filter) => return self.listen(reply, filter, now, out),
            request @ (Request::TaskGet { .. }
            | Request::TaskUpdate { .. }
            | Request::TaskCancel { .. }
            | Request::TaskResult { .. }
            | Request::TaskList { .. }) => {
                let is_modern = era != Era::Handshake;
                if !is_modern && !session.revision.has_core_tasks() {
                    let error = RpcError::method_not_found(request.method());
                    return self.answer_error(&reply, &error, out);
                }
                return self.task_request(reply, is_modern, request, now, out);
            }
        };
        match (retry, era) {
            (Some(retry), Era::Modern(meta)) => {
                self.came_back(Again { reply, meta, work, retry }, now, out);
            }
            (_, era) => self.admit(reply, era, work, now, out),
        }
    }

    fn task_request(
        &mut self,
        reply: Reply,
        is_modern: bool,
        request: Request<'_>,
        now: Instant,
        out: &mut Outputs,
    ) {
        match request {
            Request::TaskGet { id } => self.get_task(&reply, is_modern, &id, out),
            Request::TaskUpdate { id, input_responses } => {
                self.update_task(&reply, &id, &input_responses, now, out);
            }
            Request::TaskCancel { id } => self.cancel_task(&reply, is_modern, &id, now, out),
            Request::TaskResult { id } => self.task_result(reply, &id, out),
            Request::TaskList { cursor } => self.list_tasks(&reply, cursor.as_deref(), out),
            _ => {}
        }
    }

    /// What the modern era has in place of a handshake; it settles nothing.
    fn discover(&mut self, reply: &Reply, out: &mut Outputs) {
        let mut message = Vec::new();
        write_result(&mut message, &reply.id, |body| {
            write_discover_result(body, self.dialect(revision::MODERN), &self.config.server);
        });
        self.answer(reply, message, out);
    }

    fn initialize(&mut self, reply: &Reply, initialize: &Initialize, out: &mut Outputs) {
        let Some(session) = self.sessions.get_mut(&reply.route.session) else { return };
        let revision = revision::negotiate(&initialize.protocol_version);
        session.revision = revision;
        session.initialized = true;
        session.live = false;
        session.capabilities = initialize.capabilities;
        let mut message = Vec::new();
        write_result(&mut message, &reply.id, |body| {
            write_initialize_result(body, revision, &self.config.server);
        });
        self.answer(reply, message, out);
    }

    fn notification(&mut self, route: Route, notification: Notification, now: Instant, out: &mut Outputs) {
        match notification {
            Notification::Initialized => {
                if let Some(session) = self.sessions.get_mut(&route.session) {
                    session.live |= session.initialized;
                }
            }
            Notification::Cancelled { id, .. } => self.cancelled(route.session, &id, now, out),
            // Nobody at the tool process can be told of it, and progress of a host's own is not
            // asked for; unknown notifications are ignored (specification, basic/index).
            Notification::RootsListChanged | Notification::Other => {}
        }
    }

    /// The host no longer wants an answer. A request that is not in flight (any more) is ignored,
    /// as the specification asks (basic/utilities/cancellation).
    fn cancelled(&mut self, session: SessionId, id: &RequestId, now: Instant, out: &mut Outputs) {
        let Some(of) = self.sessions.get_mut(&session) else { return };
        if let Some(at) = of.listens.iter().position(|listen| listen.id() == id) {
            let listen = of.listens.remove(at);
            self.metrics.ended(listen.method(), Ending::Cancelled);
            out.push(Output::Unanswered(listen.route()));
        }
        let Some(call) = of.in_flight.get(id).copied() else { return };
        if let Some(Call { asker: Asker::Host(reply), .. }) = self.remove(call, now, out) {
            self.no_answer(&reply, out);
        }
    }

    /// Sends a whole answer, or adds it to its batch.
    pub(super) fn answer(&mut self, reply: &Reply, message: Vec<u8>, out: &mut Outputs) {
        self.answer_as(reply, message, Ending::Result, out);
    }

    /// The same for what may not be a plain result.
    pub(super) fn answer_as(&mut self, reply: &Reply, message: Vec<u8>, ending: Ending, out: &mut Outputs) {
        self.metrics.ended(reply.method, ending);
        if let Some(session) = self.sessions.get_mut(&reply.route.session) {
            session.in_flight.remove(&reply.id);
        }
        let error = match ending {
            Ending::Error(code) => Some(code),
            _ => None,
        };
        self.send(reply.route, reply.batch, message, error, out);
    }

    /// Answers with an error.
    pub(super) fn answer_error(&mut self, reply: &Reply, error: &RpcError, out: &mut Outputs) {
        let mut message = Vec::new();
        write_error(&mut message, Some(&reply.id), error);
        self.answer_as(reply, message, Ending::Error(error.code), out);
    }

    /// Answers with an empty result.
    fn answer_empty(&mut self, reply: &Reply, out: &mut Outputs) {
        let mut message = Vec::new();
        write_empty_result(&mut message, &reply.id);
        self.answer(reply, message, out);
    }

    /// The one request that gets no answer: a cancelled one.
    fn no_answer(&mut self, reply: &Reply, out: &mut Outputs) {
        self.metrics.ended(reply.method, Ending::Cancelled);
        let Some(session) = self.sessions.get_mut(&reply.route.session) else { return };
        session.in_flight.remove(&reply.id);
        let Some(batch) = reply.batch else { return out.push(Output::Unanswered(reply.route)) };
        match session.batch_answer(batch, None) {
            BatchEnd::Answered(route, message) => {
                out.push(Output::Host { route, message, sort: Sort::Answer { error: None } });
            }
            BatchEnd::Unanswered(route) => out.push(Output::Unanswered(route)),
            BatchEnd::NotYet => {}
        }
    }

    /// An error that belongs to no request in flight.
    fn send_error(
        &mut self,
        route: Route,
        batch: Option<u64>,
        id: Option<&RequestId>,
        error: &RpcError,
        out: &mut Outputs,
    ) {
        self.metrics.ended(INVALID, Ending::Error(error.code));
        let mut message = Vec::new();
        write_error(&mut message, id, error);
        self.send(route, batch, message, Some(error.code), out);
    }

    fn send(
        &mut self,
        route: Route,
        batch: Option<u64>,
        message: Vec<u8>,
        error: Option<i32>,
        out: &mut Outputs,
    ) {
        let Some(session) = self.sessions.get_mut(&route.session) else { return };
        let Some(batch) = batch else {
            return out.push(Output::Host { route, message, sort: Sort::Answer { error } });
        };
        if let BatchEnd::Answered(route, message) = session.batch_answer(batch, Some(&message)) {
            out.push(Output::Host { route, message, sort: Sort::Answer { error: None } });
        }
    }

    /// Sends a notification to every host that can take one and passes `wanted`.
    pub(super) fn notify(
        &self,
        out: &mut Outputs,
        wanted: impl Fn(&super::Session) -> bool,
        write: impl Fn(&mut Vec<u8>),
    ) {
        for (&id, session) in &self.sessions {
            if session.live && wanted(session) {
                let mut message = Vec::new();
                write(&mut message);
                out.push(Output::Host { route: Route::session(id), message, sort: Sort::Message });
            }
        }
    }
}

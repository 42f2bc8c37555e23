//! The ends of a call. All of them go through [`Bridge::remove`], so that none forgets a duty.

use std::time::Instant;

use crate::ids::CallId;
use crate::jsonrpc::message::{RpcError, write_result};
use crate::log::Level;
use crate::mcp::call::write_text_error;
use crate::mcp::error::{missing_capability, protocol};
use crate::mcp::input::Refusal;
use crate::mcp::result::Dialect;
use crate::mcp::revision::Revision;
use crate::wire::protomcp::ToolError;

use super::call::{Asker, Call, Reply, Stage, ToolCall, Work};
use super::job::Rendered;
use super::metrics::Ending;
use super::timers::Due;
use super::{Bridge, Outputs, log};

/// How a call ended, apart from whom it was for.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// With a result.
    Result {
        /// All of it but what JSON-RPC has around it.
        body: Vec<u8>,
        /// It says that the tool failed.
        is_error: bool,
    },
    /// With an error.
    Error(RpcError),
}

impl Outcome {
    /// Bytes that it takes.
    pub(super) fn len(&self) -> usize {
        match self {
            Outcome::Result { body, .. } => body.len(),
            Outcome::Error(error) => error.message.len() + error.data.as_ref().map_or(0, |data| data.len()),
        }
    }
}

impl Bridge {
    /// Takes a call out with all that it holds: its times, its place in the line, its slot, its
    /// request to the tool process (which is cancelled) and its questions to the host.
    pub(super) fn remove(&mut self, id: CallId, now: Instant, out: &mut Outputs) -> Option<Call> {
        let call = self.calls.remove(&id)?;
        self.timers.set(id, Due::Answer, call.until, None);
        self.timers.set(id, Due::Gathered, call.gathers_until, None);
        if call.stage == Stage::Waiting {
            self.waiting.remove(id, call.size());
        }
        if let Some(size) = call.aside {
            self.waiting.not_aside(size);
        }
        if let Some(remote) = &call.remote {
            self.timers.set(id, Due::Look, remote.looks_at, None);
            self.cancel_remote(id, remote, out);
        }
        if let Some(place) = call.place {
            match place.ask {
                Some(ask) => self.orphan(place.generation, ask, now, out),
                None => self.release(place.generation),
            }
        }
        self.withdraw_for_call(id, "the call is over", now, out);
        Some(call)
    }

    /// Gives the outcome of a call that was taken out to whom it is for.
    fn conclude(&mut self, id: CallId, call: Call, outcome: Outcome, now: Instant, out: &mut Outputs) {
        match call.asker {
            Asker::Host(reply) => self.answer_outcome(&reply, outcome, out),
            Asker::Away => self.left_behind(id, call.round, outcome, now),
            Asker::Task(task) => self.task_over(task, outcome, now, out),
            Asker::Bridge => {}
        }
    }

    /// Answers a request with an outcome.
    pub(super) fn answer_outcome(&mut self, reply: &Reply, outcome: Outcome, out: &mut Outputs) {
        match outcome {
            Outcome::Result { body, is_error } => {
                let mut message = Vec::with_capacity(body.len() + 64);
                write_result(&mut message, &reply.id, |message| message.extend_from_slice(&body));
                self.answer_as(reply, message, Ending::of_result(is_error), out);
            }
            Outcome::Error(error) => self.answer_error(reply, &error, out),
        }
    }

    /// A whole answer to a request.
    pub(super) fn whole(
        &self,
        reply: &Reply,
        revision: Revision,
        body: impl FnOnce(&mut Vec<u8>, Dialect<'_>),
    ) -> Vec<u8> {
        let mut message = Vec::new();
        write_result(&mut message, &reply.id, |message| body(message, self.dialect(revision)));
        message
    }

    /// Ends a call with its spelled result.
    pub(super) fn end(&mut self, id: CallId, rendered: Rendered, now: Instant, out: &mut Outputs) {
        let Some(call) = self.remove(id, now, out) else { return };
        self.metrics.called(&call, rendered.is_error, now);
        match (&call.asker, rendered) {
            (Asker::Host(reply), Rendered { bytes, is_whole: true, is_error }) => {
                self.answer_as(reply, bytes, Ending::of_result(is_error), out);
            }
            (_, Rendered { bytes: body, is_error, .. }) => {
                self.conclude(id, call, Outcome::Result { body, is_error }, now, out);
            }
        }
    }

    /// Ends a call with a result body.
    pub(super) fn end_with(
        &mut self,
        id: CallId,
        now: Instant,
        out: &mut Outputs,
        body: impl FnOnce(&mut Vec<u8>, Dialect<'_>),
    ) {
        let Some(call) = self.remove(id, now, out) else { return };
        self.metrics.called(&call, false, now);
        if let Asker::Host(reply) = &call.asker {
            let message = self.whole(reply, call.revision, body);
            return self.answer(reply, message, out);
        }
        let mut bytes = Vec::new();
        body(&mut bytes, self.dialect(call.revision));
        self.conclude(id, call, Outcome::Result { body: bytes, is_error: false }, now, out);
    }

    /// Ends a call with an error.
    pub(super) fn end_with_error(&mut self, id: CallId, error: &RpcError, now: Instant, out: &mut Outputs) {
        if let Some(call) = self.remove(id, now, out) {
            self.metrics.called(&call, true, now);
            self.conclude(id, call, Outcome::Error(error.clone()), now, out);
        }
    }

    /// Ends a call that failed in a way that is the tool process's: a tool's caller gets it as a
    /// result that a model can read, a task fails. A list is what hosts last saw of it, or empty:
    /// while nothing serves, a host keeps its picture; the reason is in the log and in every call's
    /// answer.
    pub(super) fn fail(&mut self, id: CallId, text: &str, now: Instant, out: &mut Outputs) {
        let Some(call) = self.remove(id, now, out) else { return };
        self.metrics.called(&call, true, now);
        let dialect = Dialect { revision: call.revision, server_json: &self.server_json };
        let mut body = Vec::new();
        let outcome = match (&call.work, &call.asker) {
            (Work::Tool(_), Asker::Task(_)) | (Work::Tool(ToolCall { wish: Some(_), .. }), _) => {
                Outcome::Error(RpcError::internal(text))
            }
            (Work::Tool(_), _) => {
                write_text_error(&mut body, dialect, text, None);
                Outcome::Result { body, is_error: true }
            }
            (Work::List { kind, .. }, _) => {
                self.seen.write_first(&mut body, *kind, dialect);
                Outcome::Result { body, is_error: false }
            }
            _ => Outcome::Error(RpcError::internal(text)),
        };
        self.conclude(id, call, outcome, now, out);
    }

    /// The error that a host gets in place of a result, where the protocol wants one: for a request
    /// that makes no sense, or that needs what the host does not offer.
    pub(super) fn error_for_host(&self, id: CallId, error: &ToolError) -> Option<RpcError> {
        let call = self.calls.get(&id)?;
        if call.meta.is_some()
            && let Some(required) = call.missing
            && error.error_code == Refusal::MissingCapability.as_str()
        {
            return Some(missing_capability(required));
        }
        protocol(call.revision, error)
    }

    /// A call took longer than `--call-timeout`.
    pub(super) fn call_timed_out(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let Some(call) = self.calls.get(&id) else { return };
        let limit = self.config.call_timeout;
        let reason = match call.stage {
            Stage::Waiting if self.serving.is_none() => "no tool process could be started in that time",
            Stage::Waiting => "the tool process was busy with earlier requests all the time",
            _ => "it was told to cancel",
        };
        let what = call.what();
        let text = format!("{} did not answer within {limit:?} (--call-timeout); {reason}", capital(&what));
        log(out, Level::Warning, text.clone());
        self.fail(id, &text, now, out);
    }
}

/// The text with a capital first letter.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

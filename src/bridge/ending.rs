//! The ends of a call. All of them go through [`Bridge::remove`], so that none forgets a duty.

use std::time::Instant;

use crate::ids::CallId;
use crate::jsonrpc::message::{RpcError, write_result};
use crate::log::Level;
use crate::mcp::call::write_text_error;
use crate::mcp::result::Dialect;

use super::call::{Call, Stage, Work};
use super::{Bridge, Outputs, log};

impl Bridge {
    /// Takes a call out with all that it holds: its place in the line, its slot, its request to
    /// the tool process (which is cancelled) and its questions to the host.
    pub(super) fn remove(&mut self, id: CallId, now: Instant, out: &mut Outputs) -> Option<Call> {
        let call = self.calls.remove(&id)?;
        if call.stage == Stage::Waiting {
            self.waiting.remove(id, call.size());
        }
        if let Some(place) = call.place {
            match place.ask {
                Some(ask) => self.orphan(place.generation, ask, now, out),
                None => self.release(place.generation),
            }
        }
        self.withdraw_for_call(id, "the call is over", out);
        Some(call)
    }

    /// Ends a call with its whole answer.
    pub(super) fn end(&mut self, id: CallId, message: Vec<u8>, now: Instant, out: &mut Outputs) {
        if let Some(Call { reply: Some(reply), .. }) = self.remove(id, now, out) {
            self.answer(&reply, message, out);
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
        let Some(Call { reply: Some(reply), revision, .. }) = self.remove(id, now, out) else { return };
        let mut message = Vec::new();
        write_result(&mut message, &reply.id, |message| body(message, self.dialect(revision)));
        self.answer(&reply, message, out);
    }

    /// Ends a call with an error.
    pub(super) fn end_with_error(&mut self, id: CallId, error: &RpcError, now: Instant, out: &mut Outputs) {
        if let Some(Call { reply: Some(reply), .. }) = self.remove(id, now, out) {
            self.answer_error(&reply, error, out);
        }
    }

    /// Ends a call that failed in a way that is the tool process's: a tool's caller gets it as a
    /// result that a model can read. A list is what hosts last saw of it, or empty: while nothing
    /// serves, a host keeps its picture; the reason is in the log and in every call's answer.
    pub(super) fn fail(&mut self, id: CallId, text: &str, now: Instant, out: &mut Outputs) {
        let Some(Call { reply: Some(reply), work, revision, .. }) = self.remove(id, now, out) else { return };
        let dialect = Dialect { revision, server_json: &self.server_json };
        let mut message = Vec::new();
        match work {
            Work::Tool(_) => {
                write_result(&mut message, &reply.id, |body| write_text_error(body, dialect, text, None));
            }
            Work::List { kind, .. } => {
                write_result(&mut message, &reply.id, |body| self.seen.write_first(body, kind, dialect));
            }
            _ => return self.answer_error(&reply, &RpcError::internal(text), out),
        }
        self.answer(&reply, message, out);
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

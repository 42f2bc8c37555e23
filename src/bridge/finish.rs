//! Results on their way to the host: middleware after the call, workers, the answer.

use std::borrow::Cow;
use std::time::Instant;

use crate::ids::{CallId, Generation};
use crate::jsonrpc::message::{RpcError, write_result};
use crate::limits::LARGE_MIN;
use crate::log::Level;
use crate::mcp::tool::{CallAnswer, write_text_error};
use crate::wire::envelope::{CallResult, Payload};
use crate::wire::protomcp::MiddlewareInterceptResponse;

use super::call::{Call, ListKind, Reply, Stage, Work};
use super::job::{self, Finished, Job, JobDone, Render, Source, StoredResult};
use super::{Bridge, Output, Outputs, log};

impl Bridge {
    /// A tool's result, in an envelope.
    pub(super) fn call_result(
        &mut self,
        generation: Generation,
        frame: Cow<'_, [u8]>,
        now: Instant,
        out: &mut Outputs,
    ) {
        let result = match CallResult::decode(&frame) {
            Ok(result) => result,
            Err(error) => {
                let request_id = CallResult::request_id(&frame);
                return self.undecodable_answer(generation, request_id, &error.to_string(), now, out);
            }
        };
        let Some(ask) = self.take_ask(generation, result.request_id) else {
            return unasked(out, result.request_id);
        };
        if !result.enable_tools.is_empty() || !result.disable_tools.is_empty() {
            self.change_tool_list(generation, out, |list| {
                list.enable(&result.enable_tools);
                list.disable(&result.disable_tools);
            });
        }
        let Some(id) = ask.call.filter(|id| self.expects_result(*id, now, out)) else { return };
        if frame.len() >= LARGE_MIN {
            return self.start_job(id, Source::Frame(frame.into_owned()), out);
        }
        let answer = job::borrow(&result);
        self.result(id, &answer, now, out);
    }

    /// A tool's result, as a finished transfer.
    pub(super) fn payload(
        &mut self,
        generation: Generation,
        payload: Payload,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(ask) = self.take_ask(generation, &payload.request_id) else {
            return unasked(out, &payload.request_id);
        };
        let Some(id) = ask.call.filter(|id| self.expects_result(*id, now, out)) else { return };
        if payload.zstd || payload.bytes.len() >= LARGE_MIN {
            return self.start_job(id, Source::Payload(payload), out);
        }
        match job::payload_text(payload, self.config.message_max) {
            Ok((field, text)) => self.result(id, &job::field_answer(field, &text), now, out),
            Err(reason) => self.fail(id, &reason, now, out),
        }
    }

    /// Whether this call waits for a tool's result; otherwise the answer is one that nobody
    /// asked for, and the call fails.
    fn expects_result(&mut self, id: CallId, now: Instant, out: &mut Outputs) -> bool {
        let Some(call) = self.calls.get(&id) else { return false };
        if matches!(call.work, Work::Tool(_)) && call.stage == Stage::Running {
            return true;
        }
        self.mismatch(id, now, out);
        false
    }

    /// The tool process answered a request with something else than what was asked for.
    pub(super) fn mismatch(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let what = self.calls.get(&id).map(Call::what).unwrap_or_default();
        let text = format!("the tool process answered the request for {what} with a message of another kind");
        log(out, Level::Warning, text.clone());
        self.fail(id, &text, now, out);
    }

    /// A small result is there.
    fn result(&mut self, id: CallId, answer: &CallAnswer<'_>, now: Instant, out: &mut Outputs) {
        if let Some(last) = self.last_middleware(id) {
            if let Some(Call { work: Work::Tool(call), .. }) = self.calls.get_mut(&id) {
                call.result = Some(job::store(answer));
            }
            return self.after(id, last, now, out);
        }
        let Some(render) = self.render(id) else { return };
        let message = render.message(answer);
        self.end(id, message, now, out);
    }

    /// The index of the middleware that sees the result first.
    fn last_middleware(&self, id: CallId) -> Option<usize> {
        let process = self.processes.get(&self.calls.get(&id)?.place?.generation)?;
        process.middleware.len().checked_sub(1)
    }

    fn render(&self, id: CallId) -> Option<Render> {
        let Call { reply: Some(reply), revision, work: Work::Tool(call), .. } = self.calls.get(&id)? else {
            return None;
        };
        let note = self.reload.note();
        Some(Render { id: reply.id.clone(), revision: *revision, tool: call.tool.clone(), note })
    }

    /// Has a worker spell the result; the tool process is done with it.
    fn start_job(&mut self, id: CallId, source: Source, out: &mut Outputs) {
        let render = if self.last_middleware(id).is_some() && !matches!(source, Source::Stored(_)) {
            None
        } else {
            self.render(id)
        };
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.stage = Stage::Job;
        // With middleware ahead the slot is kept: the call is not done with the process.
        if render.is_some()
            && let Some(place) = call.place.take()
        {
            self.release(place.generation);
        }
        out.push(Output::Job(Job { call: id, source, render, message_max: self.config.message_max }));
    }

    /// A worker is done.
    pub(super) fn job_done(&mut self, done: JobDone, now: Instant, out: &mut Outputs) {
        match done.outcome {
            Ok(Finished::Message(message)) => self.end(done.call, message, now, out),
            Ok(Finished::Stored(stored)) => self.stored(done.call, stored, now, out),
            Err(reason) => {
                log(out, Level::Warning, reason.clone());
                self.fail(done.call, &reason, now, out);
            }
        }
    }

    fn stored(&mut self, id: CallId, stored: StoredResult, now: Instant, out: &mut Outputs) {
        let Some(Call { work: Work::Tool(call), .. }) = self.calls.get_mut(&id) else { return };
        call.result = Some(stored);
        match self.last_middleware(id) {
            Some(last) => self.after(id, last, now, out),
            None => self.finish_stored(id, now, out),
        }
    }

    /// All middleware has seen the result.
    fn finish_stored(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let Some(Call { work: Work::Tool(call), .. }) = self.calls.get_mut(&id) else { return };
        let Some(stored) = call.result.take() else { return };
        if stored.len() >= LARGE_MIN {
            return self.start_job(id, Source::Stored(stored), out);
        }
        let Some(render) = self.render(id) else { return };
        let message = render.message(&stored.answer());
        self.end(id, message, now, out);
    }

    /// A middleware answered.
    pub(super) fn intercepted(
        &mut self,
        id: CallId,
        response: MiddlewareInterceptResponse,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(Call { stage, work: Work::Tool(call), place: Some(place), .. }) = self.calls.get_mut(&id)
        else {
            return self.mismatch(id, now, out);
        };
        let (stage, generation) = (*stage, place.generation);
        let index = match stage {
            Stage::Before(index) | Stage::After(index) => index,
            _ => return self.mismatch(id, now, out),
        };
        let name = self.processes.get(&generation).and_then(|process| process.middleware.get(index));
        let name = name.map_or("", |middleware| &middleware.name);
        if response.reject {
            let reason =
                if response.reject_reason.is_empty() { "no reason given" } else { &response.reject_reason };
            let text = format!("rejected by the middleware \"{name}\": {reason}");
            return self.fail(id, &text, now, out);
        }
        match stage {
            Stage::Before(_) => {
                if !response.arguments_json.is_empty() {
                    if !crate::jsonrpc::json::is_object(&response.arguments_json) {
                        let text = format!(
                            "rejected: the middleware \"{name}\" made arguments that are not a JSON object"
                        );
                        return self.fail(id, &text, now, out);
                    }
                    call.arguments = response.arguments_json;
                }
                self.before(id, index + 1, now, out);
            }
            _ => {
                if let (Some(result), false) = (&mut call.result, response.result_json.is_empty()) {
                    result.result_json = response.result_json;
                }
                match index.checked_sub(1) {
                    Some(next) => self.after(id, next, now, out),
                    None => self.finish_stored(id, now, out),
                }
            }
        }
    }

    /// Ends a call with its answer.
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
        body: impl FnOnce(&mut Vec<u8>),
    ) {
        let Some(Call { reply: Some(reply), .. }) = self.remove(id, now, out) else { return };
        let mut message = Vec::new();
        write_result(&mut message, &reply.id, body);
        self.answer(&reply, message, out);
    }

    /// Answers a call that failed in a way that is the tool process's: a tool's caller gets it
    /// as a result that a model can read, a list is empty, the rest is an error.
    pub(super) fn answer_failed(&mut self, call: Call, text: &str, out: &mut Outputs) {
        let Some(reply) = call.reply else { return };
        match call.work {
            Work::Tool(_) => {
                let mut message = Vec::new();
                write_result(&mut message, &reply.id, |body| write_text_error(body, text, None));
                self.answer(&reply, message, out);
            }
            Work::List { kind, .. } => self.answer_last_list(&reply, call.revision, kind, out),
            _ => self.answer_error(&reply, &RpcError::internal(text), out),
        }
    }

    /// What hosts last saw of a list, or an empty one: while nothing serves, a host keeps its
    /// picture. The reason is in the log and in every call's answer.
    fn answer_last_list(
        &mut self,
        reply: &Reply,
        revision: crate::mcp::revision::Revision,
        kind: ListKind,
        out: &mut Outputs,
    ) {
        let mut message = Vec::new();
        write_result(&mut message, &reply.id, |body| self.seen.write(body, kind, revision));
        self.answer(reply, message, out);
    }
}

/// An answer to a request that is not open: late after a cancel, or invented.
pub(super) fn unasked(out: &mut Outputs, request_id: &str) {
    let text = format!(
        "the tool process answered a request that is not open (\"{request_id}\"); the answer was dropped"
    );
    log(out, Level::Debug, text);
}

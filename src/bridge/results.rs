//! Results of tools on their way to the host: small ones here, large ones by way of a worker.

use std::borrow::Cow;
use std::time::Instant;

use crate::ids::{CallId, Generation};
use crate::limits::LARGE_MIN;
use crate::log::Level;
use crate::mcp::call::CallAnswer;
use crate::wire::call::CallResult;
use crate::wire::envelope::Payload;

use super::asks::unasked;
use super::call::{Call, Stage, Work};
use super::job::{self, Finished, Job, JobDone, Render, Source};
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
        if frame.len() >= LARGE_MIN {
            let request_id = CallResult::request_id(&frame);
            if let Some(id) = self.answered_call(generation, request_id, now, out) {
                self.start_job(id, generation, Source::Frame(frame.into_owned()), out);
            }
            return;
        }
        let result = match CallResult::decode(&frame) {
            Ok(result) => result,
            Err(error) => {
                let request_id = CallResult::request_id(&frame);
                return self.undecodable_answer(generation, request_id, &error.to_string(), now, out);
            }
        };
        let call = self.answered_call(generation, result.request_id, now, out);
        if !result.enable_tools.is_empty() || !result.disable_tools.is_empty() {
            self.change_tool_list(generation, out, |list| {
                list.enable(&result.enable_tools);
                list.disable(&result.disable_tools);
            });
        }
        if let Some(id) = call {
            self.result(id, &job::borrow(&result), now, out);
        }
    }

    /// A tool's result, as a finished transfer.
    pub(super) fn payload(
        &mut self,
        generation: Generation,
        payload: Payload,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(id) = self.answered_call(generation, &payload.request_id, now, out) else { return };
        if payload.zstd || payload.bytes.len() >= LARGE_MIN {
            return self.start_job(id, generation, Source::Payload(payload), out);
        }
        match job::payload_text(payload, self.config.message_max) {
            Ok((field, text)) => self.result(id, &job::field_answer(field, &text), now, out),
            Err(reason) => self.fail(id, &reason, now, out),
        }
    }

    /// The call that a tool's result belongs to, if there is one that waits for it.
    fn answered_call(
        &mut self,
        generation: Generation,
        request_id: &str,
        now: Instant,
        out: &mut Outputs,
    ) -> Option<CallId> {
        let Some(ask) = self.take_ask(generation, request_id) else {
            unasked(out, request_id);
            return None;
        };
        let id = ask.call?;
        let call = self.calls.get(&id)?;
        if matches!(call.work, Work::Tool(_)) && call.stage == Stage::Running {
            return Some(id);
        }
        self.mismatch(id, now, out);
        None
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
        if let Some(error) = answer.error.and_then(|error| self.error_for_host(id, error)) {
            return self.end_with_error(id, &error, now, out);
        }
        let Some(Call { work: Work::Tool(call), .. }) = self.calls.get_mut(&id) else { return };
        if !call.chain.is_empty() {
            call.result = Some(job::store(answer));
            let left = call.chain.len();
            return self.after(id, left, now, out);
        }
        let Some(render) = self.render(id) else { return };
        self.end(id, render.message(answer), now, out);
    }

    fn render(&self, id: CallId) -> Option<Render> {
        let Call { asker, revision, work: Work::Tool(call), .. } = self.calls.get(&id)? else { return None };
        let note = self.reload.note();
        Some(Render {
            id: asker.reply().map(|reply| reply.id.clone()),
            task: self.task_name(id).map(String::into_boxed_str),
            revision: *revision,
            server_json: self.server_json.clone(),
            tool: call.tool.clone(),
            note,
        })
    }

    /// Has a worker spell the result. With middleware ahead it only reads it, and the call keeps
    /// its slot; otherwise the tool process is done with it.
    fn start_job(&mut self, id: CallId, generation: Generation, source: Source, out: &mut Outputs) {
        let is_seen = matches!(source, Source::Stored(_));
        let render = self.render(id);
        let Some(Call { stage, place, work: Work::Tool(call), .. }) = self.calls.get_mut(&id) else { return };
        *stage = Stage::Job;
        let render = render.filter(|_| is_seen || call.chain.is_empty());
        if render.is_some() && place.take().is_some() {
            self.release(generation);
        }
        let message_max = self.config.message_max;
        out.push(Output::Job(Box::new(Job { call: id, generation, source, render, message_max })));
    }

    /// A worker is done.
    pub(super) fn job_done(&mut self, done: JobDone, now: Instant, out: &mut Outputs) {
        if !done.enable.is_empty() || !done.disable.is_empty() {
            self.change_tool_list(done.generation, out, |list| {
                list.enable(&done.enable);
                list.disable(&done.disable);
            });
        }
        match done.outcome {
            Ok(Finished::Message(message)) => self.end(done.call, message, now, out),
            Ok(Finished::Stored(stored)) => {
                let Some(Call { work: Work::Tool(call), .. }) = self.calls.get_mut(&done.call) else {
                    return;
                };
                call.result = Some(stored);
                let left = call.chain.len();
                self.after(done.call, left, now, out);
            }
            Err(reason) => {
                log(out, Level::Warning, reason.clone());
                self.fail(done.call, &reason, now, out);
            }
        }
    }

    /// All middleware has seen the result.
    pub(super) fn finish_stored(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let Some(Call { place, work: Work::Tool(call), .. }) = self.calls.get_mut(&id) else { return };
        let (Some(stored), Some(place)) = (call.result.take(), *place) else { return };
        if stored.len() >= LARGE_MIN {
            return self.start_job(id, place.generation, Source::Stored(stored), out);
        }
        let Some(render) = self.render(id) else { return };
        self.end(id, render.message(&stored.answer()), now, out);
    }
}

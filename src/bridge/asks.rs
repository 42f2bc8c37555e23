//! Requests of ours to a tool process: made, answered, given up.

use std::time::Instant;

use crate::ids::{AskId, CallId, Generation};
use crate::limits::{LIST_TIMEOUT, MIDDLEWARE_TIMEOUT};
use crate::log::Level;
use crate::wire::call::call_frame;
use crate::wire::frame;
use crate::wire::protomcp::{
    CallToolRequest, Envelope, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    envelope::Msg,
};

use super::call::{Asker, ListKind, Stage, Work};
use super::process::Ask;
use super::{Bridge, Output, Outputs, log};

impl Bridge {
    /// Sends a message to a tool process that can still take one.
    pub(super) fn tell(&mut self, generation: Generation, request_id: String, msg: Msg, out: &mut Outputs) {
        if self.processes.contains_key(&generation) {
            let envelope = Envelope { request_id, msg: Some(msg), ..Envelope::default() };
            out.push(Output::Tool { generation, frame: frame::encode(&envelope) });
        }
    }

    /// Sends a request for a call to its process.
    pub(super) fn ask(&mut self, id: CallId, msg: Msg, until: Option<Instant>, out: &mut Outputs) {
        if let Some((generation, request_id)) = self.open_ask(id, until) {
            self.tell_traced(id, generation, request_id, msg, out);
        }
    }

    /// Sends a request with the trace context of its call.
    fn tell_traced(
        &mut self,
        id: CallId,
        generation: Generation,
        request_id: String,
        msg: Msg,
        out: &mut Outputs,
    ) {
        let meta = self.calls.get(&id).and_then(|call| call.meta.as_ref());
        let trace_json = meta.map_or_else(String::new, |meta| meta.trace_json.clone());
        if self.processes.contains_key(&generation) {
            let envelope = Envelope { request_id, trace_json, msg: Some(msg), ..Envelope::default() };
            out.push(Output::Tool { generation, frame: frame::encode(&envelope) });
        }
    }

    /// Sends the call itself.
    pub(super) fn run_tool(&mut self, id: CallId, out: &mut Outputs) {
        let Some((generation, request_id)) = self.open_ask(id, None) else { return };
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.stage = Stage::Running;
        let Work::Tool(tool_call) = &mut call.work else { return };
        // What a task says of how far it is is looked at, whether its host asked for progress or not.
        let wants_progress = tool_call.progress_token.is_some() || matches!(call.asker, Asker::Task(_));
        let token = if wants_progress { request_id.as_str() } else { "" };
        let trace = call.meta.as_ref().map_or("", |meta| &meta.trace_json);
        if let Some(given) = call.given.take() {
            let msg = Msg::CallTool(CallToolRequest {
                name: tool_call.name.clone(),
                arguments_json: tool_call.arguments.clone(),
                progress_token: token.to_owned(),
                input: Some(given),
            });
            return self.tell_traced(id, generation, request_id, msg, out);
        }
        let frame = call_frame(&request_id, &tool_call.name, &tool_call.arguments, token, trace);
        if tool_call.chain.is_empty() && !call.keeps_arguments {
            tool_call.arguments = String::new();
        }
        out.push(Output::Tool { generation, frame });
    }

    pub(super) fn ask_list(&mut self, id: CallId, kind: ListKind, now: Instant, out: &mut Outputs) {
        let msg = match kind {
            ListKind::Resources => Msg::ListResourcesRequest(ListResourcesRequest {}),
            ListKind::Templates => Msg::ListResourceTemplatesRequest(ListResourceTemplatesRequest {}),
            ListKind::Prompts => Msg::ListPromptsRequest(ListPromptsRequest {}),
            // Tools are declared in the handshake; they are not asked for again.
            ListKind::Tools => return,
        };
        self.ask(id, msg, Some(now + LIST_TIMEOUT), out);
    }

    /// Enters a request for a call; where it goes, and its id.
    fn open_ask(&mut self, id: CallId, until: Option<Instant>) -> Option<(Generation, String)> {
        let ask = AskId(self.next_id());
        let place = self.calls.get_mut(&id)?.place.as_mut()?;
        let process = self.processes.get_mut(&place.generation)?;
        place.ask = Some(ask);
        process
            .asks
            .insert(ask, Ask { call: Some(id), until, holds_slot: true, cancelled: None, is_probe: false });
        Some((place.generation, ask.0.to_string()))
    }

    /// Closes a request of ours that was answered. `None`: it was never made, or given up long
    /// ago.
    pub(super) fn take_ask(&mut self, generation: Generation, request_id: &str) -> Option<Ask> {
        let id = AskId(request_id.parse().ok()?);
        let ask = self.processes.get_mut(&generation)?.asks.remove(&id)?;
        if !ask.holds_slot {
            return Some(ask);
        }
        match ask.call.and_then(|call| self.calls.get_mut(&call)).and_then(|call| call.place.as_mut()) {
            Some(place) => place.ask = None,
            // Nobody waits for this one any more, so its slot is free with it.
            None => self.release(generation),
        }
        Some(ask)
    }

    /// Gives a slot back.
    pub(super) fn release(&mut self, generation: Generation) {
        if let Some(process) = self.processes.get_mut(&generation) {
            process.busy = process.busy.saturating_sub(1);
        }
    }

    /// One request of ours took too long.
    pub(super) fn ask_timed_out(
        &mut self,
        generation: Generation,
        id: AskId,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let Some(ask) = process.asks.get_mut(&id) else { return };
        let Some(call_id) = ask.call else { return self.orphan_timed_out(generation, id, now, out) };
        let Some(call) = self.calls.get(&call_id) else { return };
        if !ask.holds_slot {
            process.asks.remove(&id);
            return self.look_later(call_id, now);
        }
        if call.remote.is_some() && call.stage == Stage::Running {
            return self.result_timed_out(call_id, now, out);
        }
        match (call.stage, &call.work) {
            (Stage::Before(index) | Stage::After(index), Work::Tool(tool_call)) => {
                let name = tool_call.chain.get(index).map_or("", String::as_str);
                let seconds = MIDDLEWARE_TIMEOUT.as_secs();
                let text = format!("rejected: the middleware \"{name}\" did not answer within {seconds} s");
                log(out, Level::Warning, format!("{}: {text}", call.what()));
                self.fail(call_id, &text, now, out);
            }
            _ => self.list_timed_out(generation, id, call_id, now, out),
        }
    }
}

/// An answer to a request that is not open: late after a cancel, or invented.
pub(super) fn unasked(out: &mut Outputs, request_id: &str) {
    let text = format!(
        "the tool process answered a request that is not open (\"{request_id}\"); the answer was dropped"
    );
    log(out, Level::Debug, text);
}

//! Calls on their way to the tool process: waiting, slots, requests of ours, giving up.
//!
//! A call takes a slot of the serving process when it begins and keeps it until the process is
//! done with it. Published SDKs have one slot, because they work on one request at a time and
//! take whatever frame comes next for the answer to a question of their own.

use std::time::Instant;

use crate::ids::{AskId, CallId, Generation};
use crate::jsonrpc::message::RpcError;
use crate::limits::{CANCEL_HOLD, LIST_TIMEOUT, MIDDLEWARE_TIMEOUT, WAITING_BYTES_MAX, WAITING_REQUESTS_MAX};
use crate::log::Level;
use crate::mcp::error;
use crate::wire::envelope::call_frame;
use crate::wire::frame;
use crate::wire::protomcp::{
    CancelRequest, CompletionRequest, Envelope, GetPromptRequest, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, MiddlewareInterceptRequest, ReadResourceRequest,
    envelope::Msg,
};

use super::call::{Call, ListKind, Place, Reply, Stage, Work};
use super::process::{Ask, Process};
use super::{Bridge, Output, Outputs, log};

impl Bridge {
    /// Whether so much waits for the tool process that hosts should not be read.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_REQUESTS_MAX || self.waiting_bytes >= WAITING_BYTES_MAX
    }

    /// Takes in a request that needs the tool process. It begins at the end of this input if it
    /// can; what needs no tool process is answered here.
    pub(super) fn admit(&mut self, reply: Reply, work: Work, now: Instant, out: &mut Outputs) {
        if let Some(shutdown) = &self.shutdown {
            let text = format!("pmcp is ending ({}) and takes no more requests", shutdown.reason);
            return self.answer_error(&reply, &RpcError::internal(text), out);
        }
        if self.waiting.len() >= 2 * WAITING_REQUESTS_MAX || self.waiting_bytes >= 2 * WAITING_BYTES_MAX {
            let text = format!(
                "{} requests wait for the tool process, which is more than the bridge keeps; try again later",
                self.waiting.len()
            );
            return self.answer_error(&reply, &RpcError::internal(text), out);
        }
        let Some(session) = self.sessions.get_mut(&reply.route.session) else { return };
        let revision = session.revision;
        let id = CallId({
            self.last_id += 1;
            self.last_id
        });
        session.in_flight.insert(reply.id.clone(), id);
        let until = now + self.config.call_timeout;
        let call = Call { reply: Some(reply), revision, work, stage: Stage::Waiting, place: None, until };
        let needs_slot = self.needs_slot(&call);
        self.wait(id, call);
        if let (false, Some(generation)) = (needs_slot, self.serving) {
            self.begin(id, generation, now, out);
        }
    }

    /// Queues a call.
    pub(super) fn wait(&mut self, id: CallId, call: Call) {
        self.waiting_bytes += call.size();
        self.calls.insert(id, call);
        self.waiting.push_back(id);
    }

    /// Whether the serving process has to do something for this call. What it does not have to
    /// do is never held back by what it does.
    fn needs_slot(&self, call: &Call) -> bool {
        let Some(process) = self.serving.and_then(|generation| self.processes.get(&generation)) else {
            return true;
        };
        match &call.work {
            Work::List { kind: ListKind::Tools, .. } => false,
            Work::List { kind, .. } => !process.silent.contains(kind),
            Work::Tool(call) => process.tool(&call.name).is_some() && process.tool_list.is_active(&call.name),
            _ => true,
        }
    }

    /// Begins waiting calls while there are free slots.
    pub(super) fn pump(&mut self, now: Instant, out: &mut Outputs) {
        if self.serving.is_none() {
            if !self.waiting.is_empty() && self.restart.is_down() && self.shutdown.is_none() {
                self.start(now, out);
            }
            return;
        }
        while let Some(generation) = self.serving {
            if !self.processes.get(&generation).is_some_and(Process::has_free_slot) {
                break;
            }
            let Some(id) = self.waiting.pop_front() else { break };
            if self.calls.get(&id).is_some_and(|call| call.stage == Stage::Waiting) {
                self.begin(id, generation, now, out);
            }
        }
    }

    /// Answers what waited for a process but not for a slot of it; called when one begins to
    /// serve.
    pub(super) fn begin_without_slots(&mut self, generation: Generation, now: Instant, out: &mut Outputs) {
        let ready: Vec<CallId> = self
            .waiting
            .iter()
            .copied()
            .filter(|id| self.calls.get(id).is_some_and(|call| !self.needs_slot(call)))
            .collect();
        for id in ready {
            self.begin(id, generation, now, out);
        }
    }

    /// A waiting call has its turn.
    fn begin(&mut self, id: CallId, generation: Generation, now: Instant, out: &mut Outputs) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        self.waiting_bytes -= call.size();
        call.stage = Stage::Running;
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let kind = match &mut call.work {
            Work::Tool(tool_call) => {
                let active = process.tool_list.is_active(&tool_call.name);
                match process.tool(&tool_call.name) {
                    Some(tool) if active => tool_call.tool = Some(tool.clone()),
                    declared => {
                        let detail = match declared {
                            Some(_) => "it is disabled at the moment",
                            None => {
                                "the tool process does not offer it (it may have been removed or renamed since you listed the tools)"
                            }
                        };
                        let error = error::unknown_tool(&tool_call.name, detail);
                        return self.end_with_error(id, &error, out);
                    }
                }
                None
            }
            Work::List { kind: ListKind::Tools, .. } => return self.list_tools(id, generation, out),
            Work::List { kind, .. } | Work::Refresh(kind) => Some(*kind),
            Work::Prompt { .. } if process.prompts.is_none() => Some(ListKind::Prompts),
            Work::Read { .. } | Work::Prompt { .. } | Work::Complete(_) => None,
        };
        if kind.is_some_and(|kind| process.silent.contains(&kind))
            && !matches!(call.work, Work::Prompt { .. })
        {
            return self.list_is_silent(id, out);
        }
        process.busy += 1;
        call.place = Some(Place { generation, ask: None });
        match (&call.work, kind) {
            (Work::Tool(_), _) if process.middleware.is_empty() => self.run_tool(id, out),
            (Work::Tool(_), _) => self.before(id, 0, now, out),
            (Work::Prompt { .. }, Some(kind)) if !process.silent.contains(&kind) => {
                call.stage = Stage::Prompts;
                self.ask_list(id, kind, now, out);
            }
            (Work::Prompt { .. }, _) => self.prompt_with_known_list(generation, id, now, out),
            (_, Some(kind)) => self.ask_list(id, kind, now, out),
            (Work::Read { uri }, None) => {
                let msg = Msg::ReadResourceRequest(ReadResourceRequest { uri: uri.clone() });
                self.ask(id, msg, None, out);
            }
            (Work::Complete(complete), None) => {
                let msg = Msg::CompletionRequest(CompletionRequest {
                    ref_type: complete.ref_type.clone(),
                    ref_name: complete.ref_name.clone(),
                    argument_name: complete.argument_name.clone(),
                    argument_value: complete.argument_value.clone(),
                    context_arguments_json: complete.context_arguments_json.clone(),
                });
                self.ask(id, msg, None, out);
            }
            (Work::List { .. } | Work::Refresh(_), None) => {}
        }
    }

    /// Shows the arguments to the middleware of this index, or runs the tool after the last one.
    pub(super) fn before(&mut self, id: CallId, index: usize, now: Instant, out: &mut Outputs) {
        let Some(name) = self.middleware_name(id, index) else { return self.run_tool(id, out) };
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.stage = Stage::Before(index);
        let Work::Tool(tool_call) = &call.work else { return };
        let msg = Msg::MiddlewareIntercept(MiddlewareInterceptRequest {
            middleware_name: name,
            phase: "before".to_owned(),
            tool_name: tool_call.name.clone(),
            arguments_json: tool_call.arguments.clone(),
            ..MiddlewareInterceptRequest::default()
        });
        self.ask(id, msg, Some(now + MIDDLEWARE_TIMEOUT), out);
    }

    /// Shows the result to the middleware of this index.
    pub(super) fn after(&mut self, id: CallId, index: usize, now: Instant, out: &mut Outputs) {
        let Some(name) = self.middleware_name(id, index) else { return };
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.stage = Stage::After(index);
        let Work::Tool(tool_call) = &call.work else { return };
        let Some(result) = &tool_call.result else { return };
        let msg = Msg::MiddlewareIntercept(MiddlewareInterceptRequest {
            middleware_name: name,
            phase: "after".to_owned(),
            tool_name: tool_call.name.clone(),
            arguments_json: tool_call.arguments.clone(),
            result_json: result.result_json.clone(),
            is_error: result.is_error,
        });
        self.ask(id, msg, Some(now + MIDDLEWARE_TIMEOUT), out);
    }

    fn middleware_name(&self, id: CallId, index: usize) -> Option<String> {
        let process = self.processes.get(&self.calls.get(&id)?.place?.generation)?;
        process.middleware.get(index).map(|middleware| middleware.name.clone())
    }

    /// Sends the call itself.
    fn run_tool(&mut self, id: CallId, out: &mut Outputs) {
        let ask = self.next_id();
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.stage = Stage::Running;
        let (Work::Tool(tool_call), Some(place)) = (&mut call.work, &mut call.place) else { return };
        let Some(process) = self.processes.get_mut(&place.generation) else { return };
        let request_id = ask.to_string();
        let token = if tool_call.progress_token.is_some() { request_id.as_str() } else { "" };
        let frame = call_frame(&request_id, &tool_call.name, &tool_call.arguments, token);
        if process.middleware.is_empty() {
            tool_call.arguments = String::new();
        }
        place.ask = Some(AskId(ask));
        process.asks.insert(AskId(ask), Ask { call: Some(id), until: None });
        out.push(Output::Tool { generation: place.generation, frame });
    }

    pub(super) fn get_prompt(&mut self, id: CallId, out: &mut Outputs) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.stage = Stage::Running;
        let Work::Prompt { name, arguments } = &mut call.work else { return };
        let msg = Msg::GetPromptRequest(GetPromptRequest {
            name: name.clone(),
            arguments_json: std::mem::take(arguments),
        });
        self.ask(id, msg, None, out);
    }

    fn ask_list(&mut self, id: CallId, kind: ListKind, now: Instant, out: &mut Outputs) {
        let msg = match kind {
            ListKind::Resources => Msg::ListResourcesRequest(ListResourcesRequest {}),
            ListKind::Templates => Msg::ListResourceTemplatesRequest(ListResourceTemplatesRequest {}),
            ListKind::Prompts => Msg::ListPromptsRequest(ListPromptsRequest {}),
            // Tools are declared in the handshake; they are not asked for again.
            ListKind::Tools => return,
        };
        self.ask(id, msg, Some(now + LIST_TIMEOUT), out);
    }

    /// Sends a request for a call to its process.
    fn ask(&mut self, id: CallId, msg: Msg, until: Option<Instant>, out: &mut Outputs) {
        let ask = self.next_id();
        let Some(place) = self.calls.get_mut(&id).and_then(|call| call.place.as_mut()) else { return };
        let Some(process) = self.processes.get_mut(&place.generation) else { return };
        place.ask = Some(AskId(ask));
        process.asks.insert(AskId(ask), Ask { call: Some(id), until });
        let envelope = Envelope { request_id: ask.to_string(), msg: Some(msg), ..Envelope::default() };
        out.push(Output::Tool { generation: place.generation, frame: frame::encode(&envelope) });
    }

    /// Closes a request of ours that was answered. `None`: it was never made, or given up long
    /// ago.
    pub(super) fn take_ask(&mut self, generation: Generation, request_id: &str) -> Option<Ask> {
        let id = AskId(request_id.parse().ok()?);
        let ask = self.processes.get_mut(&generation)?.asks.remove(&id)?;
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

    /// Takes a call out, with all that it holds. A request that the tool process still works on
    /// is cancelled there and keeps its slot for a while (see [`CANCEL_HOLD`]).
    pub(super) fn remove(&mut self, id: CallId, now: Instant, out: &mut Outputs) -> Option<Call> {
        let call = self.calls.remove(&id)?;
        if call.stage == Stage::Waiting {
            self.waiting_bytes -= call.size();
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

    /// The host does not want the answer any more.
    pub(super) fn abandon(&mut self, id: CallId, now: Instant, out: &mut Outputs) -> Option<Reply> {
        self.remove(id, now, out)?.reply
    }

    fn orphan(&mut self, generation: Generation, id: AskId, now: Instant, out: &mut Outputs) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let Some(ask) = process.asks.get_mut(&id) else { return };
        ask.call = None;
        ask.until = (!process.announced).then_some(now + CANCEL_HOLD);
        let cancel = Msg::Cancel(CancelRequest { request_id: id.0.to_string() });
        self.tell(generation, String::new(), cancel, out);
    }

    /// Ends a call with a text that a person or a model can read.
    pub(super) fn fail(&mut self, id: CallId, text: &str, now: Instant, out: &mut Outputs) {
        if let Some(call) = self.remove(id, now, out) {
            self.answer_failed(call, text, out);
        }
    }

    /// Ends a call with an error.
    pub(super) fn end_with_error(&mut self, id: CallId, error: &RpcError, out: &mut Outputs) {
        if let Some(Call { reply: Some(reply), place, .. }) = self.calls.remove(&id) {
            if let Some(place) = place {
                self.release(place.generation);
            }
            self.answer_error(&reply, error, out);
        }
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
        let text =
            format!("{} did not answer within {limit:?} (--call-timeout); {reason}", capital(&call.what()));
        log(out, Level::Warning, text.clone());
        self.fail(id, &text, now, out);
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
        let Some(call_id) = ask.call else {
            process.asks.remove(&id);
            return self.release(generation);
        };
        let Some(call) = self.calls.get(&call_id) else { return };
        match call.stage {
            Stage::Before(index) | Stage::After(index) => {
                let name = self.middleware_name(call_id, index).unwrap_or_default();
                let text = format!(
                    "rejected: the middleware \"{name}\" did not answer within {} s",
                    MIDDLEWARE_TIMEOUT.as_secs()
                );
                log(out, Level::Warning, format!("{}: {text}", call.what()));
                self.fail(call_id, &text, now, out);
            }
            Stage::Prompts => {
                process.asks.remove(&id);
                process.silent.push(ListKind::Prompts);
                self.get_prompt(call_id, out);
            }
            _ => self.list_timed_out(generation, id, call_id, out),
        }
    }
}

/// The text with a capital first letter.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

//! What a tool process said.

use std::time::Instant;

use crate::ids::{AskId, CallId, Generation, Route};
use crate::limits::HANDSHAKE_SILENCE;
use crate::log::Level;
use crate::mcp::input::Question;
use crate::mcp::logging;
use crate::mcp::{completion, notify, prompt, resource, task as mcp_task, tool as mcp_tool};
use crate::wire::envelope::Received;
use crate::wire::protomcp::{
    ActiveToolsResponse, Envelope, LogMessage, ProgressNotification, RegisterMiddlewareRequest,
    RegisterMiddlewareResponse, ToolListResponse, envelope::Msg,
};

use super::asks::unasked;
use super::call::{Asker, Call, Stage, ToolCall, Work};
use super::process::Phase;
use super::tool_list::ToolList;
use super::{Bridge, Output, Outputs, Sort, log};

impl Bridge {
    /// One message of a tool process. What a process says that was told to end is still taken:
    /// it may be the answer that a host waits for.
    pub(super) fn tool_said(
        &mut self,
        generation: Generation,
        received: Received<'_>,
        now: Instant,
        out: &mut Outputs,
    ) {
        if !self.processes.contains_key(&generation) {
            return;
        }
        match received {
            Received::CallResult { frame } => self.call_result(generation, frame, now, out),
            Received::Envelope(envelope) => self.envelope(generation, envelope, now, out),
            Received::Payload(payload) => self.payload(generation, payload, now, out),
            Received::Refused { request_id, reason } => {
                let text = format!("the tool process sent a result that cannot be taken: {reason}");
                log(out, Level::Warning, text.clone());
                if let Some(id) = self.take_ask(generation, &request_id).and_then(|ask| ask.call) {
                    self.fail(id, &text, now, out);
                }
            }
            Received::Undecodable { reason } => self.undecodable(generation, &reason, now, out),
        }
    }

    /// A frame that cannot be read. If only one answer is due, it was that one.
    pub(super) fn undecodable(
        &mut self,
        generation: Generation,
        reason: &str,
        now: Instant,
        out: &mut Outputs,
    ) {
        let asks = self.processes.get(&generation).map(|process| process.asks.keys());
        let mut asks = asks.into_iter().flatten();
        let only = match (asks.next(), asks.next()) {
            (Some(only), None) => only.0.to_string(),
            _ => String::new(),
        };
        self.undecodable_answer(generation, &only, reason, now, out);
    }

    /// An answer that cannot be read; its request id could be, or is empty.
    pub(super) fn undecodable_answer(
        &mut self,
        generation: Generation,
        request_id: &str,
        reason: &str,
        now: Instant,
        out: &mut Outputs,
    ) {
        let text = format!("the tool process sent a message that cannot be read: {reason}");
        log(out, Level::Warning, text.clone());
        if let Some(id) = self.take_ask(generation, request_id).and_then(|ask| ask.call) {
            self.fail(id, &text, now, out);
        }
    }

    fn envelope(&mut self, generation: Generation, envelope: Envelope, now: Instant, out: &mut Outputs) {
        let Envelope { request_id, msg: Some(msg), .. } = envelope else { return };
        match msg {
            Msg::ToolList(list) => self.tools_declared(generation, &request_id, list, now, out),
            Msg::RegisterMiddleware(request) => {
                self.middleware_registered(generation, request_id, request, now, out);
            }
            Msg::ReloadResponse(response) if self.is_reload_answer(generation, &request_id) => {
                self.reloaded_in_place(generation, response, now, out);
            }
            Msg::ReloadResponse(response) => self.handshake_ended(generation, response, now, out),
            Msg::SaveState(saved) => self.save_state(generation, saved.state, out),
            Msg::EnableTools(request) => {
                self.list_request(generation, request_id, out, |list| list.enable(request.tool_names));
            }
            Msg::DisableTools(request) => {
                self.list_request(generation, request_id, out, |list| list.disable(request.tool_names));
            }
            Msg::SetAllowed(request) => {
                self.list_request(generation, request_id, out, |list| list.allow(request.tool_names));
            }
            Msg::SetBlocked(request) => {
                self.list_request(generation, request_id, out, |list| list.block(request.tool_names));
            }
            Msg::GetActiveTools(_) => self.list_request(generation, request_id, out, |_| {}),
            Msg::Batch(batch) => {
                let mut refused = None;
                self.list_request(generation, request_id, out, |list| refused = list.batch(batch).err());
                if let Some(reason) = refused {
                    log(out, Level::Warning, reason);
                }
            }
            Msg::Progress(progress) => self.progress(generation, &progress, out),
            Msg::Log(message) => self.log_message(generation, &message, out),
            Msg::ResourceChanged(changed) => {
                self.notify(
                    out,
                    |session| session.subscriptions.contains(&changed.uri),
                    |message| notify::resource_updated(message, &changed.uri, None),
                );
                self.tell_listens(
                    out,
                    |filter| filter.resource_uris.contains(&changed.uri),
                    |message, stream| notify::resource_updated(message, &changed.uri, stream),
                );
            }
            Msg::SamplingRequest(request) => {
                self.asked_by_process(generation, request_id, &Question::Sampling(request), now, out);
            }
            Msg::ListRootsRequest(request) => {
                self.asked_by_process(generation, request_id, &Question::Roots(request), now, out);
            }
            Msg::ElicitRequest(request) => {
                self.asked_by_process(generation, request_id, &Question::Elicit(request), now, out);
            }
            Msg::TaskStatusResponse(status) if request_id.is_empty() => {
                self.task_news(generation, status, now, out);
            }
            msg => self.answered(generation, &request_id, msg, now, out),
        }
    }

    /// An answer to a request of ours.
    fn answered(
        &mut self,
        generation: Generation,
        request_id: &str,
        msg: Msg,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(ask) = self.take_ask(generation, request_id) else {
            return self.listed_late(generation, request_id, msg, out);
        };
        let Some(id) = ask.call else { return };
        match msg {
            Msg::MiddlewareInterceptResponse(response) => self.intercepted(id, response, now, out),
            Msg::ResourceListResponse(_)
            | Msg::ResourceTemplateListResponse(_)
            | Msg::PromptListResponse(_) => {
                self.listed(generation, id, msg, now, out);
            }
            Msg::InputRequired(required) => self.input_required(id, required, now, out),
            Msg::CreateTask(task) => match request_id.parse() {
                Ok(origin) => self.goes_on_as_task(id, AskId(origin), task.task_id, now, out),
                Err(_) => self.mismatch(id, now, out),
            },
            Msg::TaskStatusResponse(status) if !ask.holds_slot => self.task_status(id, status, now, out),
            msg => self.finish_other(id, msg, now, out),
        }
    }

    /// Answers `resources/read`, `prompts/get` and `completion/complete`.
    fn finish_other(&mut self, id: CallId, msg: Msg, now: Instant, out: &mut Outputs) {
        let Some(Call { work, revision, stage: Stage::Running, .. }) = self.calls.get(&id) else {
            return self.mismatch(id, now, out);
        };
        let revision = *revision;
        let failure = match &msg {
            Msg::ReadResourceResponse(response) => response.error.as_ref(),
            Msg::GetPromptResponse(response) => response.error.as_ref(),
            _ => None,
        };
        if let Some(error) = failure.and_then(|failure| self.error_for_host(id, failure)) {
            return self.end_with_error(id, &error, now, out);
        }
        let answer = match (work, msg) {
            (Work::Read { uri }, Msg::ReadResourceResponse(response)) => {
                let uri = uri.clone();
                resource::read_answer(revision, &uri, response).map(|response| {
                    self.end_with(id, now, out, |body, dialect| {
                        resource::write_read(body, dialect, &uri, &response);
                    });
                })
            }
            (Work::Prompt { name, .. }, Msg::GetPromptResponse(response)) => {
                prompt::answer(revision, &name.clone(), response).map(|response| {
                    self.end_with(id, now, out, |body, dialect| {
                        prompt::write_prompt(body, dialect, &response)
                    });
                })
            }
            (Work::Complete(_), Msg::CompletionResponse(response)) => {
                self.end_with(id, now, out, |body, dialect| {
                    completion::write_completion(body, dialect, &response);
                });
                Ok(())
            }
            _ => return self.mismatch(id, now, out),
        };
        if let Err(error) = answer {
            self.end_with_error(id, &error, now, out);
        }
    }

    /// The tools of a process: the first answer of the handshake, or a later change, which
    /// published SDKs send without a request id.
    fn tools_declared(
        &mut self,
        generation: Generation,
        request_id: &str,
        list: ToolListResponse,
        now: Instant,
        out: &mut Outputs,
    ) {
        if !request_id.is_empty() {
            let process = self.processes.get_mut(&generation);
            let asked = |id: &mut AskId| request_id.parse() == Ok(id.0);
            if process.and_then(|process| process.opening.take_if(asked)).is_none() {
                return unasked(out, request_id);
            }
        }
        let mut tools = Vec::with_capacity(list.tools.len());
        for definition in list.tools {
            let name = definition.name.clone();
            match mcp_tool::from_definition(definition) {
                Ok((tool, warning)) => {
                    if let Some(warning) = warning {
                        log(out, Level::Warning, format!("the tool \"{name}\": {warning}"));
                    }
                    tools.push(tool);
                }
                Err(reason) => log(out, Level::Error, format!("the tool \"{name}\" is left out: {reason}")),
            }
        }
        let Some(process) = self.processes.get_mut(&generation) else { return };
        for name in process.set_tools(tools) {
            log(out, Level::Error, format!("two tools are called \"{name}\"; the second one is left out"));
        }
        process.reloads_in_place = list.reloads_in_place;
        if list.max_concurrent_calls > 0 {
            process.announced = true;
            process.slots = list.max_concurrent_calls as usize;
        }
        if let Phase::Handshaking { quiet_at, .. } = &mut process.phase {
            *quiet_at = Some(now + HANDSHAKE_SILENCE);
        }
        self.tools_may_have_changed(out);
    }

    /// Acknowledges a middleware. The SDK takes the next frame for the acknowledgement, whatever
    /// it is, so until the handshake is complete nothing else is sent.
    fn middleware_registered(
        &mut self,
        generation: Generation,
        request_id: String,
        request: RegisterMiddlewareRequest,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let name = request.name.clone();
        let success = process.register(request);
        if let Phase::Handshaking { quiet_at: Some(quiet_at), .. } = &mut process.phase {
            *quiet_at = now + HANDSHAKE_SILENCE;
        }
        if !success {
            log(out, Level::Error, format!("the middleware \"{name}\" is left out: there are too many"));
        }
        let msg = Msg::RegisterMiddlewareResponse(RegisterMiddlewareResponse { success });
        self.tell(generation, request_id, msg, out);
    }

    /// A tool-list request. It is answered at once and always, with the id that it came with.
    fn list_request(
        &mut self,
        generation: Generation,
        request_id: String,
        out: &mut Outputs,
        change: impl FnOnce(&mut ToolList),
    ) {
        self.change_tool_list(generation, out, change);
        let Some(process) = self.processes.get(&generation) else { return };
        let tool_names = process.active_names();
        self.tell(generation, request_id, Msg::ActiveTools(ActiveToolsResponse { tool_names }), out);
    }

    /// Progress goes to the host that gave a token, while its call runs, and only upwards
    /// (specification, basic/utilities/progress).
    fn progress(&mut self, generation: Generation, progress: &ProgressNotification, out: &mut Outputs) {
        let ask = progress.progress_token.parse().ok().map(AskId);
        let process = self.processes.get(&generation);
        let id = ask.and_then(|ask| process?.asks.get(&ask)?.call);
        let id = id.or_else(|| self.remote_call(generation, ask?));
        if let Some(id) = id {
            self.report(id, progress.progress, progress.total, &progress.message, out);
        }
    }

    /// Tells how far a call is. A task of the modern era shows it to those who look.
    pub(super) fn report(&mut self, id: CallId, progress: i64, total: i64, text: &str, out: &mut Outputs) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let Work::Tool(tool_call) = &mut call.work else { return };
        let rises = tool_call.progress.is_none_or(|last| progress > last);
        if rises {
            tool_call.progress = Some(progress);
        }
        if let Asker::Task(task) = call.asker {
            let is_modern = call.meta.is_some();
            self.task_says(task, mcp_task::progress_text(progress, total, text));
            if is_modern {
                return;
            }
        }
        if !rises {
            return;
        }
        let Some(call) = self.calls.get(&id) else { return };
        let Work::Tool(ToolCall { progress_token: Some(token), .. }) = &call.work else { return };
        let route = match &call.asker {
            Asker::Host(reply) => Some(reply.route),
            Asker::Task(task) => self.task_route(*task),
            Asker::Away | Asker::Bridge => None,
        };
        let Some(route) = route else { return };
        let task = self.task_name(id);
        let mut message = Vec::new();
        notify::progress(&mut message, call.revision, token, progress, total, text, task.as_deref());
        out.push(Output::Host { route, message, sort: Sort::Message });
    }

    /// A log line goes to the host whose call it belongs to, if that wants it, and to no other: it may
    /// tell what is in the call. One that belongs to no call goes to the only host there is.
    fn log_message(&mut self, generation: Generation, message: &LogMessage, out: &mut Outputs) {
        let level = logging::Level::from_tool(&message.level);
        let named = &message.call_request_id;
        let running = self.running_calls(generation, named);
        let target = match running[..] {
            _ if self.may_be_of_cancelled(generation, named) => None,
            [] if named.is_empty() => self.log_of_nobody(),
            [call] => self.log_of_call(call),
            _ => self.log_of_several(&running),
        };
        match target {
            Some((route, wanted, task)) if level >= wanted => {
                let mut line = Vec::new();
                notify::log(&mut line, level, &message.logger, &message.data_json, task.as_deref());
                out.push(Output::Host { route, message: line, sort: Sort::Message });
            }
            Some(_) => {}
            None => log(out, Level::Debug, "a log message that belongs to no host was dropped"),
        }
    }

    /// Where the log of a call goes, and from which level on.
    fn log_of_call(&self, id: CallId) -> Option<(Route, logging::Level, Option<String>)> {
        let call = self.calls.get(&id)?;
        if let Some(meta) = &call.meta {
            return Some((call.asker.reply()?.route, meta.log_level?, None));
        }
        let route = match &call.asker {
            Asker::Host(reply) => reply.route,
            Asker::Task(task) => self.task_route(*task)?,
            Asker::Away | Asker::Bridge => return None,
        };
        let session = self.sessions.get(&route.session).filter(|session| session.live)?;
        Some((route, session.log_level, self.task_name(id)))
    }

    /// Where a log goes that may be of any of these calls: to their session, if they have just one.
    fn log_of_several(&self, calls: &[CallId]) -> Option<(Route, logging::Level, Option<String>)> {
        let mut only = None;
        for call in calls.iter().filter_map(|id| self.calls.get(id)) {
            let session = call.asker.reply().filter(|_| call.meta.is_none())?.route.session;
            if only.replace(session).is_some_and(|other| other != session) {
                return None;
            }
        }
        let session = self.sessions.get(&only?).filter(|session| session.live)?;
        Some((Route::session(only?), session.log_level, None))
    }

    /// Where a log goes that belongs to no call.
    fn log_of_nobody(&self) -> Option<(Route, logging::Level, Option<String>)> {
        let mut sessions = self.sessions.iter();
        let (Some((&id, session)), None) = (sessions.next(), sessions.next()) else { return None };
        session.live.then_some((Route::session(id), session.log_level, None))
    }

    /// The calls that a message of a process may belong to: the one that it names, or all that run.
    pub(super) fn running_calls(&self, generation: Generation, named: &str) -> Vec<CallId> {
        if named.is_empty() {
            let is_bridge = |call: &Call| matches!(call.asker, Asker::Bridge);
            let is_its = |call: &Call| call.generation() == Some(generation) && !is_bridge(call);
            return self.calls.iter().filter(|(_, call)| is_its(call)).map(|(&id, _)| id).collect();
        }
        let Some(process) = self.processes.get(&generation) else { return Vec::new() };
        let Some(named) = named.parse().ok().map(AskId) else { return Vec::new() };
        let call = process.asks.get(&named).and_then(|ask| ask.call);
        call.or_else(|| self.remote_call(generation, named)).into_iter().collect()
    }

    /// Whether what a process says may belong to a call that nobody wants any more.
    pub(super) fn may_be_of_cancelled(&self, generation: Generation, named: &str) -> bool {
        let process = self.processes.get(&generation).filter(|_| named.is_empty());
        process.is_some_and(|process| process.asks.values().any(|ask| ask.call.is_none()))
    }
}

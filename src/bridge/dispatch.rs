//! Calls on their way to the tool process: taken in, waiting, and beginning.
//!
//! A call takes a slot of the serving process when it begins and keeps it until the process is
//! done with it. Published SDKs have one slot, because they work on one request at a time and
//! take whatever frame comes next for the answer to a question of their own.

use std::time::Instant;

use crate::ids::{CallId, Generation};
use crate::jsonrpc::message::RpcError;
use crate::mcp::request::Era;
use crate::mcp::{error, revision};
use crate::wire::protomcp::{
    CompletionRequest, GetPromptRequest, InputGiven, ReadResourceRequest, envelope::Msg,
};

use super::call::{Asker, Call, ListKind, Place, Reply, Stage, Work};
use super::process::Process;
use super::timers::Due;
use super::{Bridge, Outputs};

impl Bridge {
    /// Takes in a request that needs the tool process. It begins at the end of this input if it
    /// can; what needs no slot is answered here.
    pub(super) fn admit(&mut self, reply: Reply, era: Era, work: Work, now: Instant, out: &mut Outputs) {
        self.admit_with(reply, era, work, None, now, out);
    }

    /// The same for a request that came again, with what its tool is given.
    pub(super) fn admit_with(
        &mut self,
        reply: Reply,
        era: Era,
        work: Work,
        given: Option<InputGiven>,
        now: Instant,
        out: &mut Outputs,
    ) {
        if let Some(error) = self.no_more_calls() {
            return self.answer_error(&reply, &error, out);
        }
        let id = CallId(self.next_id());
        let Some(session) = self.sessions.get_mut(&reply.route.session) else { return };
        session.in_flight.insert(reply.id.clone(), id);
        let (revision, capabilities, meta) = match era {
            Era::Handshake => (session.revision, session.capabilities, None),
            Era::Modern(meta) => (revision::MODERN, meta.capabilities, Some(meta)),
        };
        let mut call = Call::new(Asker::Host(reply), revision, meta, work);
        call.keeps_arguments = call.meta.is_some() || capabilities.is_askable();
        call.given = given;
        let serving = self.serving.filter(|_| !self.needs_slot(&call));
        self.wait(id, call, now);
        self.as_task(id, now, out);
        if let Some(generation) = serving {
            self.begin(id, generation, now, out);
        }
    }

    /// Why no call can be taken in at the moment.
    pub(super) fn no_more_calls(&self) -> Option<RpcError> {
        if let Some(shutdown) = &self.shutdown {
            let text = format!("pmcp is ending ({}) and takes no more requests", shutdown.reason);
            return Some(RpcError::internal(text));
        }
        self.waiting.is_overfull().then(|| {
            let count = self.waiting.all();
            let text = format!("{count} requests wait, which is more than the bridge keeps; try again later");
            RpcError::internal(text)
        })
    }

    /// Puts a call in the line.
    pub(super) fn wait(&mut self, id: CallId, mut call: Call, now: Instant) {
        call.began.get_or_insert(now);
        self.waiting.push(id, call.size());
        self.calls.insert(id, call);
        self.set_until(id, Some(now + self.config.call_timeout));
    }

    /// Takes in a request that needs nothing of the tool process but time.
    pub(super) fn watch(&mut self, reply: Reply, work: Work) {
        let id = CallId(self.next_id());
        let Some(session) = self.sessions.get_mut(&reply.route.session) else { return };
        session.in_flight.insert(reply.id.clone(), id);
        let mut call = Call::new(Asker::Host(reply), session.revision, None, work);
        call.stage = Stage::Watching;
        self.calls.insert(id, call);
        self.set_aside(id);
    }

    /// A call takes no slot, and waits for something else than the tool process.
    pub(super) fn set_aside(&mut self, id: CallId) {
        let Some(call) = self.calls.get_mut(&id).filter(|call| call.aside.is_none()) else { return };
        let size = call.size();
        call.aside = Some(size);
        self.waiting.set_aside(size);
    }

    /// Sets when a call is given up.
    pub(super) fn set_until(&mut self, id: CallId, until: Option<Instant>) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        self.timers.set(id, Due::Answer, call.until, until);
        call.until = until;
    }

    /// Whether the serving process has to do something for this call. What it does not have to
    /// do is never held back by what it does.
    fn needs_slot(&self, call: &Call) -> bool {
        let Some(process) = self.serving.and_then(|generation| self.processes.get(&generation)) else {
            return true;
        };
        match &call.work {
            Work::List { kind: ListKind::Tools, .. } => false,
            Work::List { kind, .. } | Work::Refresh(kind) => !process.silent.contains_key(kind),
            Work::Tool(call) => process.tool(&call.name).is_some() && process.tool_list.is_active(&call.name),
            _ => true,
        }
    }

    /// Begins waiting calls while there are free slots. A process that stays down until somebody
    /// needs it is started for a host's call, not for a question of our own.
    pub(super) fn pump(&mut self, now: Instant, out: &mut Outputs) {
        if self.serving.is_none() && self.restart.is_down() && self.shutdown.is_none() {
            let is_bridge = |call: &Call| matches!(call.asker, Asker::Bridge);
            let is_asked = |id: &CallId| self.calls.get(id).is_some_and(|call| !is_bridge(call));
            if self.waiting.ids().iter().any(is_asked) {
                self.start(now, out);
            }
        }
        while let Some(generation) = self.serving
            && self.processes.get(&generation).is_some_and(Process::has_free_slot)
            && let Some(id) = self.waiting.first()
        {
            self.begin(id, generation, now, out);
        }
    }

    /// Answers what waited for a process but not for a slot of it; called when one begins to
    /// serve.
    pub(super) fn begin_without_slots(&mut self, generation: Generation, now: Instant, out: &mut Outputs) {
        for id in self.waiting.ids() {
            self.as_task(id, now, out);
            if self.calls.get(&id).is_some_and(|call| !self.needs_slot(call)) {
                self.begin(id, generation, now, out);
            }
        }
    }

    /// A waiting call has its turn.
    fn begin(&mut self, id: CallId, generation: Generation, now: Instant, out: &mut Outputs) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        self.waiting.remove(id, call.size());
        call.stage = Stage::Running;
        match &call.work {
            Work::Tool(_) => self.begin_tool(id, generation, now, out),
            Work::List { kind: ListKind::Tools, .. } => self.list_tools(id, generation, now, out),
            Work::List { kind, .. } | Work::Refresh(kind) => {
                let kind = *kind;
                self.begin_list(id, kind, generation, now, out);
            }
            Work::Prompt { .. } => self.begin_prompt(id, generation, now, out),
            Work::Read { uri } => {
                let request = ReadResourceRequest { uri: uri.clone(), input: call.given.take() };
                let msg = Msg::ReadResourceRequest(request);
                self.take_slot(id, generation);
                self.ask(id, msg, None, out);
            }
            Work::Complete(complete) => {
                let msg = Msg::CompletionRequest(CompletionRequest {
                    ref_type: complete.ref_type.clone(),
                    ref_name: complete.ref_name.clone(),
                    argument_name: complete.argument_name.clone(),
                    argument_value: complete.argument_value.clone(),
                    context_arguments_json: complete.context_arguments_json.clone(),
                });
                self.take_slot(id, generation);
                self.ask(id, msg, None, out);
            }
            Work::TaskResult(_) => {}
        }
    }

    fn begin_tool(&mut self, id: CallId, generation: Generation, now: Instant, out: &mut Outputs) {
        let Some(process) = self.processes.get(&generation) else { return };
        let Some(Call { work: Work::Tool(call), .. }) = self.calls.get_mut(&id) else { return };
        let detail = match process.tool(&call.name) {
            Some(tool) if process.tool_list.is_active(&call.name) => {
                let is_again = call.tool.replace(tool.clone()).is_some();
                if is_again {
                    // The middleware has seen the arguments already.
                    self.take_slot(id, generation);
                    return self.run_tool(id, out);
                }
                call.chain = process.chain();
                self.take_slot(id, generation);
                return self.before(id, 0, now, out);
            }
            Some(_) => "it is disabled at the moment",
            None => {
                "the tool process does not offer it (it may have been removed or renamed since you listed the tools)"
            }
        };
        let error = error::unknown_tool(&call.name, detail);
        self.end_with_error(id, &error, now, out);
    }

    fn begin_list(
        &mut self,
        id: CallId,
        kind: ListKind,
        generation: Generation,
        now: Instant,
        out: &mut Outputs,
    ) {
        if self.processes.get(&generation).is_some_and(|process| process.silent.contains_key(&kind)) {
            return self.list_is_silent(id, now, out);
        }
        self.take_slot(id, generation);
        self.ask_list(id, kind, now, out);
    }

    /// Asks for the prompts first if they are not known: the arguments are checked against them.
    fn begin_prompt(&mut self, id: CallId, generation: Generation, now: Instant, out: &mut Outputs) {
        self.take_slot(id, generation);
        let Some(process) = self.processes.get(&generation) else { return };
        if process.prompts.is_some() {
            self.check_prompt(generation, id, now, out);
        } else if process.silent.contains_key(&ListKind::Prompts) {
            self.get_prompt(id, out);
        } else {
            if let Some(call) = self.calls.get_mut(&id) {
                call.stage = Stage::Prompts;
            }
            self.ask_list(id, ListKind::Prompts, now, out);
        }
    }

    pub(super) fn get_prompt(&mut self, id: CallId, out: &mut Outputs) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.stage = Stage::Running;
        let Work::Prompt { name, arguments } = &mut call.work else { return };
        let arguments_json = if call.keeps_arguments { arguments.clone() } else { std::mem::take(arguments) };
        let input = call.given.take();
        let msg = Msg::GetPromptRequest(GetPromptRequest { name: name.clone(), arguments_json, input });
        self.ask(id, msg, None, out);
    }

    fn take_slot(&mut self, id: CallId, generation: Generation) {
        if let (Some(call), Some(process)) = (self.calls.get_mut(&id), self.processes.get_mut(&generation)) {
            process.busy += 1;
            call.place = Some(Place { generation, ask: None });
        }
    }
}

//! Calls that go on as tasks of the tool process: it answered with `CreateTaskResponse`, and we ask
//! how far it is until it has a result.
//!
//! The slot is free meanwhile. To a host that knows tasks the call becomes one of ours; any other
//! waits as for every call, and hears of progress.

use std::time::Instant;

use crate::ids::{AskId, CallId, Generation};
use crate::limits::{LIST_TIMEOUT, TASK_POLL};
use crate::wire::protomcp::{
    TaskCancelRequest, TaskResultRequest, TaskStatusRequest, TaskStatusResponse, envelope::Msg,
};

use super::call::{Asker, Call, Place, Stage, Work};
use super::process::Ask;
use super::timers::Due;
use super::{Bridge, Outputs};

/// A task of the tool process.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) generation: Generation,
    /// The process's name for it.
    task: String,
    /// The request that it came from; what the task asks hosts still names it.
    origin: AskId,
    /// When to look at it again.
    pub(super) looks_at: Option<Instant>,
    /// It has ended, so that its result can be had. The text is what it said of a failure.
    over: Option<String>,
}

impl Bridge {
    /// The tool process goes on with a call as a task of its own.
    pub(super) fn goes_on_as_task(
        &mut self,
        id: CallId,
        origin: AskId,
        task: String,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let (Work::Tool(tool_call), Stage::Running, Some(place)) = (&call.work, call.stage, call.place)
        else {
            return self.mismatch(id, now, out);
        };
        let (wish, generation) = (tool_call.wish, place.generation);
        let wants_task = call.meta.as_ref().is_some_and(|meta| meta.capabilities.tasks);
        call.stage = Stage::Remote;
        call.place = None;
        call.remote = Some(Remote { generation, task, origin, looks_at: None, over: None });
        self.release(generation);
        self.set_aside(id);
        if wants_task && self.calls.get(&id).is_some_and(|call| matches!(call.asker, Asker::Host(_))) {
            self.make_task(id, wish, now, out);
        }
        self.look_later(id, now);
    }

    /// The call whose task of a process came from this request.
    pub(super) fn remote_call(&self, generation: Generation, origin: AskId) -> Option<CallId> {
        let is_it = |remote: &Remote| remote.generation == generation && remote.origin == origin;
        self.calls.iter().find(|(_, call)| call.remote.as_ref().is_some_and(is_it)).map(|(&id, _)| id)
    }

    /// It is looked at again in a while, unless it has ended meanwhile.
    pub(super) fn look_later(&mut self, id: CallId, now: Instant) {
        let Some(Call { remote: Some(remote), stage: Stage::Remote, .. }) = self.calls.get_mut(&id) else {
            return;
        };
        let at = Some(now + TASK_POLL);
        self.timers.set(id, Due::Look, remote.looks_at, at);
        remote.looks_at = at;
    }

    /// Asks a process how far a task is, or for its result.
    pub(super) fn look(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let (Some(remote), Stage::Remote) = (&mut call.remote, call.stage) else { return };
        self.timers.set(id, Due::Look, remote.looks_at.take(), None);
        let (generation, task) = (remote.generation, remote.task.clone());
        let is_over = remote.over.is_some();
        let Some(process) = self.processes.get(&generation) else { return };
        let works = |ask: &Ask| ask.holds_slot && !ask.is_probe;
        if !process.announced && process.asks.values().any(works) {
            // A published SDK may take our request for the answer to one of its own.
            return self.look_later(id, now);
        }
        if is_over {
            return self.fetch(id, generation, task, now, out);
        }
        let ask = AskId(self.next_id());
        if let Some(process) = self.processes.get_mut(&generation) {
            process.asks.insert(
                ask,
                Ask {
                    call: Some(id),
                    until: Some(now + LIST_TIMEOUT),
                    holds_slot: false,
                    cancelled: None,
                    is_probe: false,
                },
            );
        }
        let msg = Msg::TaskStatus(TaskStatusRequest { task_id: task });
        self.tell(generation, ask.0.to_string(), msg, out);
    }

    /// Asks for the result of a task that has ended. It takes a slot like every call, for a moment,
    /// if need be one more than there are.
    fn fetch(&mut self, id: CallId, generation: Generation, task: String, now: Instant, out: &mut Outputs) {
        let (Some(call), Some(process)) = (self.calls.get_mut(&id), self.processes.get_mut(&generation))
        else {
            return;
        };
        process.busy += 1;
        call.place = Some(Place { generation, ask: None });
        call.stage = Stage::Running;
        let msg = Msg::TaskResult(TaskResultRequest { task_id: task });
        self.ask(id, msg, Some(now + LIST_TIMEOUT), out);
    }

    /// News of a task that nobody asked for.
    pub(super) fn task_news(
        &mut self,
        generation: Generation,
        status: TaskStatusResponse,
        now: Instant,
        out: &mut Outputs,
    ) {
        let is_it = |call: &Call| {
            let remote = call.remote.as_ref();
            call.stage == Stage::Remote
                && remote
                    .is_some_and(|remote| remote.generation == generation && remote.task == status.task_id)
        };
        let id = self.calls.iter().find(|(_, call)| is_it(call)).map(|(&id, _)| id);
        if let Some(id) = id {
            self.task_status(id, status, now, out);
        }
    }

    /// A process said how far a task is.
    pub(super) fn task_status(
        &mut self,
        id: CallId,
        status: TaskStatusResponse,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let (Some(remote), Stage::Remote) = (&mut call.remote, call.stage) else { return };
        match status.state.as_str() {
            "completed" | "failed" => {
                remote.over = Some(status.message);
                self.look(id, now, out);
            }
            "cancelled" => {
                let text = match status.message.as_str() {
                    "" => "the tool cancelled its task".to_owned(),
                    reason => format!("the tool cancelled its task: {reason}"),
                };
                self.fail(id, &text, now, out);
            }
            _ => {
                self.report(id, status.progress, status.total, &status.message, out);
                if self
                    .calls
                    .get(&id)
                    .and_then(|call| call.remote.as_ref())
                    .is_some_and(|it| it.looks_at.is_none())
                {
                    self.look_later(id, now);
                }
            }
        }
    }

    /// A process did not give the result of a task that has ended.
    pub(super) fn result_timed_out(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let remote = self.calls.get(&id).and_then(|call| call.remote.as_ref());
        let said = match remote.and_then(|remote| remote.over.as_deref()) {
            None | Some("") => String::new(),
            Some(said) => format!("; it said: {said}"),
        };
        let seconds = LIST_TIMEOUT.as_secs();
        let text = format!("the tool's task ended, but gave no result within {seconds} s{said}");
        self.fail(id, &text, now, out);
    }

    /// A call that was one is called again like any other.
    pub(super) fn is_no_task_of_process(&mut self, id: CallId) {
        if let Some(remote) = self.calls.get_mut(&id).and_then(|call| call.remote.take()) {
            self.timers.set(id, Due::Look, remote.looks_at, None);
        }
    }

    /// Tells a process that nobody wants a task of it any more.
    pub(super) fn cancel_remote(&mut self, id: CallId, remote: &Remote, out: &mut Outputs) {
        if let Some(process) = self.processes.get_mut(&remote.generation) {
            process.asks.retain(|_, ask| ask.holds_slot || ask.call != Some(id));
        }
        if remote.over.is_some() {
            return;
        }
        // Its answer changes nothing, so it is not waited for.
        let ask = self.next_id();
        let msg = Msg::TaskCancel(TaskCancelRequest { task_id: remote.task.clone() });
        self.tell(remote.generation, ask.to_string(), msg, out);
    }
}

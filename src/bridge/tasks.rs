//! Tasks: calls whose answers are fetched later.
//!
//! A task is a call that nobody waits for: the call runs as every other does, and its answer is kept
//! here. In the modern era we decide which call becomes one, in revision 2025-11-25 the host does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::ids::{CallId, Route, SessionId};
use crate::jsonrpc::message::RpcError;
use crate::limits::{TASK_KEYS_MAX, TASK_POLL, TASK_TTL, TASK_TTL_MAX, TASKS_BYTES_MAX};
use crate::mcp::input::Spelled;
use crate::mcp::request::TaskWish;
use crate::mcp::revision::Revision;
use crate::mcp::task::{self, Detail, Status, TaskView};
use crate::mcp::tool::TaskSupport;
use crate::mcp::{error, page, state};

use super::call::{Asker, Call, Reply, Stage, Work};
use super::ending::Outcome;
use super::timers::Due;
use super::{Bridge, Output, Outputs, Sort};

/// All tasks, in the order of their creation.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    by_number: BTreeMap<u64, Task>,
    /// When each is dropped.
    ends: BTreeSet<(Instant, u64)>,
    last: u64,
    /// Of the kept results.
    bytes: usize,
}

/// One task.
#[derive(Debug)]
struct Task {
    id: String,
    /// Who may see it.
    principal: Box<str>,
    session: SessionId,
    revision: Revision,
    created: Duration,
    updated: Duration,
    ttl: Duration,
    ends: Instant,
    /// For people.
    message: String,
    /// The call, while it runs.
    call: Option<CallId>,
    /// How it ended.
    over: Option<(Status, Outcome)>,
    /// The keys that its questions had; none may come twice.
    keys: BTreeSet<String>,
}

impl Tasks {
    /// When the next is dropped.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.ends.first().map(|&(at, _)| at)
    }

    /// Takes one out.
    fn remove(&mut self, number: u64) -> Option<Task> {
        let task = self.by_number.remove(&number)?;
        self.ends.remove(&(task.ends, number));
        self.bytes -= task.over.as_ref().map_or(0, |(_, outcome)| outcome.len());
        Some(task)
    }

    /// The oldest that has ended, but for one.
    fn oldest_over(&self, but: u64) -> Option<u64> {
        self.by_number.iter().find(|(number, task)| **number != but && task.over.is_some()).map(|(&it, _)| it)
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize, usize, usize) {
        let kept = self.by_number.values().filter_map(|task| task.over.as_ref());
        let kept = kept.map(|(_, outcome)| outcome.len()).sum();
        (self.by_number.len(), self.ends.len(), self.bytes, kept)
    }

    #[cfg(test)]
    pub(super) fn running(&self) -> impl Iterator<Item = CallId> {
        self.by_number.values().filter_map(|task| task.call)
    }
}

impl Bridge {
    /// Makes a call a task where its tool and its host want that. An error if the two cannot agree;
    /// it answers the call. While the tool is not known nothing happens.
    pub(super) fn as_task(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let Some(call) = self.calls.get(&id) else { return };
        let (Work::Tool(tool_call), Asker::Host(_)) = (&call.work, &call.asker) else { return };
        let Some(process) = self.serving.and_then(|serving| self.processes.get(&serving)) else { return };
        if !process.has_task_tools && tool_call.wish.is_none() {
            return; // As with most tool files: nothing has to be looked up.
        }
        let tool = process.tool(&tool_call.name).filter(|_| process.tool_list.is_active(&tool_call.name));
        let Some(support) = tool.map(|tool| tool.task) else { return };
        let wish = tool_call.wish;
        let refusal = match (&call.meta, support, wish) {
            (Some(meta), TaskSupport::Required, _) if !meta.capabilities.tasks => {
                Some(error::missing_capability(task::REQUIRED))
            }
            (Some(meta), TaskSupport::Optional | TaskSupport::Required, _) if meta.capabilities.tasks => None,
            (None, TaskSupport::Optional | TaskSupport::Required, Some(_)) => None,
            (None, TaskSupport::Forbidden, Some(_)) => Some(task::not_supported(&tool_call.name)),
            (None, TaskSupport::Required, None) if call.revision.has_core_tasks() => {
                Some(task::required(&tool_call.name))
            }
            // A host that knows no tasks, or a tool that is none.
            _ => return,
        };
        match refusal {
            Some(error) => self.end_with_error(id, &error, now, out),
            None => self.make_task(id, wish, now, out),
        }
    }

    /// Makes a call a task. Without room for one more the host waits for the answer, or, if it
    /// insisted on a task, is told.
    pub(super) fn make_task(&mut self, id: CallId, wish: Option<TaskWish>, now: Instant, out: &mut Outputs) {
        while self.tasks.by_number.len() >= self.config.tasks_max {
            let Some(oldest) = self.tasks.oldest_over(0) else {
                if wish.is_some() {
                    let text = format!(
                        "{} tasks are running, which is the limit (--tasks-max); try again later",
                        self.tasks.by_number.len()
                    );
                    self.end_with_error(id, &RpcError::internal(text), now, out);
                }
                return;
            };
            self.tasks.remove(oldest);
        }
        let number = self.tasks.last + 1;
        let name = state::task_id(&self.config.state_key, self.config.instance, number);
        let Some(call) = self.calls.get_mut(&id) else { return };
        let before = call.size();
        let Asker::Host(reply) = std::mem::replace(&mut call.asker, Asker::Task(number)) else { return };
        if call.stage == Stage::Waiting {
            self.waiting.resized(before, call.size());
        }
        // What it asked already is shown by the task.
        self.timers.set(id, Due::Gathered, call.gathers_until.take(), None);
        let revision = call.revision;
        self.tasks.last = number;
        let ttl = wish.and_then(|wish| wish.ttl_ms).map_or(TASK_TTL, Duration::from_millis).min(TASK_TTL_MAX);
        let session = reply.route.session;
        let principal = self.sessions.get(&session).map(|session| session.principal.clone());
        let task = Task {
            id: name,
            principal: principal.unwrap_or_default(),
            session,
            revision,
            created: self.wall,
            updated: self.wall,
            ttl,
            ends: now + ttl,
            message: String::new(),
            call: Some(id),
            over: None,
            keys: BTreeSet::new(),
        };
        self.tasks.ends.insert((task.ends, number));
        self.tasks.by_number.insert(number, task);
        let message = self.whole(&reply, revision, |body, dialect| {
            if let Some(task) = self.tasks.by_number.get(&number) {
                task::write_created(body, dialect, &self.view(task));
            }
        });
        self.answer(&reply, message, out);
        // From here on only the task's own time counts.
        self.set_until(id, None);
    }

    /// Where the messages of a task go in the handshake era: to the exchange that waits for its result,
    /// or to the session's own stream; `None` if that is over.
    pub(super) fn task_route(&self, number: u64) -> Option<Route> {
        let waits = |call: &Call| match (&call.work, &call.asker) {
            (Work::TaskResult(of), Asker::Host(reply)) if *of == number => Some(reply.route),
            _ => None,
        };
        let session = || self.tasks.by_number.get(&number).map(|task| Route::session(task.session));
        let route = self.calls.values().find_map(waits).or_else(session);
        route.filter(|route| self.sessions.contains_key(&route.session))
    }

    /// The name of the task that a call is, where its messages have to say it (handshake era).
    pub(super) fn task_name(&self, id: CallId) -> Option<String> {
        let Some(Call { asker: Asker::Task(number), meta: None, .. }) = self.calls.get(&id) else {
            return None;
        };
        self.tasks.by_number.get(number).map(|task| task.id.clone())
    }

    fn view<'t>(&self, task: &'t Task) -> TaskView<'t> {
        let asks = task.call.is_some_and(|call| self.questions.of(call).next().is_some());
        let status = match &task.over {
            Some((status, _)) => *status,
            None if asks => Status::InputRequired,
            None => Status::Working,
        };
        TaskView {
            id: &task.id,
            status,
            message: &task.message,
            created: task.created,
            updated: task.updated,
            ttl_ms: millis(task.ttl),
            poll_ms: millis(TASK_POLL),
        }
    }

    /// Hands out all that is to be said of a task.
    fn with_detail<T>(&self, task: &Task, show: impl FnOnce(&TaskView<'_>, Detail<'_>) -> T) -> T {
        let view = self.view(task);
        let questions: Vec<(&str, &Spelled)> = (task.call.into_iter())
            .flat_map(|call| self.questions.of(call))
            .map(|question| (question.key.as_str(), &question.spelled))
            .collect();
        let detail = match &task.over {
            Some((Status::Completed, Outcome::Result { body, .. })) => Detail::Result(body),
            Some((Status::Failed, Outcome::Error(error))) => Detail::Error(error),
            None if !questions.is_empty() => Detail::Questions(&questions),
            _ => Detail::None,
        };
        show(&view, detail)
    }

    /// Something about a task changed that its host may want to hear.
    pub(super) fn task_changed(&mut self, number: u64, out: &mut Outputs) {
        let wall = self.wall;
        let Some(task) = self.tasks.by_number.get_mut(&number) else { return };
        task.updated = wall;
        let Some(task) = self.tasks.by_number.get(&number) else { return };
        let dialect = self.dialect(task.revision);
        if task.revision.is_modern() {
            let wants = |filter: &crate::mcp::request::Filter| filter.task_ids.contains(&task.id);
            self.with_detail(task, |view, detail| {
                self.tell_listens(out, wants, |message, stream| {
                    task::status_notification(message, dialect, view, detail, stream);
                });
            });
        } else if self.sessions.get(&task.session).is_some_and(|session| session.live) {
            let mut message = Vec::new();
            self.with_detail(task, |view, detail| {
                task::status_notification(&mut message, dialect, view, detail, None);
            });
            out.push(Output::Host { route: Route::session(task.session), message, sort: Sort::Message });
        }
    }

    /// What a task says of how far it is. Hosts see it when they look.
    pub(super) fn task_says(&mut self, number: u64, message: String) {
        let wall = self.wall;
        let task = self.tasks.by_number.get_mut(&number).filter(|_| !message.is_empty());
        if let Some(task) = task {
            task.message = message;
            task.updated = wall;
        }
    }

    /// The call of a task ended.
    pub(super) fn task_over(&mut self, number: u64, outcome: Outcome, now: Instant, out: &mut Outputs) {
        let Some(task) = self.tasks.by_number.get(&number) else { return };
        // A tool that failed has given its result in the modern era; in 2025-11-25 it failed.
        let status = match &outcome {
            Outcome::Error(_) => Status::Failed,
            Outcome::Result { is_error: true, .. } if !task.revision.is_modern() => Status::Failed,
            Outcome::Result { .. } => Status::Completed,
        };
        self.end_task(number, status, outcome, now, out);
    }

    fn end_task(&mut self, number: u64, status: Status, outcome: Outcome, now: Instant, out: &mut Outputs) {
        let Some(task) = self.tasks.by_number.get_mut(&number) else { return };
        task.call = None;
        task.message = match &outcome {
            Outcome::Error(error) => error.message.clone(),
            Outcome::Result { .. } => String::new(),
        };
        self.tasks.bytes += outcome.len();
        task.over = Some((status, outcome));
        let waits = |call: &Call| matches!(call.work, Work::TaskResult(of) if of == number);
        let waiting: Vec<CallId> =
            self.calls.iter().filter(|(_, call)| waits(call)).map(|(&id, _)| id).collect();
        for id in waiting {
            if let Some(Call { asker: Asker::Host(reply), .. }) = self.remove(id, now, out) {
                self.answer_task_result(&reply, number, out);
            }
        }
        self.task_changed(number, out);
        while self.tasks.bytes > TASKS_BYTES_MAX
            && let Some(oldest) = self.tasks.oldest_over(number)
        {
            self.tasks.remove(oldest);
        }
    }

    /// Drops the tasks whose time is over; what still runs of them is cancelled.
    pub(super) fn tasks_due(&mut self, now: Instant, out: &mut Outputs) {
        while let Some(&(at, number)) = self.tasks.ends.first()
            && at <= now
        {
            let call = self.tasks.by_number.get(&number).and_then(|task| task.call);
            if let Some(call) = call {
                self.remove(call, now, out);
                let text = "the task ran longer than it is kept (its ttl) and was cancelled";
                let outcome = Outcome::Error(RpcError::internal(text));
                self.end_task(number, Status::Failed, outcome, now, out);
            }
            self.tasks.remove(number);
        }
    }

    /// The number of a task that this host may see. In 2025-11-25 it is one of its own session: what can
    /// be had must be in `tasks/list` too, and without authorization all sessions are of one principal.
    fn find_task(&self, reply: &Reply, is_modern: bool, id: &str) -> Result<u64, RpcError> {
        let number = state::is_task_id(&self.config.state_key, self.config.instance, id);
        let number = number.ok_or_else(|| task::unknown(id))?;
        let Some(task) = self.tasks.by_number.get(&number) else { return Err(task::dropped(id)) };
        let of = reply.route.session;
        let is_its = match is_modern {
            true => self.sessions.get(&of).is_some_and(|session| session.principal == task.principal),
            false => of == task.session,
        };
        if is_its && task.revision.is_modern() == is_modern { Ok(number) } else { Err(task::unknown(id)) }
    }

    /// Which of these tasks a host may hear of.
    pub(super) fn known_tasks(&self, reply: &Reply, ids: &mut Vec<String>) {
        ids.retain(|id| self.find_task(reply, true, id).is_ok());
    }

    /// Tells a new listener of what has happened already.
    pub(super) fn tell_tasks(&self, reply: &Reply, ids: &[String], out: &mut Outputs) {
        for id in ids {
            let Ok(number) = self.find_task(reply, true, id) else { continue };
            let Some(task) = self.tasks.by_number.get(&number) else { continue };
            self.with_detail(task, |view, detail| {
                if view.status == Status::Working {
                    return;
                }
                let mut message = Vec::new();
                let dialect = self.dialect(task.revision);
                task::status_notification(&mut message, dialect, view, detail, Some(&reply.id));
                out.push(Output::Host { route: reply.route, message, sort: Sort::Message });
            });
        }
    }

    /// `tasks/get`.
    pub(super) fn get_task(&mut self, reply: &Reply, is_modern: bool, id: &str, out: &mut Outputs) {
        let task = self.find_task(reply, is_modern, id).map(|number| self.tasks.by_number.get(&number));
        match task {
            Ok(Some(task)) => {
                let message = self.with_detail(task, |view, detail| {
                    self.whole(reply, task.revision, |body, dialect| {
                        task::write_task(body, dialect, view, detail);
                    })
                });
                self.answer(reply, message, out);
            }
            Ok(None) => {}
            Err(error) => self.answer_error(reply, &error, out),
        }
    }

    /// `tasks/update`: answers to questions of a task (modern era).
    pub(super) fn update_task(
        &mut self,
        reply: &Reply,
        id: &str,
        responses: &str,
        now: Instant,
        out: &mut Outputs,
    ) {
        let number = match self.find_task(reply, true, id) {
            Ok(number) => number,
            Err(error) => return self.answer_error(reply, &error, out),
        };
        let call = self.tasks.by_number.get(&number).and_then(|task| task.call);
        let answers = match call.map_or(Ok(Vec::new()), |call| self.read_answers(call, responses)) {
            Ok(answers) => answers,
            Err(error) => return self.answer_error(reply, &error, out),
        };
        let message = self.whole(reply, crate::mcp::revision::MODERN, task::write_acknowledged);
        self.answer(reply, message, out);
        if let Some(call) = call {
            self.deliver_all(call, answers, now, out);
        }
    }

    /// `tasks/cancel`.
    pub(super) fn cancel_task(
        &mut self,
        reply: &Reply,
        is_modern: bool,
        id: &str,
        now: Instant,
        out: &mut Outputs,
    ) {
        let number = match self.find_task(reply, is_modern, id) {
            Ok(number) => number,
            Err(error) => return self.answer_error(reply, &error, out),
        };
        let Some(task) = self.tasks.by_number.get(&number) else { return };
        let (revision, over) = (task.revision, task.over.as_ref().map(|(status, _)| *status));
        match (over, task.call) {
            // In the modern era it only says that nobody wants it any more.
            (Some(status), _) if !is_modern => {
                return self.answer_error(reply, &task::already_over(id, status), out);
            }
            (None, Some(call)) => {
                self.remove(call, now, out);
                let outcome = Outcome::Error(RpcError::internal("The task was cancelled"));
                self.end_task(number, Status::Cancelled, outcome, now, out);
            }
            _ => {}
        }
        let Some(task) = self.tasks.by_number.get(&number) else { return };
        let view = self.view(task);
        let message =
            self.whole(reply, revision, |body, dialect| task::write_cancelled(body, dialect, &view));
        self.answer(reply, message, out);
    }

    /// `tasks/result` (2025-11-25): answered when the task has ended.
    pub(super) fn task_result(&mut self, reply: Reply, id: &str, out: &mut Outputs) {
        let number = match self.find_task(&reply, false, id) {
            Ok(number) => number,
            Err(error) => return self.answer_error(&reply, &error, out),
        };
        if self.tasks.by_number.get(&number).is_some_and(|task| task.over.is_some()) {
            return self.answer_task_result(&reply, number, out);
        }
        match self.no_more_calls() {
            Some(error) => self.answer_error(&reply, &error, out),
            None => self.watch(reply, Work::TaskResult(number)),
        }
    }

    fn answer_task_result(&mut self, reply: &Reply, number: u64, out: &mut Outputs) {
        let Some((_, outcome)) = self.tasks.by_number.get(&number).and_then(|task| task.over.as_ref()) else {
            return;
        };
        let outcome = outcome.clone();
        self.answer_outcome(reply, outcome, out);
    }

    /// `tasks/list` (2025-11-25): those of this session.
    pub(super) fn list_tasks(&mut self, reply: &Reply, cursor: Option<&str>, out: &mut Outputs) {
        let of = reply.route.session;
        let is_its = |task: &&Task| task.session == of && !task.revision.is_modern();
        let tasks: Vec<&Task> = self.tasks.by_number.values().filter(is_its).collect();
        let revision = self.sessions.get(&of).map_or(crate::mcp::revision::LATEST, |it| it.revision);
        let answer = page::page(tasks.len(), cursor).map(|page| {
            self.whole(reply, revision, |body, dialect| {
                let views = tasks[page.range].iter().map(|task| self.view(task));
                task::write_list(body, dialect, views, page.next_cursor.as_deref());
            })
        });
        match answer {
            Ok(message) => self.answer(reply, message, out),
            Err(error) => self.answer_error(reply, &error, out),
        }
    }

    /// The key under which a question of a tool is shown. Within a task none may come twice.
    pub(super) fn unused_key(&mut self, call: CallId, key: &str) -> Option<String> {
        let Some(Call { asker: Asker::Task(number), .. }) = self.calls.get(&call) else {
            return Some(key.to_owned());
        };
        let keys = &mut self.tasks.by_number.get_mut(number)?.keys;
        // `None` is a key of ours, which never comes twice.
        (keys.len() < TASK_KEYS_MAX && keys.insert(key.to_owned())).then(|| key.to_owned())
    }
}

/// What a number of milliseconds can hold is far beyond any of our times.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

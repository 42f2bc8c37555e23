//! Changed files: proving a new process beside the old one, and what the two other ways do.
//!
//! One reload runs and at most one waits. Unless a person asked for something else, the process
//! that serves is only let go when the new one has proven that it serves: a save that does not
//! start hurts nobody, but everybody is told.

use std::sync::Arc;
use std::time::Instant;

use crate::ids::{AskId, CallId, Generation};
use crate::jsonrpc::json::Object;
use crate::limits::STATE_MAX;
use crate::log::Level;
use crate::mcp::call::Note;
use crate::mcp::{logging, notify};
use crate::wire::protomcp::{ReloadRequest, ReloadResponse, RestoreState, envelope::Msg};

use super::process::{Phase, Process};
use super::{Bridge, Outputs, ReloadMode, log};

/// What is remembered about reloads.
#[derive(Debug, Default)]
pub(super) struct Reload {
    /// Why there will be another one when the running one is over.
    waiting: Option<String>,
    /// The new process is started when all others have ended.
    pub(super) starts_after_end: bool,
    /// Whether what the newest save does is still to be seen.
    pub(super) is_unproven: bool,
    /// What tool results say while the newest save does not serve.
    note: Option<Arc<Note>>,
    /// What the process that served last leaves to the next.
    state: Option<Vec<u8>>,
}

/// The key of the note in a result's `_meta`.
const NOTE_KEY: &str = "protomcp/reload";

impl Reload {
    pub(super) fn note(&self) -> Option<Arc<Note>> {
        self.note.clone()
    }
}

impl Bridge {
    /// The tool process shall run what its files say now.
    pub(super) fn reload(&mut self, cause: String, now: Instant, out: &mut Outputs) {
        if self.shutdown.is_some() {
            return;
        }
        let is_immediate = self.config.reload == ReloadMode::Immediate;
        self.end_builds(now, out);
        if self.is_reloading() && !is_immediate {
            log(out, Level::Info, format!("{cause}; it is the next to be loaded"));
            self.reload.waiting = Some(cause);
            return;
        }
        log(out, Level::Info, format!("{cause}, reloading"));
        self.reload.is_unproven = true;
        self.restart.forget();
        if is_immediate {
            self.kill_all(&cause, now, out);
        } else if self.reload_in_place(now, out) {
            return;
        } else if self.config.exclusive {
            self.retire_serving(now, out);
        }
        if self.config.exclusive && !self.processes.is_empty() {
            self.reload.starts_after_end = true;
        } else {
            self.start(now, out);
        }
    }

    /// What is being built is old news already.
    fn end_builds(&mut self, now: Instant, out: &mut Outputs) {
        let is_building = |process: &&Process| matches!(process.phase, Phase::Building { .. });
        let builds: Vec<Generation> =
            self.processes.values().filter(is_building).map(|process| process.generation).collect();
        for generation in builds {
            self.end_process(generation, "was replaced by a newer one", true, now, out);
        }
    }

    /// Whether a reload is on its way.
    fn is_reloading(&self) -> bool {
        let is_unproven = |process: &Process| {
            matches!(
                process.phase,
                Phase::Starting { .. } | Phase::Handshaking { .. } | Phase::Settling { .. }
            )
        };
        self.reload.starts_after_end
            || self.processes.values().any(|process| is_unproven(process) || process.reloading.is_some())
    }

    /// Kills every process; the calls in them fail at once.
    fn kill_all(&mut self, cause: &str, now: Instant, out: &mut Outputs) {
        if let Some(generation) = self.serving {
            self.stop_serving(generation);
        }
        let text = format!("the tool process was killed because {cause} (--hot-reload immediate)");
        let is_placed = |call: &super::Call| call.generation().is_some();
        let lost: Vec<CallId> =
            self.calls.iter().filter(|(_, call)| is_placed(call)).map(|(&id, _)| id).collect();
        for id in lost {
            self.fail(id, &text, now, out);
        }
        let is_killed = |process: &Process| matches!(process.phase, Phase::Ending { kill_at: None });
        let living = self.processes.values().filter(|process| !is_killed(process));
        let living: Vec<Generation> = living.map(|process| process.generation).collect();
        for generation in living {
            self.end_process(generation, "was replaced by a newer one", true, now, out);
        }
    }

    /// Asks the serving process to reload by itself. False if that is not wanted or not possible.
    fn reload_in_place(&mut self, now: Instant, out: &mut Outputs) -> bool {
        let Some(generation) = self.serving.filter(|_| self.config.reload == ReloadMode::Graceful) else {
            return false;
        };
        let id = self.next_id();
        let until = now + self.config.start_timeout;
        let Some(process) = self.processes.get_mut(&generation) else { return false };
        if !process.reloads_in_place {
            let text = "this tool process can't reload in place (its SDK only acknowledges the request), so a new one is proven beside it";
            log(out, Level::Info, text);
            return false;
        }
        process.reloading = Some((AskId(id), until));
        self.tell(generation, id.to_string(), Msg::Reload(ReloadRequest {}), out);
        true
    }

    /// The serving process gets no more calls.
    fn retire_serving(&mut self, now: Instant, out: &mut Outputs) {
        if let Some(generation) = self.serving {
            self.stop_serving(generation);
            self.retire(generation, now, out);
        }
    }

    /// Lets a process end when it is done with the calls that it has.
    fn retire(&mut self, generation: Generation, now: Instant, out: &mut Outputs) {
        let works = self.works(generation);
        match self.processes.get_mut(&generation) {
            Some(process) if works => process.drain_until = Some(now + self.config.drain),
            _ => self.end_process(generation, "was replaced by a newer one", false, now, out),
        }
    }

    /// Whether a process has something to do for somebody.
    pub(super) fn works(&self, generation: Generation) -> bool {
        self.processes.get(&generation).is_some_and(|process| process.busy > 0)
            || self.calls.values().any(|call| call.remote.is_some() && call.generation() == Some(generation))
    }

    /// A process ended as it was told to; a new one may wait for that.
    pub(super) fn reload_after_end(&mut self, now: Instant, out: &mut Outputs) {
        if self.reload.starts_after_end && self.processes.is_empty() {
            self.reload.starts_after_end = false;
            self.start(now, out);
        }
    }

    /// Begins the reload that waited, if one did.
    pub(super) fn reload_next(&mut self, now: Instant, out: &mut Outputs) -> bool {
        let Some(cause) = self.reload.waiting.take() else { return false };
        self.reload(cause, now, out);
        true
    }

    /// Whether this answers our request to reload in place.
    pub(super) fn is_reload_answer(&self, generation: Generation, request_id: &str) -> bool {
        let reloading = self.processes.get(&generation).and_then(|process| process.reloading);
        reloading.is_some_and(|(id, _)| request_id.parse() == Ok(id.0))
    }

    /// A process reloaded by itself, or could not. If it did it tells its tools anew.
    pub(super) fn reloaded_in_place(
        &mut self,
        generation: Generation,
        response: ReloadResponse,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        process.reloading = None;
        if response.success {
            process.forget_declarations();
            self.metrics.reloads += 1;
            self.reload.is_unproven = false;
            self.reload.note = None;
            log(out, Level::Info, "reloaded in place");
            self.refresh_lists(true, now);
        } else {
            self.reload_failed(&response.error, out);
        }
        self.reload_next(now, out);
    }

    /// The newest save does not serve; the process before it goes on. The person, the hosts and
    /// whoever reads the next results learn it.
    pub(super) fn reload_failed(&mut self, error: &str, out: &mut Outputs) {
        let Some(serving) = self.serving else { return };
        self.reload.is_unproven = false;
        self.metrics.failed_reloads += 1;
        let error = error.trim();
        let text = format!(
            "This result comes from version {} of the tools: the newest save does not start ({error}).",
            serving.0
        );
        let mut value = Vec::new();
        let mut object = Object::open(&mut value);
        object.number("serving", serving.0);
        object.text("error", error);
        object.close();
        let value_json = String::from_utf8(value).unwrap_or_default();
        self.reload.note = Some(Arc::new(Note { text, key: NOTE_KEY, value_json }));
        self.tell_of_save(&format!("version {} serves on: {error}", serving.0), out);
    }

    /// The newest save does not serve, and what did before it has ended. The calls say so; hosts
    /// learn it once, not with each attempt to start.
    pub(super) fn reload_left_nobody(&mut self, error: &str, out: &mut Outputs) {
        let is_news = std::mem::take(&mut self.reload.is_unproven);
        self.metrics.failed_reloads += u64::from(is_news);
        if is_news && self.last_served.is_some() && self.shutdown.is_none() {
            self.tell_of_save(&format!("nothing serves: {}", error.trim()), out);
        }
    }

    fn tell_of_save(&self, what: &str, out: &mut Outputs) {
        let news = format!("The newest save does not start; {what}");
        self.notify(
            out,
            |session| logging::Level::Error >= session.log_level,
            |line| notify::log(line, logging::Level::Error, "pmcp", &news, None),
        );
    }

    /// A process is proven: calls go to it from now on; an earlier one ends when its calls do.
    pub(super) fn serve(&mut self, generation: Generation, now: Instant, out: &mut Outputs) {
        let earlier = self.serving.replace(generation);
        let earlier_list =
            earlier.and_then(|earlier| self.processes.get(&earlier)).map(|earlier| earlier.tool_list.clone());
        let earlier_list = earlier_list.or(self.last_tool_list.take());
        let Some(process) = self.processes.get_mut(&generation) else { return };
        process.phase = Phase::Ready;
        process.served = true;
        self.metrics.reloads += u64::from(std::mem::take(&mut self.reload.is_unproven));
        if let Some(earlier_list) = earlier_list {
            // What was enabled or disabled stays so, also for tools that come back later; what the
            // new process hides starts hidden.
            let hides = std::mem::replace(&mut process.tool_list, earlier_list);
            let hidden = process.tools.iter().filter(|tool| !hides.is_active(&tool.name));
            process.tool_list.disable(hidden.map(|tool| &tool.name));
        }
        let (tools, took) = (process.tools.len(), now - process.started);
        log(out, Level::Info, format!("serving {tools} tools after {} ms", took.as_millis()));
        self.reload.note = None;
        if let Some(state) = self.reload.state.clone() {
            self.tell(generation, String::new(), Msg::RestoreState(RestoreState { state }), out);
        }
        self.tools_may_have_changed(out);
        if let Some(earlier) = earlier {
            self.retire(earlier, now, out);
        }
        let is_new = self.last_served.replace(generation).is_some();
        self.refresh_lists(is_new, now);
        self.begin_without_slots(generation, now, out);
        self.reload_next(now, out);
    }

    /// A process leaves something to the one after it. What one says that was replaced already
    /// comes too late.
    pub(super) fn save_state(&mut self, generation: Generation, state: Vec<u8>, out: &mut Outputs) {
        if state.len() > STATE_MAX {
            let text = format!(
                "the tool process wants to leave {} bytes of state, and the limit is {STATE_MAX}; what it left before is kept",
                state.len()
            );
            return log(out, Level::Warning, text);
        }
        if self.last_served == Some(generation) {
            self.reload.state = (!state.is_empty()).then_some(state);
        }
    }
}

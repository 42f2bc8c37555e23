//! The life of tool processes: start, handshake, end, restart, reload, shutdown.
//!
//! What runs (`processes`) is kept apart from what is wanted: one serving process, as long as
//! nobody asked us to end.

use std::time::{Duration, Instant};

use crate::ids::{AskId, CallId, Generation, SessionId};
use crate::limits::{
    BACKOFF_MAX, BACKOFF_MIN, EXIT_WAIT, HEALTHY_AFTER, KILL_AFTER, QUICK_DEATH, QUICK_DEATHS_MAX, SETTLE,
};
use crate::log::Level;
use crate::wire::protomcp::{ListToolsRequest, ReloadResponse, envelope::Msg};

use super::call::Stage;
use super::process::{Phase, Process};
use super::{Bridge, Output, Outputs, log};

/// When the next tool process is started after one died.
#[derive(Debug)]
pub(super) struct Restart {
    plan: Plan,
    /// Quick deaths in a row.
    quick_deaths: u32,
    backoff: Duration,
    /// State of the jitter.
    random: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// None was ever started.
    First,
    /// One is running or starting.
    Up,
    /// At this time.
    At(Instant),
    /// With the next call or file change.
    Down,
}

impl Restart {
    pub(super) fn new(seed: u64) -> Self {
        Self { plan: Plan::First, quick_deaths: 0, backoff: BACKOFF_MIN, random: seed | 1 }
    }

    pub(super) fn is_first(&self) -> bool {
        self.plan == Plan::First
    }

    /// It stays down until somebody needs it.
    pub(super) fn is_down(&self) -> bool {
        self.plan == Plan::Down
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.plan {
            Plan::At(at) => Some(at),
            _ => None,
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }

    /// A process that was to serve, or did, has died after `lived`. One that never served died
    /// too early, however long that took.
    fn died(&mut self, lived: Duration, served: bool, now: Instant) {
        if lived >= HEALTHY_AFTER {
            self.backoff = BACKOFF_MIN;
        }
        self.quick_deaths = if lived < QUICK_DEATH || !served { self.quick_deaths + 1 } else { 0 };
        if self.quick_deaths >= QUICK_DEATHS_MAX {
            self.plan = Plan::Down;
            return;
        }
        // Up to a quarter on top, so that many bridges do not restart in step.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let jitter = self.backoff.mul_f64((self.random % 1000) as f64 / 4000.0);
        self.plan = Plan::At(now + self.backoff + jitter);
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
    }

    /// The file changed, so what died before says nothing.
    pub(super) fn forget(&mut self) {
        self.quick_deaths = 0;
        self.backoff = BACKOFF_MIN;
    }
}

/// We are ending.
#[derive(Debug)]
pub(super) struct Shutdown {
    /// Why, for a person.
    pub(super) reason: String,
    /// Until when running calls may still finish.
    grace: Option<Instant>,
}

impl Shutdown {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.grace
    }
}

impl Bridge {
    /// Starts a tool process.
    pub(super) fn start(&mut self, now: Instant, out: &mut Outputs) {
        if self.shutdown.is_some() {
            return;
        }
        self.restart.plan = Plan::Up;
        let generation = Generation(self.next_generation());
        let phase = match self.config.build_timeout {
            Some(timeout) => Phase::Building { until: now + timeout },
            None => Phase::Starting { until: now + self.config.start_timeout },
        };
        self.processes.insert(generation, Process::new(generation, now, phase));
        log(out, Level::Info, format!("starting: {}", self.config.command));
        out.push(Output::Start(generation));
    }

    fn next_generation(&mut self) -> u64 {
        self.last_generation += 1;
        self.last_generation
    }

    /// A process is built and runs: only now its own time begins.
    pub(super) fn tool_launched(&mut self, generation: Generation, now: Instant) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        if let Phase::Building { .. } = process.phase {
            process.phase = Phase::Starting { until: now + self.config.start_timeout };
            process.started = now;
        }
    }

    pub(super) fn tool_connected(&mut self, generation: Generation, _now: Instant, out: &mut Outputs) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let Phase::Starting { until } = process.phase else { return };
        process.phase = Phase::Handshaking { until, quiet_at: None };
        let opening = self.next_id();
        if let Some(process) = self.processes.get_mut(&generation) {
            process.opening = Some(AskId(opening));
        }
        self.tell(generation, opening.to_string(), Msg::ListTools(ListToolsRequest {}), out);
    }

    /// The tool process said that its handshake is complete, or that it will not serve.
    pub(super) fn handshake_ended(
        &mut self,
        generation: Generation,
        response: ReloadResponse,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        match process.phase {
            Phase::Handshaking { .. } if !response.success => {
                process.end_reason = Some(format!("refused to serve: {}", response.error));
                process.phase = Phase::Ending { kill_at: None };
                out.push(Output::Kill { generation, now: true });
            }
            Phase::Handshaking { quiet_at: Some(_), .. } => {
                process.phase = Phase::Settling { until: now + SETTLE };
            }
            _ => {}
        }
    }

    /// The connection of a process is gone, or cannot be used any more.
    pub(super) fn tool_disconnected(&mut self, generation: Generation, reason: String, now: Instant) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        if matches!(process.phase, Phase::Ending { .. }) {
            return;
        }
        process.broke = Some(reason);
        // Normally it is about to exit, and its status tells more than we know.
        process.phase = Phase::Ending { kill_at: Some(now + EXIT_WAIT) };
        if self.serving == Some(generation) {
            self.stop_serving(generation, now);
        }
    }

    /// No more calls go to this process.
    pub(super) fn stop_serving(&mut self, generation: Generation, _now: Instant) {
        self.serving = None;
        self.last_tool_list = self.processes.get(&generation).map(|process| process.tool_list.clone());
    }

    /// A process ended, or could not be started.
    pub(super) fn tool_exited(
        &mut self,
        generation: Generation,
        how: &str,
        stderr: &str,
        now: Instant,
        out: &mut Outputs,
    ) {
        if self.serving == Some(generation) {
            self.stop_serving(generation, now);
        }
        let Some(process) = self.processes.remove(&generation) else { return };
        let served = process.served;
        let is_building = matches!(process.phase, Phase::Building { .. });
        let mut text = match (&process.end_reason, served) {
            (Some(reason), _) => format!("the tool process ({}) {reason}; it {how}", self.config.command),
            (None, false) if !is_building => {
                let when =
                    if matches!(process.phase, Phase::Starting { .. }) { "connected" } else { "was ready" };
                format!("the tool process ({}) {how} before it {when}", self.config.command)
            }
            (None, _) => format!("the tool process ({}) {how}", self.config.command),
        };
        if stderr.is_empty() {
            text.push_str("; it wrote nothing to stderr");
        } else {
            text.push_str("; the last lines of its stderr:\n");
            text.push_str(stderr);
        }
        // The calls that it was working on are lost with it.
        let lost: Vec<CallId> = self
            .calls
            .iter()
            .filter(|(_, call)| {
                call.stage != Stage::Job && call.place.is_some_and(|place| place.generation == generation)
            })
            .map(|(&id, _)| id)
            .collect();
        for id in lost {
            self.fail(id, &text, now, out);
        }
        self.withdraw_for_process(generation, out);
        if self.shutdown.is_some() {
            return;
        }
        if process.expected_end || self.reload.starts_after_end {
            return self.reload_after_end(now, out);
        }
        log(out, Level::Error, text.clone());
        if self.serving.is_some() && !served {
            let last_line = stderr.lines().rev().find(|line| !line.trim().is_empty());
            self.reload_failed(process.end_reason.as_deref().or(last_line).unwrap_or(how), out);
            self.reload_next(now, out);
            return;
        }
        if self.processes.values().any(|other| !matches!(other.phase, Phase::Ending { .. })) {
            // Another one serves, or is about to.
            return;
        }
        if !served {
            self.fail_waiting(&text, now, out);
        }
        if self.reload_next(now, out) {
            return;
        }
        self.restart.died(now - process.started, served, now);
        if is_building {
            // The same sources would fail again.
            self.restart.plan = Plan::Down;
        }
        let next = match self.restart.plan {
            Plan::At(at) => format!("restarting in {} ms", (at - now).as_millis()),
            _ if is_building => "the next call or file change builds it again".into(),
            _ => format!(
                "it died {QUICK_DEATHS_MAX} times in a row; the next call or file change starts it again"
            ),
        };
        log(out, Level::Info, next);
    }

    /// No process could be started for those who wait for one.
    fn fail_waiting(&mut self, text: &str, now: Instant, out: &mut Outputs) {
        for id in std::mem::take(&mut self.waiting) {
            if self.calls.get(&id).is_some_and(|call| call.stage == Stage::Waiting) {
                self.fail(id, text, now, out);
            }
        }
    }

    /// Tells a process to end, or kills it.
    pub(super) fn end_process(
        &mut self,
        generation: Generation,
        reason: &str,
        kill: bool,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        process.expected_end = true;
        process.end_reason.get_or_insert_with(|| reason.to_owned());
        process.drain_until = None;
        process.phase = Phase::Ending { kill_at: (!kill).then_some(now + KILL_AFTER) };
        out.push(Output::Kill { generation, now: kill });
    }

    /// What is due about processes.
    pub(super) fn processes_due(&mut self, now: Instant, out: &mut Outputs) {
        let is_calm = |process: &Process| {
            process.is_ready() && process.drain_until.is_none() && process.reloading.is_none()
        };
        if self.processes.values().all(is_calm) {
            return;
        }
        let generations: Vec<Generation> = self.processes.keys().copied().collect();
        for generation in generations {
            let Some(process) = self.processes.get_mut(&generation) else { continue };
            let timeout = self.config.start_timeout;
            match process.phase {
                Phase::Building { until } if until <= now => {
                    let timeout = self.config.build_timeout.unwrap_or_default();
                    process.end_reason = Some(format!("was not built within {timeout:?} (--build-timeout)"));
                    process.phase = Phase::Ending { kill_at: None };
                    out.push(Output::Kill { generation, now: true });
                }
                Phase::Starting { until } if until <= now => {
                    process.end_reason =
                        Some(format!("did not connect within {timeout:?} (--start-timeout)"));
                    process.phase = Phase::Ending { kill_at: None };
                    out.push(Output::Kill { generation, now: true });
                }
                Phase::Handshaking { until, quiet_at }
                    if until <= now || quiet_at.is_some_and(|at| at <= now) =>
                {
                    if quiet_at.is_some() {
                        self.serve(generation, now, out);
                    } else {
                        process.end_reason =
                            Some(format!("did not tell its tools within {timeout:?} (--start-timeout)"));
                        process.phase = Phase::Ending { kill_at: None };
                        out.push(Output::Kill { generation, now: true });
                    }
                }
                Phase::Settling { until } if until <= now => self.serve(generation, now, out),
                Phase::Ready => {
                    if process.reloading.is_some_and(|(_, until)| until <= now) {
                        let error =
                            format!("the tool process did not reload within {timeout:?} (--start-timeout)");
                        let response = ReloadResponse { success: false, error };
                        self.reloaded_in_place(generation, response, now, out);
                    } else if let Some(until) = process.drain_until {
                        if process.busy == 0 {
                            self.end_process(generation, "was replaced by a newer one", false, now, out);
                        } else if until <= now {
                            self.end_process(
                                generation,
                                "was replaced by a newer one, and this call took too long to end",
                                true,
                                now,
                                out,
                            );
                        }
                    }
                }
                Phase::Ending { kill_at: Some(at) } if at <= now => {
                    process.end_reason = process.end_reason.take().or(process.broke.take());
                    process.phase = Phase::Ending { kill_at: None };
                    out.push(Output::Kill { generation, now: true });
                }
                _ => {}
            }
        }
    }

    /// A host is gone.
    pub(super) fn session_closed(&mut self, session: SessionId, now: Instant, out: &mut Outputs) {
        self.withdraw_for_session(session, out);
        self.begin_shutdown("the host is gone", now, out);
    }

    /// We are asked to end.
    pub(super) fn stop(&mut self, reason: &str, now: Instant, out: &mut Outputs) {
        if self.shutdown.is_some() {
            for generation in self.processes.keys() {
                out.push(Output::Kill { generation: *generation, now: true });
            }
            self.exited = true;
            out.push(Output::Exit);
            return;
        }
        self.begin_shutdown(reason, now, out);
    }

    fn begin_shutdown(&mut self, reason: &str, now: Instant, out: &mut Outputs) {
        if self.shutdown.is_none() {
            log(out, Level::Debug, format!("ending: {reason}"));
            self.shutdown =
                Some(Shutdown { reason: reason.to_owned(), grace: Some(now + self.config.grace) });
        }
    }

    /// Ends in steps: calls, then processes, then ourselves.
    pub(super) fn shut_down(&mut self, now: Instant, out: &mut Outputs) {
        let Some(shutdown) = &mut self.shutdown else { return };
        if let Some(grace) = shutdown.grace {
            if self.calls.values().any(|call| call.reply.is_some()) && now < grace {
                return;
            }
            shutdown.grace = None;
            let text =
                format!("pmcp is ending ({}) and could not wait for this call any longer", shutdown.reason);
            let ids: Vec<CallId> = self.calls.keys().copied().collect();
            for id in ids {
                self.fail(id, &text, now, out);
            }
            let generations: Vec<Generation> = self.processes.keys().copied().collect();
            for generation in generations {
                self.end_process(generation, "was told to end", false, now, out);
            }
        }
        if self.processes.is_empty() && !self.exited {
            self.exited = true;
            out.push(Output::Exit);
        }
    }
}

//! The life of tool processes: start, handshake, end.
//!
//! What runs (`processes`) is kept apart from what is wanted: one serving process, as long as
//! nobody asked us to end.

use std::time::Instant;

use crate::ids::{AskId, CallId, Generation};
use crate::limits::{EXIT_WAIT, KILL_AFTER, QUICK_DEATHS_MAX, SETTLE};
use crate::log::Level;
use crate::wire::protomcp::{ListToolsRequest, ReloadResponse, envelope::Msg};

use super::call::Call;
use super::last_words::last_words;
use super::process::{Phase, Process};
use super::restart::Plan;
use super::{Bridge, Output, Outputs, log};

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
        self.metrics.starts += 1;
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

    pub(super) fn tool_connected(&mut self, generation: Generation, out: &mut Outputs) {
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
            self.stop_serving(generation);
        }
    }

    /// No more calls go to this process.
    pub(super) fn stop_serving(&mut self, generation: Generation) {
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
            self.stop_serving(generation);
        }
        let Some(process) = self.processes.remove(&generation) else { return };
        let text = death(&process, &self.config.command, how, stderr);
        // The calls that it was working on are lost with it.
        let is_lost = |call: &Call| call.generation() == Some(generation);
        let lost: Vec<CallId> =
            self.calls.iter().filter(|(_, call)| is_lost(call)).map(|(&id, _)| id).collect();
        for id in lost {
            self.fail(id, &text, now, out);
        }
        self.withdraw_for_process(generation, now, out);
        if process.expected_end || self.reload.starts_after_end {
            return self.reload_after_end(now, out);
        }
        self.metrics.crashes += 1;
        log(out, Level::Error, text.clone());
        let is_alive = |other: &Process| !matches!(other.phase, Phase::Ending { .. });
        let why = process.end_reason.clone().or_else(|| last_words(stderr));
        let error = why.as_deref().unwrap_or(how);
        if self.serving.is_some() && !process.served {
            self.reload_failed(error, out);
            self.reload_next(now, out);
        } else if !self.processes.values().any(is_alive) {
            self.nobody_serves(&process, error, text, now, out);
        }
    }

    /// The only process died: those who waited for its start are told, and the next one is planned.
    fn nobody_serves(
        &mut self,
        process: &Process,
        error: &str,
        death: String,
        now: Instant,
        out: &mut Outputs,
    ) {
        if !process.served {
            self.fail_waiting(&death, now, out);
            self.reload_left_nobody(error, out);
        }
        self.restart.last_death = death;
        if self.shutdown.is_some() || self.reload_next(now, out) {
            return;
        }
        self.restart.died(now - process.started, process.served, now);
        let is_building = matches!(process.phase, Phase::Building { .. });
        if is_building {
            // The same sources would fail again.
            self.restart.stay_down(now);
        }
        let next = match self.restart.plan {
            Plan::At(at) => format!("restarting in {} ms", (at - now).as_millis()),
            Plan::Down(Some(at)) => {
                format!("the next call or file change starts it again, at the latest {:?} from now", at - now)
            }
            _ if is_building => "the next call or file change builds it again".into(),
            _ => format!(
                "it died {QUICK_DEATHS_MAX} times in a row; the next call or file change starts it again"
            ),
        };
        log(out, Level::Info, next);
    }

    /// No process could be started for those who wait for one.
    pub(super) fn fail_waiting(&mut self, text: &str, now: Instant, out: &mut Outputs) {
        for id in self.waiting.ids() {
            self.fail(id, text, now, out);
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
                        if !self.works(generation) {
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
}

/// What became of a process, for a person, with its last words.
fn death(process: &Process, command: &str, how: &str, stderr: &str) -> String {
    if how.starts_with("could not be started") {
        // Nothing ran that could have said more.
        return format!("the tool process ({command}) {how}");
    }
    let mut text = match (&process.end_reason, process.phase) {
        (Some(reason), _) => format!("the tool process ({command}) {reason}; it {how}"),
        (None, Phase::Starting { .. }) => format!("the tool process ({command}) {how} before it connected"),
        (None, phase) if !process.served && !matches!(phase, Phase::Building { .. }) => {
            format!("the tool process ({command}) {how} before it was ready")
        }
        (None, _) => format!("the tool process ({command}) {how}"),
    };
    if stderr.is_empty() {
        text.push_str("; it wrote nothing to stderr");
    } else {
        text.push_str("; the last lines of its stderr:\n");
        text.push_str(stderr);
    }
    text
}

//! The end of the bridge: calls first, then processes, then ourselves.

use std::time::Instant;

use crate::ids::{CallId, Generation, SessionId};
use crate::log::Level;

use super::metrics::Ending;
use super::process::Phase;
use super::restart::Plan;
use super::{Bridge, Output, Outputs, log};

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
    /// A session is over. Its calls are cancelled.
    pub(super) fn session_closed(&mut self, session: SessionId, now: Instant, out: &mut Outputs) {
        // It hears nothing any more, not even of its end.
        let closed = self.sessions.remove(&session);
        self.withdraw_for_session(session, now, out);
        let Some(session) = closed else { return };
        for listen in &session.listens {
            self.metrics.ended(listen.method(), Ending::Cancelled);
        }
        for call in session.in_flight.into_values() {
            let call = self.remove(call, now, out);
            if let Some(reply) = call.as_ref().and_then(|call| call.asker.reply()) {
                self.metrics.ended(reply.method, Ending::Cancelled);
            }
        }
    }

    /// The only host is gone. What it piped in may still be answered.
    pub(super) fn host_left(&mut self, session: SessionId, now: Instant, out: &mut Outputs) {
        self.withdraw_for_session(session, now, out);
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
            // Nothing is started any more.
            self.restart.plan = Plan::Down(None);
        }
    }

    /// Ends in steps: calls, then processes, then ourselves.
    pub(super) fn shut_down(&mut self, now: Instant, out: &mut Outputs) {
        if self.shutdown.is_none() {
            return;
        }
        if self.processes.values().all(|process| matches!(process.phase, Phase::Ending { .. })) {
            // No process will come for those who wait for one.
            let text = self.restart.last_death.clone();
            self.fail_waiting(&text, now, out);
        }
        let Some(shutdown) = &mut self.shutdown else { return };
        if let Some(grace) = shutdown.grace {
            if self.calls.values().any(|call| call.asker.reply().is_some()) && now < grace {
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
        self.end_listens(out);
        if self.processes.is_empty() && !self.exited {
            self.exited = true;
            out.push(Output::Exit);
        }
    }
}

//! Answers that nobody wants any more, and tool processes that do not care.
//!
//! A process is told of a cancel at once. One that says how much it works on at a time answers a
//! cancelled call too, and until then its slot is taken. Published SDKs may never answer, and work on
//! one request at a time: whether they are done shows in that they answer a call to no tool at all,
//! and until then no other call is sent to them.

use std::time::Instant;

use crate::ids::{AskId, Generation};
use crate::limits::{CANCEL_HOLD, PROBE_TIMEOUT};
use crate::log::Level;
use crate::wire::protomcp::{CallToolRequest, CancelRequest, envelope::Msg};

use super::process::{Ask, Phase, Process};
use super::{Bridge, Config, Output, Outputs, log};

/// Published SDKs answer that they have no such tool, whatever tools they have.
const NO_TOOL: &str = "pmcp/are-you-there";

impl Bridge {
    /// Nobody wants this answer any more. The process is told, and keeps the slot until it answers or
    /// ends: a handler that is stuck would keep waiting whatever is sent next. A published SDK may
    /// never answer, see [`CANCEL_HOLD`].
    pub(super) fn orphan(&mut self, generation: Generation, id: AskId, now: Instant, out: &mut Outputs) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let Some(ask) = process.asks.get_mut(&id) else { return };
        ask.call = None;
        ask.cancelled = Some(now);
        if process.announced {
            ask.until = None;
            process.stuck_at.get_or_insert(now + self.config.cancel_grace);
        } else {
            ask.until = Some(now + CANCEL_HOLD);
        }
        let cancel = Msg::Cancel(CancelRequest { request_id: id.0.to_string() });
        self.tell(generation, String::new(), cancel, out);
    }

    /// An answer that nobody wants did not come.
    pub(super) fn orphan_timed_out(
        &mut self,
        generation: Generation,
        id: AskId,
        now: Instant,
        out: &mut Outputs,
    ) {
        let works = self.works_for_somebody(generation);
        let Config { cancel_grace, call_timeout, .. } = self.config;
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let Some(ask) = process.asks.get_mut(&id) else { return };
        let last = ask.cancelled.unwrap_or(now) + call_timeout;
        if ask.is_probe && works && now < last {
            // A task of it must not suffer, for as long as a call may take.
            ask.until = Some(last.min(now + cancel_grace.max(PROBE_TIMEOUT)));
            return;
        }
        let (is_probe, cancelled) = (ask.is_probe, ask.cancelled);
        process.asks.remove(&id);
        if process.is_ready() && is_probe {
            self.restart_stuck(generation, out);
        } else if process.is_ready() && !process.announced {
            return self.probe(generation, cancelled.unwrap_or(now), now, out);
        }
        self.release(generation);
    }

    /// Looks after processes that were told of a cancel a while ago.
    pub(super) fn stuck_due(&mut self, now: Instant, out: &mut Outputs) {
        let is_due = |process: &&Process| process.stuck_at.is_some_and(|at| at <= now);
        let due: Vec<Generation> =
            self.processes.values().filter(is_due).map(|process| process.generation).collect();
        for generation in due {
            let works = self.works_for_somebody(generation);
            let grace = self.config.cancel_grace;
            let Some(process) = self.processes.get_mut(&generation) else { continue };
            let oldest = process.asks.values().filter_map(|ask| ask.cancelled).min();
            process.stuck_at = match oldest.map(|oldest| oldest + grace) {
                Some(at) if at > now => Some(at),
                // Its other calls must not suffer; when they are over it is looked at again.
                Some(_) if works => Some(now + grace),
                _ => None,
            };
            if oldest.is_some() && process.stuck_at.is_none() && process.is_ready() {
                self.restart_stuck(generation, out);
            }
        }
    }

    /// Whether a process runs a call that somebody wants.
    fn works_for_somebody(&self, generation: Generation) -> bool {
        self.calls.values().any(|call| call.generation() == Some(generation))
    }

    /// Asks a process for something that it can answer at once when it is done with a cancelled call,
    /// in the slot of that call.
    fn probe(&mut self, generation: Generation, cancelled: Instant, now: Instant, out: &mut Outputs) {
        let id = AskId(self.next_id());
        let until = (cancelled + self.config.cancel_grace).max(now + PROBE_TIMEOUT);
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let ask = Ask {
            call: None,
            until: Some(until),
            holds_slot: true,
            cancelled: Some(cancelled),
            is_probe: true,
        };
        process.asks.insert(id, ask);
        let arguments_json = "{}".to_owned();
        let call = CallToolRequest { name: NO_TOOL.to_owned(), arguments_json, ..CallToolRequest::default() };
        self.tell(generation, id.0.to_string(), Msg::CallTool(call), out);
    }

    /// Ends a process that ignores a cancel. What follows is what follows a crash.
    fn restart_stuck(&mut self, generation: Generation, out: &mut Outputs) {
        let grace = self.config.cancel_grace;
        let text = format!("ignored a cancelled call for {grace:?} (--cancel-grace)");
        log(out, Level::Warning, format!("the tool process {text}; it is restarted"));
        if self.serving == Some(generation) {
            self.stop_serving(generation);
        }
        let Some(process) = self.processes.get_mut(&generation) else { return };
        process.end_reason = Some(text);
        process.phase = Phase::Ending { kill_at: None };
        out.push(Output::Kill { generation, now: true });
    }
}

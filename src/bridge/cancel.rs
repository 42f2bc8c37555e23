//! Answers that nobody wants any more, and tool processes that do not care.
//!
//! A process is told of a cancel at once. One that says how much it works on at a time answers a
//! cancelled call too, and until then its slot is taken. Published SDKs may never answer, and work on
//! one request at a time: whether they are done shows in that they answer a call to no tool at all.

use std::time::Instant;

use crate::ids::{AskId, Generation};
use crate::limits::{CANCEL_HOLD, PROBE_TIMEOUT};
use crate::log::Level;
use crate::wire::protomcp::{CallToolRequest, CancelRequest, envelope::Msg};

use super::process::{Ask, Phase, Process};
use super::{Bridge, Output, Outputs, log};

/// Published SDKs answer that they have no such tool, whatever tools they have.
const NO_TOOL: &str = "pmcp/are-you-there";

impl Bridge {
    /// Nobody wants this answer any more. The process is told, and keeps the slot until it
    /// answers; a published SDK may never do so, see [`CANCEL_HOLD`].
    pub(super) fn orphan(&mut self, generation: Generation, id: AskId, now: Instant, out: &mut Outputs) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let Some(ask) = process.asks.get_mut(&id) else { return };
        let hold = if process.announced { self.config.call_timeout } else { CANCEL_HOLD };
        ask.call = None;
        ask.until = Some(now + hold);
        process.stuck_at = Some(now + self.config.cancel_grace);
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
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let ask = process.asks.remove(&id);
        self.release(generation);
        if ask.is_some_and(|ask| ask.is_probe) {
            self.restart_stuck(generation, now, out);
        }
    }

    /// A process finished a call, so it is not stuck in a cancelled one; unless it runs several at a
    /// time and another one is still to be answered.
    pub(super) fn is_not_stuck(&mut self, generation: Generation) {
        if let Some(process) = self.processes.get_mut(&generation)
            && !process.announced
        {
            process.stuck_at = None;
        }
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
            process.stuck_at = None;
            let has_orphans = process.asks.values().any(|ask| ask.call.is_none());
            match (process.announced, works) {
                _ if !process.is_ready() => {}
                (true, _) if !has_orphans => {}
                // Its other calls must not suffer; when they are over it is looked at again.
                (_, true) => process.stuck_at = Some(now + grace),
                (true, false) => self.restart_stuck(generation, now, out),
                (false, false) => self.probe(generation, now, out),
            }
        }
    }

    /// Whether a process runs a call that somebody wants.
    fn works_for_somebody(&self, generation: Generation) -> bool {
        self.calls.values().any(|call| call.generation() == Some(generation))
    }

    /// Asks a process for something that it can answer at once if it is not stuck.
    fn probe(&mut self, generation: Generation, now: Instant, out: &mut Outputs) {
        let id = AskId(self.next_id());
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let until = Some(now + PROBE_TIMEOUT);
        process.asks.insert(id, Ask { call: None, until, holds_slot: true, is_probe: true });
        process.busy += 1;
        let arguments_json = "{}".to_owned();
        let call = CallToolRequest { name: NO_TOOL.to_owned(), arguments_json, ..CallToolRequest::default() };
        self.tell(generation, id.0.to_string(), Msg::CallTool(call), out);
    }

    /// Ends a process that ignores a cancel. What follows is what follows a crash.
    fn restart_stuck(&mut self, generation: Generation, now: Instant, out: &mut Outputs) {
        let grace = self.config.cancel_grace;
        let text = format!("ignored a cancelled call for {grace:?} (--cancel-grace)");
        log(out, Level::Warning, format!("the tool process {text}; it is restarted"));
        if self.serving == Some(generation) {
            self.stop_serving(generation);
        }
        let Some(process) = self.processes.get_mut(&generation) else { return };
        let _ = now;
        process.end_reason = Some(text);
        process.phase = Phase::Ending { kill_at: None };
        out.push(Output::Kill { generation, now: true });
    }
}

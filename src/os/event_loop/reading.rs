//! Each source's share of a turn: what hosts, tool processes and workers said, handed to the bridge.

use super::EventLoop;
use crate::bridge::Input;
use crate::front::json_lines::Arrived;
use crate::ids::Route;
use crate::limits::READ_BUDGET;
use crate::os::pool::{Done, Work};
use crate::os::ready::Progress;
use crate::os::tool_process::ToolProcess;

impl EventLoop {
    /// Hands what the host said to the bridge: one buffer full, or a large line's share.
    pub(super) fn read_host(&mut self) {
        let mut budget = READ_BUDGET;
        while budget > 0 {
            let Some(host) = &self.host else { return };
            if !host.is_readable() || !self.reads_host(host) || self.hand_out_lines() {
                break;
            }
            let Some(host) = &mut self.host else { return };
            match host.read(self.poll.registry()) {
                Progress::Data(count) => budget = budget.saturating_sub(count),
                Progress::Blocked => break,
                Progress::End => {}
            }
            if self.hand_out_lines() {
                break;
            }
        }
        self.note_host_left();
    }

    fn note_host_left(&mut self) {
        if let Some(host) = &mut self.host
            && host.closes_now()
        {
            let session = host.session;
            self.hand_in(Input::HostLeft(session));
        }
    }

    /// Hands out the lines that were read. True if there were any, or if they have to wait.
    fn hand_out_lines(&mut self) -> bool {
        let Some(host) = &mut self.host else { return false };
        let mut any = false;
        let session = host.session;
        // Asked for each message: how much waits in the bridge changes with it.
        while self.bridge.reads_host() || host.ready.is_closed() {
            match host.next_line() {
                Some(Arrived::Message(message)) => {
                    let input = Input::Host { route: Route::session(session), message };
                    self.bridge.handle(input, self.now, &mut self.outputs);
                }
                Some(Arrived::Large(line)) => self.pool.submit(Work::ParseLine(session, line)),
                None => return any,
            }
            any = true;
        }
        true
    }

    /// Hands what a tool process said to the bridge, and shows what it printed.
    pub(super) fn read_tool(&mut self, index: usize) {
        if self.reads_tools() {
            self.read_connection(index, READ_BUDGET, false);
        }
        let tool = &mut self.processes[index];
        if tool.has_printed() {
            tool.show_printed(&mut self.console, self.now);
        }
    }

    /// Reads until something came that the bridge can work on, or to the end if `is_last`.
    pub(super) fn read_connection(&mut self, index: usize, budget: usize, is_last: bool) {
        let ToolProcess { connection: slot, generation, .. } = &mut self.processes[index];
        let generation = *generation;
        let Some(connection) = slot else { return };
        let mut left = budget;
        let mut reason = None;
        while connection.ready.is_readable() && left > 0 && reason.is_none() {
            match connection.read() {
                Progress::Data(count) => left = left.saturating_sub(count),
                Progress::Blocked => break,
                Progress::End => reason = Some(connection.end_reason().to_owned()),
            }
            let mut any = false;
            loop {
                match connection.reader.next() {
                    Ok(Some(received)) => {
                        let input = Input::Tool { generation, received };
                        self.bridge.handle(input, self.now, &mut self.outputs);
                        any = true;
                    }
                    Ok(None) => break,
                    Err(error) => {
                        reason = Some(format!("broke the rules of the wire: {error}"));
                        break;
                    }
                }
            }
            if any && !is_last {
                break;
            }
        }
        if let Some(reason) = reason {
            *slot = None;
            self.hand_in(Input::ToolDisconnected { generation, reason });
        }
    }

    pub(super) fn take_results(&mut self) {
        while let Some(done) = self.pool.take() {
            match done {
                Done::Bridge(done) => self.hand_in(Input::JobDone(done)),
                Done::Parsed(session, message) => {
                    if let Some(host) = &mut self.host {
                        host.note_parsed();
                    }
                    self.hand_in(Input::Host { route: Route::session(session), message });
                    self.note_host_left();
                }
                Done::ParsedBody(connection, message) => {
                    self.with_http(|http, behind, _| http.server.parsed(connection, message, behind));
                }
            }
        }
    }
}

//! What is counted of requests, tools and tool processes, for those who watch over us.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::limits::{METRICS_CODES_MAX, METRICS_TOOL_NAME_MAX, METRICS_TOOLS_MAX};
use crate::metrics::{Histogram, Kind, Page};

use super::call::{Call, Work};
use super::{Bridge, Health};

/// Counts since our start.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// By method and by how they ended; both are words of ours, so there are few.
    requests: BTreeMap<(&'static str, Ending), u64>,
    /// Errors by their codes. Tools choose codes too, so their number is bounded.
    errors: BTreeMap<i32, u64>,
    other_errors: u64,
    /// Tools that were called, by their names.
    tools: BTreeMap<Box<str>, ToolCounts>,
    /// All tools that have no place of their own.
    other_tools: ToolCounts,
    pub(super) starts: u64,
    pub(super) crashes: u64,
    pub(super) reloads: u64,
    pub(super) failed_reloads: u64,
}

/// What is counted of one tool.
#[derive(Clone, Debug, Default)]
struct ToolCounts {
    took: Histogram,
    failed: u64,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    /// With a result.
    Result,
    /// With a result that says that the tool failed.
    ToolError,
    /// With an error of this code.
    Error(i32),
    /// Nobody wanted the answer any more.
    Cancelled,
}

impl Ending {
    const fn as_str(self) -> &'static str {
        match self {
            Ending::Result => "result",
            Ending::ToolError => "tool_error",
            Ending::Error(_) => "error",
            Ending::Cancelled => "cancelled",
        }
    }

    /// With a result of a call.
    pub(super) const fn of_result(is_error: bool) -> Self {
        if is_error { Ending::ToolError } else { Ending::Result }
    }
}

/// The method of a request that could not be understood.
pub(super) const INVALID: &str = "invalid";

/// The label of what has no label of its own. No name of a tool should hold these brackets.
const OTHER: &str = "(other)";

impl Metrics {
    /// A request was answered, or nobody wants that any more.
    pub(super) fn ended(&mut self, method: &'static str, ending: Ending) {
        let outcome = match ending {
            Ending::Error(code) => {
                self.error(code);
                Ending::Error(0)
            }
            other => other,
        };
        *self.requests.entry((method, outcome)).or_default() += 1;
    }

    fn error(&mut self, code: i32) {
        let has_room = self.errors.len() < METRICS_CODES_MAX;
        match self.errors.get_mut(&code) {
            Some(count) => *count += 1,
            None if has_room => drop(self.errors.insert(code, 1)),
            None => self.other_errors += 1,
        }
    }

    /// A call of a tool is over. One that never reached a tool is none: a host could name anything.
    pub(super) fn called(&mut self, call: &Call, failed: bool, now: Instant) {
        let Work::Tool(work) = &call.work else { return };
        let (Some(tool), Some(began)) = (&work.tool, call.began) else { return };
        let counts = self.counts_of(&tool.name);
        counts.took.observe(now.saturating_duration_since(began));
        counts.failed += u64::from(failed);
    }

    fn counts_of(&mut self, tool: &str) -> &mut ToolCounts {
        if !self.tools.contains_key(tool) {
            if self.tools.len() >= METRICS_TOOLS_MAX || tool.len() > METRICS_TOOL_NAME_MAX {
                return &mut self.other_tools;
            }
            return self.tools.entry(tool.into()).or_default();
        }
        self.tools.get_mut(tool).unwrap_or(&mut self.other_tools)
    }

    fn write(&self, page: &mut Page<'_>) {
        let help = "Requests of hosts that are over, by method and by how they ended.";
        let mut metric = page.metric("pmcp_requests_total", Kind::Counter, help);
        for ((method, ending), count) in &self.requests {
            metric.sample(&[("method", method), ("outcome", ending.as_str())], *count);
        }
        let help = "Errors that hosts were answered with, by JSON-RPC code.";
        let mut metric = page.metric("pmcp_errors_total", Kind::Counter, help);
        for (code, count) in &self.errors {
            metric.sample(&[("code", &code.to_string())], *count);
        }
        if self.other_errors > 0 {
            metric.sample(&[("code", OTHER)], self.other_errors);
        }
        let others = Some((OTHER, &self.other_tools)).filter(|(_, counts)| counts.took.count() > 0);
        let tools = || self.tools.iter().map(|(name, counts)| (&**name, counts)).chain(others);
        let help = "Calls of tools from their arrival to their end, waiting included.";
        let mut metric = page.metric("pmcp_tool_call_duration_seconds", Kind::Histogram, help);
        for (name, counts) in tools() {
            metric.histogram(&[("tool", name)], &counts.took);
        }
        let help = "Calls of tools that ended with a failure.";
        let mut metric = page.metric("pmcp_tool_call_failures_total", Kind::Counter, help);
        for (name, counts) in tools() {
            metric.sample(&[("tool", name)], counts.failed);
        }
        let help = "Starts of the tool process, builds that failed included.";
        page.number("pmcp_tool_process_starts_total", Kind::Counter, help, self.starts);
        let help = "Ends of the tool process that nobody asked for; each is followed by a restart.";
        page.number("pmcp_tool_process_crashes_total", Kind::Counter, help, self.crashes);
        let help = "Reloads of the tool process, by whether what was loaded serves.";
        let mut metric = page.metric("pmcp_reloads_total", Kind::Counter, help);
        metric.sample(&[("outcome", "result")], self.reloads);
        metric.sample(&[("outcome", "error")], self.failed_reloads);
    }
}

impl Bridge {
    /// Writes what is counted here, and what there is here and in other bridges, which count here too.
    pub fn write_metrics<'b>(
        &'b self,
        others: impl Iterator<Item = &'b Bridge> + Clone,
        page: &mut Page<'_>,
    ) {
        self.metrics.write(page);
        let serves = matches!(self.health(), Health::Serving(_));
        page.number("pmcp_ready", Kind::Gauge, "Whether a tool process serves.", serves.into());
        let count = |of: fn(&Bridge) -> usize| {
            let all = others.clone().chain(std::iter::once(self)).map(of).sum::<usize>();
            u64::try_from(all).unwrap_or(u64::MAX)
        };
        let help = "Tool processes that have not ended; two while one replaces another.";
        page.number("pmcp_tool_processes", Kind::Gauge, help, count(|bridge| bridge.processes.len()));
        let help = "Requests that are not answered yet and need the tool process.";
        page.number("pmcp_calls_in_flight", Kind::Gauge, help, count(|bridge| bridge.calls.len()));
        let help = "Those of them that wait for their turn.";
        page.number("pmcp_calls_waiting", Kind::Gauge, help, count(|bridge| bridge.waiting.len()));
        let help = "Tasks that run or whose results are kept.";
        page.number("pmcp_tasks", Kind::Gauge, help, count(|bridge| bridge.tasks.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_peers_choose_is_bounded() {
        let mut metrics = Metrics::default();
        for code in 0..2 * METRICS_CODES_MAX {
            metrics.ended("tools/call", Ending::Error(i32::try_from(code).unwrap()));
        }
        for number in 0..2 * METRICS_TOOLS_MAX {
            metrics.counts_of(&format!("tool {number}")).failed += 1;
        }
        metrics.counts_of(&"x".repeat(METRICS_TOOL_NAME_MAX + 1)).failed += 1;
        metrics.counts_of("tool 0").failed += 1;
        assert_eq!((metrics.requests.len(), metrics.errors.len()), (1, METRICS_CODES_MAX));
        assert_eq!(metrics.other_errors, METRICS_CODES_MAX as u64);
        assert_eq!((metrics.tools.len(), metrics.tools["tool 0"].failed), (METRICS_TOOLS_MAX, 2));
        assert_eq!(metrics.other_tools.failed, METRICS_TOOLS_MAX as u64 + 1);
    }
}

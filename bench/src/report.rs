//! Numbers: what was measured for one server, medians over rounds, and the targets.

use std::time::Duration;

/// What one round measured, in the units that the report prints.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Exec to the answer of `initialize`, milliseconds.
    pub start: f64,
    /// Median round trip of a small call, microseconds.
    pub median: f64,
    /// 99th percentile of the same, microseconds.
    pub p99: f64,
    /// Pipelined calls per second.
    pub pipelined: f64,
    /// CPU of the server process alone for one pipelined call, microseconds.
    pub cpu: f64,
    /// A 10 MiB text there and back, milliseconds.
    pub large: f64,
    /// Resident memory when idle after the small calls, MiB.
    pub rss: f64,
    /// Threads.
    pub threads: f64,
}

/// Name, unit and place of every measure, in the order of the report.
pub const MEASURES: [(&str, &str, fn(&Round) -> f64); 8] = [
    ("start to first answer", "ms", |round| round.start),
    ("round trip, median", "us", |round| round.median),
    ("round trip, p99", "us", |round| round.p99),
    ("pipelined calls", "/s", |round| round.pipelined),
    ("CPU per pipelined call", "us", |round| round.cpu),
    ("10 MiB echo", "ms", |round| round.large),
    ("idle RSS", "MiB", |round| round.rss),
    ("threads", "", |round| round.threads),
];

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => (values[count / 2 - 1] + values[count / 2]) / 2.0,
    }
}

/// The value below which `share` of them lie.
pub fn percentile(values: &mut [Duration], share: f64) -> Duration {
    values.sort_unstable();
    let index = ((values.len() as f64 * share) as usize).min(values.len() - 1);
    values[index]
}

/// Every measure's median over the rounds.
pub fn summary(rounds: &[Round]) -> Vec<f64> {
    MEASURES.iter().map(|(_, _, of)| median(rounds.iter().map(of).collect())).collect()
}

/// One line of the verdict.
pub struct Target {
    /// What is asked for.
    pub what: String,
    /// What was measured, as a person reads it.
    pub got: String,
    /// Whether it is met; `None` when it could not be measured.
    pub met: Option<bool>,
}

/// The target of a reload: both times in milliseconds.
pub fn reload_target(save: f64, alone: f64) -> Target {
    Target {
        what: "save to list_changed at most 100 ms more than the tool process takes to start alone".into(),
        got: format!("{save:.1} ms, alone {alone:.1} ms"),
        met: Some(save - alone <= 100.0),
    }
}

/// The targets, from the medians of the bridge and of the rmcp server. `binary` is the size of
/// the static binary in bytes.
pub fn targets(pmcp: &[f64], rmcp: &[f64], binary: Option<u64>) -> Vec<Target> {
    let ratio = |index: usize| pmcp[index] / rmcp[index];
    let at_most = |what: &str, value: f64, bound: f64, unit: &str| Target {
        what: format!("{what} at most {bound}{unit}"),
        got: format!("{value:.2}{unit}"),
        met: Some(value <= bound),
    };
    let mut targets = vec![
        at_most("median round trip", ratio(1), 1.5, " of rmcp's"),
        at_most("p99 round trip", ratio(2), 1.0, " of rmcp's"),
        Target {
            what: "pipelined calls per second at least 2 of rmcp's".into(),
            got: format!("{:.2} of rmcp's", ratio(3)),
            met: Some(ratio(3) >= 2.0),
        },
        at_most("bridge CPU per pipelined call", ratio(4), 0.5, " of rmcp's"),
        at_most("10 MiB echo", ratio(5), 1.0, " of rmcp's"),
        at_most("initialize after exec", pmcp[0], 5.0, " ms"),
        at_most("idle RSS", pmcp[6], 3.0, " MiB"),
        at_most("threads", pmcp[7], 4.0, ""),
    ];
    targets.push(match binary {
        Some(bytes) => at_most("static binary", bytes as f64 / 1048576.0, 2.0, " MiB"),
        None => Target {
            what: "static binary at most 2 MiB".into(),
            got: "not measured: give --static FILE".into(),
            met: None,
        },
    });
    targets
}

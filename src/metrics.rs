//! Counts for those who watch over us, spelled as Prometheus reads them: the text format 0.0.4.

use std::io::Write as _;
use std::time::Duration;

/// The type of what is written, for a response's `Content-Type`.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What kind of number a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises, until we are started anew.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How long things took.
    Histogram,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// A text that metrics are written to.
#[derive(Debug)]
pub struct Page<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Page<'a> {
    /// Metrics go behind what is there.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Begins a metric; all its samples follow. A name may begin only once on a page.
    pub fn metric(&mut self, name: &'static str, kind: Kind, help: &str) -> Metric<'_> {
        let kind = kind.as_str();
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        Metric { page: Page { out: self.out }, name }
    }

    /// A metric with one sample.
    pub fn number(&mut self, name: &'static str, kind: Kind, help: &str, value: u64) {
        self.metric(name, kind, help).sample(&[], value);
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // A vector takes all.
        let _ = self.out.write_fmt(text);
    }
}

/// The samples of one metric.
#[derive(Debug)]
pub struct Metric<'a> {
    page: Page<'a>,
    name: &'static str,
}

impl Metric<'_> {
    /// One number.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: u64) {
        self.line("", labels, None, format_args!("{value}"));
    }

    /// One time, in seconds.
    pub fn seconds(&mut self, labels: &[(&str, &str)], value: Duration) {
        self.seconds_of("", labels, value);
    }

    /// One histogram.
    pub fn histogram(&mut self, labels: &[(&str, &str)], histogram: &Histogram) {
        let mut total = 0;
        for (count, bound) in histogram.counts.iter().zip(BOUNDS.iter().map(|(_, text)| *text)) {
            total += count;
            self.line("_bucket", labels, Some(bound), format_args!("{total}"));
        }
        total += histogram.counts[BOUNDS.len()];
        self.line("_bucket", labels, Some("+Inf"), format_args!("{total}"));
        self.seconds_of("_sum", labels, histogram.sum);
        self.line("_count", labels, None, format_args!("{total}"));
    }

    fn seconds_of(&mut self, suffix: &str, labels: &[(&str, &str)], value: Duration) {
        let (seconds, micros) = (value.as_secs(), value.subsec_micros());
        self.line(suffix, labels, None, format_args!("{seconds}.{micros:06}"));
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: &[(&str, &str)],
        bound: Option<&str>,
        value: std::fmt::Arguments<'_>,
    ) {
        self.page.write(format_args!("{}{suffix}", self.name));
        let mut before = b'{';
        for (name, text) in labels.iter().copied().chain(bound.map(|bound| ("le", bound))) {
            self.page.out.push(before);
            self.page.write(format_args!("{name}=\""));
            escape(self.page.out, text);
            self.page.out.push(b'"');
            before = b',';
        }
        if before == b',' {
            self.page.out.push(b'}');
        }
        self.page.write(format_args!(" {value}\n"));
    }
}

/// The upper bounds of a histogram's buckets, and how they are spelled: those that the conventions
/// of OpenTelemetry name for MCP, and three below, since what stays on one machine is quick.
const BOUNDS: [(Duration, &str); 17] = [
    (Duration::from_millis(1), "0.001"),
    (Duration::from_micros(2500), "0.0025"),
    (Duration::from_millis(5), "0.005"),
    (Duration::from_millis(10), "0.01"),
    (Duration::from_millis(20), "0.02"),
    (Duration::from_millis(50), "0.05"),
    (Duration::from_millis(100), "0.1"),
    (Duration::from_millis(200), "0.2"),
    (Duration::from_millis(500), "0.5"),
    (Duration::from_secs(1), "1"),
    (Duration::from_secs(2), "2"),
    (Duration::from_secs(5), "5"),
    (Duration::from_secs(10), "10"),
    (Duration::from_secs(30), "30"),
    (Duration::from_secs(60), "60"),
    (Duration::from_secs(120), "120"),
    (Duration::from_secs(300), "300"),
];

/// How long things took, by buckets.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// One for each bound, and one for what is beyond the last.
    counts: [u64; BOUNDS.len() + 1],
    sum: Duration,
}

impl Histogram {
    /// One more thing took so long.
    pub fn observe(&mut self, time: Duration) {
        self.counts[BOUNDS.partition_point(|(bound, _)| *bound < time)] += 1;
        self.sum = self.sum.saturating_add(time);
    }

    /// How many things there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Appends a label's value. What would break a line or a terminal is replaced.
fn escape(out: &mut Vec<u8>, text: &str) {
    for character in text.chars() {
        match character {
            '\\' => out.extend_from_slice(b"\\\\"),
            '"' => out.extend_from_slice(b"\\\""),
            '\n' => out.extend_from_slice(b"\\n"),
            character if character.is_control() => out.extend_from_slice("\u{fffd}".as_bytes()),
            character => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(write: impl FnOnce(&mut Page<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Page::new(&mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_spelled() {
        let text = page(|page| {
            page.number("pmcp_a_total", Kind::Counter, "All a.", 3);
            let mut metric = page.metric("pmcp_b_seconds", Kind::Gauge, "How long b takes.");
            metric.seconds(&[("x", "1"), ("y", "2")], Duration::from_micros(1_500_007));
        });
        assert_eq!(
            text,
            "# HELP pmcp_a_total All a.\n# TYPE pmcp_a_total counter\npmcp_a_total 3\n\
             # HELP pmcp_b_seconds How long b takes.\n# TYPE pmcp_b_seconds gauge\n\
             pmcp_b_seconds{x=\"1\",y=\"2\"} 1.500007\n"
        );
    }

    #[test]
    fn a_label_ends_where_it_ends() {
        let text = page(|page| {
            page.metric("pmcp_a", Kind::Gauge, "A.").sample(&[("tool", "a\"} 1\n\\b\r\u{1b}[0mé")], 1);
        });
        let line = text.lines().last().unwrap();
        assert_eq!(line, "pmcp_a{tool=\"a\\\"} 1\\n\\\\b\u{fffd}\u{fffd}[0mé\"} 1");
    }

    #[test]
    fn a_histogram_counts_from_below() {
        let mut histogram = Histogram::default();
        for millis in [0, 1, 2, 10, 11, 400, 300_000, 400_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let text = page(|page| {
            page.metric("pmcp_h", Kind::Histogram, "H.").histogram(&[("tool", "a")], &histogram);
        });
        let value = |le: &str| {
            let line = text.lines().find(|line| line.contains(&format!("le=\"{le}\""))).unwrap();
            line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()
        };
        let bounds = ["0.001", "0.0025", "0.005", "0.01", "0.02", "0.2", "0.5", "120", "300", "+Inf"];
        assert_eq!(bounds.map(value), [2, 3, 3, 4, 5, 5, 6, 6, 7, 8]);
        assert!(text.ends_with("pmcp_h_sum{tool=\"a\"} 700.424000\npmcp_h_count{tool=\"a\"} 8\n"), "{text}");
    }

    #[test]
    fn the_bounds_rise_and_are_spelled_as_they_are() {
        assert!(BOUNDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (bound, text) in BOUNDS {
            assert_eq!(text.parse(), Ok(bound.as_secs_f64()));
        }
    }
}

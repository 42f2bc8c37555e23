//! Standard error, the person's side. Nobody may be reading it, so it never blocks: what does
//! not fit is dropped and counted.

use std::io;
use std::os::fd::AsFd;
use std::time::{Instant, SystemTime};

use mio::{Registry, Token};

use super::lines::RateLimit;
use super::log_line::{Source, log_line};
use super::stdio::{Sink, Stdio};
use crate::ids::Generation;
use crate::limits::{CONSOLE_OWN_MIN, CONSOLE_QUEUE_MAX};
use crate::log::{Format, Level};

/// Where lines for a person go.
#[derive(Debug)]
pub(super) struct Console {
    /// Absent when there is no stderr, or when it broke.
    sink: Option<Sink>,
    level: Level,
    format: Format,
    /// For what tool processes print.
    limit: RateLimit,
    /// Whose lines were held back last.
    printed_by: Generation,
    /// Lines that did not fit.
    dropped: u64,
}

impl Console {
    /// Shows lines of this level and the more important ones.
    pub(super) fn open(level: Level, format: Format, token: Token) -> Self {
        let sink = Stdio::open(io::stderr().as_fd(), true).ok().map(|stdio| Sink::new(stdio, token));
        Self::new(sink, level, format)
    }

    fn new(sink: Option<Sink>, level: Level, format: Format) -> Self {
        let limit = RateLimit::default();
        Self { sink, level, format, limit, printed_by: Generation(0), dropped: 0 }
    }

    /// A line of ours.
    pub(super) fn log(&mut self, level: Level, text: &str) {
        if level <= self.level {
            self.push(Source::Pmcp, level, text, CONSOLE_QUEUE_MAX);
        }
    }

    /// A line that a tool process printed.
    pub(super) fn tool_line(&mut self, generation: Generation, line: &[u8], now: Instant) {
        self.report(now);
        self.printed_by = generation;
        if self.limit.allows(now) {
            let text = String::from_utf8_lossy(line);
            self.push(Source::Tool(generation), Level::Info, &text, CONSOLE_QUEUE_MAX - CONSOLE_OWN_MIN);
        }
    }

    /// When [`report`](Self::report) has something to say.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.limit.deadline()
    }

    /// Tells how many lines of tool processes were held back, once that is settled.
    pub(super) fn report(&mut self, now: Instant) {
        if let Some(count) = self.limit.report(now) {
            let text = format!("({count} more lines were printed too fast to be shown)");
            self.push(Source::Tool(self.printed_by), Level::Info, &text, CONSOLE_QUEUE_MAX);
        }
    }

    /// The poll said that something can be written again.
    pub(super) fn note_room(&mut self) {
        if let Some(sink) = &mut self.sink {
            sink.note_room();
        }
    }

    /// Writes what fits.
    pub(super) fn flush(&mut self, registry: &Registry) {
        if let Some(sink) = &mut self.sink
            && sink.flush(registry).is_err()
        {
            self.sink = None;
        }
    }

    /// Queues a line if no more than `max` bytes wait then.
    fn push(&mut self, source: Source, level: Level, text: &str, max: usize) {
        let Some(sink) = &mut self.sink else { return };
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let line = log_line(self.format, wall, source, level, text);
        if sink.waiting() + line.len() > max {
            self.dropped += 1;
            return;
        }
        if self.dropped > 0 {
            let note = format!("({} lines were dropped, nobody read them)", self.dropped);
            sink.push(log_line(self.format, wall, Source::Pmcp, Level::Warning, &note));
            self.dropped = 0;
        }
        sink.push(line);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use mio::Poll;

    use super::*;

    #[test]
    fn our_own_lines_fit_behind_a_flood() {
        let (_reader, writer) = io::pipe().unwrap();
        let sink = Sink::new(Stdio::open(writer.as_fd(), true).unwrap(), Token(2));
        let mut console = Console::new(Some(sink), Level::Info, Format::Text);
        for _ in 0..400 {
            console.tool_line(Generation(1), &[0xff; 1000], Instant::now());
        }
        let dropped = console.dropped;
        assert!(dropped > 0);
        console.log(Level::Error, &"x".repeat(CONSOLE_OWN_MIN - 1024));
        assert_eq!(console.dropped, 0, "the line takes the note of the others with it");
    }

    #[test]
    fn a_console_that_nobody_reads_drops_and_says_so_later() {
        let poll = Poll::new().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let sink = Sink::new(Stdio::open(writer.as_fd(), true).unwrap(), Token(2));
        drop(writer);
        let mut console = Console::new(Some(sink), Level::Info, Format::Text);
        console.log(Level::Debug, "too small");
        console.log(Level::Info, "first");
        for _ in 0..1000 {
            console.log(Level::Warning, &"x".repeat(1000));
            console.flush(poll.registry());
        }
        let dropped = console.dropped;
        assert!(dropped > 0);
        let mut buffer = vec![0; 1 << 20];
        let count = reader.read(&mut buffer).unwrap();
        console.note_room();
        assert!(buffer.starts_with(b"pmcp: info: first\npmcp: warning: xx"));
        assert!(count <= 64 * 1024);
        console.flush(poll.registry());
        console.log(Level::Info, "last");
        console.flush(poll.registry());
        drop(console.sink);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert!(rest.contains(&format!("pmcp: warning: ({dropped} lines were dropped")));
        assert!(rest.ends_with("pmcp: info: last\n"));
    }
}

//! What a tool process prints, as lines for a person: cut, bounded, and not too many a second.
//! Pure: bytes and time come in as arguments.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::limits::{LOG_LINE_MAX, LOG_LINES_PER_SECOND, STDERR_TAIL_LINE_MAX, STDERR_TAIL_LINES};

/// Cuts bytes into lines. A line longer than its bound is shown up to there, with the number of
/// bytes that were left out.
#[derive(Debug)]
pub(super) struct LineCutter {
    max: usize,
    /// The begin of a line whose end has not come.
    partial: Vec<u8>,
    /// Bytes of that line beyond what is kept.
    left_out: u64,
}

impl Default for LineCutter {
    /// For a person.
    fn default() -> Self {
        Self::with_max(LOG_LINE_MAX)
    }
}

impl LineCutter {
    /// Keeps up to so many bytes of a line.
    pub(super) fn with_max(max: usize) -> Self {
        Self { max, partial: Vec::new(), left_out: 0 }
    }

    /// Takes more bytes and shows each line that they end.
    pub(super) fn feed(&mut self, bytes: &[u8], mut show: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if self.partial.is_empty() && self.left_out == 0 && line.len() <= self.max {
                show(trim(line));
            } else {
                self.keep(line);
                self.finish(&mut show);
            }
        }
        self.keep(rest);
    }

    /// The last line, if it had no end.
    pub(super) fn finish(&mut self, mut show: impl FnMut(&[u8])) {
        if self.left_out > 0 {
            let note = format!(" … ({} more bytes)", self.left_out);
            self.partial.extend_from_slice(note.as_bytes());
        }
        if !self.partial.is_empty() {
            show(trim(&self.partial));
        }
        self.partial.clear();
        self.left_out = 0;
    }

    fn keep(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(self.max - self.partial.len());
        self.partial.extend_from_slice(&bytes[..kept]);
        self.left_out += (bytes.len() - kept) as u64;
    }
}

/// Without the CR of a CRLF.
fn trim(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The last lines of a stderr, for error texts.
#[derive(Debug, Default)]
pub(super) struct Tail {
    lines: VecDeque<String>,
}

impl Tail {
    /// One more line, with a mark in the place of what is not UTF-8 and of what is too long; the
    /// oldest goes when there are too many.
    pub(super) fn push(&mut self, line: &[u8]) {
        let mut kept = String::new();
        if self.lines.len() == STDERR_TAIL_LINES {
            kept = self.lines.pop_front().unwrap_or_default();
            kept.clear();
        }
        // A mark is longer than what it stands for, so the text is what is measured.
        let text = String::from_utf8_lossy(line);
        if text.len() <= STDERR_TAIL_LINE_MAX {
            kept.push_str(&text);
        } else {
            let mut end = STDERR_TAIL_LINE_MAX;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            kept.push_str(&text[..end]);
            kept.push_str(" …");
        }
        self.lines.push_back(kept);
    }

    /// Joined by newlines.
    pub(super) fn text(&self) -> String {
        let lines: Vec<_> = self.lines.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}

/// Lets [`LOG_LINES_PER_SECOND`] lines through and counts the others.
#[derive(Debug, Default)]
pub(super) struct RateLimit {
    /// When the first line of the present second came.
    since: Option<Instant>,
    shown: u32,
    dropped: u64,
}

const SECOND: Duration = Duration::from_secs(1);

impl RateLimit {
    /// Whether one more line may be shown now.
    pub(super) fn allows(&mut self, now: Instant) -> bool {
        match self.since {
            Some(since) if now < since + SECOND => {}
            _ => {
                self.since = Some(now);
                self.shown = 0;
            }
        }
        let allowed = self.shown < LOG_LINES_PER_SECOND;
        if allowed {
            self.shown += 1;
        } else {
            self.dropped += 1;
        }
        allowed
    }

    /// When [`report`](Self::report) has something to say.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.since.filter(|_| self.dropped > 0).map(|since| since + SECOND)
    }

    /// How many lines were dropped, once their second is over.
    pub(super) fn report(&mut self, now: Instant) -> Option<u64> {
        self.deadline().filter(|deadline| *deadline <= now)?;
        Some(std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> Vec<String> {
        let mut cutter = LineCutter::default();
        let mut lines = Vec::new();
        let mut show = |line: &[u8]| lines.push(String::from_utf8_lossy(line).into_owned());
        for piece in pieces {
            cutter.feed(piece, &mut show);
        }
        cutter.finish(&mut show);
        lines
    }

    #[test]
    fn lines_come_out_the_same_however_they_come_in() {
        let input = b"one\r\n\ntwo \xff\nlast";
        let expected = ["one", "", "two \u{fffd}", "last"];
        assert_eq!(cut(&[input]), expected);
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(cut(&bytes), expected);
        assert_eq!(cut(&[b""]), Vec::<String>::new());
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_is_whole() {
        let mut long = vec![b'x'; LOG_LINE_MAX + 5];
        long.extend_from_slice(b"\nnext\n");
        let whole = cut(&[&long]);
        let pieces: Vec<&[u8]> = long.chunks(1000).collect();
        assert_eq!(cut(&pieces), whole);
        assert!(whole[0].ends_with("x … (5 more bytes)"), "{}", &whole[0][LOG_LINE_MAX..]);
        assert_eq!(whole[1], "next");
    }

    #[test]
    fn the_tail_keeps_the_last_lines() {
        let mut tail = Tail::default();
        assert_eq!(tail.text(), "");
        for i in 0..STDERR_TAIL_LINES + 2 {
            tail.push(format!("line {i}").as_bytes());
        }
        let text = tail.text();
        assert_eq!(text.lines().count(), STDERR_TAIL_LINES);
        assert!(text.starts_with("line 2\n"));
    }

    #[test]
    fn the_tail_cuts_long_lines_at_a_character() {
        let mut tail = Tail::default();
        let fits = "x".repeat(STDERR_TAIL_LINE_MAX);
        tail.push(fits.as_bytes());
        assert_eq!(tail.text(), fits);
        tail.push(format!("{}ü{fits}", &fits[1..]).as_bytes());
        assert_eq!(tail.text().lines().last(), Some(&*format!("{} …", &fits[1..])));
        for _ in 0..2 * STDERR_TAIL_LINES {
            tail.push(&[0xff; LOG_LINE_MAX]);
        }
        assert_eq!(tail.text().lines().count(), STDERR_TAIL_LINES);
        assert!(tail.text().len() <= STDERR_TAIL_LINES * (STDERR_TAIL_LINE_MAX + 5), "{}", tail.text().len());
    }

    #[test]
    fn a_flood_is_counted_and_the_count_comes_when_its_second_is_over() {
        let start = Instant::now();
        let mut limit = RateLimit::default();
        let shown = (0..LOG_LINES_PER_SECOND + 3).filter(|_| limit.allows(start)).count();
        assert_eq!(shown as u32, LOG_LINES_PER_SECOND);
        assert_eq!(limit.report(start), None);
        let deadline = limit.deadline().unwrap();
        assert_eq!(limit.report(deadline), Some(3));
        assert_eq!(limit.deadline(), None);
        assert!(limit.allows(deadline));
        assert_eq!(limit.report(deadline + SECOND), None);
    }
}

//! Lines: one JSON text each, ended by LF or CRLF.

use std::borrow::Cow;

use memchr::memchr;

use crate::buffer::ReadBuffer;
use crate::limits::{LARGE_MIN, READ_BUFFER};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts bytes into lines. Blank lines and a byte order mark at the very start are skipped.
///
/// A line that grows beyond the bound is reported once, as soon as that is certain, and dropped
/// up to its end.
///
/// Invariant: `searched` bytes at the start of the unread bytes hold no newline.
#[derive(Debug)]
pub struct LineReader {
    buffer: ReadBuffer,
    max: usize,
    searched: usize,
    /// Bytes of the line that was handed out last, still at the start of the buffer.
    handed_out: usize,
    /// The rest of an over-long line is being dropped.
    is_dropping: bool,
    /// No line has ended yet, so a byte order mark may come.
    is_first: bool,
}

/// What was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line without its end; owned from [`LARGE_MIN`] bytes on, which costs no copy.
    Text(Cow<'a, [u8]>),
    /// A line that is longer than the bound.
    TooLong {
        /// Bytes of it that had come when it was given up.
        length_seen: u64,
    },
}

impl LineReader {
    /// A reader of lines of at most `max` bytes, their ends not counted.
    pub fn new(max: usize) -> Self {
        Self {
            buffer: ReadBuffer::new(),
            max,
            searched: 0,
            handed_out: 0,
            is_dropping: false,
            is_first: true,
        }
    }

    /// Where the next bytes go.
    pub fn space(&mut self) -> &mut [u8] {
        self.release();
        self.buffer.space(READ_BUFFER / 4)
    }

    /// The first `count` bytes of [`space`](Self::space) have been filled.
    pub fn advance(&mut self, count: usize) {
        self.buffer.advance(count);
    }

    /// The next line, or `None` when more bytes are needed.
    #[allow(clippy::should_implement_trait, reason = "a line borrows from the reader")]
    pub fn next(&mut self) -> Option<Line<'_>> {
        self.release();
        loop {
            let bytes = self.buffer.bytes();
            let Some(found) = memchr(b'\n', &bytes[self.searched..]) else {
                let unread = bytes.len();
                self.searched = unread;
                if self.is_dropping {
                    self.drop_unread(unread);
                    return None;
                }
                // One byte more may be the CR of the line's end, three a byte order mark.
                let mark = if self.is_first { BYTE_ORDER_MARK.len() } else { 0 };
                if unread > self.max.saturating_add(1 + mark) {
                    self.is_dropping = true;
                    self.is_first = false;
                    self.drop_unread(unread);
                    return Some(Line::TooLong { length_seen: unread as u64 });
                }
                return None;
            };
            let end = self.searched + found;
            self.searched = 0;
            if std::mem::take(&mut self.is_dropping) {
                self.buffer.consume(end + 1);
                continue;
            }
            match self.measure(end) {
                Cut::Blank => self.buffer.consume(end + 1),
                Cut::TooLong { length } => {
                    self.buffer.consume(end + 1);
                    return Some(Line::TooLong { length_seen: length as u64 });
                }
                Cut::Text { skip, length } => return Some(self.hand_out(skip, length, end + 1)),
            }
        }
    }

    /// What is left when no more bytes come: a last line without its end.
    pub fn finish(&mut self) -> Option<Line<'_>> {
        self.release();
        let end = self.buffer.bytes().len();
        self.searched = 0;
        if std::mem::take(&mut self.is_dropping) {
            self.buffer.consume(end);
            return None;
        }
        match self.measure(end) {
            Cut::Blank => {
                self.buffer.consume(end);
                None
            }
            Cut::TooLong { length } => {
                self.buffer.consume(end);
                Some(Line::TooLong { length_seen: length as u64 })
            }
            Cut::Text { skip, length } => Some(self.hand_out(skip, length, end)),
        }
    }

    /// Consumes the line that was handed out: nobody can hold it any more.
    fn release(&mut self) {
        self.buffer.consume(std::mem::take(&mut self.handed_out));
    }

    fn drop_unread(&mut self, count: usize) {
        self.buffer.consume(count);
        self.searched = 0;
    }

    /// Judges the line in the first `end` unread bytes.
    fn measure(&mut self, end: usize) -> Cut {
        let is_first = std::mem::take(&mut self.is_first);
        let line = &self.buffer.bytes()[..end];
        let skip = if is_first && line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let text = &line[skip..];
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.iter().all(u8::is_ascii_whitespace) {
            Cut::Blank
        } else if text.len() > self.max {
            Cut::TooLong { length: text.len() }
        } else {
            Cut::Text { skip, length: text.len() }
        }
    }

    /// Takes `whole` bytes off and hands out `length` of them.
    fn hand_out(&mut self, skip: usize, length: usize, whole: usize) -> Line<'_> {
        if length < LARGE_MIN {
            self.handed_out = whole;
            return Line::Text(Cow::Borrowed(&self.buffer.bytes()[skip..skip + length]));
        }
        let mut line = self.buffer.take(whole);
        line.truncate(skip + length);
        if skip > 0 {
            line.drain(..skip);
        }
        Line::Text(Cow::Owned(line))
    }
}

enum Cut {
    Blank,
    TooLong { length: usize },
    Text { skip: usize, length: usize },
}

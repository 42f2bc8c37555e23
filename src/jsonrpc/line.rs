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
    TooLong,
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
                    return Some(Line::TooLong);
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
                Cut::TooLong => {
                    self.buffer.consume(end + 1);
                    return Some(Line::TooLong);
                }
                Cut::Text { skip, length } => return Some(self.hand_out(skip, length, end + 1)),
            }
        }
    }

    /// No more bytes come: what is left is a line, too.
    pub fn finish(&mut self) {
        self.space()[0] = b'\n';
        self.advance(1);
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
            Cut::TooLong
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
    TooLong,
    Text { skip: usize, length: usize },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::random;

    /// A line, or `None` for one that was too long.
    type Seen = Vec<Option<Vec<u8>>>;

    fn take_all(reader: &mut LineReader, seen: &mut Seen) {
        while let Some(line) = reader.next() {
            seen.push(owned(line));
        }
    }

    fn owned(line: Line<'_>) -> Option<Vec<u8>> {
        match line {
            Line::Text(text) => Some(text.into_owned()),
            Line::TooLong => None,
        }
    }

    /// Feeds `bytes` in pieces of the given sizes, then ends the input.
    fn read(max: usize, bytes: &[u8], mut size: impl FnMut() -> usize) -> Seen {
        let mut reader = LineReader::new(max);
        let mut seen = Seen::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let space = reader.space();
            let count = size().clamp(1, rest.len().min(space.len()));
            space[..count].copy_from_slice(&rest[..count]);
            reader.advance(count);
            rest = &rest[count..];
            take_all(&mut reader, &mut seen);
        }
        for _ in 0..2 {
            reader.finish();
            take_all(&mut reader, &mut seen);
        }
        seen
    }

    fn some(lines: &[&str]) -> Seen {
        lines.iter().map(|line| Some(line.as_bytes().to_vec())).collect()
    }

    #[test]
    fn lines_are_the_same_however_they_arrive() {
        let table: [(&[u8], Seen); 14] = [
            (b"", some(&[])),
            (b"a\n", some(&["a"])),
            (b"a\r\nb\n", some(&["a", "b"])),
            (b"a\n\n \t\n\r\nb", some(&["a", "b"])),
            (b"\xef\xbb\xbfa\nb\n", some(&["a", "b"])),
            (b"\xef\xbb\xbf\r\nb\n", some(&["b"])),
            (b"\n\xef\xbb\xbfa\n", some(&["\u{feff}a"])),
            (b"a\rb\r\r\n", some(&["a\rb\r"])),
            (b"1234567\n", some(&["1234567"])),
            (b"12345678\r\n", some(&["12345678"])),
            (b"\xef\xbb\xbf12345678\r\nx\n", some(&["12345678", "x"])),
            (b"123456789\nx\n", vec![None, Some(b"x".to_vec())]),
            (b"1234567890123456789012345\r\nx\n", vec![None, Some(b"x".to_vec())]),
            (b"x\n1234567890123456789", vec![Some(b"x".to_vec()), None]),
        ];
        for (bytes, expected) in table {
            assert_eq!(read(8, bytes, || usize::MAX), expected, "whole {bytes:?}");
            assert_eq!(read(8, bytes, || 1), expected, "byte by byte {bytes:?}");
            let mut with_tail = bytes.to_vec();
            with_tail.extend_from_slice(b"\ntail\n");
            let mut expected = expected;
            expected.extend(some(&["tail"]));
            assert_eq!(read(8, &with_tail, || usize::MAX), expected, "with a tail {bytes:?}");
        }
    }

    #[test]
    fn nothing_is_handed_out_before_its_end() {
        let mut reader = LineReader::new(100);
        for byte in b"{\"a\":1}" {
            reader.space()[0] = *byte;
            reader.advance(1);
            assert_eq!(reader.next(), None);
        }
        reader.space()[..3].copy_from_slice(b"\n{}");
        reader.advance(3);
        assert_eq!(reader.next(), Some(Line::Text(Cow::Borrowed(b"{\"a\":1}"))));
        assert_eq!(reader.next(), None);
        reader.finish();
        assert_eq!(reader.next(), Some(Line::Text(Cow::Borrowed(b"{}"))));
    }

    #[test]
    fn random_pieces_of_lines_of_all_sizes() {
        for start in 1..=6 {
            let mut seed = start * 0x9e37_79b9;
            let max = LARGE_MIN * 2;
            let mut bytes = Vec::new();
            let mut expected = Seen::new();
            for _ in 0..30 {
                let sizes = [1, 20, 5000, LARGE_MIN - 1, LARGE_MIN, LARGE_MIN + 1, max, max + 1, max * 2];
                let len = sizes[random(&mut seed, sizes.len())];
                let line = vec![b'a' + random(&mut seed, 26) as u8; len];
                bytes.extend_from_slice(&line);
                bytes.extend_from_slice(if random(&mut seed, 2) == 0 { b"\n" } else { b"\r\n" });
                expected.push((len <= max).then_some(line));
            }
            let seen = read(max, &bytes, || 1 + random(&mut seed, 100_000));
            assert!(seen == expected, "seed {start}");
        }
    }

    #[test]
    fn a_large_line_is_owned_and_an_endless_one_is_reported_at_once() {
        let mut reader = LineReader::new(LARGE_MIN);
        let feed = |reader: &mut LineReader, bytes: &[u8]| {
            for piece in bytes.chunks(4096) {
                reader.space()[..piece.len()].copy_from_slice(piece);
                reader.advance(piece.len());
            }
        };
        feed(&mut reader, &vec![b'x'; LARGE_MIN]);
        feed(&mut reader, b"\n");
        assert!(matches!(reader.next(), Some(Line::Text(Cow::Owned(line))) if line.len() == LARGE_MIN));
        feed(&mut reader, &vec![b'x'; LARGE_MIN + 2]);
        assert_eq!(reader.next(), Some(Line::TooLong));
        for _ in 0..100 {
            feed(&mut reader, &[b'x'; 4096]);
            assert_eq!(reader.next(), None);
        }
        feed(&mut reader, b"\nok\n");
        assert_eq!(reader.next(), Some(Line::Text(Cow::Borrowed(b"ok"))));
    }
}

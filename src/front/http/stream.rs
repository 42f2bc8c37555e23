//! Streams of server-sent events (WHATWG HTML, section 9.2), and what is kept of one so that a
//! client whose connection broke can go on where it was.

use std::collections::VecDeque;
use std::io::Write as _;

use crate::limits::{HTTP_RETRY, HTTP_RING_BYTES, HTTP_RING_EVENTS};

/// A comment, which keeps everybody on the way from taking the stream for dead.
pub const COMMENT: &[u8] = b":\n\n";

/// The place of an event: in which stream, and which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    /// The exchange whose stream it is; 0 is the session's own.
    pub exchange: u64,
    /// The events are counted from 1; 0 is before all of them.
    pub number: u64,
}

impl EventId {
    /// Reads what [`Stream`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (exchange, number) = text.split_once('-')?;
        let number_of = |digits: &str| {
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok())?
        };
        Some(Self { exchange: number_of(exchange)?, number: number_of(number)? })
    }
}

/// Appends an event without an id.
pub fn write_event(out: &mut Vec<u8>, message: &[u8]) {
    // A message is one line of JSON.
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}

/// What is kept of one stream of a session.
#[derive(Debug, Default)]
pub struct Stream {
    exchange: u64,
    /// The last events, as they are spelled.
    kept: VecDeque<Box<[u8]>>,
    bytes: usize,
    /// The number of the last event.
    last: u64,
    /// Of these at the most nobody knows whether they arrived; all behind were never sent.
    sent: u64,
}

impl Stream {
    /// The stream of an exchange.
    pub fn new(exchange: u64) -> Self {
        Self { exchange, ..Self::default() }
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts a message behind the others and returns how it is spelled. Of those before so many are
    /// forgotten that the bounds hold; one that is larger than them is kept only until another
    /// comes.
    pub fn push(&mut self, message: &[u8]) -> &[u8] {
        self.last += 1;
        let mut event = Vec::with_capacity(message.len() + 40);
        // A vector takes all.
        let _ = writeln!(event, "id: {}-{}", self.exchange, self.last);
        write_event(&mut event, message);
        self.bytes += event.len();
        while self.kept.len() >= HTTP_RING_EVENTS || !self.kept.is_empty() && self.bytes > HTTP_RING_BYTES {
            self.drop_first();
        }
        self.kept.push_back(event.into());
        self.kept.back().map_or(&[], |event| event)
    }

    /// All so far was handed to a connection.
    pub fn note_sent(&mut self) {
        self.sent = self.last;
    }

    /// Appends the event that a client should have before all others: it says from where to go on,
    /// and after how long, and carries nothing.
    pub fn write_priming(&self, out: &mut Vec<u8>, after: u64) {
        // A vector takes all.
        let _ = write!(out, "id: {}-{after}\nretry: {}\ndata: \n\n", self.exchange, HTTP_RETRY.as_millis());
    }

    /// The number of the last event that was handed to a connection.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Appends what is kept of the events behind this number.
    pub fn write_after(&self, out: &mut Vec<u8>, number: u64) {
        let first = self.last - self.kept.len() as u64 + 1;
        let skipped = number.saturating_add(1).saturating_sub(first);
        for event in self.kept.iter().skip(usize::try_from(skipped).unwrap_or(usize::MAX)) {
            out.extend_from_slice(event);
        }
    }

    /// Keeps nothing of what was said so far.
    pub fn forget(&mut self) {
        self.kept = VecDeque::new();
        self.bytes = 0;
    }

    fn drop_first(&mut self) {
        if let Some(event) = self.kept.pop_front() {
            self.bytes -= event.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(stream: &Stream, number: u64) -> String {
        let mut out = Vec::new();
        stream.write_after(&mut out, number);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_stream_goes_on_behind_any_event() {
        let mut stream = Stream::new(7);
        assert_eq!(stream.push(b"{\"a\":1}"), b"id: 7-1\ndata: {\"a\":1}\n\n");
        stream.push(b"2");
        stream.note_sent();
        stream.push(b"3");
        assert_eq!(after(&stream, 0), "id: 7-1\ndata: {\"a\":1}\n\nid: 7-2\ndata: 2\n\nid: 7-3\ndata: 3\n\n");
        assert_eq!(after(&stream, stream.sent()), "id: 7-3\ndata: 3\n\n");
        for number in [3, 4, u64::MAX] {
            assert_eq!(after(&stream, number), "");
        }
        let mut out = Vec::new();
        stream.write_priming(&mut out, 2);
        assert_eq!(out, b"id: 7-2\nretry: 1000\ndata: \n\n");
        assert_eq!(after(&Stream::new(1), 0), "");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut stream = Stream::new(0);
        for number in 1..=HTTP_RING_EVENTS * 2 {
            stream.push(number.to_string().as_bytes());
        }
        assert_eq!(stream.kept.len(), HTTP_RING_EVENTS);
        let first = HTTP_RING_EVENTS + 1;
        assert!(after(&stream, 0).starts_with(&format!("id: 0-{first}\ndata: {first}\n\n")));
        stream.push(&vec![b'x'; HTTP_RING_BYTES / 2]);
        stream.push(&vec![b'y'; HTTP_RING_BYTES / 2]);
        assert_eq!(stream.kept.len(), 1);
        assert!(stream.bytes() <= HTTP_RING_BYTES);
        stream.push(&vec![b'z'; HTTP_RING_BYTES * 2]);
        assert_eq!((stream.kept.len(), stream.bytes() > HTTP_RING_BYTES), (1, true));
        stream.push(b"small");
        let last = HTTP_RING_EVENTS * 2 + 4;
        assert_eq!(after(&stream, 0), format!("id: 0-{last}\ndata: small\n\n"));
        assert_eq!(stream.bytes(), after(&stream, 0).len());
    }

    #[test]
    fn an_id_is_read_as_it_was_written() {
        assert_eq!(EventId::parse("12-34"), Some(EventId { exchange: 12, number: 34 }));
        for wrong in ["", "-", "1", "1-", "-1", "1-2-3", "+1-2", "a-1", "1-99999999999999999999", " 1-2"] {
            assert_eq!(EventId::parse(wrong), None, "{wrong}");
        }
    }
}

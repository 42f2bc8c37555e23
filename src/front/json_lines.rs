//! One JSON-RPC message per line: how a host talks over stdio. Pure.

use std::borrow::Cow;

use crate::jsonrpc::line::{Line, LineReader};
use crate::jsonrpc::message::RpcError;
use crate::mcp::request::{self, HostMessage};

/// Bytes of a host, cut into messages.
#[derive(Debug)]
pub struct JsonLines {
    lines: LineReader,
    max: usize,
}

/// What came.
#[derive(Debug)]
pub enum Arrived<'a> {
    /// A message, or what to answer when it was none.
    Message(HostMessage<'a>),
    /// A line so large ([`LARGE_MIN`](crate::limits::LARGE_MIN)) that a worker should give it to
    /// [`parse_owned`].
    Large(Vec<u8>),
}

impl JsonLines {
    /// Takes lines of up to `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { lines: LineReader::new(max), max }
    }

    /// Where the next bytes go; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        self.lines.space()
    }

    /// The first `count` bytes of [`space`](Self::space) have been filled.
    pub fn advance(&mut self, count: usize) {
        self.lines.advance(count);
    }

    /// The next message, if it is there whole.
    #[allow(clippy::should_implement_trait, reason = "a message borrows from the reader")]
    pub fn next(&mut self) -> Option<Arrived<'_>> {
        self.lines.next().map(|line| read(line, self.max))
    }

    /// No more bytes come: what is left is a message, too.
    pub fn finish(&mut self) {
        self.lines.finish();
    }
}

fn read(line: Line<'_>, max: usize) -> Arrived<'_> {
    match line {
        Line::Text(Cow::Borrowed(text)) => Arrived::Message(request::parse(text)),
        Line::Text(Cow::Owned(text)) => Arrived::Large(text),
        Line::TooLong => {
            let error = RpcError::invalid_request(format!(
                "Invalid request: the message is longer than the {max} bytes that --max-message allows"
            ));
            Arrived::Message(HostMessage::Invalid { id: None, error })
        }
    }
}

/// For a worker: a large line as a message that holds all that it needs.
pub fn parse_owned(line: &[u8]) -> HostMessage<'static> {
    request::parse(line).into_owned()
}

/// Makes a message a line. It must not hold a newline of its own.
pub fn end_line(message: &mut Vec<u8>) {
    // A large message is usually exactly as large as its vector; doubling that for one byte would
    // cost more than all else.
    message.reserve_exact(1);
    message.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LARGE_MIN;

    fn feed(reader: &mut JsonLines, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = reader.space();
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            reader.advance(count);
            bytes = &bytes[count..];
        }
    }

    fn is_ping(arrived: Option<Arrived<'_>>) -> bool {
        let Some(Arrived::Message(HostMessage::Request { request, .. })) = arrived else { return false };
        request == Ok(request::Request::Ping)
    }

    const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    #[test]
    fn lines_become_messages_also_the_last_one_without_an_end() {
        let mut reader = JsonLines::new(1000);
        feed(&mut reader, PING);
        assert!(reader.next().is_none());
        feed(&mut reader, b"\r\n\n");
        assert!(is_ping(reader.next()));
        reader.finish();
        assert!(reader.next().is_none());
        feed(&mut reader, PING);
        assert!(reader.next().is_none());
        reader.finish();
        assert!(is_ping(reader.next()));
        assert!(reader.next().is_none());
    }

    #[test]
    fn a_line_over_the_limit_is_answered_and_the_next_is_read() {
        let mut reader = JsonLines::new(100);
        feed(&mut reader, &[b'x'; 5000]);
        let Some(Arrived::Message(HostMessage::Invalid { id: None, error })) = reader.next() else {
            panic!("an over-long line must be answered");
        };
        assert!(error.message.contains("100 bytes that --max-message allows"), "{}", error.message);
        feed(&mut reader, b"xxx\n");
        feed(&mut reader, PING);
        feed(&mut reader, b"\n");
        assert!(is_ping(reader.next()));
    }

    #[test]
    fn a_large_line_is_left_to_a_worker() {
        let mut reader = JsonLines::new(LARGE_MIN * 2);
        let padding = " ".repeat(LARGE_MIN);
        feed(&mut reader, format!("{padding}{}\n", String::from_utf8_lossy(PING)).as_bytes());
        let Some(Arrived::Large(line)) = reader.next() else { panic!("it is large") };
        assert!(is_ping(Some(Arrived::Message(parse_owned(&line)))));
    }

    #[test]
    fn a_message_becomes_a_line_without_growing_more_than_it_must() {
        let mut message = vec![b'x'; 1000];
        end_line(&mut message);
        assert_eq!(message.last(), Some(&b'\n'));
        assert!(message.capacity() < 1100);
    }
}

//! How a response is spelled (RFC 9112), with whatever it carries.

use std::io::Write as _;

/// How the end of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// There is none, and none is told of: 204, 202 and 304 need no length.
    None,
    /// So many bytes follow.
    Sized(usize),
    /// Chunks follow; the last is [`LAST_CHUNK`].
    Chunked,
    /// All that comes until the connection ends: for clients of HTTP/1.0.
    ToTheEnd,
}

/// What ends a body in chunks.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The sign that a body may be sent.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A head on its way out.
#[derive(Debug)]
pub struct HeadWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> HeadWriter<'a> {
    /// Begins with the status line.
    pub fn new(out: &'a mut Vec<u8>, status: u16) -> Self {
        out.extend_from_slice(b"HTTP/1.1 ");
        number(out, usize::from(status));
        out.push(b' ');
        out.extend_from_slice(reason(status).as_bytes());
        out.extend_from_slice(b"\r\n");
        Self { out }
    }

    /// Adds a header. Whatever could end its line becomes a space, so that no value can bring a
    /// header of its own.
    pub fn field(self, name: &str, value: &str) -> Self {
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        let is_sound = |byte: u8| byte >= b' ' && byte != 0x7f;
        if value.bytes().all(is_sound) {
            self.out.extend_from_slice(value.as_bytes());
        } else {
            self.out.extend(value.bytes().map(|byte| if is_sound(byte) { byte } else { b' ' }));
        }
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Adds a header if there is a value for it.
    pub fn field_if(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    /// Ends the head.
    pub fn end(self, length: Length) {
        match length {
            Length::None | Length::ToTheEnd => {}
            Length::Sized(length) => {
                self.out.extend_from_slice(b"Content-Length: ");
                number(self.out, length);
                self.out.extend_from_slice(b"\r\n");
            }
            Length::Chunked => self.out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
        }
        self.out.extend_from_slice(b"\r\n");
    }
}

/// Appends a piece of a body that comes in chunks. Nothing is no chunk: that would be the last.
pub fn chunk(out: &mut Vec<u8>, data: &[u8]) {
    if !data.is_empty() {
        // A vector takes all.
        let _ = write!(out, "{:x}\r\n", data.len());
        out.extend_from_slice(data);
        out.extend_from_slice(b"\r\n");
    }
}

fn number(out: &mut Vec<u8>, number: usize) {
    // A vector takes all.
    let _ = write!(out, "{number}");
}

/// The phrase of a status.
const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        // The phrase says nothing that the number does not.
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(out: Vec<u8>) -> String {
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_head_is_spelled() {
        let mut out = Vec::new();
        HeadWriter::new(&mut out, 200).field("A", "b c").field_if("D", None).end(Length::Sized(12));
        assert_eq!(text(out), "HTTP/1.1 200 OK\r\nA: b c\r\nContent-Length: 12\r\n\r\n");
        let mut out = Vec::new();
        HeadWriter::new(&mut out, 299).field_if("D", Some("e")).end(Length::Chunked);
        chunk(&mut out, b"");
        chunk(&mut out, b"0123456789abcdef");
        out.extend_from_slice(LAST_CHUNK);
        let expected =
            "HTTP/1.1 299 \r\nD: e\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n";
        assert_eq!(text(out), expected);
        for length in [Length::None, Length::ToTheEnd] {
            let mut out = Vec::new();
            HeadWriter::new(&mut out, 204).end(length);
            assert_eq!(text(out), "HTTP/1.1 204 No Content\r\n\r\n");
        }
    }

    #[test]
    fn no_value_brings_a_header_of_its_own() {
        let mut out = Vec::new();
        HeadWriter::new(&mut out, 403).field("A", "b\r\nEvil: 1\r\n\r\nbody\u{0}\u{7f}é").end(Length::None);
        assert_eq!(text(out), "HTTP/1.1 403 Forbidden\r\nA: b  Evil: 1    body  é\r\n\r\n");
    }
}

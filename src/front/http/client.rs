//! The other side of HTTP, as far as we need it: one plain GET, to ask another pmcp how it is.

use crate::limits::{HEALTH_ANSWER_MAX, HTTP_FIELDS_MAX, SHOWN_MAX};

/// The bytes of a request for this path. Neither text may hold blanks or control characters.
pub fn get(host: &str, path: &str) -> Vec<u8> {
    let agent = concat!("pmcp/", env!("CARGO_PKG_VERSION"));
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The first line of the body, made fit for a terminal; may be empty.
    pub line: String,
}

/// Reads the answer of which so much has come; `is_all` if no more will. `None`: more is needed.
///
/// # Errors
/// It is no answer of an HTTP server.
pub fn read(bytes: &[u8], is_all: bool) -> Result<Option<Answer>, &'static str> {
    let mut fields = [httparse::EMPTY_HEADER; HTTP_FIELDS_MAX];
    let mut head = httparse::Response::new(&mut fields);
    let is_all = is_all || bytes.len() >= HEALTH_ANSWER_MAX;
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if !is_all => return Ok(None),
        Ok(httparse::Status::Partial) if bytes.is_empty() => {
            return Err("the connection was closed without an answer");
        }
        Ok(httparse::Status::Partial) => return Err("the answer breaks off"),
        Err(_) => return Err("what answers does not speak HTTP"),
    };
    let status = head.code.unwrap_or_default();
    let field = |name: &str| head.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
    let body = &bytes[length..];
    let sized = field("content-length").and_then(|field| std::str::from_utf8(field.value).ok()?.parse().ok());
    let is_complete = sized.is_some_and(|sized: usize| body.len() >= sized);
    if !is_complete && !is_all {
        return Ok(None);
    }
    // What comes in chunks is of another server, and its words say little about us.
    let text = String::from_utf8_lossy(if sized.is_some() { body } else { b"" });
    let line = text.lines().next().unwrap_or_default().trim();
    let line = line.chars().take(SHOWN_MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    Ok(Some(Answer { status, line }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_spelled() {
        let text = String::from_utf8(get("h:1", "/readyz")).unwrap();
        assert!(text.starts_with("GET /readyz HTTP/1.1\r\nHost: h:1\r\nUser-Agent: pmcp/"));
        assert!(text.ends_with("\r\nConnection: close\r\n\r\n"));
    }

    #[test]
    fn an_answer_is_read_when_it_is_there_and_not_before() {
        for (text, status, line) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nready\n", 200, "ready"),
            ("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 8\r\n\r\nwhy\nmore", 503, "why"),
            ("HTTP/1.0 204 \r\nContent-Length: 0\r\n\r\n", 204, ""),
            ("HTTP/1.1 500 X\r\nContent-Length: 7\r\n\r\n\u{1b}[31ma\n", 500, "\u{fffd}[31ma"),
        ] {
            let expected = Answer { status, line: line.into() };
            for end in 0..text.len() {
                assert_eq!(read(&text.as_bytes()[..end], false), Ok(None), "{text} up to {end}");
            }
            assert_eq!(read(text.as_bytes(), false), Ok(Some(expected)), "{text}");
        }
    }

    #[test]
    fn the_end_of_the_connection_ends_an_answer_without_a_length() {
        let text = b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
        assert_eq!(read(text, false), Ok(None));
        assert_eq!(read(text, true), Ok(Some(Answer { status: 404, line: String::new() })));
        // Nor does it go on for ever.
        let long = [&text[..], &[b'x'; HEALTH_ANSWER_MAX]].concat();
        assert_eq!(read(&long, false).unwrap().unwrap().status, 404);
        let head = [b"HTTP/1.1 200 OK\r\nA: ", &[b'x'; HEALTH_ANSWER_MAX][..]].concat();
        assert_eq!(read(&head, false), Err("the answer breaks off"));
    }

    #[test]
    fn what_is_no_answer_is_named() {
        assert_eq!(read(b"", true), Err("the connection was closed without an answer"));
        assert_eq!(read(b"HTTP/1.1 20", true), Err("the answer breaks off"));
        assert_eq!(read(b"SSH-2.0-OpenSSH\r\n", false), Err("what answers does not speak HTTP"));
        assert_eq!(read(b"\x15\x03\x01\x00\x02\x02F", false), Err("what answers does not speak HTTP"));
    }
}

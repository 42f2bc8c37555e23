//! The head of a request (RFC 9112): what was asked for, under which headers.
//!
//! Strict where two readers of one stream of bytes could see two different requests: that is how
//! one client smuggles a request into another's connection behind a proxy.

use std::mem::MaybeUninit;

use super::guard::{self, Field};
use crate::limits::HTTP_FIELDS_MAX;

/// The head of a request, with its bytes.
#[derive(Clone, Debug)]
pub struct Head {
    text: Box<[u8]>,
    method: Span,
    path: Span,
    /// The host that a target names that is a whole URL.
    authority: Option<Span>,
    fields: Box<[(Span, Span)]>,
    /// HTTP/1.1 instead of HTTP/1.0.
    is_current: bool,
    framing: Framing,
}

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// It has so many bytes; most often none.
    Sized(u64),
    /// It comes in chunks, of which the last is empty.
    Chunked,
}

/// What is wrong with a request so that nothing behind it on its connection can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The status of the response.
    pub status: u16,
    /// A line for a person.
    pub line: &'static str,
}

/// Where a part of the head lies in its text.
#[derive(Clone, Copy, Debug)]
struct Span(u16, u16);

impl Fault {
    /// A request that breaks the grammar.
    pub(super) const fn bad(line: &'static str) -> Self {
        Self { status: 400, line }
    }
}

impl Head {
    /// Reads a whole head, the empty line at its end included.
    ///
    /// # Errors
    /// What the grammar forbids, and what cannot be answered however it goes on.
    pub fn parse(text: &[u8]) -> Result<Self, Fault> {
        let mut room = [const { MaybeUninit::uninit() }; HTTP_FIELDS_MAX];
        let mut request = httparse::Request::new(&mut []);
        match request.parse_with_uninit_headers(text, &mut room) {
            Ok(httparse::Status::Complete(length)) if length == text.len() => {}
            Ok(_) => return Err(Fault::bad("the head ends too early")),
            Err(error) => return Err(fault(error)),
        }
        let (Some(method), Some(target), Some(version)) = (request.method, request.path, request.version)
        else {
            return Err(Fault::bad("this is no request line"));
        };
        let (authority, path) = split_target(method, target)?;
        let span = |part: &[u8]| Span::of(text, part);
        let mut head = Self {
            method: span(method.as_bytes()),
            path: span(path.as_bytes()),
            authority: authority.map(|authority| span(authority.as_bytes())),
            fields: request
                .headers
                .iter()
                .map(|field| (span(field.name.as_bytes()), span(field.value)))
                .collect(),
            text: text.into(),
            is_current: version == 1,
            framing: Framing::Sized(0),
        };
        head.framing = head.read_framing()?;
        match guard::Head::field(&head, "host") {
            Field::Absent if head.is_current => Err(Fault::bad("the Host header is missing")),
            Field::Unclear => Err(Fault::bad("there is more than one Host header")),
            _ if head.count("host") > 1 => Err(Fault::bad("there is more than one Host header")),
            _ => Ok(head),
        }
    }

    /// How the end of the body is known.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether the response may come in chunks, and the connection live on by itself: HTTP/1.1.
    pub fn is_current(&self) -> bool {
        self.is_current
    }

    /// Whether another request may follow on the same connection.
    pub fn keeps_alive(&self) -> bool {
        if self.is_current {
            !self.lists("connection", "close")
        } else {
            self.lists("connection", "keep-alive")
        }
    }

    /// Whether the client waits for a sign before it sends the body.
    ///
    /// # Errors
    /// It expects something else.
    pub fn expects_continue(&self) -> Result<bool, Fault> {
        match guard::Head::field(self, "expect") {
            Field::Absent => Ok(false),
            // HTTP/1.0 knows no interim responses (RFC 9110, section 10.1.1).
            Field::Is(what) if what.eq_ignore_ascii_case("100-continue") => Ok(self.is_current),
            _ => Err(Fault { status: 417, line: "the one expectation that is met is 100-continue" }),
        }
    }

    /// Whether a header that is a list of words holds this one, in whatever case.
    pub fn lists(&self, name: &str, word: &str) -> bool {
        self.list(name).any(|item| item.eq_ignore_ascii_case(word))
    }

    /// The items of a header that is a list, over all its lines. Those that are no text are left out.
    pub fn list<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.values(name)
            .filter_map(|value| str::from_utf8(value).ok())
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .filter(|item| !item.is_empty())
    }

    fn read_framing(&self) -> Result<Framing, Fault> {
        let codings = self.count("transfer-encoding");
        let lengths = self.count("content-length");
        if codings > 0 {
            if lengths > 0 {
                return Err(Fault::bad("Content-Length and Transfer-Encoding exclude each other"));
            }
            if !self.is_current {
                return Err(Fault::bad("HTTP/1.0 has no Transfer-Encoding"));
            }
            return match guard::Head::field(self, "transfer-encoding") {
                Field::Is(coding) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunked),
                _ => {
                    Err(Fault { status: 501, line: "the one transfer coding that is understood is chunked" })
                }
            };
        }
        match guard::Head::field(self, "content-length") {
            Field::Absent => Ok(Framing::Sized(0)),
            Field::Is(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                match digits.parse() {
                    Ok(length) => Ok(Framing::Sized(length)),
                    Err(_) => Err(Fault { status: 413, line: "the body is too large" }),
                }
            }
            Field::Is(_) => Err(Fault::bad("the Content-Length is not a number")),
            Field::Unclear => Err(Fault::bad("there is more than one Content-Length")),
        }
    }

    fn count(&self, name: &str) -> usize {
        self.values(name).count()
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(|(field, _)| self.bytes(*field).eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| self.bytes(*value))
    }

    fn bytes(&self, span: Span) -> &[u8] {
        &self.text[usize::from(span.0)..usize::from(span.1)]
    }

    /// What the grammar says is text.
    fn str(&self, span: Span) -> &str {
        str::from_utf8(self.bytes(span)).unwrap_or_default()
    }

    fn value(&self, span: Span) -> Field<'_> {
        str::from_utf8(self.bytes(span)).map_or(Field::Unclear, Field::Is)
    }
}

impl guard::Head for Head {
    fn method(&self) -> &str {
        self.str(self.method)
    }

    fn path(&self) -> &str {
        match self.str(self.path) {
            // Of a URL that is a host alone.
            "" => "/",
            path => path,
        }
    }

    fn field(&self, name: &str) -> Field<'_> {
        if name == "host"
            && let Some(authority) = self.authority
        {
            return self.value(authority);
        }
        let mut found =
            self.fields.iter().filter(|(field, _)| self.bytes(*field).eq_ignore_ascii_case(name.as_bytes()));
        match (found.next(), found.next()) {
            (None, _) => Field::Absent,
            (Some(&(_, value)), None) => self.value(value),
            _ => Field::Unclear,
        }
    }
}

impl Span {
    /// Where `part`, a piece of `whole`, lies in it.
    fn of(whole: &[u8], part: &[u8]) -> Self {
        let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr()).min(whole.len());
        let end = (start + part.len()).min(whole.len());
        // Heads are shorter than what a u16 counts.
        Self(start as u16, end as u16)
    }
}

/// The authority and the path of a target; what stands behind a question mark is left out.
fn split_target<'a>(method: &str, target: &'a str) -> Result<(Option<&'a str>, &'a str), Fault> {
    const FAULT: Fault = Fault::bad("the target of the request is neither a path nor a URL");
    let without_query = |path: &'a str| path.split('?').next().unwrap_or_default();
    if target.starts_with('/') || target == "*" && method == "OPTIONS" {
        return Ok((None, without_query(target)));
    }
    let (scheme, rest) = target.split_once("://").ok_or(FAULT)?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(FAULT);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.is_empty() {
        return Err(FAULT);
    }
    Ok((Some(authority), without_query(path)))
}

fn fault(error: httparse::Error) -> Fault {
    match error {
        httparse::Error::HeaderName => Fault::bad("a header has no sound name"),
        httparse::Error::HeaderValue => Fault::bad("the value of a header holds what it must not"),
        httparse::Error::TooManyHeaders => Fault { status: 431, line: "there are too many headers" },
        httparse::Error::Version => Fault { status: 505, line: "HTTP/1.1 and HTTP/1.0 are spoken here" },
        _ => Fault::bad("this is no request line"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::guard::Head as _;
    use super::*;

    fn parse(lines: &str) -> Result<Head, Fault> {
        Head::parse(format!("{}\r\n\r\n", lines.replace('\n', "\r\n")).as_bytes())
    }

    fn status(lines: &str) -> u16 {
        parse(lines).expect_err(lines).status
    }

    #[test]
    fn a_head_tells_what_is_in_it() {
        let head = parse(
            "POST /mcp?x=/y HTTP/1.1\nHost: a.example:80\nContent-Length: 007\nX-A:  b c \nx-E:\nConnection: Foo, Close",
        )
        .unwrap();
        assert_eq!((head.method(), head.path()), ("POST", "/mcp"));
        assert_eq!(head.field("host"), Field::Is("a.example:80"));
        assert_eq!(head.field("x-a"), Field::Is("b c"));
        assert_eq!(head.field("x-e"), Field::Is(""));
        assert_eq!(head.field("x-b"), Field::Absent);
        assert_eq!(head.framing(), Framing::Sized(7));
        assert!(head.is_current() && !head.keeps_alive());
        assert!(parse("GET / HTTP/1.1\nHost: a").unwrap().keeps_alive());
        assert!(!parse("GET / HTTP/1.0").unwrap().keeps_alive());
        assert!(parse("GET / HTTP/1.0\nConnection: keep-alive").unwrap().keeps_alive());
    }

    #[test]
    fn a_value_that_is_there_twice_or_is_no_text_is_unclear() {
        let head =
            Head::parse(b"GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a: 1\r\nX-B: \xff\r\n\r\n").unwrap();
        assert_eq!(head.field("x-a"), Field::Unclear);
        assert_eq!(head.field("x-b"), Field::Unclear);
        assert!(head.lists("x-a", "1"));
    }

    #[test]
    fn a_target_may_be_a_whole_url() {
        for (target, host, path) in [
            ("http://b.example/mcp?q", "b.example", "/mcp"),
            ("HTTPS://b:1", "b:1", "/"),
            ("http://b?x", "b", "/"),
            ("/http://b/", "a", "/http://b/"),
        ] {
            let head = parse(&format!("POST {target} HTTP/1.1\nHost: a")).unwrap();
            assert_eq!((head.field("host"), head.path()), (Field::Is(host), path), "{target}");
        }
        assert_eq!(parse("OPTIONS * HTTP/1.1\nHost: a").unwrap().path(), "*");
        for target in ["*", "mcp", "ftp://a/", "http://", "http:///mcp", "a:80"] {
            assert_eq!(status(&format!("POST {target} HTTP/1.1\nHost: a")), 400, "{target}");
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for (lines, expected) in [
            ("Content-Length: 1\nContent-Length: 1", 400),
            ("Content-Length: 1\nContent-Length: 2", 400),
            ("Content-Length: 1, 1", 400),
            ("Content-Length: +1", 400),
            ("Content-Length: -1", 400),
            ("Content-Length: 0x1", 400),
            ("Content-Length: 1 1", 400),
            ("Content-Length:", 400),
            ("Content-Length: 99999999999999999999", 413),
            ("Content-Length: 1\nTransfer-Encoding: chunked", 400),
            ("Transfer-Encoding: chunked\nContent-Length: 0", 400),
            ("Transfer-Encoding: chunked\nTransfer-Encoding: chunked", 501),
            ("Transfer-Encoding: gzip, chunked", 501),
            ("Transfer-Encoding: chunked, identity", 501),
            ("Transfer-Encoding: identity", 501),
            ("Transfer-Encoding: \u{b}chunked", 400),
            ("Transfer-Encoding : chunked", 400),
            ("Content-Length : 1", 400),
            ("X: a\n folded", 400),
            (" X: a", 400),
            ("X\u{0}: a", 400),
            ("X: a\u{0}b", 400),
            ("X", 400),
            (": a", 400),
            ("Host: b", 400),
        ] {
            assert_eq!(status(&format!("POST /mcp HTTP/1.1\nHost: a\n{lines}")), expected, "{lines}");
        }
        assert_eq!(Head::parse(b"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n").unwrap_err().status, 400);
        assert_eq!(status("POST /mcp HTTP/1.0\nTransfer-Encoding: chunked"), 400);
        assert_eq!(status("POST /mcp HTTP/1.1"), 400);
        assert_eq!(status("POST http://a/mcp HTTP/1.1\nHost: a\nHost: a"), 400);
        assert_eq!(status("POST /mcp HTTP/2.0\nHost: a"), 505);
        assert_eq!(status("POST  /mcp HTTP/1.1\nHost: a"), 400);
        assert_eq!(status("POST /m cp HTTP/1.1\nHost: a"), 505);
        assert_eq!(status("PO(ST /mcp HTTP/1.1\nHost: a"), 400);
        let many = "X: a\n".repeat(HTTP_FIELDS_MAX);
        assert_eq!(status(&format!("GET / HTTP/1.1\nHost: a\n{}", many.trim_end())), 431);
        assert!(parse("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: Chunked").is_ok());
    }

    #[test]
    fn one_expectation_is_met() {
        let expects = |lines: &str| parse(lines).unwrap().expects_continue().map_err(|fault| fault.status);
        assert_eq!(expects("GET / HTTP/1.1\nHost: a"), Ok(false));
        assert_eq!(expects("GET / HTTP/1.1\nHost: a\nExpect: 100-Continue"), Ok(true));
        assert_eq!(expects("GET / HTTP/1.0\nHost: a\nExpect: 100-continue"), Ok(false));
        assert_eq!(expects("GET / HTTP/1.1\nHost: a\nExpect: more"), Err(417));
    }
}

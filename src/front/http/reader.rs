//! A connection's bytes to requests: first the head, then the body.
//!
//! Bytes are only kept while a request has arrived in part. An idle connection holds none, which
//! is what makes ten thousand of them cheap.

use std::borrow::Cow;

use super::chunked::Chunked;
use super::head::{Fault, Framing, Head};
use crate::limits::{HTTP_BODY_FIRST_STEP, HTTP_HEAD_MAX};

/// What has come on one connection.
#[derive(Debug)]
pub struct Reader {
    /// The most that a body may hold.
    max: usize,
    state: State,
    /// The head so far, or the body.
    kept: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// In a head. Its first bytes hold no end of it.
    Head {
        searched: usize,
    },
    /// In a body of which so much is still to come.
    Sized {
        left: usize,
    },
    Chunked(Chunked),
    /// In a body that nobody wants.
    SkipSized {
        left: u64,
    },
    SkipChunked(Chunked),
}

/// A part of a request.
#[derive(Debug)]
pub enum Event<'a> {
    /// What is wanted. The body follows, even if it is empty.
    Head(Head),
    /// All that belongs to the head before.
    Body(Cow<'a, [u8]>),
}

impl Reader {
    /// Takes bodies of up to `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { max, state: State::Head { searched: 0 }, kept: Vec::new() }
    }

    /// Whether a request has arrived in part.
    pub fn is_mid_request(&self) -> bool {
        !self.kept.is_empty() || !matches!(self.state, State::Head { .. })
    }

    /// Whether a body is awaited, or its rest.
    pub fn is_mid_body(&self) -> bool {
        !matches!(self.state, State::Head { .. })
    }

    /// Bytes that are kept.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Takes the next part of a request from `input`; `None` when it has to wait for more.
    ///
    /// # Errors
    /// Nothing behind it can be believed: the connection is to be closed.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Event<'a>>, Fault> {
        loop {
            match &mut self.state {
                State::Head { searched } => {
                    let mut searched = *searched;
                    if self.kept.is_empty() {
                        // Empty lines before a request are none of it (RFC 9112, section 2.2).
                        while let Some(rest) = input.strip_prefix(b"\r\n") {
                            *input = rest;
                        }
                    }
                    let head = if self.kept.is_empty() {
                        match find_end(input, &mut searched)? {
                            Some(end) => {
                                let (text, rest) = input.split_at(end);
                                *input = rest;
                                Head::parse(text)?
                            }
                            None => return self.keep_head(input, searched),
                        }
                    } else {
                        let before = self.kept.len();
                        // Not more than a head can have, so that the end of it is found in any case.
                        let count = input.len().min(HTTP_HEAD_MAX + 1 - before);
                        self.kept.extend_from_slice(&input[..count]);
                        match find_end(&self.kept, &mut searched)? {
                            Some(end) => {
                                *input = &input[end - before..];
                                let kept = std::mem::take(&mut self.kept);
                                if kept.starts_with(b"\r\n") {
                                    // It was cut within an empty line.
                                    Head::parse(&kept[2..end])?
                                } else {
                                    Head::parse(&kept[..end])?
                                }
                            }
                            None => {
                                *input = &input[count..];
                                return self.keep_head(&mut &[][..], searched);
                            }
                        }
                    };
                    self.state = self.begin_body(&head)?;
                    return Ok(Some(Event::Head(head)));
                }
                State::Sized { left } => {
                    if self.kept.is_empty() && input.len() >= *left {
                        let (body, rest) = input.split_at(*left);
                        *input = rest;
                        self.state = State::Head { searched: 0 };
                        return Ok(Some(Event::Body(Cow::Borrowed(body))));
                    }
                    let count = input.len().min(*left);
                    *left -= count;
                    let whole = self.kept.len() + count + *left;
                    keep(&mut self.kept, &input[..count], whole);
                    *input = &input[count..];
                    if *left > 0 {
                        return Ok(None);
                    }
                    return Ok(Some(self.whole_body()));
                }
                State::Chunked(chunked) => {
                    while let Some(data) = chunked.next(input)? {
                        if data.len() > self.max - self.kept.len() {
                            return Err(TOO_LARGE);
                        }
                        self.kept.extend_from_slice(data);
                    }
                    if !chunked.is_done() {
                        return Ok(None);
                    }
                    return Ok(Some(self.whole_body()));
                }
                State::SkipSized { left } => {
                    let count = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                    *input = &input[count..];
                    *left -= count as u64;
                    if *left > 0 {
                        return Ok(None);
                    }
                    self.state = State::Head { searched: 0 };
                }
                State::SkipChunked(chunked) => {
                    while chunked.next(input)?.is_some() {}
                    if !chunked.is_done() {
                        return Ok(None);
                    }
                    self.state = State::Head { searched: 0 };
                }
            }
        }
    }

    /// The body of the head that was just handed out is not wanted: the next event is the head
    /// behind it.
    pub fn skip_body(&mut self) {
        self.kept = Vec::new();
        self.state = match self.state {
            State::Sized { left } => State::SkipSized { left: left as u64 },
            State::Chunked(chunked) => State::SkipChunked(chunked),
            other => other,
        };
    }

    /// How much of a body that is skipped is still to come, as far as that is known.
    pub fn left_to_skip(&self) -> Option<u64> {
        match self.state {
            State::SkipSized { left } => Some(left),
            State::SkipChunked(_) => None,
            _ => Some(0),
        }
    }

    /// Keeps a part of a head.
    fn keep_head<'a>(&mut self, input: &mut &'a [u8], searched: usize) -> Result<Option<Event<'a>>, Fault> {
        if self.kept.len() + input.len() > HTTP_HEAD_MAX {
            return Err(Fault { status: 431, line: "the head of the request is too large" });
        }
        self.kept.extend_from_slice(input);
        *input = &[];
        self.state = State::Head { searched };
        Ok(None)
    }

    fn begin_body(&self, head: &Head) -> Result<State, Fault> {
        match head.framing() {
            Framing::Sized(length) => match usize::try_from(length) {
                Ok(left) if left <= self.max => Ok(State::Sized { left }),
                // Whoever refuses this request for another reason may do so before.
                _ => Err(TOO_LARGE),
            },
            Framing::Chunked => Ok(State::Chunked(Chunked::default())),
        }
    }

    fn whole_body(&mut self) -> Event<'static> {
        self.state = State::Head { searched: 0 };
        Event::Body(Cow::Owned(std::mem::take(&mut self.kept)))
    }
}

const TOO_LARGE: Fault = Fault { status: 413, line: "the body is larger than --max-message allows" };

/// The end of the head that `text` begins with. Looks only behind what it `searched` before.
///
/// # Errors
/// A line that does not end with CR and LF: readers differ in whether that is an end.
fn find_end(text: &[u8], searched: &mut usize) -> Result<Option<usize>, Fault> {
    // A head has at least one line, so an empty one at the start is none.
    let start = if text.starts_with(b"\r\n") { 2 } else { 0 };
    for at in memchr::memchr_iter(b'\n', &text[*searched..]) {
        let at = *searched + at;
        if at > HTTP_HEAD_MAX {
            break;
        }
        match at.checked_sub(1).map(|before| text[before]) {
            Some(b'\r') => {}
            _ => return Err(Fault::bad("a line of the head does not end with CR and LF")),
        }
        if at >= start + 3 && text[at - 3..at] == *b"\r\n\r" {
            return Ok(Some(at + 1));
        }
    }
    *searched = text.len();
    Ok(None)
}

/// Appends to a body that will have `whole` bytes. It gets the whole room once a part of it has
/// arrived: a length alone must not cost us memory.
fn keep(body: &mut Vec<u8>, piece: &[u8], whole: usize) {
    let needed = body.len() + piece.len();
    if needed > body.capacity() {
        let step = whole.min(needed.saturating_mul(8).max(HTTP_BODY_FIRST_STEP));
        body.reserve_exact(step.max(needed) - body.len());
    }
    body.extend_from_slice(piece);
}

#[cfg(test)]
mod tests {
    use super::super::guard::Head as _;
    use super::*;

    const MAX: usize = 100_000;

    /// The paths and bodies of all requests that are in a text, fed in pieces of so many bytes.
    fn read(text: &[u8], piece: usize) -> (Vec<(String, Vec<u8>)>, Option<Fault>) {
        let mut reader = Reader::new(MAX);
        let mut requests: Vec<(String, Vec<u8>)> = Vec::new();
        for mut input in text.chunks(piece) {
            loop {
                match reader.next(&mut input) {
                    Ok(Some(Event::Head(head))) => requests.push((head.path().into(), b"-".to_vec())),
                    Ok(Some(Event::Body(body))) => requests.last_mut().unwrap().1 = body.into_owned(),
                    Ok(None) => break,
                    Err(fault) => return (requests, Some(fault)),
                }
            }
            assert!(input.is_empty());
        }
        assert!(!requests.iter().any(|(_, body)| body == b"-") || reader.is_mid_body());
        (requests, None)
    }

    fn paths(requests: &[(String, Vec<u8>)]) -> Vec<&str> {
        requests.iter().map(|(path, _)| path.as_str()).collect()
    }

    #[test]
    fn requests_are_the_same_however_they_arrive() {
        let text = b"\r\n\r\nPOST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n\r\nPOST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\nGET /d HTTP/1.0\r\n\r\n";
        let expected: Vec<(String, Vec<u8>)> = [("/a", "\r\n\r\n"), ("/b", ""), ("/c", "ab"), ("/d", "")]
            .map(|(path, body)| (path.into(), body.into()))
            .into();
        for piece in [1, 2, 3, 5, 7, 11, 50, text.len()] {
            assert_eq!(read(text, piece), (expected.clone(), None), "by {piece}");
        }
        for cut in 0..text.len() {
            let (requests, fault) = read(&text[..cut], 4096);
            assert!(fault.is_none() && requests.len() <= 4, "cut at {cut}");
        }
    }

    #[test]
    fn a_whole_body_in_one_read_is_not_copied() {
        let text = b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nabGET";
        let mut reader = Reader::new(MAX);
        let mut input = &text[..];
        assert!(matches!(reader.next(&mut input), Ok(Some(Event::Head(_)))));
        assert!(matches!(reader.next(&mut input), Ok(Some(Event::Body(Cow::Borrowed(b"ab"))))));
        assert!(!reader.is_mid_request());
        assert!(matches!(reader.next(&mut input), Ok(None)));
        assert!(reader.is_mid_request() && !reader.is_mid_body());
    }

    #[test]
    fn an_idle_connection_keeps_no_bytes() {
        let mut reader = Reader::new(MAX);
        for part in ["POST /a HTTP/1.1\r\nHo", "st: h\r\nContent-Length: 4\r\n\r\nab", "cd"] {
            let mut input = part.as_bytes();
            while reader.next(&mut input).unwrap().is_some() {}
        }
        assert_eq!((reader.kept.capacity(), reader.is_mid_request()), (0, false));
    }

    #[test]
    fn lines_end_with_cr_and_lf() {
        for text in [
            "GET /a HTTP/1.1\nHost: h\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\n\r\n",
            "GET /a HTTP/1.1\r\nHost: h\r\n\n",
            "\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n",
            "\x16\x03\x01\n",
        ] {
            for piece in [1, text.len()] {
                let (requests, fault) = read(text.as_bytes(), piece);
                assert_eq!((requests.len(), fault.map(|fault| fault.status)), (0, Some(400)), "{text:?}");
            }
        }
    }

    #[test]
    fn what_is_smuggled_behind_a_fault_is_never_seen() {
        for framing in
            ["Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\nContent-Length: 0"]
        {
            let text = format!(
                "POST /a HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\nHost: h\r\n\r\n"
            );
            for piece in [1, 10, text.len()] {
                let (requests, fault) = read(text.as_bytes(), piece);
                assert_eq!((requests.len(), fault.map(|fault| fault.status)), (0, Some(400)));
            }
        }
        let text = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\nGET /evil HTTP/1.1\r\nHost: h\r\n\r\n";
        let (requests, fault) = read(text.as_bytes(), text.len());
        assert_eq!((paths(&requests), fault.map(|fault| fault.status)), (vec!["/a"], Some(400)));
    }

    #[test]
    fn heads_and_bodies_are_bounded() {
        let long = format!("GET /a HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "x".repeat(HTTP_HEAD_MAX));
        let endless = "x".repeat(HTTP_HEAD_MAX + 1);
        for piece in [1000, 1_000_000] {
            for text in [&long, &endless] {
                let (requests, fault) = read(text.as_bytes(), piece);
                assert_eq!((requests.len(), fault.map(|fault| fault.status)), (0, Some(431)));
            }
        }
        let most = format!("GET /a HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "x".repeat(HTTP_HEAD_MAX - 33));
        assert_eq!(most.len(), HTTP_HEAD_MAX);
        for piece in [1000, 1_000_000] {
            assert_eq!(read(format!("{most}{most}").as_bytes(), piece).0.len(), 2);
        }
        let sized = format!("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", MAX + 1);
        assert_eq!(read(sized.as_bytes(), 1).1.map(|fault| fault.status), Some(413));
        let mut chunked = b"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        chunked
            .extend_from_slice(format!("1\r\na\r\n{MAX:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(MAX)).as_bytes());
        for piece in [1000, 1_000_000] {
            assert_eq!(read(&chunked, piece).1.map(|fault| fault.status), Some(413));
        }
    }

    #[test]
    fn a_claim_costs_nothing() {
        let mut reader = Reader::new(1 << 30);
        let text = format!("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\nx", 1 << 30);
        let mut input = text.as_bytes();
        while reader.next(&mut input).unwrap().is_some() {}
        assert!(reader.kept.capacity() <= HTTP_BODY_FIRST_STEP);
    }

    #[test]
    fn a_body_that_nobody_wants_is_stepped_over() {
        for framing in
            ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]
        {
            let text = format!("POST /a HTTP/1.1\r\nHost: h\r\n{framing}GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
            for piece in [1, 100, text.len()] {
                let mut reader = Reader::new(10);
                let mut heads = Vec::new();
                for mut input in text.as_bytes().chunks(piece) {
                    while let Some(event) = reader.next(&mut input).unwrap() {
                        match event {
                            Event::Head(head) => heads.push(head.path().to_owned()),
                            Event::Body(body) => assert!(body.is_empty() && heads.len() == 2),
                        }
                        if heads.len() == 1 {
                            reader.skip_body();
                        }
                    }
                }
                assert_eq!(heads, ["/a", "/b"]);
                assert_eq!(reader.left_to_skip(), Some(0));
            }
        }
    }
}

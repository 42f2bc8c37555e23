//! From the bytes of a tool process to what came of them.

use super::{DecodeError, Received, WireError, decode, last_message};
use crate::limits::RAW_DISCARD_MAX;
use crate::wire::call::tag;
use crate::wire::frame::{Cut, FrameReader};
use crate::wire::protomcp::{self, envelope::Msg};
use crate::wire::transfer::{Raw, Transfers};

/// All that a tool process sends: frames, raw bytes and the transfers made of them.
///
/// After [`advance`](Self::advance) call [`next`](Self::next) until it says `None`.
#[derive(Debug)]
pub struct Reader {
    frames: FrameReader,
    transfers: Transfers,
    error: Option<WireError>,
}

impl Reader {
    /// A reader that takes frames, raw payloads and chunked payloads of up to `max` bytes each.
    pub fn new(max: usize) -> Self {
        Self { frames: FrameReader::new(max), transfers: Transfers::new(max), error: None }
    }

    /// Room for the next read; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        self.frames.space()
    }

    /// The first `count` bytes of [`space`](Self::space) have been filled.
    pub fn advance(&mut self, count: usize) {
        self.frames.advance(count);
    }

    /// Whether the stream would end in the middle of a frame or of raw bytes, were it to end now.
    pub fn is_mid_frame(&self) -> bool {
        self.frames.is_mid_frame()
    }

    /// The next thing, if it is there whole. Messages with unknown numbers are skipped. Once it
    /// failed, it always fails.
    #[allow(clippy::should_implement_trait, reason = "what it yields borrows from the reader")]
    pub fn next(&mut self) -> Result<Option<Received<'_>>, WireError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        loop {
            let body = match self.frames.cut()? {
                None => return Ok(None),
                Some(Cut::Body(body)) => body,
                Some(Cut::Raw(bytes)) => match self.transfers.finish_raw(bytes) {
                    Some(payload) => return Ok(Some(Received::Payload(payload))),
                    None => continue,
                },
            };
            match last_message(self.frames.peek(&body)) {
                Ok(None) => {}
                Ok(Some(tag::CALL_RESULT)) => {
                    return Ok(Some(Received::CallResult { frame: self.frames.body(body) }));
                }
                Ok(Some(_)) => match decode(self.frames.peek(&body)) {
                    Ok(envelope) => {
                        // A large frame is not needed beside what was decoded from it.
                        drop(body);
                        if let Some(received) = self.route(envelope)? {
                            return Ok(Some(received));
                        }
                    }
                    Err(error) => return Ok(Some(undecodable(error))),
                },
                Err(error) => return Ok(Some(undecodable(error))),
            }
        }
    }

    /// Keeps what belongs to transfers.
    fn route(&mut self, envelope: protomcp::Envelope) -> Result<Option<Received<'static>>, WireError> {
        let protomcp::Envelope { request_id, namespace, trace_json, msg } = envelope;
        Ok(match msg {
            Some(Msg::StreamHeader(header)) => self.transfers.open(request_id, &header),
            Some(Msg::StreamChunk(chunk)) => self.transfers.chunk(request_id, chunk),
            Some(Msg::RawHeader(header)) => match self.transfers.expect_raw(request_id, header) {
                Raw::Take(size) => {
                    self.frames.expect_raw(size);
                    None
                }
                Raw::Drop { size, request_id, reason } => {
                    if size > RAW_DISCARD_MAX {
                        let error = WireError::RawTooLarge { size };
                        self.error = Some(error);
                        return Err(error);
                    }
                    self.frames.discard_raw(size);
                    Some(Received::Refused { request_id, reason })
                }
            },
            msg => Some(Received::Envelope(protomcp::Envelope { request_id, namespace, trace_json, msg })),
        })
    }
}

fn undecodable(error: DecodeError) -> Received<'static> {
    Received::Undecodable { reason: format!("a frame could not be decoded: {error}") }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::limits::{LARGE_MIN, MESSAGE_MAX};
    use crate::wire::call::CallResult;
    use crate::wire::frame::{HEADER, encode, encode_into};
    use crate::wire::protomcp::{
        CallToolResponse, Envelope, LogMessage, ProgressNotification, RawHeader, StreamChunk, StreamHeader,
    };
    use crate::wire::testing::{Random, cuttings};

    fn envelope(request_id: &str, msg: Msg) -> Envelope {
        Envelope { request_id: request_id.into(), msg: Some(msg), ..Envelope::default() }
    }

    fn result(request_id: &str, result_json: &str) -> Envelope {
        let result = CallToolResponse { result_json: result_json.into(), ..CallToolResponse::default() };
        envelope(request_id, Msg::CallResult(result))
    }

    fn log(text: &str) -> Envelope {
        let message = LogMessage { data_json: text.into(), ..LogMessage::default() };
        envelope("", Msg::Log(message))
    }

    fn stream(request_id: &str, total_size: u64) -> Envelope {
        let header = StreamHeader { field_name: "result_json".into(), total_size, chunk_size: 0 };
        envelope(request_id, Msg::StreamHeader(header))
    }

    fn chunk(request_id: &str, data: &[u8], r#final: bool) -> Envelope {
        envelope(request_id, Msg::StreamChunk(StreamChunk { data: data.to_vec(), r#final }))
    }

    fn raw(request_id: &str, size: u64) -> Envelope {
        let header = RawHeader {
            request_id: request_id.into(),
            field_name: "result_json".into(),
            size,
            ..RawHeader::default()
        };
        envelope("", Msg::RawHeader(header))
    }

    /// What came, in few words.
    fn told(received: Received<'_>) -> String {
        match received {
            Received::CallResult { frame } => match CallResult::decode(&frame) {
                Ok(result) => format!("result {} {}", result.request_id, result.result_json),
                Err(error) => format!("bad result {}: {error}", CallResult::request_id(&frame)),
            },
            Received::Envelope(Envelope { msg: Some(Msg::Log(log)), .. }) => format!("log {}", log.data_json),
            Received::Envelope(envelope) => format!("{envelope:?}"),
            Received::Payload(payload) => {
                format!("payload {} {}", payload.request_id, String::from_utf8_lossy(&payload.bytes))
            }
            Received::Refused { request_id, reason } => format!("refused {request_id}: {reason}"),
            Received::Undecodable { reason } => reason,
        }
    }

    /// All that the bytes, handed in by pieces of these sizes, make; a fatal error is the last.
    fn read(reader: &mut Reader, mut bytes: &[u8], pieces: &[usize]) -> Vec<String> {
        let mut seen = Vec::new();
        for piece in pieces {
            let mut piece = *piece;
            while piece > 0 {
                let space = reader.space();
                let count = space.len().min(piece);
                space[..count].copy_from_slice(&bytes[..count]);
                reader.advance(count);
                bytes = &bytes[count..];
                piece -= count;
                loop {
                    match reader.next() {
                        Ok(None) => break,
                        Ok(Some(received)) => seen.push(told(received)),
                        Err(error) => {
                            seen.push(error.to_string());
                            return seen;
                        }
                    }
                }
            }
        }
        seen
    }

    fn assert_read(stream: &[u8], expected: &[&str]) {
        for pieces in cuttings(stream.len()) {
            assert_eq!(read(&mut Reader::new(1000), stream, &pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn everything_is_told_apart_wherever_the_reads_end() {
        let mut wire = Vec::new();
        for envelope in
            [log("a"), result("1", "[]"), stream("2", 0), chunk("2", b"xy", false), stream("3", 3)]
        {
            encode_into(&envelope, &mut wire);
        }
        wire.extend_from_slice(b"\0\0\0\0");
        encode_into(&raw("4", 5), &mut wire);
        wire.extend_from_slice(b"\0\0\0\x01!");
        for envelope in [chunk("3", b"abc", true), raw("5", 0), chunk("2", b"z", true), log("b")] {
            encode_into(&envelope, &mut wire);
        }
        assert_read(
            &wire,
            &[
                "log a",
                "result 1 []",
                "payload 4 \0\0\0\u{1}!",
                "payload 3 abc",
                "payload 5 ",
                "payload 2 xyz",
                "log b",
            ],
        );
    }

    #[test]
    fn what_is_refused_is_skipped_and_reported_once() {
        let mut wire = encode(&raw("1", 1001));
        wire.extend_from_slice(&[0xFF; 1001]);
        for envelope in
            [chunk("2", b"x", false), stream("3", 0), chunk("2", b"x", true), chunk("3", b"y", true)]
        {
            encode_into(&envelope, &mut wire);
        }
        let expected = [
            "refused 1: a payload of 1001 bytes is over the limit of 1000 bytes (see --max-message)",
            "refused 2: a stream chunk came without a stream header",
            "payload 3 y",
        ];
        assert_read(&wire, &expected);
    }

    #[test]
    fn what_is_not_protobuf_does_not_end_the_connection() {
        // A cut-off length, an end of a group that never began, field number 0, wire type 7, a
        // known message that is no message, a log whose text is not UTF-8.
        let broken: [&[u8]; 6] =
            [b"\x32\x7f", b"\x74", b"\x02\0", b"\x0f", b"\x10\x01", b"\x92\x01\x03\x0a\x01\xff"];
        for body in broken {
            let mut wire = vec![0, 0, 0, body.len() as u8];
            wire.extend_from_slice(body);
            encode_into(&log("on"), &mut wire);
            let seen = read(&mut Reader::new(1000), &wire, &[wire.len()]);
            assert_eq!(seen.len(), 2, "{body:x?}: {seen:?}");
            assert!(seen[0].starts_with("a frame could not be decoded: "), "{seen:?}");
            assert_eq!(seen[1], "log on");
            for cut in cuttings(wire.len()) {
                assert_eq!(read(&mut Reader::new(1000), &wire, &cut), seen);
            }
        }
        assert_read(b"\0\0\0\x08\x72\x017\x32\x03\x12\x01\xff", &["bad result 7: a string is not UTF-8"]);
    }

    #[test]
    fn messages_of_a_later_time_are_skipped() {
        // Number 2000 as a message, with an id beside it; only an id; two unknown scalars.
        let mut wire = Vec::new();
        for body in [&b"\x82\x7d\x02ab\x72\x017"[..], b"\x72\x017", b"\xa0\x06\x01\xa1\x06\0\0\0\0\0\0\0\0"] {
            wire.extend_from_slice(&[0, 0, 0, body.len() as u8]);
            wire.extend_from_slice(body);
        }
        encode_into(&log("known"), &mut wire);
        assert_read(&wire, &["log known"]);
    }

    #[test]
    fn the_last_of_several_messages_counts() {
        let both = |first: &Envelope, second: &Envelope| {
            let body = [&encode(first)[HEADER..], &encode(second)[HEADER..]].concat();
            [&u32::try_from(body.len()).unwrap().to_be_bytes()[..], &body].concat()
        };
        assert_read(&both(&log("a"), &result("1", "[]")), &["result 1 []"]);
        assert_read(&both(&result("1", "[]"), &log("a")), &["log a"]);
        assert_read(&both(&raw("1", 9), &result("2", "[]")), &["result 2 []"]);
    }

    #[test]
    fn what_cannot_be_followed_is_fatal_for_good() {
        let size = RAW_DISCARD_MAX + 1;
        let cases = [
            (
                b"\xff\xff\xff\xf0".to_vec(),
                "a frame of 4294967280 bytes is over the limit of 1000 bytes (see --max-message)".to_owned(),
            ),
            (encode(&raw("1", size)), WireError::RawTooLarge { size }.to_string()),
        ];
        for (fault, reason) in cases {
            let wire = [encode(&log("a")), fault, encode(&log("b"))].concat();
            for pieces in cuttings(wire.len()) {
                let mut reader = Reader::new(1000);
                assert_eq!(read(&mut reader, &wire, &pieces), ["log a".to_owned(), reason.clone()]);
                assert_eq!(read(&mut reader, &wire, &[wire.len()]), std::slice::from_ref(&reason));
            }
        }
        // The largest size that is dropped is followed by frames again.
        let mut reader = Reader::new(1000);
        let header = encode(&raw("1", RAW_DISCARD_MAX));
        assert_eq!(read(&mut reader, &header, &[header.len()]).len(), 1);
        assert!(reader.is_mid_frame());
    }

    #[test]
    fn small_results_borrow_and_large_ones_move() {
        let mut reader = Reader::new(MESSAGE_MAX);
        for (size, owned) in [(10, false), (LARGE_MIN * 3, true), (LARGE_MIN / 2, false)] {
            let wire = encode(&result("1", &"x".repeat(size)));
            let mut sent = 0;
            while sent < wire.len() {
                let space = reader.space();
                let count = space.len().min(wire.len() - sent);
                space[..count].copy_from_slice(&wire[sent..sent + count]);
                reader.advance(count);
                sent += count;
                if let Some(received) = reader.next().unwrap() {
                    let Received::CallResult { frame } = received else { panic!("a result") };
                    assert_eq!(matches!(frame, Cow::Owned(_)), owned);
                    assert_eq!(frame[..], wire[HEADER..]);
                    assert_eq!(sent, wire.len());
                }
            }
            assert!(!reader.is_mid_frame());
        }
    }

    /// Progress, results, raw payloads and many chunked transfers, woven together and cut at
    /// random, all arrive intact and each transfer when its last byte does.
    #[test]
    fn interleaved_transfers_survive_random_reads() {
        for seed in 0..30 {
            let mut random = Random::new(seed);
            let mut wire = Vec::new();
            let mut expected = Vec::new();
            let mut open: Vec<(String, Vec<u8>, usize)> = Vec::new();
            for turn in 0..120 {
                let id = format!("{turn}");
                let bound = if random.chance(10) { 600_000 } else { 3000 };
                match random.below(7) {
                    0 if open.len() < 20 => {
                        let length = random.below(bound);
                        let bytes = vec![b'a' + random.below(26) as u8; length];
                        let claim = if random.chance(2) { bytes.len() as u64 } else { 0 };
                        encode_into(&stream(&id, claim), &mut wire);
                        open.push((id, bytes, 0));
                    }
                    1 => {
                        let length = random.below(bound);
                        let bytes: String = "z".repeat(length);
                        encode_into(&raw(&id, length as u64), &mut wire);
                        wire.extend_from_slice(bytes.as_bytes());
                        expected.push(format!("payload {id} {bytes}"));
                    }
                    2 => {
                        let text = "y".repeat(random.below(bound));
                        encode_into(&result(&id, &text), &mut wire);
                        expected.push(format!("result {id} {text}"));
                    }
                    3 => {
                        let progress =
                            ProgressNotification { progress: turn, ..ProgressNotification::default() };
                        let envelope = envelope(&id, Msg::Progress(progress));
                        encode_into(&envelope, &mut wire);
                        expected.push(format!("{envelope:?}"));
                    }
                    _ if !open.is_empty() => {
                        let at = random.below(open.len());
                        let (id, bytes, sent) = &mut open[at];
                        let count = random.below(bytes.len() - *sent + 1);
                        let end = *sent + count == bytes.len();
                        encode_into(&chunk(id, &bytes[*sent..*sent + count], end), &mut wire);
                        *sent += count;
                        if end {
                            expected.push(format!("payload {id} {}", String::from_utf8_lossy(bytes)));
                            open.remove(at);
                        }
                    }
                    _ => {}
                }
            }
            let mut pieces = Vec::new();
            let mut left = wire.len();
            while left > 0 {
                let bound = [2, 50, 5000, 1_000_000][random.below(4)];
                pieces.push((1 + random.below(bound)).min(left));
                left -= pieces[pieces.len() - 1];
            }
            let mut reader = Reader::new(MESSAGE_MAX);
            let seen = read(&mut reader, &wire, &pieces);
            assert_eq!(seen.len(), expected.len());
            for (seen, expected) in seen.iter().zip(&expected) {
                assert!(seen == expected, "seed {seed}: {:.60} instead of {:.60}", seen, expected);
            }
            assert!(!reader.is_mid_frame());
        }
    }

    /// Whatever comes, the reader neither panics nor reads past the end.
    #[test]
    fn garbage_is_survived() {
        for seed in 0..2000 {
            let mut random = Random::new(seed);
            let mut wire = Vec::new();
            for envelope in
                [stream("1", 5), chunk("1", b"abc", false), raw("2", 4), result("3", "[]"), log("x")]
            {
                encode_into(&envelope, &mut wire);
            }
            for _ in 0..1 + random.below(8) {
                let at = random.below(wire.len());
                wire[at] = random.next() as u8;
            }
            let mut pieces = Vec::new();
            let mut left = wire.len();
            while left > 0 {
                pieces.push((1 + random.below(30)).min(left));
                left -= pieces[pieces.len() - 1];
            }
            let whole = read(&mut Reader::new(1000), &wire, &[wire.len()]);
            assert_eq!(read(&mut Reader::new(1000), &wire, &pieces), whole, "seed {seed}");
        }
    }
}

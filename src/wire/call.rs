//! A call and its result, by slices: the hot path, written and read without a copy in between.

use std::fmt;

use prost::Message;
use prost::encoding::{
    DecodeContext, WireType, check_wire_type, decode_key, decode_varint, encode_key, encode_varint,
    encoded_len_varint, key_len, skip_field,
};

use super::frame::HEADER;
use super::{envelope, protomcp};
use crate::limits::ENTRIES_MAX;

/// Field numbers of `Envelope`, `CallToolRequest` and `CallToolResponse` (`proto/protomcp.proto`).
pub(super) mod tag {
    pub(in crate::wire) const CALL_TOOL: u32 = 3;
    pub(in crate::wire) const CALL_RESULT: u32 = 6;
    pub(in crate::wire) const PROMPT_LIST: u32 = 41;
    pub(in crate::wire) const REQUEST_ID: u32 = 14;
    pub(in crate::wire) const NAMESPACE: u32 = 15;
    pub(in crate::wire) const TRACE_JSON: u32 = 1100;

    // CallToolRequest
    pub(in crate::wire) const NAME: u32 = 1;
    pub(in crate::wire) const ARGUMENTS_JSON: u32 = 2;
    pub(in crate::wire) const PROGRESS_TOKEN: u32 = 3;

    // CallToolResponse
    pub(in crate::wire) const IS_ERROR: u32 = 1;
    pub(in crate::wire) const RESULT_JSON: u32 = 2;
    pub(in crate::wire) const ENABLE_TOOLS: u32 = 3;
    pub(in crate::wire) const DISABLE_TOOLS: u32 = 4;
    pub(in crate::wire) const ERROR: u32 = 5;
    pub(in crate::wire) const STRUCTURED_CONTENT_JSON: u32 = 6;
    pub(in crate::wire) const META_JSON: u32 = 1000;

    /// Whether a field of `Envelope` belongs to its oneof `msg`.
    pub(in crate::wire) const fn is_message(tag: u32) -> bool {
        matches!(tag, 1..=13 | 16..=37 | 40..=43 | 50..=51 | 60..=63 | 1000..=1004)
    }
}

/// Why bytes are not the message that they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError(Box<str>);

impl DecodeError {
    pub(super) fn new(reason: String) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DecodeError {}

impl From<prost::DecodeError> for DecodeError {
    fn from(error: prost::DecodeError) -> Self {
        Self(error.to_string().into())
    }
}

/// A call's result, by slices of its frame. Absent strings are empty, as proto3 has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallResult<'a> {
    /// The envelope's: whose answer it is.
    pub request_id: &'a str,
    /// Whether the call failed.
    pub is_error: bool,
    /// Normally a JSON array of content blocks.
    pub result_json: &'a str,
    /// A JSON value, or empty.
    pub structured_content_json: &'a str,
    /// A JSON object, or empty.
    pub meta_json: &'a str,
    /// Tools to enable after this call.
    pub enable_tools: Vec<&'a str>,
    /// Tools to disable after this call.
    pub disable_tools: Vec<&'a str>,
    /// Details of a failed call.
    pub error: Option<protomcp::ToolError>,
}

impl<'a> CallResult<'a> {
    /// Reads an envelope whose message is a call's result, in one scan and without a copy. Accepts
    /// what `Envelope::decode` accepts, but not more than [`ENTRIES_MAX`] names of tools; an envelope
    /// with another message is an error.
    pub fn decode(frame: &'a [u8]) -> Result<Self, DecodeError> {
        let mut result = Self::default();
        let mut found = false;
        let mut checked = false;
        let mut rest = frame;
        while !rest.is_empty() {
            let (tag, wire_type) = decode_key(&mut rest)?;
            match tag {
                tag::REQUEST_ID => result.request_id = text(wire_type, &mut rest)?,
                tag::NAMESPACE => {
                    text(wire_type, &mut rest)?;
                }
                tag::CALL_RESULT => {
                    let message = slice(wire_type, &mut rest)?;
                    result.merge(message)?;
                    found = true;
                }
                _ => {
                    skip_field(wire_type, tag, &mut rest, DecodeContext::default())?;
                    if tag::is_message(tag) {
                        // Of several messages the last one wins, but all must be sound; nobody
                        // sends such envelopes, so their check may be slow.
                        if !checked {
                            envelope::decode(frame)?;
                            checked = true;
                        }
                        result = Self { request_id: result.request_id, ..Self::default() };
                        found = false;
                    }
                }
            }
        }
        if !found {
            return Err(DecodeError("the message is not a call's result".into()));
        }
        Ok(result)
    }

    /// The request id of an envelope that [`decode`](Self::decode) refused, as far as it can be
    /// read, so that its call need not wait in vain; else empty.
    pub fn request_id(frame: &'a [u8]) -> &'a str {
        let mut request_id = "";
        let mut rest = frame;
        while let Ok((tag, wire_type)) = decode_key(&mut rest) {
            if tag == tag::REQUEST_ID {
                request_id = text(wire_type, &mut rest).unwrap_or_default();
            } else if skip_field(wire_type, tag, &mut rest, DecodeContext::default()).is_err() {
                break;
            }
        }
        request_id
    }

    /// Reads a `CallToolResponse` over what is already there: the last of a field wins, lists grow.
    fn merge(&mut self, mut message: &'a [u8]) -> Result<(), DecodeError> {
        let rest = &mut message;
        while !rest.is_empty() {
            let (tag, wire_type) = decode_key(rest)?;
            if matches!(tag, tag::ENABLE_TOOLS | tag::DISABLE_TOOLS)
                && self.enable_tools.len() + self.disable_tools.len() == ENTRIES_MAX
            {
                let reason = format!("a message has more than {ENTRIES_MAX} entries");
                return Err(DecodeError::new(reason));
            }
            match tag {
                tag::IS_ERROR => {
                    check_wire_type(WireType::Varint, wire_type)?;
                    self.is_error = decode_varint(rest)? != 0;
                }
                tag::RESULT_JSON => self.result_json = text(wire_type, rest)?,
                tag::ENABLE_TOOLS => self.enable_tools.push(text(wire_type, rest)?),
                tag::DISABLE_TOOLS => self.disable_tools.push(text(wire_type, rest)?),
                tag::ERROR => {
                    let error = slice(wire_type, rest)?;
                    self.error.get_or_insert_default().merge(error)?;
                }
                tag::STRUCTURED_CONTENT_JSON => self.structured_content_json = text(wire_type, rest)?,
                tag::META_JSON => self.meta_json = text(wire_type, rest)?,
                _ => skip_field(wire_type, tag, rest, DecodeContext::default())?,
            }
        }
        Ok(())
    }
}

/// A length-delimited field's bytes.
fn slice<'a>(wire_type: WireType, rest: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    check_wire_type(WireType::LengthDelimited, wire_type)?;
    let length = decode_varint(rest)?;
    let (field, after) = usize::try_from(length)
        .ok()
        .and_then(|length| rest.split_at_checked(length))
        .ok_or_else(|| DecodeError("a field is longer than its message".into()))?;
    *rest = after;
    Ok(field)
}

/// A string field.
fn text<'a>(wire_type: WireType, rest: &mut &'a [u8]) -> Result<&'a str, DecodeError> {
    std::str::from_utf8(slice(wire_type, rest)?).map_err(|_| DecodeError("a string is not UTF-8".into()))
}

/// A whole frame that asks the tool process to call a tool; an empty token means that nobody
/// wants progress, an empty trace that there is none. Written without an `Envelope`, since it is
/// made for every call.
pub fn call_frame(
    request_id: &str,
    name: &str,
    arguments_json: &str,
    progress_token: &str,
    trace_json: &str,
) -> Vec<u8> {
    let call = text_len(tag::NAME, name)
        + text_len(tag::ARGUMENTS_JSON, arguments_json)
        + text_len(tag::PROGRESS_TOKEN, progress_token);
    let body = key_len(tag::CALL_TOOL)
        + encoded_len_varint(call as u64)
        + call
        + text_len(tag::REQUEST_ID, request_id)
        + text_len(tag::TRACE_JSON, trace_json);
    let mut frame = Vec::with_capacity(HEADER + body);
    frame.extend_from_slice(&u32::try_from(body).unwrap_or(u32::MAX).to_be_bytes());
    encode_key(tag::CALL_TOOL, WireType::LengthDelimited, &mut frame);
    encode_varint(call as u64, &mut frame);
    put_text(tag::NAME, name, &mut frame);
    put_text(tag::ARGUMENTS_JSON, arguments_json, &mut frame);
    put_text(tag::PROGRESS_TOKEN, progress_token, &mut frame);
    put_text(tag::REQUEST_ID, request_id, &mut frame);
    put_text(tag::TRACE_JSON, trace_json, &mut frame);
    frame
}

/// Bytes of a string field; an empty one is not written.
fn text_len(tag: u32, text: &str) -> usize {
    if text.is_empty() { 0 } else { key_len(tag) + encoded_len_varint(text.len() as u64) + text.len() }
}

fn put_text(tag: u32, text: &str, out: &mut Vec<u8>) {
    if !text.is_empty() {
        encode_key(tag, WireType::LengthDelimited, out);
        encode_varint(text.len() as u64, out);
        out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::encode;
    use super::super::protomcp::envelope::Msg;
    use super::super::protomcp::{CallToolRequest, CallToolResponse, Envelope, ToolError};
    use super::super::testing::Random;
    use super::*;

    /// What prost makes of it, in our shape's terms.
    fn by_prost(frame: &[u8]) -> Option<(String, CallToolResponse)> {
        match Envelope::decode(frame) {
            Ok(Envelope { request_id, msg: Some(Msg::CallResult(result)), .. }) => Some((request_id, result)),
            _ => None,
        }
    }

    fn by_us(frame: &[u8]) -> Option<(String, CallToolResponse)> {
        let result = CallResult::decode(frame).ok()?;
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let response = CallToolResponse {
            is_error: result.is_error,
            result_json: result.result_json.into(),
            enable_tools: owned(result.enable_tools),
            disable_tools: owned(result.disable_tools),
            error: result.error,
            structured_content_json: result.structured_content_json.into(),
            meta_json: result.meta_json.into(),
        };
        Some((result.request_id.into(), response))
    }

    fn put_bytes(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
        encode_key(tag, WireType::LengthDelimited, out);
        encode_varint(bytes.len() as u64, out);
        out.extend_from_slice(bytes);
    }

    /// A field that nobody asked for, sometimes of a type that does not exist.
    fn put_stray(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
        let tag = [7, 9, 1001, 64, 5_000_000][random.below(5)];
        match random.below(if depth < 3 { 5 } else { 4 }) {
            0 => {
                encode_key(tag, WireType::Varint, out);
                encode_varint(random.next(), out);
            }
            1 => {
                encode_key(tag, WireType::SixtyFourBit, out);
                out.extend_from_slice(&random.bytes(8));
            }
            2 => {
                encode_key(tag, WireType::ThirtyTwoBit, out);
                out.extend_from_slice(&random.bytes(4));
            }
            3 => {
                let length = random.below(20);
                put_bytes(tag, &random.bytes(length), out);
            }
            _ => {
                encode_key(tag, WireType::StartGroup, out);
                put_stray(random, depth + 1, out);
                encode_key(tag, WireType::EndGroup, out);
            }
        }
    }

    fn words(random: &mut Random) -> Vec<u8> {
        let text = ["", "a", "[]", "{\"x\":1}", "grüße", "\u{1F980}", "longer than a few bytes, still ASCII"];
        if random.chance(100) { random.bytes(3) } else { text[random.below(text.len())].into() }
    }

    fn tool_error(random: &mut Random) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..random.below(4) {
            match random.below(6) {
                4 => {
                    encode_key(4, WireType::Varint, &mut out);
                    encode_varint(random.below(3) as u64, &mut out);
                }
                5 => put_stray(random, 0, &mut out),
                tag => put_bytes(tag as u32 % 3 + 1, &words(random), &mut out),
            }
        }
        out
    }

    fn call_result(random: &mut Random) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..random.below(6) {
            match random.below(9) {
                0 => {
                    encode_key(tag::IS_ERROR, WireType::Varint, &mut out);
                    encode_varint(random.next() >> random.below(64), &mut out);
                }
                1 => put_bytes(tag::ERROR, &tool_error(random), &mut out),
                2 => put_bytes(tag::META_JSON, &words(random), &mut out),
                3 => put_stray(random, 0, &mut out),
                4 => put_bytes(tag::STRUCTURED_CONTENT_JSON, &words(random), &mut out),
                tag => put_bytes(tag as u32 % 3 + 2, &words(random), &mut out),
            }
        }
        out
    }

    fn envelope(random: &mut Random) -> Vec<u8> {
        let mut out = Vec::new();
        for _ in 0..1 + random.below(4) {
            match random.below(8) {
                0 | 1 => put_bytes(tag::REQUEST_ID, &words(random), &mut out),
                2 => put_bytes(tag::NAMESPACE, &words(random), &mut out),
                3 => put_stray(random, 0, &mut out),
                4 if random.chance(3) => {
                    let other = [1, 4, 16, 18, 37][random.below(5)];
                    put_bytes(other, &call_result(random), &mut out);
                }
                _ => put_bytes(tag::CALL_RESULT, &call_result(random), &mut out),
            }
        }
        out
    }

    #[test]
    fn results_are_read_as_prost_reads_them() {
        let (mut accepted, mut refused) = (0, 0);
        for seed in 0..6000 {
            let mut random = Random::new(seed);
            let sound = envelope(&mut random);
            let mut cases = vec![sound.clone(), sound[..random.below(sound.len() + 1)].to_vec()];
            for _ in 0..4 {
                let mut mutated = sound.clone();
                for _ in 0..1 + random.below(3) {
                    let at = random.below(mutated.len());
                    mutated[at] = if random.chance(2) {
                        random.next() as u8
                    } else {
                        mutated[at] ^ 1 << random.below(8)
                    };
                }
                cases.push(mutated);
            }
            for case in cases {
                let expected = by_prost(&case);
                if expected.is_some() {
                    accepted += 1
                } else {
                    refused += 1
                }
                assert_eq!(by_us(&case), expected, "seed {seed}: {case:x?}");
            }
        }
        assert!(accepted > 5000 && refused > 5000, "{accepted} and {refused}");
    }

    #[test]
    fn the_names_of_tools_are_bounded() {
        let with = |count: usize| {
            let mut result = Vec::new();
            for at in 0..count {
                put_bytes([tag::ENABLE_TOOLS, tag::DISABLE_TOOLS][at % 2], b"", &mut result);
            }
            let mut body = Vec::new();
            put_bytes(tag::REQUEST_ID, b"7", &mut body);
            // In two halves, which are one message.
            for half in result.chunks(result.len() / 4 * 2) {
                put_bytes(tag::CALL_RESULT, half, &mut body);
            }
            body
        };
        let most = with(ENTRIES_MAX);
        let result = CallResult::decode(&most).unwrap();
        assert_eq!(result.enable_tools.len() + result.disable_tools.len(), ENTRIES_MAX);
        let more = with(ENTRIES_MAX + 2);
        assert!(CallResult::decode(&more).unwrap_err().to_string().contains("more than 65536 entries"));
        assert_eq!(CallResult::request_id(&more), "7");
    }

    #[test]
    fn every_message_number_is_known() {
        for number in 1..2000 {
            let mut body = Vec::new();
            put_bytes(number, b"", &mut body);
            let known = Envelope::decode(&body[..]).unwrap().msg.is_some();
            assert_eq!(tag::is_message(number), known, "{number}");
        }
    }

    #[test]
    fn a_result_borrows_from_its_frame() {
        let response = CallToolResponse {
            result_json: "[1]".into(),
            meta_json: "{}".into(),
            error: Some(ToolError { message: "m".into(), ..ToolError::default() }),
            ..CallToolResponse::default()
        };
        let msg = Some(Msg::CallResult(response));
        let frame = encode(&Envelope { request_id: "12".into(), msg, ..Envelope::default() });
        let body = &frame[HEADER..];
        let result = CallResult::decode(body).unwrap();
        assert!(body.as_ptr_range().contains(&result.result_json.as_ptr()));
        assert_eq!((result.request_id, result.result_json, result.meta_json), ("12", "[1]", "{}"));
        assert_eq!(result.error.unwrap().message, "m");
    }

    #[test]
    fn other_envelopes_are_no_results() {
        for body in [&b""[..], b"\x72\x01a", b"\x12\0", b"\x32\0\x12\0", b"\x33\x34", b"\x30\x01"] {
            assert!(CallResult::decode(body).is_err(), "{body:x?}");
        }
        // The last message wins, whatever came before it.
        assert!(CallResult::decode(b"\x12\0\x32\0").is_ok());
    }

    #[test]
    fn whose_answer_it_was_is_read_from_damaged_results() {
        // result_json is not UTF-8; the id comes before or after it.
        for frame in [&b"\x72\x017\x32\x03\x12\x01\xff"[..], b"\x32\x03\x12\x01\xff\x72\x017"] {
            assert_eq!(CallResult::decode(frame).unwrap_err().to_string(), "a string is not UTF-8");
            assert_eq!(CallResult::request_id(frame), "7");
        }
        for frame in [&b"\x32\x7f\x72\x017"[..], b"\x70\x01", b"\x72\x01\xff", b"\xff", b""] {
            assert_eq!(CallResult::request_id(frame), "", "{frame:x?}");
        }
    }

    #[test]
    fn a_call_is_one_exact_frame() {
        let long = "x".repeat(100_000);
        for (request_id, name, arguments, token, trace) in [
            ("1", "add", "{}", "", ""),
            ("", "", "", "", ""),
            ("18446744073709551615", "é", &long, "t", "{\"traceparent\":\"00\"}"),
            (&long, "a", "", "9", &long),
        ] {
            let frame = call_frame(request_id, name, arguments, token, trace);
            assert_eq!(frame.capacity(), frame.len());
            let call = CallToolRequest {
                name: name.into(),
                arguments_json: arguments.into(),
                progress_token: token.into(),
                input: None,
            };
            let msg = Some(Msg::CallTool(call));
            let (request_id, trace_json) = (request_id.into(), trace.into());
            let envelope = Envelope { request_id, trace_json, msg, ..Envelope::default() };
            assert_eq!(frame.len(), encode(&envelope).len());
            assert_eq!(frame[..HEADER], encode(&envelope)[..HEADER]);
            assert_eq!(Envelope::decode(&frame[HEADER..]).unwrap(), envelope);
        }
    }
}

//! Envelopes as the bridge wants them: a call's result by slices of its frame, large payloads
//! whole, everything else decoded.

use std::borrow::Cow;
use std::fmt;

use prost::Message;
use prost::encoding::{
    DecodeContext, WireType, check_wire_type, decode_key, decode_varint, encode_key, encode_varint,
    encoded_len_varint, key_len, skip_field,
};

use super::frame::{Cut, FrameError, FrameReader, HEADER};
use super::protomcp::{self, envelope::Msg};
use super::transfer::{Raw, Transfers};
use crate::limits::RAW_DISCARD_MAX;

/// Field numbers of `Envelope`, `CallToolRequest` and `CallToolResponse` (`proto/protomcp.proto`).
mod tag {
    pub(super) const CALL_TOOL: u32 = 3;
    pub(super) const CALL_RESULT: u32 = 6;
    pub(super) const REQUEST_ID: u32 = 14;
    pub(super) const NAMESPACE: u32 = 15;

    pub(super) const NAME: u32 = 1;
    pub(super) const ARGUMENTS_JSON: u32 = 2;
    pub(super) const PROGRESS_TOKEN: u32 = 3;

    pub(super) const IS_ERROR: u32 = 1;
    pub(super) const RESULT_JSON: u32 = 2;
    pub(super) const ENABLE_TOOLS: u32 = 3;
    pub(super) const DISABLE_TOOLS: u32 = 4;
    pub(super) const ERROR: u32 = 5;
    pub(super) const STRUCTURED_CONTENT_JSON: u32 = 6;
    pub(super) const META_JSON: u32 = 1000;

    /// Whether a field of `Envelope` belongs to its oneof `msg`.
    pub(super) const fn is_message(tag: u32) -> bool {
        matches!(tag, 1..=13 | 16..=37 | 40..=43 | 50..=51 | 60..=63)
    }
}

/// What came from a tool process.
#[derive(Clone, Debug, PartialEq)]
pub enum Received<'a> {
    /// A whole envelope whose message is a call's result; [`CallResult::decode`] reads it.
    CallResult {
        /// The envelope's bytes; owned when large.
        frame: Cow<'a, [u8]>,
    },
    /// Any other message; never a result, a stream or a raw header, never without a message.
    Envelope(protomcp::Envelope),
    /// A finished transfer.
    Payload(Payload),
    /// A transfer that could not be taken. What still comes of it is dropped silently.
    Refused {
        /// Whose answer it would have been; may be empty or unknown.
        request_id: String,
        /// One sentence.
        reason: String,
    },
    /// A frame that is not protobuf. The connection lives on.
    Undecodable {
        /// One sentence.
        reason: String,
    },
}

/// One large field that arrived outside a `CallToolResponse`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Whose answer it is.
    pub request_id: String,
    /// Which field of `CallToolResponse` it stands for.
    pub field: Field,
    /// As they came.
    pub bytes: Vec<u8>,
    /// Whether they still have to be inflated ([`inflate`](super::zstd::inflate)).
    pub zstd: bool,
}

/// A field of `CallToolResponse` that can travel as a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `result_json`.
    Result,
    /// `structured_content_json`.
    StructuredContent,
}

/// Why nothing more can be read from a tool process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The framing is lost.
    Frame(FrameError),
    /// More raw bytes were announced than are worth dropping.
    RawTooLarge {
        /// What was announced, in bytes.
        size: u64,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(error) => error.fmt(f),
            Self::RawTooLarge { size } => write!(
                f,
                "{size} raw bytes were announced, which is over the limit of {RAW_DISCARD_MAX} bytes above \
                 which they are not even dropped"
            ),
        }
    }
}

impl std::error::Error for WireError {}

impl From<FrameError> for WireError {
    fn from(error: FrameError) -> Self {
        Self::Frame(error)
    }
}

/// All that a tool process sends: frames, raw bytes and the transfers made of them.
///
/// After [`advance`](Self::advance) call [`next`](Self::next) until it says `None`.
#[derive(Debug)]
pub struct Reader {
    frames: FrameReader,
    transfers: Transfers,
    error: Option<WireError>,
}

/// What an envelope turned out to be.
enum Sorted {
    CallResult,
    Message(protomcp::Envelope),
    /// A message that we do not know: a later SDK's, or none.
    Unknown,
    Broken(DecodeError),
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
            let cut = match self.frames.cut()? {
                None => return Ok(None),
                Some(Cut::Raw(bytes)) => match self.transfers.finish_raw(bytes) {
                    Some(payload) => return Ok(Some(Received::Payload(payload))),
                    None => continue,
                },
                Some(cut) => cut,
            };
            let sorted = match &cut {
                Cut::Small(length) => sort(self.frames.small(*length)),
                Cut::Large(bytes) | Cut::Raw(bytes) => sort(bytes),
            };
            match sorted {
                Sorted::Unknown => {}
                Sorted::CallResult => {
                    let frame = match cut {
                        Cut::Small(length) => Cow::Borrowed(self.frames.small(length)),
                        Cut::Large(bytes) | Cut::Raw(bytes) => Cow::Owned(bytes),
                    };
                    return Ok(Some(Received::CallResult { frame }));
                }
                Sorted::Broken(error) => {
                    let reason = format!("a frame could not be decoded: {error}");
                    return Ok(Some(Received::Undecodable { reason }));
                }
                Sorted::Message(envelope) => {
                    // A large frame is not needed beside what was decoded from it.
                    drop(cut);
                    if let Some(received) = self.route(envelope)? {
                        return Ok(Some(received));
                    }
                }
            }
        }
    }

    /// Keeps what belongs to transfers.
    fn route(&mut self, envelope: protomcp::Envelope) -> Result<Option<Received<'static>>, WireError> {
        let protomcp::Envelope { request_id, namespace, msg } = envelope;
        Ok(match msg {
            Some(Msg::StreamHeader(header)) => self.transfers.open(request_id, &header),
            Some(Msg::StreamChunk(chunk)) => self.transfers.chunk(request_id, chunk),
            Some(Msg::RawHeader(header)) => match self.transfers.expect_raw(request_id, header) {
                Raw::Take(size) => {
                    self.frames.expect_raw(size);
                    None
                }
                Raw::Drop { size, refused } => {
                    if size > RAW_DISCARD_MAX {
                        let error = WireError::RawTooLarge { size };
                        self.error = Some(error);
                        return Err(error);
                    }
                    self.frames.discard_raw(size);
                    Some(refused)
                }
            },
            msg => Some(Received::Envelope(protomcp::Envelope { request_id, namespace, msg })),
        })
    }
}

/// Looks which message an envelope holds: one walk over its top-level fields. Only messages that
/// are not a call's result are then decoded.
fn sort(body: &[u8]) -> Sorted {
    let last = match last_message(body) {
        Ok(last) => last,
        Err(error) => return Sorted::Broken(error),
    };
    match last {
        None => Sorted::Unknown,
        Some(tag::CALL_RESULT) => Sorted::CallResult,
        Some(_) => match protomcp::Envelope::decode(body) {
            Ok(envelope) => Sorted::Message(envelope),
            Err(error) => Sorted::Broken(error.into()),
        },
    }
}

/// The number of the last field that belongs to the oneof: that one wins.
fn last_message(mut body: &[u8]) -> Result<Option<u32>, DecodeError> {
    let mut last = None;
    while !body.is_empty() {
        let (tag, wire_type) = decode_key(&mut body)?;
        skip_field(wire_type, tag, &mut body, DecodeContext::default())?;
        if tag::is_message(tag) {
            last = Some(tag);
        }
    }
    Ok(last)
}

/// Why bytes are not the message that they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError(Box<str>);

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
    /// what `Envelope::decode` accepts; an envelope with another message is an error.
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
                            protomcp::Envelope::decode(frame)?;
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

    /// Reads a `CallToolResponse` over what is already there: the last of a field wins, lists grow.
    fn merge(&mut self, mut message: &'a [u8]) -> Result<(), DecodeError> {
        let rest = &mut message;
        while !rest.is_empty() {
            let (tag, wire_type) = decode_key(rest)?;
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
/// wants progress. Written without an `Envelope`, since it is made for every call.
pub fn call_frame(request_id: &str, name: &str, arguments_json: &str, progress_token: &str) -> Vec<u8> {
    let call = text_len(tag::NAME, name)
        + text_len(tag::ARGUMENTS_JSON, arguments_json)
        + text_len(tag::PROGRESS_TOKEN, progress_token);
    let body = key_len(tag::CALL_TOOL)
        + encoded_len_varint(call as u64)
        + call
        + text_len(tag::REQUEST_ID, request_id);
    let mut frame = Vec::with_capacity(HEADER + body);
    frame.extend_from_slice(&u32::try_from(body).unwrap_or(u32::MAX).to_be_bytes());
    encode_key(tag::CALL_TOOL, WireType::LengthDelimited, &mut frame);
    encode_varint(call as u64, &mut frame);
    put_text(tag::NAME, name, &mut frame);
    put_text(tag::ARGUMENTS_JSON, arguments_json, &mut frame);
    put_text(tag::PROGRESS_TOKEN, progress_token, &mut frame);
    put_text(tag::REQUEST_ID, request_id, &mut frame);
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

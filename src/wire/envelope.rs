//! Envelopes as the bridge wants them: a call's result by slices of its frame, large payloads
//! whole, everything else decoded.

use std::borrow::Cow;
use std::fmt;

use prost::Message;
use prost::encoding::{DecodeContext, decode_key, skip_field};

use super::call::tag;
pub use super::call::{CallResult, DecodeError, call_frame};
use super::frame::{Cut, FrameError, FrameReader};
use super::protomcp::{self, envelope::Msg};
use super::transfer::{Raw, Transfers};
use crate::limits::RAW_DISCARD_MAX;

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
            let body = match self.frames.cut()? {
                None => return Ok(None),
                Some(Cut::Body(body)) => body,
                Some(Cut::Raw(bytes)) => match self.transfers.finish_raw(bytes) {
                    Some(payload) => return Ok(Some(Received::Payload(payload))),
                    None => continue,
                },
            };
            match sort(self.frames.peek(&body)) {
                Sorted::Unknown => {}
                Sorted::CallResult => {
                    return Ok(Some(Received::CallResult { frame: self.frames.body(body) }));
                }
                Sorted::Broken(error) => {
                    let reason = format!("a frame could not be decoded: {error}");
                    return Ok(Some(Received::Undecodable { reason }));
                }
                Sorted::Message(envelope) => {
                    // A large frame is not needed beside what was decoded from it.
                    drop(body);
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

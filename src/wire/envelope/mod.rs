//! Envelopes as the bridge wants them: a call's result by slices of its frame, large payloads
//! whole, everything else decoded.

use std::borrow::Cow;
use std::fmt;

use prost::Message;
use prost::encoding::{DecodeContext, decode_key, decode_varint, skip_field};

use super::call::{DecodeError, tag};
use super::frame::FrameError;
use super::protomcp;
use crate::limits::{ENTRIES_MAX, PROMPT_LIST_MAX, RAW_DISCARD_MAX};

mod reader;

pub use reader::Reader;

/// What came from a tool process.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "it is looked into where it was made, and never kept")]
pub enum Received<'a> {
    /// A whole envelope whose message is a call's result; [`CallResult::decode`](super::call::CallResult::decode)
    /// reads it.
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

/// Decodes an envelope that does not unfold to many times its size: an empty entry of a list
/// takes two bytes here and hundreds of them in memory. The bounds are the envelope's: of several
/// messages of one kind the lists would be joined.
pub(super) fn decode(body: &[u8]) -> Result<protomcp::Envelope, DecodeError> {
    let (mut entries, mut prompts) = (0, 0);
    let mut rest = body;
    while !rest.is_empty() {
        let (tag, wire_type) = decode_key(&mut rest)?;
        let field = rest;
        skip_field(wire_type, tag, &mut rest, DecodeContext::default())?;
        if !tag::is_message(tag) {
            continue;
        }
        let mut message = &field[..field.len() - rest.len()];
        // Of all lists only that of the prompts has lists in its entries.
        if tag == tag::PROMPT_LIST {
            prompts += message.len();
        }
        if prompts > PROMPT_LIST_MAX {
            return Err(DecodeError::new(format!(
                "a list of prompts is longer than {PROMPT_LIST_MAX} bytes"
            )));
        }
        decode_varint(&mut message)?;
        while !message.is_empty() {
            if entries == ENTRIES_MAX {
                return Err(DecodeError::new(format!("a message has more than {ENTRIES_MAX} entries")));
            }
            entries += 1;
            let (tag, wire_type) = decode_key(&mut message)?;
            skip_field(wire_type, tag, &mut message, DecodeContext::default())?;
        }
    }
    Ok(protomcp::Envelope::decode(body)?)
}

/// Which message an envelope holds, by one walk over its top-level fields: the number of the last
/// one that belongs to the oneof, since that one wins. `None` is a message that we do not know.
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

#[cfg(test)]
mod tests {
    use prost::encoding::{WireType, encode_key, encode_varint};

    use super::*;

    #[test]
    fn a_message_does_not_unfold_to_many_times_its_size() {
        let message = |number: u32, entries: usize| {
            let body = [0x0a, 0x00].repeat(entries);
            let mut field = Vec::new();
            encode_key(number, WireType::LengthDelimited, &mut field);
            encode_varint(body.len() as u64, &mut field);
            [field, body].concat()
        };
        for number in [5, 32, 9] {
            let most = message(number, ENTRIES_MAX);
            assert!(!decode(&most).is_err_and(|error| error.to_string().contains("entries")));
            for body in [message(number, ENTRIES_MAX + 1), [most, message(number, 1)].concat()] {
                assert!(decode(&body).unwrap_err().to_string().contains("entries"), "message {number}");
            }
        }
        let prompt = [vec![0x0a, 0x80, 0x80, 0x80, 0x04], [0x1a, 0x00].repeat(4 << 20)].concat();
        let mut frame = vec![0xca, 0x02];
        encode_varint(prompt.len() as u64, &mut frame);
        frame.extend_from_slice(&prompt);
        assert!(decode(&frame).unwrap_err().to_string().contains("list of prompts"));
    }
}

//! Envelopes as the bridge wants them.
use super::protomcp;
use std::borrow::Cow;

/// What came from a tool process.
#[derive(Clone, Debug, PartialEq)]
pub enum Received<'a> {
    /// A whole envelope whose message is a call's result; `CallResult::decode` reads it.
    CallResult {
        /// The envelope's bytes; owned when large.
        frame: Cow<'a, [u8]>,
    },
    /// Any other message.
    Envelope(protomcp::Envelope),
    /// A finished transfer.
    Payload(Payload),
    /// A transfer that could not be taken.
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
    /// Whether they still have to be inflated.
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

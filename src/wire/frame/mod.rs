//! Frames: a 4-byte big-endian length and that many bytes of an [`Envelope`]; the one exception
//! are the raw bytes that follow a `RawHeader`.

use std::fmt;

use prost::Message;

use super::protomcp::Envelope;

mod reader;

#[cfg(feature = "bridge")]
pub(super) use reader::Cut;
pub use reader::{Frame, FrameReader};

/// Bytes of the length in front of each frame.
pub const HEADER: usize = 4;

/// One whole frame.
pub fn encode(envelope: &Envelope) -> Vec<u8> {
    let mut out = Vec::new();
    encode_into(envelope, &mut out);
    out
}

/// Appends one whole frame to `out`.
///
/// A body of 4 GiB or more has no spelling; its length is written as `0xFFFF_FFFF`, which every
/// reader refuses.
pub fn encode_into(envelope: &Envelope, out: &mut Vec<u8>) {
    let length = envelope.encoded_len();
    out.reserve(HEADER + length);
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    envelope.encode_raw(out);
}

/// The only fault of a frame: after it nothing can be read any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The length in front of a frame is over the limit.
    TooLarge {
        /// What the frame claims, in bytes.
        length: u32,
        /// The limit, in bytes.
        max: usize,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::TooLarge { length, max } = self;
        write!(f, "a frame of {length} bytes is over the limit of {max} bytes (see --max-message)")
    }
}

impl std::error::Error for FrameError {}

#[cfg(test)]
mod tests {
    use super::super::protomcp::envelope::Msg;
    use super::super::protomcp::{CallToolResponse, RawHeader, ToolError, ToolListResponse};
    use super::*;

    /// What every published SDK reads and writes, byte by byte.
    #[test]
    fn envelopes_have_the_published_spelling() {
        let envelope = |request_id: &str, msg| Envelope {
            request_id: request_id.into(),
            msg: Some(msg),
            ..Envelope::default()
        };
        let error = ToolError { error_code: "E".into(), retryable: true, ..ToolError::default() };
        let result = CallToolResponse {
            is_error: true,
            result_json: "[]".into(),
            enable_tools: vec!["a".into(), "b".into()],
            error: Some(error),
            structured_content_json: "{}".into(),
            ..CallToolResponse::default()
        };
        let header = RawHeader {
            request_id: "7".into(),
            field_name: "f".into(),
            size: 300,
            compression: "zstd".into(),
            uncompressed_size: 1,
        };
        let list = ToolListResponse { max_concurrent_calls: 5, ..ToolListResponse::default() };
        // A key is (number << 3 | type), type 0 a varint and 2 bytes behind their length.
        let cases: [(Envelope, &[u8]); 4] = [
            (envelope("", Msg::ListTools(Default::default())), b"\x12\0"),
            (
                envelope("9", Msg::CallResult(result)),
                b"\x32\x17\x08\x01\x12\x02[]\x1a\x01a\x1a\x01b\x2a\x05\x0a\x01E\x20\x01\x32\x02{}\x72\x019",
            ),
            (
                envelope("", Msg::RawHeader(header)),
                b"\xf2\x01\x11\x0a\x017\x12\x01f\x18\xac\x02\x22\x04zstd\x28\x01",
            ),
            // Number 1000, the first of our own.
            (envelope("", Msg::ToolList(list)), b"\x2a\x03\xc0\x3e\x05"),
        ];
        for (envelope, body) in cases {
            assert_eq!(Envelope::decode(body).unwrap(), envelope);
            let mut expected = fields_of(body);
            let encoded = encode(&envelope);
            let mut written = fields_of(&encoded[HEADER..]);
            expected.sort();
            written.sort();
            assert_eq!(written, expected, "the order of top-level fields is free");
            assert_eq!(encoded[..HEADER], u32::try_from(body.len()).unwrap().to_be_bytes());
        }
    }

    /// The length-delimited top-level fields, each with its key and length.
    fn fields_of(mut body: &[u8]) -> Vec<&[u8]> {
        let mut fields = Vec::new();
        while !body.is_empty() {
            let key = if body[0] & 0x80 == 0 { 1 } else { 2 };
            let (field, rest) = body.split_at(key + 1 + usize::from(body[key]));
            fields.push(field);
            body = rest;
        }
        fields
    }

    #[test]
    fn encoding_appends() {
        let envelope = Envelope { request_id: "x".into(), ..Envelope::default() };
        let mut out = b"before".to_vec();
        encode_into(&envelope, &mut out);
        assert_eq!(out, b"before\0\0\0\x03\x72\x01x");
        assert_eq!(out[6..], encode(&envelope));
    }
}

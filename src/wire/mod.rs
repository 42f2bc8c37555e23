//! The tool-side wire: bytes to envelopes and back (`proto/protomcp.proto`).
//!
//! What lives here: framing, decoding, the assembly of large payloads, inflating. What does not:
//! any idea of what a message means. Imports: level 0 only. No IO.

#[rustfmt::skip]
#[allow(missing_docs, reason = "generated; proto/protomcp.proto documents it")]
pub mod protomcp;

pub mod frame;

#[cfg(feature = "bridge")]
pub mod call;
#[cfg(feature = "bridge")]
pub mod envelope;
#[cfg(feature = "bridge")]
pub mod transfer;
#[cfg(feature = "bridge")]
pub mod zstd;

#[cfg(test)]
mod testing;

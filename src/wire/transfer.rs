//! The assembly of large payloads: chunked inside frames, or raw beside them.
//!
//! A chunked transfer is a `StreamHeader` and `StreamChunk`s under one request id; those of
//! different requests interleave. A transfer that is refused is reported once, and what still
//! comes of it is swallowed up to its final chunk.

use std::collections::HashMap;

use super::envelope::{Field, Payload, Received};
use super::protomcp::{RawHeader, StreamChunk, StreamHeader};
use crate::limits::{TRANSFERS_BYTES_MAX, TRANSFERS_MAX};

/// An id longer than this is not ours, and not worth remembering for its later chunks.
const REQUEST_ID_MAX: usize = 256;

/// A chunked transfer gets this much room (or a sixteenth of what it claims) before it has shown
/// anything.
const FIRST_STEP: usize = 64 * 1024;

/// The transfers of one tool process.
#[derive(Debug)]
pub(super) struct Transfers {
    max: usize,
    by_request: HashMap<String, Transfer>,
    /// How many of them are open.
    open: usize,
    /// Bytes that the open ones hold.
    held: usize,
    raw: Option<AwaitedRaw>,
}

#[derive(Debug)]
enum Transfer {
    Open {
        field: Field,
        /// What the header claims; 0 means unknown.
        total: usize,
        bytes: Vec<u8>,
    },
    /// Refused; its chunks are swallowed.
    Refused,
}

/// Raw bytes that a header announced.
#[derive(Debug)]
struct AwaitedRaw {
    request_id: String,
    field: Field,
    zstd: bool,
}

/// What to do with the raw bytes that follow.
#[derive(Debug)]
pub(super) enum Raw {
    /// Read this many and hand them to [`Transfers::finish_raw`].
    Take(usize),
    /// Drop this many.
    Drop {
        /// In bytes; may be far too many.
        size: u64,
        /// What to report.
        refused: Received<'static>,
    },
}

impl Transfers {
    /// No transfers yet; each may come to `max` bytes.
    pub(super) fn new(max: usize) -> Self {
        Self { max, by_request: HashMap::new(), open: 0, held: 0, raw: None }
    }

    /// A `StreamHeader` came.
    pub(super) fn open(&mut self, request_id: String, header: &StreamHeader) -> Option<Received<'static>> {
        if let Some(Transfer::Open { .. }) = self.by_request.get(&request_id) {
            return Some(
                self.refuse(request_id, "a second stream header came before the first stream's end".into()),
            );
        }
        // A new header ends the swallowing: what follows is no longer the refused transfer.
        self.by_request.remove(&request_id);
        let total = usize::try_from(header.total_size).unwrap_or(usize::MAX);
        let reason = if total > self.max {
            self.over_limit(header.total_size)
        } else if self.open >= TRANSFERS_MAX {
            format!("more than {TRANSFERS_MAX} streams are open at once")
        } else if let Some(field) = field(&header.field_name) {
            let bytes = Vec::with_capacity(total.min(FIRST_STEP.max(total / 16)));
            self.open += 1;
            self.held += request_id.len();
            self.by_request.insert(request_id, Transfer::Open { field, total, bytes });
            return None;
        } else {
            unknown_field(&header.field_name)
        };
        Some(self.refuse(request_id, reason))
    }

    /// A `StreamChunk` came.
    pub(super) fn chunk(&mut self, request_id: String, chunk: StreamChunk) -> Option<Received<'static>> {
        let StreamChunk { data, r#final } = chunk;
        let reason = match self.by_request.get_mut(&request_id) {
            None => "a stream chunk came without a stream header".into(),
            Some(Transfer::Refused) => {
                if r#final {
                    self.by_request.remove(&request_id);
                }
                return None;
            }
            Some(Transfer::Open { field, total, bytes }) => {
                let size = bytes.len().saturating_add(data.len());
                let held = self.held.saturating_add(data.len());
                if size > self.max {
                    self.over_limit(size as u64)
                } else if *total > 0 && (size > *total || (r#final && size < *total)) {
                    format!("a stream of {size} bytes was announced as {total} bytes")
                } else if held > TRANSFERS_BYTES_MAX.max(self.max) {
                    format!("the open streams hold more than {TRANSFERS_BYTES_MAX} bytes together")
                } else {
                    append(bytes, data, *total);
                    self.held = held;
                    if !r#final {
                        return None;
                    }
                    let (field, bytes) = (*field, std::mem::take(bytes));
                    self.close(&request_id, bytes.len());
                    return Some(Received::Payload(Payload { request_id, field, bytes, zstd: false }));
                }
            }
        };
        let refused = self.refuse(request_id.clone(), reason);
        if r#final {
            self.by_request.remove(&request_id);
        }
        Some(refused)
    }

    /// A `RawHeader` came, in an envelope with `envelope_id`.
    pub(super) fn expect_raw(&mut self, envelope_id: String, header: RawHeader) -> Raw {
        let request_id = if header.request_id.is_empty() { envelope_id } else { header.request_id };
        let zstd = header.compression == "zstd";
        let reason = match (field(&header.field_name), usize::try_from(header.size)) {
            (None, _) => unknown_field(&header.field_name),
            _ if !zstd && !header.compression.is_empty() => {
                format!("the compression {:?} is unknown", shown(&header.compression))
            }
            _ if zstd && header.uncompressed_size > self.max as u64 => {
                self.over_limit(header.uncompressed_size)
            }
            (Some(field), Ok(size)) if size <= self.max => {
                self.raw = Some(AwaitedRaw { request_id, field, zstd });
                return Raw::Take(size);
            }
            _ => self.over_limit(header.size),
        };
        Raw::Drop { size: header.size, refused: Received::Refused { request_id, reason } }
    }

    /// The raw bytes that were awaited are all there.
    pub(super) fn finish_raw(&mut self, bytes: Vec<u8>) -> Option<Payload> {
        let AwaitedRaw { request_id, field, zstd } = self.raw.take()?;
        Some(Payload { request_id, field, bytes, zstd })
    }

    fn over_limit(&self, size: u64) -> String {
        format!("a payload of {size} bytes is over the limit of {} bytes (see --max-message)", self.max)
    }

    /// Ends an open transfer that holds `bytes`.
    fn close(&mut self, request_id: &str, bytes: usize) {
        self.by_request.remove(request_id);
        self.open -= 1;
        self.held -= request_id.len() + bytes;
    }

    /// Drops what there is of a transfer and remembers to swallow the rest of it.
    fn refuse(&mut self, request_id: String, reason: String) -> Received<'static> {
        if let Some(Transfer::Open { bytes, .. }) = self.by_request.get(&request_id) {
            let held = bytes.len();
            self.close(&request_id, held);
        }
        if request_id.len() <= REQUEST_ID_MAX {
            if self.by_request.len() - self.open >= TRANSFERS_MAX {
                // Refused ones that never end are forgotten; should they go on after all, they are
                // reported again.
                self.by_request.retain(|_, transfer| matches!(transfer, Transfer::Open { .. }));
            }
            self.by_request.insert(request_id.clone(), Transfer::Refused);
        }
        Received::Refused { request_id, reason }
    }
}

/// Adds a chunk. The room grows to the claimed total as soon as a sixteenth of it is there, so
/// that it is copied little, and never by a claim alone.
fn append(bytes: &mut Vec<u8>, data: Vec<u8>, total: usize) {
    if bytes.is_empty() && data.len() >= bytes.capacity() {
        *bytes = data;
        return;
    }
    if bytes.len() + data.len() > bytes.capacity() && total > 0 {
        bytes.reserve_exact(total - bytes.len());
    }
    bytes.extend_from_slice(&data);
}

fn field(name: &str) -> Option<Field> {
    match name {
        "result_json" => Some(Field::Result),
        "structured_content_json" => Some(Field::StructuredContent),
        _ => None,
    }
}

fn unknown_field(name: &str) -> String {
    format!("a payload is for the unknown field {:?}", shown(name))
}

/// A peer's word, short enough for a sentence.
fn shown(word: &str) -> String {
    word.chars().take(64).collect()
}

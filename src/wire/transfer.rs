//! The assembly of large payloads: chunked inside frames, or raw beside them.
//!
//! A chunked transfer is a `StreamHeader` and `StreamChunk`s under one request id; those of
//! different requests interleave. A transfer that is refused is reported once, and what still
//! comes of it is swallowed up to its final chunk.

use std::collections::HashMap;

use super::envelope::{Field, Payload, Received};
use super::protomcp::{RawHeader, StreamChunk, StreamHeader};
use crate::limits::{TRANSFER_FIRST_STEP, TRANSFER_ID_MAX, TRANSFERS_BYTES_MAX, TRANSFERS_MAX};

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
    /// Drop this many and report why.
    Drop {
        /// In bytes; may be far too many.
        size: u64,
        request_id: String,
        reason: String,
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
            let bytes = Vec::with_capacity(total.min(TRANSFER_FIRST_STEP.max(total / 16)));
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
        Raw::Drop { size: header.size, request_id, reason }
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
        if request_id.len() <= TRANSFER_ID_MAX {
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

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 1000;

    fn header(field_name: &str, total_size: u64) -> StreamHeader {
        StreamHeader { field_name: field_name.into(), total_size, chunk_size: 3 }
    }

    fn chunk(data: &[u8], r#final: bool) -> StreamChunk {
        StreamChunk { data: data.to_vec(), r#final }
    }

    fn payload(request_id: &str, field: Field, bytes: &[u8]) -> Option<Received<'static>> {
        let request_id = request_id.into();
        Some(Received::Payload(Payload { request_id, field, bytes: bytes.to_vec(), zstd: false }))
    }

    fn refused(request_id: &str, reason: &str) -> Option<Received<'static>> {
        Some(Received::Refused { request_id: request_id.into(), reason: reason.into() })
    }

    /// Nothing is held and nothing is open; ids of refused transfers may be remembered.
    fn assert_idle(transfers: &Transfers) {
        assert_eq!((transfers.open, transfers.held), (0, 0));
        assert!(transfers.by_request.values().all(|transfer| matches!(transfer, Transfer::Refused)));
    }

    #[test]
    fn chunks_become_a_payload() {
        for (total, field_name, field) in [
            (0, "result_json", Field::Result),
            (6, "result_json", Field::Result),
            (6, "structured_content_json", Field::StructuredContent),
        ] {
            let mut transfers = Transfers::new(MAX);
            assert_eq!(transfers.open("1".into(), &header(field_name, total)), None);
            assert_eq!(transfers.chunk("1".into(), chunk(b"abc", false)), None);
            assert_eq!(transfers.chunk("1".into(), chunk(b"", false)), None);
            assert_eq!(transfers.chunk("1".into(), chunk(b"def", false)), None);
            assert_eq!(transfers.chunk("1".into(), chunk(b"", true)), payload("1", field, b"abcdef"));
            assert_idle(&transfers);
            assert!(transfers.by_request.is_empty());
        }
        let mut transfers = Transfers::new(MAX);
        assert_eq!(transfers.open("1".into(), &header("result_json", 0)), None);
        assert_eq!(transfers.chunk("1".into(), chunk(b"", true)), payload("1", Field::Result, b""));
    }

    #[test]
    fn a_total_is_held_to() {
        let mut transfers = Transfers::new(MAX);
        for (first, end, reason) in [
            (&b"abc"[..], &b"d"[..], "a stream of 4 bytes was announced as 5 bytes"),
            (b"abcdef", b"", "a stream of 6 bytes was announced as 5 bytes"),
        ] {
            assert_eq!(transfers.open("1".into(), &header("result_json", 5)), None);
            let one = transfers.chunk("1".into(), chunk(first, false));
            let two = transfers.chunk("1".into(), chunk(end, true));
            assert_eq!(one.or(two), refused("1", reason));
            assert!(transfers.by_request.is_empty(), "its end was swallowed or refused");
            assert_idle(&transfers);
        }
    }

    #[test]
    fn a_stream_stops_at_the_limit_whatever_it_claims() {
        let mut transfers = Transfers::new(MAX);
        for total in [1001, u64::MAX] {
            let reason =
                format!("a payload of {total} bytes is over the limit of 1000 bytes (see --max-message)");
            assert_eq!(transfers.open("1".into(), &header("result_json", total)), refused("1", &reason));
            assert_eq!(transfers.chunk("1".into(), chunk(b"abc", false)), None);
            assert_eq!(transfers.chunk("1".into(), chunk(b"abc", true)), None);
        }
        assert_eq!(transfers.open("1".into(), &header("result_json", 0)), None);
        assert_eq!(transfers.chunk("1".into(), chunk(&[1; 1000], false)), None);
        assert_eq!(
            transfers.chunk("1".into(), chunk(b"a", false)),
            refused("1", "a payload of 1001 bytes is over the limit of 1000 bytes (see --max-message)")
        );
        assert_idle(&transfers);
        for _ in 0..3 {
            assert_eq!(transfers.chunk("1".into(), chunk(&[1; 1000], false)), None);
        }
        assert_eq!(transfers.chunk("1".into(), chunk(b"", true)), None);
        assert!(transfers.by_request.is_empty());
    }

    #[test]
    fn a_chunk_without_a_header_is_refused_once() {
        let mut transfers = Transfers::new(MAX);
        let expected = refused("1", "a stream chunk came without a stream header");
        assert_eq!(transfers.chunk("1".into(), chunk(b"a", false)), expected);
        assert_eq!(transfers.chunk("1".into(), chunk(b"a", false)), None);
        assert_eq!(transfers.chunk("1".into(), chunk(b"a", true)), None);
        assert_eq!(transfers.chunk("1".into(), chunk(b"a", true)), expected);
        assert!(transfers.by_request.is_empty());
        // A new header is a new transfer, even if the refused one never ended.
        assert_eq!(transfers.chunk("1".into(), chunk(b"a", false)), expected);
        assert_eq!(transfers.open("1".into(), &header("result_json", 0)), None);
        assert_eq!(transfers.chunk("1".into(), chunk(b"b", true)), payload("1", Field::Result, b"b"));
    }

    #[test]
    fn a_second_header_refuses_the_transfer() {
        let mut transfers = Transfers::new(MAX);
        transfers.open("1".into(), &header("result_json", 0));
        transfers.chunk("1".into(), chunk(b"a", false));
        assert_eq!(
            transfers.open("1".into(), &header("structured_content_json", 0)),
            refused("1", "a second stream header came before the first stream's end")
        );
        assert_idle(&transfers);
        assert_eq!(transfers.chunk("1".into(), chunk(b"b", true)), None);
    }

    #[test]
    fn an_unknown_field_is_refused_in_few_words() {
        let mut transfers = Transfers::new(MAX);
        let expected = refused("1", "a payload is for the unknown field \"is_error\"");
        assert_eq!(transfers.open("1".into(), &header("is_error", 0)), expected);
        assert_eq!(transfers.chunk("1".into(), chunk(b"b", true)), None);
        let Some(Received::Refused { reason, .. }) = transfers.open("2".into(), &header(&"é".repeat(500), 0))
        else {
            panic!("refused");
        };
        assert_eq!(reason.chars().count(), 64 + "a payload is for the unknown field \"\"".len());
    }

    #[test]
    fn only_so_many_are_open_or_remembered() {
        let mut transfers = Transfers::new(MAX);
        for id in 0..TRANSFERS_MAX {
            assert_eq!(transfers.open(id.to_string(), &header("result_json", 0)), None);
            assert_eq!(transfers.chunk(id.to_string(), chunk(b"a", false)), None);
        }
        for id in 1000..1000 + TRANSFERS_MAX * 3 {
            let id = id.to_string();
            let expected = refused(&id, "more than 64 streams are open at once");
            assert_eq!(transfers.open(id.clone(), &header("result_json", 0)), expected);
            assert_eq!(transfers.chunk(id, chunk(b"a", false)), None);
            assert!(transfers.by_request.len() <= TRANSFERS_MAX * 2);
        }
        let long = "x".repeat(TRANSFER_ID_MAX + 1);
        for _ in 0..2 {
            assert!(transfers.chunk(long.clone(), chunk(b"a", false)).is_some());
        }
        assert!(!transfers.by_request.contains_key(&long));
        for id in 0..TRANSFERS_MAX {
            let id = id.to_string();
            assert_eq!(transfers.chunk(id.clone(), chunk(b"b", true)), payload(&id, Field::Result, b"ab"));
        }
        assert_idle(&transfers);
        assert_eq!(transfers.open("1".into(), &header("result_json", 0)), None);
    }

    #[test]
    fn all_together_hold_only_so_much() {
        let each = TRANSFERS_BYTES_MAX / 4;
        let mut transfers = Transfers::new(each);
        for id in 0..5 {
            assert_eq!(transfers.open(id.to_string(), &header("result_json", 0)), None);
            let received =
                transfers.chunk(id.to_string(), StreamChunk { data: vec![0; each - 1], r#final: false });
            assert_eq!(received.is_some(), id == 4);
            assert!(transfers.held <= TRANSFERS_BYTES_MAX);
        }
        for id in 0..4 {
            let received = transfers.chunk(id.to_string(), chunk(b"", true));
            assert!(matches!(received, Some(Received::Payload(payload)) if payload.bytes.len() == each - 1));
        }
        assert_idle(&transfers);
    }

    #[test]
    fn a_claimed_total_is_room_only_when_a_part_of_it_has_come() {
        let total = 16 * 1024 * 1024;
        let mut transfers = Transfers::new(total);
        transfers.open("1".into(), &header("result_json", total as u64));
        let capacity = |transfers: &Transfers| match transfers.by_request.get("1") {
            Some(Transfer::Open { bytes, .. }) => bytes.capacity(),
            _ => panic!("open"),
        };
        assert!(capacity(&transfers) <= total / 16);
        for sent in (0..total).step_by(64 * 1024).skip(1) {
            assert_eq!(transfers.chunk("1".into(), chunk(&[0; 64 * 1024], false)), None);
            assert!(capacity(&transfers) <= total / 16 || sent > total / 16);
        }
        let Some(Received::Payload(payload)) = transfers.chunk("1".into(), chunk(&[0; 64 * 1024], true))
        else {
            panic!("a payload");
        };
        assert_eq!((payload.bytes.len(), payload.bytes.capacity()), (total, total));
    }

    #[test]
    fn raw_headers_are_taken_or_their_bytes_dropped() {
        let sound = RawHeader {
            request_id: "1".into(),
            field_name: "structured_content_json".into(),
            size: 10,
            compression: "zstd".into(),
            uncompressed_size: 1000,
        };
        let mut transfers = Transfers::new(MAX);
        assert_eq!(transfers.finish_raw(vec![1]), None);
        assert!(matches!(transfers.expect_raw("9".into(), sound.clone()), Raw::Take(10)));
        let expected = Payload {
            request_id: "1".into(),
            field: Field::StructuredContent,
            bytes: vec![1; 10],
            zstd: true,
        };
        assert_eq!(transfers.finish_raw(vec![1; 10]), Some(expected));
        assert_eq!(transfers.finish_raw(vec![1]), None);

        // Without compression the claim says nothing; without an id the envelope's counts.
        let plain = RawHeader {
            request_id: String::new(),
            compression: String::new(),
            uncompressed_size: u64::MAX,
            ..sound.clone()
        };
        assert!(matches!(transfers.expect_raw("9".into(), plain), Raw::Take(10)));
        assert_eq!(
            transfers.finish_raw(vec![]).map(|payload| (payload.request_id, payload.zstd)),
            Some(("9".into(), false))
        );

        let over = "is over the limit of 1000 bytes (see --max-message)";
        for (header, reason) in [
            (RawHeader { size: 1001, ..sound.clone() }, format!("a payload of 1001 bytes {over}")),
            (
                RawHeader { size: u64::MAX, ..sound.clone() },
                format!("a payload of {} bytes {over}", u64::MAX),
            ),
            (
                RawHeader { uncompressed_size: 1001, ..sound.clone() },
                format!("a payload of 1001 bytes {over}"),
            ),
            (
                RawHeader { compression: "br".into(), ..sound.clone() },
                "the compression \"br\" is unknown".into(),
            ),
            (
                RawHeader { field_name: "x".into(), ..sound.clone() },
                "a payload is for the unknown field \"x\"".into(),
            ),
        ] {
            let Raw::Drop { size, request_id, reason: why } =
                transfers.expect_raw("9".into(), header.clone())
            else {
                panic!("refused: {header:?}");
            };
            assert_eq!(size, header.size);
            assert_eq!((request_id.as_str(), why), ("1", reason));
            assert_eq!(transfers.finish_raw(vec![1]), None);
        }
    }
}

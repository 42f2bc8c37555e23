//! Cutting a stream of bytes into frames.

use std::borrow::Cow;

use super::{FrameError, HEADER};
use crate::buffer::ReadBuffer;
use crate::limits::{FRAME_FIRST_STEP, LARGE_MIN};

/// What a [`FrameReader`] cut out of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The body of a frame, never empty; owned when it is [`LARGE_MIN`] bytes or more.
    Body(Cow<'a, [u8]>),
    /// The bytes that [`FrameReader::expect_raw`] asked for.
    Raw(Vec<u8>),
}

/// A [`Frame`] without a borrow, so that the reader's owner can look at it and go on.
#[derive(Debug)]
pub(in crate::wire) enum Cut {
    Body(Body),
    Raw(Vec<u8>),
}

/// The body of a frame.
#[derive(Debug)]
pub(in crate::wire) enum Body {
    /// This many bytes at the front of the read buffer, until the next step.
    Buffered(usize),
    /// A vector of its own.
    Own(Vec<u8>),
}

/// Cuts a stream of bytes into frames.
///
/// Small frames are slices of the read buffer. Large ones, and raw bytes, are read straight into
/// a vector of exactly their size: they are never copied as a whole, and no more memory is in use
/// than their size and a sixteenth.
///
/// After [`advance`](Self::advance) call [`next`](Self::next) until it says `None`.
#[derive(Debug)]
pub struct FrameReader {
    max: usize,
    buffer: ReadBuffer,
    /// Bytes at the front of the buffer that were handed out and go with the next step.
    done: usize,
    /// The large body or the raw bytes that are on their way.
    filling: Option<Filling>,
    /// Raw bytes that are still to be dropped.
    discard: u64,
    error: Option<FrameError>,
}

/// A vector that is read into until it has its size.
#[derive(Debug)]
struct Filling {
    /// As long as the room that it has; fresh zeroed memory costs nothing until it is written.
    bytes: Vec<u8>,
    filled: usize,
    size: usize,
    raw: bool,
}

impl Filling {
    fn new(size: usize, raw: bool) -> Self {
        let room = size.min(FRAME_FIRST_STEP.max(size / 16));
        Self { bytes: vec![0; room], filled: 0, size, raw }
    }

    fn is_full(&self) -> bool {
        self.filled == self.size
    }

    /// Room for more bytes; empty only when all have arrived.
    fn space(&mut self) -> &mut [u8] {
        if self.filled == self.bytes.len() && !self.is_full() {
            let mut whole = vec![0; self.size];
            whole[..self.filled].copy_from_slice(&self.bytes);
            self.bytes = whole;
        }
        &mut self.bytes[self.filled..]
    }
}

impl FrameReader {
    /// A reader that refuses frames of more than `max` bytes.
    pub fn new(max: usize) -> Self {
        Self { max, buffer: ReadBuffer::new(), done: 0, filling: None, discard: 0, error: None }
    }

    /// Room for the next read; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        self.settle();
        // A frame's length decides how much room its rest needs; large frames have their own.
        let want = match small_length(self.buffer.bytes()) {
            Some(length) => (HEADER + length).saturating_sub(self.buffer.bytes().len()),
            None => 0,
        };
        match &mut self.filling {
            Some(filling) if !filling.is_full() => filling.space(),
            _ => self.buffer.space(want),
        }
    }

    /// The first `count` bytes of [`space`](Self::space) have been filled.
    pub fn advance(&mut self, count: usize) {
        match &mut self.filling {
            Some(filling) if !filling.is_full() => {
                assert!(count <= filling.bytes.len() - filling.filled, "advanced past the space");
                filling.filled += count;
            }
            _ => self.buffer.advance(count),
        }
    }

    /// The next frame, if it is there whole. Frames of no bytes are skipped: they say nothing.
    /// Once it failed, it always fails.
    #[allow(clippy::should_implement_trait, reason = "what it yields borrows from the reader")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        Ok(self.cut()?.map(|cut| match cut {
            Cut::Body(body) => Frame::Body(self.body(body)),
            Cut::Raw(bytes) => Frame::Raw(bytes),
        }))
    }

    /// The next `size` bytes are not frames but one [`Frame::Raw`].
    pub fn expect_raw(&mut self, size: usize) {
        self.settle();
        self.fill(size, true);
    }

    /// The next `size` bytes are not frames and are dropped.
    pub fn discard_raw(&mut self, size: u64) {
        self.settle();
        self.discard = self.discard.saturating_add(size);
    }

    /// Whether the stream would end in the middle of something, were it to end now.
    pub fn is_mid_frame(&self) -> bool {
        self.filling.is_some() || self.discard > 0 || self.buffer.bytes().len() > self.done
    }

    /// [`next`](Self::next) without a borrow.
    pub(in crate::wire) fn cut(&mut self) -> Result<Option<Cut>, FrameError> {
        self.settle();
        if let Some(error) = self.error {
            return Err(error);
        }
        loop {
            if self.filling.as_ref().is_some_and(|filling| !filling.is_full()) {
                return Ok(None);
            }
            if let Some(Filling { bytes, raw, .. }) = self.filling.take() {
                return Ok(Some(if raw { Cut::Raw(bytes) } else { Cut::Body(Body::Own(bytes)) }));
            }
            if self.discard > 0 {
                let unread = self.buffer.bytes().len();
                let count = usize::try_from(self.discard).map_or(unread, |discard| discard.min(unread));
                self.buffer.consume(count);
                self.discard -= count as u64;
                if self.discard > 0 {
                    return Ok(None);
                }
            }
            let Some(claim) = claim(self.buffer.bytes()) else {
                return Ok(None);
            };
            let length = match usize::try_from(claim) {
                Ok(length) if length <= self.max => length,
                _ => {
                    let error = FrameError::TooLarge { length: claim, max: self.max };
                    self.error = Some(error);
                    self.buffer = ReadBuffer::new();
                    return Err(error);
                }
            };
            if length >= LARGE_MIN {
                self.buffer.consume(HEADER);
                self.fill(length, false);
            } else if self.buffer.bytes().len() - HEADER < length {
                return Ok(None);
            } else {
                self.buffer.consume(HEADER);
                if length > 0 {
                    self.done = length;
                    return Ok(Some(Cut::Body(Body::Buffered(length))));
                }
            }
        }
    }

    /// The bytes of what [`cut`](Self::cut) just cut out.
    #[cfg(feature = "bridge")]
    pub(in crate::wire) fn peek<'a>(&'a self, body: &'a Body) -> &'a [u8] {
        match body {
            Body::Buffered(length) => &self.buffer.bytes()[..*length],
            Body::Own(bytes) => bytes,
        }
    }

    /// The same, to keep.
    pub(in crate::wire) fn body(&self, body: Body) -> Cow<'_, [u8]> {
        match body {
            Body::Buffered(length) => Cow::Borrowed(&self.buffer.bytes()[..length]),
            Body::Own(bytes) => Cow::Owned(bytes),
        }
    }

    /// Forgets what was handed out.
    fn settle(&mut self) {
        self.buffer.consume(self.done);
        self.done = 0;
        if self.error.is_some() {
            // Whoever reads on after a fault shall not fill the memory.
            self.buffer.consume(self.buffer.bytes().len());
        }
    }

    /// Starts a vector of its own with what the buffer already has of it.
    fn fill(&mut self, size: usize, raw: bool) {
        let mut filling = Filling::new(size, raw);
        while !filling.is_full() && !self.buffer.bytes().is_empty() {
            let unread = self.buffer.bytes();
            let space = filling.space();
            let count = space.len().min(unread.len());
            space[..count].copy_from_slice(&unread[..count]);
            filling.filled += count;
            self.buffer.consume(count);
        }
        self.filling = Some(filling);
    }
}

/// The length in front of a frame, once it is there.
fn claim(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk::<HEADER>().map(|header| u32::from_be_bytes(*header))
}

/// The length of the frame at the front, if it is one that the buffer has to hold.
fn small_length(bytes: &[u8]) -> Option<usize> {
    claim(bytes).and_then(|claim| usize::try_from(claim).ok()).filter(|length| *length < LARGE_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{Random, cuttings};

    const MAX: usize = 64 * 1024 * 1024;

    fn frame(body: &[u8]) -> Vec<u8> {
        let mut out = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
        out.extend_from_slice(body);
        out
    }

    /// Hands `bytes` in by pieces of at most these sizes; a body that begins with "raw" or "drop"
    /// stands for a raw header with that many bytes (its fifth byte) to follow.
    fn read(
        reader: &mut FrameReader,
        mut bytes: &[u8],
        pieces: &[usize],
    ) -> Result<Vec<Vec<u8>>, FrameError> {
        let mut seen = Vec::new();
        for piece in pieces {
            let mut piece = *piece;
            while piece > 0 {
                let space = reader.space();
                assert!(!space.is_empty());
                let count = space.len().min(piece);
                space[..count].copy_from_slice(&bytes[..count]);
                reader.advance(count);
                bytes = &bytes[count..];
                piece -= count;
                while let Some(frame) = reader.next()? {
                    let body = match frame {
                        Frame::Body(body) => body.into_owned(),
                        Frame::Raw(raw) => [b"=", &raw[..]].concat(),
                    };
                    match body.split_last() {
                        Some((size, b"raw")) => reader.expect_raw(usize::from(*size)),
                        Some((size, b"drop")) => reader.discard_raw(u64::from(*size)),
                        _ => {}
                    }
                    seen.push(body);
                }
            }
        }
        assert!(bytes.is_empty());
        Ok(seen)
    }

    #[test]
    fn frames_are_cut_wherever_the_reads_end() {
        let stream = [
            &frame(b"one")[..],
            &frame(b""),
            &frame(b"raw\x05"),
            b"\0\0\0\x09!",
            &frame(b"drop\x06"),
            b"\xff\xff\xff\xff\xff\xff",
            &frame(b"raw\0"),
            &frame(b"drop\0"),
            &frame(b"end"),
        ]
        .concat();
        let expected: Vec<&[u8]> =
            vec![b"one", b"raw\x05", b"=\0\0\0\x09!", b"drop\x06", b"raw\0", b"=", b"drop\0", b"end"];
        for pieces in cuttings(stream.len()) {
            let mut reader = FrameReader::new(MAX);
            assert_eq!(read(&mut reader, &stream, &pieces).unwrap(), expected, "{pieces:?}");
            assert!(!reader.is_mid_frame());
        }
        // Cut off anywhere, what came before is there all the same.
        for cut in 1..stream.len() {
            let seen = read(&mut FrameReader::new(MAX), &stream[..cut], &[cut]).unwrap();
            assert_eq!(seen, expected[..seen.len()]);
        }
    }

    #[test]
    fn the_end_in_the_middle_of_something_is_noticed() {
        for (stream, mid) in [
            (&b""[..], false),
            (b"\0", true),
            (b"\0\0\0\x02", true),
            (b"\0\0\0\x02a", true),
            (b"\0\0\0\x02ab", false),
            (b"\0\0\0\0", false),
            (b"\0\x10\0\0", true),
            (b"\0\x10\0\0a", true),
            (b"\0\0\0\x04raw\x01", true),
            (b"\0\0\0\x04raw\x01!", false),
            (b"\0\0\0\x05drop\x01", true),
            (b"\0\0\0\x05drop\x01!", false),
        ] {
            let mut reader = FrameReader::new(MAX);
            read(&mut reader, stream, &[stream.len()]).unwrap();
            assert_eq!(reader.is_mid_frame(), mid, "{stream:?}");
        }
    }

    #[test]
    fn a_length_over_the_limit_ends_the_stream_for_good() {
        for (claim, max) in [(0xFFFF_FFF0u32, MAX), (0xFFFF_FFFF, MAX), (101, 100), (LARGE_MIN as u32, 100)] {
            let error = FrameError::TooLarge { length: claim, max };
            let stream = [&frame(b"before")[..], &claim.to_be_bytes(), &frame(b"after")].concat();
            for pieces in cuttings(stream.len()) {
                let mut reader = FrameReader::new(max);
                assert_eq!(read(&mut reader, &stream, &pieces), Err(error));
                assert_eq!(read(&mut reader, &frame(b"later"), &[9]), Err(error));
                assert_eq!(reader.next(), Err(error));
            }
        }
        assert_eq!(
            FrameError::TooLarge { length: 101, max: 100 }.to_string(),
            "a frame of 101 bytes is over the limit of 100 bytes (see --max-message)"
        );
        assert!(read(&mut FrameReader::new(100), &frame(&[1; 100]), &[104]).is_ok());
    }

    #[test]
    fn a_broken_stream_does_not_fill_the_memory() {
        let mut reader = FrameReader::new(100);
        for _ in 0..1000 {
            let space = reader.space();
            assert!(space.len() <= crate::limits::READ_BUFFER);
            space.fill(0xFF);
            let count = space.len();
            reader.advance(count);
            assert!(reader.next().is_err());
        }
    }

    #[test]
    fn a_large_frame_gets_exactly_its_size_and_not_by_its_claim_alone() {
        let size = 40 * 1024 * 1024;
        let mut reader = FrameReader::new(MAX);
        read(&mut reader, &u32::try_from(size).unwrap().to_be_bytes(), &[4]).unwrap();
        assert!(reader.space().len() <= size / 16);
        let body: Vec<u8> = (0..size).map(|i| (i / 7) as u8).collect();
        let mut sent = 0;
        loop {
            let space = reader.space();
            let count = space.len().min(size - sent).min(1_000_003);
            space[..count].copy_from_slice(&body[sent..sent + count]);
            reader.advance(count);
            sent += count;
            match reader.next().unwrap() {
                None => assert!(sent < size),
                Some(Frame::Body(Cow::Owned(got))) => {
                    assert!(got == body);
                    assert_eq!(got.capacity(), size);
                    break;
                }
                Some(_) => panic!("a large body is its own vector"),
            }
        }
        assert!(!reader.is_mid_frame());
        assert!(reader.space().len() <= crate::limits::READ_BUFFER);
    }

    #[test]
    fn a_large_frame_begins_at_its_bound() {
        for (size, large) in [(LARGE_MIN - 1, false), (LARGE_MIN, true)] {
            let wire = frame(&vec![7; size]);
            let mut reader = FrameReader::new(MAX);
            let mut sent = 0;
            while sent < wire.len() {
                assert_eq!(reader.next(), Ok(None));
                let space = reader.space();
                let count = space.len().min(wire.len() - sent);
                space[..count].copy_from_slice(&wire[sent..sent + count]);
                reader.advance(count);
                sent += count;
            }
            let Ok(Some(Frame::Body(body))) = reader.next() else { panic!("a body") };
            assert_eq!((body.len(), matches!(body, Cow::Owned(_))), (size, large));
        }
    }

    #[test]
    fn frames_of_every_size_survive_random_reads() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let mut stream = Vec::new();
            let mut bodies = Vec::new();
            for _ in 0..30 {
                let length = match random.below(8) {
                    0 => LARGE_MIN - 2 + random.below(4),
                    1 => random.below(LARGE_MIN * 5),
                    2 => random.below(100_000),
                    _ => 1 + random.below(300),
                };
                let fill = random.next() as u8 | 0x80;
                let body = vec![fill; length.max(1)];
                stream.extend_from_slice(&frame(&body));
                bodies.push(body);
            }
            let mut pieces = Vec::new();
            let mut left = stream.len();
            while left > 0 {
                let bound = [3, 1000, 70_000, 3_000_000][random.below(4)];
                let piece = (1 + random.below(bound)).min(left);
                pieces.push(piece);
                left -= piece;
            }
            assert!(read(&mut FrameReader::new(MAX), &stream, &pieces).unwrap() == bodies);
        }
    }
}

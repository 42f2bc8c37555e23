//! Frames: a 4-byte big-endian length and that many bytes of an [`Envelope`]; the one exception
//! are the raw bytes that follow a `RawHeader`.

use std::borrow::Cow;
use std::fmt;

use prost::Message;

use super::protomcp::Envelope;
use crate::buffer::ReadBuffer;
use crate::limits::LARGE_MIN;

/// Bytes of the length in front of each frame.
pub const HEADER: usize = 4;

/// A large body is first given this much room (or a sixteenth of what it claims); only when that
/// has arrived does it get the whole.
const FIRST_STEP: usize = 1024 * 1024;

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
    out.reserve_exact(HEADER + length);
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

/// What a [`FrameReader`] cut out of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The body of a frame, never empty; owned when it is [`LARGE_MIN`] bytes or more.
    Body(Cow<'a, [u8]>),
    /// The bytes that [`FrameReader::expect_raw`] asked for.
    Raw(Vec<u8>),
}

/// What was cut out, without a borrow, so that the caller can look at it and go on.
#[derive(Debug)]
pub(super) enum Cut {
    /// A body of this many bytes; [`FrameReader::small`] has it until the next step.
    Small(usize),
    /// A large body.
    Large(Vec<u8>),
    /// Raw bytes.
    Raw(Vec<u8>),
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
        let room = size.min(FIRST_STEP.max(size / 16));
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
            Cut::Small(length) => Frame::Body(Cow::Borrowed(self.small(length))),
            Cut::Large(bytes) => Frame::Body(Cow::Owned(bytes)),
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
    pub(super) fn cut(&mut self) -> Result<Option<Cut>, FrameError> {
        self.settle();
        if let Some(error) = self.error {
            return Err(error);
        }
        loop {
            if self.filling.as_ref().is_some_and(|filling| !filling.is_full()) {
                return Ok(None);
            }
            if let Some(Filling { bytes, raw, .. }) = self.filling.take() {
                return Ok(Some(if raw { Cut::Raw(bytes) } else { Cut::Large(bytes) }));
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
                    return Ok(Some(Cut::Small(length)));
                }
            }
        }
    }

    /// The body that [`cut`](Self::cut) just spoke of.
    pub(super) fn small(&self, length: usize) -> &[u8] {
        &self.buffer.bytes()[..length]
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

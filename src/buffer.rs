//! Bytes between a file descriptor and a codec. No IO here: whoever owns the descriptor fills
//! [`ReadBuffer::space`] and empties [`WriteQueue::front`].

use std::collections::VecDeque;

use crate::limits::READ_BUFFER;

/// Bytes that were read and not yet consumed.
///
/// Invariant: `start <= end <= data.len()`; `data[start..end]` is unread.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    data: Vec<u8>,
    start: usize,
    end: usize,
}

impl ReadBuffer {
    /// An empty buffer that allocates on its first [`space`](Self::space).
    pub fn new() -> Self {
        Self::default()
    }

    /// The unread bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    /// Room for at least `want` more bytes (and for a whole read in any case); moves or grows as
    /// needed.
    pub fn space(&mut self, want: usize) -> &mut [u8] {
        let want = want.max(READ_BUFFER / 4);
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.data.len() > READ_BUFFER && want <= READ_BUFFER {
                self.data = vec![0; READ_BUFFER];
            }
        }
        if self.data.len() - self.end < want && self.start > 0 {
            self.data.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.data.len() - self.end < want {
            let len = (self.end + want).max(self.data.len() * 2).max(READ_BUFFER);
            // The allocator hands out zeroes for less than it costs to write them.
            let mut larger = vec![0; len];
            larger[..self.end].copy_from_slice(&self.data[..self.end]);
            self.data = larger;
        }
        &mut self.data[self.end..]
    }

    /// The first `count` bytes of [`space`](Self::space) have been filled.
    pub fn advance(&mut self, count: usize) {
        assert!(count <= self.data.len() - self.end, "advanced past the space");
        self.end += count;
    }

    /// The first `count` unread bytes are done with.
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.end - self.start, "consumed past the unread bytes");
        self.start += count;
    }

    /// Hands out the first `count` unread bytes as a vector of their own; without a copy when
    /// they are most of what the buffer holds.
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        assert!(count <= self.end - self.start, "took past the unread bytes");
        if self.start > 0 || count < self.data.len() / 2 {
            let taken = self.bytes()[..count].to_vec();
            self.consume(count);
            return taken;
        }
        let rest = self.data[count..self.end].to_vec();
        self.end = rest.len();
        let mut taken = std::mem::replace(&mut self.data, rest);
        taken.truncate(count);
        taken
    }
}

/// Messages on their way out, with the part of the first one that is already gone.
#[derive(Debug, Default)]
pub struct WriteQueue {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that were written.
    offset: usize,
    len: usize,
}

/// Messages up to this size are gathered into one chunk, so that one write carries many.
const GATHER_MAX: usize = READ_BUFFER;

impl WriteQueue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a message; small ones are copied behind the last chunk, large ones are kept whole.
    pub fn push(&mut self, message: Vec<u8>) {
        self.len += message.len();
        match self.chunks.back_mut() {
            Some(last) if last.len() + message.len() <= GATHER_MAX => last.extend_from_slice(&message),
            _ => self.chunks.push_back(message),
        }
    }

    /// Bytes that still have to be written.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is left to write.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What to write next; empty only when the queue is.
    pub fn front(&self) -> &[u8] {
        self.chunks.front().map_or(&[], |chunk| &chunk[self.offset..])
    }

    /// The first `count` bytes of [`front`](Self::front) were written.
    pub fn consume(&mut self, count: usize) {
        self.offset += count;
        self.len -= count;
        if self.chunks.front().is_some_and(|chunk| chunk.len() == self.offset) {
            self.chunks.pop_front();
            self.offset = 0;
        }
    }

    /// Drops all that is left, for a peer that is gone.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(buffer: &mut ReadBuffer, bytes: &[u8]) {
        buffer.space(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        buffer.advance(bytes.len());
    }

    #[test]
    fn unread_bytes_survive_moves_and_growth() {
        let mut buffer = ReadBuffer::new();
        let big: Vec<u8> = (0..200_000u32).map(|i| i as u8).collect();
        fill(&mut buffer, b"abc");
        buffer.consume(2);
        fill(&mut buffer, &big);
        assert_eq!(buffer.bytes()[0], b'c');
        assert_eq!(&buffer.bytes()[1..], &big[..]);
    }

    #[test]
    fn take_leaves_the_rest() {
        let mut buffer = ReadBuffer::new();
        let big = vec![7u8; READ_BUFFER * 2];
        fill(&mut buffer, &big);
        fill(&mut buffer, b"rest");
        assert_eq!(buffer.take(big.len()), big);
        assert_eq!(buffer.bytes(), b"rest");
        assert_eq!(buffer.take(2), b"re");
        assert_eq!(buffer.bytes(), b"st");
    }

    #[test]
    fn a_large_buffer_is_given_back_when_empty() {
        let mut buffer = ReadBuffer::new();
        fill(&mut buffer, &vec![1; READ_BUFFER * 4]);
        buffer.consume(READ_BUFFER * 4);
        assert!(buffer.space(1).len() <= READ_BUFFER);
    }

    #[test]
    fn partial_writes_and_gathering_keep_the_order() {
        let mut queue = WriteQueue::new();
        let mut expected = Vec::new();
        for i in 0..50u8 {
            let message = vec![i; 1 + usize::from(i) * 700];
            expected.extend_from_slice(&message);
            queue.push(message);
        }
        assert_eq!(queue.len(), expected.len());
        let mut written = Vec::new();
        while !queue.is_empty() {
            let n = queue.front().len().min(997);
            written.extend_from_slice(&queue.front()[..n]);
            queue.consume(n);
        }
        assert_eq!(written, expected);
        assert_eq!(queue.front(), b"");
    }
}

//! Calls that wait for a serving process or for a free slot of it.

use std::collections::VecDeque;

use crate::ids::CallId;
use crate::limits::{WAITING_BYTES_MAX, WAITING_REFUSED_FACTOR, WAITING_REQUESTS_MAX};

/// The line, in the order of arrival.
///
/// Invariant: it holds exactly the calls at the stage `Waiting`, and `bytes` is the sum of their
/// sizes.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    line: VecDeque<CallId>,
    bytes: usize,
}

impl Waiting {
    /// One more at the end.
    pub(super) fn push(&mut self, id: CallId, size: usize) {
        self.line.push_back(id);
        self.bytes += size;
    }

    /// The first one, which has its turn now.
    pub(super) fn first(&self) -> Option<CallId> {
        self.line.front().copied()
    }

    /// One that waits no longer, because it begins or because it is over.
    pub(super) fn remove(&mut self, id: CallId, size: usize) {
        let Some(at) = self.line.iter().position(|waiting| *waiting == id) else { return };
        self.line.remove(at);
        self.bytes -= size;
    }

    /// One that waits takes more or less than before.
    pub(super) fn resized(&mut self, before: usize, after: usize) {
        self.bytes = self.bytes - before + after;
    }

    /// All of them, first come first.
    pub(super) fn ids(&self) -> Vec<CallId> {
        self.line.iter().copied().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.line.len()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether so much waits that hosts should not be read.
    pub(super) fn is_full(&self) -> bool {
        self.line.len() >= WAITING_REQUESTS_MAX || self.bytes >= WAITING_BYTES_MAX
    }

    /// Whether so much waits that no more is taken in.
    pub(super) fn is_overfull(&self) -> bool {
        self.line.len() >= WAITING_REFUSED_FACTOR * WAITING_REQUESTS_MAX
            || self.bytes >= WAITING_REFUSED_FACTOR * WAITING_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_does_not_count() {
        let mut waiting = Waiting::default();
        for id in 0..3 * WAITING_REQUESTS_MAX as u64 {
            waiting.push(CallId(id), 7);
            assert!(!waiting.is_full());
            waiting.remove(CallId(id), 7);
            waiting.remove(CallId(id), 7);
        }
        assert_eq!((waiting.len(), waiting.bytes, waiting.first()), (0, 0, None));
    }

    #[test]
    fn requests_and_bytes_are_bounded() {
        let mut waiting = Waiting::default();
        for id in 0..WAITING_REQUESTS_MAX as u64 {
            assert!(!waiting.is_full());
            waiting.push(CallId(id), 0);
        }
        assert!(waiting.is_full() && !waiting.is_overfull());
        waiting.remove(CallId(5), 0);
        assert!(!waiting.is_full());
        waiting.push(CallId(5000), 2 * WAITING_BYTES_MAX);
        assert!(waiting.is_overfull());
        assert_eq!(waiting.first(), Some(CallId(0)));
    }
}

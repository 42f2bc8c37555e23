//! Calls that wait: for a serving process, or for a free slot of it. Of those that wait for something
//! else it only knows how much they are.

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
    /// Calls that wait for a host, or for a task.
    aside: usize,
    bytes_aside: usize,
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

    /// One takes no slot, and waits for something else.
    pub(super) fn set_aside(&mut self, size: usize) {
        self.aside += 1;
        self.bytes_aside += size;
    }

    /// One that was set aside is over, or is in the line again.
    pub(super) fn not_aside(&mut self, size: usize) {
        self.aside -= 1;
        self.bytes_aside -= size;
    }

    /// All that are in the line, first come first.
    pub(super) fn ids(&self) -> Vec<CallId> {
        self.line.iter().copied().collect()
    }

    /// How many are in the line.
    pub(super) fn len(&self) -> usize {
        self.line.len()
    }

    /// How many wait, for whatever it is.
    pub(super) fn all(&self) -> usize {
        self.line.len() + self.aside
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> (usize, usize) {
        (self.bytes, self.bytes_aside)
    }

    /// Whether so much waits for the tool process that hosts should not be read. What waits for
    /// something else may wait for just that.
    pub(super) fn is_full(&self) -> bool {
        self.line.len() >= WAITING_REQUESTS_MAX || self.bytes >= WAITING_BYTES_MAX
    }

    /// Whether so much waits that no more is taken in.
    pub(super) fn is_overfull(&self) -> bool {
        self.all() >= WAITING_REFUSED_FACTOR * WAITING_REQUESTS_MAX
            || self.bytes + self.bytes_aside >= WAITING_REFUSED_FACTOR * WAITING_BYTES_MAX
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
        waiting.remove(CallId(5000), 2 * WAITING_BYTES_MAX);
        waiting.remove(CallId(0), 0);
        for _ in 0..WAITING_REQUESTS_MAX + 2 {
            assert!(!waiting.is_overfull());
            waiting.set_aside(0);
        }
        assert!(waiting.is_overfull() && !waiting.is_full());
        waiting.not_aside(0);
        waiting.set_aside(2 * WAITING_BYTES_MAX);
        waiting.not_aside(2 * WAITING_BYTES_MAX);
        assert!(!waiting.is_overfull());
    }
}

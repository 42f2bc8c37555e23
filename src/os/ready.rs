//! What the poll said about a source and was not yet used up.
//!
//! The poll is edge-triggered: it says only once that a source became readable. A source that is
//! left early (its budget is used up, or reading is paused) gets no second event, so the news is
//! kept here, and the loop does not sleep while a source that may be read is readable.
//!
//! When is a source empty? Certainly when a read says `WouldBlock`. On a pipe or stream socket
//! also when a read returned less than it had space for: the kernel copies until its queue is
//! empty, and bytes that come after that are a new edge. What a short read does not show is the
//! end of the stream when it lies behind the same bytes: the event for both came (or comes) once,
//! as "closed". Then the source is read until it says that it is at its end. That an end which
//! comes after the poll returned is an edge of its own makes this complete.

use mio::event::Event;

/// What is known of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ready {
    readable: bool,
    closed: bool,
}

impl Ready {
    /// For a source that the poll cannot watch, and for one that may have something already.
    pub(super) const READABLE: Self = Self { readable: true, closed: false };

    /// The poll said something.
    pub(super) fn note(&mut self, event: &Event) {
        self.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
        self.closed |= event.is_read_closed() || event.is_error();
    }

    /// The source shall be read to its end.
    pub(super) fn note_closed(&mut self) {
        *self = Self { readable: true, closed: true };
    }

    /// Whether a read may find something.
    pub(super) const fn is_readable(self) -> bool {
        self.readable
    }

    /// Whether the end of the stream was announced: what is left to read is what is there.
    pub(super) const fn is_closed(self) -> bool {
        self.closed
    }

    /// A read said `WouldBlock`.
    pub(super) fn blocked(&mut self) {
        self.readable = false;
    }

    /// A read of a pipe or stream socket returned less than it had space for.
    pub(super) fn short(&mut self) {
        self.readable = self.closed;
    }
}

/// What one read brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// So many bytes.
    Data(usize),
    /// Nothing for now.
    Blocked,
    /// Nothing any more.
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_read_empties_a_source_unless_its_end_was_announced() {
        let mut ready = Ready::READABLE;
        ready.short();
        assert!(!ready.is_readable());
        ready.note_closed();
        ready.short();
        assert!(ready.is_readable());
        ready.blocked();
        assert!(!ready.is_readable());
    }
}

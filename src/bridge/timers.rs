//! What is due about calls, in the order of its time.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::ids::CallId;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// The call has had its time.
    Answer,
    /// What is to be asked has been gathered.
    Gathered,
    /// A task of the tool process is to be looked at.
    Look,
}

/// The times of all calls.
///
/// Invariant: an entry is one of a call that lives; each call has at most one of each kind.
#[derive(Debug, Default)]
pub(super) struct Timers {
    entries: BTreeSet<(Instant, CallId, Due)>,
}

impl Timers {
    /// When the next is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.entries.first().map(|&(at, ..)| at)
    }

    /// The earliest one, if its time has come.
    pub(super) fn due(&mut self, now: Instant) -> Option<(CallId, Due)> {
        let &(at, call, due) = self.entries.first()?;
        if at > now {
            return None;
        }
        self.entries.pop_first();
        Some((call, due))
    }

    /// Sets one in place of an earlier one of its kind.
    pub(super) fn set(&mut self, call: CallId, due: Due, before: Option<Instant>, at: Option<Instant>) {
        if let Some(before) = before {
            self.entries.remove(&(before, call, due));
        }
        if let Some(at) = at {
            self.entries.insert((at, call, due));
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

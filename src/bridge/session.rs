//! What is remembered about one host.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::ids::{CallId, Route};
use crate::jsonrpc::message::RequestId;
use crate::mcp::logging::Level;
use crate::mcp::request::HostCapabilities;
use crate::mcp::revision::{self, Revision};

use super::listen::Listen;

/// One host.
#[derive(Debug)]
pub(super) struct Session {
    /// Who it is, as far as that had to be proven.
    pub(super) principal: Box<str>,
    /// What it understands; the newest until it says otherwise.
    pub(super) revision: Revision,
    /// It went through `initialize` and said something after that: it can take notifications.
    pub(super) live: bool,
    /// It went through `initialize`.
    pub(super) initialized: bool,
    pub(super) capabilities: HostCapabilities,
    /// The least severe log message that it wants.
    pub(super) log_level: Level,
    /// URIs of resources whose changes it wants to hear of.
    pub(super) subscriptions: BTreeSet<String>,
    /// The streams of news that it opened in the modern era.
    pub(super) listens: Vec<Listen>,
    /// Its requests that are not answered yet.
    pub(super) in_flight: HashMap<RequestId, CallId>,
    /// Batches of which answers are outstanding.
    batches: BTreeMap<u64, Batch>,
    next_batch: u64,
}

/// The answers to a JSON-RPC batch, gathered.
#[derive(Debug)]
struct Batch {
    route: Route,
    outstanding: usize,
    /// The array so far, without its closing bracket.
    answers: Vec<u8>,
}

/// How far a batch is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BatchEnd {
    /// Answers are outstanding.
    NotYet,
    /// The whole array.
    Answered(Route, Vec<u8>),
    /// All of it was cancelled.
    Unanswered(Route),
}

impl Session {
    /// Whether an id is that of a request that is not answered yet.
    pub(super) fn is_in_use(&self, id: &RequestId) -> bool {
        self.in_flight.contains_key(id) || self.listens.iter().any(|listen| listen.id() == id)
    }

    pub(super) fn new(principal: Box<str>) -> Self {
        Self {
            principal,
            revision: revision::LATEST,
            live: false,
            initialized: false,
            capabilities: HostCapabilities::default(),
            log_level: Level::Info,
            subscriptions: BTreeSet::new(),
            listens: Vec::new(),
            in_flight: HashMap::new(),
            batches: BTreeMap::new(),
            next_batch: 0,
        }
    }

    /// Opens a batch that `outstanding` answers belong to.
    pub(super) fn open_batch(&mut self, route: Route, outstanding: usize) -> u64 {
        self.next_batch += 1;
        self.batches.insert(self.next_batch, Batch { route, outstanding, answers: Vec::new() });
        self.next_batch
    }

    /// One answer of a batch is there, or (`None`) will never be.
    pub(super) fn batch_answer(&mut self, batch: u64, answer: Option<&[u8]>) -> BatchEnd {
        let Some(entry) = self.batches.get_mut(&batch) else { return BatchEnd::NotYet };
        if let Some(answer) = answer {
            entry.answers.push(if entry.answers.is_empty() { b'[' } else { b',' });
            entry.answers.extend_from_slice(answer);
        }
        entry.outstanding = entry.outstanding.saturating_sub(1);
        if entry.outstanding > 0 {
            return BatchEnd::NotYet;
        }
        let Some(Batch { route, mut answers, .. }) = self.batches.remove(&batch) else {
            return BatchEnd::NotYet;
        };
        if answers.is_empty() {
            return BatchEnd::Unanswered(route);
        }
        answers.push(b']');
        BatchEnd::Answered(route, answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::SessionId;

    #[test]
    fn a_batch_is_answered_when_all_of_it_is() {
        let mut session = Session::new("".into());
        let route = Route::session(SessionId(1));
        let batch = session.open_batch(route, 3);
        assert_eq!(session.batch_answer(batch, Some(b"{\"a\":1}")), BatchEnd::NotYet);
        assert_eq!(session.batch_answer(batch, None), BatchEnd::NotYet);
        let whole = BatchEnd::Answered(route, b"[{\"a\":1},2]".to_vec());
        assert_eq!(session.batch_answer(batch, Some(b"2")), whole);
        assert_eq!(session.batch_answer(batch, Some(b"3")), BatchEnd::NotYet);
    }

    #[test]
    fn a_batch_of_cancelled_requests_has_no_answer() {
        let mut session = Session::new("".into());
        let route = Route::session(SessionId(1));
        let batch = session.open_batch(route, 1);
        assert_eq!(session.batch_answer(batch, None), BatchEnd::Unanswered(route));
        assert!(session.batches.is_empty());
    }
}

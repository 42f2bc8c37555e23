//! One connection: what is read of it, what it waits for, and how long that may take.

use std::time::{Duration, Instant};

use super::super::guard::{Peer, Principal};
use super::super::head::Head;
use super::super::reader::Reader;
use super::super::timers::Alarm;
use super::counts::Access;
use crate::ids::SessionId;
use crate::limits::{
    HTTP_BODY_STALL, HTTP_HEAD_TIMEOUT, HTTP_KEEP_ALIVE, HTTP_LINGER, HTTP_PENDING_MAX, HTTP_QUIET,
    HTTP_WRITE_STALL,
};

/// Connections beyond the limit that are told so before they are closed.
pub(super) const REFUSED_MAX: usize = 64;

/// One client's connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: Peer,
    pub(super) reader: Reader,
    /// What came behind the request that is being answered.
    pub(super) pending: Vec<u8>,
    pub(super) phase: Phase,
    /// Of the request whose body is read.
    pub(super) head: Option<Box<Head>>,
    /// Who asks, in that request.
    pub(super) principal: Principal,
    pub(super) manner: Manner,
    /// Since when nothing has happened that counts for its phase.
    pub(super) since: Instant,
    /// Since when it takes nothing of what it has to get.
    pub(super) unsent_since: Option<Instant>,
    /// It sends nothing more.
    pub(super) is_ended: bool,
    pub(super) alarm: Alarm,
    /// What the access log will say of its request.
    pub(super) access: Option<Box<Access>>,
}

/// What a connection is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The next request is awaited, or its bytes are.
    Reading,
    /// A worker reads the body.
    Parsing,
    /// The answer of this exchange is awaited.
    Waiting(u64),
    /// It carries a stream.
    Streaming {
        /// Of which session.
        session: SessionId,
        /// Of which exchange; 0 is the session's own.
        exchange: u64,
        /// Since when.
        began: Instant,
    },
    /// It is asked to close.
    Closing,
}

/// How the response to the present request is spelled.
#[derive(Clone, Debug, Default)]
pub(super) struct Manner {
    /// HTTP/1.1: a body may come in chunks.
    pub(super) is_current: bool,
    /// Another request may follow.
    pub(super) keep_alive: bool,
    /// Only the head of a response is wanted.
    pub(super) head_only: bool,
    /// The response may be a stream.
    pub(super) takes_stream: bool,
    /// The origin whose pages may read it.
    pub(super) origin: Option<Box<str>>,
}

impl Connection {
    pub(super) fn new(peer: Peer, reader: Reader, now: Instant) -> Self {
        Self {
            peer,
            reader,
            pending: Vec::new(),
            phase: Phase::Reading,
            head: None,
            principal: Principal::default(),
            manner: Manner::default(),
            since: now,
            unsent_since: None,
            is_ended: false,
            alarm: Alarm::default(),
            access: None,
        }
    }

    /// Whether more of it should be read. What comes behind a request is read on for a while, since
    /// only a read tells that the client is gone.
    pub(super) fn wants_more(&self) -> bool {
        match self.phase {
            Phase::Reading | Phase::Closing => true,
            _ => !self.is_ended && self.pending.len() < HTTP_PENDING_MAX,
        }
    }

    /// When something has to be done about it though nothing happens.
    pub(super) fn deadline(&self, stream_time: Option<Duration>) -> Option<Instant> {
        let quiet = stream_time.map_or(HTTP_QUIET, |time| time.min(HTTP_QUIET));
        let own = match self.phase {
            Phase::Closing => Some(self.since + HTTP_LINGER),
            Phase::Reading if self.reader.is_mid_body() => Some(self.since + HTTP_BODY_STALL),
            Phase::Reading if self.reader.is_mid_request() => Some(self.since + HTTP_HEAD_TIMEOUT),
            Phase::Reading => Some(self.since + HTTP_KEEP_ALIVE),
            Phase::Parsing => None,
            Phase::Waiting(_) => self.manner.takes_stream.then(|| self.since + quiet),
            Phase::Streaming { began, .. } => {
                let end = stream_time.and_then(|time| began.checked_add(time));
                Some(end.map_or(self.since + HTTP_QUIET, |end| end.min(self.since + HTTP_QUIET)))
            }
        };
        let stalled = self.unsent_since.map(|since| since + HTTP_WRITE_STALL);
        match (own, stalled) {
            // What it has to get keeps it busy; nothing else is asked of it meanwhile.
            (_, Some(stalled)) if self.phase == Phase::Closing => Some(stalled),
            (own, stalled) => own.into_iter().chain(stalled).min(),
        }
    }
}

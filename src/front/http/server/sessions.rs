//! The sessions of the handshake era.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::time::Instant;

use super::super::guard::Principal;
use super::super::slab::Key;
use super::super::stream::{EventId, Stream};
use super::super::timers::Alarm;
use super::connection::Phase;
use super::{Backend, Exchange, Kind, Server};
use crate::ids::SessionId;
use crate::limits::{HTTP_EVICT_AFTER, HTTP_FINISHED_MAX, HTTP_LISTENERS_MAX};
use crate::mcp::revision::Revision;

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    name: Box<str>,
    /// Whose it is.
    pub(super) principal: Principal,
    pub(super) revision: Revision,
    /// What belongs to no exchange.
    pub(super) own: Stream,
    /// The connections that carry it; only the last gets what comes.
    pub(super) listeners: Vec<Key>,
    /// Those that are not over, or are kept.
    pub(super) exchanges: BTreeSet<u64>,
    /// Those that are over and kept for a client that missed their end.
    finished: VecDeque<u64>,
    used: Instant,
    alarm: Alarm,
}

impl Session {
    /// Somebody listens or waits, or may come again for an answer.
    fn is_busy(&self) -> bool {
        !self.listeners.is_empty() || self.exchanges.len() > self.finished.len()
    }
}

impl Server {
    /// Begins a session. `None`: it can't be given a name that nobody guesses.
    pub(super) fn open_session(
        &mut self,
        revision: Revision,
        principal: Principal,
        backend: &mut dyn Backend,
    ) -> Option<SessionId> {
        let mut name = String::with_capacity(32);
        for byte in backend.random()? {
            // A string takes all.
            let _ = write!(name, "{byte:02x}");
        }
        self.counts.sessions += 1;
        self.last_session += 1;
        let id = SessionId(self.last_session);
        backend.open(id, true, &principal);
        let mut session = Session {
            name: name.as_str().into(),
            principal,
            revision,
            own: Stream::new(0),
            listeners: Vec::new(),
            exchanges: BTreeSet::new(),
            finished: VecDeque::new(),
            used: self.now,
            alarm: Alarm::default(),
        };
        if let Some(at) = self.now.checked_add(self.config.session_idle) {
            self.session_timers.set(id, &mut session.alarm, at);
        }
        self.sessions.insert(id, session);
        self.names.insert(name.into(), id);
        Some(id)
    }

    /// What a session is called.
    pub(super) fn name_of(&self, session: SessionId) -> Option<Box<str>> {
        self.sessions.get(&session).map(|session| session.name.clone())
    }

    /// A session is used.
    pub(super) fn touch(&mut self, session: SessionId) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.used = self.now;
        }
    }

    /// Ends a session. Whoever waits in it is told.
    pub(super) fn close_session(&mut self, id: SessionId, backend: &mut dyn Backend) {
        let Some(mut session) = self.sessions.remove(&id) else { return };
        self.names.remove(&session.name);
        self.session_timers.cancel(id, &mut session.alarm);
        self.kept -= session.own.bytes();
        for number in session.exchanges {
            let Some(exchange) = self.exchanges.remove(&number) else { continue };
            self.uncount(&exchange);
            self.kept -= exchange.stream.as_ref().map_or(0, Stream::bytes);
            if let Some(key) = exchange.connection {
                match self.connections.get(key).map(|connection| connection.phase) {
                    Some(Phase::Waiting(_)) => self.refuse(key, 404, "the session is over"),
                    _ => self.end_stream(key),
                }
            }
        }
        for key in session.listeners {
            self.end_stream(key);
        }
        backend.close(id);
    }

    /// Makes sure that one more session may begin, at the cost of one that nobody uses.
    pub(super) fn make_room_for_session(&mut self, backend: &mut dyn Backend) -> bool {
        if self.sessions.len() < self.config.sessions_max {
            return true;
        }
        let idle = self.sessions.iter().filter(|(_, session)| !session.is_busy());
        let Some((&id, oldest)) = idle.min_by_key(|(_, session)| session.used) else { return false };
        if self.now.saturating_duration_since(oldest.used) < HTTP_EVICT_AFTER {
            return false;
        }
        self.close_session(id, backend);
        true
    }

    /// Ends the sessions that were not used for too long.
    pub(super) fn expire_sessions(&mut self, backend: &mut dyn Backend) {
        while let Some(id) = self.session_timers.next_due(self.now) {
            let (now, idle) = (self.now, self.config.session_idle);
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            session.alarm.clear();
            if session.is_busy() {
                session.used = now;
            }
            match session.used.checked_add(idle) {
                Some(at) if at > now => self.session_timers.set(id, &mut session.alarm, at),
                Some(_) => self.close_session(id, backend),
                None => {}
            }
        }
    }

    /// A connection carries a session's own stream, from the event behind this number on, or else
    /// from what was not sent yet.
    pub(super) fn listen(&mut self, key: Key, id: SessionId, after: Option<u64>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let after = after.unwrap_or(session.own.sent());
        let mut first = Vec::new();
        if has_priming(session.revision) {
            session.own.write_priming(&mut first, after);
        }
        session.own.write_after(&mut first, after);
        session.own.note_sent();
        session.listeners.push(key);
        let surplus = (session.listeners.len() > HTTP_LISTENERS_MAX).then(|| session.listeners.remove(0));
        self.begin_stream(key, id, 0, &first);
        if let Some(surplus) = surplus {
            self.end_stream(surplus);
        }
    }

    /// A connection does not carry its session's stream any more.
    pub(super) fn stopped_listening(&mut self, id: SessionId, key: Key) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.listeners.retain(|listener| *listener != key);
            session.used = self.now;
        }
    }

    /// A connection carries on the stream of an exchange.
    pub(super) fn resume(&mut self, key: Key, id: SessionId, event: EventId) {
        let revision = self.sessions.get(&id).map(|session| session.revision);
        let exchange = self.exchanges.get_mut(&event.exchange).filter(|exchange| exchange.session == id);
        let Some(Exchange { stream: Some(stream), connection, is_answered, .. }) = exchange else {
            return self.refuse(key, 400, "nothing is kept of the stream that the Last-Event-ID is of");
        };
        let mut first = Vec::new();
        let is_answered = *is_answered;
        if !is_answered && revision.is_some_and(has_priming) {
            stream.write_priming(&mut first, event.number);
        }
        stream.write_after(&mut first, event.number);
        stream.note_sent();
        let previous = if is_answered { None } else { connection.replace(key) };
        self.begin_stream(key, id, event.exchange, &first);
        if let Some(previous) = previous {
            self.end_stream(previous);
        }
        if is_answered {
            self.end_stream(key);
        }
    }

    /// An exchange of a session is over. What was streamed of it is kept for a while.
    pub(super) fn finish_exchange(&mut self, number: u64) {
        let Some(exchange) = self.exchanges.get_mut(&number) else { return };
        exchange.is_answered = true;
        exchange.connection = None;
        let id = exchange.session;
        let is_kept = exchange.stream.as_ref().is_some_and(|stream| stream.bytes() > 0);
        let Some(session) = self.sessions.get_mut(&id) else {
            self.exchanges.remove(&number);
            return;
        };
        session.used = self.now;
        let forgotten = if is_kept {
            session.finished.push_back(number);
            (session.finished.len() > HTTP_FINISHED_MAX).then(|| session.finished.pop_front()).flatten()
        } else {
            Some(number)
        };
        if let Some(forgotten) = forgotten {
            session.exchanges.remove(&forgotten);
            let exchange = self.exchanges.remove(&forgotten);
            self.kept -= exchange.and_then(|exchange| exchange.stream).map_or(0, |stream| stream.bytes());
        }
    }

    /// Nobody waits for an exchange any more.
    pub(super) fn deserted(&mut self, number: u64, backend: &mut dyn Backend) {
        let Some(exchange) = self.exchanges.get_mut(&number) else { return };
        exchange.connection = None;
        let (session, kind) = (exchange.session, exchange.kind);
        match kind {
            Kind::Call => self.touch(session),
            // Nobody will ever know the session's name.
            Kind::Initialize => self.close_session(session, backend),
            Kind::Modern => {
                if let Some(exchange) = self.exchanges.remove(&number) {
                    self.uncount(&exchange);
                }
                backend.close(session);
            }
        }
    }

    /// The guard does not count an exchange any more.
    pub(super) fn uncount(&mut self, exchange: &Exchange) {
        if exchange.is_counted && !exchange.is_answered {
            self.guard.leave();
        }
    }
}

/// Older clients take an event without data for a message that is broken.
pub(super) fn has_priming(revision: Revision) -> bool {
    revision >= Revision::V2025_11_25
}

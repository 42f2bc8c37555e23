//! All that is known of HTTP clients: their connections, what each asked for, and the sessions of
//! the handshake era.
//!
//! An *exchange* is one posted request and its response. In the modern era each is a session of
//! its own, which ends with the answer, or when the client goes away. In the handshake era a
//! session lives from `initialize` on; a client that goes away may come again and ask for what it
//! missed of a stream.
//!
//! Bytes and time come in here, and messages of the bridge; [`Effect`]s and calls of the
//! [`Backend`] go out. `requests` decides about what clients ask, `answers` brings the bridge's
//! messages to them, `responses` spells, `sessions` remembers, `times` gives up, `counts` counts.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::guard::{Guard, Peer, Principal};
use super::reader::{Event, Reader};
use super::slab::{Key, Slab};
use super::stream::Stream;
use super::timers::Timers;
use crate::ids::{Route, SessionId};
use crate::limits::HTTP_INCOMING_MAX;
use crate::mcp::request::HostMessage;
use crate::metrics::Page;

use connection::{Connection, Phase};
use counts::{AccessLog, Counts};
use sessions::Session;

mod answers;
mod connection;
mod counts;
mod requests;
mod responses;
mod sessions;
mod times;

#[cfg(test)]
mod tests;

/// What the server keeps to.
#[derive(Clone, Debug)]
pub struct Config {
    /// The largest body of a request, in bytes.
    pub message_max: usize,
    /// `--connections-max`
    pub connections_max: usize,
    /// `--sessions-max`
    pub sessions_max: usize,
    /// The flag that says so, for those who are turned away.
    pub sessions_flag: &'static str,
    /// `--session-idle`: how long a session lives that nobody uses.
    pub session_idle: Duration,
    /// `--stream-time`: how long one connection carries a stream before its client is asked to
    /// come again; for ever if absent.
    pub stream_time: Option<Duration>,
    /// Each response shall be told of.
    pub access_log: bool,
}

/// What is behind the server: the bridge, the workers, and the system's randomness.
pub trait Backend {
    /// A session begins; it `lasts` if it is more than one request.
    fn open(&mut self, session: SessionId, lasts: bool, principal: &Principal);

    /// A session is over.
    fn close(&mut self, session: SessionId);

    /// A message of a session.
    fn hand_in(&mut self, route: Route, message: HostMessage<'_>);

    /// Has a worker read a large body; the result comes back by [`Server::parsed`].
    fn parse(&mut self, connection: Key, body: Vec<u8>);

    /// The input schema of a tool, if it is known.
    fn input_schema(&self, tool: &str) -> Option<&str>;

    /// Why no tool process serves, if none does.
    fn unready(&self) -> Option<String>;

    /// Appends what is counted behind the server.
    fn write_metrics(&self, page: &mut Page<'_>);

    /// What nobody can guess, if the system has such a thing.
    fn random(&mut self) -> Option<[u8; 16]>;
}

/// What is to be done with a connection, in this order.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send this behind all else.
    Send(Key, Vec<u8>),
    /// It has sent more than was looked at: [`Server::received`] shall be called again, with
    /// nothing if nothing has come.
    More(Key),
    /// Say that nothing more is sent, once all is; the client closes it then.
    Close(Key),
    /// Close it at once. It is not known here any more.
    Cut(Key),
}

/// The clients.
#[derive(Debug)]
pub struct Server {
    config: Config,
    guard: Guard,
    connections: Slab<Connection>,
    /// By their numbers, which count through all sessions.
    exchanges: HashMap<u64, Exchange>,
    sessions: HashMap<SessionId, Session>,
    /// The sessions by what their clients call them.
    names: HashMap<Box<str>, SessionId>,
    connection_timers: Timers<Key>,
    session_timers: Timers<SessionId>,
    /// Bytes of requests that have arrived in part.
    incoming: usize,
    /// Bytes of events that are kept for clients that come again.
    kept: usize,
    last_exchange: u64,
    last_session: u64,
    /// No more work is taken.
    is_stopping: bool,
    now: Instant,
    /// The time since 1970.
    wall: Duration,
    effects: Vec<Effect>,
    counts: Counts,
    log: AccessLog,
}

/// One posted request that wants an answer.
#[derive(Debug)]
struct Exchange {
    session: SessionId,
    kind: Kind,
    /// Who waits for the answer. Nobody after it came, and after that connection ended.
    connection: Option<Key>,
    /// The guard counts it.
    is_counted: bool,
    /// Its answer was given.
    is_answered: bool,
    /// What was said in it so far, once a stream was begun; of the handshake era alone.
    stream: Option<Stream>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The session is this exchange.
    Modern,
    /// The session begins with its answer.
    Initialize,
    /// One of many in a session of the handshake era.
    Call,
}

impl Server {
    /// No client is there.
    pub fn new(config: Config, guard: Guard, now: Instant) -> Self {
        Self {
            config,
            guard,
            connections: Slab::new(),
            exchanges: HashMap::new(),
            sessions: HashMap::new(),
            names: HashMap::new(),
            connection_timers: Timers::new(now),
            session_timers: Timers::new(now),
            incoming: 0,
            kept: 0,
            last_exchange: 0,
            last_session: 0,
            is_stopping: false,
            now,
            wall: Duration::ZERO,
            effects: Vec::new(),
            counts: Counts::default(),
            log: AccessLog::default(),
        }
    }

    /// The time of all that follows; `wall` is what has passed since 1970.
    pub fn set_time(&mut self, now: Instant, wall: Duration) {
        self.now = now;
        self.wall = wall;
    }

    /// Who decides who may ask.
    pub fn guard_mut(&mut self) -> &mut Guard {
        &mut self.guard
    }

    /// What is to be done. The room may come back by [`Server::reuse`].
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Gives back the room of what was done.
    pub fn reuse(&mut self, mut effects: Vec<Effect>) {
        if self.effects.is_empty() {
            effects.clear();
            self.effects = effects;
        }
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// A client has connected. `None`: there are so many that not even a refusal can be said.
    pub fn connected(&mut self, peer: Peer) -> Option<Key> {
        let count = self.connections.len();
        let most = self.config.connections_max;
        self.counts.connections += 1;
        self.counts.refused += u64::from(count >= most);
        if self.is_stopping || count >= most.saturating_add(connection::REFUSED_MAX) {
            return None;
        }
        let reader = Reader::new(self.config.message_max);
        let key = self.connections.insert(Connection::new(peer, reader, self.now));
        if count >= most {
            let line = format!(
                "{most} connections are open, which is the limit (--connections-max); try again later"
            );
            self.refuse_connection(key, &line);
        }
        self.rearm(key);
        Some(key)
    }

    /// A client has sent something.
    pub fn received(&mut self, key: Key, bytes: &[u8], backend: &mut dyn Backend) {
        self.counts.received += bytes.len() as u64;
        let Some(connection) = self.connections.get_mut(key) else { return };
        let mut pending = std::mem::take(&mut connection.pending);
        let mut input = bytes;
        if !pending.is_empty() {
            pending.extend_from_slice(bytes);
            input = &pending;
        }
        while let Some(connection) = self.connections.get_mut(key) {
            if connection.phase == Phase::Closing {
                // Whatever it still says, nobody listens.
                return;
            }
            if connection.phase != Phase::Reading {
                // Requests are answered in their order.
                connection.pending = input.to_vec();
                break;
            }
            let before = connection.reader.kept();
            if before == 0 && !connection.reader.is_mid_request() || connection.reader.is_mid_body() {
                connection.since = self.now;
            }
            let event = connection.reader.next(&mut input);
            let kept = connection.reader.kept();
            self.incoming = self.incoming + kept - before;
            match event {
                Ok(Some(Event::Head(head))) => self.head_arrived(key, head, input.is_empty()),
                Ok(Some(Event::Body(body))) => self.body_arrived(key, body, backend),
                Ok(None) if kept > before && self.incoming > HTTP_INCOMING_MAX => {
                    self.refuse_connection(key, "too many bytes of requests are under way; try again later");
                }
                Ok(None) => break,
                Err(fault) => self.fault(key, fault),
            }
        }
        self.rearm(key);
    }

    /// Whether more of this client should be read now.
    pub fn wants(&self, key: Key) -> bool {
        self.connections.get(key).is_some_and(|connection| connection.wants_more())
    }

    /// The client will send nothing more. It may still listen.
    pub fn ended(&mut self, key: Key, backend: &mut dyn Backend) {
        let Some(connection) = self.connections.get(key) else { return };
        let goes_on = match connection.phase {
            // What it has to get is still sent.
            Phase::Reading => return self.close(key),
            Phase::Closing => return,
            // To hang up is to cancel, in one era; in the other it says nothing about the request,
            // whose answer may still find a listener.
            Phase::Waiting(exchange) => {
                self.exchanges.get(&exchange).is_some_and(|exchange| exchange.kind == Kind::Call)
            }
            Phase::Streaming { .. } => false,
            Phase::Parsing => true,
        };
        if goes_on {
            if let Some(connection) = self.connections.get_mut(key) {
                connection.is_ended = true;
                connection.manner.keep_alive = false;
            }
        } else {
            self.cut(key, backend);
        }
    }

    /// A connection broke, or was closed.
    pub fn gone(&mut self, key: Key, backend: &mut dyn Backend) {
        let Some(mut connection) = self.connections.remove(key) else { return };
        self.connection_timers.cancel(key, &mut connection.alarm);
        let access = connection.access.take();
        self.log_access(access, self.now);
        self.incoming -= connection.reader.kept();
        match connection.phase {
            Phase::Waiting(exchange) | Phase::Streaming { exchange: exchange @ 1.., .. } => {
                self.deserted(exchange, backend);
            }
            Phase::Streaming { session, .. } => self.stopped_listening(session, key),
            Phase::Reading | Phase::Parsing | Phase::Closing => {}
        }
    }

    /// A connection that had said nothing yet could not be kept.
    pub fn forget(&mut self, key: Key) {
        if let Some(mut connection) = self.connections.remove(key) {
            self.connection_timers.cancel(key, &mut connection.alarm);
        }
    }

    /// What a connection has not taken yet, after some of it was written (or nothing, when there
    /// was no room).
    pub fn wrote(&mut self, key: Key, some: bool, left: usize) {
        let now = self.now;
        if let Some(connection) = self.connections.get_mut(key) {
            match (&mut connection.unsent_since, left) {
                (unsent, 0) => *unsent = None,
                (Some(since), _) if some => *since = now,
                (Some(_), _) => {}
                (unsent @ None, _) => *unsent = Some(now),
            }
        }
        self.rearm(key);
    }

    /// A worker has read the body of a request.
    pub fn parsed(&mut self, key: Key, message: HostMessage<'_>, backend: &mut dyn Backend) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.phase != Phase::Parsing {
            return;
        }
        connection.phase = Phase::Reading;
        let is_ended = connection.is_ended;
        self.posted(key, message, backend);
        if is_ended {
            self.ended(key, backend);
        }
        self.rearm(key);
    }

    /// From now on nothing new is begun. What is under way may end well.
    pub fn stop(&mut self) {
        self.is_stopping = true;
        let keys: Vec<Key> = self.connections.keys().collect();
        for key in keys {
            let idle = |connection: &Connection| {
                connection.phase == Phase::Reading && !connection.reader.is_mid_request()
            };
            if self.connections.get(key).is_some_and(idle) {
                self.close(key);
            }
        }
    }

    /// The end: whoever still waits is told so, and all streams end.
    pub fn finish(&mut self, backend: &mut dyn Backend) {
        self.is_stopping = true;
        let keys: Vec<Key> = self.connections.keys().collect();
        for key in keys {
            match self.connections.get(key).map(|connection| connection.phase) {
                Some(Phase::Waiting(exchange)) => {
                    self.refuse(key, 503, "pmcp is ending");
                    self.deserted(exchange, backend);
                }
                Some(Phase::Streaming { .. }) => self.end_stream(key),
                Some(Phase::Reading | Phase::Parsing) => self.close(key),
                Some(Phase::Closing) | None => {}
            }
        }
    }

    /// Closes a connection that is known here.
    fn cut(&mut self, key: Key, backend: &mut dyn Backend) {
        self.gone(key, backend);
        self.effects.push(Effect::Cut(key));
    }
}

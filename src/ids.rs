//! Small names for things that are counted. No logic.

/// One host that talks to us: the pipe pair of stdio, later one HTTP session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u64);

/// Where a message to a host goes: to its session, or to the one exchange (an HTTP request and
/// its response stream) that it belongs to. On stdio there is only exchange 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route {
    /// Whose message it is.
    pub session: SessionId,
    /// Which exchange of that session; 0 is the session's own stream.
    pub exchange: u64,
}

impl Route {
    /// The session's own stream.
    pub const fn session(session: SessionId) -> Self {
        Self { session, exchange: 0 }
    }
}

/// One life of the tool process; each start has the next number. Everything that comes from a
/// tool process carries it, so that a late answer of a dead one is never taken for a live one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Generation(pub u64);

/// One request to a tool process. Spelled in decimal it is the envelope's `request_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(pub u64);

/// One request of a host that needs the tool process, from its arrival to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

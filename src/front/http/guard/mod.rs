//! Who may ask: the verdict on a request's head, before anything of its body counts.
//!
//! What lives here: names ([`names`]: which hosts and origins count as ours). What does not: how a
//! head is parsed. Time comes in, nothing is read from the world.

pub mod names;

// Of `core`, which knows addresses and no sockets.
use core::net::IpAddr;
use std::time::{Duration, Instant};

use self::names::Names;

/// The head of a request, as far as it is looked at.
pub trait Head {
    /// The method, as it was sent: methods are case-sensitive.
    fn method(&self) -> &str;

    /// The target's path, without its query.
    fn path(&self) -> &str;

    /// A header by its name in lower case. Where the target of the request is a whole URL, `host`
    /// is that URL's authority (RFC 9112, section 3.2.2).
    fn field(&self, name: &str) -> Field<'_>;
}

/// What a head holds under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// Nothing.
    Absent,
    /// One value, without the white space around it.
    Is(&'a str),
    /// More than one value, or bytes that are no text: whoever decides by it would have to guess.
    Unclear,
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// An address.
    Ip(IpAddr),
    /// Whoever may open our unix socket.
    Unix,
}

/// Who asks, by a name that stays the same from request to request and holds no secret. What was
/// made for one principal (a session) belongs to no other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Principal(pub Box<str>);

impl Principal {
    /// Somebody: nothing tells callers apart.
    pub fn is_nobody(&self) -> bool {
        self.0.is_empty()
    }
}

/// The answer to a request that goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// Header lines beside those that every response has; no value holds a line break. The type of
    /// the body is among them.
    pub headers: Vec<(&'static str, String)>,
    /// One line for a person, with its newline.
    pub body: String,
}

impl Refusal {
    /// A refusal that says why and what to do, in words that need no quoting.
    pub fn new(status: u16, line: impl std::fmt::Display) -> Self {
        Self {
            status,
            headers: vec![("Content-Type", "text/plain; charset=utf-8".into())],
            body: format!("{line}\n"),
        }
    }
}

/// What the guard keeps to.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Which hosts and origins count as ours.
    pub names: Names,
}

/// Decides who may ask. There is one, and every request of every connection comes by.
#[derive(Debug)]
pub struct Guard {
    rules: Rules,
}

impl Guard {
    /// A guard that keeps to these rules.
    pub fn new(rules: Rules) -> Self {
        Self { rules }
    }

    /// The verdict on a request. `wall` is the time since 1970.
    ///
    /// What everybody may ask goes through whoever asks: health, the metadata of the authorization
    /// ([`Guard::document`]) and, once host and origin are right, a preflight.
    ///
    /// # Errors
    /// The response to send instead of an answer.
    pub fn check(
        &mut self,
        head: &dyn Head,
        peer: Peer,
        now: Instant,
        wall: Duration,
    ) -> Result<Principal, Refusal> {
        let _ = (now, wall);
        if matches!(head.path(), "/livez" | "/readyz") {
            return Ok(Principal::default());
        }
        self.rules.names.check(head, peer)?;
        Ok(Principal::default())
    }

    /// The document under a path that the guard itself serves to a `GET`, as JSON: the metadata of
    /// the protected resource (RFC 9728).
    pub fn document(&self, _path: &str) -> Option<&str> {
        None
    }

    /// Whether a page of this origin may read our responses (`--allow-origin`): what goes into
    /// `Access-Control-Allow-Origin`. Only for a request that [`Guard::check`] let through.
    pub fn shared_with<'a>(&self, head: &'a dyn Head) -> Option<&'a str> {
        match head.field("origin") {
            Field::Is(origin) if self.rules.names.is_allowed_origin(origin) => Some(origin),
            _ => None,
        }
    }
}

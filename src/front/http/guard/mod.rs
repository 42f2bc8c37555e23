//! Who may ask: the verdict on a request's head, before anything of its body counts.
//!
//! What lives here: which hosts and origins count as ours ([`names`]), what requests must bring
//! ([`secret`]), how often one may ask ([`rate`]). What does not: how a head is parsed, and what is
//! wrong with an access token ([`oauth`]). Time comes in, nothing is read from the world.

pub mod names;
pub mod rate;
pub mod secret;

// Of `core`, which knows addresses and no sockets.
use core::net::IpAddr;
use std::time::{Duration, Instant};

use self::names::Names;
use self::rate::{Buckets, Caller, Rate};
use self::secret::{Secret, bearer};
use crate::front::oauth::{self, keys::Keys, token::Fault};
use crate::limits::IN_FLIGHT;

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

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// What the guard keeps to.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Which hosts and origins count as ours.
    pub names: Names,
    /// `--auth`: what every request must bring.
    pub secrets: Vec<Secret>,
    /// `--oauth-…`: requests must bring an access token of this issuer.
    pub oauth: Option<oauth::Server>,
    /// `--rate`: how often one principal may ask, or one address where there is none.
    pub rate: Option<Rate>,
    /// `--max-in-flight`: requests that may be worked on at once.
    pub in_flight_max: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            names: Names::default(),
            secrets: Vec::new(),
            oauth: None,
            rate: None,
            in_flight_max: IN_FLIGHT,
        }
    }
}

/// Decides who may ask. There is one, and every request of every connection comes by.
#[derive(Debug)]
pub struct Guard {
    rules: Rules,
    buckets: Option<Buckets>,
    in_flight: usize,
}

impl Guard {
    /// A guard that keeps to these rules.
    pub fn new(rules: Rules) -> Self {
        let buckets = rules.rate.map(Buckets::new);
        Self { rules, buckets, in_flight: 0 }
    }

    /// The verdict on a request. `wall` is the time since 1970.
    ///
    /// Some things everybody may ask, once host and origin are right: health, what lies under
    /// `/.well-known/` ([`Guard::document`]), and a preflight, which browsers send without any
    /// authorization.
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
        let is_health = matches!(head.path(), "/livez" | "/readyz");
        // A probe from elsewhere knows us by any address. On loopback only a page would.
        if !is_health || self.rules.names.loopback {
            self.rules.names.check(head, peer)?;
        }
        if is_health || head.method() == "OPTIONS" || head.path().starts_with("/.well-known/") {
            return Ok(Principal::default());
        }
        let peer = self.rules.names.caller(head, peer);
        match self.principal(head, peer, now, wall) {
            Ok(principal) => {
                self.count(Caller::of(&principal, peer), now)?;
                Ok(principal)
            }
            Err(refusal) => {
                // Whoever guesses is counted by address.
                self.count(Caller::at(peer), now)?;
                Err(refusal)
            }
        }
    }

    /// Who has authorized.
    fn principal(
        &mut self,
        head: &dyn Head,
        peer: Peer,
        now: Instant,
        wall: Duration,
    ) -> Result<Principal, Refusal> {
        let brought = secret::check_all(&self.rules.secrets, head);
        let Some(server) = &mut self.rules.oauth else {
            brought?;
            // All who bring all secrets are one.
            let name = if self.rules.secrets.is_empty() { "" } else { "auth" };
            return Ok(Principal(name.into()));
        };
        // Who lacks both is told both at once.
        let token = bearer(head).map_err(|fault| no_token(server, fault));
        let token = match (brought, token) {
            (Ok(()), token) => token?,
            (Err(refusal), Ok(_)) => return Err(refusal),
            (Err(mut refusal), Err(more)) => {
                refusal.headers.extend(more.headers.into_iter().filter(|(name, _)| *name == CHALLENGE));
                return Err(refusal);
            }
        };
        if let Some(subject) = server.recall(token, wall) {
            return Ok(Principal(subject.into()));
        }
        // To check a signature takes long: not as often as an address may want.
        if let Some(buckets) = &self.buckets {
            buckets.look(&Caller::at(peer), now).map_err(|wait| too_many(buckets.rate(), wait))?;
        }
        let subject = server.examine(token, wall).map_err(|fault| refused_token(server, fault))?;
        Ok(Principal(subject))
    }

    /// The issuer's keys have changed.
    pub fn replace_keys(&mut self, keys: Keys) {
        if let Some(server) = &mut self.rules.oauth {
            server.replace_keys(keys);
        }
    }

    fn count(&mut self, caller: Caller, now: Instant) -> Result<(), Refusal> {
        let Some(buckets) = &mut self.buckets else { return Ok(()) };
        buckets.take(caller, now).map_err(|wait| too_many(buckets.rate(), wait))
    }

    /// Begins the work on a request that passed; [`Guard::leave`] ends it.
    ///
    /// # Errors
    /// Too many are worked on already.
    pub fn enter(&mut self) -> Result<(), Refusal> {
        let most = self.rules.in_flight_max;
        if self.in_flight >= most {
            let line =
                format_args!("{most} requests are worked on already (--max-in-flight); try again later");
            return Err(Refusal::new(503, line).with("Retry-After", "1"));
        }
        self.in_flight += 1;
        Ok(())
    }

    /// A request that entered was answered, or its connection is gone.
    pub fn leave(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// The document under a path that the guard itself serves to a `GET`, as JSON: the metadata of
    /// the protected resource (RFC 9728).
    pub fn document(&self, path: &str) -> Option<&str> {
        self.rules.oauth.as_ref()?.resource().document(path)
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

/// The header that says what is lacking.
const CHALLENGE: &str = "WWW-Authenticate";

fn too_many(rate: Rate, wait: Duration) -> Refusal {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    Refusal::new(429, format_args!("too many requests: at most {rate}, so wait {seconds} s"))
        .with("Retry-After", seconds.max(1).to_string())
}

/// RFC 6750, section 3.1: who brings nothing is told no error.
fn no_token(server: &oauth::Server, fault: secret::Fault) -> Refusal {
    if fault == secret::Fault::Unclear {
        return Refusal::new(400, "the Authorization header was sent more than once")
            .with(CHALLENGE, "Bearer error=\"invalid_request\"");
    }
    let challenge = server.resource().challenge(None);
    Refusal::new(401, "this server needs an access token in a header Authorization: Bearer TOKEN")
        .with(CHALLENGE, challenge)
}

fn refused_token(server: &oauth::Server, fault: Fault) -> Refusal {
    let status = if fault == Fault::Scope { 403 } else { 401 };
    Refusal::new(status, fault.description()).with(CHALLENGE, server.resource().challenge(Some(fault)))
}

#[cfg(test)]
mod tests;

//! What is counted of clients, and the access log: one line for each response that is over.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::super::guard::{Head as _, Principal};
use super::super::head::Head;
use super::super::slab::Key;
use super::{Effect, Server};
use crate::ids::SessionId;
use crate::limits::{ACCESS_LINES_MAX, SHOWN_MAX};
use crate::metrics::{Kind, Page};

/// Counts since our start.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) connections: u64,
    /// Those that there was no room for.
    pub(super) refused: u64,
    pub(super) sessions: u64,
    pub(super) received: u64,
    sent: u64,
    /// By status, which we choose.
    responses: BTreeMap<u16, u64>,
}

#[cfg(test)]
impl Counts {
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }
}

/// What the access log says of the present request.
#[derive(Debug)]
pub(super) struct Access {
    /// Method and path.
    asked: String,
    /// Absent where nobody had to say who he is.
    principal: Option<String>,
    session: Option<u64>,
    began: Instant,
    status: u16,
    sent: u64,
}

/// The access log: lines that nobody has taken yet.
#[derive(Debug, Default)]
pub(super) struct AccessLog {
    lines: Vec<String>,
    /// Lines that there was no room for.
    dropped: u64,
}

impl Access {
    fn new(asked: String, began: Instant) -> Self {
        Self { asked, principal: None, session: None, began, status: 0, sent: 0 }
    }

    /// A line without anything secret: no query, no header, of a principal only what tells it from
    /// others, of a session its number and not its name.
    fn line(&self, now: Instant) -> String {
        let took = now.saturating_duration_since(self.began);
        let mut line = format!(
            "http {} status={} sent={} took={}.{:06}",
            self.asked,
            self.status,
            self.sent,
            took.as_secs(),
            took.subsec_micros()
        );
        // A string takes all.
        if let Some(session) = self.session {
            let _ = write!(line, " session={session}");
        }
        if let Some(principal) = &self.principal {
            let _ = write!(line, " principal={principal}");
        }
        line
    }
}

impl Server {
    /// Sends something, and counts it.
    pub(super) fn send(&mut self, key: Key, bytes: Vec<u8>) {
        let count = bytes.len() as u64;
        self.counts.sent += count;
        if let Some(access) = self.access(key) {
            access.sent += count;
        }
        self.effects.push(Effect::Send(key, bytes));
    }

    fn access(&mut self, key: Key) -> Option<&mut Access> {
        self.connections.get_mut(key)?.access.as_deref_mut()
    }

    /// A request has begun.
    pub(super) fn note_request(&mut self, key: Key, head: &Head) {
        if !self.config.access_log {
            return;
        }
        let now = self.now;
        if let Some(connection) = self.connections.get_mut(key) {
            let asked = format!("method={} path={}", shown(head.method()), shown(head.path()));
            connection.access = Some(Box::new(Access::new(asked, now)));
        }
    }

    /// Who asks.
    pub(super) fn note_principal(&mut self, key: Key, principal: &Principal) {
        if let Some(access) = self.access(key)
            && !principal.is_nobody()
        {
            let hash = Sha256::digest(principal.0.as_bytes());
            let mut text = String::with_capacity(8);
            for byte in &hash[..4] {
                // A string takes all.
                let _ = write!(text, "{byte:02x}");
            }
            access.principal = Some(text);
        }
    }

    /// It belongs to this session, if that is one of those that are counted.
    pub(super) fn note_session(&mut self, key: Key, session: SessionId) {
        if self.sessions.contains_key(&session)
            && let Some(access) = self.access(key)
        {
            access.session = Some(session.0);
        }
    }

    /// A response begins.
    pub(super) fn note_status(&mut self, key: Key, status: u16) {
        *self.counts.responses.entry(status).or_default() += 1;
        if !self.config.access_log {
            return;
        }
        let now = self.now;
        if let Some(connection) = self.connections.get_mut(key) {
            // What could not even be read has no method and no path.
            let nothing = || Box::new(Access::new("method=- path=-".into(), now));
            connection.access.get_or_insert_with(nothing).status = status;
        }
    }

    /// A response is over, or nobody gets the rest of it.
    pub(super) fn note_end(&mut self, key: Key) {
        let now = self.now;
        let access = self.connections.get_mut(key).and_then(|connection| connection.access.take());
        self.log_access(access, now);
    }

    /// The same for a connection that is not known here any more.
    pub(super) fn log_access(&mut self, access: Option<Box<Access>>, now: Instant) {
        let Some(access) = access else { return };
        if self.log.lines.len() < ACCESS_LINES_MAX {
            self.log.lines.push(access.line(now));
        } else {
            self.log.dropped += 1;
        }
    }

    /// Takes the lines of the access log.
    pub fn take_log(&mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.log.lines);
        let dropped = std::mem::take(&mut self.log.dropped);
        if dropped > 0 {
            lines.push(format!("({dropped} more requests at once than are logged)"));
        }
        lines
    }

    /// Writes what is counted here.
    pub fn write_metrics(&self, page: &mut Page<'_>) {
        let counts = &self.counts;
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        page.number(
            "pmcp_connections",
            Kind::Gauge,
            "Open HTTP connections.",
            number(self.connections.len()),
        );
        let help = "HTTP connections that were accepted.";
        page.number("pmcp_connections_total", Kind::Counter, help, counts.connections);
        let help = "HTTP connections that were refused because too many were open (--connections-max).";
        page.number("pmcp_connections_refused_total", Kind::Counter, help, counts.refused);
        let help = "Open sessions of hosts that begin with initialize.";
        page.number("pmcp_sessions", Kind::Gauge, help, number(self.sessions.len()));
        page.number("pmcp_sessions_total", Kind::Counter, "Such sessions that were begun.", counts.sessions);
        let mut metric =
            page.metric("pmcp_http_responses_total", Kind::Counter, "HTTP responses, by status.");
        for (status, count) in &counts.responses {
            metric.sample(&[("status", &status.to_string())], *count);
        }
        let help = "Bytes that came from HTTP clients.";
        page.number("pmcp_http_received_bytes_total", Kind::Counter, help, counts.received);
        let help = "Bytes for HTTP clients.";
        page.number("pmcp_http_sent_bytes_total", Kind::Counter, help, counts.sent);
    }
}

/// Text of the network for a log: bounded, without anything that a terminal or a reader of fields
/// would take for something else.
fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() && !matches!(c, '"' | '=' | '\\') { c } else { '?' };
    text.chars().take(SHOWN_MAX).map(plain).collect()
}

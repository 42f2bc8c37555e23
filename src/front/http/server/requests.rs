//! What clients ask for: which place and method, and of the endpoint which kind of message.

use std::borrow::Cow;

use super::super::guard::{Field, Head as _, Principal};
use super::super::head::{Fault, Head};
use super::super::ladder::{self, Refused, Verdict};
use super::super::response;
use super::super::slab::Key;
use super::super::stream::EventId;
use super::connection::{Manner, Phase};
use super::responses::{ALLOWED, TEXT};
use super::{Backend, Exchange, Kind, Server};
use crate::ids::{Route, SessionId};
use crate::jsonrpc::message::RpcError;
use crate::limits::{HTTP_DISCARD_MAX, LARGE_MIN};
use crate::mcp::request::{self, HostMessage};
use crate::metrics::{self, Page};

/// What is behind a path.
enum Place {
    /// MCP.
    Endpoint,
    /// What the guard tells of itself.
    Document,
    /// Whether we live.
    Live,
    /// Whether a tool process serves.
    Ready,
    /// What was counted.
    Metrics,
    Nowhere,
}

impl Server {
    fn place(&self, path: &str) -> Place {
        match path {
            "/mcp" | "/mcp/" | "/" | "*" => Place::Endpoint,
            "/livez" => Place::Live,
            "/readyz" => Place::Ready,
            "/metrics" => Place::Metrics,
            path if self.guard.document(path).is_some() => Place::Document,
            _ => Place::Nowhere,
        }
    }

    /// A head has arrived. What can be refused by it alone is, before its body comes.
    pub(super) fn head_arrived(&mut self, key: Key, head: Head, body_is_awaited: bool) {
        self.note_request(key, &head);
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.manner = Manner {
            is_current: head.is_current(),
            keep_alive: head.keeps_alive(),
            head_only: head.method() == "HEAD",
            takes_stream: accepts(&head, "text", "event-stream"),
            // Its page may read a refusal, too: what is lacking stands in it.
            origin: self.guard.shared_with(&head).map(Into::into),
        };
        let expects = match head.expects_continue() {
            Ok(expects) => expects,
            Err(fault) => return self.refuse_unread(key, fault),
        };
        match self.guard.check(&head, connection.peer, self.now, self.wall) {
            Ok(principal) => {
                connection.principal = principal.clone();
                self.note_principal(key, &principal);
            }
            Err(refusal) => {
                self.forget_body(key);
                let fields = refusal.headers;
                return self.respond(
                    key,
                    refusal.status,
                    |head| fields.iter().fold(head, |head, (name, value)| head.field(name, value)),
                    refusal.body.into_bytes(),
                );
            }
        }
        let place = self.place(head.path());
        if self.is_stopping && !matches!(place, Place::Live) {
            return self.refuse_unread(key, Fault { status: 503, line: "pmcp is ending" });
        }
        match place {
            Place::Nowhere => {
                self.refuse_unread(
                    key,
                    Fault { status: 404, line: "nothing is here; MCP is spoken at /mcp" },
                );
            }
            Place::Endpoint | Place::Document | Place::Live | Place::Ready | Place::Metrics => {
                let Some(connection) = self.connections.get_mut(key) else { return };
                connection.head = Some(Box::new(head));
                if expects && body_is_awaited {
                    self.send(key, response::CONTINUE.to_vec());
                }
            }
        }
    }

    /// Refuses a request whose body was not read.
    fn refuse_unread(&mut self, key: Key, fault: Fault) {
        self.forget_body(key);
        self.refuse(key, fault.status, fault.line);
    }

    /// Steps over the body that is still to come; one that is long is not worth to be waited for.
    fn forget_body(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.reader.skip_body();
        connection.manner.keep_alive &=
            connection.reader.left_to_skip().is_some_and(|left| left <= HTTP_DISCARD_MAX);
    }

    /// A request has arrived whole.
    pub(super) fn body_arrived(&mut self, key: Key, body: Cow<'_, [u8]>, backend: &mut dyn Backend) {
        let Some(connection) = self.connections.get(key) else { return };
        // Of a request that was refused by its head this is the end.
        let Some(head) = &connection.head else { return };
        match (self.place(head.path()), head.method()) {
            (Place::Endpoint, "POST") => self.post(key, body, backend),
            (Place::Endpoint, "GET") => self.get(key),
            (Place::Endpoint, "DELETE") => self.delete(key, backend),
            (Place::Document, "GET") => {
                let document = self.guard.document(head.path()).unwrap_or_default().into();
                self.respond_json(key, 200, None, document);
            }
            (_, "OPTIONS") => self.options(key),
            (Place::Live, "GET" | "HEAD") => self.tell(key, 200, "alive"),
            (Place::Ready, "GET" | "HEAD") => match backend.unready() {
                None => self.tell(key, 200, "ready"),
                Some(reason) => self.tell(key, 503, &reason),
            },
            (Place::Metrics, "GET" | "HEAD") => self.metrics(key, backend),
            (Place::Endpoint, _) => {
                self.refuse(key, 405, "POST sends messages here, GET listens, DELETE ends a session")
            }
            _ => self.refuse(key, 405, "GET is what can be done here"),
        }
    }

    /// Tells in a line how we are.
    fn tell(&mut self, key: Key, status: u16, line: &str) {
        self.respond(
            key,
            status,
            |head| head.field("Content-Type", TEXT).field("Cache-Control", "no-store"),
            format!("{line}\n").into_bytes(),
        );
    }

    /// Tells what was counted.
    fn metrics(&mut self, key: Key, backend: &mut dyn Backend) {
        let mut out = Vec::new();
        let mut page = Page::new(&mut out);
        backend.write_metrics(&mut page);
        self.write_metrics(&mut page);
        self.respond(key, 200, |head| head.field("Content-Type", metrics::CONTENT_TYPE), out);
    }

    /// A message for us.
    fn post(&mut self, key: Key, body: Cow<'_, [u8]>, backend: &mut dyn Backend) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Some(head) = &connection.head else { return };
        let is_json =
            matches!(head.field("content-type"), Field::Is(kind) if is_type(kind, "application", "json"));
        if !is_json {
            return self.refuse(key, 415, "a message is sent as Content-Type: application/json");
        }
        if !matches!(head.field("content-encoding"), Field::Absent | Field::Is("identity")) {
            return self.refuse(key, 415, "a message is sent without Content-Encoding");
        }
        if !connection.manner.takes_stream || !accepts(head, "application", "json") {
            let line = "the answer may be of two kinds, so send Accept: application/json, text/event-stream";
            return self.refuse(key, 406, line);
        }
        if body.len() >= LARGE_MIN {
            connection.phase = Phase::Parsing;
            return backend.parse(key, body.into_owned());
        }
        self.posted(key, request::parse(&body), backend);
    }

    /// A message was read.
    pub(super) fn posted(&mut self, key: Key, message: HostMessage<'_>, backend: &mut dyn Backend) {
        let Some(connection) = self.connections.get(key) else { return };
        let Some(head) = &connection.head else { return };
        let verdict = ladder::judge(&message, &**head, |tool| backend.input_schema(tool));
        match verdict {
            Verdict::Dropped => self.respond_empty(key, 202),
            Verdict::Refused(Refused { status, id, error }) => {
                self.respond_error(key, status, id.as_ref(), &error);
            }
            Verdict::Modern { is_listen } => {
                let principal = connection.principal.clone();
                let Some(is_counted) = self.enter(key, !is_listen) else { return };
                self.last_session += 1;
                let session = SessionId(self.last_session);
                backend.open(session, false, &principal);
                self.ask(key, session, Kind::Modern, is_counted, message, backend);
            }
            Verdict::Initialize(revision) => {
                let principal = connection.principal.clone();
                if !self.make_room_for_session(backend) {
                    let line = format!(
                        "{} sessions are open, which is the limit (--{}); try again later",
                        self.config.sessions_max, self.config.sessions_flag
                    );
                    return self.refuse(key, 503, &line);
                }
                let Some(session) = self.open_session(revision, principal, backend) else {
                    return self.refuse(
                        key,
                        503,
                        "the system gives no random numbers for the name of a session",
                    );
                };
                self.ask(key, session, Kind::Initialize, false, message, backend);
            }
            Verdict::Session { awaits_answer } => {
                let Some(session) = self.session_of(key) else {
                    return self.refuse_without_session(key, Some(&message));
                };
                self.touch(session);
                self.note_session(key, session);
                if !awaits_answer {
                    backend.hand_in(Route::session(session), message);
                    return self.respond_empty(key, 202);
                }
                let Some(is_counted) = self.enter(key, true) else { return };
                self.ask(key, session, Kind::Call, is_counted, message, backend);
            }
        }
    }

    /// Has the guard count a request, if it is to be counted. `None`: it was refused.
    fn enter(&mut self, key: Key, is_counted: bool) -> Option<bool> {
        if !is_counted {
            return Some(false);
        }
        match self.guard.enter() {
            Ok(()) => Some(true),
            Err(refusal) => {
                let fields = refusal.headers;
                self.respond(
                    key,
                    refusal.status,
                    |head| fields.iter().fold(head, |head, (name, value)| head.field(name, value)),
                    refusal.body.into_bytes(),
                );
                None
            }
        }
    }

    /// Begins an exchange.
    fn ask(
        &mut self,
        key: Key,
        session: SessionId,
        kind: Kind,
        is_counted: bool,
        message: HostMessage<'_>,
        backend: &mut dyn Backend,
    ) {
        self.last_exchange += 1;
        let number = self.last_exchange;
        let exchange =
            Exchange { session, kind, connection: Some(key), is_counted, is_answered: false, stream: None };
        self.exchanges.insert(number, exchange);
        if let Some(session) = self.sessions.get_mut(&session) {
            session.exchanges.insert(number);
        }
        if let Some(connection) = self.connections.get_mut(key) {
            connection.phase = Phase::Waiting(number);
            connection.since = self.now;
            connection.head = None;
        }
        self.note_session(key, session);
        backend.hand_in(Route { session, exchange: number }, message);
    }

    /// A client listens: to its session, or on to a stream that broke off.
    fn get(&mut self, key: Key) {
        let Some(connection) = self.connections.get(key) else { return };
        let Some(head) = &connection.head else { return };
        let last_event = match head.field("last-event-id") {
            Field::Absent | Field::Is("") => Ok(None),
            Field::Is(id) => EventId::parse(id).map(Some).ok_or(()),
            Field::Unclear => Err(()),
        };
        if head.field("mcp-session-id") == Field::Absent {
            let line = "GET listens to a session, which initialize begins; without one, POST is all there is";
            return self.refuse(key, 405, line);
        }
        let Some(session) = self.session_of(key) else { return self.refuse_without_session(key, None) };
        if !ladder::is_of_handshake(&**head) {
            return self.respond_error(key, 400, None, &ladder::unknown_revision());
        }
        if !connection.manner.takes_stream {
            return self.refuse(
                key,
                406,
                "what is heard here is a stream, so send Accept: text/event-stream",
            );
        }
        self.touch(session);
        match last_event {
            Ok(None) => self.listen(key, session, None),
            Ok(Some(EventId { exchange: 0, number })) => self.listen(key, session, Some(number)),
            Ok(Some(event)) => self.resume(key, session, event),
            Err(()) => self.refuse(key, 400, "the Last-Event-ID is none of ours"),
        }
    }

    /// A client ends its session.
    fn delete(&mut self, key: Key, backend: &mut dyn Backend) {
        match self.session_of(key) {
            Some(session) => {
                self.note_session(key, session);
                self.close_session(session, backend);
                self.respond_empty(key, 204);
            }
            None => self.refuse_without_session(key, None),
        }
    }

    /// The session that a request names, if it is of whoever asks.
    fn session_of(&self, key: Key) -> Option<SessionId> {
        let connection = self.connections.get(key)?;
        let Field::Is(name) = connection.head.as_ref()?.field("mcp-session-id") else { return None };
        let id = *self.names.get(name)?;
        let of: &Principal = &self.sessions.get(&id)?.principal;
        (*of == connection.principal).then_some(id)
    }

    /// There is no such session: a client that gets 404 begins another one.
    fn refuse_without_session(&mut self, key: Key, message: Option<&HostMessage<'_>>) {
        let Some(head) = self.connections.get(key).and_then(|connection| connection.head.as_ref()) else {
            return;
        };
        let (status, text) = match head.field("mcp-session-id") {
            Field::Absent => (
                400,
                "Invalid request: the header Mcp-Session-Id is missing; initialize gives one, and a request of revision 2026-07-28 needs none but names its revision in _meta",
            ),
            _ => (
                404,
                "Invalid request: there is no such session (any more); begin another one with initialize",
            ),
        };
        let (id, error) = match message {
            Some(HostMessage::Request { id, .. }) => (Some(id), RpcError::invalid_request(text)),
            _ => (None, RpcError::invalid_request(text)),
        };
        let id = id.cloned();
        self.respond_error(key, status, id.as_ref(), &error);
    }

    /// What may be asked here, for browsers that ask on behalf of pages.
    fn options(&mut self, key: Key) {
        let Some(connection) = self.connections.get(key) else { return };
        let wanted =
            connection.head.as_ref().and_then(|head| match head.field("access-control-request-headers") {
                Field::Is(names) => Some(names.to_owned()),
                _ => None,
            });
        let is_shared = connection.manner.origin.is_some();
        self.respond(
            key,
            200,
            |head| {
                let head = head.field("Allow", ALLOWED);
                if !is_shared {
                    return head;
                }
                head.field("Access-Control-Allow-Methods", ALLOWED)
                    // The names of headers for arguments are known to tools alone.
                    .field_if("Access-Control-Allow-Headers", wanted.as_deref())
                    .field("Access-Control-Max-Age", "7200")
            },
            Vec::new(),
        );
    }
}

/// Whether a response of this type may be sent. A client that says nothing takes everything.
fn accepts(head: &Head, kind: &str, of: &str) -> bool {
    let mut said = false;
    for range in head.list("accept") {
        said = true;
        if is_type(range, kind, of) || is_type(range, kind, "*") || is_type(range, "*", "*") {
            return true;
        }
    }
    !said
}

/// Whether a media type is this one, whatever its parameters.
fn is_type(text: &str, kind: &str, of: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim();
    essence.split_once('/').is_some_and(|(a, b)| a.eq_ignore_ascii_case(kind) && b.eq_ignore_ascii_case(of))
}

//! What the bridge says, on its way to the connection that it is for.

use super::super::ladder;
use super::super::slab::Key;
use super::super::stream::Stream;
use super::connection::Phase;
use super::sessions::has_priming;
use super::{Backend, Kind, Server};
use crate::ids::Route;
use crate::limits::HTTP_KEPT_MAX;

impl Server {
    /// The answer to the request of an exchange, with its code if it is an error.
    pub fn answer(&mut self, route: Route, message: Vec<u8>, error: Option<i32>, backend: &mut dyn Backend) {
        let Some(exchange) = self.exchanges.get(&route.exchange) else { return };
        let (kind, connection, is_answered) = (exchange.kind, exchange.connection, exchange.is_answered);
        if is_answered {
            return;
        }
        if exchange.is_counted {
            self.guard.leave();
        }
        match kind {
            Kind::Modern => {
                self.exchanges.remove(&route.exchange);
                if let Some(key) = connection {
                    if self.is_streaming(key) {
                        self.send_event(key, &message);
                        self.end_stream(key);
                    } else {
                        self.respond_json(key, ladder::status(true, error), None, message);
                    }
                }
                backend.close(route.session);
            }
            Kind::Initialize => {
                let name = self.name_of(route.session).filter(|_| error.is_none());
                if let Some(key) = connection {
                    self.respond_json(key, 200, name.as_deref(), message);
                }
                self.finish_exchange(route.exchange);
                if error.is_some() {
                    self.close_session(route.session, backend);
                }
            }
            Kind::Call => {
                match connection {
                    Some(key) if !self.is_streaming(key) => {
                        self.respond_json(key, ladder::status(false, error), None, message);
                    }
                    _ => {
                        self.push(route, &message);
                        if let Some(key) = connection {
                            self.end_stream(key);
                        }
                    }
                }
                self.finish_exchange(route.exchange);
            }
        }
    }

    /// A notification, or a request to a host.
    pub fn message(&mut self, route: Route, message: &[u8]) {
        if route.exchange == 0 {
            return self.push(route, message);
        }
        let Some(exchange) = self.exchanges.get(&route.exchange) else { return };
        let (kind, connection) = (exchange.kind, exchange.connection);
        if exchange.is_answered || kind == Kind::Initialize {
            return;
        }
        if let Some(key) = connection
            && !self.is_streaming(key)
        {
            self.begin_stream_of(route.exchange, key);
        }
        match (kind, connection) {
            (Kind::Modern, Some(key)) => self.send_event(key, message),
            (Kind::Modern, None) => {}
            _ => self.push(route, message),
        }
    }

    /// The request of an exchange was cancelled. It gets no answer, but its client must not wait.
    pub fn unanswered(&mut self, route: Route, backend: &mut dyn Backend) {
        let Some(exchange) = self.exchanges.get(&route.exchange) else { return };
        if exchange.is_answered {
            return;
        }
        let (kind, connection) = (exchange.kind, exchange.connection);
        if exchange.is_counted {
            self.guard.leave();
        }
        match connection {
            Some(key) if self.is_streaming(key) => self.end_stream(key),
            Some(key) => self.respond_empty(key, 202),
            None => {}
        }
        if kind == Kind::Modern {
            self.exchanges.remove(&route.exchange);
            backend.close(route.session);
        } else {
            self.finish_exchange(route.exchange);
        }
    }

    fn is_streaming(&self, key: Key) -> bool {
        self.connections
            .get(key)
            .is_some_and(|connection| matches!(connection.phase, Phase::Streaming { .. }))
    }

    /// The response to an exchange becomes a stream.
    pub(super) fn begin_stream_of(&mut self, number: u64, key: Key) {
        let Some(exchange) = self.exchanges.get_mut(&number) else { return };
        let session = exchange.session;
        let mut first = Vec::new();
        if exchange.kind == Kind::Call {
            let stream = exchange.stream.get_or_insert_with(|| Stream::new(number));
            if self.sessions.get(&session).is_some_and(|session| has_priming(session.revision)) {
                stream.write_priming(&mut first, 0);
            }
        }
        self.begin_stream(key, session, number, &first);
    }

    /// Puts a message on a stream whose events are kept, and sends it if somebody listens.
    fn push(&mut self, route: Route, message: &[u8]) {
        let (stream, listener) = if route.exchange == 0 {
            let Some(session) = self.sessions.get_mut(&route.session) else { return };
            (&mut session.own, session.listeners.last().copied())
        } else {
            let Some(exchange) = self.exchanges.get_mut(&route.exchange) else { return };
            // Without one the client cannot come again, since it knows no event of it.
            let Some(stream) = &mut exchange.stream else { return };
            (stream, exchange.connection)
        };
        let before = stream.bytes();
        let event = stream.push(message);
        let sent = listener.map(|key| (key, event.to_vec()));
        if sent.is_some() {
            stream.note_sent();
        }
        if self.kept - before + stream.bytes() > HTTP_KEPT_MAX {
            stream.forget();
        }
        self.kept = self.kept - before + stream.bytes();
        if let Some((key, event)) = sent {
            self.send_on_stream(key, &event);
        }
    }
}

//! What happens because nothing happens.

use std::time::Instant;

use super::super::slab::Key;
use super::super::stream;
use super::connection::Phase;
use super::sessions::has_priming;
use super::{Backend, Kind, Server};
use crate::limits::HTTP_WRITE_STALL;

impl Server {
    /// When to call [`Server::tick`] if nothing else happens.
    pub fn deadline(&self) -> Option<Instant> {
        self.connection_timers.deadline().into_iter().chain(self.session_timers.deadline()).min()
    }

    /// Does what is due.
    pub fn tick(&mut self, backend: &mut dyn Backend) {
        while let Some(key) = self.connection_timers.next_due(self.now) {
            let (now, stream_time) = (self.now, self.config.stream_time);
            let Some(connection) = self.connections.get_mut(key) else { continue };
            connection.alarm.clear();
            match connection.deadline(stream_time) {
                Some(at) if at <= now => self.is_due(key, backend),
                _ => {}
            }
            self.rearm(key);
        }
        self.expire_sessions(backend);
    }

    fn is_due(&mut self, key: Key, backend: &mut dyn Backend) {
        let Some(connection) = self.connections.get(key) else { return };
        if connection.unsent_since.is_some_and(|since| since + HTTP_WRITE_STALL <= self.now) {
            return self.cut(key, backend);
        }
        match connection.phase {
            Phase::Closing => self.cut(key, backend),
            Phase::Reading if connection.reader.is_mid_request() => {
                let line = "the request did not arrive in time";
                if let Some(connection) = self.connections.get_mut(key) {
                    connection.manner.keep_alive = false;
                }
                self.refuse(key, 408, line);
            }
            Phase::Reading => self.close(key),
            Phase::Parsing => {}
            // Without a sign of life somebody on the way would close the connection.
            Phase::Waiting(exchange) => self.begin_quiet_stream(exchange, key),
            Phase::Streaming { session, exchange, began } => {
                let is_over = self.config.stream_time.is_some_and(|time| began + time <= self.now);
                let comes_again =
                    self.sessions.get(&session).is_some_and(|session| has_priming(session.revision));
                if is_over && comes_again {
                    self.send_away(key, exchange);
                } else {
                    if is_over && let Some(connection) = self.connections.get_mut(key) {
                        // Of those who do not come again only the alarm has to look further.
                        connection.phase = Phase::Streaming { session, exchange, began: self.now };
                    }
                    self.send_on_stream(key, stream::COMMENT);
                }
            }
        }
    }

    fn begin_quiet_stream(&mut self, number: u64, key: Key) {
        let Some(exchange) = self.exchanges.get(&number) else { return };
        if exchange.kind == Kind::Initialize {
            // Its answer has to bring a header.
            if let Some(connection) = self.connections.get_mut(key) {
                connection.since = self.now;
            }
            return;
        }
        self.begin_stream_of(number, key);
        self.send_on_stream(key, stream::COMMENT);
    }

    /// Ends a connection but not the stream that it carries: its client comes again for the rest
    /// (SEP-1699).
    fn send_away(&mut self, key: Key, number: u64) {
        let Some(connection) = self.connections.get(key) else { return };
        let Phase::Streaming { session, .. } = connection.phase else { return };
        let mut last = Vec::new();
        if number == 0 {
            if let Some(session) = self.sessions.get_mut(&session) {
                session.own.write_priming(&mut last, session.own.sent());
            }
            self.stopped_listening(session, key);
        } else if let Some(exchange) = self.exchanges.get_mut(&number) {
            exchange.connection = None;
            if let Some(stream) = &exchange.stream {
                stream.write_priming(&mut last, stream.sent());
            }
        }
        self.send_on_stream(key, &last);
        self.end_stream(key);
    }
}

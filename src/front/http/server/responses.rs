//! What clients are sent: whole responses, and streams piece by piece.

use super::super::head::Fault;
use super::super::response::{self, HeadWriter, Length};
use super::super::slab::Key;
use super::super::stream;
use super::connection::{Connection, Phase};
use super::{Effect, Server};
use crate::ids::SessionId;
use crate::jsonrpc::message::{RequestId, RpcError, write_error};

/// The header that names a session, and the one that a page may read of ours.
pub(super) const SESSION: &str = "Mcp-Session-Id";

/// What a page of another origin may read of a response's headers.
const EXPOSED: &str = "Mcp-Session-Id, WWW-Authenticate, Retry-After";

const JSON: &str = "application/json";
/// The type of a line for a person.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// Behind a body that small its head is put in front of it, so that one write carries both.
const JOINED_MAX: usize = 64 * 1024;

impl Server {
    /// Answers with JSON.
    pub(super) fn respond_json(&mut self, key: Key, status: u16, session: Option<&str>, body: Vec<u8>) {
        self.respond(key, status, |head| head.field("Content-Type", JSON).field_if(SESSION, session), body);
    }

    /// Answers with an error that belongs to no exchange.
    pub(super) fn respond_error(&mut self, key: Key, status: u16, id: Option<&RequestId>, error: &RpcError) {
        let mut body = Vec::new();
        write_error(&mut body, id, error);
        self.respond_json(key, status, None, body);
    }

    /// Answers with a line for a person.
    pub(super) fn refuse(&mut self, key: Key, status: u16, line: &str) {
        self.respond(
            key,
            status,
            |head| {
                let head = head.field("Content-Type", TEXT);
                match status {
                    405 => head.field("Allow", ALLOWED),
                    503 => head.field("Retry-After", "1"),
                    _ => head,
                }
            },
            format!("{line}\n").into_bytes(),
        );
    }

    /// Answers with nothing: 202 and 204.
    pub(super) fn respond_empty(&mut self, key: Key, status: u16) {
        self.note_status(key, status);
        let Some(connection) = self.connections.get(key) else { return };
        let mut out = Vec::with_capacity(256);
        let head = self.begin(&mut out, connection, status);
        // 204 has no body by itself; of all others a length has to be told.
        head.end(if status == 204 { Length::None } else { Length::Sized(0) });
        self.send(key, out);
        self.next_request(key);
    }

    /// Answers with these headers and this body.
    pub(super) fn respond(
        &mut self,
        key: Key,
        status: u16,
        fields: impl FnOnce(HeadWriter<'_>) -> HeadWriter<'_>,
        mut body: Vec<u8>,
    ) {
        self.note_status(key, status);
        let Some(connection) = self.connections.get(key) else { return };
        let length = body.len();
        let joined = length <= JOINED_MAX;
        let mut out = Vec::with_capacity(256 + if joined { length } else { 0 });
        fields(self.begin(&mut out, connection, status)).end(Length::Sized(length));
        if connection.manner.head_only {
            body.clear();
        }
        if joined {
            out.extend_from_slice(&body);
            self.send(key, out);
        } else {
            self.send(key, out);
            self.send(key, body);
        }
        self.next_request(key);
    }

    /// The lines that every response has.
    fn begin<'o>(&self, out: &'o mut Vec<u8>, connection: &Connection, status: u16) -> HeadWriter<'o> {
        let manner = &connection.manner;
        let keeps = manner.keep_alive && !self.is_stopping;
        let head = HeadWriter::new(out, status);
        let head = match (keeps, manner.is_current) {
            (false, _) => head.field("Connection", "close"),
            (true, false) => head.field("Connection", "keep-alive"),
            (true, true) => head,
        };
        match &manner.origin {
            Some(origin) => head
                .field("Access-Control-Allow-Origin", origin)
                .field("Access-Control-Expose-Headers", EXPOSED)
                .field("Vary", "Origin"),
            None => head,
        }
    }

    /// The response is complete: another request may come, or the connection ends.
    pub(super) fn next_request(&mut self, key: Key) {
        self.note_end(key);
        let is_stopping = self.is_stopping;
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.head = None;
        if !connection.manner.keep_alive || is_stopping {
            return self.close(key);
        }
        connection.phase = Phase::Reading;
        connection.since = self.now;
        if !connection.pending.is_empty() {
            self.effects.push(Effect::More(key));
        }
        self.rearm(key);
    }

    /// Nothing more is read; what is queued still goes out.
    pub(super) fn close(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.phase != Phase::Closing {
            self.incoming -= connection.reader.kept();
            connection.reader = super::Reader::new(0);
            connection.pending = Vec::new();
            connection.head = None;
            connection.phase = Phase::Closing;
            connection.since = self.now;
            self.effects.push(Effect::Close(key));
            self.rearm(key);
        }
    }

    /// What came cannot be believed, and nothing behind it.
    pub(super) fn fault(&mut self, key: Key, fault: Fault) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.manner.keep_alive = false;
        }
        self.refuse(key, fault.status, fault.line);
    }

    /// Refuses to listen to a connection at all.
    pub(super) fn refuse_connection(&mut self, key: Key, line: &str) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.manner.keep_alive = false;
        }
        self.refuse(key, 503, line);
    }

    /// Begins a stream as the response.
    pub(super) fn begin_stream(&mut self, key: Key, session: SessionId, exchange: u64, first: &[u8]) {
        self.note_status(key, 200);
        self.note_session(key, session);
        let Some(connection) = self.connections.get(key) else { return };
        let mut out = Vec::with_capacity(512);
        let (is_current, began) = (connection.manner.is_current, self.now);
        self.begin(&mut out, connection, 200)
            .field("Content-Type", "text/event-stream")
            .field("Cache-Control", "no-cache, no-transform")
            // Proxies that gather what they pass on would hold events back.
            .field("X-Accel-Buffering", "no")
            .end(if is_current { Length::Chunked } else { Length::ToTheEnd });
        self.send(key, out);
        if let Some(connection) = self.connections.get_mut(key) {
            connection.manner.keep_alive &= is_current;
            connection.phase = Phase::Streaming { session, exchange, began };
            connection.since = self.now;
        }
        self.send_on_stream(key, first);
    }

    /// Sends a piece of a stream; nothing is none.
    pub(super) fn send_on_stream(&mut self, key: Key, piece: &[u8]) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if !piece.is_empty() {
            let mut out = Vec::with_capacity(piece.len() + 16);
            if connection.manner.is_current {
                response::chunk(&mut out, piece);
            } else {
                out.extend_from_slice(piece);
            }
            connection.since = self.now;
            self.send(key, out);
        }
        self.rearm(key);
    }

    /// Sends a message on a stream whose events have no ids.
    pub(super) fn send_event(&mut self, key: Key, message: &[u8]) {
        let mut event = Vec::with_capacity(message.len() + 8);
        stream::write_event(&mut event, message);
        self.send_on_stream(key, &event);
    }

    /// Ends a stream.
    pub(super) fn end_stream(&mut self, key: Key) {
        let Some(connection) = self.connections.get(key) else { return };
        if connection.manner.is_current {
            self.send(key, response::LAST_CHUNK.to_vec());
        }
        self.next_request(key);
    }

    /// Sets a connection's alarm.
    pub(super) fn rearm(&mut self, key: Key) {
        let stream_time = self.config.stream_time;
        if let Some(connection) = self.connections.get_mut(key)
            && let Some(at) = connection.deadline(stream_time)
        {
            self.connection_timers.set(key, &mut connection.alarm, at);
        }
    }
}

/// The methods of the endpoint.
pub(super) const ALLOWED: &str = "GET, POST, DELETE, OPTIONS";

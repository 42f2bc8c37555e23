//! HTTP as the loop sees it: listeners, sockets, and which of them have something to do.
//!
//! Nothing here looks at all sockets in a turn: those that can be read and those that have
//! something to write stand in lists, and the [`Server`] keeps the times.

use std::io::{self, Write as _};
use std::time::Instant;

use mio::event::Event;
use mio::{Registry, Token};

use super::gate::Gate;
use super::tls::Identity;
use super::{Address, HttpSettings, sys};
use crate::front::http::guard::Guard;
use crate::front::http::server::{Backend, Effect, Server};
use crate::front::http::slab::Key;
use crate::limits::{
    HTTP_ACCEPTS, HTTP_CONNECTIONS, HTTP_LISTEN_RETRY, HTTP_QUEUE_HIGH, HTTP_QUEUE_LOW, LISTENERS_MAX,
    OTHER_FILES, READ_BUFFER,
};
use crate::log::Level;

mod listener;
mod socket;

use listener::Listener;
use socket::{Flushed, Socket, Stream};

/// Tokens from here on belong to listeners and sockets: far behind those of tool processes.
pub(super) const FIRST_TOKEN: usize = usize::MAX / 2 + 1;

/// Clients over HTTP.
#[derive(Debug)]
pub(super) struct Http {
    pub(super) server: Server,
    gate: Gate,
    /// TCP clients speak TLS.
    tls: Option<Identity>,
    listeners: Vec<Listener>,
    /// By the places of their keys.
    sockets: Vec<Option<Socket>>,
    /// Those that may be read.
    readable: Vec<Key>,
    /// Those that have something to write, or to be closed.
    dirty: Vec<Key>,
    /// What is read goes here first; what has to be kept of it is copied.
    scratch: Box<[u8]>,
    /// When to try again to accept, after that failed.
    accepts_at: Option<Instant>,
    /// Sentences for the person.
    pub(super) troubles: Vec<(Level, String)>,
}

impl Http {
    /// Listens everywhere it shall.
    pub(super) fn open(settings: &HttpSettings, registry: &Registry, now: Instant) -> io::Result<Self> {
        let tls =
            settings.admission.tls.as_ref().map(Identity::open).transpose().map_err(io::Error::other)?;
        let bind = |(at, address): (usize, &Address)| {
            Listener::bind(address, tls.is_some(), registry, Token(FIRST_TOKEN + at))
        };
        let listeners = settings.listen.iter().enumerate().map(bind).collect::<io::Result<Vec<_>>>()?;
        Ok(Self {
            server: Server::new(settings.server.clone(), Guard::new(settings.admission.rules.clone()), now),
            gate: Gate::new(settings.admission.keys.clone()),
            tls,
            listeners,
            sockets: Vec::new(),
            readable: Vec::new(),
            dirty: Vec::new(),
            scratch: vec![0; READ_BUFFER].into(),
            accepts_at: None,
            troubles: Vec::new(),
        })
    }

    /// Tells on standard output where we listen: with port 0 only the system knows.
    pub(super) fn announce(&self) {
        let lines: String =
            self.listeners.iter().map(|listener| format!("listening on {listener}\n")).collect();
        // Whoever started us without one does not want to know.
        let _ = io::stdout().write_all(lines.as_bytes());
    }

    /// Keeps what the poll said.
    pub(super) fn note(&mut self, event: &Event) {
        let at = event.token().0 - FIRST_TOKEN;
        if let Some(listener) = self.listeners.get_mut(at) {
            listener.is_ready = true;
            return;
        }
        let Some(Some(socket)) = at.checked_sub(LISTENERS_MAX).and_then(|place| self.sockets.get_mut(place))
        else {
            return;
        };
        let (is_readable, has_room) = socket.note(event);
        let key = socket.key;
        if is_readable {
            self.list(key);
        }
        if has_room {
            self.note_dirty(key);
        }
    }

    /// Whether something can be done without a wait; `may_read`: requests may be taken.
    pub(super) fn is_busy(&self, may_read: bool) -> bool {
        !self.readable.is_empty() && may_read
            || self.accepts_at.is_none() && self.listeners.iter().any(|listener| listener.is_ready)
    }

    /// When to look again though nothing happens.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.server.deadline().into_iter().chain(self.accepts_at).min()
    }

    /// Lets clients in.
    pub(super) fn accept(&mut self, registry: &Registry, now: Instant) {
        if self.accepts_at.is_some_and(|at| at > now) {
            return;
        }
        self.accepts_at = None;
        if self.listeners.iter().any(|listener| listener.is_ready) {
            self.refresh_tls(now);
        }
        for at in 0..self.listeners.len() {
            for _ in 0..HTTP_ACCEPTS {
                if !self.listeners[at].is_ready {
                    break;
                }
                match self.listeners[at].accept() {
                    Ok((mut stream, peer)) => match self.server.connected(peer) {
                        Some(key) => self.add(key, stream, registry),
                        // Words that are not encrypted mean nothing to who wants to speak TLS.
                        None if self.tls.is_some() => {}
                        None => {
                            let _ = stream.write(FULL);
                        }
                    },
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.listeners[at].is_ready = false
                    }
                    // A client that has left again.
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                        ) => {}
                    Err(error) => {
                        self.warn(format!("no client can be let in for a moment: {error}"));
                        self.accepts_at = Some(now + HTTP_LISTEN_RETRY);
                        return;
                    }
                }
            }
        }
    }

    fn add(&mut self, key: Key, stream: Stream, registry: &Registry) {
        let place = key.place();
        let token = Token(FIRST_TOKEN + LISTENERS_MAX + place);
        if self.sockets.len() <= place {
            self.sockets.resize_with(place + 1, || None);
        }
        let socket = self.secured(stream).and_then(|stream| Socket::new(key, stream, registry, token));
        match socket {
            Ok(socket) => self.sockets[place] = Some(socket),
            Err(error) => {
                self.warn(format!("a client could not be let in: {error}"));
                self.server.forget(key);
            }
        }
    }

    /// The stream with TLS over it, if TCP clients speak that.
    fn secured(&self, stream: Stream) -> io::Result<Stream> {
        match (&self.tls, stream) {
            (Some(identity), Stream::Tcp(stream)) => Ok(Stream::Tls(stream, identity.session()?)),
            (_, stream) => Ok(stream),
        }
    }

    /// Looks whether new clients have to be answered with another certificate.
    fn refresh_tls(&mut self, now: Instant) {
        let news = match self.tls.as_mut().map(|identity| identity.refresh(now)) {
            None | Some(Ok(false)) => return,
            Some(Ok(true)) => {
                (Level::Info, "new clients are answered with the certificate as it is now".into())
            }
            Some(Err(problem)) => (Level::Warning, format!("{problem}; the certificate before it stays")),
        };
        self.troubles.push(news);
    }

    /// Looks whether the guard has to go by other keys, where there may be requests to check.
    pub(super) fn refresh(&mut self, now: Instant) {
        if !self.readable.is_empty() {
            self.troubles.extend(self.gate.refresh(self.server.guard_mut(), now));
        }
    }

    /// Reads the files of certificates and keys again, whether they seem to have changed or not.
    pub(super) fn reread(&mut self, now: Instant) {
        self.gate.forget();
        self.troubles.extend(self.gate.refresh(self.server.guard_mut(), now));
        if let Some(identity) = &mut self.tls {
            identity.forget();
        }
        self.refresh_tls(now);
    }

    /// Reads those that can be read. Where requests may not be taken, only those that are gone: to
    /// learn what they do not want any more makes room.
    pub(super) fn read(&mut self, may_read: bool, backend: &mut dyn Backend) {
        let mut listed = std::mem::take(&mut self.readable);
        for key in listed.drain(..) {
            let Some(socket) = self.socket(key) else { continue };
            socket.is_listed = false;
            if may_read || socket.ready.is_closed() {
                self.read_one(key, backend);
            } else {
                self.list(key);
            }
        }
        reuse(&mut self.readable, listed);
    }

    fn read_one(&mut self, key: Key, backend: &mut dyn Backend) {
        while let Some(Some(socket)) = self.sockets.get_mut(key.place()) {
            if socket.waiting() > HTTP_QUEUE_LOW {
                // It goes on when that has gone.
                return;
            }
            if std::mem::take(&mut socket.has_more) {
                self.server.received(key, &[], backend);
                continue;
            }
            if !socket.ready.is_readable() || socket.is_at_end {
                return;
            }
            if !self.server.wants(key) {
                if socket.ready.is_closed() {
                    socket.is_at_end = true;
                    self.server.ended(key, backend);
                }
                return;
            }
            let read = socket.read(&mut self.scratch);
            if socket.waiting() > 0 {
                // TLS has something to say for itself.
                self.note_dirty(key);
            }
            let Some(socket) = self.socket(key) else { return };
            match read {
                Ok(0) => {
                    socket.is_at_end = true;
                    socket.ready.blocked();
                    self.server.ended(key, backend);
                    return self.note_dirty(key);
                }
                Ok(count) => self.server.received(key, &self.scratch[..count], backend),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return socket.ready.blocked(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.lose(key, backend),
            }
            // What it asked for is done before it may ask for more: its responses may be waiting.
            return self.list_if_readable(key);
        }
    }

    /// Does what the server wants.
    pub(super) fn carry_out(&mut self, backend: &mut dyn Backend) {
        loop {
            let mut effects = self.server.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects.drain(..) {
                match effect {
                    Effect::Send(key, bytes) => {
                        let Some(socket) = self.socket(key) else { continue };
                        if socket.waiting() > HTTP_QUEUE_HIGH {
                            self.warn(
                                "a client that does not take what it asked for was disconnected".into(),
                            );
                            self.lose(key, backend);
                            continue;
                        }
                        socket.send(bytes);
                        self.note_dirty(key);
                    }
                    Effect::More(key) => {
                        if let Some(socket) = self.socket(key) {
                            socket.has_more = true;
                            self.list(key);
                        }
                    }
                    Effect::Close(key) => {
                        if let Some(socket) = self.socket(key) {
                            socket.is_closing = true;
                            self.note_dirty(key);
                        }
                    }
                    Effect::Cut(key) => self.drop_socket(key),
                }
            }
            self.server.reuse(effects);
        }
    }

    /// Writes what fits.
    pub(super) fn flush(&mut self, registry: &Registry, backend: &mut dyn Backend) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for key in dirty.drain(..) {
            let Some(socket) = self.socket(key) else { continue };
            socket.is_dirty = false;
            match socket.flush(registry) {
                Ok(Flushed { some, left }) => {
                    let was_stuck = std::mem::replace(&mut socket.was_stuck, left > 0);
                    let is_over = socket.is_closing && socket.is_at_end && left == 0;
                    if left > 0 || was_stuck {
                        self.server.wrote(key, some, left);
                    }
                    if is_over {
                        self.lose(key, backend);
                    } else if left <= HTTP_QUEUE_LOW {
                        self.list_if_readable(key);
                    }
                }
                Err(_) => self.lose(key, backend),
            }
        }
        reuse(&mut self.dirty, dirty);
    }

    /// Nobody is let in any more.
    pub(super) fn stop(&mut self) {
        self.listeners.clear();
        self.accepts_at = None;
        self.server.stop();
    }

    /// Whether all that clients shall have is written.
    pub(super) fn is_flushed(&self) -> bool {
        self.sockets.iter().flatten().all(|socket| socket.waiting() == 0)
    }

    fn warn(&mut self, trouble: String) {
        self.troubles.push((Level::Warning, trouble));
    }

    fn socket(&mut self, key: Key) -> Option<&mut Socket> {
        self.sockets.get_mut(key.place())?.as_mut().filter(|socket| socket.key == key)
    }

    fn list_if_readable(&mut self, key: Key) {
        if self
            .socket(key)
            .is_some_and(|socket| socket.ready.is_readable() && !socket.is_at_end || socket.has_more)
        {
            self.list(key);
        }
    }

    fn list(&mut self, key: Key) {
        if self.socket(key).is_some_and(|socket| !std::mem::replace(&mut socket.is_listed, true)) {
            self.readable.push(key);
        }
    }

    fn note_dirty(&mut self, key: Key) {
        if self.socket(key).is_some_and(|socket| !std::mem::replace(&mut socket.is_dirty, true)) {
            self.dirty.push(key);
        }
    }

    /// It broke, or is done with.
    fn lose(&mut self, key: Key, backend: &mut dyn Backend) {
        self.server.gone(key, backend);
        self.drop_socket(key);
    }

    fn drop_socket(&mut self, key: Key) {
        if self.socket(key).is_some() {
            // The poll forgets it when it is closed.
            self.sockets[key.place()] = None;
        }
    }
}

/// Makes room for as many open files as there may be connections. Where the system has less, there
/// are fewer connections, and a sentence that says so.
pub(super) fn make_room(settings: &mut HttpSettings) -> Option<String> {
    let most = settings.server.connections_max;
    // Those that are refused need one as well.
    let files = most as u64 + OTHER_FILES;
    let allowed = sys::raise_open_files(files).unwrap_or(files);
    if allowed >= files {
        return None;
    }
    let fits = usize::try_from(allowed.saturating_sub(OTHER_FILES)).unwrap_or(most).max(1);
    settings.server.connections_max = fits;
    // Who did not ask for more than usual need not be told of less.
    (most != HTTP_CONNECTIONS).then(|| {
        format!("at most {fits} connections can be open: the system allows {allowed} files (ulimit -n)")
    })
}

/// Gives a list the room of one that was worked off.
fn reuse(list: &mut Vec<Key>, room: Vec<Key>) {
    if list.is_empty() {
        *list = room;
    }
}

/// What those get for whom there is no room at all.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Length: 44\r\n\r\n\
    too many connections are open; try it later\n";

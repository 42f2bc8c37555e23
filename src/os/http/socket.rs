//! One client's socket, with what still has to go there.

use std::io::{self, Read, Write};
use std::net::Shutdown;

use mio::event::{Event, Source};
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

use crate::buffer::WriteQueue;
use crate::front::http::slab::Key;
use crate::os::ready::Ready;
use crate::os::tls::Session;

/// A connection of any kind.
#[derive(Debug)]
pub(in crate::os) enum Stream {
    Tcp(TcpStream),
    Tls(TcpStream, Session),
    Unix(UnixStream),
}

impl Stream {
    pub(super) fn source(&mut self) -> &mut dyn Source {
        match self {
            Stream::Tcp(stream) | Stream::Tls(stream, _) => stream,
            Stream::Unix(stream) => stream,
        }
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Tls(stream, session) => session.read(stream, buffer),
            Stream::Unix(stream) => stream.read(buffer),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Tls(stream, session) => session.write(stream, bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    /// Whether something that was written, or what TLS says for itself, has not gone yet.
    fn owes(&self) -> bool {
        match self {
            Stream::Tls(_, session) => session.owes(),
            Stream::Tcp(_) | Stream::Unix(_) => false,
        }
    }

    /// Writes that.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tls(stream, session) => session.flush(stream),
            Stream::Tcp(_) | Stream::Unix(_) => Ok(()),
        }
    }

    fn say_goodbye(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tls(stream, session) => {
                // Where not even this fits, who waits for it learns of the end all the same.
                let _ = session.say_goodbye(stream);
                stream.shutdown(Shutdown::Write)
            }
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
        }
    }
}

/// What the loop knows of it.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) key: Key,
    stream: Stream,
    token: Token,
    pub(super) ready: Ready,
    queue: WriteQueue,
    /// The poll tells when it can be written to: only while it is full.
    is_watched_for_room: bool,
    /// A write said `WouldBlock`, and the poll has said nothing since.
    is_full: bool,
    /// What was written last left something over.
    pub(super) was_stuck: bool,
    /// It is in the list of those to be read.
    pub(super) is_listed: bool,
    /// It is in the list of those to be written to.
    pub(super) is_dirty: bool,
    /// Bytes that came before wait to be looked at.
    pub(super) has_more: bool,
    /// Nothing more is queued; once all is written it is shut.
    pub(super) is_closing: bool,
    /// The client sends nothing more.
    pub(super) is_at_end: bool,
}

/// What became of a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flushed {
    /// Something was written.
    pub(super) some: bool,
    /// Bytes that are left.
    pub(super) left: usize,
}

impl Socket {
    /// Registers it.
    pub(super) fn new(key: Key, mut stream: Stream, registry: &Registry, token: Token) -> io::Result<Self> {
        registry.register(stream.source(), token, Interest::READABLE)?;
        Ok(Self {
            key,
            stream,
            token,
            ready: Ready::default(),
            queue: WriteQueue::new(),
            is_watched_for_room: false,
            is_full: false,
            was_stuck: false,
            is_listed: false,
            is_dirty: false,
            has_more: false,
            is_closing: false,
            is_at_end: false,
        })
    }

    /// The poll said something. Whether there is something to read now, and something to write.
    pub(super) fn note(&mut self, event: &Event) -> (bool, bool) {
        self.ready.note(event);
        let has_room = self.is_full && event.is_writable();
        self.is_full &= !has_room;
        (self.ready.is_readable(), has_room)
    }

    /// Reads once.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(buffer)?;
        if count < buffer.len() {
            self.ready.short();
        }
        Ok(count)
    }

    /// Queues something.
    pub(super) fn send(&mut self, bytes: Vec<u8>) {
        self.queue.push(bytes);
    }

    /// Bytes that have to go. What TLS has of them counts as one: it takes only so much.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len() + usize::from(self.stream.owes())
    }

    /// Writes what fits.
    ///
    /// # Errors
    /// It takes nothing any more.
    pub(super) fn flush(&mut self, registry: &Registry) -> io::Result<Flushed> {
        let mut some = false;
        while self.waiting() > 0 && !self.is_full {
            let wrote = if self.queue.is_empty() {
                self.stream.flush().map(|()| 0)
            } else {
                self.stream.write(self.queue.front())
            };
            match wrote {
                Ok(0) if !self.queue.is_empty() => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.queue.consume(count);
                    some = true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.watch_for_room(registry, true)?;
                    self.is_full = true;
                }
                Err(error) => return Err(error),
            }
        }
        if self.waiting() == 0 {
            self.watch_for_room(registry, false)?;
            if self.is_closing {
                self.stream.say_goodbye()?;
            }
        }
        Ok(Flushed { some, left: self.waiting() })
    }

    fn watch_for_room(&mut self, registry: &Registry, wanted: bool) -> io::Result<()> {
        if self.is_watched_for_room != wanted {
            let interest = if wanted { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
            registry.reregister(self.stream.source(), self.token, interest)?;
            self.is_watched_for_room = wanted;
        }
        Ok(())
    }
}

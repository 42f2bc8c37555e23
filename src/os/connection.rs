//! The stream between us and a tool process.

use std::io::{self, Read as _, Write as _};

use mio::event::Event;
use mio::net::UnixStream;
use mio::{Interest, Registry, Token};

use super::ready::{Progress, Ready};
use crate::buffer::WriteQueue;
use crate::wire::envelope::Reader;

/// Frames go out, envelopes come in.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    token: Token,
    pub(super) reader: Reader,
    pub(super) ready: Ready,
    queue: WriteQueue,
    /// The poll tells when it can be written to: only while it is full, since otherwise we would
    /// be woken each time the tool process reads.
    is_watched_for_room: bool,
    /// A write said `WouldBlock`, and the poll has said nothing since.
    is_full: bool,
    /// It takes nothing any more. What it said before that is still read.
    is_broken: bool,
}

impl Connection {
    /// Nothing was said yet; the poll must know the stream by this token.
    pub(super) fn new(stream: UnixStream, token: Token, message_max: usize) -> Self {
        Self {
            stream,
            token,
            reader: Reader::new(message_max),
            ready: Ready::default(),
            queue: WriteQueue::new(),
            is_watched_for_room: false,
            is_full: false,
            is_broken: false,
        }
    }

    /// The poll said something.
    pub(super) fn note(&mut self, event: &Event) {
        self.ready.note(event);
        self.is_full &= !event.is_writable();
    }

    /// Reads once.
    pub(super) fn read(&mut self) -> Progress {
        let space = self.reader.space();
        let room = space.len();
        match (&self.stream).read(space) {
            Ok(0) => Progress::End,
            Ok(count) => {
                if count < room {
                    self.ready.short();
                }
                self.reader.advance(count);
                Progress::Data(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Progress::Data(0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !self.is_broken => {
                self.ready.blocked();
                Progress::Blocked
            }
            Err(_) => Progress::End,
        }
    }

    /// What the tool process did when [`read`](Self::read) says that it ended.
    pub(super) fn end_reason(&self) -> &'static str {
        if self.reader.is_mid_frame() {
            "closed its connection in the middle of a message"
        } else {
            "closed its connection"
        }
    }

    /// Queues a frame.
    pub(super) fn send(&mut self, frame: Vec<u8>) {
        if !self.is_broken {
            self.queue.push(frame);
        }
    }

    /// Bytes that the tool process has not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Writes what fits.
    pub(super) fn flush(&mut self, registry: &Registry) {
        while !self.queue.is_empty() && !self.is_full {
            match (&self.stream).write(self.queue.front()) {
                Ok(count) if count > 0 => self.queue.consume(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.watch_for_room(registry, true);
                    self.is_full = self.is_watched_for_room;
                    return;
                }
                Ok(_) | Err(_) => {
                    self.queue.clear();
                    self.is_broken = true;
                    self.ready.note_closed();
                }
            }
        }
        if self.queue.is_empty() {
            self.watch_for_room(registry, false);
        }
    }

    fn watch_for_room(&mut self, registry: &Registry, wanted: bool) {
        if self.is_watched_for_room == wanted {
            return;
        }
        let interest = if wanted { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        if registry.reregister(&mut self.stream, self.token, interest).is_ok() {
            self.is_watched_for_room = wanted;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream as Peer;
    use std::time::Duration;

    use mio::{Events, Poll};

    use super::*;
    use crate::wire::call::call_frame;
    use crate::wire::envelope::Received;

    fn pair(poll: &Poll) -> (Connection, Peer) {
        let (ours, peer) = Peer::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut stream = UnixStream::from_std(ours);
        poll.registry().register(&mut stream, Token(7), Interest::READABLE).unwrap();
        (Connection::new(stream, Token(7), 1 << 20), peer)
    }

    /// What the poll says next about the connection.
    fn wait(poll: &mut Poll, connection: &mut Connection) {
        let mut events = Events::with_capacity(8);
        poll.poll(&mut events, Some(Duration::from_secs(20))).unwrap();
        assert!(!events.is_empty(), "nothing happened");
        for event in &events {
            connection.note(event);
        }
    }

    #[test]
    fn an_end_right_behind_the_last_bytes_is_not_missed() {
        for (cut, reason) in
            [(0, "closed its connection"), (3, "closed its connection in the middle of a message")]
        {
            let mut poll = Poll::new().unwrap();
            let (mut connection, mut peer) = pair(&poll);
            let frame = call_frame("1", "add", "{}", "", "");
            peer.write_all(&frame).unwrap();
            peer.write_all(&frame[..cut]).unwrap();
            drop(peer);
            wait(&mut poll, &mut connection);
            assert_eq!(connection.read(), Progress::Data(frame.len() + cut));
            assert!(matches!(connection.reader.next(), Ok(Some(Received::Envelope(_)))));
            assert!(matches!(connection.reader.next(), Ok(None)));
            assert!(connection.ready.is_readable(), "the end must be looked for");
            assert_eq!(connection.read(), Progress::End);
            assert_eq!(connection.end_reason(), reason);
        }
    }

    #[test]
    fn an_end_after_a_short_read_is_news_of_its_own() {
        let mut poll = Poll::new().unwrap();
        let (mut connection, mut peer) = pair(&poll);
        peer.write_all(&call_frame("1", "add", "{}", "", "")).unwrap();
        wait(&mut poll, &mut connection);
        assert!(matches!(connection.read(), Progress::Data(_)));
        assert!(!connection.ready.is_readable());
        drop(peer);
        wait(&mut poll, &mut connection);
        assert_eq!(connection.read(), Progress::End);
    }

    #[test]
    fn a_slow_tool_process_gets_everything_in_the_end() {
        let mut poll = Poll::new().unwrap();
        let (mut connection, mut peer) = pair(&poll);
        let message: Vec<u8> = (0..1_000_000u32).map(|i| (i / 3) as u8).collect();
        connection.send(message.clone());
        connection.flush(poll.registry());
        assert!(connection.is_full && connection.waiting() > 0);
        let mut received = vec![0; message.len()];
        let mut count = 0;
        while connection.waiting() > 0 {
            count += peer.read(&mut received[count..]).unwrap();
            // The peer reads what fits into the socket, so there may be no news yet.
            let mut events = Events::with_capacity(8);
            poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
            connection.is_full &= !events.iter().any(|event| event.is_writable());
            connection.flush(poll.registry());
        }
        assert!(!connection.is_watched_for_room);
        peer.read_exact(&mut received[count..]).unwrap();
        assert!(received == message);
    }

    #[test]
    fn one_that_takes_nothing_any_more_is_read_to_its_end() {
        let poll = Poll::new().unwrap();
        let (mut connection, mut peer) = pair(&poll);
        peer.write_all(&call_frame("1", "add", "{}", "", "")).unwrap();
        peer.shutdown(std::net::Shutdown::Read).unwrap();
        connection.send(vec![1; 10]);
        connection.flush(poll.registry());
        assert_eq!(connection.waiting(), 0);
        assert!(matches!(connection.read(), Progress::Data(_)));
        // It has not closed, but there is no use in it.
        assert_eq!(connection.read(), Progress::End);
        connection.send(vec![1; 10]);
        assert_eq!(connection.waiting(), 0);
    }
}

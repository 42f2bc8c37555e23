//! Standard input, output and error, whatever they are, without ever blocking on a peer.
//!
//! `O_NONBLOCK` belongs to the open file description, which we share with whoever gave it to us:
//! the host, the shell, our own children. So it is never set on what we were given. Instead:
//!
//! | it is | we |
//! |---|---|
//! | a pipe or a terminal | open it anew through `/proc/self/fd`, which gives a description of our own |
//! | a socket | read and write with `MSG_DONTWAIT` |
//! | a pipe or a terminal that cannot be opened anew | ask `poll(2)` before each read and write of at most 4096 bytes, which then cannot block |
//! | a file, `/dev/null` | just read and write; the poll refuses them, they are always ready |

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};

use super::sys;
use crate::buffer::WriteQueue;
use crate::limits::PIPE_PIECE;
use crate::limits::PIPE_SIZE;

/// One of the three, with the way to use it.
#[derive(Debug)]
pub(super) struct Stdio {
    fd: OwnedFd,
    way: Way,
    /// A read that returns less than it had space for found the end of what is there. Not so on
    /// a terminal, which gives one line at a time, nor on a socket that keeps packets apart. (A
    /// pipe whose writers set `O_DIRECT` does so, too, but its other end cannot know, and to ask
    /// behind each read would cost all others.)
    short_means_empty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A description of our own, with `O_NONBLOCK`.
    Own,
    Socket,
    /// Shared and able to block: ask first.
    Ask,
    /// Never blocks on a peer.
    Always,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Got {
    /// Bytes; 0 is the end.
    pub(super) count: usize,
    /// Nothing more is there for now.
    pub(super) empty: bool,
}

impl Stdio {
    /// Finds out what it is. The descriptor itself is left as it was.
    pub(super) fn open(given: BorrowedFd<'_>, writing: bool) -> io::Result<Self> {
        let file = File::from(given.try_clone_to_owned()?);
        let kind = file.metadata()?.file_type();
        let fd = OwnedFd::from(file);
        if kind.is_socket() {
            let is_stream = sys::socket_type(fd.as_fd())? == libc::SOCK_STREAM;
            return Ok(Self { fd, way: Way::Socket, short_means_empty: is_stream });
        }
        if !kind.is_fifo() && !kind.is_char_device() {
            return Ok(Self { fd, way: Way::Always, short_means_empty: false });
        }
        let own = OpenOptions::new()
            .read(!writing)
            .write(writing)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(format!("/proc/self/fd/{}", fd.as_raw_fd()));
        Ok(match own {
            Ok(own) => Self { fd: own.into(), way: Way::Own, short_means_empty: kind.is_fifo() },
            Err(_) => Self { fd, way: Way::Ask, short_means_empty: false },
        })
    }

    /// Lets a pipe hold more, so that large messages go through in fewer pieces. A hint; what is no
    /// pipe stays as it is.
    pub(super) fn widen(&self) {
        sys::widen_pipe(self.fd.as_fd(), PIPE_SIZE);
    }

    /// Has the poll watch it. False if it need not be watched, being always ready.
    pub(super) fn register(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: Interest,
    ) -> io::Result<bool> {
        if self.way == Way::Always {
            return Ok(false);
        }
        match registry.register(&mut SourceFd(&self.fd.as_raw_fd()), token, interest) {
            Ok(()) => Ok(true),
            // A device like /dev/null.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.way = Way::Always;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The poll forgets it.
    pub(super) fn deregister(&self, registry: &Registry) {
        // It fails only for what was not registered.
        let _ = registry.deregister(&mut SourceFd(&self.fd.as_raw_fd()));
    }

    /// Reads what is there; `WouldBlock` if nothing is.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<Got> {
        let fd = self.fd.as_fd();
        let count = match self.way {
            Way::Own | Way::Always => sys::read(fd, buffer)?,
            Way::Socket => sys::receive(fd, buffer)?,
            Way::Ask if !sys::is_ready(fd, false) => return Err(io::ErrorKind::WouldBlock.into()),
            Way::Ask => {
                let length = buffer.len().min(PIPE_PIECE);
                sys::read(fd, &mut buffer[..length])?
            }
        };
        Ok(Got { count, empty: self.short_means_empty && count < buffer.len() })
    }

    /// Writes what fits; `WouldBlock` if nothing does.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let fd = self.fd.as_fd();
        match self.way {
            Way::Own | Way::Always => sys::write(fd, bytes),
            Way::Socket => sys::send(fd, bytes),
            Way::Ask if !sys::is_ready(fd, true) => Err(io::ErrorKind::WouldBlock.into()),
            Way::Ask => sys::write(fd, &bytes[..bytes.len().min(PIPE_PIECE)]),
        }
    }
}

/// A way out with what still has to go there. It is watched only while it is full, since a
/// watched one would wake us each time its reader reads.
#[derive(Debug)]
pub(super) struct Sink {
    stdio: Stdio,
    token: Token,
    queue: WriteQueue,
    watched: bool,
    /// A write said `WouldBlock`, and the poll has said nothing since.
    full: bool,
}

impl Sink {
    /// Nothing waits yet.
    pub(super) fn new(stdio: Stdio, token: Token) -> Self {
        Self { stdio, token, queue: WriteQueue::new(), watched: false, full: false }
    }

    /// Puts a message behind the others.
    pub(super) fn push(&mut self, message: Vec<u8>) {
        self.queue.push(message);
    }

    /// Bytes that still have to go.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The poll said that something can be written again.
    pub(super) fn note_room(&mut self) {
        self.full = false;
    }

    /// Writes what fits. On an error nothing can be written any more, and nothing waits.
    pub(super) fn flush(&mut self, registry: &Registry) -> io::Result<()> {
        while !self.queue.is_empty() && !self.full {
            match self.stdio.write(self.queue.front()) {
                Ok(0) => return self.fail(registry, io::ErrorKind::WriteZero.into()),
                Ok(count) => self.queue.consume(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.watched {
                        match self.stdio.register(registry, self.token, Interest::WRITABLE) {
                            Ok(watched) => self.watched = watched,
                            Err(error) => return self.fail(registry, error),
                        }
                    }
                    self.full = self.watched;
                    return Ok(());
                }
                Err(error) => return self.fail(registry, error),
            }
        }
        if self.queue.is_empty() {
            self.unwatch(registry);
        }
        Ok(())
    }

    fn fail(&mut self, registry: &Registry, error: io::Error) -> io::Result<()> {
        self.queue.clear();
        self.unwatch(registry);
        Err(error)
    }

    fn unwatch(&mut self, registry: &Registry) {
        if self.watched {
            self.stdio.deregister(registry);
            self.watched = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use mio::{Events, Poll};

    use super::*;

    fn is_blocking(fd: BorrowedFd<'_>) -> bool {
        let path = format!("/proc/self/fdinfo/{}", fd.as_raw_fd());
        let info = std::fs::read_to_string(path).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        i32::from_str_radix(flags.trim(), 8).unwrap() & libc::O_NONBLOCK == 0
    }

    fn would_block(result: io::Result<impl std::fmt::Debug>) -> bool {
        result.unwrap_err().kind() == io::ErrorKind::WouldBlock
    }

    /// Fills a way out until it blocks, then empties it again: everything must have come, in
    /// order, and the given descriptor must still be a blocking one.
    fn check_pair(given_in: BorrowedFd<'_>, given_out: BorrowedFd<'_>, expected: Way) {
        let input = Stdio::open(given_in, false).unwrap();
        let mut output = Stdio::open(given_out, true).unwrap();
        assert_eq!((input.way, output.way), (expected, expected));
        let mut buffer = vec![0; 16 * 1024];
        assert!(would_block(input.read(&mut buffer)));
        assert_eq!(output.write(b"one").unwrap(), 3);
        let got = input.read(&mut buffer).unwrap();
        assert_eq!(&buffer[..got.count], b"one");
        check_full(&mut output, &input, &mut buffer);
        assert!(is_blocking(given_in) && is_blocking(given_out), "O_NONBLOCK leaked");
    }

    fn check_full(output: &mut Stdio, input: &Stdio, buffer: &mut [u8]) {
        let mut sent = 0;
        loop {
            match output.write(&[7; 5000]) {
                Ok(count) => sent += count,
                Err(error) => break assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        let mut received = 0;
        while received < sent {
            received += input.read(buffer).unwrap().count;
        }
        assert_eq!(received, sent);
    }

    #[test]
    fn pipes_get_a_description_of_our_own() {
        let (reader, writer) = io::pipe().unwrap();
        check_pair(reader.as_fd(), writer.as_fd(), Way::Own);
    }

    #[test]
    fn sockets_are_used_without_a_flag() {
        let (a, b) = UnixStream::pair().unwrap();
        check_pair(a.as_fd(), b.as_fd(), Way::Socket);
    }

    #[test]
    fn shared_pipes_are_asked_first() {
        let (reader, writer) = io::pipe().unwrap();
        let ask = |fd: BorrowedFd<'_>| Stdio {
            fd: fd.try_clone_to_owned().unwrap(),
            way: Way::Ask,
            short_means_empty: false,
        };
        let mut output = ask(writer.as_fd());
        let input = ask(reader.as_fd());
        let mut buffer = vec![0; 16 * 1024];
        assert!(would_block(input.read(&mut buffer)));
        check_full(&mut output, &input, &mut buffer);
        assert!(is_blocking(reader.as_fd()) && is_blocking(writer.as_fd()));
        drop((writer, output));
        assert_eq!(input.read(&mut buffer).unwrap().count, 0);
    }

    #[test]
    fn files_and_null_are_always_ready() {
        let poll = Poll::new().unwrap();
        let path = std::env::temp_dir().join(format!("pmcp-stdio-{}", std::process::id()));
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.as_mut().unwrap();
        file.write_all(b"before").unwrap();
        let mut output = Stdio::open(file.as_fd(), true).unwrap();
        assert!(!output.register(poll.registry(), Token(0), Interest::WRITABLE).unwrap());
        output.write(b" after").unwrap();
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "before after", "the file's position is shared");
        std::fs::remove_file(path).unwrap();

        let null = OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
        let mut input = Stdio::open(null.as_fd(), false).unwrap();
        assert!(!input.register(poll.registry(), Token(1), Interest::READABLE).unwrap());
        assert_eq!(input.read(&mut [0; 8]).unwrap().count, 0);
        assert!(is_blocking(null.as_fd()));
    }

    #[test]
    fn a_terminal_is_read_line_by_line_to_its_end() {
        // A short read must not be taken for "empty" here.
        let Ok(mut master) = OpenOptions::new().read(true).write(true).open("/dev/ptmx") else { return };
        let Some(slave) = sys::tests::terminal_of(&master) else { return };
        let input = Stdio::open(slave.as_fd(), false).unwrap();
        assert_eq!((input.way, input.short_means_empty), (Way::Own, false));
        master.write_all(b"one\ntwo\n").unwrap();
        let mut buffer = [0; 64];
        let mut lines = Vec::new();
        while lines.len() < 8 {
            // The terminal hands lines on by a kernel worker, so wait for it.
            if sys::is_ready(input.fd.as_fd(), false) {
                let got = input.read(&mut buffer).unwrap();
                assert!(!got.empty);
                lines.extend_from_slice(&buffer[..got.count]);
            }
        }
        assert_eq!(lines, b"one\ntwo\n");
        assert!(is_blocking(slave.as_fd()));
    }

    #[test]
    fn packets_are_read_one_by_one_to_the_last() {
        let [reader, writer] = sys::tests::packet_sockets();
        let input = Stdio::open(reader.as_fd(), false).unwrap();
        let output = Stdio::open(writer.as_fd(), true).unwrap();
        let packets = [b"one\n", b"two\n"];
        for packet in packets {
            output.write(packet).unwrap();
        }
        let mut buffer = [0; 64];
        for packet in packets {
            let got = input.read(&mut buffer).unwrap();
            assert_eq!((&buffer[..got.count], got.empty), (&packet[..], false));
        }
        assert!(would_block(input.read(&mut buffer)));
    }

    #[test]
    fn a_full_sink_is_watched_until_it_is_empty() {
        let mut poll = Poll::new().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let mut sink = Sink::new(Stdio::open(writer.as_fd(), true).unwrap(), Token(3));
        drop(writer);
        let message: Vec<u8> = (0..300_000u32).map(|i| (i / 7) as u8).collect();
        sink.push(message.clone());
        sink.flush(poll.registry()).unwrap();
        assert!(sink.watched && sink.waiting() > 0);
        let mut received = Vec::new();
        let mut events = Events::with_capacity(8);
        while sink.waiting() > 0 {
            let mut buffer = vec![0; 64 * 1024];
            let count = reader.read(&mut buffer).unwrap();
            received.extend_from_slice(&buffer[..count]);
            poll.poll(&mut events, Some(Duration::from_secs(10))).unwrap();
            assert!(events.iter().any(|event| event.is_writable()));
            sink.note_room();
            sink.flush(poll.registry()).unwrap();
        }
        assert!(!sink.watched);
        drop(sink);
        reader.read_to_end(&mut received).unwrap();
        assert!(received == message);
    }

    #[test]
    fn a_sink_without_a_reader_says_so_and_forgets_what_waited() {
        let poll = Poll::new().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let mut sink = Sink::new(Stdio::open(writer.as_fd(), true).unwrap(), Token(3));
        sink.push(vec![1; 200_000]);
        sink.flush(poll.registry()).unwrap();
        drop(reader);
        sink.note_room();
        let error = sink.flush(poll.registry()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(sink.waiting(), 0);
    }
}

//! One tool process as the loop sees it: its process, its connection, what it prints.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Instant;

use mio::net::UnixStream;
use mio::unix::pipe::Receiver;
use mio::{Interest, Registry, Token};

use super::build::{Building, Built};
use super::child::{self, Child};
use super::console::Console;
use super::environment::Variables;
use super::lines::{LineCutter, Tail};
use super::ready::{Progress, Ready};
use super::sys;
use super::tool_socket::{Accepted, ToolSocket};
use super::{Build, Launch};
use crate::buffer::WriteQueue;
use crate::ids::Generation;
use crate::limits::{BUILD_LINE_MAX, EXIT_DRAIN_MAX, READ_BUFFER};
use crate::log::Level;
use crate::wire::envelope::Reader;

/// One generation.
#[derive(Debug)]
pub(super) struct ToolProcess {
    pub(super) generation: Generation,
    /// Also the id of its process group.
    pub(super) pid: i32,
    /// Until it has connected.
    socket: Option<ToolSocket>,
    /// From then on, until one side closes it.
    pub(super) connection: Option<Connection>,
    stdout: Printed,
    stderr: Printed,
    /// The last lines of stderr.
    tail: Tail,
    /// What runs is its build.
    pub(super) building: Option<Building>,
    /// What was built for it, kept for as long as it runs.
    _built: Option<Built>,
    /// It was sent a signal.
    pub(super) is_ending: bool,
}

/// What the poll's tokens of a tool process stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Socket,
    Connection,
    Stdout,
    Stderr,
}

impl Part {
    const ALL: [Self; 4] = [Self::Socket, Self::Connection, Self::Stdout, Self::Stderr];

    /// The token of a part of a generation; `first` is the first that is not somebody else's.
    fn token(self, first: usize, generation: Generation) -> Token {
        Token(first + generation.0 as usize * Self::ALL.len() + self as usize)
    }

    /// The reverse of [`token`](Self::token).
    pub(super) fn of(token: Token, first: usize) -> Option<(Generation, Self)> {
        let number = token.0.checked_sub(first)?;
        let part = Self::ALL[number % Self::ALL.len()];
        Some((Generation((number / Self::ALL.len()) as u64), part))
    }
}

impl ToolProcess {
    /// Starts it, listening for it first.
    pub(super) fn start(
        launch: &Launch,
        built: Option<Built>,
        variables: &Variables,
        socket: Option<&Path>,
        generation: Generation,
        message_max: usize,
    ) -> io::Result<Self> {
        let socket = ToolSocket::bind(socket)?;
        let program = built.as_ref().map(|built| built.program.as_path());
        let child = child::spawn(launch, program, variables, generation, socket.path(), message_max)?;
        Ok(Self { socket: Some(socket), _built: built, ..Self::new(generation, child) })
    }

    /// Starts its build.
    pub(super) fn build(
        build: &Build,
        variables: &Variables,
        generation: Generation,
        now: Instant,
    ) -> io::Result<Self> {
        let (command, building) = Building::prepare(build, now)?;
        let child = child::spawn_build(&command, &build.folder, variables)?;
        let mut tool = Self::new(generation, child);
        tool.stdout.cutter = LineCutter::with_max(BUILD_LINE_MAX);
        tool.building = Some(building);
        Ok(tool)
    }

    fn new(generation: Generation, child: Child) -> Self {
        Self {
            generation,
            pid: child.pid,
            socket: None,
            connection: None,
            stdout: Printed::new(child.stdout),
            stderr: Printed::new(child.stderr),
            tail: Tail::default(),
            building: None,
            _built: None,
            is_ending: false,
        }
    }

    /// Has the poll tell what it does.
    pub(super) fn register(mut self, registry: &Registry, first_token: usize) -> io::Result<Self> {
        let token = |part: Part| part.token(first_token, self.generation);
        let mut register = || {
            if let Some(socket) = &mut self.socket {
                registry.register(socket.listener(), token(Part::Socket), Interest::READABLE)?;
            }
            self.stdout.register(registry, token(Part::Stdout))?;
            self.stderr.register(registry, token(Part::Stderr))
        };
        // One that we cannot hear must not run.
        register().inspect_err(|_| sys::kill_group(self.pid, libc::SIGKILL))?;
        Ok(self)
    }

    /// The poll said something about a part.
    pub(super) fn note(&mut self, part: Part, event: &mio::event::Event) {
        match part {
            // Dealt with at once.
            Part::Socket => {}
            Part::Connection => {
                if let Some(connection) = &mut self.connection {
                    connection.ready.note(event);
                    connection.is_full &= !event.is_writable();
                }
            }
            Part::Stdout => self.stdout.ready.note(event),
            Part::Stderr => self.stderr.ready.note(event),
        }
    }

    /// Lets the tool process in if it knocks. True if it is connected now; then the socket is
    /// gone.
    pub(super) fn accept(
        &mut self,
        message_max: usize,
        registry: &Registry,
        first_token: usize,
        console: &mut Console,
    ) -> bool {
        while let Some(socket) = &self.socket {
            match socket.accept() {
                Ok(Accepted::Tool(mut stream)) => {
                    let token = Part::Connection.token(first_token, self.generation);
                    if let Err(error) = registry.register(&mut stream, token, Interest::READABLE) {
                        console.log(Level::Error, &format!("cannot watch the tool process: {error}"));
                        return false;
                    }
                    self.connection = Some(Connection::new(stream, token, message_max));
                    self.socket = None;
                    return true;
                }
                Ok(Accepted::Stranger(uid)) => {
                    console
                        .log(Level::Warning, &format!("user {uid} was refused at the tool process's socket"));
                }
                Ok(Accepted::Nobody) => return false,
                Err(error) => {
                    console.log(Level::Warning, &format!("cannot accept the tool process: {error}"));
                    return false;
                }
            }
        }
        false
    }

    /// Whether something that it printed may wait to be shown.
    pub(super) fn has_printed(&self) -> bool {
        self.stdout.is_readable() || self.stderr.is_readable()
    }

    /// Shows what it printed, within one turn's share.
    pub(super) fn show_printed(&mut self, console: &mut Console, now: Instant) {
        self.stdout.show(READ_BUFFER, |line| show_or_take(&mut self.building, line, console, now));
        self.stderr.show(READ_BUFFER, |line| {
            self.tail.push(line);
            console.tool_line(line, now);
        });
    }

    /// Shows all that it printed, its last line too, and returns the end of its stderr.
    pub(super) fn finish_printed(&mut self, console: &mut Console, now: Instant) -> String {
        for printed in [&mut self.stdout, &mut self.stderr] {
            printed.ready.note_closed();
        }
        let mut show_or_take = |line: &[u8]| show_or_take(&mut self.building, line, console, now);
        self.stdout.show(EXIT_DRAIN_MAX, &mut show_or_take);
        self.stdout.cutter.finish(&mut show_or_take);
        let mut show = |line: &[u8]| {
            self.tail.push(line);
            console.tool_line(line, now);
        };
        self.stderr.show(EXIT_DRAIN_MAX, &mut show);
        self.stderr.cutter.finish(&mut show);
        self.tail.text()
    }

    /// Sends a signal to the process and all of its group.
    pub(super) fn kill(&mut self, signal: i32) {
        self.is_ending = true;
        sys::kill_group(self.pid, signal);
    }
}

/// A line on stdout is for a person, unless a build tells us something with it.
fn show_or_take(building: &mut Option<Building>, line: &[u8], console: &mut Console, now: Instant) {
    if !building.as_mut().is_some_and(|building| building.take(line)) {
        console.tool_line(line, now);
    }
}

/// The stream between us and a tool process.
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
    fn new(stream: UnixStream, token: Token, message_max: usize) -> Self {
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

/// One of the two streams that it prints to.
#[derive(Debug)]
struct Printed {
    /// Absent once it is closed.
    pipe: Option<Receiver>,
    ready: Ready,
    cutter: LineCutter,
}

impl Printed {
    fn new(pipe: Receiver) -> Self {
        Self { pipe: Some(pipe), ready: Ready::default(), cutter: LineCutter::default() }
    }

    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match &mut self.pipe {
            Some(pipe) => registry.register(pipe, token, Interest::READABLE),
            None => Ok(()),
        }
    }

    fn is_readable(&self) -> bool {
        self.pipe.is_some() && self.ready.is_readable()
    }

    /// Reads up to about `budget` bytes and shows their lines.
    fn show(&mut self, budget: usize, mut show: impl FnMut(&[u8])) {
        let mut buffer = [0; 8 * 1024];
        let mut left = budget;
        while left > 0
            && self.ready.is_readable()
            && let Some(pipe) = &mut self.pipe
        {
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    if count < buffer.len() {
                        self.ready.short();
                    }
                    left = left.saturating_sub(count);
                    self.cutter.feed(&buffer[..count], &mut show);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.ready.blocked(),
                Err(_) => self.pipe = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream as Peer;
    use std::time::Duration;

    use mio::{Events, Poll};

    use super::*;
    use crate::wire::envelope::{Received, call_frame};

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
            connection.ready.note(event);
            connection.is_full &= !event.is_writable();
        }
    }

    #[test]
    fn every_part_of_every_generation_has_a_token_of_its_own() {
        for generation in [0, 1, 77].map(Generation) {
            for part in Part::ALL {
                assert_eq!(Part::of(part.token(6, generation), 6), Some((generation, part)));
            }
        }
        assert_eq!(Part::of(Token(5), 6), None);
    }

    #[test]
    fn an_end_right_behind_the_last_bytes_is_not_missed() {
        for (cut, reason) in
            [(0, "closed its connection"), (3, "closed its connection in the middle of a message")]
        {
            let mut poll = Poll::new().unwrap();
            let (mut connection, mut peer) = pair(&poll);
            let frame = call_frame("1", "add", "{}", "");
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
        peer.write_all(&call_frame("1", "add", "{}", "")).unwrap();
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
        peer.write_all(&call_frame("1", "add", "{}", "")).unwrap();
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

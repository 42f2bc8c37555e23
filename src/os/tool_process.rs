//! One tool process as the loop sees it: its process, its connection, what it prints.

use std::io::{self, Read as _};
use std::path::Path;
use std::time::Instant;

use mio::unix::pipe::Receiver;
use mio::{Interest, Registry, Token};

use super::build::{Building, Built};
use super::child::{self, Child};
use super::connection::Connection;
use super::console::Console;
use super::environment::Variables;
use super::lines::{LineCutter, Tail};
use super::ready::Ready;
use super::sys;
use super::tool_socket::{Accepted, ToolSocket};
use super::{Build, Launch};
use crate::ids::Generation;
use crate::limits::{BUILD_LINE_MAX, EXIT_DRAIN_MAX, PRINTED_BUFFER, READ_BUFFER};
use crate::log::Level;

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
                    connection.note(event);
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
        let of = self.generation;
        self.stdout.show(READ_BUFFER, |line| show_or_take(&mut self.building, of, line, console, now));
        self.stderr.show(READ_BUFFER, |line| {
            self.tail.push(line);
            console.tool_line(of, line, now);
        });
    }

    /// Shows all that it printed, its last line too, and returns the end of its stderr.
    pub(super) fn finish_printed(&mut self, console: &mut Console, now: Instant) -> String {
        for printed in [&mut self.stdout, &mut self.stderr] {
            printed.ready.note_closed();
        }
        let of = self.generation;
        let mut show_or_take = |line: &[u8]| show_or_take(&mut self.building, of, line, console, now);
        self.stdout.show(EXIT_DRAIN_MAX, &mut show_or_take);
        self.stdout.cutter.finish(&mut show_or_take);
        let mut show = |line: &[u8]| {
            self.tail.push(line);
            console.tool_line(of, line, now);
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
fn show_or_take(
    building: &mut Option<Building>,
    of: Generation,
    line: &[u8],
    console: &mut Console,
    now: Instant,
) {
    if !building.as_mut().is_some_and(|building| building.take(line)) {
        console.tool_line(of, line, now);
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
        let mut buffer = [0; PRINTED_BUFFER];
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
    use super::*;

    #[test]
    fn every_part_of_every_generation_has_a_token_of_its_own() {
        for generation in [0, 1, 77].map(Generation) {
            for part in Part::ALL {
                assert_eq!(Part::of(part.token(6, generation), 6), Some((generation, part)));
            }
        }
        assert_eq!(Part::of(Token(5), 6), None);
    }
}

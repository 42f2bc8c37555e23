//! Everything that is remembered between two messages, as one pure state machine.
//!
//! What lives here: sessions, calls and their middleware, the tool list, the life of the tool
//! process as decisions. What does not: bytes of any protocol (`wire`, `jsonrpc`, `mcp` spell
//! them), descriptors, clocks, threads (`os` owns them and feeds this with [`Input`]s).
//! Imports: `mcp`, `jsonrpc`, `wire`, level 0.
//!
//! The contract: [`Bridge::handle`] takes one input and the time, changes state and pushes
//! [`Output`]s, which the caller carries out in their order. When nothing happens the caller
//! waits until [`Bridge::deadline`] and then hands in [`Input::Tick`]. Nothing in here fails:
//! what a peer does wrong becomes an answer, a log line or the end of that peer.

use std::time::{Duration, Instant};

use crate::ids::{Generation, Route, SessionId};
use crate::log::Level;
use crate::mcp::lifecycle::ServerInfo;
use crate::mcp::request::HostMessage;
use crate::wire::envelope::Received;

pub mod job;

pub use job::{Job, JobDone};

/// What the bridge is told at its making.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name, version and instructions that hosts see.
    pub server: ServerInfo,
    /// From the start of a tool process to its complete handshake.
    pub start_timeout: Duration,
    /// How long one call may take.
    pub call_timeout: Duration,
    /// What running calls get when the host is gone.
    pub grace: Duration,
    /// Bound of a message and of an inflated payload, in bytes.
    pub message_max: usize,
    /// The command line of the tool process, for error texts.
    pub command: String,
    /// Seed of the restart jitter.
    pub seed: u64,
}

/// What happened.
#[derive(Debug)]
pub enum Input<'a> {
    /// A host is there.
    SessionOpened(SessionId),
    /// A host said something.
    Host {
        /// Where its answer goes.
        route: Route,
        /// What it said.
        message: HostMessage<'a>,
    },
    /// A host is gone (end of its input, or its output broke).
    SessionClosed(SessionId),
    /// A tool process connected to its socket.
    ToolConnected(Generation),
    /// A tool process said something.
    Tool {
        /// Which one.
        generation: Generation,
        /// What it said.
        received: Received<'a>,
    },
    /// A tool process broke the rules of the wire so that nothing more can be read from it, or
    /// closed its connection (`reason` is a sentence).
    ToolDisconnected {
        /// Which one.
        generation: Generation,
        /// What happened.
        reason: String,
    },
    /// A tool process ended and all that it wrote has been handed in, or it could not be started.
    ToolExited {
        /// Which one.
        generation: Generation,
        /// How, for a person: "exited with status 3", "was killed by signal 9 (SIGKILL)",
        /// "could not be started: No such file or directory".
        how: String,
        /// The last lines of its stderr, joined by newlines; empty if there were none.
        stderr: String,
    },
    /// A worker finished a job.
    JobDone(JobDone),
    /// Files of the tool process changed.
    FilesChanged {
        /// Which, for a person.
        cause: String,
    },
    /// We are asked to end (a signal). A second time means: at once.
    Stop {
        /// By what, for a person.
        reason: String,
    },
    /// Time passed.
    Tick,
}

/// What is to be done.
#[derive(Debug)]
pub enum Output {
    /// Send one JSON message (without newline) to a host.
    Host {
        /// Where to.
        route: Route,
        /// Compact JSON without a raw CR or LF.
        message: Vec<u8>,
    },
    /// Send frames to a tool process.
    Tool {
        /// Which one.
        generation: Generation,
        /// One whole frame.
        frame: Vec<u8>,
    },
    /// Start a tool process.
    Start(Generation),
    /// Send TERM (or KILL) to a tool process and its whole group.
    Kill {
        /// Which one.
        generation: Generation,
        /// KILL instead of TERM.
        now: bool,
    },
    /// Have a worker run this and hand the result in as [`Input::JobDone`].
    Job(Job),
    /// Tell the person on stderr.
    Log(Level, String),
    /// Flush what hosts still have to get, then end with success.
    Exit,
}

/// The queue that [`Bridge::handle`] pushes to.
pub type Outputs = Vec<Output>;

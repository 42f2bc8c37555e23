//! Everything that is remembered between two messages, as one pure state machine.
//!
//! What lives here: sessions, calls and their middleware, the tool list, the life of the tool
//! process as decisions. What does not: bytes of any protocol (`wire`, `jsonrpc`, `mcp` spell
//! them), descriptors, clocks, threads (`os` owns them and feeds this with [`Input`]s).
//! Imports: `mcp`, `jsonrpc`, `wire`, level 0.
//!
//! One call goes through these files in this order: `from_host` (a request of a host), `dispatch`
//! (taken in, waits, begins; `waiting` is the line), `middleware`, `asks` (our requests to the
//! process), then `from_tool` (what comes back), `results` and `job` (large ones), `ending`. Lists
//! are in `lists` and `tool_list`, streams of news in `listen`. What a tool asks its host is in
//! `questions`; in the modern era its call waits in `parked` for the host's return, and a tool that
//! does not wait is called again by `stateless`. Calls that nobody waits for are in `tasks`, those
//! that the tool process runs by itself in `remote`. `call` and `session` are what is remembered of
//! each, `metrics` what is counted of all. A crash begins in `supervise` (`tool_exited`), which asks
//! `restart` when to go on and `last_words` what to say; a save begins in `reload`; the end is in
//! `shutdown`. `process` is one life of the tool process; `health` says whether one serves.
//!
//! The contract: [`Bridge::handle`] takes one input and the time, changes state and pushes
//! [`Output`]s, which the caller carries out in their order. When nothing happens the caller
//! waits until [`Bridge::deadline`] and then hands in [`Input::Tick`]. Nothing in here fails:
//! what a peer does wrong becomes an answer, a log line or the end of that peer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ids::{AskId, CallId, Generation, Route, SessionId};
use crate::log::Level;
use crate::mcp::lifecycle::ServerInfo;
use crate::mcp::request::HostMessage;
use crate::mcp::result::Dialect;
use crate::mcp::revision::Revision;
use crate::mcp::state::Key;
use crate::wire::envelope::Received;

mod asks;
mod call;
mod cancel;
mod dispatch;
mod ending;
mod from_host;
mod from_tool;
mod health;
mod isolation;
pub mod job;
mod last_words;
mod listen;
mod lists;
mod metrics;
mod middleware;
mod parked;
mod process;
mod questions;
mod reload;
mod remote;
mod restart;
mod results;
mod session;
mod shutdown;
mod stateless;
mod supervise;
mod tasks;
mod timers;
mod tool_list;
mod waiting;

#[cfg(test)]
mod tests;

pub use health::Health;
pub use isolation::Bridges;
pub use job::{Job, JobDone};

use call::Call;
use lists::Seen;
use metrics::Metrics;
use parked::Left;
use process::Process;
use questions::Questions;
use reload::Reload;
use restart::Restart;
use session::Session;
use shutdown::Shutdown;
use tasks::Tasks;
use timers::{Due, Timers};
use tool_list::ToolList;
use waiting::Waiting;

/// What the bridge is told at its making.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name, version and instructions that hosts see.
    pub server: ServerInfo,
    /// From the start of a tool process to its complete handshake.
    pub start_timeout: Duration,
    /// How long the build before a start may take; absent if nothing has to be built.
    pub build_timeout: Option<Duration>,
    /// How long one call may take.
    pub call_timeout: Duration,
    /// What running calls get when the host is gone.
    pub grace: Duration,
    /// Bound of a message and of an inflated payload, in bytes.
    pub message_max: usize,
    /// The command line of the tool process, for error texts.
    pub command: String,
    /// How changed files come into effect.
    pub reload: ReloadMode,
    /// The old process ends before the new one starts: for tools that own a port or a device.
    pub exclusive: bool,
    /// What the calls of a replaced process get to finish.
    pub drain: Duration,
    /// How long a host, and the person in front of it, may take to answer a question.
    pub input_timeout: Duration,
    /// How many tasks are kept.
    pub tasks_max: usize,
    /// What a cancelled call gets to end by itself.
    pub cancel_grace: Duration,
    /// Nobody would notice that the tool process stays down: it is tried again and again.
    pub is_unattended: bool,
    /// Each session that lasts has a tool process of its own.
    pub isolate: bool,
    /// Signs what hosts bring back to us.
    pub state_key: Key,
    /// Tells this life of the bridge from all others; of the system's randomness.
    pub instance: u64,
    /// Seed of the restart jitter.
    pub seed: u64,
}

/// How changed files come into effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReloadMode {
    /// A new process is proven beside the old one, and takes over when it serves.
    #[default]
    Safe,
    /// The old process is killed, whatever it does.
    Immediate,
    /// The process is asked to reload in place, if it can.
    Graceful,
}

/// What happened.
#[derive(Debug)]
pub enum Input<'a> {
    /// A host is there.
    SessionOpened {
        /// Its name from now on.
        session: SessionId,
        /// It is more than one request, so that it may have a tool process of its own.
        lasts: bool,
        /// Who it is, as far as it had to prove that: what one leaves behind (a parked call, a
        /// task) no other may take up. Empty where nobody has to prove anything.
        principal: Box<str>,
    },
    /// A host said something.
    Host {
        /// Where its answer goes.
        route: Route,
        /// What it said.
        message: HostMessage<'a>,
    },
    /// A session is over: nobody wants the answers to its requests any more.
    SessionClosed(SessionId),
    /// The only host there can be is gone (end of standard input, or standard output broke): what
    /// it asked for may still finish, and then we end.
    HostLeft(SessionId),
    /// A tool process was built and runs now; not said where nothing has to be built.
    ToolLaunched(Generation),
    /// A tool process connected to its socket.
    ToolConnected(Generation),
    /// A tool process said something.
    Tool {
        /// Which one.
        generation: Generation,
        /// What it said.
        received: Received<'a>,
    },
    /// Nothing more can be read from a tool process.
    ToolDisconnected {
        /// Which one.
        generation: Generation,
        /// What it did, for a person: "closed its connection", "broke the rules of the wire: …".
        reason: String,
    },
    /// A tool process ended and all that it wrote has been handed in, or it could not be started.
    ToolExited {
        /// Which one.
        generation: Generation,
        /// How, for a person: "exited with status 3", "was killed by signal 9 (SIGKILL)",
        /// "could not be started: No such file or directory", "could not be built: `go build`
        /// exited with status 1".
        how: String,
        /// The last lines of its stderr, joined by newlines; empty if there were none.
        stderr: String,
    },
    /// A worker finished a job.
    JobDone(JobDone),
    /// The tool process shall run what its files say now.
    Reload {
        /// Why, for a person: "server.py changed".
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
        /// What it means for its exchange.
        sort: Sort,
    },
    /// The request of this exchange was cancelled: it gets no answer, and nothing else any more.
    Unanswered(Route),
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
    Job(Box<Job>),
    /// Tell the person on stderr.
    Log(Level, String),
    /// Flush what hosts still have to get, then end with success.
    Exit,
}

/// What a message to a host means for the exchange that it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The answer to its request, or to its batch: nothing more comes.
    Answer {
        /// The code, if it is an error.
        error: Option<i32>,
    },
    /// A notification, or a request of ours: more may come.
    Message,
}

/// The queue that [`Bridge::handle`] pushes to.
pub type Outputs = Vec<Output>;

/// The state machine in the middle.
#[derive(Debug)]
pub struct Bridge {
    config: Config,
    /// Our name and version as results of the modern era hold them.
    server_json: Arc<str>,
    sessions: BTreeMap<SessionId, Session>,
    /// Every tool process that has not ended.
    processes: BTreeMap<Generation, Process>,
    /// The one that new calls go to.
    serving: Option<Generation>,
    restart: Restart,
    reload: Reload,
    /// In the order of their arrival.
    calls: BTreeMap<CallId, Call>,
    timers: Timers,
    waiting: Waiting,
    questions: Questions,
    left: Left,
    tasks: Tasks,
    metrics: Metrics,
    /// The time since 1970, as far as we were told.
    wall: Duration,
    seen: Seen,
    shutdown: Option<Shutdown>,
    /// The state of the tool list while nothing serves; the next process takes it over.
    last_tool_list: Option<ToolList>,
    last_served: Option<Generation>,
    last_generation: u64,
    /// Calls, asks and questions are numbered together. The open questions are in the order of their
    /// deadlines because all are given one and the same time.
    last_id: u64,
    /// [`Output::Exit`] was given.
    exited: bool,
}

impl Bridge {
    /// A bridge without hosts; the first tool process is started by the first input.
    pub fn new(config: Config) -> Self {
        Self {
            restart: Restart::new(config.seed, config.is_unattended),
            reload: Reload::default(),
            server_json: config.server.to_json().into(),
            config,
            sessions: BTreeMap::new(),
            processes: BTreeMap::new(),
            serving: None,
            calls: BTreeMap::new(),
            timers: Timers::default(),
            waiting: Waiting::default(),
            questions: Questions::default(),
            left: Left::default(),
            tasks: Tasks::default(),
            metrics: Metrics::default(),
            wall: Duration::ZERO,
            seen: Seen::default(),
            shutdown: None,
            last_tool_list: None,
            last_served: None,
            last_generation: 0,
            last_id: 0,
            exited: false,
        }
    }

    /// Takes one input, changes state, and pushes what is to be done.
    pub fn handle(&mut self, input: Input<'_>, now: Instant, out: &mut Outputs) {
        match input {
            Input::SessionOpened { session, principal, .. } => {
                self.sessions.insert(session, Session::new(principal));
                if self.restart.is_first() {
                    self.start(now, out);
                }
            }
            Input::Host { route, message } => self.host_said(route, message, now, out),
            Input::SessionClosed(session) => self.session_closed(session, now, out),
            Input::HostLeft(session) => self.host_left(session, now, out),
            Input::ToolLaunched(generation) => self.tool_launched(generation, now),
            Input::ToolConnected(generation) => self.tool_connected(generation, out),
            Input::Tool { generation, received } => self.tool_said(generation, received, now, out),
            Input::ToolDisconnected { generation, reason } => {
                self.tool_disconnected(generation, reason, now);
            }
            Input::ToolExited { generation, how, stderr } => {
                self.tool_exited(generation, &how, &stderr, now, out);
            }
            Input::JobDone(done) => self.job_done(done, now, out),
            Input::Reload { cause } => self.reload(cause, now, out),
            Input::Stop { reason } => self.stop(&reason, now, out),
            Input::Tick => {}
        }
        self.run_due(now, out);
        self.pump(now, out);
        self.shut_down(now, out);
    }

    /// What the clock on the wall says: the time since 1970. Tasks tell it to hosts, and states that
    /// travel expire by it.
    pub fn set_wall_clock(&mut self, wall: Duration) {
        self.wall = wall;
    }

    /// When to hand in [`Input::Tick`] if nothing else happens; `None`: never.
    pub fn deadline(&self) -> Option<Instant> {
        self.timers
            .deadline()
            .into_iter()
            .chain(self.processes.values().filter_map(Process::deadline))
            .chain(self.restart.deadline())
            .chain(self.questions.deadline())
            .chain(self.left.deadline())
            .chain(self.tasks.deadline())
            .chain(self.shutdown.as_ref().and_then(Shutdown::deadline))
            .min()
    }

    /// The input schema of a tool as hosts of the modern era see it, if a process serves that has
    /// the tool.
    pub fn input_schema(&self, tool: &str) -> Option<&str> {
        let process = self.processes.get(&self.serving?)?;
        process.tool(tool).map(|tool| tool.input_schema.as_str(crate::mcp::revision::MODERN))
    }

    /// Whether hosts should be read: not while too much waits for the tool process. Answers to
    /// questions of the tool process must get through, so they keep it open; calls beyond the
    /// bound are then refused.
    pub fn reads_host(&self) -> bool {
        !self.waiting.is_full() || !self.questions.is_empty()
    }

    /// How results for a host of this revision are spelled.
    fn dialect(&self, revision: Revision) -> Dialect<'_> {
        Dialect { revision, server_json: &self.server_json }
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Gives up what has waited too long.
    fn run_due(&mut self, now: Instant, out: &mut Outputs) {
        while let Some((id, due)) = self.timers.due(now) {
            match due {
                Due::Answer => self.call_timed_out(id, now, out),
                Due::Gathered => self.park(id, out),
                Due::Look => self.look(id, now, out),
            }
        }
        let due: Vec<(Generation, AskId)> = self
            .processes
            .values()
            .flat_map(|process| {
                process.asks.iter().map(move |(&ask, entry)| (process.generation, ask, entry))
            })
            .filter(|(_, _, entry)| entry.until.is_some_and(|until| until <= now))
            .map(|(generation, ask, _)| (generation, ask))
            .collect();
        for (generation, ask) in due {
            self.ask_timed_out(generation, ask, now, out);
        }
        self.questions_due(now, out);
        self.left.drop_due(now);
        self.tasks_due(now, out);
        self.processes_due(now, out);
        self.stuck_due(now, out);
        if self.restart.is_due(now) {
            self.start(now, out);
        }
    }
}

/// A line for the person on stderr.
fn log(out: &mut Outputs, level: Level, text: impl Into<String>) {
    out.push(Output::Log(level, text.into()));
}

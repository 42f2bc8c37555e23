//! The loop: one thread that owns every descriptor, and one fixed order of things in each turn.
//!
//! 1. Wait: not at all while something that may be read is known to be readable, else until the
//!    next deadline, and without one for as long as nothing happens.
//! 2. Keep the news. 3. Read each source, its share at most, and tell the bridge what came.
//! 4. Carry out what the bridge wants. 5. Write what fits.
//!
//! An answer is thus written in the turn that its request was read in.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant, SystemTime};

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};

use super::console::Console;
use super::descendants::Descendants;
use super::host::Host;
use super::http::Http;
use super::pool::{Pool, Work};
use super::service::{Condition, Service};
use super::signals::{Signal, Signals};
use super::sys;
use super::tool_process::ToolProcess;
use super::tool_socket;
use super::vitals::Vitals;
use super::watch::Watcher;
use super::{Error, Settings};
use crate::bridge::{Bridges, Input, Output, Outputs};
use crate::ids::{Generation, SessionId};
use crate::limits::{GRACE, HOST_QUEUE_HIGH, LAST_FLUSH, REAP_WAIT, TOOL_QUEUE_HIGH};
use crate::log::Level;

mod http;
mod processes;
mod reading;

const HOST_INPUT: Token = Token(0);
const HOST_OUTPUT: Token = Token(1);
const CONSOLE: Token = Token(2);
const SIGNALS: Token = Token(3);
const RESULTS: Token = Token(4);
const FILES: Token = Token(5);
/// From here on: the parts of tool processes.
const FIRST_TOOL: usize = 6;
/// From here on, far behind those: clients over HTTP.
const FIRST_CLIENT: usize = super::http::FIRST_TOKEN;

/// The host on standard input and output.
const STDIO: SessionId = SessionId(0);

/// Everything that lives.
pub(super) struct EventLoop {
    settings: Settings,
    poll: Poll,
    bridge: Bridges,
    /// What the bridge wants done, in its order.
    outputs: Outputs,
    /// The host on standard input and output; absent where hosts reach us over HTTP.
    host: Option<Host>,
    /// Present where they do.
    http: Option<Http>,
    /// Those that were started and have not ended.
    processes: Vec<ToolProcess>,
    /// Those that could not be started; the bridge learns it with the next turn.
    failed_starts: VecDeque<(Generation, String)>,
    pool: Pool,
    signals: Signals,
    watcher: Option<Watcher>,
    console: Console,
    descendants: Descendants,
    service: Service,
    vitals: Vitals,
    /// HUP means to read files again, not that a terminal is gone and we with it.
    rereads: bool,
    /// Too much waits for the host: tool processes are not read.
    host_is_slow: bool,
    /// Too much waits for a tool process: the host is not read.
    tool_is_slow: bool,
    /// When the host went away or we were asked to end.
    ending_since: Option<Instant>,
    /// The bridge is done; when to stop waiting for a host that does not take its last messages.
    ends_by: Option<Instant>,
    /// The time of this turn.
    now: Instant,
}

impl EventLoop {
    /// Takes over the process: its signals, its standard streams, its orphans.
    pub(super) fn new(mut settings: Settings) -> Result<Self, Error> {
        if let Some(path) = &settings.socket {
            tool_socket::try_path(path).map_err(|error| Error::new("--socket", error))?;
        }
        // Before any thread is started: they inherit the mask.
        let signals = Signals::block().map_err(|error| Error::new("cannot listen for signals", error))?;
        let descendants = Descendants::from_now_on();
        sys::adopt_orphans();
        let waits = |error| Error::new("cannot set up the event loop", error);
        let poll = Poll::new().map_err(waits)?;
        let registry = poll.registry();
        registry.register(&mut SourceFd(&signals.fd()), SIGNALS, Interest::READABLE).map_err(waits)?;
        let waker = Waker::new(registry, RESULTS).map_err(waits)?;
        let (service, trouble) = Service::of_environment(Instant::now());
        settings.warnings.extend(trouble);
        let max = settings.bridge.message_max;
        let now = Instant::now();
        let (host, http) = match &mut settings.http {
            None => {
                let (stdin, stdout) = (io::stdin(), io::stdout());
                let given = [stdin.as_fd(), stdout.as_fd()];
                let host = Host::open(STDIO, max, given, registry, [HOST_INPUT, HOST_OUTPUT])
                    .map_err(|error| Error::new("cannot use standard input and output", error))?;
                (Some(host), None)
            }
            Some(http) => {
                settings.warnings.extend(super::http::make_room(http));
                let http =
                    Http::open(http, registry, now).map_err(|error| Error::new("cannot listen", error))?;
                (None, Some(http))
            }
        };
        let mut event_loop = Self {
            bridge: Bridges::new(settings.bridge.clone()),
            outputs: Outputs::new(),
            host,
            http,
            processes: Vec::new(),
            failed_starts: VecDeque::new(),
            pool: Pool::new(waker),
            signals,
            watcher: None,
            console: Console::open(settings.log_level, settings.log_format, CONSOLE),
            descendants,
            service,
            vitals: Vitals::begin(now),
            rereads: settings.http.is_some() && !io::stdin().is_terminal(),
            host_is_slow: false,
            tool_is_slow: false,
            ending_since: None,
            ends_by: None,
            now,
            poll,
            settings,
        };
        for warning in std::mem::take(&mut event_loop.settings.warnings) {
            event_loop.console.log(Level::Warning, &warning);
        }
        event_loop.watch_files();
        Ok(event_loop)
    }

    /// Serves until the bridge is done.
    pub(super) fn run(mut self) -> Result<(), Error> {
        self.tell_time();
        // The first session has the tool process started. Over HTTP the clients have theirs, but a
        // process that is up already answers the first of them sooner.
        self.hand_in(Input::SessionOpened { session: STDIO, lasts: false, principal: "".into() });
        if let Some(http) = &self.http {
            http.announce();
            self.hand_in(Input::SessionClosed(STDIO));
        }
        self.act();
        let mut events = Events::with_capacity(64);
        while !self.is_done() {
            let timeout = self.timeout();
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    self.end();
                    return Err(Error::new("cannot wait for events", error));
                }
                // An interrupted poll brought nothing.
                polled => self.turn(&events, polled.is_ok()),
            }
        }
        self.end();
        Ok(())
    }

    /// One turn, after the wait.
    fn turn(&mut self, events: &Events, has_events: bool) {
        self.now = Instant::now();
        let wall = self.tell_time();
        if has_events {
            for event in events {
                self.note(event);
            }
        }
        if self.ends_by.is_none() {
            self.read_host();
            self.serve_http(wall);
            for index in 0..self.processes.len() {
                self.read_tool(index);
            }
            self.take_results();
            self.take_file_changes();
            while let Some((generation, how)) = self.failed_starts.pop_front() {
                self.hand_in(Input::ToolExited { generation, how, stderr: String::new() });
            }
            if self.bridge.deadline().is_some_and(|deadline| deadline <= self.now) {
                self.hand_in(Input::Tick);
            }
        }
        self.act();
    }

    /// Sets the bridge's clock on the wall. It may jump, so it is looked at in every turn.
    fn tell_time(&mut self) -> Duration {
        // A clock that stands before 1970 says nothing.
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.bridge.set_wall_clock(wall);
        wall
    }

    /// Gives the bridge something to decide about.
    fn hand_in(&mut self, input: Input<'_>) {
        if matches!(input, Input::Stop { .. } | Input::HostLeft(_)) {
            self.ending_since.get_or_insert(self.now);
        }
        self.bridge.handle(input, self.now, &mut self.outputs);
    }

    /// How long nothing can happen by itself.
    fn timeout(&self) -> Option<Duration> {
        if let Some(end) = self.ends_by {
            // Nothing is worked on any more but what the host takes.
            return Some(end.saturating_duration_since(Instant::now()));
        }
        let is_busy = self.host.as_ref().is_some_and(|host| host.is_readable() && self.reads_host(host))
            || self.http.as_ref().is_some_and(|http| http.is_busy(self.takes_requests()))
            || self.processes.iter().any(|tool| {
                let is_readable = tool.connection.as_ref().is_some_and(|it| it.ready.is_readable());
                is_readable && self.reads_tools() || tool.has_printed()
            })
            || !self.failed_starts.is_empty()
            || self.watcher.as_ref().is_some_and(Watcher::is_busy);
        if is_busy {
            return Some(Duration::ZERO);
        }
        let files = self.watcher.as_ref().and_then(Watcher::deadline);
        let clients = self.http.as_ref().and_then(Http::deadline);
        let deadlines =
            [self.bridge.deadline(), files, clients, self.console.deadline(), self.service.deadline()];
        let next = deadlines.into_iter().flatten().min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// A host that is gone is read in any case: what it left is little, and behind it is the news
    /// that it is gone.
    fn reads_host(&self, host: &Host) -> bool {
        let has_room = !self.host_is_slow && !self.tool_is_slow && !self.pool.is_full();
        let wants_more = has_room && self.bridge.reads_host() || host.ready.is_closed();
        self.ends_by.is_none() && wants_more
    }

    fn reads_tools(&self) -> bool {
        self.ends_by.is_none() && !self.host_is_slow && !self.pool.is_full()
    }

    /// Keeps what the poll said; what is rare is dealt with at once.
    fn note(&mut self, event: &Event) {
        match event.token() {
            HOST_INPUT => {
                if let Some(host) = &mut self.host {
                    host.ready.note(event);
                }
            }
            HOST_OUTPUT => {
                if let Some(host) = &mut self.host {
                    host.note_room();
                }
            }
            CONSOLE => self.console.note_room(),
            // Looked for in every turn.
            RESULTS => {}
            SIGNALS => self.take_signals(),
            FILES => {
                if let Some(watcher) = &mut self.watcher {
                    watcher.read(self.now);
                }
            }
            token if token.0 >= FIRST_CLIENT => {
                if let Some(http) = &mut self.http {
                    http.note(event);
                }
            }
            token => self.note_tool(token, event),
        }
    }

    fn take_signals(&mut self) {
        for signal in self.signals.take() {
            match signal {
                Signal::Stop(name) => self.stop(name),
                Signal::HangUp if self.rereads => self.reread(),
                Signal::HangUp => self.stop("SIGHUP"),
                Signal::Restart => self.hand_in(Input::Reload { cause: "SIGUSR1 came".into() }),
                Signal::Child => self.reap(),
            }
        }
    }

    fn stop(&mut self, signal: &str) {
        if let Some(http) = &mut self.http {
            http.stop();
        }
        self.hand_in(Input::Stop { reason: signal.into() });
    }

    /// Reads the files again that clients are judged and answered by.
    fn reread(&mut self) {
        self.service.reloads_at_once();
        if let Some(http) = &mut self.http {
            http.reread(self.now);
        }
        self.console.log(Level::Info, "SIGHUP came: certificates and keys were looked at again");
    }

    /// Does what the bridge wants and writes what fits. A host that is found to be gone on the way
    /// is something for the bridge again.
    fn act(&mut self) {
        loop {
            self.carry_out();
            let registry = self.poll.registry();
            for connection in self.processes.iter_mut().filter_map(|tool| tool.connection.as_mut()) {
                connection.flush(registry);
            }
            if let Some(host) = &mut self.host {
                host.flush(registry);
                if host.closes_now() {
                    self.hand_in(Input::HostLeft(STDIO));
                }
            }
            self.flush_http();
            if self.outputs.is_empty() {
                break;
            }
        }
        if let Some(trouble) = self.host.as_mut().and_then(Host::take_trouble) {
            self.console.log(Level::Warning, &trouble);
        }
        let bridge = &self.bridge;
        self.service.tell(self.now, || Condition { health: bridge.health(), reloads: bridge.reloads() });
        self.console.report(self.now);
        self.console.flush(self.poll.registry());
        self.host_is_slow = is_slow(self.host_is_slow, self.waits_for_host(), HOST_QUEUE_HIGH);
        let connections = self.processes.iter().filter_map(|tool| tool.connection.as_ref());
        let waiting = connections.map(|connection| connection.waiting()).max().unwrap_or(0);
        self.tool_is_slow = is_slow(self.tool_is_slow, waiting, TOOL_QUEUE_HIGH);
    }

    fn carry_out(&mut self) {
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                Output::Host { route, message, sort } => match &mut self.host {
                    Some(host) => host.send(message),
                    None => self.send_over_http(route, message, sort),
                },
                Output::Unanswered(route) => {
                    self.with_http(|http, behind, _| http.server.unanswered(route, behind));
                }
                Output::Tool { generation, frame } => {
                    if let Some(connection) =
                        self.tool_process(generation).and_then(|tool| tool.connection.as_mut())
                    {
                        connection.send(frame);
                    }
                }
                Output::Start(generation) => self.start(generation),
                Output::Kill { generation, now } => {
                    if let Some(tool) = self.tool_process(generation) {
                        tool.kill(if now { libc::SIGKILL } else { libc::SIGTERM });
                    }
                }
                Output::Job(job) => self.pool.submit(Work::Bridge(job)),
                Output::Log(level, text) => self.console.log(level, &text),
                Output::Exit => {
                    self.with_http(|http, behind, _| {
                        http.stop();
                        http.server.finish(behind);
                    });
                    self.ends_by.get_or_insert(self.last_flush());
                }
            }
        }
        // Its room is used again, unless a client that is gone has brought more.
        if self.outputs.is_empty() {
            self.outputs = outputs;
        }
    }

    /// Until when the host may take its last messages. It could take them all along while running
    /// calls had their grace, so that is not added.
    fn last_flush(&self) -> Instant {
        let since = self.ending_since.unwrap_or(self.now);
        (since + GRACE).max(self.now + LAST_FLUSH)
    }

    /// The bridge is done, and the host has what it shall have or does not take it.
    fn is_done(&self) -> bool {
        self.ends_by.is_some_and(|end| {
            end <= self.now || self.waits_for_host() == 0 && self.http.as_ref().is_none_or(Http::is_flushed)
        })
    }

    /// Bytes that the host still has to get. What waits for a client over HTTP holds nobody up.
    fn waits_for_host(&self) -> usize {
        self.host.as_ref().map_or(0, Host::waiting)
    }

    /// Leaves nothing behind: no process, no socket. The few milliseconds until the killed are
    /// gone are waited for, since whoever waits for us may look.
    fn end(&mut self) {
        for mut tool in self.processes.drain(..) {
            tool.kill(libc::SIGKILL);
        }
        let deadline = Instant::now() + REAP_WAIT;
        let mut events = Events::with_capacity(8);
        while self.descendants.kill() {
            self.signals.take();
            while sys::peek_ended(None).is_some_and(|ended| sys::reap(ended.pid)) {}
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            // SIGCHLD ends the wait.
            let _ = self.poll.poll(&mut events, Some(left.min(REAP_WAIT / 10)));
        }
    }
}

/// Slow from `high` on, until less than half of it waits.
const fn is_slow(was_slow: bool, waiting: usize, high: usize) -> bool {
    waiting > high || was_slow && waiting >= high / 2
}

//! A tool process for each session that lasts, where hosts must not share one (`--isolate session`).
//!
//! Each such session has a bridge of its own, and with it a process, a tool list and tasks of its
//! own; all else goes to the one that all share. From outside they are one bridge.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::ids::{Generation, SessionId};
use crate::metrics::Page;

use super::{Bridge, Config, Health, Input, Output, Outputs};

/// One bridge for all, and one for each isolated session.
#[derive(Debug)]
pub struct Bridges {
    shared: Bridge,
    own: BTreeMap<SessionId, Bridge>,
    /// Whose process each is; those of the shared bridge are not in here.
    owners: BTreeMap<Generation, SessionId>,
    config: Config,
    wall: Duration,
    /// The shared bridge is done; the others are waited for.
    exits: bool,
}

impl Bridges {
    /// No hosts yet.
    pub fn new(config: Config) -> Self {
        Self {
            shared: Bridge::new(config.clone()),
            own: BTreeMap::new(),
            owners: BTreeMap::new(),
            config,
            wall: Duration::ZERO,
            exits: false,
        }
    }

    /// As [`Bridge::handle`].
    pub fn handle(&mut self, input: Input<'_>, now: Instant, out: &mut Outputs) {
        if !self.config.isolate {
            return self.shared.handle(input, now, out);
        }
        let whose = match &input {
            Input::SessionOpened { session, lasts: true, .. } => {
                self.isolate(*session);
                Some(*session)
            }
            Input::SessionOpened { session, .. }
            | Input::SessionClosed(session)
            | Input::HostLeft(session) => Some(*session),
            Input::Host { route, .. } => Some(route.session),
            Input::ToolLaunched(generation)
            | Input::ToolConnected(generation)
            | Input::Tool { generation, .. }
            | Input::ToolDisconnected { generation, .. }
            | Input::ToolExited { generation, .. } => self.owners.get(generation).copied(),
            Input::JobDone(done) => self.owners.get(&done.generation).copied(),
            Input::Reload { cause } => {
                self.each(|| Input::Reload { cause: cause.clone() }, now, out);
                None
            }
            Input::Stop { reason } => {
                self.each(|| Input::Stop { reason: reason.clone() }, now, out);
                None
            }
            Input::Tick => {
                self.each(|| Input::Tick, now, out);
                None
            }
        };
        match whose.filter(|session| self.own.contains_key(session)) {
            Some(session) => {
                let ends = matches!(input, Input::SessionClosed(_));
                self.hand_to(session, input, now, out);
                if ends {
                    let reason = "its session is over".to_owned();
                    self.hand_to(session, Input::Stop { reason }, now, out);
                }
            }
            None => self.hand_to_shared(input, now, out),
        }
        if self.exits && self.own.is_empty() {
            self.exits = false;
            out.push(Output::Exit);
        }
    }

    /// Makes a bridge for a session.
    fn isolate(&mut self, session: SessionId) {
        // A task of one must not have the name that one of another has.
        let instance = self.config.instance.wrapping_add(session.0);
        let mut bridge = Bridge::new(Config { instance, ..self.config.clone() });
        bridge.set_wall_clock(self.wall);
        self.own.insert(session, bridge);
    }

    /// Gives every isolated session the same.
    fn each<'i>(&mut self, input: impl Fn() -> Input<'i>, now: Instant, out: &mut Outputs) {
        let sessions: Vec<SessionId> = self.own.keys().copied().collect();
        for session in sessions {
            let is_idle_tick = matches!(input(), Input::Tick)
                && self.own.get(&session).is_some_and(|own| own.deadline().is_none_or(|at| at > now));
            if !is_idle_tick {
                self.hand_to(session, input(), now, out);
            }
        }
    }

    fn hand_to(&mut self, session: SessionId, input: Input<'_>, now: Instant, out: &mut Outputs) {
        let Some(own) = self.own.get_mut(&session) else { return };
        if let Input::ToolExited { generation, .. } = &input {
            self.owners.remove(generation);
        }
        // All are numbered together, so that what comes late for one is nothing to another, and counted
        // together.
        (own.last_generation, own.last_id) = (self.shared.last_generation, self.shared.last_id);
        std::mem::swap(&mut own.metrics, &mut self.shared.metrics);
        let mut outputs = Outputs::new();
        own.handle(input, now, &mut outputs);
        std::mem::swap(&mut own.metrics, &mut self.shared.metrics);
        (self.shared.last_generation, self.shared.last_id) = (own.last_generation, own.last_id);
        for output in outputs {
            match output {
                // Its processes have ended.
                Output::Exit => drop(self.own.remove(&session)),
                Output::Start(generation) => {
                    self.owners.insert(generation, session);
                    out.push(output);
                }
                _ => out.push(output),
            }
        }
    }

    fn hand_to_shared(&mut self, input: Input<'_>, now: Instant, out: &mut Outputs) {
        let from = out.len();
        self.shared.handle(input, now, out);
        let exit = out.iter().skip(from).position(|output| matches!(output, Output::Exit));
        if let Some(at) = exit
            && !self.own.is_empty()
        {
            out.remove(from + at);
            self.exits = true;
        }
    }

    /// As [`Bridge::set_wall_clock`].
    pub fn set_wall_clock(&mut self, wall: Duration) {
        self.wall = wall;
        self.shared.set_wall_clock(wall);
        self.own.values_mut().for_each(|own| own.set_wall_clock(wall));
    }

    /// As [`Bridge::deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        self.own.values().filter_map(Bridge::deadline).chain(self.shared.deadline()).min()
    }

    /// As [`Bridge::reads_host`]. One isolated session does not hold up the others.
    pub fn reads_host(&self) -> bool {
        self.shared.reads_host()
    }

    /// As [`Bridge::input_schema`], in the list that all share.
    pub fn input_schema(&self, tool: &str) -> Option<&str> {
        self.shared.input_schema(tool)
    }

    /// As [`Bridge::health`], of the process that all share.
    pub fn health(&self) -> Health {
        self.shared.health()
    }

    /// As [`Bridge::reloads`], of the process that all share.
    pub fn reloads(&self) -> bool {
        self.shared.reloads()
    }

    /// As [`Bridge::write_metrics`].
    pub fn write_metrics(&self, page: &mut Page<'_>) {
        self.shared.write_metrics(self.own.values(), page);
    }
}

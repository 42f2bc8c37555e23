//! The life of tool processes: their start, their end, and the changed files that call for another.

use std::io;

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Interest, Token};

use super::{EventLoop, FILES, FIRST_TOOL};
use crate::bridge::Input;
use crate::ids::Generation;
use crate::limits::EXIT_DRAIN_MAX;
use crate::log::Level;
use crate::os::Settings;
use crate::os::build::Built;
use crate::os::child;
use crate::os::sys::{self, Ended};
use crate::os::tool_process::{Part, ToolProcess};
use crate::os::watch::Watcher;

impl EventLoop {
    pub(super) fn tool_process(&mut self, generation: Generation) -> Option<&mut ToolProcess> {
        self.processes.iter_mut().find(|tool| tool.generation == generation)
    }

    /// Starts a tool process, or its build if it has one.
    pub(super) fn start(&mut self, generation: Generation) {
        if let Err(how) = self.try_start(generation, None) {
            self.failed_starts.push_back((generation, how));
        }
    }

    fn try_start(&mut self, generation: Generation, built: Option<Built>) -> Result<(), String> {
        let Settings { launch, socket, bridge, .. } = &self.settings;
        let (registry, max) = (self.poll.registry(), bridge.message_max);
        let could_not = |done: &str, error: io::Error| format!("could not be {done}: {error}");
        let variables = launch.variables().map_err(|error| could_not("started", error))?;
        let tool = match &launch.build {
            Some(build) if built.is_none() => {
                self.console.log(Level::Info, &format!("building: {}", build.shown));
                ToolProcess::build(build, &variables, generation, self.now)
                    .and_then(|tool| tool.register(registry, FIRST_TOOL))
                    .map_err(|error| could_not("built", error))?
            }
            _ => ToolProcess::start(launch, built, &variables, socket.as_deref(), generation, max)
                .and_then(|tool| tool.register(registry, FIRST_TOOL))
                .map_err(|error| could_not("started", error))?,
        };
        // Of a build and its program only one has to say it.
        if tool.building.is_some() || launch.build.is_none() {
            for warning in &variables.warnings {
                self.console.log(Level::Warning, warning);
            }
        }
        self.processes.push(tool);
        Ok(())
    }

    /// The program that was built takes the place of its build.
    fn launch(&mut self, generation: Generation, built: Built) {
        match self.try_start(generation, Some(built)) {
            Ok(()) => self.hand_in(Input::ToolLaunched(generation)),
            Err(how) => self.hand_in(Input::ToolExited { generation, how, stderr: String::new() }),
        }
    }

    pub(super) fn note_tool(&mut self, token: Token, event: &Event) {
        let Some((generation, part)) = Part::of(token, FIRST_TOOL) else { return };
        // One that has ended within this turn is not there any more.
        let Some(index) = self.processes.iter().position(|tool| tool.generation == generation) else {
            return;
        };
        self.processes[index].note(part, event);
        if part == Part::Socket {
            self.accept(index);
        }
    }

    /// Lets a tool process in if it knocks.
    fn accept(&mut self, index: usize) {
        let (tool, max) = (&mut self.processes[index], self.settings.bridge.message_max);
        if tool.accept(max, self.poll.registry(), FIRST_TOOL, &mut self.console) {
            let generation = tool.generation;
            self.hand_in(Input::ToolConnected(generation));
        }
    }

    /// Reaps all that ended. Of a tool process everything that it said is read before.
    pub(super) fn reap(&mut self) {
        while let Some(ended) = sys::peek_ended(None) {
            if let Some(index) = self.processes.iter().position(|tool| tool.pid == ended.pid) {
                self.tool_ended(index, ended);
            }
            if !sys::reap(ended.pid) {
                return;
            }
        }
    }

    fn tool_ended(&mut self, index: usize, ended: Ended) {
        // A build that we ended is followed by nothing, even if it was done already.
        let was_ended = self.processes[index].is_ending;
        // The leader is not reaped yet, so its group's id is nobody else's.
        self.processes[index].kill(libc::SIGKILL);
        // It may have connected, spoken and ended since the poll was asked last.
        self.accept(index);
        if let Some(connection) = &mut self.processes[index].connection {
            connection.ready.note_closed();
            self.read_connection(index, EXIT_DRAIN_MAX, true);
        }
        let mut tool = self.processes.remove(index);
        let stderr = tool.finish_printed(&mut self.console, self.now);
        let mut how = child::describe(ended.how);
        if let Some(building) = tool.building.take() {
            let took = building.took(self.now);
            match building.finish(ended.how) {
                Ok(built) if !was_ended => {
                    self.console.log(Level::Info, &took);
                    return self.launch(tool.generation, built);
                }
                Ok(_) => {}
                Err(problem) => how = problem,
            }
        }
        self.hand_in(Input::ToolExited { generation: tool.generation, how, stderr });
    }

    pub(super) fn watch_files(&mut self) {
        let Some(watch) = &self.settings.watch else { return };
        let watcher = Watcher::new(watch);
        if let Some(fd) = watcher.fd()
            && let Err(error) = self.poll.registry().register(&mut SourceFd(&fd), FILES, Interest::READABLE)
        {
            self.console.log(Level::Warning, &format!("changes of files go unnoticed: {error}"));
            return;
        }
        self.watcher = Some(watcher);
    }

    pub(super) fn take_file_changes(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        watcher.turn(self.now);
        while let Some((level, text)) = watcher.take_report() {
            self.console.log(level, &text);
        }
        if let Some(cause) = watcher.take_cause() {
            self.hand_in(Input::Reload { cause: format!("{cause} changed") });
        }
    }
}

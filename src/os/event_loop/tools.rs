//! The life of tool processes: their start, their end, and the changed files that call for another.

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Interest, Token};

use super::{EventLoop, FILES, FIRST_TOOL};
use crate::bridge::Input;
use crate::ids::Generation;
use crate::limits::EXIT_DRAIN_MAX;
use crate::log::Level;
use crate::os::Settings;
use crate::os::child;
use crate::os::sys::{self, Ended};
use crate::os::tool::{Part, Tool};
use crate::os::watch::Watcher;

impl EventLoop {
    pub(super) fn tool(&mut self, generation: Generation) -> Option<&mut Tool> {
        self.tools.iter_mut().find(|tool| tool.generation == generation)
    }

    pub(super) fn start(&mut self, generation: Generation) {
        let Settings { launch, socket, bridge, .. } = &self.settings;
        let registry = self.poll.registry();
        match Tool::start(launch, socket.as_deref(), generation, bridge.message_max, registry, FIRST_TOOL) {
            Ok(tool) => self.tools.push(tool),
            Err(error) => {
                self.failed_starts.push_back((generation, format!("could not be started: {error}")));
            }
        }
    }

    pub(super) fn note_tool(&mut self, token: Token, event: &Event) {
        let Some((generation, part)) = Part::of(token, FIRST_TOOL) else { return };
        // One that has ended within this turn is not there any more.
        let Some(tool) = self.tools.iter_mut().find(|tool| tool.generation == generation) else { return };
        tool.note(part, event);
        let max = self.settings.bridge.message_max;
        if part == Part::Socket && tool.accept(max, self.poll.registry(), FIRST_TOOL, &mut self.console) {
            self.tell(Input::ToolConnected(generation));
        }
    }

    /// Reaps all that ended. Of a tool process everything that it said is read before.
    pub(super) fn reap(&mut self) {
        while let Some(ended) = sys::peek_ended(None) {
            if let Some(index) = self.tools.iter().position(|tool| tool.pid == ended.pid) {
                self.tool_ended(index, ended);
            }
            if !sys::reap(ended.pid) {
                return;
            }
        }
    }

    fn tool_ended(&mut self, index: usize, ended: Ended) {
        // The leader is not reaped yet, so its group's id is nobody else's.
        self.tools[index].kill(libc::SIGKILL);
        if let Some(connection) = &mut self.tools[index].connection {
            connection.ready.note_closed();
            self.read_connection(index, EXIT_DRAIN_MAX, true);
        }
        let mut tool = self.tools.remove(index);
        let stderr = tool.finish_printed(&mut self.console, self.now);
        let how = child::describe(ended.how);
        self.tell(Input::ToolExited { generation: tool.generation, how, stderr });
    }

    pub(super) fn watch_files(&mut self) {
        let Some(watch) = &self.settings.watch else { return };
        let watched = Watcher::new(watch).and_then(|watcher| {
            self.poll.registry().register(&mut SourceFd(&watcher.fd()), FILES, Interest::READABLE)?;
            Ok(watcher)
        });
        match watched {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                let text = format!("changes of files go unnoticed: {}: {error}", watch.root.display());
                self.console.log(Level::Warning, &text);
            }
        }
    }

    pub(super) fn take_file_changes(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        watcher.walk(self.now);
        if let Some(trouble) = watcher.take_trouble() {
            self.console.log(Level::Warning, &trouble);
        }
        if let Some(cause) = watcher.due(self.now) {
            self.tell(Input::Reload { cause: format!("{cause} changed") });
        }
    }
}

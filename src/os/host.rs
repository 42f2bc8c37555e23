//! The host at the other end of our standard input and output.

use std::io;
use std::os::fd::AsFd as _;

use mio::{Interest, Registry, Token};

use super::ready::Ready;
use super::stdio::{Sink, Stdio};
use crate::front::json_lines::{self, JsonLines};
use crate::ids::SessionId;

/// Its two streams and what is known of them.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) session: SessionId,
    /// Absent once it is at its end.
    input: Option<Stdio>,
    /// Absent once it is broken.
    output: Option<Sink>,
    pub(super) lines: JsonLines,
    pub(super) ready: Ready,
    /// A worker has a line of it; those behind that wait, which keeps their order.
    pub(super) is_parsing: bool,
    /// Reading stopped before all lines that were read were handed out.
    pub(super) has_lines: bool,
    /// The bridge knows that it is gone.
    is_closed: bool,
}

/// What one read brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// So many bytes.
    Data(usize),
    /// Nothing for now.
    Blocked,
    /// Nothing any more.
    End,
}

impl Host {
    /// The host that started us.
    pub(super) fn open(
        session: SessionId,
        max: usize,
        registry: &Registry,
        input_token: Token,
        output_token: Token,
    ) -> io::Result<Self> {
        let mut input = Stdio::open(io::stdin().as_fd(), false)?;
        let output = Stdio::open(io::stdout().as_fd(), true)?;
        let is_watched = input.register(registry, input_token, Interest::READABLE)?;
        Ok(Self {
            session,
            input: Some(input),
            output: Some(Sink::new(output, output_token)),
            lines: JsonLines::new(max),
            ready: if is_watched { Ready::default() } else { Ready::READABLE },
            is_parsing: false,
            has_lines: false,
            is_closed: false,
        })
    }

    /// Whether there is something to do for a reader.
    pub(super) fn is_readable(&self) -> bool {
        !self.is_parsing && (self.has_lines || self.input.is_some() && self.ready.is_readable())
    }

    /// Reads once.
    pub(super) fn read(&mut self) -> Progress {
        let Some(input) = &self.input else { return Progress::End };
        match input.read(self.lines.space()) {
            Ok(got) if got.count > 0 => {
                if got.empty {
                    self.ready.short();
                }
                self.lines.advance(got.count);
                Progress::Data(got.count)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.ready.blocked();
                Progress::Blocked
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Progress::Data(0),
            // A terminal that hung up says EIO; whatever it is, nothing more will come.
            Ok(_) | Err(_) => Progress::End,
        }
    }

    /// Nothing more is read.
    pub(super) fn end_input(&mut self, registry: &Registry) {
        if let Some(input) = self.input.take() {
            input.deregister(registry);
        }
    }

    /// Whether the bridge has to be told now that the host is gone; true once.
    pub(super) fn closes_now(&mut self) -> bool {
        let closes = !self.is_closed && self.input.is_none() && !self.is_parsing && !self.has_lines;
        self.is_closed |= closes;
        closes
    }

    /// Queues a message. Nobody will get it if the host does not read any more.
    pub(super) fn send(&mut self, mut message: Vec<u8>) {
        if let Some(output) = &mut self.output {
            json_lines::end_line(&mut message);
            output.push(message);
        }
    }

    /// Bytes that the host still has to get.
    pub(super) fn waiting(&self) -> usize {
        self.output.as_ref().map_or(0, Sink::waiting)
    }

    /// The poll said that something can be written again.
    pub(super) fn note_room(&mut self) {
        if let Some(output) = &mut self.output {
            output.note_room();
        }
    }

    /// Writes what fits. A host that does not listen any more is gone altogether.
    pub(super) fn flush(&mut self, registry: &Registry) {
        if let Some(output) = &mut self.output
            && output.flush(registry).is_err()
        {
            self.output = None;
            self.has_lines = false;
            self.end_input(registry);
        }
    }
}

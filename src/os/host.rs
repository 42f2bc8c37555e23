//! The host at the other end of our standard input and output.

use std::io;
use std::os::fd::BorrowedFd;

use mio::{Interest, Registry, Token};

use super::ready::{Progress, Ready};
use super::stdio::{Sink, Stdio};
use crate::front::json_lines::{self, Arrived, JsonLines};
use crate::ids::SessionId;

/// Its two streams and what is known of them.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) session: SessionId,
    /// Absent once it is at its end.
    input: Option<Stdio>,
    /// Absent once it is broken.
    output: Option<Sink>,
    lines: JsonLines,
    pub(super) ready: Ready,
    /// A worker has a line of it; those behind that wait, which keeps their order.
    is_parsing: bool,
    /// Lines that were read may wait to be handed out.
    has_lines: bool,
    /// The bridge knows that it is gone.
    is_closed: bool,
    /// Why it is gone, when it did not just leave.
    trouble: Option<String>,
}

impl Host {
    /// A host that is read from and written to like this; the tokens belong to the two in the
    /// same order.
    pub(super) fn open(
        session: SessionId,
        max: usize,
        given: [BorrowedFd<'_>; 2],
        registry: &Registry,
        [input_token, output_token]: [Token; 2],
    ) -> io::Result<Self> {
        let mut input = Stdio::open(given[0], false)?;
        let output = Stdio::open(given[1], true)?;
        input.widen();
        output.widen();
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
            trouble: None,
        })
    }

    /// Whether there is something to do for a reader.
    pub(super) fn is_readable(&self) -> bool {
        !self.is_parsing && (self.has_lines || self.input.is_some() && self.ready.is_readable())
    }

    /// The next line that was read. One that is large is for a worker; there is none behind it
    /// until that is [done](Self::note_parsed).
    pub(super) fn next_line(&mut self) -> Option<Arrived<'_>> {
        if self.is_parsing {
            return None;
        }
        let arrived = self.lines.next();
        self.has_lines = arrived.is_some();
        self.is_parsing = matches!(arrived, Some(Arrived::Large(_)));
        arrived
    }

    /// The worker is done with the large line.
    pub(super) fn note_parsed(&mut self) {
        self.is_parsing = false;
    }

    /// Reads once. All lines that were read must have been handed out.
    pub(super) fn read(&mut self, registry: &Registry) -> Progress {
        let Some(input) = &self.input else { return Progress::End };
        match input.read(self.lines.space()) {
            Ok(got) if got.count > 0 => {
                if got.empty {
                    self.ready.short();
                }
                self.lines.advance(got.count);
                self.has_lines = true;
                return Progress::Data(got.count);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.ready.blocked();
                return Progress::Blocked;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Progress::Data(0),
            Ok(_) => {}
            // Whatever it is, nothing more will come.
            Err(error) => self.note_trouble("reading from", &error),
        }
        // Its last line may have no end.
        self.lines.finish();
        self.has_lines = true;
        self.end_input(registry);
        Progress::End
    }

    fn note_trouble(&mut self, doing: &str, error: &io::Error) {
        let has_left = matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
        // What a terminal that hung up says.
        if !has_left && error.raw_os_error() != Some(libc::EIO) {
            self.trouble = Some(format!("{doing} the host failed: {error}"));
        }
    }

    /// A sentence about why it is gone, if that is not the usual.
    pub(super) fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Nothing more is read.
    fn end_input(&mut self, registry: &Registry) {
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
            && let Err(error) = output.flush(registry)
        {
            self.note_trouble("writing to", &error);
            self.output = None;
            self.has_lines = false;
            self.end_input(registry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;

    use mio::Poll;

    use super::*;
    use crate::limits::LARGE_MIN;

    const TOKENS: [Token; 2] = [Token(0), Token(1)];

    fn host(input: BorrowedFd<'_>, output: BorrowedFd<'_>, poll: &Poll) -> Host {
        Host::open(SessionId(0), 1000, [input, output], poll.registry(), TOKENS).unwrap()
    }

    #[test]
    fn the_end_of_its_input_is_told_once_when_all_is_handed_out() {
        let poll = Poll::new().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        let (mut answers, output) = io::pipe().unwrap();
        let mut host = host(reader.as_fd(), output.as_fd(), &poll);
        drop(output);
        assert!(!host.is_readable());
        assert_eq!(host.read(poll.registry()), Progress::Blocked);
        writer.write_all(b"{}\n{}").unwrap();
        assert_eq!(host.read(poll.registry()), Progress::Data(5));
        assert!(host.next_line().is_some() && host.is_readable());
        assert!(host.next_line().is_none() && !host.is_readable());
        drop(writer);
        assert_eq!(host.read(poll.registry()), Progress::End);
        assert!(host.is_readable() && !host.closes_now(), "the last line has no end");
        assert!(host.next_line().is_some() && !host.closes_now());
        assert!(host.next_line().is_none());
        assert!(host.closes_now());
        assert!(!host.closes_now());
        // It may be waiting for answers all the same.
        host.send(b"{}".to_vec());
        host.flush(poll.registry());
        drop(host);
        let mut text = String::new();
        answers.read_to_string(&mut text).unwrap();
        assert_eq!(text, "{}\n");
    }

    #[test]
    fn nothing_is_handed_out_while_a_large_line_is_with_a_worker() {
        let poll = Poll::new().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        let mut host =
            Host::open(SessionId(0), 2 * LARGE_MIN, [reader.as_fd(); 2], poll.registry(), TOKENS).unwrap();
        let mut text = vec![b'x'; LARGE_MIN];
        text.extend_from_slice(b"\n{}\n");
        for piece in text.chunks(4096) {
            writer.write_all(piece).unwrap();
            assert_eq!(host.read(poll.registry()), Progress::Data(piece.len()));
        }
        assert!(matches!(host.next_line(), Some(Arrived::Large(_))));
        assert!(host.next_line().is_none() && !host.is_readable() && !host.closes_now());
        host.note_parsed();
        assert!(host.is_readable() && matches!(host.next_line(), Some(Arrived::Message(_))));
    }

    #[test]
    fn one_that_does_not_listen_is_gone_and_only_odd_ends_are_explained() {
        let poll = Poll::new().unwrap();
        let (reader, _writer) = io::pipe().unwrap();
        let (answers, output) = io::pipe().unwrap();
        let mut left = host(reader.as_fd(), output.as_fd(), &poll);
        drop(answers);
        left.send(b"{}".to_vec());
        left.flush(poll.registry());
        assert!(left.closes_now());
        assert_eq!((left.waiting(), left.take_trouble()), (0, None));

        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut odd = host(reader.as_fd(), full.as_fd(), &poll);
        odd.send(b"{}".to_vec());
        odd.flush(poll.registry());
        assert!(odd.closes_now());
        assert!(odd.take_trouble().unwrap().starts_with("writing to the host failed: "));
    }
}

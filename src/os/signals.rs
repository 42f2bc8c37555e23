//! Signals as one more thing to read in the loop, instead of handlers.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use super::sys;

/// What a signal means to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// TERM or INT (the name): end.
    Stop(&'static str),
    /// HUP: the terminal is gone, or files shall be read again.
    HangUp,
    /// A child ended.
    Child,
    /// USR1: start the tool process anew.
    Restart,
}

/// The signals that have arrived.
#[derive(Debug)]
pub(super) struct Signals {
    fd: OwnedFd,
}

/// Size of one `signalfd_siginfo`; its first four bytes are the signal's number.
const RECORD: usize = 128;

impl Signals {
    /// Blocks them for this thread and all that it will start.
    pub(super) fn block() -> io::Result<Self> {
        Ok(Self { fd: sys::signals()? })
    }

    /// For the poll.
    pub(super) fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Takes all that have arrived. Equal ones that arrived together may come as one.
    pub(super) fn take(&self) -> Vec<Signal> {
        let mut taken = Vec::new();
        let mut records = [0; RECORD * 8];
        loop {
            match sys::read(self.fd.as_fd(), &mut records) {
                Ok(count) => {
                    taken.extend(records[..count].chunks_exact(RECORD).filter_map(decode));
                    if count < records.len() {
                        return taken;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return taken,
            }
        }
    }
}

fn decode(record: &[u8]) -> Option<Signal> {
    let number = record.first_chunk::<4>().map(|bytes| i32::from_ne_bytes(*bytes))?;
    match number {
        libc::SIGTERM => Some(Signal::Stop("SIGTERM")),
        libc::SIGINT => Some(Signal::Stop("SIGINT")),
        libc::SIGHUP => Some(Signal::HangUp),
        libc::SIGCHLD => Some(Signal::Child),
        libc::SIGUSR1 => Some(Signal::Restart),
        _ => None,
    }
}

/// The name of a signal, for a person.
pub(super) fn name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_by_their_number() {
        let mut record = [0; RECORD];
        for (number, expected) in [
            (libc::SIGTERM, Some(Signal::Stop("SIGTERM"))),
            (libc::SIGCHLD, Some(Signal::Child)),
            (libc::SIGUSR1, Some(Signal::Restart)),
            (libc::SIGWINCH, None),
        ] {
            record[..4].copy_from_slice(&number.to_ne_bytes());
            assert_eq!(decode(&record), expected);
        }
    }
}

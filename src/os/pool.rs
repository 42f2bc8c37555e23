//! The worker threads, for what would hold the loop up. They never wait for anything but work.
//!
//! They are started by the first work there is: most bridges never need one. A worker can always
//! deliver its result, since the channel back has room for all the work that is under way, so
//! neither side can block the other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use mio::Waker;

use crate::bridge::{Job, JobDone};
use crate::front::http::slab::Key;
use crate::front::json_lines;
use crate::ids::SessionId;
use crate::limits::{JOBS_MAX, WORKERS};
use crate::mcp::request::HostMessage;

/// What a worker does.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "each is moved twice in its life, with a large payload behind it"
)]
pub(super) enum Work {
    /// Something that the bridge wants done.
    Bridge(Box<Job>),
    /// A long line of a host becomes a message.
    ParseLine(SessionId, Vec<u8>),
    /// A long body that came on this connection becomes one.
    ParseBody(Key, Vec<u8>),
}

/// What became of it.
#[derive(Debug)]
pub(super) enum Done {
    /// Of [`Work::Bridge`].
    Bridge(JobDone),
    /// Of [`Work::ParseLine`].
    Parsed(SessionId, HostMessage<'static>),
    /// Of [`Work::ParseBody`].
    ParsedBody(Key, HostMessage<'static>),
}

impl Work {
    fn run(self) -> Done {
        match self {
            Work::Bridge(job) => Done::Bridge(job.run()),
            Work::ParseLine(session, line) => Done::Parsed(session, json_lines::parse_owned(&line)),
            Work::ParseBody(connection, body) => Done::ParsedBody(connection, json_lines::parse_owned(&body)),
        }
    }
}

/// Results on their way to the loop. To send is to wake, so that nobody can forget it.
#[derive(Clone, Debug)]
struct Results {
    sender: Sender<Done>,
    waker: Arc<Waker>,
}

impl Results {
    fn send(&self, done: Done) {
        // Neither fails while the loop lives, and afterwards nobody is interested.
        let _ = self.sender.send(done);
        let _ = self.waker.wake();
    }
}

/// The workers and what they have to do.
#[derive(Debug)]
pub(super) struct Pool {
    work: Sender<Work>,
    /// Handed to each worker that is started.
    worker_side: (Receiver<Work>, Results),
    done: Receiver<Done>,
    /// Work that has not found room yet.
    backlog: VecDeque<Work>,
    /// Work that is with the workers, or whose result has not been taken.
    under_way: usize,
    threads: usize,
}

impl Pool {
    /// No thread is started yet.
    pub(super) fn new(waker: Waker) -> Self {
        let (work, work_receiver) = bounded(JOBS_MAX);
        let (sender, done) = bounded(JOBS_MAX);
        let results = Results { sender, waker: Arc::new(waker) };
        Self {
            work,
            worker_side: (work_receiver, results),
            done,
            backlog: VecDeque::new(),
            under_way: 0,
            threads: 0,
        }
    }

    /// Has it done when a worker is free.
    pub(super) fn submit(&mut self, work: Work) {
        self.backlog.push_back(work);
        self.hand_out();
    }

    /// Whether so much is under way that nothing more should be read that could add to it.
    pub(super) fn is_full(&self) -> bool {
        self.under_way >= JOBS_MAX
    }

    /// One result, if there is one.
    pub(super) fn take(&mut self) -> Option<Done> {
        if self.under_way == 0 {
            return None;
        }
        let done = self.done.try_recv().ok()?;
        self.under_way -= 1;
        self.hand_out();
        Some(done)
    }

    fn hand_out(&mut self) {
        while self.under_way < JOBS_MAX {
            let Some(work) = self.backlog.pop_front() else { return };
            self.under_way += 1;
            if self.threads < WORKERS.min(self.under_way) {
                self.start_worker();
            }
            if self.threads == 0 {
                // The system gives us no thread: slow is better than never.
                let done = work.run();
                self.worker_side.1.send(done);
            } else {
                // There is room: the channel holds as much as can be under way.
                let _ = self.work.send(work);
            }
        }
    }

    fn start_worker(&mut self) {
        let (work, results) = self.worker_side.clone();
        let run = move || {
            while let Ok(work) = work.recv() {
                results.send(work.run());
            }
        };
        let name = format!("worker-{}", self.threads);
        if thread::Builder::new().name(name).spawn(run).is_ok() {
            self.threads += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mio::{Events, Poll, Token};

    use super::*;

    #[test]
    fn more_work_than_fits_is_all_done() {
        let mut poll = Poll::new().unwrap();
        let mut pool = Pool::new(Waker::new(poll.registry(), Token(4)).unwrap());
        assert_eq!(pool.threads, 0);
        let count = JOBS_MAX * 3;
        for i in 0..count {
            let line = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
            pool.submit(Work::ParseLine(SessionId(i as u64), line.to_vec()));
        }
        assert!(pool.is_full());
        let mut seen = vec![false; count];
        let mut events = Events::with_capacity(4);
        while seen.contains(&false) {
            poll.poll(&mut events, Some(Duration::from_secs(20))).unwrap();
            assert!(!events.is_empty(), "nobody woke the loop");
            while let Some(Done::Parsed(SessionId(i), message)) = pool.take() {
                assert!(matches!(message, HostMessage::Request { .. }));
                seen[i as usize] = true;
            }
        }
        assert!(!pool.is_full() && pool.backlog.is_empty());
        assert_eq!(pool.threads, WORKERS);
    }
}

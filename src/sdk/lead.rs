//! Who reads: one token that at most one thread holds, passed on without a hand-over of messages.
//!
//! The thread that holds the token, the leader, reads one request and runs its handler itself.
//! Before that it passes the token on, so that another thread reads meanwhile. But to wake that
//! other thread takes longer than many handlers do. So for a handler that was quick the last time
//! the leader only puts the token down ([`Lead::keep`]) and takes it up again afterwards. Whoever
//! needs somebody to read takes the token away from there: a handler that waits for an answer
//! ([`Lead::attend`]), or the watching thread, when the handler turns out not to be quick
//! ([`Lead::watch`]).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The token `T` (whatever is needed to read) and the threads that want it.
pub(super) struct Lead<T> {
    state: Mutex<State<T>>,
    /// A thread without work waits here for the token.
    free: Condvar,
    /// The watching thread waits here.
    watching: Condvar,
}

struct State<T> {
    token: Token<T>,
    /// How often the token was kept: tells the watching thread whether it is still the same time.
    turn: u64,
    /// Whether the watching thread ticks.
    watched: bool,
    /// Threads that wait for the token.
    idle: usize,
    threads: usize,
    threads_max: usize,
    ended: bool,
}

enum Token<T> {
    /// A thread reads.
    Held,
    /// Put down by a thread that means to come back for it.
    Kept(T),
    /// For whoever comes first.
    Free(T),
}

impl<T> Token<T> {
    /// Takes the token if nobody reads.
    fn take(&mut self) -> Option<T> {
        match std::mem::replace(self, Token::Held) {
            Token::Held => None,
            Token::Kept(token) | Token::Free(token) => Some(token),
        }
    }
}

/// Whether the caller has to start a thread, because none waits for the token.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Nothing,
    Thread,
}

impl<T> Lead<T> {
    /// A free token and no threads yet; there will be at most `threads_max`.
    pub(super) fn new(token: T, threads_max: usize) -> Self {
        let state = State {
            token: Token::Free(token),
            turn: 0,
            watched: false,
            idle: 0,
            threads: 0,
            threads_max,
            ended: false,
        };
        Self { state: Mutex::new(state), free: Condvar::new(), watching: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the token; `None` when all is over.
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self.state();
        // Who comes from work may also take a token that was kept: it has nothing else to do,
        // while the other one is still busy.
        if !state.ended
            && let Some(token) = state.token.take()
        {
            return Some(token);
        }
        state.idle += 1;
        loop {
            if state.ended {
                return None;
            }
            if matches!(state.token, Token::Free(_)) {
                state.idle -= 1;
                return state.token.take();
            }
            state = self.free.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Passes the token on.
    pub(super) fn release(&self, token: T) -> Wanted {
        let mut state = self.state();
        state.token = Token::Free(token);
        self.call_reader(state)
    }

    /// Puts the token down for a moment; [`Lead::take`] takes it up again.
    pub(super) fn keep(&self, token: T) {
        let mut state = self.state();
        state.token = Token::Kept(token);
        state.turn += 1;
        if !state.watched {
            state.watched = true;
            drop(state);
            self.watching.notify_one();
        }
    }

    /// Makes sure that somebody reads.
    pub(super) fn attend(&self) -> Wanted {
        let mut state = self.state();
        match std::mem::replace(&mut state.token, Token::Held) {
            Token::Kept(token) => {
                state.token = Token::Free(token);
                self.call_reader(state)
            }
            other => {
                state.token = other;
                Wanted::Nothing
            }
        }
    }

    fn call_reader(&self, mut state: MutexGuard<'_, State<T>>) -> Wanted {
        if state.idle > 0 {
            drop(state);
            self.free.notify_one();
            Wanted::Nothing
        } else if state.threads < state.threads_max && !state.ended {
            state.threads += 1;
            Wanted::Thread
        } else {
            // The next thread that is done with its handler reads on.
            Wanted::Nothing
        }
    }

    /// A wanted thread could not be started.
    pub(super) fn thread_failed(&self) {
        self.state().threads -= 1;
    }

    /// A thread will be busy for long, without being counted: one more may take its place until it
    /// says [`Lead::retire`].
    pub(super) fn lend(&self) {
        self.state().threads_max += 1;
    }

    /// Undoes [`Lead::lend`], which was said `lent` times. Says whether there is a thread too many
    /// now: then the caller is to end.
    #[must_use]
    pub(super) fn retire(&self, lent: usize) -> bool {
        let mut state = self.state();
        state.threads_max -= lent;
        let too_many = state.threads > state.threads_max;
        state.threads -= usize::from(too_many);
        too_many
    }

    /// Whether nobody is left who could ever read.
    pub(super) fn has_no_threads(&self) -> bool {
        self.state().threads == 0
    }

    /// Frees the token whenever it was kept for a whole tick, until all is over. Sleeps without
    /// ticking while no token is being kept.
    pub(super) fn watch(&self, tick: Duration, start_thread: impl Fn()) {
        let mut state = self.state();
        let mut seen = state.turn;
        while !state.ended {
            if !state.watched {
                state = self.watching.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state = self.watching.wait_timeout(state, tick).unwrap_or_else(PoisonError::into_inner).0;
            if state.turn != seen {
                seen = state.turn;
                continue;
            }
            state.watched = false;
            drop(state);
            if self.attend() == Wanted::Thread {
                start_thread();
            }
            state = self.state();
        }
    }

    /// All is over: whoever waits for the token or watches comes back.
    pub(super) fn end(&self) {
        self.state().ended = true;
        self.free.notify_all();
        self.watching.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "a test may panic when no thread can be had")]

    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn a_kept_token_comes_back_without_a_thread() {
        let lead = Lead::new(7, 2);
        assert_eq!(lead.take(), Some(7));
        lead.keep(7);
        assert_eq!(lead.take(), Some(7));
        assert_eq!(lead.attend(), Wanted::Nothing, "it is held, not kept");
    }

    #[test]
    fn threads_are_wanted_up_to_the_bound() {
        let lead = Lead::new(7, 2);
        assert_eq!(lead.release(lead.take().unwrap()), Wanted::Thread);
        assert_eq!(lead.release(lead.take().unwrap()), Wanted::Thread);
        assert_eq!(lead.release(lead.take().unwrap()), Wanted::Nothing);
        lead.thread_failed();
        lead.keep(lead.take().unwrap());
        assert_eq!(lead.attend(), Wanted::Thread);
    }

    #[test]
    fn a_thread_that_is_lent_is_replaced_and_goes_in_the_end() {
        let lead = Lead::new(7, 1);
        assert_eq!(lead.release(lead.take().unwrap()), Wanted::Thread);
        assert_eq!(lead.release(lead.take().unwrap()), Wanted::Nothing);
        lead.lend();
        assert_eq!(lead.release(lead.take().unwrap()), Wanted::Thread, "in place of the one that is busy");
        assert!(lead.retire(1));
        assert!(!lead.retire(0), "only one of the two");
        assert_eq!(lead.release(lead.take().unwrap()), Wanted::Nothing);
    }

    #[test]
    fn whoever_waits_gets_what_was_kept_once_somebody_needs_a_reader() {
        let lead = Arc::new(Lead::new(7, 2));
        let token = lead.take().unwrap();
        let waiting = thread::spawn({
            let lead = Arc::clone(&lead);
            move || lead.take()
        });
        while lead.state().idle == 0 {
            thread::yield_now();
        }
        lead.keep(token);
        assert_eq!(lead.attend(), Wanted::Nothing, "a thread waits already");
        assert_eq!(waiting.join().unwrap(), Some(7));
    }

    #[test]
    fn the_watch_frees_a_token_that_is_kept_for_long() {
        let lead = Arc::new(Lead::new(7, 2));
        let token = lead.take().unwrap();
        let (started, starts) = std::sync::mpsc::channel();
        let watching = thread::spawn({
            let lead = Arc::clone(&lead);
            move || lead.watch(Duration::from_millis(1), || started.send(()).unwrap())
        });
        lead.keep(token);
        starts.recv().unwrap();
        assert!(matches!(lead.state().token, Token::Free(7)));
        lead.end();
        watching.join().unwrap();
    }

    #[test]
    fn the_end_releases_all_who_wait() {
        let lead = Arc::new(Lead::new(7, 2));
        let _held = lead.take().unwrap();
        let waiting = thread::spawn({
            let lead = Arc::clone(&lead);
            move || lead.take()
        });
        let watching = thread::spawn({
            let lead = Arc::clone(&lead);
            move || lead.watch(Duration::from_millis(1), || ())
        });
        lead.end();
        assert_eq!(waiting.join().unwrap(), None);
        watching.join().unwrap();
        assert_eq!(lead.take(), None);
    }
}

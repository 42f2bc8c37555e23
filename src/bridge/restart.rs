//! When the next tool process is started after one died.

use std::time::{Duration, Instant};

use crate::limits::{BACKOFF_MAX, BACKOFF_MIN, HEALTHY_AFTER, QUICK_DEATH, QUICK_DEATHS_MAX, RETRY};

/// When the next tool process is started after one died.
#[derive(Debug)]
pub(super) struct Restart {
    pub(super) plan: Plan,
    /// Quick deaths in a row.
    quick_deaths: u32,
    backoff: Duration,
    /// Nobody would notice that it stays down, and what is not ready gets no calls.
    is_unattended: bool,
    /// State of the jitter.
    random: u64,
    /// How the last process died, for those who wait in vain.
    pub(super) last_death: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// None was ever started.
    First,
    /// One is running or starting.
    Up,
    /// At this time.
    At(Instant),
    /// With the next call or file change, or else at this time if there is one.
    Down(Option<Instant>),
}

impl Restart {
    pub(super) fn new(seed: u64, is_unattended: bool) -> Self {
        Self {
            plan: Plan::First,
            quick_deaths: 0,
            backoff: BACKOFF_MIN,
            is_unattended,
            random: seed | 1,
            last_death: String::new(),
        }
    }

    pub(super) fn is_first(&self) -> bool {
        self.plan == Plan::First
    }

    /// It stays down until somebody needs it.
    pub(super) fn is_down(&self) -> bool {
        matches!(self.plan, Plan::Down(_))
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.plan {
            Plan::At(at) => Some(at),
            Plan::Down(at) => at,
            Plan::First | Plan::Up => None,
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }

    /// A process that was to serve, or did, has died after `lived`. One that never served died
    /// too early, however long that took.
    pub(super) fn died(&mut self, lived: Duration, served: bool, now: Instant) {
        if lived >= HEALTHY_AFTER {
            self.backoff = BACKOFF_MIN;
        }
        self.quick_deaths = if lived < QUICK_DEATH || !served { self.quick_deaths + 1 } else { 0 };
        if self.quick_deaths >= QUICK_DEATHS_MAX {
            return self.stay_down(now);
        }
        // Up to a quarter on top, so that many bridges do not restart in step.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let jitter = self.backoff.mul_f64((self.random % 1000) as f64 / 4000.0);
        self.plan = Plan::At(now + self.backoff + jitter);
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
    }

    /// What has failed would fail again. It is tried all the same where nobody else will have it
    /// tried.
    pub(super) fn stay_down(&mut self, now: Instant) {
        self.plan = Plan::Down(self.is_unattended.then(|| now + RETRY));
    }

    /// The file changed, so what died before says nothing.
    pub(super) fn forget(&mut self) {
        self.quick_deaths = 0;
        self.backoff = BACKOFF_MIN;
    }
}

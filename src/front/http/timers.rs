//! When something is due, for tens of thousands of things that mostly are not.
//!
//! A thing that is busy moves its deadline all the time. It is therefore looked at when the
//! deadline that it once had comes, and not before: to move one further away costs nothing. And
//! deadlines fall together on the ticks of one coarse clock, so that any number of open streams
//! wakes us no more often than one does.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::limits::HTTP_TICK;

/// The times at which things are to be looked at.
#[derive(Debug)]
pub struct Timers<K> {
    begin: Instant,
    queue: BTreeSet<(u64, K)>,
}

/// When a thing will be looked at, kept beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alarm(Option<u64>);

impl<K: Ord + Copy> Timers<K> {
    /// Ticks are counted from `now`.
    pub fn new(now: Instant) -> Self {
        Self { begin: now, queue: BTreeSet::new() }
    }

    /// Has a thing looked at at this time, or before.
    pub fn set(&mut self, key: K, alarm: &mut Alarm, at: Instant) {
        let passed = at.saturating_duration_since(self.begin).as_nanos();
        let tick = u64::try_from(passed.div_ceil(HTTP_TICK.as_nanos())).unwrap_or(u64::MAX);
        if alarm.0.is_some_and(|queued| queued <= tick) {
            return;
        }
        self.cancel(key, alarm);
        self.queue.insert((tick, key));
        alarm.0 = Some(tick);
    }

    /// Forgets a thing.
    pub fn cancel(&mut self, key: K, alarm: &mut Alarm) {
        if let Some(tick) = alarm.0.take() {
            self.queue.remove(&(tick, key));
        }
    }

    /// The next thing to look at, if its time has come. Its alarm is to be [silenced](Alarm::clear)
    /// and set again.
    pub fn next_due(&mut self, now: Instant) -> Option<K> {
        let &(tick, _) = self.queue.first()?;
        (self.time_of(tick) <= now).then(|| self.queue.pop_first().map(|(_, key)| key))?
    }

    /// When there is something to look at.
    pub fn deadline(&self) -> Option<Instant> {
        self.queue.first().map(|(tick, _)| self.time_of(*tick))
    }

    fn time_of(&self, tick: u64) -> Instant {
        let passed = HTTP_TICK.saturating_mul(u32::try_from(tick).unwrap_or(u32::MAX));
        self.begin.checked_add(passed).unwrap_or(self.begin + Duration::from_secs(u64::from(u32::MAX)))
    }
}

impl Alarm {
    /// It has rung.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_looked_at_at_its_first_deadline_and_never_late() {
        let begin = Instant::now();
        let at = |ticks: f64| begin + HTTP_TICK.mul_f64(ticks);
        let mut timers = Timers::new(begin);
        let mut alarms = [Alarm::default(); 3];
        timers.set(0, &mut alarms[0], at(3.5));
        timers.set(1, &mut alarms[1], at(3.1));
        timers.set(2, &mut alarms[2], at(9.0));
        assert_eq!(timers.deadline(), Some(at(4.0)), "they fall together");
        // Further away changes nothing yet, nearer does.
        timers.set(0, &mut alarms[0], at(20.0));
        timers.set(2, &mut alarms[2], at(2.0));
        assert_eq!(timers.deadline(), Some(at(2.0)));
        assert_eq!(timers.next_due(at(1.9)), None);
        assert_eq!(timers.next_due(at(2.0)), Some(2));
        assert_eq!(timers.next_due(at(3.9)), None);
        timers.cancel(1, &mut alarms[1]);
        assert_eq!(timers.next_due(at(4.0)), Some(0));
        alarms[0].clear();
        timers.set(0, &mut alarms[0], at(20.0));
        assert_eq!((timers.next_due(at(19.0)), timers.deadline()), (None, Some(at(20.0))));
        timers.cancel(0, &mut alarms[0]);
        assert_eq!(timers.deadline(), None);
    }
}

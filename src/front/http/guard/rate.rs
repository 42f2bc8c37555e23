//! `--rate`: how often one caller may ask.
//!
//! A bucket of tokens for each caller, kept as the one moment at which it is full again (the
//! generic cell rate algorithm). A full bucket needs no memory at all.

use core::net::IpAddr;
use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use super::{Peer, Principal};
use crate::limits::{RATE_BURST_MIN, RATE_CALLERS_MAX, RATE_SWEEP};

/// So many requests in this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// At least one.
    pub requests: u32,
    /// More than nothing.
    pub per: Duration,
}

impl Rate {
    /// What one request costs.
    fn interval(self) -> Duration {
        self.per / self.requests.max(1)
    }

    /// What a caller who was silent for long may ask at once.
    fn burst(self) -> u32 {
        let second = Duration::from_secs(1).as_nanos() / self.interval().as_nanos().max(1);
        u32::try_from(second).unwrap_or(u32::MAX).max(RATE_BURST_MIN)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.per.as_secs() {
            1 => write!(f, "{}/s", self.requests),
            60 => write!(f, "{}/m", self.requests),
            3600 => write!(f, "{}/h", self.requests),
            _ => write!(f, "{} in {:?}", self.requests, self.per),
        }
    }
}

/// Whose requests are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Caller {
    /// Who has authorized.
    Named(Principal),
    /// Who has not: those behind one address. A host on IPv6 has a whole network of them.
    Address(IpAddr),
    /// Those behind the unix socket.
    Unix,
    /// All for whom there was no room.
    Others,
}

impl Caller {
    pub(super) fn of(principal: &Principal, peer: Peer) -> Self {
        if principal.is_nobody() { Self::at(peer) } else { Self::Named(principal.clone()) }
    }

    pub(super) fn at(peer: Peer) -> Self {
        match peer {
            Peer::Unix => Self::Unix,
            Peer::Ip(address) => Self::Address(match address.to_canonical() {
                IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
                v4 @ IpAddr::V4(_) => v4,
            }),
        }
    }
}

/// Counts the requests of all callers.
#[derive(Debug)]
pub(super) struct Buckets {
    rate: Rate,
    /// When each caller's bucket is full again; past moments may be forgotten.
    full_at: HashMap<Caller, Instant>,
    next_sweep: Option<Instant>,
}

impl Buckets {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, full_at: HashMap::new(), next_sweep: None }
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// Counts one request, unless it is one too many: then it says how long to wait.
    pub(super) fn take(&mut self, caller: Caller, now: Instant) -> Result<(), Duration> {
        let caller = self.room_for(caller, now);
        let full_at = self.full_at.get(&caller).map_or(now, |&at| at.max(now));
        self.room_left(full_at, now)?;
        self.full_at.insert(caller, full_at + self.rate.interval());
        Ok(())
    }

    /// The same, counting nothing.
    pub(super) fn look(&self, caller: &Caller, now: Instant) -> Result<(), Duration> {
        self.room_left(self.full_at.get(caller).map_or(now, |&at| at.max(now)), now)
    }

    fn room_left(&self, full_at: Instant, now: Instant) -> Result<(), Duration> {
        let most = self.rate.interval() * (self.rate.burst() - 1);
        match (full_at - now).checked_sub(most) {
            None | Some(Duration::ZERO) => Ok(()),
            Some(wait) => Err(wait),
        }
    }

    /// The caller, or all those who come when too many are known already.
    fn room_for(&mut self, caller: Caller, now: Instant) -> Caller {
        if self.full_at.len() < RATE_CALLERS_MAX || self.full_at.contains_key(&caller) {
            return caller;
        }
        if self.next_sweep.is_none_or(|at| at <= now) {
            self.full_at.retain(|_, full_at| *full_at > now);
            self.next_sweep = Some(now + RATE_SWEEP);
        }
        if self.full_at.len() < RATE_CALLERS_MAX { caller } else { Caller::Others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(number: u32) -> Caller {
        Caller::at(Peer::Ip(IpAddr::V4(number.into())))
    }

    /// How many requests pass at once.
    fn burst(buckets: &mut Buckets, number: u32, now: Instant) -> usize {
        (0..10_000).take_while(|_| buckets.take(caller(number), now).is_ok()).count()
    }

    const TEN: Rate = Rate { requests: 20, per: Duration::from_secs(1) };

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let start = Instant::now();
        let mut buckets = Buckets::new(TEN);
        assert_eq!(burst(&mut buckets, 1, start), 20);
        assert_eq!(buckets.take(caller(1), start), Err(Duration::from_millis(50)));
        assert_eq!(buckets.look(&caller(1), start), Err(Duration::from_millis(50)));
        assert_eq!(burst(&mut buckets, 2, start), 20, "another caller has a bucket of its own");
        assert_eq!(burst(&mut buckets, 1, start + Duration::from_millis(49)), 0);
        assert_eq!(burst(&mut buckets, 1, start + Duration::from_millis(50)), 1);
        assert_eq!(burst(&mut buckets, 1, start + Duration::from_millis(1050)), 20);
        assert_eq!(burst(&mut buckets, 1, start), 0, "a clock that is late gives nothing back");
    }

    #[test]
    fn a_slow_rate_lets_a_host_say_hello() {
        let start = Instant::now();
        let mut buckets = Buckets::new(Rate { requests: 1, per: Duration::from_secs(60) });
        assert_eq!(burst(&mut buckets, 1, start), RATE_BURST_MIN as usize);
        assert_eq!(burst(&mut buckets, 1, start + Duration::from_secs(59)), 0);
        assert_eq!(burst(&mut buckets, 1, start + Duration::from_secs(120)), 2);
    }

    #[test]
    fn memory_is_bounded_and_strangers_share_what_is_left() {
        let start = Instant::now();
        let mut buckets = Buckets::new(TEN);
        for number in 0..RATE_CALLERS_MAX as u32 {
            assert_eq!(buckets.take(caller(number), start), Ok(()));
        }
        let known: usize = (0..100).map(|number| burst(&mut buckets, 1_000_000 + number, start)).sum();
        assert_eq!(known, 20, "a hundred newcomers share one bucket");
        assert_eq!(burst(&mut buckets, 7, start), 19, "who was known before does not suffer");
        assert!(buckets.full_at.len() <= RATE_CALLERS_MAX + 1);
        // All but the two that asked more are full again and forgotten.
        let later = start + RATE_SWEEP;
        assert_eq!(burst(&mut buckets, 1_000_000, later), 20);
        assert!(buckets.full_at.len() <= 3, "{}", buckets.full_at.len());
    }

    #[test]
    fn an_address_of_ipv6_stands_for_its_network() {
        let at = |text: &str| Caller::at(Peer::Ip(text.parse().expect("an address")));
        assert_eq!(at("2001:db8:1:2::1"), at("2001:db8:1:2:ffff::9"));
        assert_ne!(at("2001:db8:1:2::1"), at("2001:db8:1:3::1"));
        assert_eq!(at("::ffff:192.0.2.1"), at("192.0.2.1"));
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
        let nobody = Principal::default();
        assert_eq!(Caller::of(&nobody, Peer::Unix), Caller::Unix);
        let known = Principal("a".into());
        assert_eq!(Caller::of(&known, Peer::Unix), Caller::Named(known.clone()));
    }

    #[test]
    fn a_rate_is_spelled_as_it_is_typed() {
        let spelled = |seconds| Rate { requests: 5, per: Duration::from_secs(seconds) }.to_string();
        assert_eq!((spelled(1), spelled(60), spelled(3600)), ("5/s".into(), "5/m".into(), "5/h".into()));
    }
}

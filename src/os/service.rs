//! The service manager that started us, if one did, and what it wants to hear (`sd_notify`).

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use super::sys;
use crate::bridge::Health;
use crate::limits::NOTIFY_RETRY;

/// The variables by which it speaks to us. A child must not take them for its own.
pub(super) const VARIABLES: [&str; 6] =
    ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"];

/// How we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) health: Health,
    /// What serves is about to be replaced.
    pub(super) reloads: bool,
}

/// The way to it.
#[derive(Debug)]
pub(super) struct Service {
    /// Absent if nobody listens.
    line: Option<Line>,
    watchdog: Option<Watchdog>,
}

#[derive(Debug)]
struct Line {
    socket: UnixDatagram,
    address: SocketAddr,
    told: Told,
    /// When to try again, if it took nothing the last time.
    retry: Option<Instant>,
}

/// Wants a sign of life within a time.
#[derive(Debug)]
struct Watchdog {
    period: Duration,
    next: Instant,
}

/// What it has heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    condition: Option<Condition>,
    ready: bool,
    reloading: bool,
    stopping: bool,
}

impl Service {
    /// Looks at the environment. Whatever is wrong there is a sentence for a person, and nobody is
    /// told anything.
    pub(super) fn of_environment(now: Instant) -> (Self, Option<String>) {
        let nobody = Self { line: None, watchdog: None };
        let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return (nobody, None) };
        let opened = address(&name).and_then(|address| {
            let socket = UnixDatagram::unbound()?;
            socket.set_nonblocking(true)?;
            Ok(Line { socket, address, told: Told::default(), retry: None })
        });
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let watchdog = period(number("WATCHDOG_USEC"), number("WATCHDOG_PID"), std::process::id())
            .map(|period| Watchdog { period, next: now });
        match opened {
            Ok(line) => (Self { line: Some(line), watchdog }, None),
            Err(error) => {
                let name = name.display();
                (
                    nobody,
                    Some(format!(
                        "the service manager can't be told anything: NOTIFY_SOCKET is {name}: {error}"
                    )),
                )
            }
        }
    }

    /// Something was loaded again, and that is over already.
    pub(super) fn reloads_at_once(&mut self) {
        if let Some(line) = self.line.as_mut().filter(|line| line.told.ready && !line.told.reloading) {
            // Whoever waits for it waits in vain if this is not taken, and no longer than it allows.
            let _ = line.send(&format!("RELOADING=1\nMONOTONIC_USEC={}", sys::monotonic_micros()));
            let _ = line.send("READY=1");
        }
    }

    /// When [`tell`](Self::tell) has something to say though nothing has happened.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let line = self.line.as_ref()?;
        line.retry.into_iter().chain(self.watchdog.as_ref().map(|watchdog| watchdog.next)).min()
    }

    /// Tells what is new. It costs next to nothing if nobody listens.
    pub(super) fn tell(&mut self, now: Instant, condition: impl FnOnce() -> Condition) {
        let Some(line) = &mut self.line else { return };
        if let Some(watchdog) = self.watchdog.as_mut().filter(|watchdog| watchdog.next <= now) {
            watchdog.next = now + watchdog.period;
            // One that was not taken is followed by another in time.
            let _ = line.send("WATCHDOG=1");
        }
        if line.retry.is_some_and(|at| now < at) {
            return;
        }
        line.retry = None;
        let condition = condition();
        let (told, text) = line.told.news(condition, now, sys::monotonic_micros);
        match text.map(|text| line.send(&text)) {
            // It is slow; what is new then is told then.
            Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                line.retry = Some(now + NOTIFY_RETRY)
            }
            // One that went away hears nothing more of this.
            _ => line.told = told,
        }
    }
}

impl Line {
    fn send(&self, text: &str) -> io::Result<usize> {
        self.socket.send_to_addr(text.as_bytes(), &self.address)
    }
}

impl Told {
    /// What is to be told, and what it has heard then. `micros` reads the monotonic clock.
    fn news(
        self,
        condition: Condition,
        now: Instant,
        micros: impl FnOnce() -> u64,
    ) -> (Told, Option<String>) {
        if self.condition == Some(condition) {
            return (self, None);
        }
        let Condition { health, reloads } = condition;
        let mut told = Told { condition: Some(condition), ..self };
        let mut text = String::new();
        let is_serving = matches!(health, Health::Serving(_));
        if health == Health::Ending {
            told.stopping = true;
            text.push_str(if self.stopping { "" } else { "STOPPING=1\n" });
        } else if reloads && self.ready && !self.reloading {
            told.reloading = true;
            text.push_str(&format!("RELOADING=1\nMONOTONIC_USEC={}\n", micros()));
        } else if is_serving && !reloads && (!self.ready || self.reloading) {
            told.ready = true;
            told.reloading = false;
            text.push_str("READY=1\n");
        }
        let status = match (health, health.reason(now)) {
            (Health::Serving(generation), _) if reloads => {
                format!("version {} of the tools serves, the next is starting", generation.0)
            }
            (Health::Serving(generation), _) => format!("version {} of the tools serves", generation.0),
            (_, reason) => reason.unwrap_or_default(),
        };
        text.push_str("STATUS=");
        text.push_str(&status);
        (told, Some(text))
    }
}

/// How often to give a sign of life: twice in the time that is allowed. `None` if nobody waits for
/// one of ours.
fn period(allowed_micros: Option<u64>, of: Option<u64>, own_pid: u32) -> Option<Duration> {
    let allowed = Duration::from_micros(allowed_micros.filter(|micros| *micros > 0)?);
    of.is_none_or(|of| of == u64::from(own_pid)).then_some(allowed / 2)
}

/// A path, or behind an `@` a name without a file.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'@', name @ ..] if !name.is_empty() => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(name),
        _ => Err(io::Error::new(io::ErrorKind::Unsupported, "it is neither a path nor @NAME")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Generation;

    fn condition(health: Health, reloads: bool) -> Condition {
        Condition { health, reloads }
    }

    #[test]
    fn what_is_told_follows_what_happens() {
        let now = Instant::now();
        let serving = |generation| Health::Serving(Generation(generation));
        let mut told = Told::default();
        for (health, reloads, expected) in [
            (Health::Starting, false, Some("STATUS=the tool process is starting")),
            (Health::Starting, false, None),
            (serving(1), false, Some("READY=1\nSTATUS=version 1 of the tools serves")),
            (
                serving(1),
                true,
                Some(
                    "RELOADING=1\nMONOTONIC_USEC=7\nSTATUS=version 1 of the tools serves, the next is starting",
                ),
            ),
            (serving(2), false, Some("READY=1\nSTATUS=version 2 of the tools serves")),
            (serving(2), false, None),
            (Health::Building, false, Some("STATUS=the tool process is being built")),
            // A crash is no reason to be ready once more.
            (serving(3), false, Some("STATUS=version 3 of the tools serves")),
            (Health::Ending, false, Some("STOPPING=1\nSTATUS=pmcp is ending")),
            (Health::Ending, true, Some("STATUS=pmcp is ending")),
        ] {
            let (next, text) = told.news(condition(health, reloads), now, || 7);
            assert_eq!(text.as_deref(), expected);
            told = next;
        }
    }

    #[test]
    fn a_reload_that_ends_in_a_crash_is_over_with_the_next_that_serves() {
        let now = Instant::now();
        let mut told = Told { ready: true, reloading: true, ..Told::default() };
        let (next, text) = told.news(condition(Health::Restarting(None), false), now, || 7);
        assert!(text.unwrap().starts_with("STATUS="));
        told = next;
        let (_, text) = told.news(condition(Health::Serving(Generation(2)), false), now, || 7);
        assert!(text.unwrap().starts_with("READY=1\n"));
    }

    #[test]
    fn a_sign_of_life_is_given_twice_in_time_if_it_is_ours_to_give() {
        assert_eq!(period(Some(30_000_000), None, 5), Some(Duration::from_secs(15)));
        assert_eq!(period(Some(30_000_000), Some(5), 5), Some(Duration::from_secs(15)));
        for (allowed, of) in [(None, None), (Some(0), None), (Some(30_000_000), Some(4))] {
            assert_eq!(period(allowed, of, 5), None);
        }
    }

    #[test]
    fn messages_arrive_by_either_kind_of_name_and_a_slow_reader_gets_the_newest() {
        let path = std::env::temp_dir().join(format!("pmcp-notify-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let hidden = format!("@pmcp-notify-{}", std::process::id());
        for name in [path.as_os_str(), hidden.as_ref()] {
            let address = address(name).unwrap();
            let manager = UnixDatagram::bind_addr(&address).unwrap();
            let socket = UnixDatagram::unbound().unwrap();
            socket.set_nonblocking(true).unwrap();
            let line = Line { socket, address, told: Told::default(), retry: None };
            let mut now = Instant::now();
            let watchdog = Watchdog { period: Duration::from_secs(1), next: now };
            let mut service = Service { line: Some(line), watchdog: Some(watchdog) };
            let serving = condition(Health::Serving(Generation(1)), false);
            service.tell(now, || serving);
            let mut buffer = [0; 256];
            let mut heard = || {
                let count = manager.recv(&mut buffer).unwrap();
                String::from_utf8_lossy(&buffer[..count]).into_owned()
            };
            assert_eq!(heard(), "WATCHDOG=1");
            assert!(heard().starts_with("READY=1\n"));
            assert_eq!(service.deadline(), Some(now + Duration::from_secs(1)));
            // Nobody reads: it does not block, and says what is true when there is room again.
            let mut generation = 1;
            while service.line.as_ref().unwrap().retry.is_none() {
                generation += 1;
                service.tell(now, || condition(Health::Serving(Generation(generation)), false));
            }
            service.tell(now, || panic!("it is not tried again at once"));
            while heard() != format!("STATUS=version {} of the tools serves", generation - 1) {}
            now += NOTIFY_RETRY;
            service.tell(now, || condition(Health::Ending, false));
            assert_eq!(heard(), "STOPPING=1\nSTATUS=pmcp is ending");
        }
        std::fs::remove_file(&path).unwrap();
        for name in ["", "@", "vsock:2:1", "relative"] {
            assert!(address(name.as_ref()).is_err(), "{name}");
        }
    }
}

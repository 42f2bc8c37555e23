//! What the system says of our own process, for those who watch over us.

use std::fs;
use std::time::{Duration, Instant, SystemTime};

use crate::metrics::{Kind, Page};

/// When we began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vitals {
    began: Instant,
    /// The same on the clock on the wall, since 1970.
    wall: Duration,
}

impl Vitals {
    /// We begin now.
    pub(super) fn begin(now: Instant) -> Self {
        Self {
            began: now,
            wall: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(),
        }
    }

    /// Writes what is known, by the names under which every program tells it.
    pub(super) fn write_metrics(&self, now: Instant, page: &mut Page<'_>) {
        let version = env!("CARGO_PKG_VERSION");
        page.metric("pmcp_build_info", Kind::Gauge, "Which pmcp this is.").sample(&[("version", version)], 1);
        let uptime = now.saturating_duration_since(self.began);
        page.metric("pmcp_uptime_seconds", Kind::Gauge, "How long pmcp runs.").seconds(&[], uptime);
        let help = "When pmcp was started, in seconds since 1970.";
        page.metric("process_start_time_seconds", Kind::Gauge, help).seconds(&[], self.wall);
        if let Some(bytes) = fs::read_to_string("/proc/self/status").ok().as_deref().and_then(resident) {
            let help = "Memory of pmcp itself that is in use, without its tool process.";
            page.number("process_resident_memory_bytes", Kind::Gauge, help, bytes);
        }
    }
}

/// The memory that a process has in use, from its status.
fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_understood() {
        assert_eq!(resident("VmSize:\t 9 kB\nVmRSS:\t    1404 kB\nX: 1"), Some(1404 * 1024));
        for odd in ["", "VmRSS:", "VmRSS: x kB", "VmRSS: 5 MB", "VmRSS: 18446744073709551615 kB"] {
            assert_eq!(resident(odd), None, "{odd}");
        }
        assert!(resident(&fs::read_to_string("/proc/self/status").unwrap()).unwrap() > 100_000);
    }
}

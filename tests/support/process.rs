//! What `/proc` says about processes, and signals.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Sends a signal, by name without SIG. The shell's `kill` does it: a system call of our own would
/// need unsafe code.
pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("sh").arg("-c").arg(format!("kill -{name} {pid}")).status().unwrap();
    assert!(status.success(), "kill -{name} {pid}");
}

/// Whether namespaces can be made in which a folder is all that there is, and users be changed.
pub(crate) fn can_unshare() -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--mount",
        "--pid",
        "--fork",
        "sh",
        "-c",
        "mount --make-rprivate / && chroot --userspec=1:1 / true",
    ]);
    unshare.output().is_ok_and(|output| output.status.success())
}

/// Whether a process runs; a zombie does not.
pub(crate) fn alive(pid: u32) -> bool {
    status(pid, "State").is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// A field of `/proc/PID/status`, as it stands there.
pub(crate) fn status(pid: u32, field: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .map(|rest| rest.trim().to_string())
}

/// A memory field of `/proc/PID/status` in bytes.
pub(crate) fn memory(pid: u32, field: &str) -> u64 {
    let text = status(pid, field).unwrap_or_else(|| panic!("{field} of process {pid}"));
    let kilobytes: u64 = text.split_whitespace().next().unwrap().parse().unwrap();
    kilobytes * 1024
}

/// How often the threads of a process gave up the processor to wait: one more for each time that they
/// were woken. How often they lost it to others says nothing about them.
fn context_switches(pid: u32) -> u64 {
    let mut sum = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let text = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("voluntary_ctxt_switches:") {
                sum += rest.trim().parse::<u64>().unwrap();
            }
        }
    }
    sum
}

/// Waits until a process has come to rest and sees that it stays there: that no thread of it is
/// woken for a while. The sleeps are what is measured, not a wait for something.
#[track_caller]
pub(crate) fn stays_idle(pid: u32) {
    let mut last = u64::MAX;
    super::eventually("it comes to rest", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = context_switches(pid);
        std::mem::replace(&mut last, now) == now
    });
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(context_switches(pid), last, "an idle process woke up");
}

/// Processes whose environment names this folder: everything that a test with a folder of its own
/// started, however often it forked, as long as it kept the variable `PMCP_TEST_DIR`.
pub(crate) fn of_folder(folder: &Path) -> Vec<u32> {
    let mark = format!("PMCP_TEST_DIR={}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) && alive(pid) {
            found.push(pid);
        }
    }
    found
}

/// A process with its command line, for messages.
pub(crate) fn describe(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " "))
}

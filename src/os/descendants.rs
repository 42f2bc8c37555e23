//! What descends from us, whatever group or session it moved to: at our end it is ended, too.
//!
//! Best effort: it works where the kernel lists children (`CONFIG_PROC_CHILDREN`).

use std::fs;

use super::sys;

/// All but those that were there before us: a shell may have started them, and then become this
/// program with `exec`.
#[derive(Debug)]
pub(super) struct Descendants {
    others: Vec<Process>,
}

/// A process, known by more than its pid, which may be somebody else's some day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    /// When it was started, in ticks since the system was.
    since: Option<u64>,
}

impl Process {
    fn find(pid: i32) -> Self {
        let since = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|text| {
            // The name, in parentheses, may hold anything; 19 fields lie between it and the time.
            text.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
        });
        Self { pid, since }
    }
}

impl Descendants {
    /// Those that come from now on. Must be called before anything is started.
    pub(super) fn from_now_on() -> Self {
        let mut others: Vec<Process> = Vec::new();
        let mut found = children_of(own_pid());
        while let Some(pid) = found.pop() {
            found.extend(children_of(pid));
            others.push(Process::find(pid));
        }
        Self { others }
    }

    /// Sends KILL to all of them. False if there were none.
    pub(super) fn kill(&self) -> bool {
        let mut any = false;
        let mut found = children_of(own_pid());
        while let Some(pid) = found.pop() {
            if self.others.contains(&Process::find(pid)) {
                continue;
            }
            any = true;
            // Its children are listed before it is gone and they become ours.
            found.extend(children_of(pid));
            sys::kill(pid, libc::SIGKILL);
        }
        any
    }
}

fn own_pid() -> i32 {
    std::process::id().cast_signed()
}

fn children_of(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut children = Vec::new();
    for task in tasks.flatten() {
        if let Ok(list) = fs::read_to_string(task.path().join("children")) {
            children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    children
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn they_are_found_in_other_groups_too() {
        // The shell makes a session of its own for the sleeper, which no group signal reaches.
        let mut command = Command::new("sh");
        command.args(["-c", "setsid sleep 1000 & echo started; wait"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut first = [0; 8];
        stdout.read_exact(&mut first).unwrap();
        let shell = child.id().cast_signed();
        let deadline = Instant::now() + Duration::from_secs(20);
        while children_of(shell).is_empty() {
            assert!(Instant::now() < deadline, "no children are listed");
            std::thread::yield_now();
        }
        for pid in children_of(shell) {
            sys::kill(pid, libc::SIGKILL);
        }
        // The end of the pipe shows that the sleeper is gone.
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_is_known_by_its_start_as_well() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = Process::find(child.id().cast_signed());
        assert!(process.since.is_some_and(|since| since > 0), "{process:?}");
        assert_eq!(Process::find(process.pid), process);
        assert!(Descendants::from_now_on().others.contains(&process));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Process::find(process.pid).since, None);
    }
}

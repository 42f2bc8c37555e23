//! One child: how it is started, and how what is left of it is ended.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use mio::unix::pipe::Receiver;

use super::sys::{self, How};
use super::{Launch, signals};
use crate::ids::Generation;

/// A started process, the leader of a group of its own. It is never waited for through std: the
/// loop reaps all children in one place.
#[derive(Debug)]
pub(super) struct Child {
    /// Also the id of its group.
    pub(super) pid: i32,
    /// Non-blocking; the child's own ends are not.
    pub(super) stdout: Receiver,
    /// As [`stdout`](Self::stdout).
    pub(super) stderr: Receiver,
}

/// Starts a tool process that shall find us at `socket`.
pub(super) fn spawn(
    launch: &Launch,
    generation: Generation,
    socket: &Path,
    message_max: usize,
) -> io::Result<Child> {
    let (program, arguments) = launch
        .command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command line is empty"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(folder) = &launch.folder {
        command.current_dir(folder);
    }
    // A block-buffered print would show up only at the end of the process, and UTF-8 must not
    // depend on the host's locale.
    for name in ["PYTHONUNBUFFERED", "PYTHONUTF8"] {
        if std::env::var_os(name).is_none() {
            command.env(name, "1");
        }
    }
    command
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .env("PROTOMCP_SOCKET", socket)
        .env("PROTOMCP_GENERATION", generation.0.to_string())
        .env("PROTOMCP_MAX_MESSAGE", message_max.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    sys::tie_to_us(&mut command);
    let mut child = command.spawn()?;
    let pid = child.id().cast_signed();
    let pipes = child.stdout.take().zip(child.stderr.take());
    let (stdout, stderr) = pipes.ok_or_else(|| io::Error::other("its output is not piped"))?;
    let started = Child { pid, stdout: stdout.into(), stderr: stderr.into() };
    let set = started.stdout.set_nonblocking(true).and_then(|()| started.stderr.set_nonblocking(true));
    // One that we cannot hear must not run.
    set.inspect_err(|_| sys::kill_group(pid, libc::SIGKILL))?;
    Ok(started)
}

/// For a person: "exited with status 3".
pub(super) fn describe(how: How) -> String {
    match how {
        How::Exited(status) => format!("exited with status {status}"),
        How::Killed(signal) => match signals::name(signal) {
            Some(name) => format!("was killed by signal {signal} ({name})"),
            None => format!("was killed by signal {signal}"),
        },
    }
}

/// Sends KILL to all that descend from us, whatever group they moved to. Best effort: it works
/// where the kernel lists children (`CONFIG_PROC_CHILDREN`). False if there were none.
pub(super) fn kill_descendants() -> bool {
    let children = children_of(std::process::id().cast_signed());
    let any = !children.is_empty();
    let mut found = children;
    while let Some(pid) = found.pop() {
        // Its children are listed before it is gone and they become ours.
        found.extend(children_of(pid));
        sys::kill(pid, libc::SIGKILL);
    }
    any
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
    use std::time::{Duration, Instant};

    use super::*;

    fn shell(script: &str) -> Child {
        let launch = Launch {
            command: ["sh", "-c", script].map(Into::into).to_vec(),
            folder: Some("/".into()),
            environment: vec![("GREETING".into(), "hello".into())],
        };
        spawn(&launch, Generation(7), Path::new("/tmp/socket"), 1000).unwrap()
    }

    /// All that a child prints, to the end of its pipe: until the last process that holds it ends.
    fn read_all(pipe: &mut Receiver) -> String {
        pipe.set_nonblocking(false).unwrap();
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        text
    }

    fn wait(pid: i32) -> How {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(ended) = sys::peek_ended(Some(pid)) {
                assert_eq!(ended.pid, pid);
                return ended.how;
            }
            assert!(Instant::now() < deadline, "the child did not end");
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_environment_and_the_folder_are_as_promised() {
        let mut child = shell(
            "pwd; echo $GREETING $PROTOMCP_SOCKET $PROTOMCP_GENERATION $PROTOMCP_MAX_MESSAGE; \
             echo $PYTHONUTF8$PYTHONUNBUFFERED >&2; cat; exit 3",
        );
        assert_eq!(read_all(&mut child.stdout), "/\nhello /tmp/socket 7 1000\n");
        assert_eq!(read_all(&mut child.stderr), "11\n");
        let how = wait(child.pid);
        assert_eq!(describe(how), "exited with status 3");
        // Until it is reaped it can be asked again.
        assert_eq!(wait(child.pid), how);
        assert!(sys::reap(child.pid));
        assert_eq!(sys::peek_ended(Some(child.pid)), None);
    }

    #[test]
    fn signals_are_clean_in_the_child() {
        let mut child = shell("grep -E '^Sig(Blk|Ign)' /proc/self/status");
        let text = read_all(&mut child.stdout);
        let sets: Vec<_> = text.lines().filter_map(|line| line.split_once('\t')).collect();
        assert_eq!(sets.len(), 2, "{text}");
        for (name, set) in sets {
            // Signals from 32 on belong to the C library.
            assert_eq!(u64::from_str_radix(set, 16).unwrap() & 0x7fff_ffff, 0, "{name}{set}");
        }
        wait(child.pid);
        sys::reap(child.pid);
    }

    #[test]
    fn the_whole_group_is_killed() {
        let mut child = shell("sleep 1000 & echo started; wait");
        let mut first = [0; 8];
        child.stdout.set_nonblocking(false).unwrap();
        child.stdout.read_exact(&mut first).unwrap();
        sys::kill_group(child.pid, libc::SIGKILL);
        // The end of the pipe shows that the grandchild is gone as well.
        assert_eq!(read_all(&mut child.stdout), "");
        assert_eq!(describe(wait(child.pid)), "was killed by signal 9 (SIGKILL)");
        sys::reap(child.pid);
    }

    #[test]
    fn descendants_are_found_in_other_groups_too() {
        // The shell makes a session of its own for the sleeper, which no group signal reaches.
        let mut child = shell("setsid sleep 1000 & echo started; wait");
        let mut first = [0; 8];
        child.stdout.set_nonblocking(false).unwrap();
        child.stdout.read_exact(&mut first).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while children_of(child.pid).is_empty() {
            assert!(Instant::now() < deadline, "no children are listed");
            std::thread::yield_now();
        }
        for pid in children_of(child.pid) {
            sys::kill(pid, libc::SIGKILL);
        }
        assert_eq!(read_all(&mut child.stdout), "");
        wait(child.pid);
        sys::reap(child.pid);
    }

    #[test]
    fn a_command_that_is_not_there_is_an_error() {
        let launch =
            Launch { command: vec!["/no/such/program".into()], folder: None, environment: Vec::new() };
        let error = spawn(&launch, Generation(1), Path::new("/tmp/socket"), 1000).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let launch = Launch { command: Vec::new(), folder: None, environment: Vec::new() };
        assert!(spawn(&launch, Generation(1), Path::new("/tmp/socket"), 1000).is_err());
    }
}

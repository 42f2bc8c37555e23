//! One child: how it is started, and how it ended.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use mio::unix::pipe::Receiver;

use super::environment::Variables;
use super::sys::{self, How};
use super::{Launch, service, signals};
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

/// Starts a tool process that shall find us at `socket`; `built` is its program if it had to be
/// built.
pub(super) fn spawn(
    launch: &Launch,
    built: Option<&Path>,
    variables: &Variables,
    generation: Generation,
    socket: &Path,
    message_max: usize,
) -> io::Result<Child> {
    let (program, arguments) = match (built, launch.command.split_first()) {
        (Some(built), _) => (built.as_os_str(), launch.command.as_slice()),
        (None, Some((program, arguments))) => (program.as_os_str(), arguments),
        (None, None) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command line is empty")),
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(variables.set.iter().map(|(name, value)| (name, value)))
        .env("PROTOMCP_SOCKET", socket)
        .env("PROTOMCP_GENERATION", generation.0.to_string())
        .env("PROTOMCP_MAX_MESSAGE", message_max.to_string());
    start(command, launch.folder.as_deref())
}

/// Starts a build.
pub(super) fn spawn_build(words: &[OsString], folder: &Path, variables: &Variables) -> io::Result<Child> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command line is empty"))?;
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.set.iter().map(|(name, value)| (name, value)));
    start(command, Some(folder))
}

/// Starts a process in a group of its own, whose output comes to us and that dies with us.
fn start(mut command: Command, folder: Option<&Path>) -> io::Result<Child> {
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    for name in service::VARIABLES {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    sys::tie_to_us(&mut command);
    let mut child = command.spawn().map_err(|error| {
        let what = match folder {
            Some(folder) if !folder.is_dir() => folder.as_os_str(),
            _ => command.get_program(),
        };
        io::Error::new(error.kind(), format!("{}: {error}", what.display()))
    })?;
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

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::time::{Duration, Instant};

    use super::*;

    fn spawned(launch: &Launch, built: Option<&Path>) -> io::Result<Child> {
        let variables = launch.variables().unwrap();
        spawn(launch, built, &variables, Generation(7), Path::new("/tmp/socket"), 1000)
    }

    fn shell(script: &str) -> Child {
        let launch = Launch {
            command: ["sh", "-c", script].map(Into::into).to_vec(),
            folder: Some("/".into()),
            environment: vec![("GREETING".into(), "hello".into())],
            ..Launch::default()
        };
        spawned(&launch, None).unwrap()
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
    fn what_is_not_there_is_named() {
        let mut launch = Launch { command: vec!["/no/such/program".into()], ..Launch::default() };
        let error = spawned(&launch, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().starts_with("/no/such/program: "), "{error}");
        let error = spawned(&launch, Some(Path::new("/no/artefact"))).unwrap_err();
        assert!(error.to_string().starts_with("/no/artefact: "), "{error}");
        launch.folder = Some("/no/such/folder".into());
        let error = spawned(&launch, None).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/folder: "), "{error}");
        launch.command.clear();
        assert!(spawned(&launch, None).is_err());
        assert!(spawn_build(&[], Path::new("/"), &Variables::default()).is_err());
    }

    #[test]
    fn a_built_program_gets_all_arguments() {
        let command = ["-c", "echo $0 $1; pwd", "a", "b"].map(Into::into).to_vec();
        let launch = Launch { command, folder: Some("/".into()), ..Launch::default() };
        let mut child = spawned(&launch, Some(Path::new("/bin/sh"))).unwrap();
        assert_eq!(read_all(&mut child.stdout), "a b\n/\n");
        wait(child.pid);
        sys::reap(child.pid);
        let words = ["sh", "-c", "pwd; echo $A; env | grep -c PROTOMCP"].map(OsString::from);
        let variables = Variables { set: vec![("A".into(), "b".into())], warnings: Vec::new() };
        let mut child = spawn_build(&words, Path::new("/"), &variables).unwrap();
        assert_eq!(read_all(&mut child.stdout), "/\nb\n0\n");
        wait(child.pid);
        sys::reap(child.pid);
    }
}

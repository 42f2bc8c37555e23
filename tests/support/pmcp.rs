//! The program under test, and how to start it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::dir::Dir;
use super::host::Host;

/// The binary: `PMCP_BIN` (for a static or an installed one), else the one cargo built.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("PMCP_BIN").map_or_else(|| env!("CARGO_BIN_EXE_pmcp").into(), PathBuf::from)
}

/// A tool process that cargo built as an example.
pub(crate) fn example(name: &str) -> PathBuf {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let file = folder.join("examples").join(name);
    assert!(file.exists(), "{} is not there: cargo test builds it", file.display());
    file
}

/// A command line in the making.
pub(crate) struct Setup {
    dir: Arc<Dir>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    wrapper: Vec<OsString>,
}

impl Setup {
    /// `pmcp run`; flags and file follow.
    pub(crate) fn run(dir: &Arc<Dir>) -> Setup {
        Setup::command(dir, "run")
    }

    /// `pmcp COMMAND`.
    pub(crate) fn command(dir: &Arc<Dir>, command: &str) -> Setup {
        Setup {
            dir: Arc::clone(dir),
            arguments: vec![command.into()],
            environment: Vec::new(),
            wrapper: Vec::new(),
        }
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Setup {
        self.arguments.push(argument.as_ref().into());
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Setup {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().into()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Setup {
        self.environment.push((name.into(), value.as_ref().into()));
        self
    }

    /// Runs the whole under another program, which takes the command line as its last arguments.
    pub(crate) fn under<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Setup {
        self.wrapper = words.into_iter().map(|word| word.as_ref().into()).collect();
        self
    }

    /// Everything as a command without its pipes. The environment holds only what hosts give
    /// (and a mark by which what was left behind can be found), so that the tests need nothing of
    /// the machine they run on.
    pub(crate) fn build(&self) -> Command {
        let mut words = self.wrapper.clone();
        words.push(binary().into());
        words.extend(self.arguments.iter().cloned());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().current_dir(self.dir.path());
        for name in ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "RUST_BACKTRACE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let temporary = self.dir.join("tmp");
        std::fs::create_dir_all(&temporary).unwrap();
        command.env("TMPDIR", &temporary).env("XDG_RUNTIME_DIR", &temporary);
        command.env("PMCP_TEST_DIR", self.dir.path());
        command.envs(self.environment.iter().cloned());
        command
    }

    /// Starts it with a scripted host at its pipes.
    pub(crate) fn host(self) -> Host {
        let mut command = self.build();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Host::start(command, &self.dir)
    }

    /// Runs it to its end with nothing to read; its status, stdout and stderr.
    pub(crate) fn output(self) -> std::process::Output {
        self.build().stdin(Stdio::null()).output().unwrap()
    }
}

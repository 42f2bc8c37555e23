//! Descriptors, processes, threads and the clock: the only room that touches the world.
//!
//! What lives here: one event loop that owns everything, and the small parts it is made of. What
//! does not: any decision about a protocol; the loop carries messages between [`crate::front`],
//! [`crate::wire`] and [`crate::bridge`] and does what the bridge says.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::bridge;
use crate::front::http::server;
use crate::log::{Format, Level};
use crate::watch::rules;

pub mod activation;
mod build;
mod child;
mod connection;
mod console;
mod descendants;
mod environment;
mod event_loop;
pub mod fetch;
mod fresh_file;
mod gate;
mod host;
mod http;
mod lines;
mod log_line;
mod pool;
mod ready;
mod service;
mod signals;
mod stdio;
mod sys;
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
mod tls;
mod tool_process;
mod tool_socket;
mod vitals;
mod watch;

pub use fresh_file::read as read_file;
pub use gate::{Admission, TlsFiles};
#[cfg(target_env = "musl")]
pub use sys::Allocator;

/// All that the loop needs to know; made by [`crate::cli`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the bridge is told.
    pub bridge: bridge::Config,
    /// How a tool process is started.
    pub launch: Launch,
    /// `--socket`: where the tool process finds us, instead of a private folder of our own.
    pub socket: Option<PathBuf>,
    /// Restart the tool process when files change.
    pub watch: Option<Watch>,
    /// Hosts reach us over HTTP, instead of on standard input and output.
    pub http: Option<HttpSettings>,
    /// Sentences for the person, shown before all others.
    pub warnings: Vec<String>,
    /// The least important lines that are shown on stderr.
    pub log_level: Level,
    /// How they are spelled.
    pub log_format: Format,
}

/// How hosts reach us over HTTP.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Where we listen.
    pub listen: Vec<Address>,
    /// What connections and sessions keep to.
    pub server: server::Config,
    /// Who may ask.
    pub admission: Admission,
}

/// Where we listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// At an address of the network; with port 0 the system chooses one.
    Tcp(SocketAddr),
    /// At a file.
    Unix(PathBuf),
    /// At a socket that a service manager opened.
    Handed(activation::Handed),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Handed(handed) => handed.fmt(f),
        }
    }
}

/// How a tool process is started.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Program and arguments; behind a build the arguments alone.
    pub command: Vec<OsString>,
    /// What makes the program, before each start.
    pub build: Option<Build>,
    /// Its working folder; ours if absent.
    pub folder: Option<PathBuf>,
    /// Its `PATH`, where it is not ours.
    pub search_path: Option<OsString>,
    /// `--env-file`: read at each start, added to our own environment.
    pub environment_file: Option<PathBuf>,
    /// `--env`: added to all of that.
    pub environment: Vec<(OsString, OsString)>,
}

/// A build that runs before each start, beside the process that serves.
#[derive(Clone, Debug)]
pub struct Build {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Where it runs.
    pub folder: PathBuf,
    /// What it makes.
    pub artefact: Artefact,
    /// The command for a person.
    pub shown: String,
}

/// The program that a build makes.
#[derive(Clone, Debug)]
pub enum Artefact {
    /// cargo tells where it is: the executable that is made of this source file.
    Told {
        /// The root of its target.
        source: PathBuf,
    },
    /// It is written where we say: `-o FILE` and these words are added to the build's command.
    Written {
        /// What is built.
        words: Vec<OsString>,
    },
}

/// What is watched.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Which files count, and where they are.
    pub rules: rules::Rules,
    /// `--poll`: look this often, instead of being told.
    pub poll: Option<Duration>,
}

/// Why the program could not begin its work. Once it serves, nothing ends it but its host or a
/// signal.
#[derive(Debug)]
pub struct Error {
    sentence: String,
    source: io::Error,
}

impl Error {
    fn new(sentence: impl Into<String>, source: io::Error) -> Self {
        Self { sentence: sentence.into(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.sentence, self.source)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Whether a file can be used for `--env-file`. Its lines may still be wrong.
pub fn check_environment_file(path: &Path) -> io::Result<()> {
    environment::read_file(path).map(drop)
}

/// A line of ours for stderr, with its newline, of a time when no loop runs.
pub fn log_line(format: Format, level: Level, text: &str) -> Vec<u8> {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    log_line::log_line(format, wall, log_line::Source::Pmcp, level, text)
}

/// Serves one host on standard input and output until it is gone, or many over HTTP, until a signal
/// asks us to end; returning `Ok` means exit code 0.
pub fn serve(settings: Settings) -> Result<(), Error> {
    event_loop::EventLoop::new(settings)?.run()
}

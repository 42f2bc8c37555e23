//! What was typed: words become a [`Command`], and nothing else happens.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};

use crate::bridge::ReloadMode;
use crate::cli::access::{self, Access};
use crate::cli::flag::Flag;
use crate::cli::health::{self, Target};
use crate::cli::help::Topic;
use crate::cli::network::{self, Network};
use crate::cli::{quantity, suggest};
use crate::limits::{FLAG_POLL_MIN, HEALTH_TIMEOUT};
use crate::log::{self, Level};

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show a help text.
    Help(Topic),
    /// Show the version.
    Version,
    /// Serve a file.
    Serve(Box<Serve>),
    /// Tell what would become of a file.
    Doctor(Box<Serve>, Format),
    /// Ask one that serves how it is, and wait so long for the answer.
    Health(Target, Duration),
}

/// How `pmcp doctor` tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For a person.
    #[default]
    Text,
    /// For a program.
    Json,
}

/// `pmcp run` and `pmcp dev`, as typed; an absent flag is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Serve {
    /// `dev` instead of `run`.
    pub dev: bool,
    /// The file that holds the tools; empty if there is a `command`.
    pub file: PathBuf,
    /// For the tool process.
    pub args: Vec<OsString>,
    /// What starts the tool process instead of a file: the words behind `--`.
    pub command: Vec<OsString>,
    /// `--runtime`
    pub runtime: Option<String>,
    /// `--cwd`
    pub cwd: Option<PathBuf>,
    /// `--env`, in their order.
    pub env: Vec<(String, String)>,
    /// `--env-file`
    pub env_file: Option<PathBuf>,
    /// `--socket`
    pub socket: Option<PathBuf>,
    /// `--name`
    pub name: Option<String>,
    /// `--server-version`
    pub server_version: Option<String>,
    /// `--instructions`
    pub instructions: Option<PathBuf>,
    /// `--max-message`, bytes
    pub message_max: Option<usize>,
    /// `--build-timeout`
    pub build_timeout: Option<Duration>,
    /// `--start-timeout`
    pub start_timeout: Option<Duration>,
    /// `--call-timeout`
    pub call_timeout: Option<Duration>,
    /// `--input-timeout`
    pub input_timeout: Option<Duration>,
    /// `--cancel-grace`
    pub cancel_grace: Option<Duration>,
    /// `--tasks-max`
    pub tasks_max: Option<usize>,
    /// `--state-key-env`
    pub state_key_env: Option<String>,
    /// `--grace`
    pub grace: Option<Duration>,
    /// `--hot-reload`
    pub hot_reload: Option<ReloadMode>,
    /// `--exclusive`
    pub exclusive: bool,
    /// `--drain`
    pub drain: Option<Duration>,
    /// `--watch`, each
    pub watch: Vec<String>,
    /// `--ignore`, each
    pub ignore: Vec<String>,
    /// `--poll`
    pub poll: Option<Duration>,
    /// Who may ask over HTTP.
    pub access: Access,
    /// Where hosts reach us.
    pub network: Network,
    /// `--log-level`, `-v`, `-q`: the last one holds.
    pub log_level: Option<Level>,
    /// `--log-format`
    pub log_format: log::Format,
}

/// What `--log-level` is when it is absent: hosts show what `run` prints as if it were trouble, a
/// developer wants to see the restarts.
pub const fn log_level_default(dev: bool) -> Level {
    if dev { Level::Info } else { Level::Warning }
}

/// Parses the words behind the program's name. The error says what is wrong with them and what
/// was probably meant.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut parser = Parser::from_args(words);
    match next(&mut parser)? {
        None => Err("no command; try pmcp run FILE, or pmcp help".into()),
        Some(Arg::Value(command)) => match command.to_str() {
            Some("run") => serve(&mut parser, Topic::Run),
            Some("dev") => serve(&mut parser, Topic::Dev),
            Some("doctor") => serve(&mut parser, Topic::Doctor),
            Some("health") => health(&mut parser),
            Some("help") => help(&mut parser),
            _ => Err(unknown_command(&command.to_string_lossy())),
        },
        Some(arg) => {
            let (flag, typed) = known(&arg, &[Flag::Help, Flag::Version]);
            match flag {
                Some(Flag::Help) => Ok(Command::Help(Topic::Pmcp)),
                Some(_) => Ok(Command::Version),
                None if Flag::ALL.iter().any(|flag| typed == format!("--{}", flag.long())) => {
                    Err(format!("{typed} belongs behind a command: pmcp run FILE {typed}"))
                }
                None => Err(unknown_flag(&typed, &[Flag::Help, Flag::Version], "pmcp --help")),
            }
        }
    }
}

/// `pmcp help [TOPIC]`
fn help(parser: &mut Parser) -> Result<Command, String> {
    match next(parser)? {
        None | Some(Arg::Short('h') | Arg::Long("help")) => Ok(Command::Help(Topic::Pmcp)),
        Some(Arg::Value(topic)) => {
            let topic = topic.to_string_lossy();
            match Topic::NAMED.iter().find(|(name, _)| *name == topic) {
                Some((_, topic)) => Ok(Command::Help(*topic)),
                None => {
                    let names = Topic::NAMED.map(|(name, _)| name);
                    let hint = did_you_mean(
                        suggest::nearest(&topic, &names),
                        "",
                        "the topics are run, dev, doctor and health",
                    );
                    Err(format!("no help about \"{topic}\"; {hint}"))
                }
            }
        }
        Some(arg) => Err(unknown_flag(&known(&arg, &[]).1, &[Flag::Help], "pmcp --help")),
    }
}

/// `pmcp health [URL]`
fn health(parser: &mut Parser) -> Result<Command, String> {
    let mut target = None;
    let mut timeout = HEALTH_TIMEOUT;
    while let Some(arg) = next(parser)? {
        match known(&arg, &Flag::HEALTH) {
            (Some(Flag::Help), _) => return Ok(Command::Help(Topic::Health)),
            (Some(Flag::Version), _) => return Ok(Command::Version),
            (Some(flag), _) => timeout = read(parser, flag, bound)?,
            (None, typed) if matches!(arg, Arg::Value(_)) => {
                let understood =
                    health::target(&typed).map_err(|problem| format!("\"{typed}\" {problem}"))?;
                if target.replace(understood).is_some() {
                    return Err("one URL is asked at a time; see pmcp health --help".into());
                }
            }
            (None, typed) => return Err(unknown_flag(&typed, &Flag::HEALTH, "pmcp health --help")),
        }
    }
    Ok(Command::Health(target.unwrap_or_default(), timeout))
}

/// `pmcp run FILE …`, `pmcp dev FILE …` and `pmcp doctor FILE …`, or `-- COMMAND …` instead of the
/// file; flags may stand before and behind the file.
fn serve(parser: &mut Parser, topic: Topic) -> Result<Command, String> {
    let flags = if topic == Topic::Doctor { &Flag::DOCTOR[..] } else { &Flag::ALL };
    let command = Topic::NAMED.iter().find(|(_, named)| *named == topic).map_or("run", |(name, _)| *name);
    let mut file = None;
    let mut typed = Serve { dev: topic == Topic::Dev, ..Serve::default() };
    let mut format = Format::default();
    let is_only_of_dev = |flag: Flag| topic != Topic::Dev && Flag::DEV.contains(&flag);
    loop {
        // Behind a file a bare double dash only ends the flags, which lexopt sees to.
        let mut rest = parser.try_raw_args().filter(|_| file.is_none());
        if rest.as_mut().is_some_and(|rest| rest.next_if(|word| word == "--").is_some()) {
            typed.command = rest.into_iter().flatten().collect();
            break;
        }
        let Some(arg) = next(parser)? else { break };
        if let Arg::Value(value) = arg {
            match &file {
                None => file = Some(PathBuf::from(value)),
                Some(_) => typed.args.push(value),
            }
            continue;
        }
        let (flag, spelled) = known(&arg, flags);
        let Some(flag) = flag else {
            let flags = flags.iter().copied().filter(|flag| !is_only_of_dev(*flag)).collect::<Vec<_>>();
            return Err(unknown_flag(&spelled, &flags, &format!("pmcp {command} --help")));
        };
        match flag {
            flag if is_only_of_dev(flag) => {
                return Err(format!("{spelled} belongs behind pmcp dev; pmcp {command} watches nothing"));
            }
            Flag::Help => return Ok(Command::Help(topic)),
            Flag::Version => return Ok(Command::Version),
            Flag::Runtime => typed.runtime = Some(text(parser, flag)?),
            Flag::Cwd => typed.cwd = Some(path(parser, flag)?),
            Flag::Env => typed.env.push(variable(parser)?),
            Flag::EnvFile => typed.env_file = Some(path(parser, flag)?),
            Flag::Socket => typed.socket = Some(path(parser, flag)?),
            Flag::Name => typed.name = Some(text(parser, flag)?),
            Flag::ServerVersion => typed.server_version = Some(text(parser, flag)?),
            Flag::Instructions => typed.instructions = Some(path(parser, flag)?),
            Flag::MaxMessage => typed.message_max = Some(read(parser, flag, quantity::size)?),
            Flag::BuildTimeout => typed.build_timeout = Some(read(parser, flag, bound)?),
            // Of another command.
            Flag::Timeout => {}
            Flag::Format => format = read(parser, flag, format_of)?,
            Flag::StartTimeout => typed.start_timeout = Some(read(parser, flag, bound)?),
            Flag::CallTimeout => typed.call_timeout = Some(read(parser, flag, bound)?),
            Flag::InputTimeout => typed.input_timeout = Some(read(parser, flag, bound)?),
            Flag::CancelGrace => typed.cancel_grace = Some(read(parser, flag, quantity::duration)?),
            Flag::TasksMax => typed.tasks_max = Some(read(parser, flag, quantity::count)?),
            Flag::StateKeyEnv => typed.state_key_env = Some(text(parser, flag)?),
            Flag::Grace => typed.grace = Some(read(parser, flag, quantity::duration)?),
            Flag::HotReload => typed.hot_reload = Some(read(parser, flag, reload_mode)?),
            Flag::Exclusive => typed.exclusive = true,
            Flag::Drain => typed.drain = Some(read(parser, flag, quantity::duration)?),
            Flag::Watch => typed.watch.push(text(parser, flag)?),
            Flag::Ignore => typed.ignore.push(text(parser, flag)?),
            Flag::Poll => typed.poll = Some(read(parser, flag, poll)?),
            Flag::Transport => typed.network.transport = Some(read(parser, flag, network::transport)?),
            Flag::Listen => typed.network.listen.push(read(parser, flag, network::address)?),
            Flag::Port => typed.network.port = Some(read(parser, flag, network::port)?),
            Flag::ConnectionsMax => typed.network.connections_max = Some(read(parser, flag, network::count)?),
            Flag::SessionsMax => typed.network.sessions_max = Some(read(parser, flag, network::count)?),
            Flag::Isolate => {
                read(parser, flag, network::isolate)?;
                typed.network.isolate = true;
            }
            Flag::ProcessesMax => {
                typed.network.processes_max = Some(read(parser, flag, network::count)?);
            }
            Flag::SessionIdle => typed.network.session_idle = Some(read(parser, flag, bound)?),
            Flag::StreamTime => typed.network.stream_time = Some(read(parser, flag, bound)?),
            Flag::Auth => typed.access.auth.push(read(parser, flag, access::auth)?),
            Flag::Insecure => typed.access.insecure = true,
            Flag::AllowHost => typed.access.hosts.push(read(parser, flag, from_str)?),
            Flag::AllowOrigin => typed.access.origins.push(read(parser, flag, from_str)?),
            Flag::Proxy => typed.access.proxies.push(read(parser, flag, from_str)?),
            Flag::OauthIssuer => typed.access.issuer = Some(text(parser, flag)?),
            Flag::OauthAudience => typed.access.audiences.push(text(parser, flag)?),
            Flag::OauthJwks => typed.access.jwks = Some(path(parser, flag)?),
            Flag::OauthScope => typed.access.scopes.push(text(parser, flag)?),
            Flag::TlsCert => typed.access.certificate = Some(path(parser, flag)?),
            Flag::TlsKey => typed.access.tls_key = Some(path(parser, flag)?),
            Flag::Rate => typed.access.rate = Some(read(parser, flag, access::rate)?),
            Flag::MaxInFlight => typed.access.in_flight_max = Some(read(parser, flag, access::in_flight)?),
            Flag::LogLevel => typed.log_level = Some(read(parser, flag, level)?),
            Flag::LogFormat => typed.log_format = read(parser, flag, log_format)?,
            Flag::Verbose => typed.log_level = Some(Level::Debug),
            Flag::Quiet => typed.log_level = Some(Level::Error),
        }
    }
    typed.file = file.filter(|file| !file.as_os_str().is_empty()).unwrap_or_default();
    match (typed.file.as_os_str().is_empty(), typed.command.is_empty()) {
        (true, true) => {
            return Err(format!(
                "no file; pmcp {command} FILE serves the tools of FILE (see pmcp {command} --help)"
            ));
        }
        (true, false) if typed.runtime.is_some() => {
            return Err("--runtime belongs to a file, but a whole command was typed".into());
        }
        _ => {}
    }
    let typed = Box::new(typed);
    Ok(if topic == Topic::Doctor { Command::Doctor(typed, format) } else { Command::Serve(typed) })
}

/// The next word. The one thing that can be wrong with it is a value glued to a switch.
fn next(parser: &mut Parser) -> Result<Option<Arg<'_>>, String> {
    parser.next().map_err(|error| match error {
        lexopt::Error::UnexpectedValue { option, value } => {
            format!("{option} takes no value, but {value:?} was given")
        }
        other => other.to_string(),
    })
}

/// The flag that was typed, if it is one of these, and its spelling.
fn known(arg: &Arg<'_>, flags: &[Flag]) -> (Option<Flag>, String) {
    match arg {
        Arg::Long(name) => (flags.iter().copied().find(|flag| flag.long() == *name), format!("--{name}")),
        Arg::Short(letter) => {
            (flags.iter().copied().find(|flag| flag.short() == Some(*letter)), format!("-{letter}"))
        }
        Arg::Value(value) => (None, value.to_string_lossy().into_owned()),
    }
}

fn unknown_flag(typed: &str, flags: &[Flag], see: &str) -> String {
    let name = typed.trim_start_matches('-');
    let nearest = suggest::nearest(name, &flags.iter().map(|flag| flag.long()).collect::<Vec<_>>());
    format!("unknown flag {typed}; {}", did_you_mean(nearest, "--", &format!("see {see}")))
}

fn unknown_command(typed: &str) -> String {
    // The commonest slip: the file without the command.
    if typed.contains(['.', '/']) {
        return format!("\"{typed}\" is not a command; did you mean pmcp run {typed}?");
    }
    let nearest = suggest::nearest(typed, &["run", "dev", "doctor", "health", "help", "--help", "--version"]);
    let hint = did_you_mean(nearest, "", "the commands are run, dev, doctor, health and help");
    format!("\"{typed}\" is not a command; {hint}")
}

fn did_you_mean(nearest: Option<&str>, prefix: &str, otherwise: &str) -> String {
    match nearest {
        Some(word) => format!("did you mean {prefix}{word}?"),
        None => otherwise.into(),
    }
}

fn value(parser: &mut Parser, flag: Flag) -> Result<OsString, String> {
    let name = flag.value().unwrap_or_default();
    parser.value().map_err(|_| format!("--{0} needs a value: --{0} {name}", flag.long()))
}

fn text(parser: &mut Parser, flag: Flag) -> Result<String, String> {
    let text =
        value(parser, flag)?.string().map_err(|_| format!("--{}: the value is not UTF-8", flag.long()))?;
    if text.trim().is_empty() {
        return Err(format!("--{}: the value is empty", flag.long()));
    }
    Ok(text)
}

fn path(parser: &mut Parser, flag: Flag) -> Result<PathBuf, String> {
    let path = value(parser, flag)?;
    if path.is_empty() {
        return Err(format!("--{}: the value is empty", flag.long()));
    }
    Ok(path.into())
}

/// A value that is understood, or an error that shows it.
fn read<T>(
    parser: &mut Parser,
    flag: Flag,
    understand: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, String> {
    let text = text(parser, flag)?;
    understand(&text).map_err(|problem| format!("--{}: \"{text}\" {problem}", flag.long()))
}

fn from_str<T: FromStr<Err = &'static str>>(text: &str) -> Result<T, String> {
    text.parse().map_err(str::to_string)
}

fn poll(text: &str) -> Result<Duration, String> {
    match quantity::duration(text)? {
        short if short < FLAG_POLL_MIN => Err(format!("is less than {FLAG_POLL_MIN:?}")),
        time => Ok(time),
    }
}

/// A time that something is given; none at all would forbid it.
fn bound(text: &str) -> Result<Duration, String> {
    match quantity::duration(text)? {
        Duration::ZERO => Err("leaves no time at all".into()),
        time => Ok(time),
    }
}

/// `--env NAME=VALUE`. The value is not shown, it may be a secret.
fn variable(parser: &mut Parser) -> Result<(String, String), String> {
    let text = text(parser, Flag::Env)?;
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains('\0') => Ok((name.into(), value.into())),
        _ => Err(format!("--env: \"{}\" is not NAME=VALUE", text.split('=').next().unwrap_or_default())),
    }
}

fn format_of(text: &str) -> Result<Format, String> {
    match text {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err("is not a format; they are text and json".into()),
    }
}

pub(super) fn reload_mode(text: &str) -> Result<ReloadMode, String> {
    match text {
        "safe" => Ok(ReloadMode::Safe),
        "immediate" => Ok(ReloadMode::Immediate),
        "graceful" => Ok(ReloadMode::Graceful),
        _ => {
            let nearest = suggest::nearest(text, &["safe", "immediate", "graceful"]);
            let hint = did_you_mean(nearest, "", "they are safe, immediate and graceful");
            Err(format!("is not a way to reload; {hint}"))
        }
    }
}

pub(super) fn log_format(text: &str) -> Result<log::Format, String> {
    match text {
        "text" => Ok(log::Format::Text),
        "json" => Ok(log::Format::Json),
        _ => Err("is not a format; they are text and json".into()),
    }
}

fn level(text: &str) -> Result<Level, String> {
    const LEVELS: [Level; 4] = [Level::Error, Level::Warning, Level::Info, Level::Debug];
    LEVELS.into_iter().find(|level| level.as_str() == text).ok_or_else(|| {
        let nearest = suggest::nearest(text, &LEVELS.map(Level::as_str));
        format!("is not a level; {}", did_you_mean(nearest, "", "they are error, warning, info and debug"))
    })
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;

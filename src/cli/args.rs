//! What was typed: words become a [`Command`], and nothing else happens.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};

use crate::bridge::ReloadMode;
use crate::cli::help::Topic;
use crate::cli::{quantity, suggest};
use crate::log::Level;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show a help text.
    Help(Topic),
    /// Show the version.
    Version,
    /// Serve a file.
    Serve(Box<Serve>),
}

/// `pmcp run` and `pmcp dev`, as typed; an absent flag is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Serve {
    /// `dev` instead of `run`.
    pub dev: bool,
    /// The file that holds the tools.
    pub file: PathBuf,
    /// For the tool process.
    pub args: Vec<OsString>,
    /// `--runtime`
    pub runtime: Option<String>,
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
    /// `--start-timeout`
    pub start_timeout: Option<Duration>,
    /// `--call-timeout`
    pub call_timeout: Option<Duration>,
    /// `--grace`
    pub grace: Option<Duration>,
    /// `--hot-reload`
    pub hot_reload: Option<ReloadMode>,
    /// `--exclusive`
    pub exclusive: bool,
    /// `--drain`
    pub drain: Option<Duration>,
    /// `--log-level`, `-v`, `-q`: the last one holds.
    pub log_level: Option<Level>,
}

/// The flags of `run` and `dev`. Only what is in [`Flag::ALL`] can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// Which command starts the file.
    Runtime,
    /// Where the tool process finds us.
    Socket,
    /// The server's name.
    Name,
    /// The server's version.
    ServerVersion,
    /// The file with the server's instructions.
    Instructions,
    /// The bound of a message.
    MaxMessage,
    /// The bound of a start.
    StartTimeout,
    /// The bound of a call.
    CallTimeout,
    /// What running calls get at the end.
    Grace,
    /// How changed files come into effect.
    HotReload,
    /// Never two processes at once.
    Exclusive,
    /// What the calls of a replaced process get.
    Drain,
    /// How the host is reached.
    Transport,
    /// The least important lines shown.
    LogLevel,
    /// All lines.
    Verbose,
    /// Only errors.
    Quiet,
    /// The help text.
    Help,
    /// The version.
    Version,
}

impl Flag {
    /// All of them.
    pub const ALL: [Flag; 18] = [
        Flag::Runtime,
        Flag::Socket,
        Flag::Name,
        Flag::ServerVersion,
        Flag::Instructions,
        Flag::MaxMessage,
        Flag::StartTimeout,
        Flag::CallTimeout,
        Flag::Grace,
        Flag::HotReload,
        Flag::Exclusive,
        Flag::Drain,
        Flag::Transport,
        Flag::LogLevel,
        Flag::Verbose,
        Flag::Quiet,
        Flag::Help,
        Flag::Version,
    ];

    /// The name behind two dashes.
    pub const fn long(self) -> &'static str {
        match self {
            Flag::Runtime => "runtime",
            Flag::Socket => "socket",
            Flag::Name => "name",
            Flag::ServerVersion => "server-version",
            Flag::Instructions => "instructions",
            Flag::MaxMessage => "max-message",
            Flag::StartTimeout => "start-timeout",
            Flag::CallTimeout => "call-timeout",
            Flag::Grace => "grace",
            Flag::HotReload => "hot-reload",
            Flag::Exclusive => "exclusive",
            Flag::Drain => "drain",
            Flag::Transport => "transport",
            Flag::LogLevel => "log-level",
            Flag::Verbose => "verbose",
            Flag::Quiet => "quiet",
            Flag::Help => "help",
            Flag::Version => "version",
        }
    }

    /// The letter behind one dash.
    pub const fn short(self) -> Option<char> {
        match self {
            Flag::Verbose => Some('v'),
            Flag::Quiet => Some('q'),
            Flag::Help => Some('h'),
            Flag::Version => Some('V'),
            _ => None,
        }
    }

    /// What its value is called in the help text; `None` for a switch.
    pub const fn value(self) -> Option<&'static str> {
        match self {
            Flag::Runtime => Some("CMD"),
            Flag::Socket => Some("PATH"),
            Flag::Name | Flag::Transport => Some("NAME"),
            Flag::ServerVersion => Some("V"),
            Flag::Instructions => Some("FILE"),
            Flag::MaxMessage => Some("SIZE"),
            Flag::HotReload => Some("MODE"),
            Flag::StartTimeout | Flag::CallTimeout | Flag::Grace | Flag::Drain => Some("TIME"),
            Flag::LogLevel => Some("LEVEL"),
            Flag::Exclusive | Flag::Verbose | Flag::Quiet | Flag::Help | Flag::Version => None,
        }
    }
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
            Some("run") => serve(&mut parser, false),
            Some("dev") => serve(&mut parser, true),
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
                    let hint =
                        did_you_mean(suggest::nearest(&topic, &names), "", "the topics are run and dev");
                    Err(format!("no help about \"{topic}\"; {hint}"))
                }
            }
        }
        Some(arg) => Err(unknown_flag(&known(&arg, &[]).1, &[Flag::Help], "pmcp --help")),
    }
}

/// `pmcp run FILE …` and `pmcp dev FILE …`; flags may stand before and behind the file.
fn serve(parser: &mut Parser, dev: bool) -> Result<Command, String> {
    let command = if dev { "dev" } else { "run" };
    let mut file = None;
    let mut typed = Serve { dev, ..Serve::default() };
    while let Some(arg) = next(parser)? {
        if let Arg::Value(value) = arg {
            match &file {
                None => file = Some(PathBuf::from(value)),
                Some(_) => typed.args.push(value),
            }
            continue;
        }
        let (flag, spelled) = known(&arg, &Flag::ALL);
        let Some(flag) = flag else {
            return Err(unknown_flag(&spelled, &Flag::ALL, &format!("pmcp {command} --help")));
        };
        match flag {
            Flag::Help => return Ok(Command::Help(if dev { Topic::Dev } else { Topic::Run })),
            Flag::Version => return Ok(Command::Version),
            Flag::Runtime => typed.runtime = Some(text(parser, flag)?),
            Flag::Socket => typed.socket = Some(path(parser, flag)?),
            Flag::Name => typed.name = Some(text(parser, flag)?),
            Flag::ServerVersion => typed.server_version = Some(text(parser, flag)?),
            Flag::Instructions => typed.instructions = Some(path(parser, flag)?),
            Flag::MaxMessage => typed.message_max = Some(read(parser, flag, quantity::size)?),
            Flag::StartTimeout => typed.start_timeout = Some(read(parser, flag, bound)?),
            Flag::CallTimeout => typed.call_timeout = Some(read(parser, flag, bound)?),
            Flag::Grace => typed.grace = Some(read(parser, flag, quantity::duration)?),
            Flag::HotReload => typed.hot_reload = Some(read(parser, flag, reload_mode)?),
            Flag::Exclusive => typed.exclusive = true,
            Flag::Drain => typed.drain = Some(read(parser, flag, quantity::duration)?),
            Flag::Transport => read(parser, flag, transport)?,
            Flag::LogLevel => typed.log_level = Some(read(parser, flag, level)?),
            Flag::Verbose => typed.log_level = Some(Level::Debug),
            Flag::Quiet => typed.log_level = Some(Level::Error),
        }
    }
    typed.file = file.filter(|file| !file.as_os_str().is_empty()).ok_or_else(|| {
        format!("no file; pmcp {command} FILE serves the tools of FILE (see pmcp {command} --help)")
    })?;
    Ok(Command::Serve(Box::new(typed)))
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
    let nearest = suggest::nearest(typed, &["run", "dev", "help", "--help", "--version"]);
    let hint = did_you_mean(nearest, "", "the commands are run, dev and help");
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

/// A time that something is given; none at all would forbid it.
fn bound(text: &str) -> Result<Duration, String> {
    match quantity::duration(text)? {
        Duration::ZERO => Err("leaves no time at all".into()),
        time => Ok(time),
    }
}

fn transport(text: &str) -> Result<(), String> {
    match text {
        "stdio" => Ok(()),
        _ => Err("is not a transport; the only one is stdio".into()),
    }
}

fn reload_mode(text: &str) -> Result<ReloadMode, String> {
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

fn level(text: &str) -> Result<Level, String> {
    const LEVELS: [Level; 4] = [Level::Error, Level::Warning, Level::Info, Level::Debug];
    LEVELS.into_iter().find(|level| level.as_str() == text).ok_or_else(|| {
        let nearest = suggest::nearest(text, &LEVELS.map(Level::as_str));
        format!("is not a level; {}", did_you_mean(nearest, "", "they are error, warning, info and debug"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn served(line: &str) -> Serve {
        match typed(line) {
            Ok(Command::Serve(serve)) => *serve,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn all_flags_before_and_behind_the_file() {
        let flags = "--runtime uv --socket /s --name n --server-version 2 --instructions i.md \
            --max-message 1M --start-timeout 2s --call-timeout 3m --grace 0 --hot-reload graceful \
            --drain 1m --transport stdio --log-level info";
        let expected = Serve {
            dev: true,
            file: "f.py".into(),
            args: Vec::new(),
            runtime: Some("uv".into()),
            socket: Some("/s".into()),
            name: Some("n".into()),
            server_version: Some("2".into()),
            instructions: Some("i.md".into()),
            message_max: Some(1 << 20),
            start_timeout: Some(Duration::from_secs(2)),
            call_timeout: Some(Duration::from_secs(180)),
            grace: Some(Duration::ZERO),
            hot_reload: Some(ReloadMode::Graceful),
            exclusive: false,
            drain: Some(Duration::from_secs(60)),
            log_level: Some(Level::Info),
        };
        assert_eq!(served(&format!("dev {flags} f.py")), expected);
        assert_eq!(served(&format!("dev f.py {flags}")), expected);
        let glued: Vec<String> = flags
            .split_whitespace()
            .collect::<Vec<_>>()
            .chunks(2)
            .map(|pair| format!("{}={}", pair[0], pair[1]))
            .collect();
        assert_eq!(served(&format!("dev f.py {}", glued.join(" "))), expected);
    }

    #[test]
    fn arguments_of_the_tool_process() {
        assert_eq!(served("run f.py a b").args, ["a", "b"]);
        assert_eq!(served("run f.py -q -- --name -x").args, ["--name", "-x"]);
        assert_eq!(served("run f.py a -q").log_level, Some(Level::Error));
        assert_eq!(served("run -- -f.py").file, PathBuf::from("-f.py"));
        assert_eq!(served("run f.py").args, Vec::<OsString>::new());
    }

    #[test]
    fn the_last_flag_holds() {
        assert_eq!(served("run f -v -q").log_level, Some(Level::Error));
        assert_eq!(served("run f -q --log-level debug").log_level, Some(Level::Debug));
        assert_eq!(served("run f --name a --name b").name.as_deref(), Some("b"));
    }

    #[test]
    fn help_and_version_from_everywhere() {
        for (line, topic) in [
            ("-h", Topic::Pmcp),
            ("--help", Topic::Pmcp),
            ("help", Topic::Pmcp),
            ("help --help", Topic::Pmcp),
            ("help run", Topic::Run),
            ("help dev", Topic::Dev),
            ("run -h", Topic::Run),
            ("run no-such-file.py --help", Topic::Run),
            ("dev --grace 1s --help", Topic::Dev),
        ] {
            assert_eq!(typed(line), Ok(Command::Help(topic)), "{line}");
        }
        for line in ["-V", "--version", "run --version", "dev f.py -V"] {
            assert_eq!(typed(line), Ok(Command::Version), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_and_what_was_meant() {
        for (line, problem) in [
            ("", "no command; try pmcp run FILE, or pmcp help"),
            ("rum f.py", "\"rum\" is not a command; did you mean run?"),
            ("develop", "\"develop\" is not a command; the commands are run, dev and help"),
            ("version", "\"version\" is not a command; did you mean --version?"),
            ("server.py", "\"server.py\" is not a command; did you mean pmcp run server.py?"),
            ("--halp", "unknown flag --halp; did you mean --help?"),
            ("-x", "unknown flag -x; see pmcp --help"),
            ("--grace 1s", "--grace belongs behind a command: pmcp run FILE --grace"),
            ("--help=me", "Ok"),
            ("run", "no file; pmcp run FILE serves the tools of FILE (see pmcp run --help)"),
            ("dev --quiet", "no file; pmcp dev FILE serves the tools of FILE (see pmcp dev --help)"),
            ("run f.py --runtim uv", "unknown flag --runtim; did you mean --runtime?"),
            ("run f.py --call-timout=1s", "unknown flag --call-timout; did you mean --call-timeout?"),
            ("run f.py --port 80", "unknown flag --port; see pmcp run --help"),
            ("dev f.py -z", "unknown flag -z; see pmcp dev --help"),
            ("run f.py --quiet=yes", "--quiet takes no value, but \"yes\" was given"),
            ("run f.py --grace", "--grace needs a value: --grace TIME"),
            ("run f.py --name=", "--name: the value is empty"),
            ("run f.py --socket=", "--socket: the value is empty"),
            ("run f.py --grace 5", "--grace: \"5\" has no unit: 5s, 5m?"),
            ("run f.py --call-timeout 0s", "--call-timeout: \"0s\" leaves no time at all"),
            ("run f.py --call-timeout x", "--call-timeout: \"x\" is not a time such as 300ms, 1.5s or 1h30m"),
            ("run f.py --max-message 0", "--max-message: \"0\" is not between 1K and 2047M"),
            ("run f.py --transport http", "--transport: \"http\" is not a transport; the only one is stdio"),
            ("run f.py --log-level warn", "--log-level: \"warn\" is not a level; did you mean warning?"),
            (
                "run f.py --log-level 3",
                "--log-level: \"3\" is not a level; they are error, warning, info and debug",
            ),
            ("help rnu", "no help about \"rnu\"; did you mean run?"),
            ("help everything", "no help about \"everything\"; the topics are run and dev"),
            ("help --verbose", "unknown flag --verbose; see pmcp --help"),
        ] {
            let said = typed(line).err().unwrap_or_else(|| "Ok".into());
            assert_eq!(said, problem, "{line}");
        }
    }

    #[test]
    fn bytes_that_are_no_text() {
        use std::os::unix::ffi::OsStringExt;
        let bytes = OsString::from_vec(b"f\xff.py".to_vec());
        let words = |words: [&OsString; 2]| parse(words.into_iter().cloned());
        match words([&"run".into(), &bytes]) {
            Ok(Command::Serve(serve)) => assert_eq!(serve.file, PathBuf::from(&bytes)),
            other => panic!("{other:?}"),
        }
        assert!(words([&bytes, &bytes]).is_err());
        let name = parse(["run".into(), "f.py".into(), "--name".into(), bytes]);
        assert_eq!(name, Err("--name: the value is not UTF-8".into()));
    }
}

//! The flags of the command line: which there are, how they are spelled, whose they are.

/// The flags. Only what is in [`Flag::ALL`] (or in [`Flag::DOCTOR`] or
/// [`Flag::HEALTH`]) can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// Which command starts the file.
    Runtime,
    /// Where the tool process runs.
    Cwd,
    /// One variable of its environment.
    Env,
    /// A file of such variables.
    EnvFile,
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
    /// The bound of a build.
    BuildTimeout,
    /// The bound of a start.
    StartTimeout,
    /// The bound of a call.
    CallTimeout,
    /// The bound of a host's answer to a question.
    InputTimeout,
    /// What a cancelled call gets.
    CancelGrace,
    /// How many tasks are kept.
    TasksMax,
    /// Where the key is that signs what hosts bring back.
    StateKeyEnv,
    /// What running calls get at the end.
    Grace,
    /// How changed files come into effect.
    HotReload,
    /// Never two processes at once.
    Exclusive,
    /// What the calls of a replaced process get.
    Drain,
    /// Which files count as well.
    Watch,
    /// Which files and folders do not count.
    Ignore,
    /// How often files are looked at.
    Poll,
    /// How the host is reached.
    Transport,
    /// Where clients over HTTP find us.
    Listen,
    /// The same by its port alone.
    Port,
    /// How many connections may be open.
    ConnectionsMax,
    /// How many sessions there may be.
    SessionsMax,
    /// What gets a tool process of its own.
    Isolate,
    /// How many such processes there may be.
    ProcessesMax,
    /// How long a session lives that nobody uses.
    SessionIdle,
    /// How long one connection carries a stream.
    StreamTime,
    /// A secret that requests bring.
    Auth,
    /// Everybody may ask.
    Insecure,
    /// A further name of ours.
    AllowHost,
    /// Whose pages may ask.
    AllowOrigin,
    /// Whose word counts for others.
    Proxy,
    /// Whose tokens are believed.
    OauthIssuer,
    /// For whom they must be issued.
    OauthAudience,
    /// The keys that they are signed with.
    OauthJwks,
    /// What they must allow.
    OauthScope,
    /// The certificate for TLS.
    TlsCert,
    /// Its private key.
    TlsKey,
    /// How often one caller may ask.
    Rate,
    /// How many requests are worked on at once.
    MaxInFlight,
    /// How long `pmcp health` waits.
    Timeout,
    /// How `pmcp doctor` tells what it found.
    Format,
    /// The least important lines shown.
    LogLevel,
    /// How lines are spelled.
    LogFormat,
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
    /// Those of `doctor`.
    pub const DOCTOR: [Flag; 9] = [
        Flag::Runtime,
        Flag::Cwd,
        Flag::Env,
        Flag::EnvFile,
        Flag::BuildTimeout,
        Flag::StartTimeout,
        Flag::Format,
        Flag::Help,
        Flag::Version,
    ];

    /// Those of `health`.
    pub const HEALTH: [Flag; 3] = [Flag::Timeout, Flag::Help, Flag::Version];

    /// Those of `run` and `dev`.
    pub const ALL: [Flag; 51] = [
        Flag::Runtime,
        Flag::Cwd,
        Flag::Env,
        Flag::EnvFile,
        Flag::Socket,
        Flag::Name,
        Flag::ServerVersion,
        Flag::Instructions,
        Flag::MaxMessage,
        Flag::BuildTimeout,
        Flag::StartTimeout,
        Flag::CallTimeout,
        Flag::InputTimeout,
        Flag::CancelGrace,
        Flag::TasksMax,
        Flag::StateKeyEnv,
        Flag::Grace,
        Flag::HotReload,
        Flag::Exclusive,
        Flag::Drain,
        Flag::Watch,
        Flag::Ignore,
        Flag::Poll,
        Flag::Transport,
        Flag::Listen,
        Flag::Port,
        Flag::ConnectionsMax,
        Flag::SessionsMax,
        Flag::Isolate,
        Flag::ProcessesMax,
        Flag::SessionIdle,
        Flag::StreamTime,
        Flag::Auth,
        Flag::Insecure,
        Flag::AllowHost,
        Flag::AllowOrigin,
        Flag::Proxy,
        Flag::OauthIssuer,
        Flag::OauthAudience,
        Flag::OauthJwks,
        Flag::OauthScope,
        Flag::TlsCert,
        Flag::TlsKey,
        Flag::Rate,
        Flag::MaxInFlight,
        Flag::LogLevel,
        Flag::LogFormat,
        Flag::Verbose,
        Flag::Quiet,
        Flag::Help,
        Flag::Version,
    ];

    /// Those that `dev` alone has: `run` never watches.
    pub const DEV: [Flag; 3] = [Flag::Watch, Flag::Ignore, Flag::Poll];

    /// The name behind two dashes.
    pub const fn long(self) -> &'static str {
        match self {
            Flag::Runtime => "runtime",
            Flag::Cwd => "cwd",
            Flag::Env => "env",
            Flag::EnvFile => "env-file",
            Flag::Socket => "socket",
            Flag::Name => "name",
            Flag::ServerVersion => "server-version",
            Flag::Instructions => "instructions",
            Flag::MaxMessage => "max-message",
            Flag::BuildTimeout => "build-timeout",
            Flag::Timeout => "timeout",
            Flag::Format => "format",
            Flag::StartTimeout => "start-timeout",
            Flag::CallTimeout => "call-timeout",
            Flag::InputTimeout => "input-timeout",
            Flag::CancelGrace => "cancel-grace",
            Flag::TasksMax => "tasks-max",
            Flag::StateKeyEnv => "state-key-env",
            Flag::Grace => "grace",
            Flag::HotReload => "hot-reload",
            Flag::Exclusive => "exclusive",
            Flag::Drain => "drain",
            Flag::Watch => "watch",
            Flag::Ignore => "ignore",
            Flag::Poll => "poll",
            Flag::Transport => "transport",
            Flag::Listen => "listen",
            Flag::Port => "port",
            Flag::ConnectionsMax => "connections-max",
            Flag::SessionsMax => "sessions-max",
            Flag::Isolate => "isolate",
            Flag::ProcessesMax => "processes-max",
            Flag::SessionIdle => "session-idle",
            Flag::StreamTime => "stream-time",
            Flag::Auth => "auth",
            Flag::Insecure => "insecure",
            Flag::AllowHost => "allow-host",
            Flag::AllowOrigin => "allow-origin",
            Flag::Proxy => "proxy",
            Flag::OauthIssuer => "oauth-issuer",
            Flag::OauthAudience => "oauth-audience",
            Flag::OauthJwks => "oauth-jwks",
            Flag::OauthScope => "oauth-scope",
            Flag::TlsCert => "tls-cert",
            Flag::TlsKey => "tls-key",
            Flag::Rate => "rate",
            Flag::MaxInFlight => "max-in-flight",
            Flag::LogLevel => "log-level",
            Flag::LogFormat => "log-format",
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
            Flag::Cwd => Some("DIR"),
            Flag::Env => Some("NAME=VALUE"),
            Flag::Format | Flag::LogFormat => Some("FORMAT"),
            Flag::Socket => Some("PATH"),
            Flag::Name | Flag::Transport => Some("NAME"),
            Flag::Listen => Some("ADDRESS"),
            Flag::Port | Flag::ConnectionsMax | Flag::SessionsMax => Some("N"),
            Flag::Isolate => Some("WHAT"),
            Flag::ProcessesMax => Some("N"),
            Flag::SessionIdle | Flag::StreamTime => Some("TIME"),
            Flag::ServerVersion => Some("V"),
            Flag::Instructions | Flag::EnvFile | Flag::OauthJwks | Flag::TlsCert | Flag::TlsKey => {
                Some("FILE")
            }
            Flag::MaxMessage => Some("SIZE"),
            Flag::HotReload => Some("MODE"),
            Flag::TasksMax => Some("N"),
            Flag::StateKeyEnv => Some("VAR"),
            Flag::BuildTimeout
            | Flag::StartTimeout
            | Flag::CallTimeout
            | Flag::InputTimeout
            | Flag::CancelGrace
            | Flag::Grace
            | Flag::Drain
            | Flag::Poll
            | Flag::Timeout => Some("TIME"),
            Flag::Watch | Flag::Ignore => Some("GLOB"),
            Flag::LogLevel => Some("LEVEL"),
            Flag::Auth => Some("SCHEME:VAR"),
            Flag::AllowHost => Some("HOST"),
            Flag::AllowOrigin => Some("ORIGIN"),
            Flag::Proxy => Some("ADDRESS"),
            Flag::OauthIssuer => Some("URL"),
            Flag::OauthAudience => Some("URI"),
            Flag::OauthScope => Some("SCOPE"),
            Flag::Rate => Some("N/s"),
            Flag::MaxInFlight => Some("N"),
            Flag::Exclusive | Flag::Insecure | Flag::Verbose | Flag::Quiet | Flag::Help | Flag::Version => {
                None
            }
        }
    }
}

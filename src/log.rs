//! Lines for the person on stderr. Never stdout: that is the protocol.

/// How important a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something broke.
    Error,
    /// Something is odd, or was mended on the way.
    Warning,
    /// What a developer wants to see: starts, reloads.
    Info,
    /// Every decision.
    Debug,
}

impl Level {
    /// The word that opens a line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Info => "info",
            Level::Debug => "debug",
        }
    }
}

/// How lines are spelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For a person.
    #[default]
    Text,
    /// For programs that gather logs: one JSON object each.
    Json,
}

/// One line as it is shown, without its newline: `pmcp: warning: text`.
pub fn line(level: Level, text: &str) -> String {
    format!("pmcp: {}: {text}", level.as_str())
}

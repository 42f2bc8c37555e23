//! Log levels and messages (server/utilities/logging).

use crate::jsonrpc::json::{self, Object};

/// The eight levels of RFC 5424, rising in severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "RFC 5424 says what each means")]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
    /// All of them, rising.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// As it is spelled on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level that a host names, spelled exactly.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// The level that a tool process names: any case, the names of common logging libraries too,
    /// and `info` for anything else, because the message matters more than its level.
    pub fn from_tool(name: &str) -> Self {
        let name = name.trim().to_ascii_lowercase();
        Self::parse(&name).unwrap_or(match name.as_str() {
            "trace" | "verbose" => Self::Debug,
            "warn" => Self::Warning,
            "err" => Self::Error,
            "fatal" | "crit" => Self::Critical,
            "emerg" | "panic" => Self::Emergency,
            _ => Self::Info,
        })
    }
}

/// Adds the members of a log message to its params. `data_json` is taken as it is when it is JSON,
/// else as a text.
pub fn write_log(params: &mut Object<'_>, level: Level, logger: &str, data_json: &str) {
    params.text("level", level.as_str());
    params.text_if("logger", logger);
    match json::kind(data_json) {
        Some(_) => params.raw("data", data_json.trim_ascii()),
        None => params.text("data", data_json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;

    #[test]
    fn hosts_spell_exactly_and_tools_as_they_like() {
        for level in Level::ALL {
            assert_eq!(Level::parse(level.as_str()), Some(level));
        }
        for bad in ["", "Debug", "warn", "info "] {
            assert_eq!(Level::parse(bad), None, "{bad}");
        }
        for (name, level) in [
            ("WARNING", Level::Warning),
            ("warn", Level::Warning),
            ("fatal", Level::Critical),
            ("trace", Level::Debug),
            ("", Level::Info),
            ("loud", Level::Info),
        ] {
            assert_eq!(Level::from_tool(name), level, "{name}");
        }
        assert!(Level::Debug < Level::Info && Level::Alert < Level::Emergency);
    }

    fn logged(level: Level, logger: &str, data: &str) -> String {
        written(|out| {
            let mut params = Object::open(out);
            write_log(&mut params, level, logger, data);
            params.close();
        })
    }

    #[test]
    fn data_is_json_or_else_text() {
        let table = [
            ("{\"a\": 1}", r#"{"level":"info","logger":"l","data":{"a": 1}}"#),
            ("plain \"words\"", r#"{"level":"info","logger":"l","data":"plain \"words\""}"#),
            ("", r#"{"level":"info","logger":"l","data":""}"#),
            (" null\n", r#"{"level":"info","logger":"l","data":null}"#),
            ("[1,\r\n2]", r#"{"level":"info","logger":"l","data":[1,  2]}"#),
        ];
        for (data, expected) in table {
            assert_eq!(logged(Level::Info, "l", data), expected, "{data:?}");
        }
        assert_eq!(logged(Level::Alert, "", "1"), r#"{"level":"alert","data":1}"#);
    }
}

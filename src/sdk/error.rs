//! What can go wrong: in a handler ([`ToolError`]) and in serving ([`Error`]).

use std::fmt;
use std::io;

use crate::wire::protomcp;

/// Why a handler could not do what it was asked to: told to the model in readable text and to
/// programs in `_meta`.
///
/// Any error of the standard library or of a crate becomes one by `?`, with the code `INTERNAL`.
/// (For that to be possible this type does not implement [`std::error::Error`] itself.)
///
/// ```
/// use pmcp_bridge::sdk::ToolError;
///
/// fn city(name: &str) -> Result<u32, ToolError> {
///     if name.is_empty() {
///         return Err(ToolError::invalid_arguments("the name is empty"));
///     }
///     let number = name.parse()?; // a ParseIntError becomes INTERNAL
///     Ok(number)
/// }
/// assert_eq!(city("").unwrap_err().code(), "INVALID_ARGUMENTS");
/// assert_eq!(city("x").unwrap_err().code(), "INTERNAL");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolError {
    code: String,
    message: String,
    suggestion: String,
    retryable: bool,
    rpc_code: i32,
}

impl ToolError {
    /// An error with a machine-readable code, such as `RATE_LIMITED`, and a sentence for people
    /// and models.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            suggestion: String::new(),
            retryable: false,
            rpc_code: 0,
        }
    }

    /// `NOT_FOUND`: what was asked for does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new("NOT_FOUND", message)
    }

    /// `INVALID_ARGUMENTS`: the arguments are missing, ill-typed or out of range.
    pub fn invalid_arguments(message: impl Into<String>) -> Self {
        Self::new("INVALID_ARGUMENTS", message)
    }

    /// `INTERNAL`: something broke that the caller is not to blame for.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new("INTERNAL", message)
    }

    /// `CANCELLED`: the host no longer wants the answer.
    pub fn cancelled() -> Self {
        Self::new("CANCELLED", "the call was cancelled")
    }

    /// `PROTOCOL_ERROR`: the request makes no sense as such. The host gets a JSON-RPC error of this
    /// code (not 0) in place of a result, so the model does not read it. A tool that has failed is
    /// no such thing.
    ///
    /// ```
    /// use pmcp_bridge::sdk::ToolError;
    ///
    /// let error = ToolError::protocol(-32602, "there is no cursor of that name");
    /// # let _ = error;
    /// ```
    pub fn protocol(code: i32, message: impl Into<String>) -> Self {
        Self { rpc_code: code, ..Self::new("PROTOCOL_ERROR", message) }
    }

    /// Why a question to the host has no answer: `code` as the bridge says it, or `otherwise` from
    /// a bridge that does not.
    pub(crate) fn unanswered(error: String, code: String, otherwise: &str) -> Self {
        Self::new(if code.is_empty() { otherwise.to_owned() } else { code }, error)
    }

    /// What the caller could do about it.
    pub fn suggestion(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = suggestion.into();
        self
    }

    /// Whether the same call may succeed later.
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// The machine-readable code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn into_wire(self) -> protomcp::ToolError {
        protomcp::ToolError {
            error_code: self.code,
            message: self.message,
            suggestion: self.suggestion,
            retryable: self.retryable,
            rpc_code: self.rpc_code,
        }
    }
}

/// The text that a model reads: code and message, then the suggestion and whether to try again,
/// each on a line of its own.
impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.code.is_empty() {
            write!(f, "{}: ", self.code)?;
        }
        f.write_str(&self.message)?;
        if !self.suggestion.is_empty() {
            write!(f, "\nSuggestion: {}", self.suggestion)?;
        }
        if self.retryable {
            f.write_str("\n(retryable)")?;
        }
        Ok(())
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::internal(error.to_string())
    }
}

/// Why a tool process could not be served.
///
/// Its `Debug` form is the same sentence as its `Display` form, because that is what a `main`
/// that returns it prints.
#[non_exhaustive]
pub enum Error {
    /// `PROTOMCP_SOCKET` is not set: the program was started by hand.
    NotStartedByBridge,
    /// The bridge's socket could not be reached.
    Connect {
        /// The path in `PROTOMCP_SOCKET`.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// Reading from the bridge failed.
    Io(io::Error),
    /// The bridge sent what is not a frame.
    Wire(String),
    /// The server's own definition is wrong, for example two tools with one name.
    Definition(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStartedByBridge => f.write_str(
                "this is a tool process, it speaks only with pmcp: run it with `pmcp dev FILE` \
                 (PROTOMCP_SOCKET is not set)",
            ),
            Self::Connect { path, error } => {
                write!(f, "the bridge's socket {path} can't be reached: {error}")
            }
            Self::Io(error) => write!(f, "the connection to the bridge broke: {error}"),
            Self::Wire(reason) => write!(f, "the bridge sent something that is not a message: {reason}"),
            Self::Definition(reason) => write!(f, "this server can't be offered: {reason}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect { error, .. } | Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_all_there_is() {
        let error = ToolError::not_found("no city of that name").suggestion("try Brno").retryable(true);
        assert_eq!(error.to_string(), "NOT_FOUND: no city of that name\nSuggestion: try Brno\n(retryable)");
        assert_eq!(ToolError::new("", "broken").to_string(), "broken");
    }

    #[test]
    fn a_program_started_by_hand_says_how_to_start_it() {
        assert!(format!("{:?}", Error::NotStartedByBridge).contains("pmcp dev FILE"));
    }
}

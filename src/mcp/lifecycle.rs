//! `initialize`.

/// What hosts are told about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// Shown by hosts.
    pub name: String,
    /// Any text.
    pub version: String,
    /// For the model: how the server is meant to be used.
    pub instructions: Option<String>,
}

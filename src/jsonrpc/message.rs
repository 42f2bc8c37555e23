//! Requests, notifications and responses.

/// The id of a host's request: the JSON token exactly as the host spelled it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(Box<str>);

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// The code, see the constructors.
    pub code: i32,
    /// One sentence.
    pub message: String,
    /// Raw JSON.
    pub data: Option<Box<str>>,
}

//! The places that the host works on.

use super::error::ToolError;
use crate::wire::protomcp;

/// A place that the host works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Usually a `file:` URI.
    pub uri: String,
    /// A name for people; may be empty.
    pub name: String,
}

impl Root {
    pub(super) fn list(response: protomcp::ListRootsResponse) -> Result<Vec<Self>, ToolError> {
        let protomcp::ListRootsResponse { roots, error, error_code } = response;
        if error.is_empty() && error_code.is_empty() {
            Ok(roots.into_iter().map(|root| Self { uri: root.uri, name: root.name }).collect())
        } else {
            Err(ToolError::unanswered(error, error_code, "ROOTS_FAILED"))
        }
    }
}

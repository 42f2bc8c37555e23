//! Changing which tools hosts see.

use std::fmt;

use super::context::{Link, mismatch};
use super::error::ToolError;
use crate::wire::protomcp;
use crate::wire::protomcp::envelope::Msg;

/// Which tools hosts see; made by [`Context::tools`](super::Context::tools). Every change answers
/// with the names of the tools that are active then, and fails only when the bridge is gone.
pub struct ToolList<'a> {
    link: &'a dyn Link,
}

impl<'a> ToolList<'a> {
    pub(super) fn new(link: &'a dyn Link) -> Self {
        Self { link }
    }

    fn ask(&self, message: Msg) -> Result<Vec<String>, ToolError> {
        match self.link.ask(message, None)? {
            Msg::ActiveTools(active) => Ok(active.tool_names),
            _ => Err(mismatch()),
        }
    }

    /// The names of the active tools, sorted.
    pub fn active(&self) -> Result<Vec<String>, ToolError> {
        self.ask(Msg::GetActiveTools(protomcp::GetActiveToolsRequest {}))
    }

    /// Enables tools.
    pub fn enable<S: Into<String>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Vec<String>, ToolError> {
        self.ask(Msg::EnableTools(protomcp::EnableToolsRequest { tool_names: strings(names) }))
    }

    /// Disables tools.
    pub fn disable<S: Into<String>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Vec<String>, ToolError> {
        self.ask(Msg::DisableTools(protomcp::DisableToolsRequest { tool_names: strings(names) }))
    }

    /// Only these tools are active from now on; none at all returns to the open mode.
    pub fn set_allowed<S: Into<String>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Vec<String>, ToolError> {
        self.ask(Msg::SetAllowed(protomcp::SetAllowedRequest { tool_names: strings(names) }))
    }

    /// All tools but these are active from now on; none at all returns to the open mode.
    pub fn set_blocked<S: Into<String>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Vec<String>, ToolError> {
        self.ask(Msg::SetBlocked(protomcp::SetBlockedRequest { tool_names: strings(names) }))
    }

    /// Several changes at once, of which the host hears once.
    pub fn batch(&self, changes: ToolChanges) -> Result<Vec<String>, ToolError> {
        self.ask(Msg::Batch(changes.0))
    }
}

impl fmt::Debug for ToolList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolList")
    }
}

fn strings<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Vec<String> {
    names.into_iter().map(Into::into).collect()
}

/// Changes for [`ToolList::batch`]: the mode is set first (allow or block, not both), then tools
/// are enabled, then disabled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolChanges(protomcp::BatchUpdateRequest);

impl ToolChanges {
    /// No changes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds tools to enable.
    pub fn enable<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.enable.extend(strings(names));
        self
    }

    /// Adds tools to disable.
    pub fn disable<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.disable.extend(strings(names));
        self
    }

    /// Adds tools to those that alone are active.
    pub fn allow<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.allow.extend(strings(names));
        self
    }

    /// Adds tools to those that are not active.
    pub fn block<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.block.extend(strings(names));
        self
    }
}

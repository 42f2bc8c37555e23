//! Asking the host's model.

use super::content::Content;
use super::error::ToolError;
use super::json::{Json, push_string};
use crate::wire::protomcp;

/// A question for the host's model. A text alone is one message of the user.
///
/// ```no_run
/// # use pmcp_bridge::sdk::{Context, Sampling, ToolError, json};
/// # fn handler(ctx: &Context) -> Result<(), ToolError> {
/// let answer = ctx.sample(
///     Sampling::new()
///         .system_prompt("You are terse.")
///         .user("What is the capital of Moravia?")
///         .max_tokens(50)
///         .extra(json!({"temperature": 0.1})),
/// )?;
/// println!("{}", answer.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampling {
    /// A JSON array without its closing bracket; empty when there is no message.
    messages: String,
    request: protomcp::SamplingRequest,
}

impl Sampling {
    /// No messages yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what the user says.
    pub fn user(self, content: impl Into<Content>) -> Self {
        self.message("user", content.into())
    }

    /// Adds what the assistant says.
    pub fn assistant(self, content: impl Into<Content>) -> Self {
        self.message("assistant", content.into())
    }

    fn message(mut self, role: &str, content: Content) -> Self {
        self.messages.push(if self.messages.is_empty() { '[' } else { ',' });
        self.messages.push_str(r#"{"role":"#);
        push_string(&mut self.messages, role);
        self.messages.push_str(r#","content":"#);
        content.push_to(&mut self.messages);
        self.messages.push('}');
        self
    }

    /// What the model is told before the messages.
    pub fn system_prompt(mut self, system_prompt: impl Into<String>) -> Self {
        self.request.system_prompt = system_prompt.into();
        self
    }

    /// The most that the model may write.
    pub fn max_tokens(mut self, max_tokens: u32) -> Self {
        self.request.max_tokens = i32::try_from(max_tokens).unwrap_or(i32::MAX);
        self
    }

    /// `modelPreferences`: `hints`, `costPriority`, `speedPriority`, `intelligencePriority`.
    pub fn model_preferences(mut self, preferences: impl Into<Json>) -> Self {
        self.request.model_preferences_json = preferences.into().into_string();
        self
    }

    /// Further fields of the request as one JSON object: `temperature`, `stopSequences`, `tools`, …
    pub fn extra(mut self, fields: impl Into<Json>) -> Self {
        self.request.extra_json = fields.into().into_string();
        self
    }

    pub(super) fn into_wire(mut self) -> protomcp::SamplingRequest {
        if self.messages.is_empty() {
            self.messages.push('[');
        }
        self.messages.push(']');
        self.request.messages_json = self.messages;
        self.request
    }
}

impl From<&str> for Sampling {
    fn from(text: &str) -> Self {
        Self::new().user(text)
    }
}

impl From<String> for Sampling {
    fn from(text: String) -> Self {
        Self::new().user(text)
    }
}

/// What the host's model answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// `assistant` as a rule.
    pub role: String,
    /// One content block, or an array of them.
    pub content_json: String,
    /// Which model it was.
    pub model: String,
    /// Why it stopped; may be empty.
    pub stop_reason: String,
}

impl Sampled {
    pub(super) fn from_wire(response: protomcp::SamplingResponse) -> Result<Self, ToolError> {
        let protomcp::SamplingResponse { role, content_json, model, stop_reason, error, error_code } =
            response;
        if error.is_empty() && error_code.is_empty() {
            Ok(Self { role, content_json, model, stop_reason })
        } else {
            Err(ToolError::unanswered(error, error_code, "SAMPLING_FAILED"))
        }
    }

    /// The text of all text blocks.
    pub fn text(&self) -> String {
        let block_text = |block: &serde_json::Value| block["text"].as_str().map(str::to_owned);
        match serde_json::from_str(&self.content_json) {
            Ok(serde_json::Value::Array(blocks)) => blocks.iter().filter_map(block_text).collect(),
            Ok(serde_json::Value::String(text)) => text,
            Ok(block) => block_text(&block).unwrap_or_default(),
            Err(_) => self.content_json.clone(),
        }
    }
}

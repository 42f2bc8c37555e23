//! Prompts: texts that a person picks in the host.

use std::fmt;

use super::args::Args;
use super::content::Content;
use super::context::Context;
use super::error::ToolError;
use super::input::InputRequired;
use super::json::Json;
use crate::wire::protomcp;
use crate::wire::protomcp::envelope::Msg;

/// Begins a prompt; [`PromptBuilder::handler`] finishes it.
///
/// ```
/// use pmcp_bridge::sdk::prompt;
///
/// let review = prompt("review")
///     .description("Review a piece of code")
///     .required_arg("code", "What to review")
///     .arg("tone", "kind or strict")
///     .handler(|_, args| {
///         let tone = args.get_or("tone", "kind".to_owned())?;
///         Ok(format!("Review this in a {tone} tone:\n{}", args.get::<String>("code")?))
///     });
/// # let _ = review;
/// ```
pub fn prompt(name: impl Into<String>) -> PromptBuilder {
    let definition = protomcp::PromptDefinition { name: name.into(), ..Default::default() };
    PromptBuilder { definition, hidden: false }
}

/// A prompt without its handler; made by [`prompt`].
#[derive(Clone, Debug)]
#[must_use = "a prompt without a handler is not offered"]
pub struct PromptBuilder {
    definition: protomcp::PromptDefinition,
    hidden: bool,
}

impl PromptBuilder {
    /// What it is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = description.into();
        self
    }

    /// A name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = title.into();
        self
    }

    /// Adds an optional argument; arguments of prompts are texts.
    pub fn arg(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(name.into(), description.into(), false)
    }

    /// Adds an argument without which the prompt can't be made.
    pub fn required_arg(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(name.into(), description.into(), true)
    }

    fn argument(mut self, name: String, description: String, required: bool) -> Self {
        let argument = protomcp::PromptArgument { name, description, required, ..Default::default() };
        self.definition.arguments.push(argument);
        self
    }

    /// Its icons, a JSON array.
    pub fn icons(mut self, icons: impl Into<Json>) -> Self {
        self.definition.icons_json = icons.into().into_string();
        self
    }

    /// Its `_meta`, a JSON object.
    pub fn meta(mut self, meta: impl Into<Json>) -> Self {
        self.definition.meta_json = meta.into().into_string();
        self
    }

    /// Leaves the prompt out of the list until it is shown ([`Context::prompts`]).
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Finishes the prompt with the function that makes its messages.
    pub fn handler<F, R>(self, handler: F) -> Prompt
    where
        F: Fn(&Context, &Args<'_>) -> Result<R, ToolError> + Send + Sync + 'static,
        R: Into<Messages>,
    {
        Prompt {
            definition: self.definition,
            hidden: self.hidden,
            handler: Box::new(move |context, args| handler(context, args).map(Into::into)),
        }
    }
}

/// A finished prompt, ready for [`Server::prompt`](super::Server::prompt).
pub struct Prompt {
    pub(crate) definition: protomcp::PromptDefinition,
    pub(crate) hidden: bool,
    pub(crate) handler: PromptHandler,
}

pub(crate) type PromptHandler = Box<dyn Fn(&Context, &Args<'_>) -> Result<Messages, ToolError> + Send + Sync>;

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prompt").field(&self.definition).finish()
    }
}

/// The messages of a prompt. A text alone becomes one message of the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages {
    description: String,
    messages: Vec<protomcp::PromptMessage>,
    /// Goes instead of all else.
    questions: Option<Box<InputRequired>>,
}

impl Messages {
    /// No messages yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What these messages are, if it differs from the prompt's own description.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
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
        self.messages
            .push(protomcp::PromptMessage { role: role.to_owned(), content_json: content.to_json() });
        self
    }

    pub(crate) fn into_answer(mut self, description: &str) -> Result<Msg, ToolError> {
        match self.questions.take() {
            Some(questions) => questions.into_answer(),
            None => Ok(Msg::GetPromptResponse(self.into_wire(description))),
        }
    }

    fn into_wire(self, description: &str) -> protomcp::GetPromptResponse {
        let own = Some(self.description).filter(|own| !own.is_empty());
        protomcp::GetPromptResponse {
            description: own.unwrap_or_else(|| description.to_owned()),
            messages: self.messages,
            error: None,
        }
    }
}

/// No messages yet: the host is asked first, and the prompt is asked for again.
impl From<InputRequired> for Messages {
    fn from(questions: InputRequired) -> Self {
        Self { questions: Some(Box::new(questions)), ..Self::default() }
    }
}

impl From<&str> for Messages {
    fn from(text: &str) -> Self {
        Self::new().user(text)
    }
}

impl From<String> for Messages {
    fn from(text: String) -> Self {
        Self::new().user(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_message_of_the_user() {
        let wire = Messages::from("hi").into_wire("what it is");
        assert_eq!(wire.description, "what it is");
        assert_eq!(wire.messages[0].role, "user");
        assert_eq!(wire.messages[0].content_json, r#"{"type":"text","text":"hi"}"#);
    }
}

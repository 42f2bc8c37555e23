//! What a handler can do beside answering: report, ask, and change the tool list.

use std::fmt;
use std::sync::Arc;

use super::content::Content;
use super::error::ToolError;
use super::json::{Json, push_string};
use super::peer::Cancelled;
use crate::wire::protomcp;
use crate::wire::protomcp::envelope::Msg;

/// The way to the bridge; [`super::serve`] is one, tests have others.
pub(crate) trait Link: Send + Sync {
    /// Sends a message that wants no answer.
    fn send(&self, message: Msg);
    /// Sends a question and waits for its answer.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn ask(&self, message: Msg) -> Result<Msg, ToolError>;
}

/// One request, seen from its handler.
///
/// A clone may be moved to a thread of yours and outlive the call, for example to tell the host
/// about a resource that changed.
#[derive(Clone)]
pub struct Context {
    link: Arc<dyn Link>,
    request_id: String,
    progress_token: String,
    cancelled: Cancelled,
}

impl Context {
    pub(crate) fn new(
        link: Arc<dyn Link>,
        request_id: String,
        progress_token: String,
        cancelled: Cancelled,
    ) -> Self {
        Self { link, request_id, progress_token, cancelled }
    }

    /// The bridge's id of this request.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Whether the host no longer wants the answer. A handler that runs for long should look at
    /// times, and answer early; the answer is dropped on the way.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.get()
    }

    /// An error once the host no longer wants the answer, for use with `?`.
    ///
    /// # Errors
    ///
    /// [`ToolError::cancelled`].
    pub fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.is_cancelled() { Err(ToolError::cancelled()) } else { Ok(()) }
    }

    /// Tells the host how far the call has come: `progress` should grow with every report,
    /// `total` is 0 when it is unknown, `message` may be empty. Does nothing when the host did not
    /// ask for progress.
    pub fn progress(&self, progress: i64, total: i64, message: impl Into<String>) {
        if self.progress_token.is_empty() {
            return;
        }
        self.link.send(Msg::Progress(protomcp::ProgressNotification {
            progress_token: self.progress_token.clone(),
            progress,
            total,
            message: message.into(),
        }));
    }

    /// Sends a line to the host's log.
    pub fn log(&self, level: LogLevel, text: impl AsRef<str>) {
        let mut data = String::new();
        push_string(&mut data, text.as_ref());
        self.log_data(level, "", data);
    }

    /// Sends any JSON to the host's log, under the name of a logger (which may be empty).
    pub fn log_data(&self, level: LogLevel, logger: &str, data: impl Into<Json>) {
        self.link.send(Msg::Log(protomcp::LogMessage {
            level: level.as_str().to_owned(),
            logger: logger.to_owned(),
            data_json: data.into().into_string(),
        }));
    }

    /// Tells the hosts that subscribed to this resource that its content changed.
    pub fn resource_changed(&self, uri: impl Into<String>) {
        self.link.send(Msg::ResourceChanged(protomcp::ResourceChangedNotification { uri: uri.into() }));
    }

    /// Has the host's model answer, and waits for it; a person may have to agree first.
    ///
    /// # Errors
    ///
    /// `SAMPLING_FAILED` when the host can't or won't.
    pub fn sample(&self, sampling: impl Into<Sampling>) -> Result<Sampled, ToolError> {
        let mut request = sampling.into().into_wire();
        request.call_request_id.clone_from(&self.request_id);
        match self.link.ask(Msg::SamplingRequest(request))? {
            Msg::SamplingResponse(response) if response.error.is_empty() => Ok(Sampled {
                role: response.role,
                content_json: response.content_json,
                model: response.model,
                stop_reason: response.stop_reason,
            }),
            Msg::SamplingResponse(response) => Err(ToolError::new("SAMPLING_FAILED", response.error)),
            _ => Err(mismatch()),
        }
    }

    /// The folders and other places that the host works on.
    ///
    /// # Errors
    ///
    /// `ROOTS_FAILED` when the host can't or won't say.
    pub fn roots(&self) -> Result<Vec<Root>, ToolError> {
        let request = protomcp::ListRootsRequest { call_request_id: self.request_id.clone() };
        match self.link.ask(Msg::ListRootsRequest(request))? {
            Msg::ListRootsResponse(response) if response.error.is_empty() => {
                let root = |root: protomcp::RootDef| Root { uri: root.uri, name: root.name };
                Ok(response.roots.into_iter().map(root).collect())
            }
            Msg::ListRootsResponse(response) => Err(ToolError::new("ROOTS_FAILED", response.error)),
            _ => Err(mismatch()),
        }
    }

    /// Control over which tools hosts see.
    pub fn tools(&self) -> ToolList<'_> {
        ToolList { link: &*self.link }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("request_id", &self.request_id)
            .field("cancelled", &self.cancelled.get())
            .finish_non_exhaustive()
    }
}

fn mismatch() -> ToolError {
    ToolError::internal("the bridge answered with a message of another kind")
}

/// How important a log line is (RFC 5424's severities, least first).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    /// The name on the wire.
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
}

/// Which tools hosts see; made by [`Context::tools`]. Every change answers with the names of the
/// tools that are active then, and fails only when the bridge is gone.
pub struct ToolList<'a> {
    link: &'a dyn Link,
}

impl ToolList<'_> {
    fn ask(&self, message: Msg) -> Result<Vec<String>, ToolError> {
        match self.link.ask(message)? {
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

/// A place that the host works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Usually a `file:` URI.
    pub uri: String,
    /// A name for people; may be empty.
    pub name: String,
}

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

    fn into_wire(mut self) -> protomcp::SamplingRequest {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::sync::Mutex;

    /// Remembers what was sent, answers every question with the same message.
    struct Recorder {
        sent: Mutex<Vec<Msg>>,
        answer: Msg,
    }

    impl Link for Recorder {
        fn send(&self, message: Msg) {
            self.sent.lock().unwrap().push(message);
        }

        fn ask(&self, message: Msg) -> Result<Msg, ToolError> {
            self.send(message);
            Ok(self.answer.clone())
        }
    }

    fn context(answer: Msg, progress_token: &str) -> (Context, Arc<Recorder>) {
        let recorder = Arc::new(Recorder { sent: Mutex::new(Vec::new()), answer });
        let link: Arc<dyn Link> = recorder.clone();
        (Context::new(link, "9".to_owned(), progress_token.to_owned(), Cancelled::default()), recorder)
    }

    fn nothing() -> Msg {
        Msg::ActiveTools(Default::default())
    }

    #[test]
    fn progress_is_sent_only_to_those_who_asked() {
        let (context_without, recorder) = context(nothing(), "");
        context_without.progress(1, 2, "x");
        assert!(recorder.sent.lock().unwrap().is_empty());
        let (context_with, recorder) = context(nothing(), "p");
        context_with.progress(1, 2, "x");
        assert!(
            matches!(&recorder.sent.lock().unwrap()[..], [Msg::Progress(it)] if it.progress_token == "p")
        );
    }

    #[test]
    fn log_lines_are_json() {
        let (context, recorder) = context(nothing(), "");
        context.log(LogLevel::Warning, "a \"b\"");
        let sent = recorder.sent.lock().unwrap();
        let [Msg::Log(line)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!((line.level.as_str(), line.data_json.as_str()), ("warning", r#""a \"b\"""#));
    }

    #[test]
    fn sampling_says_for_which_call_it_is() {
        let answer = protomcp::SamplingResponse {
            content_json: r#"[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]"#
                .to_owned(),
            ..Default::default()
        };
        let (context, recorder) = context(Msg::SamplingResponse(answer), "");
        let sampled = context.sample(Sampling::new().user("q").assistant("r").max_tokens(5)).unwrap();
        assert_eq!(sampled.text(), "ab");
        let sent = recorder.sent.lock().unwrap();
        let [Msg::SamplingRequest(request)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!((request.call_request_id.as_str(), request.max_tokens), ("9", 5));
        assert_eq!(
            serde_json::from_str::<Value>(&request.messages_json).unwrap(),
            json!([
                {"role": "user", "content": {"type": "text", "text": "q"}},
                {"role": "assistant", "content": {"type": "text", "text": "r"}},
            ])
        );
    }

    #[test]
    fn a_refusal_is_an_error_with_its_reason() {
        let refusal = protomcp::SamplingResponse { error: "not today".to_owned(), ..Default::default() };
        let (context_one, _) = context(Msg::SamplingResponse(refusal), "");
        let error = context_one.sample("q").unwrap_err();
        assert_eq!((error.code(), error.message()), ("SAMPLING_FAILED", "not today"));
        let (context_two, _) = context(nothing(), "");
        assert_eq!(context_two.roots().unwrap_err().code(), "INTERNAL");
    }
}

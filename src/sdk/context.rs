//! What a handler can do beside answering: report, ask, and change the tool list.

use std::fmt;
use std::sync::Arc;

use super::error::ToolError;
use super::json::{Json, push_string};
use super::peer::Cancelled;
use super::sampling::{Sampled, Sampling};
use super::tool_list::ToolList;
use crate::limits::STATE_MAX;
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

    /// Leaves something to the next process: after a reload, and after a crash,
    /// [`Server::restore`](super::Server::restore) gets what was saved last.
    ///
    /// # Errors
    ///
    /// `STATE_TOO_LARGE` beyond 1 MiB; what was saved before is kept.
    pub fn save_state(&self, state: impl Into<Vec<u8>>) -> Result<(), ToolError> {
        let state = state.into();
        if state.len() > STATE_MAX {
            let text = format!("the state takes {} bytes, and the limit is {STATE_MAX}", state.len());
            return Err(ToolError::new("STATE_TOO_LARGE", text));
        }
        self.link.send(Msg::SaveState(protomcp::SaveState { state }));
        Ok(())
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
        ToolList::new(&*self.link)
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

pub(super) fn mismatch() -> ToolError {
    ToolError::internal("the bridge answered with a message of another kind")
}

/// How important a log line is (RFC 5424's severities, least first).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "RFC 5424 says what each means")]
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

/// A place that the host works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Usually a `file:` URI.
    pub uri: String,
    /// A name for people; may be empty.
    pub name: String,
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

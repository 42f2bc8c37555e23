//! What a handler can do beside answering: report, ask, and change the tool list.

use std::fmt;
use std::mem::take;
use std::sync::{Arc, OnceLock};

use super::elicitation::{Elicitation, Elicited};
use super::error::ToolError;
use super::input::Input;
use super::json::{Json, push_string};
use super::listing::{Listed, Listing};
use super::log_level::LogLevel;
use super::peer::{Cancelled, Request, Work};
use super::roots::Root;
use super::sampling::{Sampled, Sampling};
use super::tool_list::ToolList;
use crate::limits::STATE_MAX;
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{self, InputGiven};

/// The way to the bridge; [`super::serve`] is one, tests have others.
pub(crate) trait Link: Send + Sync {
    /// Sends a message that wants no answer.
    fn send(&self, message: Msg);
    /// Sends a question and waits for its answer, or until the call on whose behalf it is asked
    /// is cancelled.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn ask(&self, message: Msg, call: Option<&Cancelled>) -> Result<Msg, ToolError>;
    /// Makes a call a task, once; says its id.
    ///
    /// # Errors
    ///
    /// Why it can't be one.
    fn start_task(&self, call: &Cancelled) -> Result<String, ToolError>;
    /// How far a task has come, for when the bridge asks.
    fn note_progress(&self, call: &Cancelled, progress: i64, total: i64, message: String);
    /// Shows or hides entries of a list.
    fn list(&self, listed: Listed, names: &[String], shown: bool);
    /// Whether hosts see an entry of a list.
    fn is_listed(&self, listed: Listed, name: &str) -> bool;
    /// What a task is doing.
    fn note_status(&self, call: &Cancelled, message: String);
}

/// One request, seen from its handler.
///
/// A clone may be moved to a thread of yours and outlive the call, for example to tell the host
/// about a resource that changed.
///
/// # Questions without an answer
///
/// The codes of the errors of [`elicit`](Context::elicit), [`sample`](Context::sample) and
/// [`roots`](Context::roots):
///
/// | code | what happened |
/// |---|---|
/// | `MISSING_CAPABILITY` | the host does not offer this; passed on by `?`, the host is told what it lacks |
/// | `REFUSED` | the host answered with an error |
/// | `TIMEOUT` | the host did not answer in time |
/// | `HOST_GONE` | the host went away |
/// | `INVALID` | the question, or the answer, makes no sense |
/// | `UNAVAILABLE` | there is nobody to ask, or too much is being asked |
/// | `CANCELLED` | the call was cancelled |
/// | `TOO_LARGE` | the bridge takes no question of this size |
/// | `BRIDGE_GONE` | the bridge closed the connection |
#[derive(Clone)]
pub struct Context {
    link: Arc<dyn Link>,
    request: Arc<Facts>,
}

/// What clones of a context share.
struct Facts {
    request_id: String,
    progress_token: String,
    trace_json: String,
    input: Option<InputGiven>,
    cancelled: Cancelled,
    /// The id of the task that the call has become.
    task_id: OnceLock<String>,
}

impl Context {
    /// Takes from the request what only the handler needs.
    pub(crate) fn new(link: Arc<dyn Link>, request: &mut Request) -> Self {
        let progress_token = match &mut request.work {
            Work::Call { progress_token, .. } => take(progress_token),
            _ => String::new(),
        };
        let facts = Facts {
            request_id: request.request_id.clone(),
            progress_token,
            trace_json: take(&mut request.trace_json),
            input: request.input.take(),
            cancelled: request.cancelled.clone(),
            task_id: OnceLock::new(),
        };
        Self { link, request: Arc::new(facts) }
    }

    /// The bridge's id of this request.
    pub fn request_id(&self) -> &str {
        &self.request.request_id
    }

    /// The trace that this request belongs to (W3C Trace Context), as the host sent it: a JSON
    /// object of texts, such as `{"traceparent":"00-…"}`, or empty.
    pub fn trace(&self) -> &str {
        &self.request.trace_json
    }

    /// What came back of an [`InputRequired`](super::InputRequired) that this handler answered
    /// with before.
    pub fn input(&self) -> Input<'_> {
        Input::new(self.request.input.as_ref())
    }

    /// Whether the host no longer wants the answer. A handler that runs for long should look at
    /// times, and answer early; the answer is dropped on the way.
    pub fn is_cancelled(&self) -> bool {
        self.request.cancelled.get()
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
    /// ask for progress. A task remembers it for those who ask.
    pub fn progress(&self, progress: i64, total: i64, message: impl Into<String>) {
        let progress_token = self.request.progress_token.clone();
        let message = message.into();
        if self.task_id().is_some() {
            self.link.note_progress(&self.request.cancelled, progress, total, message.clone());
        }
        if !progress_token.is_empty() {
            let report = protomcp::ProgressNotification { progress_token, progress, total, message };
            self.link.send(Msg::Progress(report));
        }
    }

    /// Makes this call a task: the host gets the task's id at once and may do something else,
    /// while the handler goes on as before. What it answers in the end is the task's result. Says
    /// the id, by which the bridge knows the task (hosts know it by another). A call that is a
    /// task already stays the same one.
    ///
    /// Hosts that know no tasks see a call that takes long. A tool that always takes long need not
    /// say this; see [`ToolBuilder::task`](super::ToolBuilder::task).
    ///
    /// A task is not counted among the requests that [run at once](super::Server::concurrency),
    /// but it holds its thread; 64 tasks may run.
    ///
    /// ```
    /// use pmcp_bridge::sdk::tool;
    ///
    /// let print = tool("print").arg::<Vec<String>>("pages", "What to print").handler(|ctx, args| {
    ///     let pages: Vec<String> = args.get("pages")?;
    ///     if pages.len() > 10 {
    ///         ctx.start_task()?;
    ///     }
    ///     for (at, page) in pages.iter().enumerate() {
    ///         ctx.check_cancelled()?;
    ///         ctx.progress(at as i64, pages.len() as i64, format!("printing {page}"));
    ///     }
    ///     Ok("printed")
    /// });
    /// # let _ = print;
    /// ```
    ///
    /// # Errors
    ///
    /// `TOO_MANY_TASKS`, `CANCELLED` for a call that is cancelled already, `INVALID` for what is
    /// not the running call of a tool.
    pub fn start_task(&self) -> Result<&str, ToolError> {
        if let Some(task_id) = self.task_id() {
            return Ok(task_id);
        }
        let task_id = self.link.start_task(&self.request.cancelled)?;
        Ok(self.request.task_id.get_or_init(|| task_id))
    }

    /// The id of the task that [`Context::start_task`] has made of this call.
    pub fn task_id(&self) -> Option<&str> {
        self.request.task_id.get().map(String::as_str)
    }

    /// Says what the task is doing, in a few words for people, to whoever looks at it. Does
    /// nothing while the call is no task.
    pub fn task_status(&self, message: impl Into<String>) {
        if self.task_id().is_some() {
            self.link.note_status(&self.request.cancelled, message.into());
        }
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
            call_request_id: self.request_id().to_owned(),
        }));
    }

    /// Control over which prompts hosts see.
    pub fn prompts(&self) -> Listing<'_> {
        Listing::new(&*self.link, Listed::Prompts)
    }

    /// Control over which resources hosts see.
    pub fn resources(&self) -> Listing<'_> {
        Listing::new(&*self.link, Listed::Resources)
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

    /// Asks the host's user, and waits for the answer. A text alone is answered by yes or no:
    /// [`Elicited::accepted`].
    ///
    /// # Errors
    ///
    /// [Why there is no answer](Context#questions-without-an-answer); `ELICITATION_FAILED` if
    /// the bridge does not say.
    pub fn elicit(&self, elicitation: impl Into<Elicitation>) -> Result<Elicited, ToolError> {
        let mut request = elicitation.into().into_wire();
        request.call_request_id.clone_from(&self.request.request_id);
        match self.ask(Msg::ElicitRequest(request))? {
            Msg::ElicitResponse(response) => Elicited::from_wire(response),
            _ => Err(mismatch()),
        }
    }

    /// Has the host's model answer, and waits for it; a person may have to agree first.
    ///
    /// # Errors
    ///
    /// [Why there is no answer](Context#questions-without-an-answer); `SAMPLING_FAILED` if the
    /// bridge does not say.
    pub fn sample(&self, sampling: impl Into<Sampling>) -> Result<Sampled, ToolError> {
        let mut request = sampling.into().into_wire();
        request.call_request_id.clone_from(&self.request.request_id);
        match self.ask(Msg::SamplingRequest(request))? {
            Msg::SamplingResponse(response) => Sampled::from_wire(response),
            _ => Err(mismatch()),
        }
    }

    /// The folders and other places that the host works on.
    ///
    /// # Errors
    ///
    /// [Why there is no answer](Context#questions-without-an-answer); `ROOTS_FAILED` if the bridge
    /// does not say.
    pub fn roots(&self) -> Result<Vec<Root>, ToolError> {
        let request = protomcp::ListRootsRequest { call_request_id: self.request.request_id.clone() };
        match self.ask(Msg::ListRootsRequest(request))? {
            Msg::ListRootsResponse(response) => Root::list(response),
            _ => Err(mismatch()),
        }
    }

    fn ask(&self, message: Msg) -> Result<Msg, ToolError> {
        self.link.ask(message, Some(&self.request.cancelled))
    }

    /// Control over which tools hosts see.
    pub fn tools(&self) -> ToolList<'_> {
        ToolList::new(&*self.link)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("request_id", &self.request.request_id)
            .field("cancelled", &self.request.cancelled.get())
            .field("task_id", &self.request.task_id.get())
            .finish_non_exhaustive()
    }
}

pub(super) fn mismatch() -> ToolError {
    ToolError::internal("the bridge answered with a message of another kind")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::sync::Mutex;

    /// Remembers what was sent, answers every question with the same message.
    struct Recorder {
        sent: Mutex<Vec<Msg>>,
        noted: Mutex<Vec<String>>,
        answer: Msg,
    }

    impl Link for Recorder {
        fn list(&self, _: Listed, _: &[String], _: bool) {}

        fn is_listed(&self, _: Listed, _: &str) -> bool {
            true
        }

        fn send(&self, message: Msg) {
            self.sent.lock().unwrap().push(message);
        }

        fn ask(&self, message: Msg, _: Option<&Cancelled>) -> Result<Msg, ToolError> {
            self.send(message);
            Ok(self.answer.clone())
        }

        fn start_task(&self, _: &Cancelled) -> Result<String, ToolError> {
            Ok("task-1".to_owned())
        }

        fn note_progress(&self, _: &Cancelled, progress: i64, total: i64, message: String) {
            self.noted.lock().unwrap().push(format!("{progress}/{total} {message}"));
        }

        fn note_status(&self, _: &Cancelled, message: String) {
            self.noted.lock().unwrap().push(message);
        }
    }

    fn context(answer: Msg, progress_token: &str) -> (Context, Arc<Recorder>) {
        let recorder = Arc::new(Recorder { sent: Mutex::default(), noted: Mutex::default(), answer });
        let link: Arc<dyn Link> = recorder.clone();
        let mut request = Request {
            request_id: "9".to_owned(),
            cancelled: Cancelled::default(),
            trace_json: r#"{"traceparent":"00-1"}"#.to_owned(),
            input: None,
            work: Work::Call {
                name: "t".to_owned(),
                arguments_json: String::new(),
                progress_token: progress_token.to_owned(),
            },
        };
        (Context::new(link, &mut request), recorder)
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
    fn a_task_remembers_how_far_it_is() {
        let (context, recorder) = context(nothing(), "p");
        context.progress(1, 3, "one");
        context.task_status("not yet a task");
        assert_eq!(context.task_id(), None);
        assert_eq!(context.start_task().unwrap(), "task-1");
        assert_eq!(context.clone().task_id(), Some("task-1"));
        context.progress(2, 3, "two");
        context.task_status("waiting for paper");
        assert_eq!(*recorder.noted.lock().unwrap(), ["2/3 two", "waiting for paper"]);
        assert_eq!(recorder.sent.lock().unwrap().len(), 2, "whoever asked for progress gets all of it");
    }

    #[test]
    fn what_came_with_the_request_is_there() {
        let (context, _) = context(nothing(), "");
        assert_eq!(context.trace(), r#"{"traceparent":"00-1"}"#);
        assert!(context.input().is_first());
    }

    #[test]
    fn a_question_to_the_user_says_for_which_call_it_is() {
        let answer = protomcp::ElicitResponse { action: "accept".to_owned(), ..Default::default() };
        let (context, recorder) = context(Msg::ElicitResponse(answer), "");
        assert!(context.elicit("Go on?").unwrap().accepted());
        let sent = recorder.sent.lock().unwrap();
        let [Msg::ElicitRequest(request)] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!((request.call_request_id.as_str(), request.message.as_str()), ("9", "Go on?"));
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
        let lacking = protomcp::ListRootsResponse {
            error: "no roots".to_owned(),
            error_code: "MISSING_CAPABILITY".to_owned(),
            ..Default::default()
        };
        let (context_three, _) = context(Msg::ListRootsResponse(lacking), "");
        assert_eq!(context_three.roots().unwrap_err().code(), "MISSING_CAPABILITY");
        let (context_two, _) = context(nothing(), "");
        assert_eq!(context_two.roots().unwrap_err().code(), "INTERNAL");
    }
}

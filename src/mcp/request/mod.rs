//! What a host asks, typed.
//!
//! Lenient where hosts differ (absent or `null` params and arguments, unknown members, odd
//! capabilities), strict where a guess would be wrong.

use std::borrow::Cow;

use super::logging::Level;
use crate::jsonrpc::message::{RequestId, RpcError};

mod meta;
mod params;
mod parse;

pub use parse::parse;

/// One message of a host.
#[derive(Clone, Debug, PartialEq)]
pub enum HostMessage<'a> {
    /// Wants exactly one answer.
    Request {
        /// Echoed in the answer.
        id: RequestId,
        /// How it was asked, and so how it is to be answered.
        era: Era,
        /// What is wanted, or the error to answer with.
        request: Result<Request<'a>, RpcError>,
    },
    /// Wants no answer.
    Notification(Notification),
    /// Answers a request of ours.
    Response {
        /// The id that we gave, if it looks like one of ours.
        id: Option<u64>,
        /// The result as raw JSON, or the host's error as a readable text.
        outcome: Result<Cow<'a, str>, String>,
    },
    /// Not a message; answered with an error, and with the id where one could be read.
    Invalid {
        /// The request's id, if it could be read.
        id: Option<RequestId>,
        /// The answer.
        error: RpcError,
    },
    /// Several messages in one array.
    Batch(Vec<HostMessage<'a>>),
}

/// The era that a request belongs to. Each request decides for itself; nothing said before counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Era {
    /// The session's `initialize` has settled revision and capabilities.
    Handshake,
    /// The request itself says what the host is and can, for this request alone.
    Modern(Box<RequestMeta>),
}

/// What a request of the modern era says in its `_meta` (basic, "`_meta`").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestMeta {
    /// The revision that it names, be it spoken here or not; empty if it names none.
    pub version: Cow<'static, str>,
    /// All that must be there is, and of a revision that is spoken this way. Without that the
    /// request is an error and the rest of this says nothing.
    pub is_sound: bool,
    /// What the host can be asked.
    pub capabilities: HostCapabilities,
    /// The host's name, or empty.
    pub client_name: String,
    /// The host's version, or empty.
    pub client_version: String,
    /// The least severe log message that it wants; none at all without it.
    pub log_level: Option<Level>,
    /// The W3C trace context as a JSON object, or empty.
    pub trace_json: String,
}

/// A request of a host.
#[derive(Clone, Debug, PartialEq)]
pub enum Request<'a> {
    /// `initialize`. Where it comes with a whole modern envelope its era says so: stdio takes it
    /// for a handshake all the same, HTTP must not.
    Initialize(Initialize),
    /// `server/discover`.
    Discover,
    /// `ping`.
    Ping,
    /// `tools/list`.
    ListTools {
        /// Where to go on.
        cursor: Option<String>,
    },
    /// `tools/call`.
    CallTool(CallTool<'a>),
    /// `resources/list`.
    ListResources {
        /// Where to go on.
        cursor: Option<String>,
    },
    /// `resources/templates/list`.
    ListResourceTemplates {
        /// Where to go on.
        cursor: Option<String>,
    },
    /// `resources/read`.
    ReadResource {
        /// Which.
        uri: String,
        /// What was asked for when it was tried before.
        retry: Option<Retry<'a>>,
    },
    /// `resources/subscribe`.
    Subscribe {
        /// To which.
        uri: String,
    },
    /// `resources/unsubscribe`.
    Unsubscribe {
        /// From which.
        uri: String,
    },
    /// `prompts/list`.
    ListPrompts {
        /// Where to go on.
        cursor: Option<String>,
    },
    /// `prompts/get`.
    GetPrompt {
        /// Which.
        name: String,
        /// A JSON object.
        arguments: Cow<'a, str>,
        /// What was asked for when it was tried before.
        retry: Option<Retry<'a>>,
    },
    /// `completion/complete`.
    Complete(Complete),
    /// `logging/setLevel`.
    SetLevel(Level),
    /// `subscriptions/listen`.
    Listen(Filter),
    /// `tasks/get`.
    TaskGet {
        /// Which task.
        id: String,
    },
    /// `tasks/update`.
    TaskUpdate {
        /// Which task.
        id: String,
        /// A JSON object: the answers by the keys of their questions.
        input_responses: Cow<'a, str>,
    },
    /// `tasks/cancel`.
    TaskCancel {
        /// Which task.
        id: String,
    },
    /// `tasks/result`.
    TaskResult {
        /// Which task.
        id: String,
    },
    /// `tasks/list`.
    TaskList {
        /// Where to go on.
        cursor: Option<String>,
    },
}

/// `initialize`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialize {
    /// What the host would like to speak.
    pub protocol_version: String,
    /// What the host can be asked.
    pub capabilities: HostCapabilities,
    /// The host's name, or empty.
    pub client_name: String,
    /// The host's version, or empty.
    pub client_version: String,
}

/// What a host can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCapabilities {
    /// `sampling/createMessage`.
    pub sampling: bool,
    /// Sampling with tools.
    pub sampling_tools: bool,
    /// `roots/list`.
    pub roots: bool,
    /// `elicitation/create` with a form.
    pub elicitation: bool,
    /// `elicitation/create` with a URL.
    pub elicitation_url: bool,
    /// The extension `io.modelcontextprotocol/tasks`, which is the modern era's.
    pub tasks: bool,
}

impl HostCapabilities {
    /// Whether it can be asked anything at all.
    pub const fn is_askable(&self) -> bool {
        self.sampling || self.roots || self.elicitation || self.elicitation_url
    }
}

/// `tools/call`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTool<'a> {
    /// Which tool.
    pub name: String,
    /// A JSON object; `{}` when the host sent none.
    pub arguments: Cow<'a, str>,
    /// The JSON token exactly as the host spelled it.
    pub progress_token: Option<Box<str>>,
    /// That it wants a task instead of a result, as revision 2025-11-25 says it.
    pub task: Option<TaskWish>,
    /// What was asked for when it was tried before.
    pub retry: Option<Retry<'a>>,
}

/// `task` in the params of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskWish {
    /// How long its result is to be kept, in milliseconds.
    pub ttl_ms: Option<u64>,
}

/// What a host adds to a request that was answered with `input_required`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry<'a> {
    /// A JSON object: the answers by the keys of their questions; `{}` when there are none.
    pub input_responses: Cow<'a, str>,
    /// What we gave the host to bring back; nothing in it can be trusted before it is checked.
    pub request_state: Option<String>,
}

/// What a host wants to hear on a stream of `subscriptions/listen`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// That the list of tools changed.
    pub tools: bool,
    /// That the list of prompts changed.
    pub prompts: bool,
    /// That the list of resources changed.
    pub resources: bool,
    /// That one of these resources changed.
    pub resource_uris: Vec<String>,
    /// That one of these tasks changed.
    pub task_ids: Vec<String>,
}

/// `completion/complete`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complete {
    /// `ref/prompt` or `ref/resource`.
    pub ref_type: String,
    /// The prompt's name or the resource template's URI.
    pub ref_name: String,
    /// Which argument.
    pub argument_name: String,
    /// What was typed of it.
    pub argument_value: String,
    /// A JSON object with the settled arguments, or empty.
    pub context_arguments_json: String,
}

/// A notification of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// `notifications/initialized`.
    Initialized,
    /// `notifications/cancelled`.
    Cancelled {
        /// Which request.
        id: RequestId,
    },
    /// `notifications/roots/list_changed`.
    RootsListChanged,
    /// Anything else, and what could not be read.
    Other,
}

impl HostMessage<'_> {
    /// The message without its line, so that it can wait. Copies what is still borrowed.
    pub fn into_owned(self) -> HostMessage<'static> {
        match self {
            HostMessage::Request { id, era, request } => {
                HostMessage::Request { id, era, request: request.map(Request::into_owned) }
            }
            HostMessage::Notification(notification) => HostMessage::Notification(notification),
            HostMessage::Response { id, outcome } => {
                HostMessage::Response { id, outcome: outcome.map(owned) }
            }
            HostMessage::Invalid { id, error } => HostMessage::Invalid { id, error },
            HostMessage::Batch(messages) => {
                HostMessage::Batch(messages.into_iter().map(HostMessage::into_owned).collect())
            }
        }
    }
}

impl Request<'_> {
    /// The request without its line.
    pub fn into_owned(self) -> Request<'static> {
        match self {
            Request::Initialize(initialize) => Request::Initialize(initialize),
            Request::Ping => Request::Ping,
            Request::ListTools { cursor } => Request::ListTools { cursor },
            Request::CallTool(call) => Request::CallTool(call.into_owned()),
            Request::ListResources { cursor } => Request::ListResources { cursor },
            Request::ListResourceTemplates { cursor } => Request::ListResourceTemplates { cursor },
            Request::ReadResource { uri, retry } => {
                Request::ReadResource { uri, retry: retry.map(Retry::into_owned) }
            }
            Request::Subscribe { uri } => Request::Subscribe { uri },
            Request::Unsubscribe { uri } => Request::Unsubscribe { uri },
            Request::ListPrompts { cursor } => Request::ListPrompts { cursor },
            Request::GetPrompt { name, arguments, retry } => {
                Request::GetPrompt { name, arguments: owned(arguments), retry: retry.map(Retry::into_owned) }
            }
            Request::Complete(complete) => Request::Complete(complete),
            Request::SetLevel(level) => Request::SetLevel(level),
            Request::Discover => Request::Discover,
            Request::Listen(filter) => Request::Listen(filter),
            Request::TaskGet { id } => Request::TaskGet { id },
            Request::TaskUpdate { id, input_responses } => {
                Request::TaskUpdate { id, input_responses: owned(input_responses) }
            }
            Request::TaskCancel { id } => Request::TaskCancel { id },
            Request::TaskResult { id } => Request::TaskResult { id },
            Request::TaskList { cursor } => Request::TaskList { cursor },
        }
    }

    /// The method's name.
    pub const fn method(&self) -> &'static str {
        match self {
            Request::Initialize(_) => "initialize",
            Request::Discover => "server/discover",
            Request::Ping => "ping",
            Request::ListTools { .. } => "tools/list",
            Request::CallTool(_) => "tools/call",
            Request::ListResources { .. } => "resources/list",
            Request::ListResourceTemplates { .. } => "resources/templates/list",
            Request::ReadResource { .. } => "resources/read",
            Request::Subscribe { .. } => "resources/subscribe",
            Request::Unsubscribe { .. } => "resources/unsubscribe",
            Request::ListPrompts { .. } => "prompts/list",
            Request::GetPrompt { .. } => "prompts/get",
            Request::Complete(_) => "completion/complete",
            Request::SetLevel(_) => "logging/setLevel",
            Request::Listen(_) => "subscriptions/listen",
            Request::TaskGet { .. } => "tasks/get",
            Request::TaskUpdate { .. } => "tasks/update",
            Request::TaskCancel { .. } => "tasks/cancel",
            Request::TaskResult { .. } => "tasks/result",
            Request::TaskList { .. } => "tasks/list",
        }
    }
}

impl CallTool<'_> {
    /// The call without its line.
    pub fn into_owned(self) -> CallTool<'static> {
        CallTool {
            name: self.name,
            arguments: owned(self.arguments),
            progress_token: self.progress_token,
            task: self.task,
            retry: self.retry.map(Retry::into_owned),
        }
    }
}

impl Retry<'_> {
    /// The same without its line.
    pub fn into_owned(self) -> Retry<'static> {
        Retry { input_responses: owned(self.input_responses), request_state: self.request_state }
    }
}

impl Filter {
    /// Resources and tasks that it names.
    pub fn len(&self) -> usize {
        self.resource_uris.len() + self.task_ids.len()
    }

    /// Whether nothing is to be heard.
    pub fn is_empty(&self) -> bool {
        !self.tools && !self.prompts && !self.resources && self.len() == 0
    }
}

impl Era {
    /// What a modern request says of its host.
    pub fn meta(&self) -> Option<&RequestMeta> {
        match self {
            Era::Handshake => None,
            Era::Modern(meta) => Some(meta),
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

//! What a host asks, typed.
//!
//! Lenient where hosts differ (absent or `null` params and arguments, unknown members, odd
//! capabilities), strict where a guess would be wrong.

use std::borrow::Cow;

use super::logging::Level;
use crate::jsonrpc::message::{RequestId, RpcError};

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

/// A request of a host.
#[derive(Clone, Debug, PartialEq)]
pub enum Request<'a> {
    /// `initialize`.
    Initialize(Initialize),
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
    },
    /// `completion/complete`.
    Complete(Complete),
    /// `logging/setLevel`.
    SetLevel(Level),
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
            HostMessage::Request { id, request } => {
                HostMessage::Request { id, request: request.map(Request::into_owned) }
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
            Request::ReadResource { uri } => Request::ReadResource { uri },
            Request::Subscribe { uri } => Request::Subscribe { uri },
            Request::Unsubscribe { uri } => Request::Unsubscribe { uri },
            Request::ListPrompts { cursor } => Request::ListPrompts { cursor },
            Request::GetPrompt { name, arguments } => {
                Request::GetPrompt { name, arguments: owned(arguments) }
            }
            Request::Complete(complete) => Request::Complete(complete),
            Request::SetLevel(level) => Request::SetLevel(level),
        }
    }
}

impl CallTool<'_> {
    /// The call without its line.
    pub fn into_owned(self) -> CallTool<'static> {
        CallTool { name: self.name, arguments: owned(self.arguments), progress_token: self.progress_token }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

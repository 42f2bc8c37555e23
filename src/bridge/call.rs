//! One request of a host that needs the tool process, from its arrival to its answer.

use std::sync::Arc;
use std::time::Instant;

use crate::ids::{AskId, Generation, Route};
use crate::jsonrpc::message::RequestId;
use crate::mcp::request::{Complete, RequestMeta};
use crate::mcp::revision::Revision;
use crate::mcp::tool::Tool;

use super::job::StoredResult;

/// A call. It is a value, not a thread: a hundred slow tools cost a hundred of these.
#[derive(Debug)]
pub(super) struct Call {
    /// Whom to answer; `None` for a question of the bridge's own.
    pub(super) reply: Option<Reply>,
    /// What its host understands.
    pub(super) revision: Revision,
    /// What its request said of the host, in the modern era.
    pub(super) meta: Option<Box<RequestMeta>>,
    pub(super) work: Work,
    pub(super) stage: Stage,
    /// The process that it holds a slot of, and our open request there.
    pub(super) place: Option<Place>,
    /// When it is given up.
    pub(super) until: Instant,
}

/// Whom an answer goes to.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) route: Route,
    pub(super) id: RequestId,
    /// The batch that the request came in.
    pub(super) batch: Option<u64>,
}

/// Where a call runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) generation: Generation,
    /// Absent between two requests of one call.
    pub(super) ask: Option<AskId>,
}

/// What is wanted.
#[derive(Debug)]
pub(super) enum Work {
    /// `tools/call`.
    Tool(ToolCall),
    /// One page of a list.
    List { kind: ListKind, cursor: Option<String> },
    /// A list that hosts have seen, asked for again because the process is a new one.
    Refresh(ListKind),
    /// `resources/read`.
    Read { uri: String },
    /// `prompts/get`.
    Prompt { name: String, arguments: String },
    /// `completion/complete`.
    Complete(Complete),
}

/// What `tools/call` wants.
#[derive(Debug)]
pub(super) struct ToolCall {
    pub(super) name: String,
    /// A JSON object; given away once it is sent, unless middleware still needs it.
    pub(super) arguments: String,
    /// The host's token as it was spelled.
    pub(super) progress_token: Option<Box<str>>,
    /// The last progress that the host got; it must rise.
    pub(super) progress: Option<i64>,
    /// The tool as declared by the process that runs it.
    pub(super) tool: Option<Arc<Tool>>,
    /// The names of the middleware that it began with, in the order of the before phase.
    pub(super) chain: Arc<[String]>,
    /// While middleware sees it.
    pub(super) result: Option<StoredResult>,
}

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// For a process that serves, or for a free slot.
    Waiting,
    /// The middleware of this index sees the arguments.
    Before(usize),
    /// The prompts are asked for, to check the arguments of `prompts/get`.
    Prompts,
    /// The tool process works on it.
    Running,
    /// The middleware of this index sees the result.
    After(usize),
    /// A worker spells the result; the slot is free again.
    Job,
}

impl Call {
    /// Bytes that it keeps while it waits; they do not change until it begins.
    pub(super) fn size(&self) -> usize {
        let work = match &self.work {
            Work::Tool(call) => {
                call.name.len() + call.arguments.len() + call.progress_token.as_ref().map_or(0, |it| it.len())
            }
            Work::List { cursor, .. } => cursor.as_ref().map_or(0, String::len),
            Work::Refresh(_) => 0,
            Work::Read { uri } => uri.len(),
            Work::Prompt { name, arguments } => name.len() + arguments.len(),
            Work::Complete(complete) => {
                complete.ref_name.len()
                    + complete.argument_name.len()
                    + complete.argument_value.len()
                    + complete.context_arguments_json.len()
            }
        };
        size_of::<Self>() + work + self.reply.as_ref().map_or(0, |reply| reply.id.as_str().len())
    }

    /// What it is, for a person.
    pub(super) fn what(&self) -> String {
        match &self.work {
            Work::Tool(call) => format!("the tool \"{}\"", call.name),
            Work::List { kind, .. } | Work::Refresh(kind) => match kind {
                ListKind::Tools => "the list of tools".to_owned(),
                ListKind::Resources => "the list of resources".to_owned(),
                ListKind::Templates => "the list of resource templates".to_owned(),
                ListKind::Prompts => "the list of prompts".to_owned(),
            },
            Work::Read { uri } => format!("the resource \"{uri}\""),
            Work::Prompt { name, .. } => format!("the prompt \"{name}\""),
            Work::Complete(complete) => format!("completions of \"{}\"", complete.argument_name),
        }
    }
}

//! One request of a host that needs the tool process, from its arrival to its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ids::{AskId, Generation, Route};
use crate::jsonrpc::message::RequestId;
use crate::mcp::request::{Complete, RequestMeta, TaskWish};
use crate::mcp::revision::Revision;
use crate::mcp::state::Binding;
use crate::mcp::tool::Tool;
use crate::wire::protomcp::InputGiven;

use super::job::StoredResult;
use super::remote::Remote;

/// A call. It is a value, not a thread: a hundred slow tools cost a hundred of these.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) asker: Asker,
    /// What its host understands.
    pub(super) revision: Revision,
    /// What its request said of the host, in the modern era.
    pub(super) meta: Option<Box<RequestMeta>>,
    pub(super) work: Work,
    pub(super) stage: Stage,
    /// Bytes that it counts for while it waits for something else than the tool process.
    pub(super) aside: Option<usize>,
    /// The process that it holds a slot of, and our open request there.
    pub(super) place: Option<Place>,
    /// When its request arrived.
    pub(super) began: Option<Instant>,
    /// When it is given up; not while its host thinks, and not while it is a task.
    pub(super) until: Option<Instant>,
    /// What was left of its time when its host was asked.
    pub(super) left: Duration,
    /// They may be needed once more: its host can be asked something, or bring a state back.
    pub(super) keeps_arguments: bool,
    /// What its host lacks of what the tool wanted to ask: client capabilities, a JSON object.
    pub(super) missing: Option<&'static str>,
    /// Until when questions are gathered that go in one answer.
    pub(super) gathers_until: Option<Instant>,
    /// How often its host was sent away with questions; a state is good for one return.
    pub(super) round: u32,
    /// What its states are bound to.
    pub(super) binding: Option<Binding>,
    /// How often its tool asked without waiting.
    pub(super) rounds: u32,
    /// What the tool is given when it is called again.
    pub(super) given: Option<InputGiven>,
    /// It goes on as a task of the tool process.
    pub(super) remote: Option<Remote>,
}

/// Whom a call is for.
#[derive(Clone, Debug)]
pub(super) enum Asker {
    /// A host that waits for the answer.
    Host(Reply),
    /// A host that was told a question of the call, and has to come back with the answer.
    Away,
    /// A task, which keeps the answer.
    Task(u64),
    /// Nobody: it is a question of the bridge's own.
    Bridge,
}

impl Asker {
    /// The host that waits.
    pub(super) fn reply(&self) -> Option<&Reply> {
        match self {
            Asker::Host(reply) => Some(reply),
            Asker::Away | Asker::Task(_) | Asker::Bridge => None,
        }
    }
}

/// Whom an answer goes to.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) route: Route,
    pub(super) id: RequestId,
    /// What was asked, for those who count.
    pub(super) method: &'static str,
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
    /// `tasks/result`: the end of a task is waited for.
    TaskResult(u64),
}

/// What `tools/call` wants.
#[derive(Debug)]
pub(super) struct ToolCall {
    pub(super) name: String,
    /// A JSON object; given away once it is sent, unless it is needed once more.
    pub(super) arguments: String,
    /// The host's token as it was spelled.
    pub(super) progress_token: Option<Box<str>>,
    /// The last progress that the host got; it must rise.
    pub(super) progress: Option<i64>,
    /// That it shall be a task, as revision 2025-11-25 says it.
    pub(super) wish: Option<TaskWish>,
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
    /// The host is asked so many things, and then the tool is called again.
    Asking(usize),
    /// It is a task of the tool process, which is looked at now and then.
    Remote,
    /// It needs nothing of the tool process, only the end of a task.
    Watching,
}

impl Call {
    /// A call that has not begun.
    pub(super) fn new(asker: Asker, revision: Revision, meta: Option<Box<RequestMeta>>, work: Work) -> Self {
        Self {
            asker,
            revision,
            meta,
            work,
            stage: Stage::Waiting,
            aside: None,
            place: None,
            began: None,
            until: None,
            left: Duration::ZERO,
            keeps_arguments: false,
            missing: None,
            gathers_until: None,
            round: 0,
            binding: None,
            rounds: 0,
            given: None,
            remote: None,
        }
    }

    /// The process that works on it.
    pub(super) fn generation(&self) -> Option<Generation> {
        let remote = self.remote.as_ref().map(|remote| remote.generation);
        self.place.map(|place| place.generation).or(remote)
    }

    /// Bytes that it keeps while it waits; they change only when it becomes a task.
    pub(super) fn size(&self) -> usize {
        let work = match &self.work {
            Work::Tool(call) => {
                call.name.len() + call.arguments.len() + call.progress_token.as_ref().map_or(0, |it| it.len())
            }
            Work::List { cursor, .. } => cursor.as_ref().map_or(0, String::len),
            Work::Refresh(_) | Work::TaskResult(_) => 0,
            Work::Read { uri } => uri.len(),
            Work::Prompt { name, arguments } => name.len() + arguments.len(),
            Work::Complete(complete) => {
                complete.ref_name.len()
                    + complete.argument_name.len()
                    + complete.argument_value.len()
                    + complete.context_arguments_json.len()
            }
        };
        size_of::<Self>() + work + self.asker.reply().map_or(0, |reply| reply.id.as_str().len())
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
            Work::TaskResult(_) => "the result of a task".to_owned(),
        }
    }
}

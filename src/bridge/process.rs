//! One life of the tool process, as the bridge sees it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use crate::ids::{AskId, CallId, Generation};
use crate::limits::{MIDDLEWARE_MAX, UNKNOWN_NAMES_MAX};
use crate::mcp::tool::{TaskSupport, Tool};
use crate::wire::protomcp::{PromptDefinition, RegisterMiddlewareRequest};

use super::call::ListKind;
use super::tool_list::ToolList;

/// One tool process from its start to its end.
///
/// Invariant: `busy` counts the calls and orphaned asks that hold a slot.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) generation: Generation,
    pub(super) phase: Phase,
    /// When it was started, or when its build was begun.
    pub(super) started: Instant,
    /// Why we end it; part of the text that its calls fail with.
    pub(super) end_reason: Option<String>,
    /// What became of its connection; tells why we end it if it does not do so by itself.
    pub(super) broke: Option<String>,
    /// We told it to end: its end is no news and needs no restart.
    pub(super) expected_end: bool,
    /// Calls went to it.
    pub(super) served: bool,
    /// A later one serves; this one's calls may finish until then.
    pub(super) drain_until: Option<Instant>,
    /// In the order in which it declared them.
    pub(super) tools: Vec<Arc<Tool>>,
    by_name: HashMap<String, usize>,
    /// One of them may, or must, run as a task.
    pub(super) has_task_tools: bool,
    pub(super) tool_list: ToolList,
    /// In the order of the before phase.
    middleware: Vec<Middleware>,
    /// Their names, as calls keep them.
    chain: Arc<[String]>,
    /// How many requests it works on at once.
    pub(super) slots: usize,
    /// It said how many; published SDKs do not.
    pub(super) announced: bool,
    /// It can reload in place.
    pub(super) reloads_in_place: bool,
    /// The request that opened its handshake.
    pub(super) opening: Option<AskId>,
    /// It was asked to reload in place; the request, and until when it may take.
    pub(super) reloading: Option<(AskId, Instant)>,
    pub(super) busy: usize,
    /// A call was cancelled that it may not have answered: when to do something about it.
    pub(super) stuck_at: Option<Instant>,
    /// Requests of ours that it has not answered.
    pub(super) asks: BTreeMap<AskId, Ask>,
    /// Its prompts, once it was asked.
    pub(super) prompts: Option<Vec<PromptDefinition>>,
    /// Lists that it did not answer in time, and the request that it may answer yet.
    pub(super) silent: BTreeMap<ListKind, AskId>,
}

/// Where a tool process is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Being built; nothing of it runs yet.
    Building { until: Instant },
    /// Started, not yet connected.
    Starting { until: Instant },
    /// Connected. `quiet_at` is set once the tool list is there: silence until then ends the
    /// handshake of an SDK that does not say that it is complete.
    Handshaking { until: Instant, quiet_at: Option<Instant> },
    /// The handshake is complete; what the process hides follows at once, so it is waited for.
    Settling { until: Instant },
    /// Serves, or is being drained while a later one serves.
    Ready,
    /// Was told to end, or its connection is gone; killed at `kill_at`.
    Ending { kill_at: Option<Instant> },
}

/// A registered middleware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Middleware {
    pub(super) name: String,
    pub(super) priority: i32,
}

/// A request of ours to a tool process.
#[derive(Debug)]
pub(super) struct Ask {
    /// For which call; `None` once nobody wants the answer.
    pub(super) call: Option<CallId>,
    /// When it is given up, if earlier than its call.
    pub(super) until: Option<Instant>,
    /// The process is busy with it. Looking at a task takes no slot.
    pub(super) holds_slot: bool,
    /// Since when nobody wants the answer. A request of no call shows whether the process is done with
    /// a cancelled one, and is as old as that.
    pub(super) cancelled: Option<Instant>,
    /// It is such a request of no call.
    pub(super) is_probe: bool,
}

impl Process {
    pub(super) fn new(generation: Generation, now: Instant, phase: Phase) -> Self {
        Self {
            generation,
            phase,
            started: now,
            end_reason: None,
            broke: None,
            expected_end: false,
            served: false,
            drain_until: None,
            tools: Vec::new(),
            by_name: HashMap::new(),
            has_task_tools: false,
            tool_list: ToolList::default(),
            middleware: Vec::new(),
            chain: Arc::default(),
            slots: 1,
            announced: false,
            reloads_in_place: false,
            opening: None,
            reloading: None,
            busy: 0,
            stuck_at: None,
            asks: BTreeMap::new(),
            prompts: None,
            silent: BTreeMap::new(),
        }
    }

    /// Takes the declared tools; of two with one name the first stays, the others are returned.
    pub(super) fn set_tools(&mut self, tools: Vec<Tool>) -> Vec<String> {
        let mut duplicates = Vec::new();
        self.tools.clear();
        self.by_name.clear();
        self.has_task_tools = false;
        for tool in tools {
            if self.by_name.contains_key(&tool.name) {
                duplicates.push(tool.name);
                continue;
            }
            self.by_name.insert(tool.name.clone(), self.tools.len());
            self.has_task_tools |= tool.task != TaskSupport::Forbidden;
            self.tools.push(Arc::new(tool));
        }
        duplicates
    }

    /// A declared tool, active or not.
    pub(super) fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name).map(|&index| &self.tools[index])
    }

    /// The tools that hosts see, in their order.
    pub(super) fn active_tools(&self) -> Vec<Arc<Tool>> {
        self.tools.iter().filter(|tool| self.tool_list.is_active(&tool.name)).cloned().collect()
    }

    /// The names of the active tools, sorted: the answer to tool-list requests.
    pub(super) fn active_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.active_tools().iter().map(|tool| tool.name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Adds a middleware, or moves one of the same name; false when there are too many.
    pub(super) fn register(&mut self, request: RegisterMiddlewareRequest) -> bool {
        self.middleware.retain(|middleware| middleware.name != request.name);
        if self.middleware.len() >= MIDDLEWARE_MAX {
            return false;
        }
        self.middleware.push(Middleware { name: request.name, priority: request.priority });
        self.middleware.sort_by_key(|middleware| middleware.priority);
        self.chain = self.middleware.iter().map(|middleware| middleware.name.clone()).collect();
        true
    }

    /// The names of its middleware, in the order of the before phase.
    pub(super) fn chain(&self) -> Arc<[String]> {
        self.chain.clone()
    }

    /// It reloaded in place: what it registered is registered anew, and what it did not answer it
    /// may answer now.
    pub(super) fn forget_declarations(&mut self) {
        self.middleware.clear();
        self.chain = Arc::default();
        self.prompts = None;
        self.silent.clear();
    }

    /// Names that no tool has may be those of tools to come, but not without end.
    pub(super) fn forget_unknown_names(&mut self) {
        if self.tool_list.len() > self.tools.len() + UNKNOWN_NAMES_MAX {
            self.tool_list.retain(|name| self.by_name.contains_key(name));
        }
    }

    /// Whether calls can be sent to it.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready)
    }

    /// Whether one more call fits.
    pub(super) fn has_free_slot(&self) -> bool {
        self.is_ready() && self.busy < self.slots
    }

    /// When something about it is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Building { until } | Phase::Starting { until } | Phase::Settling { until } => Some(until),
            Phase::Handshaking { until, quiet_at } => Some(quiet_at.map_or(until, |quiet| quiet.min(until))),
            Phase::Ready => self.drain_until.into_iter().chain(self.reloading.map(|(_, until)| until)).min(),
            Phase::Ending { kill_at } => kill_at,
        };
        let asks = self.asks.values().filter_map(|ask| ask.until).min();
        phase.into_iter().chain(asks).chain(self.stuck_at).min()
    }
}

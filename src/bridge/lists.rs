//! Lists of tools, resources, templates and prompts, and what hosts have seen of them.

use std::sync::Arc;
use std::time::Instant;

use crate::ids::{AskId, CallId, Generation};
use crate::jsonrpc::message::{RequestId, RpcError};
use crate::limits::LIST_TIMEOUT;
use crate::log::Level;
use crate::mcp::request::Filter;
use crate::mcp::result::Dialect;
use crate::mcp::revision;
use crate::mcp::tool::{Tool, write_tools};
use crate::mcp::{notify, page, prompt, resource};
use crate::wire::protomcp::{
    PromptDefinition, ResourceDefinition, ResourceTemplateDefinition, envelope::Msg,
};

use super::asks::unasked;
use super::call::{Asker, Call, ListKind, Stage, Work};
use super::tool_list::ToolList;
use super::{Bridge, Outputs, log};

/// What hosts were last told. A list that no host asked for is `None`, and its changes are
/// nobody's news.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) tools: Option<Vec<Arc<Tool>>>,
    resources: Option<Vec<ResourceDefinition>>,
    templates: Option<Vec<ResourceTemplateDefinition>>,
    prompts: Option<Vec<PromptDefinition>>,
}

impl Seen {
    /// The page of what was last told that a cursor asks for. Whoever gets it has seen the list,
    /// even if it is empty.
    fn write(
        &mut self,
        body: &mut Vec<u8>,
        kind: ListKind,
        cursor: Option<&str>,
        dialect: Dialect<'_>,
    ) -> Result<(), RpcError> {
        match kind {
            ListKind::Tools => {
                write_page(body, self.tools.get_or_insert_default(), cursor, |body, items, next| {
                    write_tools(body, items.iter().map(|tool| &**tool), dialect, next);
                })
            }
            ListKind::Resources => {
                write_page(body, self.resources.get_or_insert_default(), cursor, |body, items, next| {
                    resource::write_resources(body, items, dialect, next);
                })
            }
            ListKind::Templates => {
                write_page(body, self.templates.get_or_insert_default(), cursor, |body, items, next| {
                    resource::write_templates(body, items, dialect, next);
                })
            }
            ListKind::Prompts => {
                write_page(body, self.prompts.get_or_insert_default(), cursor, |body, items, next| {
                    prompt::write_prompts(body, items, dialect, next);
                })
            }
        }
    }

    /// The first page of what was last told.
    pub(super) fn write_first(&mut self, body: &mut Vec<u8>, kind: ListKind, dialect: Dialect<'_>) {
        let written = self.write(body, kind, None, dialect);
        debug_assert!(written.is_ok(), "the first page of a list always exists");
    }
}

/// Writes the page that the cursor asks for.
fn write_page<T>(
    body: &mut Vec<u8>,
    items: &[T],
    cursor: Option<&str>,
    write: impl FnOnce(&mut Vec<u8>, &[T], Option<&str>),
) -> Result<(), RpcError> {
    let page = page::page(items.len(), cursor)?;
    write(body, &items[page.range], page.next_cursor.as_deref());
    Ok(())
}

impl Bridge {
    /// Answers `tools/list` from what the process declared.
    pub(super) fn list_tools(&mut self, id: CallId, generation: Generation, now: Instant, out: &mut Outputs) {
        let Some(process) = self.processes.get(&generation) else { return };
        self.seen.tools = Some(process.active_tools());
        self.answer_list(id, ListKind::Tools, now, out);
    }

    /// Answers a list from what was just seen.
    fn answer_list(&mut self, id: CallId, kind: ListKind, now: Instant, out: &mut Outputs) {
        let Some(Call { revision, work: Work::List { cursor, .. }, .. }) = self.calls.get(&id) else {
            return;
        };
        let dialect = Dialect { revision: *revision, server_json: &self.server_json };
        let mut body = Vec::new();
        match self.seen.write(&mut body, kind, cursor.as_deref(), dialect) {
            Ok(()) => self.end_with(id, now, out, |out, _| out.extend_from_slice(&body)),
            Err(error) => self.end_with_error(id, &error, now, out),
        }
    }

    /// The tool process answered a request for a list.
    pub(super) fn listed(
        &mut self,
        generation: Generation,
        id: CallId,
        msg: Msg,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        if let Msg::PromptListResponse(list) = &msg
            && let Some(process) = self.processes.get_mut(&generation)
        {
            process.prompts = Some(list.prompts.clone());
        }
        if call.stage == Stage::Prompts {
            return self.check_prompt(generation, id, now, out);
        }
        let (kind, refresh) = match &call.work {
            Work::List { kind, .. } => (*kind, false),
            Work::Refresh(kind) => (*kind, true),
            _ => return self.mismatch(id, now, out),
        };
        let seen = &mut self.seen;
        let (changed, warnings) = match (kind, msg) {
            (ListKind::Resources, Msg::ResourceListResponse(list)) => {
                replace(&mut seen.resources, list.resources, resource::warnings)
            }
            (ListKind::Templates, Msg::ResourceTemplateListResponse(list)) => {
                replace(&mut seen.templates, list.templates, resource::template_warnings)
            }
            (ListKind::Prompts, Msg::PromptListResponse(list)) => {
                replace(&mut seen.prompts, list.prompts, prompt::warnings)
            }
            _ => return self.mismatch(id, now, out),
        };
        for warning in warnings {
            log(out, Level::Warning, warning);
        }
        if !refresh {
            return self.answer_list(id, kind, now, out);
        }
        self.remove(id, now, out);
        if changed {
            self.notify_list(kind, out);
        }
    }

    /// A process that does not speak a list has an empty one.
    pub(super) fn list_is_silent(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let Some(Call { work: Work::List { kind, .. } | Work::Refresh(kind), asker, .. }) =
            self.calls.get(&id)
        else {
            return;
        };
        let (kind, is_refresh) = (*kind, asker.reply().is_none());
        if self.seen.forget(kind) && is_refresh {
            self.notify_list(kind, out);
        }
        self.fail(id, "", now, out);
    }

    /// An answer to no open request. Without an id it is news: the list is this from now on. If it is
    /// that of a list which was given up, the process speaks it after all, and hosts are told to ask
    /// again.
    pub(super) fn listed_late(
        &mut self,
        generation: Generation,
        request_id: &str,
        msg: Msg,
        out: &mut Outputs,
    ) {
        if request_id.is_empty() {
            return self.list_changed(generation, msg, out);
        }
        let (kind, is_empty) = match &msg {
            Msg::ResourceListResponse(list) => (ListKind::Resources, list.resources.is_empty()),
            Msg::ResourceTemplateListResponse(list) => (ListKind::Templates, list.templates.is_empty()),
            Msg::PromptListResponse(list) => (ListKind::Prompts, list.prompts.is_empty()),
            _ => return unasked(out, request_id),
        };
        let silent = self.processes.get_mut(&generation).map(|process| &mut process.silent);
        let is_it = |ask: &AskId| request_id.parse() == Ok(ask.0);
        let Some(silent) = silent.filter(|silent| silent.get(&kind).is_some_and(is_it)) else {
            return unasked(out, request_id);
        };
        silent.remove(&kind);
        if !is_empty {
            self.notify_list(kind, out);
        }
    }

    /// A process says that a list of it is another one now. What a host has not seen is no news to
    /// it, unless it listens.
    fn list_changed(&mut self, generation: Generation, msg: Msg, out: &mut Outputs) {
        if let Msg::PromptListResponse(list) = &msg
            && let Some(process) = self.processes.get_mut(&generation)
        {
            process.prompts = Some(list.prompts.clone());
        }
        if self.serving != Some(generation) {
            return;
        }
        let seen = &mut self.seen;
        let was_seen = match &msg {
            Msg::ResourceListResponse(_) => seen.resources.is_some(),
            Msg::ResourceTemplateListResponse(_) => seen.templates.is_some(),
            _ => seen.prompts.is_some(),
        };
        let (kind, (changed, warnings)) = match msg {
            Msg::ResourceListResponse(list) => {
                (ListKind::Resources, replace(&mut seen.resources, list.resources, resource::warnings))
            }
            Msg::ResourceTemplateListResponse(list) => (
                ListKind::Templates,
                replace(&mut seen.templates, list.templates, resource::template_warnings),
            ),
            Msg::PromptListResponse(list) => {
                (ListKind::Prompts, replace(&mut seen.prompts, list.prompts, prompt::warnings))
            }
            _ => return unasked(out, ""),
        };
        for warning in warnings {
            log(out, Level::Warning, warning);
        }
        if changed || !was_seen {
            self.notify_list(kind, out);
        }
    }

    /// A process did not answer a request for a list: it does not speak it.
    pub(super) fn list_timed_out(
        &mut self,
        generation: Generation,
        ask: AskId,
        id: CallId,
        now: Instant,
        out: &mut Outputs,
    ) {
        let (Some(call), Some(process)) = (self.calls.get_mut(&id), self.processes.get_mut(&generation))
        else {
            return;
        };
        let kind = match &call.work {
            Work::List { kind, .. } | Work::Refresh(kind) => *kind,
            _ => ListKind::Prompts,
        };
        process.asks.remove(&ask);
        process.silent.insert(kind, ask);
        if let Some(place) = &mut call.place {
            place.ask = None;
        }
        let (what, seconds) = (call.what(), LIST_TIMEOUT.as_secs());
        if call.stage == Stage::Prompts {
            return self.get_prompt(id, out);
        }
        let text = format!(
            "the tool process did not answer the request for {what} within {seconds} s; it counts as empty"
        );
        log(out, Level::Info, text);
        self.list_is_silent(id, now, out);
    }

    /// Checks the arguments of `prompts/get` against the prompt's declaration.
    pub(super) fn check_prompt(
        &mut self,
        generation: Generation,
        id: CallId,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(Call { work: Work::Prompt { name, arguments }, .. }) = self.calls.get(&id) else { return };
        let prompts = self.processes.get(&generation).and_then(|process| process.prompts.as_deref());
        let Some(prompts) = prompts else { return self.mismatch(id, now, out) };
        if let Some(definition) = prompts.iter().find(|prompt| prompt.name == *name) {
            let missing = prompt::missing_arguments(definition, arguments);
            if !missing.is_empty() {
                let error = prompt::missing_error(name, &missing);
                return self.end_with_error(id, &error, now, out);
            }
        }
        self.get_prompt(id, out);
    }

    /// Changes which tools are active, and tells hosts if that changed what they see.
    pub(super) fn change_tool_list(
        &mut self,
        generation: Generation,
        out: &mut Outputs,
        change: impl FnOnce(&mut ToolList),
    ) {
        let Some(process) = self.processes.get_mut(&generation) else { return };
        change(&mut process.tool_list);
        process.forget_unknown_names();
        self.tools_may_have_changed(out);
    }

    /// Tells hosts if their picture of the tools is no longer true.
    pub(super) fn tools_may_have_changed(&mut self, out: &mut Outputs) {
        let Some(process) = self.serving.and_then(|generation| self.processes.get(&generation)) else {
            return;
        };
        let active = process.active_tools();
        let Some(seen) = &mut self.seen.tools else {
            // From here on changes are news, though nobody asked for the list.
            if self.is_listened_to(|filter| filter.tools) {
                self.seen.tools = Some(active);
            }
            return;
        };
        if *seen != active {
            *seen = active;
            self.notify_list(ListKind::Tools, out);
        }
    }

    fn notify_list(&self, kind: ListKind, out: &mut Outputs) {
        let write = |message: &mut Vec<u8>, stream: Option<&RequestId>| match kind {
            ListKind::Tools => notify::tools_changed(message, stream),
            ListKind::Resources | ListKind::Templates => notify::resources_changed(message, stream),
            ListKind::Prompts => notify::prompts_changed(message, stream),
        };
        self.notify(out, |_| true, |message| write(message, None));
        let wants = |filter: &Filter| match kind {
            ListKind::Tools => filter.tools,
            ListKind::Resources | ListKind::Templates => filter.resources,
            ListKind::Prompts => filter.prompts,
        };
        self.tell_listens(out, wants, write);
    }

    /// Whether a stream wants to hear of this.
    fn is_listened_to(&self, wants: impl Fn(&Filter) -> bool) -> bool {
        self.sessions.values().flat_map(|session| &session.listens).any(|listen| wants(listen.filter()))
    }

    /// Asks for the lists that hosts have seen, because the process `is_new`, and for those that they
    /// have not seen but want to hear of: to tell them what changed.
    pub(super) fn refresh_lists(&mut self, is_new: bool, now: Instant) {
        let (seen, resources, prompts) = (
            &self.seen,
            self.is_listened_to(|filter| filter.resources),
            self.is_listened_to(|filter| filter.prompts),
        );
        let is_due = |is_seen: bool, is_wanted: bool| if is_seen { is_new } else { is_wanted };
        let seen = [
            (ListKind::Resources, is_due(seen.resources.is_some(), resources)),
            (ListKind::Templates, is_due(seen.templates.is_some(), resources)),
            (ListKind::Prompts, is_due(seen.prompts.is_some(), prompts)),
        ];
        let is_waiting = |kind: ListKind| {
            self.calls.values().any(|call| matches!(call.work, Work::Refresh(waiting) if waiting == kind))
        };
        let wanted: Vec<ListKind> = seen
            .into_iter()
            .filter(|(kind, seen)| *seen && !is_waiting(*kind))
            .map(|(kind, _)| kind)
            .collect();
        for kind in wanted {
            let id = CallId(self.next_id());
            let call = Call::new(Asker::Bridge, revision::LATEST, None, Work::Refresh(kind));
            self.wait(id, call, now);
        }
    }
}

impl Seen {
    /// The list is empty from now on; says whether hosts saw another one.
    fn forget(&mut self, kind: ListKind) -> bool {
        fn clear<T>(seen: &mut Option<Vec<T>>) -> bool {
            seen.replace(Vec::new()).is_some_and(|seen| !seen.is_empty())
        }
        match kind {
            ListKind::Tools => clear(&mut self.tools),
            ListKind::Resources => clear(&mut self.resources),
            ListKind::Templates => clear(&mut self.templates),
            ListKind::Prompts => clear(&mut self.prompts),
        }
    }
}

/// Stores the newer list and says whether hosts saw another one, and what is wrong with it if
/// that was not said before.
fn replace<T: PartialEq>(
    seen: &mut Option<Vec<T>>,
    list: Vec<T>,
    warnings: impl FnOnce(&[T]) -> Vec<String>,
) -> (bool, Vec<String>) {
    if seen.as_ref() == Some(&list) {
        return (false, Vec::new());
    }
    let warnings = warnings(&list);
    (seen.replace(list).is_some(), warnings)
}

//! Lists of tools, resources, templates and prompts, and what hosts have seen of them.

use std::sync::Arc;
use std::time::Instant;

use crate::ids::{AskId, CallId, Generation};
use crate::jsonrpc::message::RpcError;
use crate::limits::LIST_TIMEOUT;
use crate::log::Level;
use crate::mcp::revision::{self, Revision};
use crate::mcp::tool::{Tool, write_tools};
use crate::mcp::{notify, page, prompt, resource};
use crate::wire::protomcp::{
    PromptDefinition, ResourceDefinition, ResourceTemplateDefinition, envelope::Msg,
};

use super::call::{Call, ListKind, Stage, Work};
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
    /// The first page of what was last told.
    pub(super) fn write(&mut self, body: &mut Vec<u8>, kind: ListKind, revision: Revision) {
        // Whoever gets it has seen it, even if it is empty.
        let written = match kind {
            ListKind::Tools => {
                write_page(body, self.tools.get_or_insert_default(), None, |body, items, next| {
                    write_tools(body, items.iter().map(|tool| &**tool), revision, next);
                })
            }
            ListKind::Resources => {
                write_page(body, self.resources.get_or_insert_default(), None, |body, items, next| {
                    resource::write_resources(body, items, revision, next);
                })
            }
            ListKind::Templates => {
                write_page(body, self.templates.get_or_insert_default(), None, |body, items, next| {
                    resource::write_templates(body, items, revision, next);
                })
            }
            ListKind::Prompts => {
                write_page(body, self.prompts.get_or_insert_default(), None, |body, items, next| {
                    prompt::write_prompts(body, items, revision, next);
                })
            }
        };
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
    pub(super) fn list_tools(&mut self, id: CallId, generation: Generation, out: &mut Outputs) {
        let Some(process) = self.processes.get(&generation) else { return };
        let tools = process.active_tools();
        let Some(Call { revision, work: Work::List { cursor, .. }, .. }) = self.calls.get(&id) else {
            return;
        };
        let mut body = Vec::new();
        let written = write_page(&mut body, &tools, cursor.as_deref(), |body, items, next| {
            write_tools(body, items.iter().map(|tool| &**tool), *revision, next);
        });
        self.seen.tools = Some(tools);
        self.end_list(id, written, body, out);
    }

    fn end_list(&mut self, id: CallId, written: Result<(), RpcError>, body: Vec<u8>, out: &mut Outputs) {
        let Some(Call { reply: Some(reply), .. }) = self.calls.remove(&id) else { return };
        match written {
            Ok(()) => {
                let mut message = Vec::with_capacity(body.len() + 64);
                crate::jsonrpc::message::write_result(&mut message, &reply.id, |out| {
                    out.extend_from_slice(&body)
                });
                self.answer(&reply, message, out);
            }
            Err(error) => self.answer_error(&reply, &error, out),
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
        if refresh {
            self.calls.remove(&id);
            self.release(generation);
            if changed {
                self.notify_list(kind, out);
            }
            return;
        }
        self.answer_list(id, generation, kind, out);
    }

    /// Answers a list from what was just seen.
    fn answer_list(&mut self, id: CallId, generation: Generation, kind: ListKind, out: &mut Outputs) {
        let Some(Call { revision, work: Work::List { cursor, .. }, .. }) = self.calls.get(&id) else {
            return;
        };
        let (revision, cursor) = (*revision, cursor.clone());
        let mut body = Vec::new();
        let cursor = cursor.as_deref();
        let written = match kind {
            ListKind::Tools => Ok(()),
            ListKind::Resources => write_page(
                &mut body,
                self.seen.resources.get_or_insert_default(),
                cursor,
                |body, items, next| {
                    resource::write_resources(body, items, revision, next);
                },
            ),
            ListKind::Templates => write_page(
                &mut body,
                self.seen.templates.get_or_insert_default(),
                cursor,
                |body, items, next| {
                    resource::write_templates(body, items, revision, next);
                },
            ),
            ListKind::Prompts => write_page(
                &mut body,
                self.seen.prompts.get_or_insert_default(),
                cursor,
                |body, items, next| {
                    prompt::write_prompts(body, items, revision, next);
                },
            ),
        };
        self.release(generation);
        self.end_list(id, written, body, out);
    }

    /// A process that does not speak a list has an empty one.
    pub(super) fn list_is_silent(&mut self, id: CallId, out: &mut Outputs) {
        let Some(call) = self.calls.remove(&id) else { return };
        match &call.work {
            Work::List { kind, .. } => _ = self.seen.forget(*kind),
            Work::Refresh(kind) if self.seen.forget(*kind) => self.notify_list(*kind, out),
            _ => {}
        }
        self.answer_failed(call, "", out);
    }

    /// A process did not answer a request for a list: it does not speak it.
    pub(super) fn list_timed_out(
        &mut self,
        generation: Generation,
        ask: AskId,
        id: CallId,
        out: &mut Outputs,
    ) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let what = call.what();
        let kind = match &call.work {
            Work::List { kind, .. } | Work::Refresh(kind) => *kind,
            _ => return,
        };
        call.place = None;
        if let Some(process) = self.processes.get_mut(&generation) {
            process.asks.remove(&ask);
            process.silent.push(kind);
        }
        self.release(generation);
        let seconds = LIST_TIMEOUT.as_secs();
        log(
            out,
            Level::Info,
            format!(
                "the tool process did not answer the request for {what} within {seconds} s; it counts as empty"
            ),
        );
        self.list_is_silent(id, out);
    }

    /// Checks the arguments of `prompts/get` against the prompt's declaration.
    fn check_prompt(&mut self, generation: Generation, id: CallId, now: Instant, out: &mut Outputs) {
        let Some(Call { work: Work::Prompt { name, arguments }, .. }) = self.calls.get(&id) else { return };
        let prompts = self.processes.get(&generation).and_then(|process| process.prompts.as_deref());
        let Some(prompts) = prompts else { return self.mismatch(id, now, out) };
        if let Some(definition) = prompts.iter().find(|prompt| prompt.name == *name) {
            let missing = prompt::missing_arguments(definition, arguments);
            if !missing.is_empty() {
                let error = prompt::missing_error(name, &missing);
                return self.end_with_error(id, &error, out);
            }
        }
        self.get_prompt(id, out);
    }

    /// The same check when the prompts are known already.
    pub(super) fn prompt_with_known_list(
        &mut self,
        generation: Generation,
        id: CallId,
        now: Instant,
        out: &mut Outputs,
    ) {
        let known = self.processes.get(&generation).is_some_and(|process| process.prompts.is_some());
        if known { self.check_prompt(generation, id, now, out) } else { self.get_prompt(id, out) }
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
        self.tools_may_have_changed(out);
    }

    /// Tells hosts if their picture of the tools is no longer true.
    pub(super) fn tools_may_have_changed(&mut self, out: &mut Outputs) {
        let Some(process) = self.serving.and_then(|generation| self.processes.get(&generation)) else {
            return;
        };
        let Some(seen) = &mut self.seen.tools else { return };
        let active = process.active_tools();
        if *seen != active {
            *seen = active;
            self.notify_list(ListKind::Tools, out);
        }
    }

    fn notify_list(&self, kind: ListKind, out: &mut Outputs) {
        self.notify(
            out,
            |_| true,
            |message| match kind {
                ListKind::Tools => notify::tools_changed(message),
                ListKind::Resources | ListKind::Templates => notify::resources_changed(message),
                ListKind::Prompts => notify::prompts_changed(message),
            },
        );
    }

    /// Asks a new process for the lists that hosts have seen, to tell them what changed.
    pub(super) fn refresh_lists(&mut self, now: Instant) {
        let seen = [
            (ListKind::Resources, self.seen.resources.is_some()),
            (ListKind::Templates, self.seen.templates.is_some()),
            (ListKind::Prompts, self.seen.prompts.is_some()),
        ];
        for (kind, _) in seen.into_iter().filter(|(_, seen)| *seen) {
            let id = CallId(self.next_id());
            let call = Call {
                reply: None,
                revision: revision::LATEST,
                work: Work::Refresh(kind),
                stage: Stage::Waiting,
                place: None,
                until: now + self.config.call_timeout,
            };
            self.wait(id, call);
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

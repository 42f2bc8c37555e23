//! The server: all that one tool process offers, and which function answers what.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use super::args::Args;
use super::completion::{Completing, Completion, CompletionHandler, Reference};
use super::context::Context;
use super::error::{Error, ToolError};
use super::middleware::Middleware;
use super::peer::{Offer, Work};
use super::prompt::Prompt;
use super::resource::{Resource, ResourceTemplate};
use super::result::failed_call;
use super::tool::Tool;
use crate::limits::SDK_CONCURRENCY;
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{
    CompletionRequest, CompletionResponse, GetPromptResponse, MiddlewareInterceptRequest,
    MiddlewareInterceptResponse, ReadResourceResponse, RegisterMiddlewareRequest,
};

/// All that one tool process offers. The [module's page](super) is a tutorial.
#[derive(Default)]
#[must_use = "a server serves when it is run"]
pub struct Server {
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    prompts: Vec<Prompt>,
    completions: Vec<(Reference, String, CompletionHandler)>,
    middleware: Vec<Middleware>,
    concurrency: Option<u32>,
    restore: Option<RestoreHandler>,
}

/// Takes what the process before this one left.
type RestoreHandler = Box<dyn Fn(&[u8]) + Send + Sync>;

impl Server {
    /// A server that offers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool; see [`tool`](super::tool()).
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a resource; see [`resource`](super::resource()).
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds a family of resources; see [`resource_template`](super::resource_template()). A URI
    /// that fits several is read by the one added first.
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(template);
        self
    }

    /// Adds a prompt; see [`prompt`](super::prompt()).
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Suggests values for one argument of a prompt or of a resource template; see
    /// [`Completing::matching`].
    pub fn completion<F, R>(mut self, reference: Reference, argument: impl Into<String>, complete: F) -> Self
    where
        F: Fn(&Context, &Completing<'_>) -> Result<R, ToolError> + Send + Sync + 'static,
        R: Into<Completion>,
    {
        let complete: CompletionHandler =
            Box::new(move |context, completing| complete(context, completing).map(Into::into));
        self.completions.push((reference, argument.into(), complete));
        self
    }

    /// Adds a middleware; see [`middleware`](super::middleware()).
    pub fn middleware(mut self, middleware: Middleware) -> Self {
        self.middleware.push(middleware);
        self
    }

    /// How many requests are worked on at once, each on a thread of its own: 8 if not given,
    /// because handlers mostly wait for something. With 1, handlers run one after the other. A
    /// handler that waits for a person's answer keeps its place meanwhile; a
    /// [task](Context::start_task) does not.
    pub fn concurrency(mut self, concurrency: u32) -> Self {
        self.concurrency = Some(concurrency.max(1));
        self
    }

    /// Takes over what the process before this one saved last ([`Context::save_state`]), before
    /// the first request. It is not called if nothing was saved.
    pub fn restore(mut self, restore: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        self.restore = Some(Box::new(restore));
        self
    }

    /// Takes the server apart into what is announced and what is run.
    pub(crate) fn into_parts(self) -> Result<(Offer, Handlers), Error> {
        self.check().map_err(Error::Definition)?;
        let offer = Offer {
            tools: self.tools.iter().map(|tool| tool.definition.clone()).collect(),
            hidden: self
                .tools
                .iter()
                .filter(|tool| tool.hidden)
                .map(|tool| tool.definition.name.clone())
                .collect(),
            unlisted: [
                self.prompts.iter().filter(|it| it.hidden).map(|it| it.definition.name.clone()).collect(),
                self.resources.iter().filter(|it| it.hidden).map(|it| it.definition.uri.clone()).collect(),
            ],
            middleware: self
                .middleware
                .iter()
                .map(|it| RegisterMiddlewareRequest { name: it.name.clone(), priority: it.priority })
                .collect(),
            resources: self.resources.iter().map(|resource| resource.definition.clone()).collect(),
            templates: self.templates.iter().map(|template| template.definition.clone()).collect(),
            prompts: self.prompts.iter().map(|prompt| prompt.definition.clone()).collect(),
            concurrency: self.concurrency.unwrap_or(SDK_CONCURRENCY),
        };
        let handlers = Handlers {
            tools: self
                .tools
                .into_iter()
                .map(|tool| (tool.definition.name.clone(), (tool, Pace::default())))
                .collect(),
            resources: self.resources,
            templates: self.templates,
            prompts: self.prompts,
            completions: self.completions,
            restore: self.restore,
            middleware: self.middleware.into_iter().map(|middleware| (middleware, Pace::default())).collect(),
        };
        Ok((offer, handlers))
    }

    /// Says what is wrong with the definitions, if anything is.
    fn check(&self) -> Result<(), String> {
        for tool in &self.tools {
            if let Some(wrong) = &tool.wrong {
                return Err(format!("tool {:?}: {wrong}", tool.definition.name));
            }
        }
        for template in &self.templates {
            template.pattern.as_ref().map_err(|wrong| format!("resource template {wrong}"))?;
        }
        unique("tool", self.tools.iter().map(|tool| &tool.definition.name))?;
        unique("resource", self.resources.iter().map(|resource| &resource.definition.uri))?;
        unique("resource template", self.templates.iter().map(|template| &template.definition.uri_template))?;
        unique("prompt", self.prompts.iter().map(|prompt| &prompt.definition.name))?;
        unique("middleware", self.middleware.iter().map(|middleware| &middleware.name))
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("tools", &self.tools)
            .field("resources", &self.resources)
            .field("templates", &self.templates)
            .field("prompts", &self.prompts)
            .field("middleware", &self.middleware)
            .finish_non_exhaustive()
    }
}

fn unique<'a>(kind: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = HashSet::new();
    for name in names {
        if name.is_empty() {
            return Err(format!("a {kind} has no name"));
        }
        if !seen.insert(name) {
            return Err(format!("two {kind}s are called {name:?}"));
        }
    }
    Ok(())
}

/// Whether a handler was quick the last time. A quick one is worth running on the reading thread;
/// waking another to read on would take longer than the handler does.
#[derive(Debug, Default)]
pub(crate) struct Pace(AtomicBool);

impl Pace {
    pub(crate) fn is_quick(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set_quick(&self, quick: bool) {
        if self.is_quick() != quick {
            self.0.store(quick, Ordering::Relaxed);
        }
    }
}

/// The functions behind an [`Offer`].
pub(crate) struct Handlers {
    tools: HashMap<String, (Tool, Pace)>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    prompts: Vec<Prompt>,
    completions: Vec<(Reference, String, CompletionHandler)>,
    middleware: Vec<(Middleware, Pace)>,
    restore: Option<RestoreHandler>,
}

impl Handlers {
    /// The pace of what this work needs; only for what happens often.
    pub(crate) fn pace(&self, work: &Work) -> Option<&Pace> {
        match work {
            Work::Call { name, .. } => self.tools.get(name).map(|(_, pace)| pace),
            Work::Intercept(request) => self.find_middleware(&request.middleware_name).map(|(_, pace)| pace),
            _ => None,
        }
    }

    /// Takes over what the process before this one left.
    pub(crate) fn restore(&self, state: &[u8]) {
        if let Some(restore) = &self.restore
            && catch_unwind(AssertUnwindSafe(|| restore(state))).is_err()
        {
            eprintln!("the state of the process before could not be restored");
        }
    }

    /// Does the work, whatever the handler does: a panic becomes an error.
    pub(crate) fn handle(&self, context: &Context, work: Work) -> Msg {
        let failed = failed_as(&work);
        let outcome = match work {
            Work::Call { name, arguments_json, .. } => {
                guarded(|| self.call(context, &name, &Args::new(&arguments_json)))
            }
            Work::Read { uri } => guarded(|| self.read(context, &uri)),
            Work::Prompt { name, arguments_json } => {
                guarded(|| self.prompt(context, &name, &Args::new(&arguments_json)))
            }
            Work::Complete(request) => return Msg::CompletionResponse(self.complete(context, &request)),
            Work::Intercept(request) => return Msg::MiddlewareInterceptResponse(self.intercept(request)),
        };
        outcome.unwrap_or_else(failed)
    }

    fn call(&self, context: &Context, name: &str, args: &Args<'_>) -> Result<Msg, ToolError> {
        let (tool, _) =
            self.tools.get(name).ok_or_else(|| ToolError::not_found(format!("there is no tool {name:?}")))?;
        (tool.handler)(context, args)?.into_answer()
    }

    fn read(&self, context: &Context, uri: &str) -> Result<Msg, ToolError> {
        if let Some(resource) = self.resources.iter().find(|resource| resource.definition.uri == uri) {
            return (resource.read)(context)?.into_answer(uri, &resource.definition.mime_type);
        }
        for template in &self.templates {
            if let Some(variables) = template.pattern.as_ref().ok().and_then(|pattern| pattern.matches(uri)) {
                let contents = (template.read)(context, &variables)?;
                return contents.into_answer(uri, &template.definition.mime_type);
            }
        }
        Err(ToolError::not_found(format!("there is no resource {uri}")))
    }

    fn prompt(&self, context: &Context, name: &str, args: &Args<'_>) -> Result<Msg, ToolError> {
        let prompt = self
            .prompts
            .iter()
            .find(|prompt| prompt.definition.name == name)
            .ok_or_else(|| ToolError::not_found(format!("there is no prompt {name:?}")))?;
        for argument in prompt.definition.arguments.iter().filter(|argument| argument.required) {
            args.get::<String>(&argument.name)?;
        }
        (prompt.handler)(context, args)?.into_answer(&prompt.definition.description)
    }

    fn complete(&self, context: &Context, request: &CompletionRequest) -> CompletionResponse {
        let found = self.completions.iter().find(|(reference, argument, _)| {
            reference.kind == request.ref_type
                && reference.name == request.ref_name
                && *argument == request.argument_name
        });
        let Some((_, _, complete)) = found else { return CompletionResponse::default() };
        let completing = Completing::new(&request.argument_value, &request.context_arguments_json);
        match guarded(|| complete(context, &completing)) {
            Ok(completion) => completion.into_wire(),
            Err(error) => {
                eprintln!("completing {:?} failed: {error}", request.argument_name);
                CompletionResponse::default()
            }
        }
    }

    fn find_middleware(&self, name: &str) -> Option<&(Middleware, Pace)> {
        self.middleware.iter().find(|(middleware, _)| middleware.name == name)
    }

    fn intercept(&self, request: MiddlewareInterceptRequest) -> MiddlewareInterceptResponse {
        let Some((middleware, _)) = self.find_middleware(&request.middleware_name) else {
            return MiddlewareInterceptResponse::default();
        };
        guarded(|| Ok(middleware.intercept(request))).unwrap_or_else(|error| {
            rejected(format!("middleware {:?} failed: {}", middleware.name, error.message()))
        })
    }
}

/// How an error is told in answer to this work.
pub(crate) fn failed_as(work: &Work) -> fn(ToolError) -> Msg {
    match work {
        Work::Call { .. } => failed_as_call,
        Work::Read { .. } => |error| {
            let error = Some(error.into_wire());
            Msg::ReadResourceResponse(ReadResourceResponse { error, ..Default::default() })
        },
        Work::Prompt { .. } => |error| {
            let error = Some(error.into_wire());
            Msg::GetPromptResponse(GetPromptResponse { error, ..Default::default() })
        },
        // The wire has no error here, and no suggestions are an honest answer.
        Work::Complete(_) => |_| Msg::CompletionResponse(CompletionResponse::default()),
        Work::Intercept(_) => |error| Msg::MiddlewareInterceptResponse(rejected(error.to_string())),
    }
}

pub(crate) fn failed_as_call(error: ToolError) -> Msg {
    Msg::CallResult(failed_call(error))
}

/// Before a call it is rejected; after it the result must not pass unseen.
fn rejected(reason: String) -> MiddlewareInterceptResponse {
    MiddlewareInterceptResponse {
        result_json: reason.clone(),
        reject: true,
        reject_reason: reason,
        ..Default::default()
    }
}

/// Runs a handler; a panic becomes an error with its text. (In a program that is built to abort
/// on panic the process ends, and the bridge tells why.)
fn guarded<T>(handler: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    // Nothing of ours is left half-changed by a panic; what is shared between handlers is the
    // author's, who has the panic's text to go by.
    catch_unwind(AssertUnwindSafe(handler)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no text".to_owned());
        Err(ToolError::new("PANIC", format!("the handler panicked: {text}")))
    })
}

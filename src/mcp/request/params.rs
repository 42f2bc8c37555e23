//! The params of each method, read as leniently as hosts need it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::{CallTool, Complete, Filter, HostCapabilities, Initialize, Request, Retry, TaskWish};
use crate::jsonrpc::json::{self, Kind};
use crate::jsonrpc::message::{RpcError, shown};
use crate::limits::SUBSCRIPTIONS_MAX;
use crate::mcp::logging::Level;
use crate::mcp::task::EXTENSION as TASKS_EXTENSION;

/// The members of params that some method takes. Read in one scan for all methods, because the
/// era has to be known before the method is looked at.
pub(super) struct Params<'a> {
    pub(super) meta: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    arguments: Option<&'a RawValue>,
    uri: Option<&'a RawValue>,
    cursor: Option<&'a RawValue>,
    input_responses: Option<&'a RawValue>,
    request_state: Option<&'a RawValue>,
    task: Option<&'a RawValue>,
    task_id: Option<&'a RawValue>,
    notifications: Option<&'a RawValue>,
    reference: Option<&'a RawValue>,
    argument: Option<&'a RawValue>,
    context: Option<&'a RawValue>,
    level: Option<&'a RawValue>,
    protocol_version: Option<&'a RawValue>,
    capabilities: Option<&'a RawValue>,
    client_info: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    pub(super) fn read(params: Option<&'a RawValue>) -> Result<Self, RpcError> {
        const NAMES: [&str; 17] = [
            "_meta",
            "name",
            "arguments",
            "uri",
            "cursor",
            "inputResponses",
            "requestState",
            "task",
            "taskId",
            "notifications",
            "ref",
            "argument",
            "context",
            "level",
            "protocolVersion",
            "capabilities",
            "clientInfo",
        ];
        let [
            meta,
            name,
            arguments,
            uri,
            cursor,
            input_responses,
            request_state,
            task,
            task_id,
            notifications,
            reference,
            argument,
            context,
            level,
            protocol_version,
            capabilities,
            client_info,
        ] = members("params", params, NAMES)?;
        Ok(Self {
            meta,
            name,
            arguments,
            uri,
            cursor,
            input_responses,
            request_state,
            task,
            task_id,
            notifications,
            reference,
            argument,
            context,
            level,
            protocol_version,
            capabilities,
            client_info,
        })
    }

    pub(super) fn cursor(&self) -> Result<Option<String>, RpcError> {
        optional_text("cursor", self.cursor)
    }

    pub(super) fn uri(&self) -> Result<String, RpcError> {
        text("uri", self.uri)
    }

    pub(super) fn task_id(&self) -> Result<String, RpcError> {
        text("taskId", self.task_id)
    }

    pub(super) fn initialize(&self) -> Result<Initialize, RpcError> {
        let (client_name, client_version) = implementation(self.client_info);
        Ok(Initialize {
            protocol_version: text("protocolVersion", self.protocol_version)?,
            capabilities: host_capabilities(self.capabilities),
            client_name,
            client_version,
        })
    }

    /// The call without its progress token, which lies in `_meta`.
    pub(super) fn call_tool(&self, is_modern: bool) -> Result<CallTool<'a>, RpcError> {
        Ok(CallTool {
            name: text("name", self.name)?,
            arguments: arguments_object(self.arguments)?,
            progress_token: None,
            task: if is_modern { None } else { self.task_wish() },
            retry: self.retry(is_modern)?,
        })
    }

    /// What is no object is a member that only one revision knows, so it counts as not there.
    fn task_wish(&self) -> Option<TaskWish> {
        let task = self.task.filter(|task| json::kind_of(task) == Kind::Object);
        let [ttl] = members("task", Some(task?), ["ttl"]).ok()?;
        // A host may spell a whole number with a fraction.
        let ttl = ttl.and_then(|ttl| ttl.get().parse::<f64>().ok()).filter(|ttl| *ttl >= 0.0);
        Some(TaskWish { ttl_ms: ttl.map(|ttl| ttl as u64) })
    }

    pub(super) fn get_prompt(&self, is_modern: bool) -> Result<Request<'a>, RpcError> {
        Ok(Request::GetPrompt {
            name: text("name", self.name)?,
            arguments: string_arguments("arguments", self.arguments)?,
            retry: self.retry(is_modern)?,
        })
    }

    pub(super) fn read_resource(&self, is_modern: bool) -> Result<Request<'a>, RpcError> {
        Ok(Request::ReadResource { uri: self.uri()?, retry: self.retry(is_modern)? })
    }

    /// What the host adds to a request that it tries again; the handshake era has no such thing.
    fn retry(&self, is_modern: bool) -> Result<Option<Retry<'a>>, RpcError> {
        if !is_modern || (self.input_responses.is_none() && self.request_state.is_none()) {
            return Ok(None);
        }
        Ok(Some(Retry {
            input_responses: object_text("inputResponses", self.input_responses)?,
            request_state: optional_text("requestState", self.request_state)?,
        }))
    }

    pub(super) fn task_update(&self) -> Result<Request<'a>, RpcError> {
        let id = self.task_id()?;
        if self.input_responses.is_none() {
            return Err(RpcError::invalid_params("Invalid params: inputResponses is missing"));
        }
        let input_responses = object_text("inputResponses", self.input_responses)?;
        Ok(Request::TaskUpdate { id, input_responses })
    }

    pub(super) fn listen(&self) -> Result<Filter, RpcError> {
        if self.notifications.is_none() {
            return Err(RpcError::invalid_params("Invalid params: notifications is missing"));
        }
        let [tools, prompts, resources, uris, task_ids] = members(
            "notifications",
            self.notifications,
            [
                "toolsListChanged",
                "promptsListChanged",
                "resourcesListChanged",
                "resourceSubscriptions",
                "taskIds",
            ],
        )?;
        let filter = Filter {
            tools: flag("notifications.toolsListChanged", tools)?,
            prompts: flag("notifications.promptsListChanged", prompts)?,
            resources: flag("notifications.resourcesListChanged", resources)?,
            resource_uris: texts("notifications.resourceSubscriptions", uris)?,
            task_ids: texts("notifications.taskIds", task_ids)?,
        };
        if filter.len() > SUBSCRIPTIONS_MAX {
            return Err(RpcError::invalid_params(format!(
                "Invalid params: notifications names {} resources and tasks, but {SUBSCRIPTIONS_MAX} is the most",
                filter.len()
            )));
        }
        Ok(filter)
    }

    pub(super) fn complete(&self) -> Result<Complete, RpcError> {
        let [ref_type, name, uri] = members("ref", self.reference, ["type", "name", "uri"])?;
        let ref_type = text("ref.type", ref_type)?;
        let ref_name = match ref_type.as_str() {
            "ref/prompt" => text("ref.name", name)?,
            "ref/resource" => text("ref.uri", uri)?,
            _ => {
                return Err(RpcError::invalid_params(
                    "Invalid params: ref.type must be ref/prompt or ref/resource",
                ));
            }
        };
        let [argument_name, argument_value] = members("argument", self.argument, ["name", "value"])?;
        let [context_arguments] = members("context", self.context, ["arguments"])?;
        let context_arguments_json = match context_arguments {
            None => String::new(),
            some => string_arguments("context.arguments", some)?.into_owned(),
        };
        Ok(Complete {
            ref_type,
            ref_name,
            argument_name: text("argument.name", argument_name)?,
            argument_value: text("argument.value", argument_value)?,
            context_arguments_json,
        })
    }

    pub(super) fn level(&self) -> Result<Level, RpcError> {
        level("level", &text("level", self.level)?)
    }
}

/// A log level; `path` names it in errors.
pub(super) fn level(path: &str, name: &str) -> Result<Level, RpcError> {
    Level::parse(name).ok_or_else(|| {
        let names = Level::ALL.map(Level::as_str).join(", ");
        RpcError::invalid_params(format!("Invalid params: {path} must be one of {names}"))
    })
}

/// Name and version of a peer; what cannot be read is empty, since nothing hangs on it.
pub(super) fn implementation(info: Option<&RawValue>) -> (String, String) {
    let [name, version] = members("clientInfo", info, ["name", "version"]).unwrap_or_default();
    let lenient = |value: Option<&RawValue>| value.and_then(json::string).unwrap_or_default().into_owned();
    (lenient(name), lenient(version))
}

/// What cannot be read counts as not there: a host with an odd capability still has the others.
pub(super) fn host_capabilities(capabilities: Option<&RawValue>) -> HostCapabilities {
    fn object(value: Option<&RawValue>) -> Option<&RawValue> {
        value.filter(|value| json::kind_of(value) == Kind::Object)
    }
    let names = ["sampling", "roots", "elicitation", "extensions"];
    let [sampling, roots, elicitation, extensions] =
        members("capabilities", capabilities, names).unwrap_or_default();
    let [tools] = members("sampling", object(sampling), ["tools"]).unwrap_or_default();
    let [form, url] = members("elicitation", object(elicitation), ["form", "url"]).unwrap_or_default();
    let [tasks] = members("extensions", object(extensions), [TASKS_EXTENSION]).unwrap_or_default();
    HostCapabilities {
        sampling: object(sampling).is_some(),
        sampling_tools: object(tools).is_some(),
        roots: object(roots).is_some(),
        // An empty object is how revisions before the URL mode declare the form.
        elicitation: object(elicitation).is_some() && (form.is_some() || url.is_none()),
        elicitation_url: object(url).is_some(),
        tasks: object(tasks).is_some(),
    }
}

fn arguments_object(arguments: Option<&RawValue>) -> Result<Cow<'_, str>, RpcError> {
    object_text("arguments", arguments)
}

/// An object as text; an absent one is `{}`. `path` names it in errors.
fn object_text<'a>(path: &str, value: Option<&'a RawValue>) -> Result<Cow<'a, str>, RpcError> {
    match value {
        None => Ok(Cow::Borrowed("{}")),
        Some(object) if json::kind_of(object) == Kind::Object => Ok(Cow::Borrowed(object.get())),
        Some(_) => Err(RpcError::invalid_params(format!("Invalid params: {path} must be an object"))),
    }
}

/// Prompts and completions take strings only; hosts that send others are told which.
fn string_arguments<'a>(path: &str, value: Option<&'a RawValue>) -> Result<Cow<'a, str>, RpcError> {
    let arguments = arguments_object(value)?;
    for (name, value) in value.and_then(|value| json::entries(value.get())).unwrap_or_default() {
        if json::kind_of(value) != Kind::String {
            let name = shown(&name);
            return Err(RpcError::invalid_params(format!("Invalid params: {path}.{name} must be a string")));
        }
    }
    Ok(arguments)
}

fn flag(path: &str, value: Option<&RawValue>) -> Result<bool, RpcError> {
    match value.map(RawValue::get) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(RpcError::invalid_params(format!("Invalid params: {path} must be true or false"))),
    }
}

/// A list of strings without those that are there twice; an absent one is empty.
fn texts(path: &str, value: Option<&RawValue>) -> Result<Vec<String>, RpcError> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let text = |element: &RawValue| json::string(element).map(Cow::into_owned);
    let texts: Option<BTreeSet<String>> =
        json::elements(value.get()).and_then(|elements| elements.into_iter().map(text).collect());
    texts
        .map(|texts| texts.into_iter().collect())
        .ok_or_else(|| RpcError::invalid_params(format!("Invalid params: {path} must be a list of strings")))
}

/// Members of an object; an absent or `null` object is `{}`, a `null` member is absent. `what`
/// names the object in errors.
pub(super) fn members<'a, const N: usize>(
    what: &str,
    object: Option<&'a RawValue>,
    names: [&'static str; N],
) -> Result<[Option<&'a RawValue>; N], RpcError> {
    let Some(object) = present(object) else { return Ok([None; N]) };
    let fields = json::fields(object.get(), &names)
        .map_err(|_| RpcError::invalid_params(format!("Invalid params: {what} must be an object")))?;
    if let Some(name) = fields.duplicate {
        return Err(RpcError::invalid_params(format!("Invalid params: {name} is there twice in {what}")));
    }
    Ok(fields.values.map(present))
}

pub(super) fn present(value: Option<&RawValue>) -> Option<&RawValue> {
    value.filter(|value| json::kind_of(value) != Kind::Null)
}

/// A string that must be there. `path` names it in errors.
fn text(path: &str, value: Option<&RawValue>) -> Result<String, RpcError> {
    optional_text(path, value)?
        .ok_or_else(|| RpcError::invalid_params(format!("Invalid params: {path} is missing")))
}

fn optional_text(path: &str, value: Option<&RawValue>) -> Result<Option<String>, RpcError> {
    let Some(value) = value else { return Ok(None) };
    match json::string(value) {
        Some(text) => Ok(Some(text.into_owned())),
        None => Err(RpcError::invalid_params(format!("Invalid params: {path} must be a string"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::HostMessage;
    use super::super::parse::parse;
    use super::super::parse::tests::request_of;
    use super::*;

    #[test]
    fn calls_in_every_spelling() {
        let call = |arguments: &str, token: Option<&str>| {
            Ok(Request::CallTool(CallTool {
                name: "add".into(),
                arguments: Cow::Owned(arguments.into()),
                progress_token: token.map(Into::into),
                task: None,
                retry: None,
            }))
        };
        let table = [
            (r#"{"name":"add"}"#, call("{}", None)),
            (r#"{"name":"add","arguments":null}"#, call("{}", None)),
            (
                r#"{"arguments":{ "a" : [1,"\ud800"] },"name":"\u0061dd"}"#,
                call(r#"{ "a" : [1,"\ud800"] }"#, None),
            ),
            (r#"{"name":"add","_meta":{"progressToken":0}}"#, call("{}", Some("0"))),
            (r#"{"_meta":{"x":{},"progressToken":""},"name":"add"}"#, call("{}", Some("\"\""))),
            (r#"{"name":"add","_meta":{"progressToken":"\u0041"}}"#, call("{}", Some(r#""\u0041""#))),
            (
                r#"{"name":"add","_meta":{"progressToken":9007199254740993}}"#,
                call("{}", Some("9007199254740993")),
            ),
            (r#"{"name":"add","_meta":{"progressToken":null}}"#, call("{}", None)),
            (r#"{"name":"add","_meta":{"progressToken":{}}}"#, call("{}", None)),
            (r#"{"name":"add","_meta":7}"#, call("{}", None)),
            (
                r#"{"name":"add","task":7,"inputResponses":7,"requestState":"x","unknown":null}"#,
                call("{}", None),
            ),
        ];
        for (params, expected) in table {
            assert_eq!(request_of("tools/call", params), expected, "{params}");
        }
    }

    #[test]
    fn arguments_stay_in_the_line() {
        let line =
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1}}}"#;
        let HostMessage::Request { request: Ok(Request::CallTool(call)), .. } = parse(line) else {
            panic!("a call");
        };
        assert!(matches!(call.arguments, Cow::Borrowed("{\"x\":1}")));
    }

    #[test]
    fn wrong_params_name_what_is_wrong() {
        let table = [
            ("tools/call", "{}", "name is missing"),
            ("tools/call", "null", "name is missing"),
            ("tools/call", "[]", "params must be an object"),
            ("tools/call", "3", "params must be an object"),
            ("tools/call", r#"{"name":3}"#, "name must be a string"),
            ("tools/call", r#"{"name":null}"#, "name is missing"),
            ("tools/call", r#"{"name":"a","name":"b"}"#, "name is there twice"),
            ("tools/call", r#"{"name":"a","arguments":[]}"#, "arguments must be an object"),
            ("tools/call", r#"{"name":"a","arguments":"{}"}"#, "arguments must be an object"),
            ("tools/list", r#"{"cursor":1}"#, "cursor must be a string"),
            ("resources/read", "{}", "uri is missing"),
            ("resources/subscribe", r#"{"uri":[]}"#, "uri must be a string"),
            ("resources/unsubscribe", "null", "uri is missing"),
            ("prompts/get", "{}", "name is missing"),
            ("prompts/get", r#"{"name":"p","arguments":{"a":1}}"#, "arguments.a must be a string"),
            ("prompts/get", r#"{"name":"p","arguments":1}"#, "arguments must be an object"),
            ("completion/complete", "{}", "ref.type is missing"),
            ("completion/complete", r#"{"ref":{"type":"x"}}"#, "ref.type must be ref/prompt or ref/resource"),
            ("completion/complete", r#"{"ref":{"type":"ref/prompt","uri":"u"}}"#, "ref.name is missing"),
            ("completion/complete", r#"{"ref":{"type":"ref/resource","name":"n"}}"#, "ref.uri is missing"),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/prompt","name":"n"}}"#,
                "argument.name is missing",
            ),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":1}}"#,
                "argument.value must be a string",
            ),
            ("logging/setLevel", "{}", "level is missing"),
            ("logging/setLevel", r#"{"level":"loud"}"#, "level must be one of debug, info"),
            ("initialize", "{}", "protocolVersion is missing"),
            ("initialize", r#"{"protocolVersion":1}"#, "protocolVersion must be a string"),
        ];
        for (method, params, expected) in table {
            let error = request_of(method, params).unwrap_err();
            assert_eq!(error.code, -32602, "{method} {params}");
            assert!(error.message.contains(expected), "{method} {params}: {}", error.message);
        }
    }

    #[test]
    fn capabilities_are_read_leniently() {
        let none = HostCapabilities::default();
        let form = HostCapabilities { elicitation: true, ..none };
        let url = HostCapabilities { elicitation_url: true, ..none };
        let sampling = HostCapabilities { sampling: true, ..none };
        let table = [
            ("null", none),
            ("[]", none),
            (r#"{"sampling":null,"roots":true,"experimental":{"x":{}}}"#, none),
            (r#"{"sampling":{}}"#, sampling),
            (
                r#"{"sampling":{"tools":{},"context":{}}}"#,
                HostCapabilities { sampling_tools: true, ..sampling },
            ),
            (r#"{"roots":{"listChanged":true}}"#, HostCapabilities { roots: true, ..none }),
            (r#"{"elicitation":{}}"#, form),
            (r#"{"elicitation":{"form":{}}}"#, form),
            (r#"{"elicitation":{"url":{}}}"#, url),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, HostCapabilities { elicitation: true, ..url }),
        ];
        for (capabilities, expected) in table {
            let params = format!(r#"{{"protocolVersion":"x","capabilities":{capabilities}}}"#);
            let Ok(Request::Initialize(initialize)) = request_of("initialize", &params) else {
                panic!("{capabilities}");
            };
            assert_eq!(initialize.capabilities, expected, "{capabilities}");
            assert_eq!((initialize.client_name.as_str(), initialize.client_version.as_str()), ("", ""));
        }
        let params = r#"{"protocolVersion":"2025-06-18","clientInfo":{"name":"h","version":1}}"#;
        let expected = Initialize {
            protocol_version: "2025-06-18".into(),
            capabilities: none,
            client_name: "h".into(),
            client_version: String::new(),
        };
        assert_eq!(request_of("initialize", params), Ok(Request::Initialize(expected)));
    }
}

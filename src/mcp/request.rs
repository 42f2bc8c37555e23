//! What a host asks, typed.
//!
//! Lenient where hosts differ (absent or `null` params and arguments, unknown members, odd
//! capabilities), strict where a guess would be wrong.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::logging::Level;
use crate::jsonrpc::json::{self, Kind};
use crate::jsonrpc::message::{self, Incoming, Message, RequestId, RpcError, shown};

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
        /// Why, or empty.
        reason: String,
    },
    /// `notifications/roots/list_changed`.
    RootsListChanged,
    /// Anything else, and what could not be read.
    Other,
}

/// Reads one line of a host.
pub fn parse(line: &[u8]) -> HostMessage<'_> {
    match message::parse(line) {
        Incoming::One(message) => typed(message),
        Incoming::Batch(messages) => HostMessage::Batch(messages.into_iter().map(typed).collect()),
    }
}

fn typed(message: Message<'_>) -> HostMessage<'_> {
    match message {
        Message::Request { id, method, params } => {
            HostMessage::Request { id, request: request(&method, params) }
        }
        Message::Notification { method, params } => {
            HostMessage::Notification(notification(&method, params).unwrap_or(Notification::Other))
        }
        Message::Response { id, outcome } => HostMessage::Response {
            id: id.and_then(|id| id.as_u64()),
            outcome: outcome.map(|result| Cow::Borrowed(result.get())).map_err(readable),
        },
        Message::Invalid { id, error } => HostMessage::Invalid { id, error },
    }
}

/// A host's error as one sentence.
fn readable(error: &RawValue) -> String {
    let Ok(fields) = json::fields(error.get(), &["code", "message"]) else {
        return format!("The host answered with an error: {}", shown(error.get()));
    };
    let [code, text] = fields.values;
    let text = text.and_then(json::string).unwrap_or(Cow::Borrowed("the host answered with an error"));
    match code {
        Some(code) => format!("{text} (code {})", shown(code.get())),
        None => text.into_owned(),
    }
}

fn request<'a>(method: &str, params: Option<&'a RawValue>) -> Result<Request<'a>, RpcError> {
    Ok(match method {
        "tools/call" => Request::CallTool(call_tool(params)?),
        "initialize" => Request::Initialize(initialize(params)?),
        "ping" => Request::Ping,
        "tools/list" => Request::ListTools { cursor: cursor(params)? },
        "resources/list" => Request::ListResources { cursor: cursor(params)? },
        "resources/templates/list" => Request::ListResourceTemplates { cursor: cursor(params)? },
        "resources/read" => Request::ReadResource { uri: uri(params)? },
        "resources/subscribe" => Request::Subscribe { uri: uri(params)? },
        "resources/unsubscribe" => Request::Unsubscribe { uri: uri(params)? },
        "prompts/list" => Request::ListPrompts { cursor: cursor(params)? },
        "prompts/get" => get_prompt(params)?,
        "completion/complete" => Request::Complete(complete(params)?),
        "logging/setLevel" => Request::SetLevel(level(params)?),
        _ => return Err(RpcError::method_not_found(method)),
    })
}

fn notification(method: &str, params: Option<&RawValue>) -> Option<Notification> {
    Some(match method {
        "notifications/initialized" => Notification::Initialized,
        "notifications/cancelled" => {
            let [id, reason] = members("params", params, ["requestId", "reason"]).ok()?;
            Notification::Cancelled {
                id: RequestId::from_token(id?)?,
                reason: reason.and_then(json::string).unwrap_or_default().into_owned(),
            }
        }
        "notifications/roots/list_changed" => Notification::RootsListChanged,
        _ => return None,
    })
}

/// Members of an object; an absent or `null` object is `{}`, a `null` member is absent. `what`
/// names the object in errors.
fn members<'a, const N: usize>(
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

fn present(value: Option<&RawValue>) -> Option<&RawValue> {
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

fn cursor(params: Option<&RawValue>) -> Result<Option<String>, RpcError> {
    let [cursor] = members("params", params, ["cursor"])?;
    optional_text("cursor", cursor)
}

fn uri(params: Option<&RawValue>) -> Result<String, RpcError> {
    let [uri] = members("params", params, ["uri"])?;
    text("uri", uri)
}

fn initialize(params: Option<&RawValue>) -> Result<Initialize, RpcError> {
    let [version, capabilities, info] =
        members("params", params, ["protocolVersion", "capabilities", "clientInfo"])?;
    let [name, client_version] = members("clientInfo", info, ["name", "version"]).unwrap_or_default();
    let lenient = |value: Option<&RawValue>| value.and_then(json::string).unwrap_or_default().into_owned();
    Ok(Initialize {
        protocol_version: text("protocolVersion", version)?,
        capabilities: host_capabilities(capabilities),
        client_name: lenient(name),
        client_version: lenient(client_version),
    })
}

/// What cannot be read counts as not there: a host with an odd capability still has the others.
fn host_capabilities(capabilities: Option<&RawValue>) -> HostCapabilities {
    fn object(value: Option<&RawValue>) -> Option<&RawValue> {
        value.filter(|value| json::kind_of(value) == Kind::Object)
    }
    let [sampling, roots, elicitation] =
        members("capabilities", capabilities, ["sampling", "roots", "elicitation"]).unwrap_or_default();
    let [tools] = members("sampling", object(sampling), ["tools"]).unwrap_or_default();
    let [form, url] = members("elicitation", object(elicitation), ["form", "url"]).unwrap_or_default();
    HostCapabilities {
        sampling: object(sampling).is_some(),
        sampling_tools: object(tools).is_some(),
        roots: object(roots).is_some(),
        // An empty object is how revisions before the URL mode declare the form.
        elicitation: object(elicitation).is_some() && (form.is_some() || url.is_none()),
        elicitation_url: object(url).is_some(),
    }
}

fn call_tool(params: Option<&RawValue>) -> Result<CallTool<'_>, RpcError> {
    let [name, arguments, meta] = members("params", params, ["name", "arguments", "_meta"])?;
    let [token] = members("_meta", meta, ["progressToken"]).unwrap_or_default();
    let is_token = |token: &&RawValue| matches!(json::kind_of(token), Kind::String | Kind::Number);
    Ok(CallTool {
        name: text("name", name)?,
        arguments: arguments_object(arguments)?,
        progress_token: token.filter(is_token).map(|token| token.get().into()),
    })
}

fn arguments_object(arguments: Option<&RawValue>) -> Result<Cow<'_, str>, RpcError> {
    match arguments {
        None => Ok(Cow::Borrowed("{}")),
        Some(object) if json::kind_of(object) == Kind::Object => Ok(Cow::Borrowed(object.get())),
        Some(_) => Err(RpcError::invalid_params("Invalid params: arguments must be an object")),
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

fn get_prompt(params: Option<&RawValue>) -> Result<Request<'_>, RpcError> {
    let [name, arguments] = members("params", params, ["name", "arguments"])?;
    Ok(Request::GetPrompt { name: text("name", name)?, arguments: string_arguments("arguments", arguments)? })
}

fn complete(params: Option<&RawValue>) -> Result<Complete, RpcError> {
    let [reference, argument, context] = members("params", params, ["ref", "argument", "context"])?;
    let [ref_type, name, uri] = members("ref", reference, ["type", "name", "uri"])?;
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
    let [argument_name, argument_value] = members("argument", argument, ["name", "value"])?;
    let [context_arguments] = members("context", context, ["arguments"])?;
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

fn level(params: Option<&RawValue>) -> Result<Level, RpcError> {
    let [level] = members("params", params, ["level"])?;
    Level::parse(&text("level", level)?).ok_or_else(|| {
        let names = Level::ALL.map(Level::as_str).join(", ");
        RpcError::invalid_params(format!("Invalid params: level must be one of {names}"))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request_of(method: &str, params: &str) -> Result<Request<'static>, RpcError> {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        match parse(line.as_bytes()).into_owned() {
            HostMessage::Request { request, .. } => request,
            other => panic!("{other:?}"),
        }
    }

    fn notification_of(method: &str, params: &str) -> Notification {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
        match parse(line.as_bytes()).into_owned() {
            HostMessage::Notification(notification) => notification,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn calls_in_every_spelling() {
        let call = |arguments: &str, token: Option<&str>| {
            Ok(Request::CallTool(CallTool {
                name: "add".into(),
                arguments: Cow::Owned(arguments.into()),
                progress_token: token.map(Into::into),
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
            (r#"{"name":"add","task":{"ttl":5},"unknown":null}"#, call("{}", None)),
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
    fn the_other_requests() {
        let cursor = Some("c".to_owned());
        let table = [
            ("ping", "null", Request::Ping),
            ("ping", "[1]", Request::Ping),
            ("tools/list", "null", Request::ListTools { cursor: None }),
            ("tools/list", r#"{"cursor":null}"#, Request::ListTools { cursor: None }),
            ("tools/list", r#"{"cursor":"c"}"#, Request::ListTools { cursor: cursor.clone() }),
            ("resources/list", r#"{"cursor":"c"}"#, Request::ListResources { cursor: cursor.clone() }),
            (
                "resources/templates/list",
                r#"{"cursor":"c"}"#,
                Request::ListResourceTemplates { cursor: cursor.clone() },
            ),
            ("prompts/list", r#"{"cursor":"c"}"#, Request::ListPrompts { cursor }),
            ("resources/read", r#"{"uri":"a:b"}"#, Request::ReadResource { uri: "a:b".into() }),
            ("resources/subscribe", r#"{"uri":"a:b"}"#, Request::Subscribe { uri: "a:b".into() }),
            ("resources/unsubscribe", r#"{"uri":"a:b"}"#, Request::Unsubscribe { uri: "a:b".into() }),
            (
                "prompts/get",
                r#"{"name":"p"}"#,
                Request::GetPrompt { name: "p".into(), arguments: "{}".into() },
            ),
            (
                "prompts/get",
                r#"{"name":"p","arguments":{"a":"1"}}"#,
                Request::GetPrompt { name: "p".into(), arguments: r#"{"a":"1"}"#.into() },
            ),
            ("logging/setLevel", r#"{"level":"alert"}"#, Request::SetLevel(Level::Alert)),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/resource","uri":"u:{x}"},"argument":{"name":"x","value":"v"},"context":{"arguments":{"y":"z"}}}"#,
                Request::Complete(Complete {
                    ref_type: "ref/resource".into(),
                    ref_name: "u:{x}".into(),
                    argument_name: "x".into(),
                    argument_value: "v".into(),
                    context_arguments_json: r#"{"y":"z"}"#.into(),
                }),
            ),
        ];
        for (method, params, expected) in table {
            assert_eq!(request_of(method, params), Ok(expected), "{method} {params}");
        }
        for unknown in ["", "tools", "server/discover", "notifications/initialized", "sampling/createMessage"]
        {
            let error = request_of(unknown, "{}").unwrap_err();
            assert_eq!(error.code, -32601, "{unknown}");
            assert!(error.message.ends_with(unknown), "{}", error.message);
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

    #[test]
    fn notifications_never_fail() {
        let cancelled = |id: &str, reason: &str| {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let HostMessage::Request { id, .. } = parse(line.as_bytes()) else { panic!("{id}") };
            Notification::Cancelled { id, reason: reason.into() }
        };
        let table = [
            ("notifications/initialized", "null", Notification::Initialized),
            ("notifications/roots/list_changed", "{}", Notification::RootsListChanged),
            ("notifications/cancelled", r#"{"requestId":0,"reason":"r"}"#, cancelled("0", "r")),
            ("notifications/cancelled", r#"{"requestId":"a","reason":5}"#, cancelled("\"a\"", "")),
            ("notifications/cancelled", r#"{"requestId":1.5}"#, Notification::Other),
            ("notifications/cancelled", r#"{"requestId":null}"#, Notification::Other),
            ("notifications/cancelled", "[]", Notification::Other),
            ("notifications/progress", "{}", Notification::Other),
            ("tools/call", r#"{"name":"a"}"#, Notification::Other),
        ];
        for (method, params, expected) in table {
            assert_eq!(notification_of(method, params), expected, "{method} {params}");
        }
    }

    #[test]
    fn responses_tell_the_outcome() {
        let table = [
            (r#""id":3,"result":{"a":1}"#, Some(3), Ok("{\"a\":1}")),
            (
                r#""id":3,"error":{"code":-1,"message":"User rejected"}"#,
                Some(3),
                Err("User rejected (code -1)"),
            ),
            (r#""id":"3","error":"odd""#, None, Err("The host answered with an error: \"odd\"")),
            (r#""id":-3,"error":{}"#, None, Err("the host answered with an error")),
            (r#""id":null,"error":{"message":"?"}"#, None, Err("?")),
        ];
        for (members, id, outcome) in table {
            let line = format!(r#"{{"jsonrpc":"2.0",{members}}}"#);
            let outcome = outcome.map(|text| Cow::Owned(text.to_owned())).map_err(str::to_owned);
            assert_eq!(parse(line.as_bytes()).into_owned(), HostMessage::Response { id, outcome }, "{line}");
        }
        assert!(matches!(parse(b"[]"), HostMessage::Invalid { id: None, error } if error.code == -32600));
        let batch = parse(br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},1]"#).into_owned();
        assert!(matches!(batch, HostMessage::Batch(messages) if messages.len() == 2));
    }
}

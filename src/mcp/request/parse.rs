//! From a host's line to what it asks: which method it is. What the method takes is read beside.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::meta::Meta;
use super::params::{self, Params};
use super::{CallTool, Era, HostMessage, Notification, Request};
use crate::jsonrpc::json;
use crate::jsonrpc::message::{self, Incoming, Message, RequestId, RpcError, shown};
use crate::mcp::{error, task};

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
            let (era, request) = request(&method, params);
            HostMessage::Request { id, era, request }
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

/// The era comes first: what is wrong with a modern envelope is wrong whatever the method is.
fn request<'a>(method: &str, params: Option<&'a RawValue>) -> (Era, Result<Request<'a>, RpcError>) {
    let params = Params::read(params);
    let meta = Meta::read(params.as_ref().ok().and_then(|params| params.meta));
    match meta.era() {
        Ok(era) => {
            let request = typed_request(method, params, &meta, &era);
            (era, request)
        }
        // Whoever shakes hands belongs to that era, whatever else it says.
        Err(_) if method == INITIALIZE => {
            let request = typed_request(method, params, &meta, &Era::Handshake);
            (Era::Handshake, request)
        }
        Err(error) => (Era::Modern(Box::new(meta.claim())), Err(error)),
    }
}

const INITIALIZE: &str = "initialize";

fn typed_request<'a>(
    method: &str,
    params: Result<Params<'a>, RpcError>,
    meta: &Meta<'a>,
    era: &Era,
) -> Result<Request<'a>, RpcError> {
    let is_modern = era.meta().is_some();
    if era.meta().is_some_and(|meta| !meta.capabilities.tasks)
        && matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel")
    {
        return Err(error::missing_capability(task::REQUIRED));
    }
    Ok(match method {
        "tools/call" => {
            let call = params?.call_tool(is_modern)?;
            Request::CallTool(CallTool { progress_token: meta.progress_token(), ..call })
        }
        "tools/list" => Request::ListTools { cursor: params?.cursor()? },
        "resources/list" => Request::ListResources { cursor: params?.cursor()? },
        "resources/templates/list" => Request::ListResourceTemplates { cursor: params?.cursor()? },
        "resources/read" => params?.read_resource(is_modern)?,
        "prompts/list" => Request::ListPrompts { cursor: params?.cursor()? },
        "prompts/get" => params?.get_prompt(is_modern)?,
        "completion/complete" => Request::Complete(params?.complete()?),
        "tasks/get" => Request::TaskGet { id: params?.task_id()? },
        "tasks/cancel" => Request::TaskCancel { id: params?.task_id()? },
        // One that does not say what a handshake says is none, and the modern era has no such method.
        INITIALIZE if is_modern => {
            params?.initialize().map(Request::Initialize).map_err(|_| RpcError::method_not_found(method))?
        }
        INITIALIZE => Request::Initialize(params?.initialize()?),
        "server/discover" if is_modern => Request::Discover,
        "subscriptions/listen" if is_modern => {
            let filter = params?.listen()?;
            if !filter.task_ids.is_empty() && era.meta().is_some_and(|meta| !meta.capabilities.tasks) {
                return Err(error::missing_capability(task::REQUIRED));
            }
            Request::Listen(filter)
        }
        "tasks/update" if is_modern => params?.task_update()?,
        "ping" if !is_modern => Request::Ping,
        "logging/setLevel" if !is_modern => Request::SetLevel(params?.level()?),
        "resources/subscribe" if !is_modern => Request::Subscribe { uri: params?.uri()? },
        "resources/unsubscribe" if !is_modern => Request::Unsubscribe { uri: params?.uri()? },
        "tasks/result" if !is_modern => Request::TaskResult { id: params?.task_id()? },
        "tasks/list" if !is_modern => Request::TaskList { cursor: params?.cursor()? },
        _ => return Err(RpcError::method_not_found(method)),
    })
}

fn notification(method: &str, params: Option<&RawValue>) -> Option<Notification> {
    Some(match method {
        "notifications/initialized" => Notification::Initialized,
        "notifications/cancelled" => {
            let [id] = params::members("params", params, ["requestId"]).ok()?;
            Notification::Cancelled { id: RequestId::from_token(id?)? }
        }
        "notifications/roots/list_changed" => Notification::RootsListChanged,
        _ => return None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Complete;
    use super::*;
    use crate::mcp::logging::Level;

    pub(in super::super) fn request_of(method: &str, params: &str) -> Result<Request<'static>, RpcError> {
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
            ("resources/read", r#"{"uri":"a:b"}"#, Request::ReadResource { uri: "a:b".into(), retry: None }),
            ("resources/subscribe", r#"{"uri":"a:b"}"#, Request::Subscribe { uri: "a:b".into() }),
            ("resources/unsubscribe", r#"{"uri":"a:b"}"#, Request::Unsubscribe { uri: "a:b".into() }),
            (
                "prompts/get",
                r#"{"name":"p"}"#,
                Request::GetPrompt { name: "p".into(), arguments: "{}".into(), retry: None },
            ),
            (
                "prompts/get",
                r#"{"name":"p","arguments":{"a":"1"}}"#,
                Request::GetPrompt { name: "p".into(), arguments: r#"{"a":"1"}"#.into(), retry: None },
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
    fn notifications_never_fail() {
        let cancelled = |id: &str| {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let HostMessage::Request { id, .. } = parse(line.as_bytes()) else { panic!("{id}") };
            Notification::Cancelled { id }
        };
        let table = [
            ("notifications/initialized", "null", Notification::Initialized),
            ("notifications/roots/list_changed", "{}", Notification::RootsListChanged),
            ("notifications/cancelled", r#"{"requestId":0,"reason":"r"}"#, cancelled("0")),
            ("notifications/cancelled", r#"{"requestId":"a","reason":5}"#, cancelled("\"a\"")),
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

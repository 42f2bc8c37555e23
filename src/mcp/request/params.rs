//! The params of each method, read as leniently as hosts need it.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{CallTool, Complete, HostCapabilities, Initialize, Request};
use crate::jsonrpc::json::{self, Kind};
use crate::jsonrpc::message::{RpcError, shown};
use crate::mcp::logging::Level;

pub(super) fn cursor(params: Option<&RawValue>) -> Result<Option<String>, RpcError> {
    let [cursor] = members("params", params, ["cursor"])?;
    optional_text("cursor", cursor)
}

pub(super) fn uri(params: Option<&RawValue>) -> Result<String, RpcError> {
    let [uri] = members("params", params, ["uri"])?;
    text("uri", uri)
}

pub(super) fn initialize(params: Option<&RawValue>) -> Result<Initialize, RpcError> {
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

pub(super) fn call_tool(params: Option<&RawValue>) -> Result<CallTool<'_>, RpcError> {
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

pub(super) fn get_prompt(params: Option<&RawValue>) -> Result<Request<'_>, RpcError> {
    let [name, arguments] = members("params", params, ["name", "arguments"])?;
    Ok(Request::GetPrompt { name: text("name", name)?, arguments: string_arguments("arguments", arguments)? })
}

pub(super) fn complete(params: Option<&RawValue>) -> Result<Complete, RpcError> {
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

pub(super) fn level(params: Option<&RawValue>) -> Result<Level, RpcError> {
    let [level] = members("params", params, ["level"])?;
    Level::parse(&text("level", level)?).ok_or_else(|| {
        let names = Level::ALL.map(Level::as_str).join(", ");
        RpcError::invalid_params(format!("Invalid params: level must be one of {names}"))
    })
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

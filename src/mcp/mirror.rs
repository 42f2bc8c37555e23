//! HTTP headers that repeat what the body of a modern request says, so that whoever stands between
//! can route by them (basic/transports/streamable-http, "Request Metadata"). A request whose
//! headers say something else is refused: what routed it saw another request than we do.

use std::borrow::Cow;

use super::error::HEADER_MISMATCH;
use super::header::{Annotation, annotations};
use super::request::Request;
use crate::jsonrpc::json::{self, Kind};
use crate::jsonrpc::message::{RpcError, shown};

/// The header with the revision, in lower case like all names here.
pub const VERSION: &str = "mcp-protocol-version";

/// The header with the method.
pub const METHOD: &str = "mcp-method";

/// The header with what the method is applied to.
pub const NAME: &str = "mcp-name";

/// What the names of the headers for arguments of tools begin with.
pub const PARAM: &str = "mcp-param-";

/// What a request holds under the name of one header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header<'a> {
    /// Nothing.
    Absent,
    /// One value.
    Is(&'a str),
    /// Several values, or bytes that are no text.
    Unclear,
}

/// Checks the headers that every modern request has. `version` is what its body claims; the
/// request is absent when the body asks for something that does not exist or is ill-formed.
///
/// # Errors
/// `-32020` that names the header.
pub fn check_standard<'a>(
    version: &str,
    request: Option<&Request<'_>>,
    header: impl Fn(&str) -> Header<'a>,
) -> Result<(), RpcError> {
    must_match("MCP-Protocol-Version", header(VERSION), version)?;
    let Some(request) = request else {
        // Which method it was is not known any more, so only that it is named can be checked.
        return match header(METHOD) {
            Header::Is(_) => Ok(()),
            other => must_match("Mcp-Method", other, ""),
        };
    };
    must_match("Mcp-Method", header(METHOD), request.method())?;
    let Some(name) = name(request) else { return Ok(()) };
    match header(NAME) {
        Header::Is(value) => match decode(value) {
            Some(decoded) => must_match("Mcp-Name", Header::Is(&decoded), name),
            None => Err(malformed("Mcp-Name")),
        },
        other => must_match("Mcp-Name", other, name),
    }
}

/// Checks the headers for a tool's arguments: those that its input schema annotates.
///
/// # Errors
/// `-32020` that names the header.
pub fn check_arguments<'a>(
    schema: &str,
    arguments: &str,
    header: impl Fn(&str) -> Header<'a>,
) -> Result<(), RpcError> {
    for annotation in annotations(schema) {
        let shown_name = || format!("Mcp-Param-{}", shown(&annotation.header));
        let found = header(&format!("{PARAM}{}", annotation.header.to_ascii_lowercase()));
        let Some(value) = value_at(arguments, &annotation) else {
            match found {
                Header::Absent => continue,
                _ => {
                    return Err(mismatch(format!(
                        "the header {} is there, but its argument is not",
                        shown_name()
                    )));
                }
            }
        };
        let value = value.as_ref();
        match found {
            Header::Is(text) => {
                let text = decode(text).ok_or_else(|| malformed(&shown_name()))?;
                if text != value && !(annotation.is_integer && is_same_number(&text, value)) {
                    return Err(differs(&shown_name(), &text, value));
                }
            }
            other => must_match(&shown_name(), other, value)?,
        }
    }
    Ok(())
}

/// What a header's value stands for: itself, or what is in its base64. `None` if it holds what no
/// such header may.
fn decode(value: &str) -> Option<Cow<'_, str>> {
    if !value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
        return None;
    }
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(digits) => String::from_utf8(json::read_base64(digits)?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

/// What the header `Mcp-Name` repeats, for the methods that have such a thing.
fn name<'r>(request: &'r Request<'_>) -> Option<&'r str> {
    match request {
        Request::CallTool(call) => Some(&call.name),
        Request::GetPrompt { name, .. } => Some(name),
        Request::ReadResource { uri, .. } => Some(uri),
        Request::TaskGet { id } | Request::TaskUpdate { id, .. } | Request::TaskCancel { id } => Some(id),
        _ => None,
    }
}

/// The value of an annotated argument as a header spells it. `None` if there is nothing that a
/// header could repeat.
fn value_at<'a>(arguments: &'a str, annotation: &Annotation<'_>) -> Option<Cow<'a, str>> {
    let (last, way) = annotation.path.split_last()?;
    let member = |object: &'a str, name: &str| {
        // Of two members of one name the last one counts, as it does wherever arguments are read.
        let entries = json::entries(object)?;
        entries.into_iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    };
    let object =
        way.iter().try_fold(arguments, |object, name| member(object, name).map(|value| value.get()))?;
    let value = member(object, last)?;
    match json::kind_of(value) {
        Kind::Null | Kind::Array | Kind::Object => None,
        Kind::String => json::string(value),
        _ => Some(Cow::Borrowed(value.get())),
    }
}

/// Numbers are compared as numbers: `42.0` is `42`.
fn is_same_number(header: &str, body: &str) -> bool {
    // Integers beyond it are not told apart by this, and are not allowed.
    const SAFE: f64 = 9_007_199_254_740_991.0;
    match (header.parse::<f64>(), body.parse::<f64>()) {
        (Ok(header), Ok(body)) => header == body && header.abs() <= SAFE,
        _ => false,
    }
}

fn must_match(name: &str, header: Header<'_>, body: &str) -> Result<(), RpcError> {
    match header {
        Header::Is(value) if value == body => Ok(()),
        Header::Is(value) => Err(differs(name, value, body)),
        Header::Absent => Err(mismatch(format!("the header {name} is missing"))),
        Header::Unclear => Err(malformed(name)),
    }
}

fn differs(name: &str, header: &str, body: &str) -> RpcError {
    mismatch(format!("the header {name} says \"{}\", but the body says \"{}\"", shown(header), shown(body)))
}

fn malformed(name: &str) -> RpcError {
    mismatch(format!("the header {name} is malformed"))
}

fn mismatch(reason: String) -> RpcError {
    RpcError::new(HEADER_MISMATCH, format!("Header mismatch: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::super::request::{HostMessage, parse};
    use super::*;

    fn lookup<'a>(headers: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Header<'a> {
        |name| {
            let mut found = headers.iter().filter(|(header, _)| *header == name);
            match (found.next(), found.next()) {
                (None, _) => Header::Absent,
                (Some((_, value)), None) => Header::Is(value),
                _ => Header::Unclear,
            }
        }
    }

    fn standard(method: &str, params: &str, headers: &[(&str, &str)]) -> Result<(), String> {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/tasks":{{}}}}}}}}}}}}"#
        );
        let HostMessage::Request { era, request, .. } = parse(line.as_bytes()) else { panic!("{line}") };
        let version = era.meta().expect("a modern one").version.clone();
        check_standard(&version, request.as_ref().ok(), lookup(headers)).map_err(|error| {
            assert_eq!(error.code, -32020);
            error.message
        })
    }

    const V: (&str, &str) = (VERSION, "2026-07-28");

    #[test]
    fn standard_headers_say_what_the_body_says() {
        let call = [V, (METHOD, "tools/call"), (NAME, "add")];
        assert_eq!(standard("tools/call", r#""name":"add","#, &call), Ok(()));
        let encoded = [V, (METHOD, "tools/call"), (NAME, "=?base64?5pel5pys?=")];
        assert_eq!(standard("tools/call", r#""name":"日本","#, &encoded), Ok(()));
        assert_eq!(standard("tools/list", "", &[V, (METHOD, "tools/list"), (NAME, "any")]), Ok(()));
        assert_eq!(standard("no/such", "", &[V, (METHOD, "other")]), Ok(()), "nobody knows any more");
        for (method, params, name) in [
            ("resources/read", r#""uri":"a:b","#, "a:b"),
            ("prompts/get", r#""name":"p","#, "p"),
            ("tasks/get", r#""taskId":"t","#, "t"),
            ("tasks/update", r#""taskId":"t","inputResponses":{},"#, "t"),
            ("tasks/cancel", r#""taskId":"t","#, "t"),
        ] {
            assert_eq!(standard(method, params, &[V, (METHOD, method), (NAME, name)]), Ok(()), "{method}");
            for headers in [&[V, (METHOD, method)][..], &[V, (METHOD, method), (NAME, "x")]] {
                let message = standard(method, params, headers).expect_err(method);
                assert!(message.contains("Mcp-Name"), "{message}");
            }
        }
        let refused: [(&str, &[(&str, &str)]); 8] = [
            ("MCP-Protocol-Version is missing", &[call[1], call[2]]),
            ("MCP-Protocol-Version says \"2025-11-25\"", &[(VERSION, "2025-11-25"), call[1], call[2]]),
            ("MCP-Protocol-Version is malformed", &[V, V, call[1], call[2]]),
            ("Mcp-Method is missing", &[V, call[2]]),
            ("Mcp-Method says \"TOOLS/CALL\"", &[V, (METHOD, "TOOLS/CALL"), call[2]]),
            ("Mcp-Name says \"Add\"", &[V, call[1], (NAME, "Add")]),
            ("Mcp-Name is malformed", &[V, call[1], (NAME, "=?base64?YWRk=?=")]),
            ("Mcp-Name is malformed", &[V, call[1], (NAME, "ädd")]),
        ];
        for (reason, headers) in refused {
            let message = standard("tools/call", r#""name":"add","#, headers).expect_err(reason);
            assert!(message.contains(reason), "{message}");
        }
        let message = standard("no/such", "", &[V]).unwrap_err();
        assert!(message.contains("Mcp-Method is missing"), "{message}");
    }

    const SCHEMA: &str = r#"{"type":"object","properties":{"s":{"type":"string","x-mcp-header":"S"},"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"Deep-N"},"b":{"type":"boolean","x-mcp-header":"B"}}}}}"#;

    fn arguments(arguments: &str, headers: &[(&str, &str)]) -> Result<(), String> {
        check_arguments(SCHEMA, arguments, lookup(headers)).map_err(|error| error.message)
    }

    const S: &str = "mcp-param-s";
    const N: &str = "mcp-param-deep-n";
    const B: &str = "mcp-param-b";

    #[test]
    fn headers_of_arguments_say_what_the_arguments_say() {
        let accepted: [(&str, &[(&str, &str)]); 12] = [
            ("{}", &[]),
            (r#"{"s":null,"o":{}}"#, &[]),
            (r#"{"o":7,"s":{}}"#, &[]),
            ("{}", &[("mcp-param-other", "x")]),
            (r#"{"s":"us-west1"}"#, &[(S, "us-west1")]),
            (r#"{"s":"Hello"}"#, &[(S, "=?base64?SGVsbG8=?=")]),
            (r#"{"s":"SGVsbG8="}"#, &[(S, "SGVsbG8=")]),
            (r#"{"s":"=?base64?SGVsbG8="}"#, &[(S, "=?base64?SGVsbG8=")]),
            (r#"{"s":" p\u00e4dded "}"#, &[(S, "=?base64?IHDDpGRkZWQg?=")]),
            (r#"{"s":""}"#, &[(S, "")]),
            (r#"{"o":{"n":42,"b":false}}"#, &[(N, "42.0"), (B, "false")]),
            (r#"{"o":{"n":-7e0}}"#, &[(N, "-7")]),
        ];
        for (body, headers) in accepted {
            assert_eq!(arguments(body, headers), Ok(()), "{body} {headers:?}");
        }
        let refused: [(&str, &[(&str, &str)]); 9] = [
            (r#"{"s":"a"}"#, &[]),
            (r#"{"s":"a"}"#, &[(S, "b")]),
            (r#"{"s":"a"}"#, &[(S, "a"), (S, "a")]),
            (r#"{"s":"Hello"}"#, &[(S, "=?base64?SGVsbG8?=")]),
            (r#"{"s":"Hello"}"#, &[(S, "=?base64?SGVs!!!bG8=?=")]),
            (r#"{"s":null}"#, &[(S, "null")]),
            (r#"{"o":{"n":42}}"#, &[(N, "43")]),
            (r#"{"o":{"n":9007199254740993}}"#, &[(N, "9007199254740992")]),
            (r#"{"o":{"b":true}}"#, &[(B, "True")]),
        ];
        for (body, headers) in refused {
            let message = arguments(body, headers).expect_err(body);
            assert!(message.starts_with("Header mismatch: the header Mcp-Param-"), "{message}");
        }
    }
}

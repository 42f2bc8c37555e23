//! The protocol's errors, as responses.

use super::revision::{self, Revision};
use crate::jsonrpc::json::{self, Array, Object};
use crate::jsonrpc::message::{RpcError, shown};
use crate::wire::protomcp::ToolError;

/// The handshake era's code for a resource that does not exist (server/resources, "Error
/// Handling").
const RESOURCE_NOT_FOUND: i32 = -32002;

/// The code for HTTP headers that say something else than the body they come with.
pub const HEADER_MISMATCH: i32 = -32020;

/// The code for a request that needs something of the host that it does not offer.
pub const MISSING_CAPABILITY: i32 = -32021;

/// The code for a revision that is not spoken here.
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// The `error_code` with which a tool process says that there is no such thing.
const NOT_FOUND: &str = "NOT_FOUND";

/// There is no resource behind this URI: `-32002` in the handshake era, `-32602` in the modern one.
pub fn resource_not_found(revision: Revision, uri: &str) -> RpcError {
    let mut data = Vec::new();
    let mut object = Object::open(&mut data);
    object.text("uri", uri);
    object.close();
    let message = format!("Resource not found: {}", shown(uri));
    let error = if revision.is_modern() {
        RpcError::invalid_params(message)
    } else {
        RpcError::new(RESOURCE_NOT_FOUND, message)
    };
    RpcError { data: json_text(data), ..error }
}

/// A request names a revision that is not spoken this way; the error says which is. Revisions of
/// the handshake era are not in it, because they are spoken after `initialize` alone.
pub fn unsupported_version(requested: &str) -> RpcError {
    let mut data = Vec::new();
    let mut object = Object::open(&mut data);
    let mut supported = Array::open(object.member("supported"));
    json::write_str(supported.element(), revision::MODERN.as_str());
    supported.close();
    object.text("requested", &shown(requested));
    object.close();
    let message = format!("Unsupported protocol version: {}", shown(requested));
    RpcError { data: json_text(data), ..RpcError::new(UNSUPPORTED_VERSION, message) }
}

/// The host does not offer what its request needs; `required` are client capabilities, a JSON
/// object.
pub fn missing_capability(required: &str) -> RpcError {
    let mut data = Vec::new();
    let mut object = Object::open(&mut data);
    object.raw("requiredCapabilities", required);
    object.close();
    let message = format!("Missing required client capability: {required}");
    RpcError { data: json_text(data), ..RpcError::new(MISSING_CAPABILITY, message) }
}

/// There is no tool of this name; `detail` says more (what it may have been renamed to), or is
/// empty.
pub fn unknown_tool(name: &str, detail: &str) -> RpcError {
    RpcError::invalid_params(with_detail(format!("Unknown tool: {}", shown(name)), detail))
}

/// There is no prompt of this name.
pub fn unknown_prompt(name: &str) -> RpcError {
    RpcError::invalid_params(format!("Unknown prompt: {}", shown(name)))
}

/// A request id that is still being answered.
pub fn duplicate_id(id: &str) -> RpcError {
    RpcError::invalid_request(format!("Invalid request: the id {} is already in use", shown(id)))
}

/// A batch where the revision has none.
pub fn no_batches(revision: Revision) -> RpcError {
    let revision = revision.as_str();
    RpcError::invalid_request(format!("Invalid request: revision {revision} has no batches"))
}

/// The error that a tool process wants in place of a result, if it wants one. A code that hosts of
/// this revision must not be sent becomes `-32603` (basic, "Error Codes").
pub fn protocol(revision: Revision, error: &ToolError) -> Option<RpcError> {
    if error.rpc_code == 0 {
        return None;
    }
    let is_ours = match error.rpc_code {
        // That what came is no JSON is not for a tool to say. The others are the specification's:
        // about headers, capabilities and revisions, or not given out (yet).
        -32700 | -32099..=-32020 => true,
        code => code == RESOURCE_NOT_FOUND && revision.is_modern(),
    };
    let message = [&error.message, &error.error_code].into_iter().find(|text| !text.is_empty());
    let message = message.map_or("The tool failed.", String::as_str);
    let mut data = Vec::new();
    write_tool_error(&mut data, error);
    let plain = if is_ours { RpcError::internal(message) } else { RpcError::new(error.rpc_code, message) };
    Some(RpcError { data: json_text(data), ..plain })
}

/// A failure that a tool process reports for a request that is not a call; `what` says which
/// request failed.
pub fn failed(what: &str, error: &ToolError) -> RpcError {
    let detail = if error.message.is_empty() { &error.error_code } else { &error.message };
    let mut data = Vec::new();
    write_tool_error(&mut data, error);
    RpcError { data: json_text(data), ..RpcError::internal(with_detail(what.to_owned(), detail)) }
}

/// Whether a tool process says that there is no such thing.
pub fn is_not_found(error: &ToolError) -> bool {
    error.error_code == NOT_FOUND || error.rpc_code == RESOURCE_NOT_FOUND
}

/// Appends a tool error as an object.
pub fn write_tool_error(out: &mut Vec<u8>, error: &ToolError) {
    let mut object = Object::open(out);
    object.text_if("code", &error.error_code);
    object.text_if("message", &error.message);
    object.text_if("suggestion", &error.suggestion);
    object.flag("retryable", error.retryable);
    object.close();
}

fn with_detail(mut message: String, detail: &str) -> String {
    if !detail.is_empty() {
        message.push_str(": ");
        message.push_str(detail);
    }
    message
}

/// What the writers of JSON append is text.
pub(super) fn json_text(json: Vec<u8>) -> Option<Box<str>> {
    String::from_utf8(json).ok().map(String::into_boxed_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_resource_names_its_uri_in_the_data() {
        let error = resource_not_found(revision::MODERN, "file:///a\"b");
        assert_eq!(error.code, -32602);
        let error = resource_not_found(revision::LATEST, "file:///a\"b");
        assert_eq!(error.code, -32002);
        assert_eq!(error.data.as_deref(), Some(r#"{"uri":"file:///a\"b"}"#));
    }

    #[test]
    fn modern_errors_say_what_would_do() {
        let error = unsupported_version("2099-01-01");
        assert_eq!(error.code, -32022);
        assert_eq!(error.data.as_deref(), Some(r#"{"supported":["2026-07-28"],"requested":"2099-01-01"}"#));
        let error = missing_capability(r#"{"sampling":{}}"#);
        assert_eq!(error.code, -32021);
        assert_eq!(error.data.as_deref(), Some(r#"{"requiredCapabilities":{"sampling":{}}}"#));
    }

    #[test]
    fn details_are_added_and_names_cut() {
        assert_eq!(unknown_tool("x", "").message, "Unknown tool: x");
        assert_eq!(unknown_tool("x", "did you mean y?").message, "Unknown tool: x: did you mean y?");
        assert!(unknown_prompt(&"é".repeat(100_000)).message.chars().count() < 300);
        assert_eq!(unknown_prompt("p").code, -32602);
        assert_eq!(duplicate_id("1").code, -32600);
    }

    #[test]
    fn a_tool_may_choose_its_code_but_not_ours() {
        let modern = revision::MODERN;
        let old = revision::LATEST;
        let table = [
            (0, old, None),
            (0, modern, None),
            (-32602, old, Some(-32602)),
            (-32602, modern, Some(-32602)),
            (-32603, modern, Some(-32603)),
            (-32002, old, Some(-32002)),
            (-32002, modern, Some(-32603)),
            (-32042, old, Some(-32603)),
            (-32042, modern, Some(-32603)),
            (-32020, modern, Some(-32603)),
            (-32022, old, Some(-32603)),
            (-32099, modern, Some(-32603)),
            (-32700, modern, Some(-32603)),
            (-32019, modern, Some(-32019)),
            (-32100, modern, Some(-32100)),
            (17, old, Some(17)),
            (i32::MIN, modern, Some(i32::MIN)),
        ];
        for (rpc_code, revision, expected) in table {
            let error = ToolError { rpc_code, message: "no".into(), ..ToolError::default() };
            let told = protocol(revision, &error);
            assert_eq!(told.as_ref().map(|error| error.code), expected, "{rpc_code} {revision:?}");
            if let Some(told) = told {
                assert_eq!(told.message, "no");
                assert_eq!(told.data.as_deref(), Some(r#"{"message":"no","retryable":false}"#));
            }
        }
        let silent = ToolError { rpc_code: 1, ..ToolError::default() };
        assert_eq!(protocol(old, &silent).unwrap().message, "The tool failed.");
        let coded = ToolError { error_code: "X".into(), ..silent };
        assert_eq!(protocol(old, &coded).unwrap().message, "X");
    }

    #[test]
    fn a_failure_keeps_what_the_tool_said() {
        let error = ToolError {
            error_code: "DOWN".into(),
            message: "no link".into(),
            suggestion: String::new(),
            retryable: true,
            rpc_code: 0,
        };
        let error = failed("Reading the resource failed", &error);
        assert_eq!(error.code, -32603);
        assert_eq!(error.message, "Reading the resource failed: no link");
        assert_eq!(error.data.as_deref(), Some(r#"{"code":"DOWN","message":"no link","retryable":true}"#));
    }
}

//! Requests, notifications and responses (<https://www.jsonrpc.org/specification>).

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::json::{self, Kind, Object};
use crate::limits::{BATCH_MAX, SHOWN_MAX};

/// The id of a host's request: the JSON token exactly as the host spelled it.
///
/// Equality is the token's, so `1` and `"1"` are two ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(Box<str>);

impl RequestId {
    /// The id `number`.
    pub fn from_u64(number: u64) -> Self {
        Self(number.to_string().into())
    }

    /// An id is a string or an integer; anything else is none.
    pub fn from_token(value: &RawValue) -> Option<Self> {
        let token = value.get();
        let valid = match json::kind_of(value) {
            Kind::String => true,
            Kind::Number => !token.contains(['.', 'e', 'E']),
            _ => false,
        };
        valid.then(|| Self(token.into()))
    }

    /// The token, JSON.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as one of ours: a plain integer.
    pub fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// The code, see the constructors.
    pub code: i32,
    /// One sentence.
    pub message: String,
    /// Raw JSON.
    pub data: Option<Box<str>>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// What came is not JSON.
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(-32700, message)
    }

    /// What came is JSON but not a message.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    /// The method does not exist here; `method` is cut to a readable length.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(-32601, format!("Method not found: {}", shown(method)))
    }

    /// The method exists, but not with these params.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// It is our fault, or the tool process's.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (code {})", self.message, self.code)
    }
}

/// A peer's text as it is quoted in an error: at most [`SHOWN_MAX`] characters of it.
pub fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_MAX) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// What one line holds.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// One message.
    One(Message<'a>),
    /// An array with at least one. Whether arrays are allowed depends on the revision.
    Batch(Vec<Message<'a>>),
}

/// One message.
#[derive(Debug)]
pub enum Message<'a> {
    /// Wants one answer.
    Request {
        /// Echoed in the answer.
        id: RequestId,
        /// What is wanted.
        method: Cow<'a, str>,
        /// Absent and `null` are the same.
        params: Option<&'a RawValue>,
    },
    /// Wants no answer.
    Notification {
        /// What happened.
        method: Cow<'a, str>,
        /// Absent and `null` are the same.
        params: Option<&'a RawValue>,
    },
    /// Answers a request of ours.
    Response {
        /// `None` when the host could not read ours.
        id: Option<RequestId>,
        /// The result or the error object.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
    /// Neither; answered with an error.
    Invalid {
        /// Where it could be read.
        id: Option<RequestId>,
        /// The answer.
        error: RpcError,
    },
}

/// Reads one line.
pub fn parse(line: &[u8]) -> Incoming<'_> {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => {
            let reason = format!("Parse error: not UTF-8 at byte {}", error.valid_up_to());
            return Incoming::One(Message::Invalid { id: None, error: RpcError::parse_error(reason) });
        }
    };
    if !text.trim_ascii_start().starts_with('[') {
        return Incoming::One(parse_one(text));
    }
    match serde_json::from_str::<Elements<'_>>(text) {
        Ok(Elements(messages)) if messages.is_empty() => {
            let error = RpcError::invalid_request("Invalid request: an empty batch");
            Incoming::One(Message::Invalid { id: None, error })
        }
        Ok(Elements(messages)) => {
            Incoming::Batch(messages.into_iter().map(|message| parse_one(message.get())).collect())
        }
        Err(error) => Incoming::One(Message::Invalid { id: None, error: unreadable(&error) }),
    }
}

/// The elements of a batch, at most [`BATCH_MAX`].
struct Elements<'a>(Vec<&'a RawValue>);

impl<'de> serde::Deserialize<'de> for Elements<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ElementsVisitor;
        impl<'de> Visitor<'de> for ElementsVisitor {
            type Value = Elements<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = seq.next_element()? {
                    if elements.len() == BATCH_MAX {
                        return Err(A::Error::custom(format_args!("a batch of more than {BATCH_MAX}")));
                    }
                    elements.push(element);
                }
                Ok(Elements(elements))
            }
        }
        deserializer.deserialize_seq(ElementsVisitor)
    }
}

/// What is said about text that could not be taken as a message.
fn unreadable(error: &serde_json::Error) -> RpcError {
    match error.classify() {
        Category::Data => RpcError::invalid_request(format!("Invalid request: {error}")),
        _ => RpcError::parse_error(format!("Parse error: {error}")),
    }
}

fn parse_one(text: &str) -> Message<'_> {
    const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
    let fields = match json::fields(text, &NAMES) {
        Ok(fields) => fields,
        Err(error) => return Message::Invalid { id: None, error: unreadable(&error) },
    };
    let [version, id_token, method, params, result, failure] = fields.values;
    let params = params.filter(|value| json::kind_of(value) != Kind::Null);
    let failure = failure.filter(|value| json::kind_of(value) != Kind::Null);
    let id = id_token.filter(|_| fields.duplicate != Some("id")).and_then(RequestId::from_token);

    let fault = if let Some(name) = fields.duplicate {
        Some(format!("the member {name} is there twice"))
    } else if version.and_then(json::string).as_deref() != Some("2.0") {
        Some("the member jsonrpc must be \"2.0\"".to_owned())
    } else if method.is_some() && (result.is_some() || failure.is_some()) {
        Some("it is both a request and a response".to_owned())
    } else {
        None
    };
    let invalid = |id, fault: &str| {
        let error = RpcError::invalid_request(format!("Invalid request: {fault}"));
        Message::Invalid { id, error }
    };

    match (method, result, failure) {
        // The id of a response is one of ours: an error with it would be taken for an answer to a
        // request of the host's.
        (None, Some(_), _) | (None, _, Some(_)) if fault.is_some() => {
            invalid(None, fault.as_deref().unwrap_or_default())
        }
        (None, _, Some(error)) => Message::Response { id, outcome: Err(error) },
        (None, Some(result), None) => Message::Response { id, outcome: Ok(result) },
        (None, None, None) => invalid(id, fault.as_deref().unwrap_or("it has no method")),
        (Some(method), ..) => match (fault, json::string(method), id_token, id) {
            (Some(fault), _, _, id) => invalid(id, &fault),
            (None, None, _, id) => invalid(id, "the member method must be a string"),
            (None, Some(_), Some(_), None) => invalid(None, "the id must be a string or an integer"),
            (None, Some(method), _, Some(id)) => Message::Request { id, method, params },
            (None, Some(method), None, None) => Message::Notification { method, params },
        },
    }
}

/// Opens a message that has the id `token`.
fn open_with_id(out: &mut Vec<u8>, token: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(token.as_bytes());
}

/// Appends a response; `body` appends the result.
pub fn write_result(out: &mut Vec<u8>, id: &RequestId, body: impl FnOnce(&mut Vec<u8>)) {
    open_with_id(out, id.as_str());
    out.extend_from_slice(b",\"result\":");
    body(out);
    out.push(b'}');
}

/// Appends a response whose result is exactly `{}`.
pub fn write_empty_result(out: &mut Vec<u8>, id: &RequestId) {
    write_result(out, id, |out| out.extend_from_slice(b"{}"));
}

/// Appends an error response, without an id where none could be read.
pub fn write_error(out: &mut Vec<u8>, id: Option<&RequestId>, error: &RpcError) {
    let mut message = Object::open(out);
    message.text("jsonrpc", "2.0");
    if let Some(id) = id {
        message.token("id", id.as_str());
    }
    write_error_object(message.member("error"), error);
    message.close();
}

/// Appends an error alone.
pub fn write_error_object(out: &mut Vec<u8>, error: &RpcError) {
    let mut body = Object::open(out);
    body.number("code", error.code);
    body.text("message", &error.message);
    body.raw_if("data", error.data.as_deref());
    body.close();
}

/// Appends a notification; `params` appends its params.
pub fn write_notification(out: &mut Vec<u8>, method: &str, params: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":");
    json::write_str(out, method);
    out.extend_from_slice(b",\"params\":");
    params(out);
    out.push(b'}');
}

/// Appends a request of ours; `params` appends its params.
pub fn write_request(out: &mut Vec<u8>, id: u64, method: &str, params: impl FnOnce(&mut Vec<u8>)) {
    open_with_id(out, &id.to_string());
    out.extend_from_slice(b",\"method\":");
    json::write_str(out, method);
    out.extend_from_slice(b",\"params\":");
    params(out);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;

    /// A message in one short text, for tables.
    fn told(message: &Message<'_>) -> String {
        let raw = |value: &Option<&RawValue>| value.map_or("-", RawValue::get).to_owned();
        let id = |id: &Option<RequestId>| id.as_ref().map_or("-", RequestId::as_str).to_owned();
        match message {
            Message::Request { id, method, params } => {
                format!("request {} {method} {}", id.as_str(), raw(params))
            }
            Message::Notification { method, params } => format!("notification {method} {}", raw(params)),
            Message::Response { id: of, outcome: Ok(result) } => format!("result {} {result}", id(of)),
            Message::Response { id: of, outcome: Err(error) } => format!("error {} {error}", id(of)),
            Message::Invalid { id: of, error } => format!("invalid {} {}", id(of), error.code),
        }
    }

    fn told_line(line: &[u8]) -> String {
        match parse(line) {
            Incoming::One(message) => told(&message),
            Incoming::Batch(messages) => messages.iter().map(told).collect::<Vec<_>>().join(" | "),
        }
    }

    #[test]
    fn each_line_is_what_the_specification_says() {
        let table = [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, "request 1 m -"),
            (
                r#"{"method":"m","params":{"a":[1]},"id":"x\"\u0041","jsonrpc":"2.0"}"#,
                r#"request "x\"\u0041" m {"a":[1]}"#,
            ),
            (
                r#" {"jsonrpc" : "2.0" , "id" : 0 , "method" : "t\u006fols\/call" , "params" : null } "#,
                "request 0 tools/call -",
            ),
            (r#"{"jsonrpc":"2.0","id":-5,"method":"m","params":[]}"#, "request -5 m []"),
            (r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}"#, "request 9007199254740993 m -"),
            (
                r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"m"}"#,
                "request 123456789012345678901234567890 m -",
            ),
            (r#"{"jsonrpc":"2.0","id":"","method":"m"}"#, "request \"\" m -"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","x":{"deep":[[]]}}"#, "request 1 m -"),
            (r#"{"jsonrpc":"2.0","method":"m"}"#, "notification m -"),
            (r#"{"jsonrpc":"2.0","method":"m","params":{"a":"\ud800"}}"#, r#"notification m {"a":"\ud800"}"#),
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "result 7 {}"),
            (r#"{"jsonrpc":"2.0","id":7,"result":null}"#, "result 7 null"),
            (r#"{"jsonrpc":"2.0","id":7,"result":1,"error":null}"#, "result 7 1"),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":1}}"#, r#"error 7 {"code":1}"#),
            (r#"{"jsonrpc":"2.0","id":7,"result":null,"error":{}}"#, "error 7 {}"),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "error - {}"),
            (r#"{"jsonrpc":"2.0","error":{}}"#, "error - {}"),
            // Not JSON.
            ("", "invalid - -32700"),
            ("hello", "invalid - -32700"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m""#, "invalid - -32700"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}}"#, "invalid - -32700"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":}}"#, "invalid - -32700"),
            (r#"{'jsonrpc':'2.0'}"#, "invalid - -32700"),
            ("[1,", "invalid - -32700"),
            // JSON, but no message.
            ("1", "invalid - -32600"),
            ("\"x\"", "invalid - -32600"),
            ("null", "invalid - -32600"),
            ("{}", "invalid - -32600"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "invalid 1 -32600"),
            (r#"{"id":1,"method":"m"}"#, "invalid 1 -32600"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, "invalid 1 -32600"),
            (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, "invalid 1 -32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "invalid 1 -32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, "invalid 1 -32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, "invalid 1 -32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}"#, "invalid 1 -32600"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, "invalid - -32600"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, "invalid - -32600"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, "invalid - -32600"),
            (r#"{"jsonrpc":"2.0","id":1e3,"method":"m"}"#, "invalid - -32600"),
            (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, "invalid - -32600"),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"m"}"#, "invalid - -32600"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, "invalid - -32600"),
            // The id of a broken response is one of ours, so it is not given back.
            (r#"{"id":1,"result":{}}"#, "invalid - -32600"),
            // Batches.
            ("[]", "invalid - -32600"),
            (" [ ] ", "invalid - -32600"),
            (
                r#"[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","method":"n"},3,[]]"#,
                "request 1 m - | notification n - | invalid - -32600 | invalid - -32600",
            ),
        ];
        for (line, expected) in table {
            assert_eq!(told_line(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn bad_utf_8_is_a_parse_error() {
        assert_eq!(told_line(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"), "invalid - -32700");
        assert_eq!(told_line(b"\xc3"), "invalid - -32700");
    }

    #[test]
    fn depth_and_number_are_bounded_without_a_deep_stack() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{deep}}}"#);
        assert!(matches!(parse(line.as_bytes()), Incoming::One(Message::Request { .. })));
        assert_eq!(told_line("[".repeat(1_000_000).as_bytes()), "invalid - -32700");
        let batch = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert!(matches!(parse(batch(BATCH_MAX).as_bytes()), Incoming::Batch(all) if all.len() == BATCH_MAX));
        assert_eq!(told_line(batch(BATCH_MAX + 1).as_bytes()), "invalid - -32600");
    }

    #[test]
    fn messages_are_written_on_one_line() {
        let Incoming::One(Message::Request { id, .. }) =
            parse(br#"{"jsonrpc":"2.0","id":"\u0041\ud800","method":"m"}"#)
        else {
            panic!("a request");
        };
        let mut out = Vec::new();
        write_empty_result(&mut out, &id);
        assert_eq!(out, br#"{"jsonrpc":"2.0","id":"\u0041\ud800","result":{}}"#);

        let id = RequestId::from_u64(7);
        let result = written(|out| write_result(out, &id, |out| json::write_raw(out, "{\n}")));
        assert_eq!(result, r#"{"jsonrpc":"2.0","id":7,"result":{ }}"#);
        let error = RpcError { data: Some("{\"a\":\r\n1}".into()), ..RpcError::internal("a\n\"b\"") };
        let expected = r#"{"code":-32603,"message":"a\n\"b\"","data":{"a":  1}}}"#;
        let text = written(|out| write_error(out, Some(&id), &error));
        assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":7,"error":{expected}"#));
        let text = written(|out| write_error(out, None, &RpcError::method_not_found("x")));
        assert_eq!(text, r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found: x"}}"#);
        let text = written(|out| write_notification(out, "n", |out| out.extend_from_slice(b"{}")));
        assert_eq!(text, r#"{"jsonrpc":"2.0","method":"n","params":{}}"#);
        let text = written(|out| write_request(out, 3, "r", |out| out.extend_from_slice(b"{}")));
        assert_eq!(text, r#"{"jsonrpc":"2.0","id":3,"method":"r","params":{}}"#);
        assert_eq!(id.as_u64(), Some(7));
    }
}

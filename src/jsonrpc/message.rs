//! Requests, notifications and responses (<https://www.jsonrpc.org/specification>).

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::json::{self, Kind, Object};
use crate::limits::BATCH_MAX;

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

/// A peer's text as it is quoted in an error: at most 200 characters of it.
pub fn shown(text: &str) -> Cow<'_, str> {
    const SHOWN_MAX: usize = 200;
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
    json::write_raw(out, token);
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
    message.raw_if("id", id.map(RequestId::as_str));
    let mut body = Object::open(message.member("error"));
    body.number("code", error.code);
    body.text("message", &error.message);
    body.raw_if("data", error.data.as_deref());
    body.close();
    message.close();
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

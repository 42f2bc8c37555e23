//! Which era a posted message belongs to, and what becomes of it (basic/versioning, "Backward
//! Compatibility"): each message decides for itself, by its body first and its headers second.

use super::guard::{Field, Head};
use crate::jsonrpc::message::{RequestId, RpcError};
use crate::mcp::error::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use crate::mcp::mirror::{self, Header};
use crate::mcp::request::{Era, HostMessage, Request};
use crate::mcp::revision::{self, Revision};

/// What becomes of a message.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// A request of the modern era, which is a session of its own.
    Modern {
        /// It stays open for news, for as long as the client likes.
        is_listen: bool,
    },
    /// A handshake: a new session of this revision.
    Initialize(Revision),
    /// It belongs to a session of the handshake era.
    Session {
        /// There is something to answer.
        awaits_answer: bool,
    },
    /// It is taken and comes to nothing: 202.
    Dropped,
    /// It is answered by this and goes no further.
    Refused(Refused),
}

/// An error for the whole request.
#[derive(Debug, PartialEq)]
pub struct Refused {
    /// The status of the response.
    pub status: u16,
    /// The request's id, where there is one.
    pub id: Option<RequestId>,
    /// What is wrong.
    pub error: RpcError,
}

/// The status of a response that holds an answer, by its error's code. In the handshake era all
/// answers to what belongs to a session are equal.
pub const fn status(is_modern: bool, error: Option<i32>) -> u16 {
    match error {
        Some(METHOD_NOT_FOUND) if is_modern => 404,
        Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) if is_modern => 400,
        _ => 200,
    }
}

const METHOD_NOT_FOUND: i32 = -32601;

/// Decides about a message. `schema_of` gives the input schema of a tool, where it is known.
pub fn judge<'s>(
    message: &HostMessage<'_>,
    head: &dyn Head,
    schema_of: impl FnOnce(&str) -> Option<&'s str>,
) -> Verdict {
    match message {
        HostMessage::Invalid { id, error } => refused(400, id.as_ref(), error.clone()),
        HostMessage::Request { id, era: Era::Modern(meta), request } => {
            let request = request.as_ref();
            match judge_modern(meta.is_sound, &meta.version, request, head, schema_of) {
                Ok(is_listen) => Verdict::Modern { is_listen },
                Err((status, error)) => refused(status, Some(id), error),
            }
        }
        HostMessage::Request { id, era: Era::Handshake, request } => match (claimed(head), request) {
            (Claim::Modern, Ok(Request::Initialize(_))) => {
                let text = "Header mismatch: initialize does not belong to the revision that the header MCP-Protocol-Version names";
                refused(400, Some(id), RpcError::new(HEADER_MISMATCH, text))
            }
            (Claim::Modern, _) => refused(400, Some(id), no_envelope()),
            (_, Ok(Request::Initialize(initialize))) => {
                Verdict::Initialize(revision::negotiate(&initialize.protocol_version))
            }
            (Claim::Unknown, _) => refused(400, Some(id), unknown_revision()),
            (Claim::Handshake, _) => Verdict::Session { awaits_answer: true },
        },
        HostMessage::Notification(_) | HostMessage::Response { .. } => match claimed(head) {
            // Nothing that a client of the modern era notifies us of means anything to us.
            Claim::Modern => Verdict::Dropped,
            Claim::Unknown => refused(400, None, unknown_revision()),
            Claim::Handshake => Verdict::Session { awaits_answer: false },
        },
        HostMessage::Batch(messages) => {
            let is_modern = |message: &HostMessage<'_>| {
                matches!(message, HostMessage::Request { era: Era::Modern(_), .. })
            };
            if claimed(head) != Claim::Handshake || messages.iter().any(is_modern) {
                let error =
                    RpcError::invalid_request("Invalid request: the revision that this is of has no batches");
                return refused(400, None, error);
            }
            let is_answered = |message: &HostMessage<'_>| {
                !matches!(message, HostMessage::Notification(_) | HostMessage::Response { .. })
            };
            Verdict::Session { awaits_answer: messages.iter().any(is_answered) }
        }
    }
}

/// Whether the request opens a stream of news.
fn judge_modern<'s>(
    is_sound: bool,
    version: &str,
    request: Result<&Request<'_>, &RpcError>,
    head: &dyn Head,
    schema_of: impl FnOnce(&str) -> Option<&'s str>,
) -> Result<bool, (u16, RpcError)> {
    let header = |name: &str| match head.field(name) {
        Field::Absent => Header::Absent,
        Field::Is(value) => Header::Is(value),
        Field::Unclear => Header::Unclear,
    };
    let bad = |error| (400, error);
    match request {
        // An envelope that is not whole comes before all headers, one of a revision that is not
        // spoken here behind them.
        Err(error) if !is_sound && error.code != UNSUPPORTED_VERSION => return Err(bad(error.clone())),
        _ => mirror::check_standard(version, request.ok(), header).map_err(bad)?,
    }
    let request = request.map_err(|error| (status(true, Some(error.code)), error.clone()))?;
    match request {
        // The one method of the other era that reads as a request of this one.
        Request::Initialize(_) => Err((404, RpcError::method_not_found(request.method()))),
        Request::CallTool(call) => {
            if let Some(schema) = schema_of(&call.name) {
                mirror::check_arguments(schema, &call.arguments, header).map_err(bad)?;
            }
            Ok(false)
        }
        Request::Listen(_) => Ok(true),
        _ => Ok(false),
    }
}

/// What the header with the revision says of a message that does not say it itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
    /// Of the handshake era, or it says nothing.
    Handshake,
    Modern,
    /// No revision that there ever was before the modern ones.
    Unknown,
}

fn claimed(head: &dyn Head) -> Claim {
    match head.field(mirror::VERSION) {
        Field::Absent => Claim::Handshake,
        Field::Is(version) => match Revision::ALL.iter().find(|known| known.as_str() == version) {
            Some(known) if known.is_modern() => Claim::Modern,
            Some(_) => Claim::Handshake,
            // Revisions are named after their dates.
            None if is_date(version) && version > revision::MODERN.as_str() => Claim::Modern,
            None => Claim::Unknown,
        },
        Field::Unclear => Claim::Unknown,
    }
}

/// Whether a message of the handshake era may come under this header.
pub fn is_of_handshake(head: &dyn Head) -> bool {
    claimed(head) == Claim::Handshake
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

fn refused(status: u16, id: Option<&RequestId>, error: RpcError) -> Verdict {
    Verdict::Refused(Refused { status, id: id.cloned(), error })
}

fn no_envelope() -> RpcError {
    RpcError::invalid_params(
        "Invalid params: _meta[\"io.modelcontextprotocol/protocolVersion\"] and _meta[\"io.modelcontextprotocol/clientCapabilities\"] are missing, which the revision in the header MCP-Protocol-Version demands",
    )
}

/// A revision in a header that is none.
pub fn unknown_revision() -> RpcError {
    let known: Vec<&str> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
    RpcError::invalid_request(format!(
        "Invalid request: the header MCP-Protocol-Version names no revision that is spoken here; they are {}",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::request::parse;

    struct Headers<'a>(&'a [(&'a str, &'a str)]);

    impl Head for Headers<'_> {
        fn method(&self) -> &str {
            "POST"
        }

        fn path(&self) -> &str {
            "/mcp"
        }

        fn field(&self, name: &str) -> Field<'_> {
            self.0
                .iter()
                .find(|(header, _)| *header == name)
                .map_or(Field::Absent, |(_, value)| Field::Is(value))
        }
    }

    fn verdict(body: &str, headers: &[(&str, &str)]) -> Verdict {
        let schema = r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#;
        judge(&parse(body.as_bytes()), &Headers(headers), |tool| (tool == "t").then_some(schema))
    }

    fn refusal(body: &str, headers: &[(&str, &str)]) -> (u16, i32) {
        match verdict(body, headers) {
            Verdict::Refused(refused) => {
                assert_eq!(refused.id.is_some(), body.contains("\"id\"") && !body.starts_with('['), "{body}");
                (refused.status, refused.error.code)
            }
            other => panic!("{body} {headers:?}: {other:?}"),
        }
    }

    fn modern(method: &str, params: &str, version: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        )
    }

    const NOW: &str = "2026-07-28";
    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;

    fn version(version: &str) -> [(&str, &str); 1] {
        [("mcp-protocol-version", version)]
    }

    #[test]
    fn a_message_without_a_claim_belongs_to_a_session() {
        let traffic = |awaits_answer| Verdict::Session { awaits_answer };
        for headers in [&[][..], &version("2025-03-26"), &version("2025-11-25")] {
            assert_eq!(verdict(PING, headers), traffic(true));
            assert_eq!(verdict(r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, headers), traffic(true));
            let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            assert_eq!(verdict(note, headers), traffic(false));
            assert_eq!(verdict(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, headers), traffic(false));
            assert_eq!(verdict(&format!("[{note},{PING}]"), headers), traffic(true));
            assert_eq!(verdict(&format!("[{note}]"), headers), traffic(false));
            assert_eq!(verdict("[1]", headers), traffic(true));
            assert_eq!(verdict(HELLO, headers), Verdict::Initialize(Revision::V2025_06_18));
        }
        // What an unknown revision can't be refused for: to shake hands is to find out.
        assert_eq!(verdict(HELLO, &version("1999-01-01")), Verdict::Initialize(Revision::V2025_06_18));
        for wrong in ["1999-01-01", "latest", "", "2026-07-28x"] {
            assert_eq!(refusal(PING, &version(wrong)), (400, -32600), "{wrong}");
        }
    }

    #[test]
    fn a_modern_header_demands_a_modern_body() {
        for modern in [NOW, "2099-01-01"] {
            assert_eq!(refusal(PING, &version(modern)), (400, -32602));
            assert_eq!(refusal(HELLO, &version(modern)), (400, -32020));
            assert_eq!(refusal(&format!("[{PING}]"), &version(modern)), (400, -32600));
            let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
            assert_eq!(verdict(note, &version(modern)), Verdict::Dropped);
        }
        assert_eq!(refusal(&format!("[{PING},{}]", modern("tools/list", "", NOW)), &[]), (400, -32600));
    }

    #[test]
    fn a_modern_claim_is_judged_in_order() {
        let list = modern("tools/list", "", NOW);
        let good = [("mcp-protocol-version", NOW), ("mcp-method", "tools/list")];
        assert_eq!(verdict(&list, &good), Verdict::Modern { is_listen: false });
        let listen = modern("subscriptions/listen", r#""notifications":{},"#, NOW);
        let headers = [good[0], ("mcp-method", "subscriptions/listen")];
        assert_eq!(verdict(&listen, &headers), Verdict::Modern { is_listen: true });
        // The envelope, then the header, then the revision, then the other headers, then the method.
        let half = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        assert_eq!(refusal(half, &[]), (400, -32602));
        assert_eq!(refusal(&list, &[]), (400, -32020));
        assert_eq!(refusal(&list, &version("2025-11-25")), (400, -32020));
        let future = modern("tools/list", "", "2099-01-01");
        assert_eq!(refusal(&future, &good), (400, -32020));
        let headers = [("mcp-protocol-version", "2099-01-01"), good[1]];
        assert_eq!(refusal(&future, &headers), (400, -32022));
        assert_eq!(refusal(&modern("tools/list", "", "2025-11-25"), &version("2025-11-25")).0, 400);
        assert_eq!(refusal(&list, &good[..1]), (400, -32020));
        assert_eq!(refusal(&modern("no/such", "", NOW), &good[..1]), (400, -32020));
        assert_eq!(refusal(&modern("no/such", "", NOW), &good), (404, -32601));
        assert_eq!(refusal(&modern("ping", "", NOW), &good), (404, -32601));
        let headers = [good[0], ("mcp-method", "initialize")];
        let hello = modern("initialize", r#""protocolVersion":"2025-11-25","#, NOW);
        assert_eq!(refusal(&hello, &headers), (404, -32601));
        let headers = [good[0], ("mcp-method", "tasks/get")];
        assert_eq!(refusal(&modern("tasks/get", r#""taskId":"t","#, NOW), &headers), (400, -32021));
        // Bad params of a good method are an answer like any other.
        let headers = [good[0], ("mcp-method", "tools/call")];
        assert_eq!(refusal(&modern("tools/call", r#""name":7,"#, NOW), &headers), (200, -32602));
    }

    #[test]
    fn headers_for_arguments_count_for_tools_that_are_known() {
        let headers =
            |name| [("mcp-protocol-version", NOW), ("mcp-method", "tools/call"), ("mcp-name", name)];
        let call =
            |name: &str| modern("tools/call", &format!(r#""name":"{name}","arguments":{{"a":"b"}},"#), NOW);
        assert_eq!(refusal(&call("t"), &headers("t")), (400, -32020));
        assert_eq!(verdict(&call("u"), &headers("u")), Verdict::Modern { is_listen: false });
        let with = [headers("t").as_slice(), &[("mcp-param-a", "b")]].concat();
        assert_eq!(verdict(&call("t"), &with), Verdict::Modern { is_listen: false });
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for body in ["", "{", "7", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "[]"] {
            assert_eq!(
                judge(&parse(body.as_bytes()), &Headers(&[]), |_| None),
                match parse(body.as_bytes()) {
                    HostMessage::Invalid { id, error } =>
                        Verdict::Refused(Refused { status: 400, id, error }),
                    other => panic!("{other:?}"),
                }
            );
        }
    }
}

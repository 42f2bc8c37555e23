//! What a tool asks its host: sampling, roots and elicitation (client/sampling, client/roots,
//! client/elicitation).
//!
//! A question is spelled once. In the handshake era it is then a request of ours to the host, in
//! the modern one a member of `inputRequests` in a result (basic/patterns/mrtr) or in a task.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::request::HostCapabilities;
use super::result::{self, Dialect};
use super::revision::Revision;
use super::task;
use crate::jsonrpc::json::{self, Object};
use crate::jsonrpc::message::write_request;
use crate::wire::protomcp::{ElicitRequest, ListRootsRequest, SamplingRequest, input_question};

mod answer;
mod elicit;
mod sampling;

pub use answer::{Answer, Refusal};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A model's answer, `sampling/createMessage`.
    Sampling,
    /// The folders that the host works on, `roots/list`.
    Roots,
    /// The user's answer, `elicitation/create`.
    Elicit,
}

impl Kind {
    /// As texts name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Sampling => "sampling",
            Kind::Roots => "roots",
            Kind::Elicit => "elicitation",
        }
    }

    const fn method(self) -> &'static str {
        match self {
            Kind::Sampling => "sampling/createMessage",
            Kind::Roots => "roots/list",
            Kind::Elicit => "elicitation/create",
        }
    }
}

/// A question of a tool to the host of its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// To the host's model.
    Sampling(SamplingRequest),
    /// To the host itself.
    Roots(ListRootsRequest),
    /// To the user.
    Elicit(ElicitRequest),
}

impl From<input_question::Question> for Question {
    fn from(question: input_question::Question) -> Self {
        match question {
            input_question::Question::Sampling(request) => Question::Sampling(request),
            input_question::Question::Roots(request) => Question::Roots(request),
            input_question::Question::Elicit(request) => Question::Elicit(request),
        }
    }
}

impl Question {
    /// What it asks for.
    pub fn kind(&self) -> Kind {
        match self {
            Question::Sampling(_) => Kind::Sampling,
            Question::Roots(_) => Kind::Roots,
            Question::Elicit(_) => Kind::Elicit,
        }
    }

    /// The request of ours on whose behalf the tool asks, or empty.
    pub fn call_request_id(&self) -> &str {
        match self {
            Question::Sampling(request) => &request.call_request_id,
            Question::Roots(request) => &request.call_request_id,
            Question::Elicit(request) => &request.call_request_id,
        }
    }

    /// What the host would have to declare before it can be asked this: client capabilities, a
    /// JSON object. `None` if it can be asked.
    pub fn missing(&self, capabilities: &HostCapabilities) -> Option<&'static str> {
        let (is_there, required) = match self {
            Question::Sampling(request) if sampling::has_tools(request) => {
                (capabilities.sampling && capabilities.sampling_tools, r#"{"sampling":{"tools":{}}}"#)
            }
            Question::Sampling(_) => (capabilities.sampling, r#"{"sampling":{}}"#),
            Question::Roots(_) => (capabilities.roots, r#"{"roots":{}}"#),
            Question::Elicit(request) if elicit::is_url(request) => {
                (capabilities.elicitation_url, r#"{"elicitation":{"url":{}}}"#)
            }
            Question::Elicit(_) => (capabilities.elicitation, r#"{"elicitation":{"form":{}}}"#),
        };
        (!is_there).then_some(required)
    }

    /// The question as hosts of this revision get it.
    ///
    /// # Errors
    /// A sentence for the tool that says why it cannot be asked.
    pub fn spell(&self, revision: Revision) -> Result<Spelled, String> {
        match self {
            Question::Sampling(request) => sampling::spell(request, revision),
            Question::Roots(_) => Ok(Spelled::new(Kind::Roots, b"{}".to_vec())),
            Question::Elicit(request) => elicit::spell(request, revision),
        }
    }
}

/// A question that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelled {
    /// What it asks for.
    pub kind: Kind,
    /// A JSON object.
    params: Vec<u8>,
    /// What the tool wants in its `_meta`: a JSON object.
    meta: Option<Box<str>>,
    /// The host's revision wants an `elicitationId` in it.
    wants_id: bool,
}

impl Spelled {
    fn new(kind: Kind, params: Vec<u8>) -> Self {
        Self { kind, params, meta: None, wants_id: false }
    }

    /// Bytes that it takes.
    pub fn len(&self) -> usize {
        self.params.len() + self.meta.as_ref().map_or(0, |meta| meta.len())
    }

    /// Whether it takes none; no question does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the params with what else belongs into them.
    fn write_params(&self, out: &mut Vec<u8>, id: Option<u64>, related_task: Option<&str>) {
        out.reserve(self.len() + 128);
        let mut params = Object::reopen(out, &self.params);
        if let Some(id) = id.filter(|_| self.wants_id) {
            params.text("elicitationId", &format!("pmcp-{id}"));
        }
        match (related_task, self.meta.as_deref()) {
            (None, None) => {}
            (None, Some(own)) => params.raw("_meta", own),
            (Some(task), own) => {
                let mut meta = Object::open(params.member("_meta"));
                for (name, value) in own.and_then(json::entries).unwrap_or_default() {
                    if name != task::RELATED {
                        meta.raw(&name, value.get());
                    }
                }
                task::write_related(&mut meta, task);
                meta.close();
            }
        }
        params.close();
    }
}

/// Appends a question as a whole request of ours (handshake era). `related_task` is the task that
/// asks, in the revision that has tasks in its core.
pub fn write_host_request(out: &mut Vec<u8>, id: u64, spelled: &Spelled, related_task: Option<&str>) {
    write_request(out, id, spelled.kind.method(), |out| spelled.write_params(out, Some(id), related_task));
}

/// Appends questions by their keys, an `inputRequests` object (modern era).
pub fn write_input_requests<'q>(
    out: &mut Vec<u8>,
    questions: impl IntoIterator<Item = (&'q str, &'q Spelled)>,
) {
    let mut requests = Object::open(out);
    for (key, spelled) in questions {
        let mut request = Object::open(requests.member(key));
        request.text("method", spelled.kind.method());
        spelled.write_params(request.member("params"), None, None);
        request.close();
    }
    requests.close();
}

/// Appends a result that asks for input in place of an answer (modern era; basic/patterns/mrtr,
/// "InputRequiredResult"). Without questions, or with an empty state, the member is left out; one
/// of the two has to be there.
pub fn write_input_required<'q>(
    out: &mut Vec<u8>,
    dialect: Dialect<'_>,
    questions: impl IntoIterator<Item = (&'q str, &'q Spelled)>,
    request_state: &str,
) {
    let mut questions = questions.into_iter().peekable();
    let mut result = result::open_as(out, dialect, "input_required");
    if questions.peek().is_some() {
        write_input_requests(result.member("inputRequests"), questions);
    }
    result.text_if("requestState", request_state);
    result::close(result, dialect, None);
}

/// The answers in `inputResponses`, a sound JSON object, by the keys of their questions. A key may
/// be there twice.
pub fn responses(raw: &str) -> Vec<(Cow<'_, str>, &RawValue)> {
    json::entries(raw).unwrap_or_default()
}

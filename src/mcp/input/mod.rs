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
use crate::wire::protomcp::{ElicitRequest, InputAnswer, ListRootsRequest, SamplingRequest, input_question};

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
        self.need().missing(capabilities)
    }

    fn need(&self) -> Need {
        match self {
            Question::Sampling(request) if sampling::has_tools(request) => Need::SamplingWithTools,
            Question::Sampling(_) => Need::Sampling,
            Question::Roots(_) => Need::Roots,
            Question::Elicit(request) if elicit::is_url(request) => Need::Page,
            Question::Elicit(_) => Need::Form,
        }
    }

    /// The question as hosts of this revision get it.
    ///
    /// # Errors
    /// A sentence for the tool that says why it cannot be asked.
    pub fn spell(&self, revision: Revision) -> Result<Spelled, String> {
        let spelled = match self {
            Question::Sampling(request) => sampling::spell(request, revision),
            Question::Roots(_) => Ok(Spelled::new(Kind::Roots, b"{}".to_vec())),
            Question::Elicit(request) => elicit::spell(request, revision),
        };
        spelled.map(|spelled| Spelled { need: self.need(), ..spelled })
    }
}

/// What a host has to offer before it can be asked something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Sampling,
    SamplingWithTools,
    Roots,
    Form,
    Page,
}

impl Need {
    fn missing(self, of: &HostCapabilities) -> Option<&'static str> {
        let (is_there, required) = match self {
            Need::Sampling => (of.sampling, r#"{"sampling":{}}"#),
            Need::SamplingWithTools => (of.sampling && of.sampling_tools, r#"{"sampling":{"tools":{}}}"#),
            Need::Roots => (of.roots, r#"{"roots":{}}"#),
            Need::Form => (of.elicitation, r#"{"elicitation":{"form":{}}}"#),
            Need::Page => (of.elicitation_url, r#"{"elicitation":{"url":{}}}"#),
        };
        (!is_there).then_some(required)
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
    need: Need,
}

impl Spelled {
    fn new(kind: Kind, params: Vec<u8>) -> Self {
        let need = match kind {
            Kind::Sampling => Need::Sampling,
            Kind::Roots => Need::Roots,
            Kind::Elicit => Need::Form,
        };
        Self { kind, params, meta: None, wants_id: false, need }
    }

    /// As [`Question::missing`], for when it is asked again.
    pub fn missing(&self, capabilities: &HostCapabilities) -> Option<&'static str> {
        self.need.missing(capabilities)
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        self.params.len() + self.meta.as_ref().map_or(0, |meta| meta.len())
    }

    /// Appends the params with what else belongs into them.
    fn write_params(&self, out: &mut Vec<u8>, id: Option<u64>, related_task: Option<&str>) {
        out.reserve(self.size() + 128);
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

/// The answers in `inputResponses`, a sound JSON object, of which nothing but the shape tells what
/// they answer; what has none of these shapes is left out.
pub fn responses_by_shape(raw: &str) -> Vec<InputAnswer> {
    let answer = |(key, raw): (Cow<'_, str>, &RawValue)| {
        let fields = json::fields(raw.get(), &["action", "roots", "content"]).ok()?.values;
        let kind = match fields {
            [Some(_), ..] => Kind::Elicit,
            [None, Some(_), _] => Kind::Roots,
            [None, None, Some(_)] => Kind::Sampling,
            _ => return None,
        };
        Some(kind.answer(raw.get()).ok()?.into_given(key.into_owned()))
    };
    let mut answers: Vec<InputAnswer> = Vec::new();
    for answer in responses(raw).into_iter().filter_map(answer) {
        // Of one key the first answer counts.
        if answers.iter().all(|other| other.key != answer.key) {
            answers.push(answer);
        }
    }
    answers
}

/// The answers in `inputResponses`, a sound JSON object, by the keys of their questions. A key may
/// be there twice.
pub fn responses(raw: &str) -> Vec<(Cow<'_, str>, &RawValue)> {
    json::entries(raw).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;
    use crate::mcp::result::proof::MODERN_DIALECT;
    use crate::mcp::revision::{LATEST, MODERN};

    fn elicit(request: ElicitRequest) -> Question {
        Question::Elicit(request)
    }

    fn page() -> Question {
        elicit(ElicitRequest {
            mode: "url".into(),
            message: "Look".into(),
            url: "https://a.example/b?c=d".into(),
            ..ElicitRequest::default()
        })
    }

    fn roots() -> Question {
        Question::Roots(ListRootsRequest { call_request_id: "7".into() })
    }

    fn sampling(extra: &str) -> Question {
        Question::Sampling(SamplingRequest {
            messages_json: "[]".into(),
            extra_json: extra.into(),
            ..SamplingRequest::default()
        })
    }

    fn host_request(question: &Question, revision: Revision, task: Option<&str>) -> String {
        let spelled = question.spell(revision).unwrap();
        written(|out| write_host_request(out, 5, &spelled, task))
    }

    #[test]
    fn requests_of_the_handshake_era() {
        let with_id = r#""mode":"url","message":"Look","url":"https://a.example/b?c=d""#;
        let related = r#""io.modelcontextprotocol/related-task":{"taskId":"t"}"#;
        let table = [
            (roots(), None, r#""method":"roots/list","params":{}"#.to_owned()),
            (roots(), Some("t"), format!(r#""method":"roots/list","params":{{"_meta":{{{related}}}}}"#)),
            (
                page(),
                None,
                format!(r#""method":"elicitation/create","params":{{{with_id},"elicitationId":"pmcp-5"}}"#),
            ),
            (
                page(),
                Some("t"),
                format!(
                    r#""method":"elicitation/create","params":{{{with_id},"elicitationId":"pmcp-5","_meta":{{{related}}}}}"#
                ),
            ),
            (
                sampling(r#"{"_meta":{"k":1,"io.modelcontextprotocol/related-task":{"taskId":"x"}}}"#),
                Some("t"),
                format!(
                    r#""method":"sampling/createMessage","params":{{"messages":[],"maxTokens":1000,"_meta":{{"k":1,{related}}}}}"#
                ),
            ),
        ];
        for (question, task, expected) in table {
            let text = host_request(&question, LATEST, task);
            assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":5,{expected}}}"#));
        }
    }

    #[test]
    fn the_modern_era_asks_in_a_result() {
        let page = page().spell(MODERN).unwrap();
        let roots = roots().spell(MODERN).unwrap();
        let requests = concat!(
            r#"{"a\"b":{"method":"elicitation/create","params":{"mode":"url","message":"Look","url":"https://a.example/b?c=d"}},"#,
            r#""c":{"method":"roots/list","params":{}}}"#
        );
        let questions = [("a\"b", &page), ("c", &roots)];
        let meta = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}"#;
        let both = format!(r#""inputRequests":{requests},"requestState":"p1.x","#);
        let table = [
            (2, "p1.x", both),
            (2, "", format!(r#""inputRequests":{requests},"#)),
            (0, "p1.x", r#""requestState":"p1.x","#.to_owned()),
        ];
        for (count, state, expected) in table {
            let asked = questions.into_iter().take(count);
            let text = written(|out| write_input_required(out, MODERN_DIALECT, asked, state));
            assert_eq!(text, format!(r#"{{"resultType":"input_required",{expected}{meta}}}"#));
        }
        assert_eq!(written(|out| write_input_requests(out, questions)), requests);
    }

    #[test]
    fn a_host_is_asked_only_what_it_declares() {
        let form = elicit(ElicitRequest::default());
        let none = HostCapabilities::default();
        let all = HostCapabilities {
            sampling: true,
            sampling_tools: true,
            roots: true,
            elicitation: true,
            elicitation_url: true,
            tasks: false,
        };
        let table = [
            (sampling(""), HostCapabilities { sampling: false, ..all }, r#"{"sampling":{}}"#),
            (
                sampling(r#"{"tools":[]}"#),
                HostCapabilities { sampling_tools: false, ..all },
                r#"{"sampling":{"tools":{}}}"#,
            ),
            (roots(), HostCapabilities { roots: false, ..all }, r#"{"roots":{}}"#),
            (form, HostCapabilities { elicitation: false, ..all }, r#"{"elicitation":{"form":{}}}"#),
            (page(), HostCapabilities { elicitation_url: false, ..all }, r#"{"elicitation":{"url":{}}}"#),
        ];
        for (question, host, expected) in table {
            assert_eq!(question.missing(&host), Some(expected));
            assert_eq!(question.missing(&none), Some(expected));
            assert_eq!(question.missing(&all), None);
        }
        assert_eq!(roots().call_request_id(), "7");
    }

    #[test]
    fn no_question_breaks_the_line_and_no_answer_anything() {
        use crate::jsonrpc::json::proof::random;
        let pieces = [
            r#"{"type":"object","properties":{"#,
            r#""p":{"type":"string"}"#,
            r#"{"role":"user","content":"#,
            r#"{"roots":"#,
            r#"{"action":"accept","content":"#,
            r#""_meta":"#,
            "[",
            "]",
            "{",
            "}",
            ",",
            "\n",
            "\r",
            "\"a\"",
            "\"\\ud800\"",
            "null",
            "1",
            "é",
        ];
        let mut seed = 11;
        let mut spelled = 0;
        for _ in 0..20_000 {
            let mut text = || -> String {
                (0..random(&mut seed, 5)).map(|_| pieces[random(&mut seed, pieces.len())]).collect()
            };
            let sampling = SamplingRequest {
                messages_json: format!("[{}]", text()),
                model_preferences_json: text(),
                system_prompt: text(),
                extra_json: text(),
                ..SamplingRequest::default()
            };
            let form = ElicitRequest {
                message: text(),
                requested_schema_json: format!("{}}}}}", text()),
                ..ElicitRequest::default()
            };
            let raw = text();
            for question in [Question::Sampling(sampling), elicit(form)] {
                question.missing(&HostCapabilities::default());
                for revision in Revision::ALL {
                    let Ok(question) = question.spell(revision) else { continue };
                    spelled += 1;
                    written(|out| write_host_request(out, 1, &question, Some("t")));
                    written(|out| write_input_requests(out, [(raw.as_str(), &question)]));
                }
            }
            for kind in [Kind::Sampling, Kind::Roots, Kind::Elicit] {
                drop(kind.answer(&raw));
            }
        }
        assert!(spelled > 1000, "{spelled}");
    }

    #[test]
    fn responses_by_their_keys() {
        let found = responses(r#"{"a\u0062":{"action":"cancel"},"b":null}"#);
        let found: Vec<_> = found.iter().map(|(key, value)| (key.as_ref(), value.get())).collect();
        assert_eq!(found, [("ab", r#"{"action":"cancel"}"#), ("b", "null")]);
        assert!(responses("{}").is_empty());
    }
}

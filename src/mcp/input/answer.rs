//! What comes back of a question.

use serde_json::value::RawValue;

use super::Kind;
use crate::jsonrpc::json::{self, Object};
use crate::jsonrpc::message::shown;
use crate::mcp::content;
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{
    ElicitResponse, InputAnswer, ListRootsResponse, RootDef, SamplingResponse, input_answer,
};

/// What a tool learns about its question.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Of the host's model.
    Sampling(SamplingResponse),
    /// Of the host.
    Roots(ListRootsResponse),
    /// Of the user.
    Elicit(ElicitResponse),
}

/// Why there is no answer; each is spelled as `error_code` on the tool's wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The host does not offer this.
    MissingCapability,
    /// The host answered with an error.
    Refused,
    /// The host did not answer in time.
    Timeout,
    /// The host went away.
    HostGone,
    /// The question or the answer makes no sense.
    Invalid,
    /// There is nobody to ask, or too much was asked already.
    Unavailable,
}

impl Refusal {
    /// The `error_code`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Refusal::MissingCapability => "MISSING_CAPABILITY",
            Refusal::Refused => "REFUSED",
            Refusal::Timeout => "TIMEOUT",
            Refusal::HostGone => "HOST_GONE",
            Refusal::Invalid => "INVALID",
            Refusal::Unavailable => "UNAVAILABLE",
        }
    }
}

impl Answer {
    /// Tells the tool in one sentence why there is no answer.
    pub fn refused(kind: Kind, refusal: Refusal, text: impl Into<String>) -> Self {
        let error = text.into();
        let error_code = refusal.as_str().to_owned();
        match kind {
            Kind::Sampling => {
                Answer::Sampling(SamplingResponse { error, error_code, ..SamplingResponse::default() })
            }
            Kind::Roots => {
                Answer::Roots(ListRootsResponse { error, error_code, ..ListRootsResponse::default() })
            }
            Kind::Elicit => Answer::Elicit(ElicitResponse { error, error_code, ..ElicitResponse::default() }),
        }
    }

    /// As a message to a tool process that waits for it.
    pub fn into_msg(self) -> Msg {
        match self {
            Answer::Sampling(response) => Msg::SamplingResponse(response),
            Answer::Roots(response) => Msg::ListRootsResponse(response),
            Answer::Elicit(response) => Msg::ElicitResponse(response),
        }
    }

    /// As a part of a request that comes again.
    pub fn into_given(self, key: String) -> InputAnswer {
        let answer = match self {
            Answer::Sampling(response) => input_answer::Answer::Sampling(response),
            Answer::Roots(response) => input_answer::Answer::Roots(response),
            Answer::Elicit(response) => input_answer::Answer::Elicit(response),
        };
        InputAnswer { key, answer: Some(answer) }
    }
}

impl Kind {
    /// What a host answered.
    ///
    /// # Errors
    /// Says in a sentence what is malformed about it.
    pub fn answer(self, raw: &str) -> Result<Answer, String> {
        match self {
            Kind::Sampling => sampling(raw).map(Answer::Sampling),
            Kind::Roots => roots(raw).map(Answer::Roots),
            Kind::Elicit => elicit(raw).map(Answer::Elicit),
        }
    }
}

fn text(value: Option<&RawValue>) -> String {
    value.and_then(json::string).unwrap_or_default().into_owned()
}

fn sampling(raw: &str) -> Result<SamplingResponse, String> {
    let fields = json::fields(raw, &["role", "content", "model", "stopReason"])
        .map_err(|_| "the host's answer to sampling is not an object")?;
    let [role, content, model, stop_reason] = fields.values;
    let content_json = match content.map(|content| (json::kind_of(content), content)) {
        Some((json::Kind::Object | json::Kind::Array, content)) => content.get().to_owned(),
        Some((json::Kind::String, text)) => {
            let mut block = Vec::new();
            content::write_text_block(&mut block, &json::string(text).unwrap_or_default());
            // What the writers append is text.
            String::from_utf8(block).unwrap_or_default()
        }
        _ => return Err("the host's answer to sampling has no content".to_owned()),
    };
    Ok(SamplingResponse {
        role: text(role),
        content_json,
        model: text(model),
        stop_reason: text(stop_reason),
        ..SamplingResponse::default()
    })
}

fn roots(raw: &str) -> Result<ListRootsResponse, String> {
    let roots = json::fields(raw, &["roots"]).ok().and_then(|fields| fields.values[0]);
    let roots = roots
        .and_then(|roots| json::elements(roots.get()))
        .ok_or("the host's answer to roots/list has no list of roots")?;
    let root = |root: &RawValue| {
        let [uri, name] = json::fields(root.get(), &["uri", "name"]).ok()?.values;
        Some(RootDef { uri: json::string(uri?)?.into_owned(), name: text(name) })
    };
    // A root that cannot be read is no reason to hide the others.
    Ok(ListRootsResponse { roots: roots.into_iter().filter_map(root).collect(), ..Default::default() })
}

fn elicit(raw: &str) -> Result<ElicitResponse, String> {
    let fields = json::fields(raw, &["action", "content"])
        .map_err(|_| "the host's answer to the elicitation is not an object")?;
    let [action, content] = fields.values;
    let action = text(action);
    let content_json = match action.as_str() {
        "accept" => filled_in(content)?,
        "decline" | "cancel" => String::new(),
        _ => {
            return Err("the host's answer to the elicitation has no action accept, decline or cancel".into());
        }
    };
    Ok(ElicitResponse { action, content_json, ..ElicitResponse::default() })
}

/// What the user filled in. Hosts spell a field that was left empty as `null`; it is left out.
fn filled_in(content: Option<&RawValue>) -> Result<String, String> {
    let Some(content) = content.filter(|content| json::kind_of(content) != json::Kind::Null) else {
        return Ok(String::new());
    };
    let entries = json::entries(content.get())
        .ok_or("the content of the host's elicitation answer is not an object")?;
    let mut out = Vec::with_capacity(content.get().len());
    let mut object = Object::open(&mut out);
    for (name, value) in entries {
        let is_string = |element: &&RawValue| json::kind_of(element) == json::Kind::String;
        let is_right = match json::kind_of(value) {
            json::Kind::Null => continue,
            json::Kind::String | json::Kind::Number | json::Kind::Bool => true,
            json::Kind::Array => {
                json::elements(value.get()).is_some_and(|elements| elements.iter().all(is_string))
            }
            json::Kind::Object => false,
        };
        if !is_right {
            return Err(format!(
                "the field {} in the host's elicitation answer is not a text, a number, a boolean or a list of texts",
                shown(&name)
            ));
        }
        object.raw(&name, value.get());
    }
    object.close();
    // What the writers append is text.
    Ok(String::from_utf8(out).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 3] = [Kind::Sampling, Kind::Roots, Kind::Elicit];

    #[test]
    fn sampled() {
        let raw =
            r#"{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":"endTurn"}"#;
        let expected = SamplingResponse {
            role: "assistant".into(),
            content_json: r#"{"type":"text","text":"a"}"#.into(),
            model: "m".into(),
            stop_reason: "endTurn".into(),
            ..SamplingResponse::default()
        };
        assert_eq!(Kind::Sampling.answer(raw), Ok(Answer::Sampling(expected)));
        let table = [
            (r#"{"content":[{"type":"text","text":"a"}]}"#, r#"[{"type":"text","text":"a"}]"#),
            (r#"{"content":"a\nb"}"#, r#"{"type":"text","text":"a\nb"}"#),
        ];
        for (raw, content_json) in table {
            let expected = SamplingResponse { content_json: content_json.into(), ..Default::default() };
            assert_eq!(Kind::Sampling.answer(raw), Ok(Answer::Sampling(expected)), "{raw}");
        }
        for bad in ["null", "[]", "{}", r#"{"content":null}"#, r#"{"content":1}"#] {
            assert!(Kind::Sampling.answer(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn roots_of_a_host() {
        let raw =
            r#"{"roots":[{"uri":"file:///a","name":"a"},{"name":"x"},{"uri":"file:///b","name":null},3]}"#;
        let root = |uri: &str, name: &str| RootDef { uri: uri.into(), name: name.into() };
        let roots = vec![root("file:///a", "a"), root("file:///b", "")];
        let expected = ListRootsResponse { roots, ..ListRootsResponse::default() };
        assert_eq!(Kind::Roots.answer(raw), Ok(Answer::Roots(expected)));
        assert_eq!(Kind::Roots.answer(r#"{"roots":[]}"#), Ok(Answer::Roots(ListRootsResponse::default())));
        for bad in ["null", "{}", r#"{"roots":{}}"#, r#"{"roots":null}"#] {
            assert!(Kind::Roots.answer(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn answers_of_a_user() {
        let table = [
            (r#"{"action":"accept"}"#, "accept", ""),
            (r#"{"action":"accept","content":null}"#, "accept", ""),
            (r#"{"action":"accept","content":{}}"#, "accept", "{}"),
            (
                r#"{"action":"accept","content":{"a":"x","b":1.5,"c":true,"d":["y","z"],"e":null,"f":[]}}"#,
                "accept",
                r#"{"a":"x","b":1.5,"c":true,"d":["y","z"],"f":[]}"#,
            ),
            (r#"{"action":"decline"}"#, "decline", ""),
            (r#"{"action":"cancel","content":{"a":{}}}"#, "cancel", ""),
        ];
        for (raw, action, content_json) in table {
            let expected = ElicitResponse {
                action: action.into(),
                content_json: content_json.into(),
                ..ElicitResponse::default()
            };
            assert_eq!(Kind::Elicit.answer(raw), Ok(Answer::Elicit(expected)), "{raw}");
        }
        for (bad, word) in [
            ("null", "not an object"),
            ("[]", "not an object"),
            ("{}", "action"),
            (r#"{"action":"ok"}"#, "action"),
            (r#"{"action":1}"#, "action"),
            (r#"{"action":"accept","content":[]}"#, "not an object"),
            (r#"{"action":"accept","content":"x"}"#, "not an object"),
            (r#"{"action":"accept","content":{"a":{}}}"#, "field a"),
            (r#"{"action":"accept","content":{"a":[1]}}"#, "field a"),
            (r#"{"action":"accept","content":{"a":[["x"]]}}"#, "field a"),
        ] {
            let error = Kind::Elicit.answer(bad).unwrap_err();
            assert!(error.contains(word), "{bad}: {error}");
        }
    }

    #[test]
    fn a_refusal_is_told_in_words_and_as_a_code() {
        let table = [
            (Refusal::MissingCapability, "MISSING_CAPABILITY"),
            (Refusal::Refused, "REFUSED"),
            (Refusal::Timeout, "TIMEOUT"),
            (Refusal::HostGone, "HOST_GONE"),
            (Refusal::Invalid, "INVALID"),
            (Refusal::Unavailable, "UNAVAILABLE"),
        ];
        for (refusal, expected) in table {
            for kind in KINDS {
                let (error, code) = match Answer::refused(kind, refusal, "no").into_msg() {
                    Msg::SamplingResponse(response) => (response.error, response.error_code),
                    Msg::ListRootsResponse(response) => (response.error, response.error_code),
                    Msg::ElicitResponse(response) => (response.error, response.error_code),
                    other => panic!("{other:?}"),
                };
                assert_eq!((error.as_str(), code.as_str()), ("no", expected), "{kind:?}");
            }
        }
    }

    #[test]
    fn an_answer_goes_back_under_its_key() {
        for (kind, raw) in
            KINDS.into_iter().zip([r#"{"content":[]}"#, r#"{"roots":[]}"#, r#"{"action":"cancel"}"#])
        {
            let given = kind.answer(raw).unwrap().into_given("k".into());
            let found = match given.answer {
                Some(input_answer::Answer::Sampling(_)) => Kind::Sampling,
                Some(input_answer::Answer::Roots(_)) => Kind::Roots,
                Some(input_answer::Answer::Elicit(_)) => Kind::Elicit,
                None => panic!("no answer"),
            };
            assert_eq!((given.key.as_str(), found), ("k", kind));
        }
    }
}

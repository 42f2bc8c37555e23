//! Questions that need no handler to wait: it answers with them and is called again.

use super::elicitation::{Elicitation, Elicited};
use super::error::ToolError;
use super::roots::Root;
use super::sampling::{Sampled, Sampling};
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::input_answer::Answer;
use crate::wire::protomcp::input_question::Question;
use crate::wire::protomcp::{self, InputGiven, InputQuestion, ListRootsRequest};

/// What a tool, a prompt or a resource answers when it needs to know something first: questions,
/// each under a key, and what it wants to remember. It is called again, with the same arguments
/// and with the answers in [`Context::input`](super::Context::input).
///
/// [`Context::elicit`](super::Context::elicit) and its like, which wait for the answer, are simpler.
/// This is for a server of which nothing may be lost between a question and its answer: the process
/// may be restarted in between, or another one may get the answers.
///
/// ```
/// use pmcp_bridge::sdk::{Elicitation, Field, InputRequired, ToolResult, tool};
///
/// let greet = tool("greet").handler(|ctx, _| {
///     let Some(answer) = ctx.input().elicited("who") else {
///         let question = Elicitation::form("Who are you?").field(Field::text("name"));
///         return Ok(InputRequired::new().elicit("who", question).into());
///     };
///     Ok(ToolResult::from(format!("Hello, {}!", answer?.get::<String>("name")?)))
/// });
/// # let _ = greet;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "questions are asked when a handler returns them"]
pub struct InputRequired {
    questions: Vec<InputQuestion>,
    state: Vec<u8>,
}

impl InputRequired {
    /// No questions yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a question to the user.
    pub fn elicit(self, key: impl Into<String>, elicitation: impl Into<Elicitation>) -> Self {
        self.question(key.into(), Question::Elicit(elicitation.into().into_wire()))
    }

    /// Adds a question to the host's model.
    pub fn sample(self, key: impl Into<String>, sampling: impl Into<Sampling>) -> Self {
        self.question(key.into(), Question::Sampling(sampling.into().into_wire()))
    }

    /// Asks for the host's roots.
    pub fn roots(self, key: impl Into<String>) -> Self {
        self.question(key.into(), Question::Roots(ListRootsRequest::default()))
    }

    /// Of two questions under one key the later one is asked.
    fn question(mut self, key: String, question: Question) -> Self {
        self.questions.retain(|other| other.key != key);
        self.questions.push(InputQuestion { key, question: Some(question) });
        self
    }

    /// What to remember until the next call, which finds it in [`Input::state`]. The host carries
    /// it: it cannot change it, because the bridge signs it, but it can read it.
    pub fn state(mut self, state: impl Into<Vec<u8>>) -> Self {
        self.state = state.into();
        self
    }

    pub(super) fn into_answer(self) -> Result<Msg, ToolError> {
        if self.questions.is_empty() && self.state.is_empty() {
            return Err(ToolError::new("INVALID", "the handler asks for input, but has no question"));
        }
        Ok(Msg::InputRequired(protomcp::InputRequired { questions: self.questions, state: self.state }))
    }
}

/// What came back of an [`InputRequired`]; made by [`Context::input`](super::Context::input). Some
/// answers may be missing: ask again for what is needed.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    given: Option<&'a InputGiven>,
}

impl<'a> Input<'a> {
    pub(super) fn new(given: Option<&'a InputGiven>) -> Self {
        Self { given }
    }

    /// Whether this is the first call, before any question.
    pub fn is_first(&self) -> bool {
        self.given.is_none()
    }

    /// What the handler wanted to remember; empty if that was nothing.
    pub fn state(&self) -> &'a [u8] {
        self.given.map_or(&[], |given| &given.state)
    }

    fn answer(&self, key: &str) -> Option<Answer> {
        let answers = self.given.map_or(&[][..], |given| &given.answers);
        answers.iter().find(|answer| answer.key == key)?.answer.clone()
    }

    /// What the user answered under this key; `None` if nothing yet. The error says why there can
    /// be no answer.
    pub fn elicited(&self, key: &str) -> Option<Result<Elicited, ToolError>> {
        Some(match self.answer(key)? {
            Answer::Elicit(response) => Elicited::from_wire(response),
            _ => Err(of_another_kind(key)),
        })
    }

    /// What the host's model answered under this key; `None` if nothing yet.
    pub fn sampled(&self, key: &str) -> Option<Result<Sampled, ToolError>> {
        Some(match self.answer(key)? {
            Answer::Sampling(response) => Sampled::from_wire(response),
            _ => Err(of_another_kind(key)),
        })
    }

    /// The host's roots, as asked for under this key; `None` if not there yet.
    pub fn roots(&self, key: &str) -> Option<Result<Vec<Root>, ToolError>> {
        Some(match self.answer(key)? {
            Answer::Roots(response) => Root::list(response),
            _ => Err(of_another_kind(key)),
        })
    }
}

fn of_another_kind(key: &str) -> ToolError {
    ToolError::new("INVALID", format!("the answer to {key:?} is of another kind than the question"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::protomcp::{ElicitResponse, InputAnswer, ListRootsResponse, RootDef, SamplingResponse};

    #[test]
    fn questions_have_keys_of_their_own() {
        let asks = InputRequired::new().elicit("a", "?").sample("b", "hi").roots("a").state("so far");
        let Ok(Msg::InputRequired(wire)) = asks.into_answer() else { panic!("not that") };
        let keys: Vec<&str> = wire.questions.iter().map(|question| question.key.as_str()).collect();
        assert_eq!(keys, ["b", "a"]);
        assert!(matches!(wire.questions[1].question, Some(Question::Roots(_))));
        assert_eq!(wire.state, b"so far");
        assert!(InputRequired::new().state([1]).into_answer().is_ok(), "a state alone asks to come back");
        assert_eq!(InputRequired::new().into_answer().unwrap_err().code(), "INVALID");
    }

    #[test]
    fn answers_are_found_by_key_and_kind() {
        let answer = |key: &str, answer| InputAnswer { key: key.to_owned(), answer: Some(answer) };
        let given = InputGiven {
            state: b"so far".to_vec(),
            answers: vec![
                answer(
                    "e",
                    Answer::Elicit(ElicitResponse { action: "decline".into(), ..Default::default() }),
                ),
                answer("s", Answer::Sampling(SamplingResponse { model: "m".into(), ..Default::default() })),
                answer(
                    "r",
                    Answer::Roots(ListRootsResponse {
                        roots: vec![RootDef::default()],
                        ..Default::default()
                    }),
                ),
                answer(
                    "no",
                    Answer::Roots(ListRootsResponse { error_code: "REFUSED".into(), ..Default::default() }),
                ),
                InputAnswer { key: "empty".to_owned(), answer: None },
            ],
        };
        let input = Input::new(Some(&given));
        assert_eq!((input.is_first(), input.state()), (false, &b"so far"[..]));
        assert!(!input.elicited("e").unwrap().unwrap().accepted());
        assert_eq!(input.sampled("s").unwrap().unwrap().model, "m");
        assert_eq!(input.roots("r").unwrap().unwrap().len(), 1);
        assert_eq!(input.roots("no").unwrap().unwrap_err().code(), "REFUSED");
        assert_eq!(input.elicited("s").unwrap().unwrap_err().code(), "INVALID");
        assert!(input.elicited("empty").is_none() && input.elicited("missing").is_none());
        let first = Input::new(None);
        assert!(first.is_first() && first.state().is_empty() && first.roots("r").is_none());
    }
}

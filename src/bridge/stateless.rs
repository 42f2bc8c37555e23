//! Tools that keep nothing in memory while a host thinks: they answer with questions and a state of
//! their own, and are called again with the answers.
//!
//! In the modern era the host carries the state and brings it back, perhaps to another pmcp with the
//! same key. In the handshake era, and inside a task, the bridge asks and calls again by itself.

use std::time::Instant;

use crate::ids::CallId;
use crate::limits::{INPUT_ROUNDS_MAX, QUESTIONS_MAX};
use crate::mcp::error;
use crate::mcp::input::{self, Kind, Refusal, Spelled, write_input_required};
use crate::mcp::state::{self, State};
use crate::wire::protomcp::{InputAnswer, InputGiven, InputRequired};

use super::call::{Asker, Call, Stage, Work};
use super::questions::From;
use super::{Bridge, Outputs};

impl Bridge {
    /// The tool answered a request with questions.
    pub(super) fn input_required(
        &mut self,
        id: CallId,
        required: InputRequired,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let is_askable = matches!(call.work, Work::Tool(_) | Work::Prompt { .. } | Work::Read { .. });
        if call.stage != Stage::Running || !is_askable {
            return self.mismatch(id, now, out);
        }
        call.rounds += 1;
        if call.rounds > INPUT_ROUNDS_MAX {
            let text = format!("the tool asked for input {INPUT_ROUNDS_MAX} times, which is the limit");
            return self.fail(id, &text, now, out);
        }
        let is_task = matches!(call.asker, Asker::Task(_));
        let (asks_in_answer, keeps_arguments) = (call.meta.is_some() && !is_task, call.keeps_arguments);
        let questions = match questions(required.questions, &required.state) {
            Ok(questions) => questions,
            Err(reason) => {
                let text = format!("the tool asked for input in a way that cannot be passed on: {reason}");
                return self.fail(id, &text, now, out);
            }
        };
        if asks_in_answer {
            self.answer_with_questions(id, questions, required.state, now, out);
        } else if keeps_arguments {
            self.ask_and_call_again(id, questions, required.state, now, out);
        } else {
            let text = "the tool asked for input or to be called again, and the host offers nothing that it could be asked";
            self.fail(id, text, now, out);
        }
    }

    /// Answers a request of the modern era with the questions; all else comes back with the retry. A
    /// host that is away, for an earlier question, gets them when it returns.
    fn answer_with_questions(
        &mut self,
        id: CallId,
        questions: Vec<(String, input::Question)>,
        state: Vec<u8>,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(Call { meta: Some(meta), .. }) = self.calls.get(&id) else { return };
        let lacks = |(_, question): &(_, input::Question)| question.missing(&meta.capabilities);
        if let Some(required) = questions.iter().find_map(lacks) {
            return self.end_with_error(id, &error::missing_capability(required), now, out);
        }
        let revision = crate::mcp::revision::MODERN;
        let spelled: Result<Vec<(String, Spelled)>, String> =
            questions.into_iter().map(|(key, question)| Ok((key, question.spell(revision)?))).collect();
        let spelled = match spelled {
            Ok(spelled) => spelled,
            Err(reason) => return self.fail(id, &reason, now, out),
        };
        let kinds: Vec<(Kind, String)> = spelled.iter().map(|(key, it)| (it.kind, key.clone())).collect();
        let expires = (self.wall + self.config.input_timeout).as_secs();
        let state = State::Tool { expires, questions: kinds, state };
        let Some(binding) = self.binding(id) else { return };
        let state = state::seal(&self.config.state_key, &binding, &state);
        self.end_with(id, now, out, |body, dialect| {
            let questions = spelled.iter().map(|(key, spelled)| (key.as_str(), spelled));
            write_input_required(body, dialect, questions, &state);
        });
    }

    /// Asks the host, and then calls the tool again. The slot is free meanwhile.
    fn ask_and_call_again(
        &mut self,
        id: CallId,
        questions: Vec<(String, input::Question)>,
        state: Vec<u8>,
        now: Instant,
        out: &mut Outputs,
    ) {
        self.is_no_task_of_process(id);
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.stage = Stage::Asking(questions.len());
        call.given = Some(InputGiven { state, answers: Vec::new() });
        if let Some(place) = call.place.take() {
            self.release(place.generation);
        }
        if questions.is_empty() {
            return self.call_again(id);
        }
        self.set_aside(id);
        for (key, question) in questions {
            let shown = self.unused_key(id, &key);
            let asked = self.ask_host(Some(id), &question, From::Call(key), shown, now, out);
            match asked {
                Ok(()) => {}
                Err((Refusal::MissingCapability, text)) => {
                    let missing = self.calls.get(&id).and_then(|call| call.missing);
                    return self.fail_for_capability(id, missing, &text, now, out);
                }
                Err((_, text)) => return self.fail(id, &text, now, out),
            }
        }
    }

    /// A host that cannot be asked: a task of the modern era fails with the protocol's error for
    /// that, everything else in words.
    fn fail_for_capability(
        &mut self,
        id: CallId,
        missing: Option<&str>,
        text: &str,
        now: Instant,
        out: &mut Outputs,
    ) {
        let is_modern = self.calls.get(&id).is_some_and(|call| call.meta.is_some());
        match missing.filter(|_| is_modern) {
            Some(required) => self.end_with_error(id, &error::missing_capability(required), now, out),
            None => self.fail(id, text, now, out),
        }
    }

    /// One of the answers that a call waits for is there.
    pub(super) fn given(&mut self, id: CallId, answer: InputAnswer) {
        let Some(Call { stage: Stage::Asking(left), given: Some(given), .. }) = self.calls.get_mut(&id)
        else {
            return;
        };
        given.answers.push(answer);
        *left -= 1;
        if *left == 0 {
            self.call_again(id);
        }
    }

    /// Puts the call back in the line, with what was given.
    fn call_again(&mut self, id: CallId) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.stage = Stage::Waiting;
        if let Some(size) = call.aside.take() {
            self.waiting.not_aside(size);
        }
        self.waiting.push(id, call.size());
    }
}

/// What a tool asks, if it makes sense as a whole.
fn questions(
    asked: Vec<crate::wire::protomcp::InputQuestion>,
    state: &[u8],
) -> Result<Vec<(String, input::Question)>, String> {
    if asked.is_empty() && state.is_empty() {
        return Err("there is neither a question nor a state".to_owned());
    }
    if asked.len() > QUESTIONS_MAX {
        return Err(format!("there are more than {QUESTIONS_MAX} questions"));
    }
    let mut questions: Vec<(String, input::Question)> = Vec::with_capacity(asked.len());
    for question in asked {
        let key = question.key;
        if questions.iter().any(|(other, _)| *other == key) {
            return Err(format!("two questions have the key \"{key}\""));
        }
        let question = question.question.ok_or_else(|| format!("the question \"{key}\" asks nothing"))?;
        questions.push((key, question.into()));
    }
    Ok(questions)
}

//! Running calls whose host was asked something in the modern era.
//!
//! That era knows no requests from us to a host. The call is answered with the question and with a
//! signed state, stays where it is in the tool process, and goes on when the host comes back with
//! the answers in a request of its own. A state is good for one return.

use std::collections::VecDeque;
use std::time::Instant;

use crate::ids::CallId;
use crate::jsonrpc::message::RpcError;
use crate::limits::{LEFT_BYTES_MAX, LEFT_MAX, QUESTIONS_GATHER};
use crate::log::Level;
use crate::mcp::input;
use crate::mcp::request::{Era, RequestMeta, Retry};
use crate::mcp::state::{self, Asked, Binding, State};
use crate::wire::protomcp::InputGiven;

use super::call::{Asker, Call, Reply, Stage, Work};
use super::ending::Outcome;
use super::timers::Due;
use super::{Bridge, Outputs, log};

/// Answers of calls that ended while their host was away.
#[derive(Debug, Default)]
pub(super) struct Left {
    entries: VecDeque<Entry>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    until: Instant,
    call: CallId,
    round: u32,
    outcome: Outcome,
}

impl Left {
    fn put(&mut self, entry: Entry) {
        self.bytes += entry.outcome.len();
        self.entries.push_back(entry);
        while self.entries.len() > LEFT_MAX || (self.bytes > LEFT_BYTES_MAX && self.entries.len() > 1) {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.bytes -= entry.outcome.len();
        }
    }

    fn take(&mut self, call: CallId, round: u32) -> Option<Outcome> {
        let at = self.entries.iter().position(|entry| entry.call == call && entry.round == round)?;
        let entry = self.entries.remove(at)?;
        self.bytes -= entry.outcome.len();
        Some(entry.outcome)
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let kept = self.entries.iter().map(|entry| entry.outcome.len()).sum();
        (self.entries.len(), self.bytes, kept)
    }

    /// When the oldest is dropped.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.entries.front().map(|entry| entry.until)
    }

    /// Drops what nobody came for.
    pub(super) fn drop_due(&mut self, now: Instant) {
        while self.deadline().is_some_and(|until| until <= now) {
            self.drop_first();
        }
    }
}

/// A request that came again with what we gave its host to bring back.
pub(super) struct Again<'a> {
    pub(super) reply: Reply,
    pub(super) meta: Box<RequestMeta>,
    pub(super) work: Work,
    pub(super) retry: Retry<'a>,
}

impl Bridge {
    /// Answers the host with what its call asks.
    pub(super) fn park(&mut self, id: CallId, out: &mut Outputs) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.gathers_until = None;
        if call.stage == Stage::Job || self.questions.of(id).next().is_none() {
            return; // The tool did not wait for an answer, or all were withdrawn meanwhile.
        }
        let Some(binding) = self.binding(id) else { return };
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.round += 1;
        let state = State::Parked { instance: self.config.instance, call: id.0, round: call.round };
        let revision = call.revision;
        let Asker::Host(reply) = std::mem::replace(&mut call.asker, Asker::Away) else { return };
        let state = state::seal(&self.config.state_key, &binding, &state);
        let message = self.whole(&reply, revision, |body, dialect| {
            let questions = self.questions.of(id).map(|question| (question.key.as_str(), &question.spelled));
            input::write_input_required(body, dialect, questions, &state);
        });
        self.answer(&reply, message, out);
    }

    /// What a state of this call is bound to. The tool may have been given other arguments than the
    /// host sent, so it is made before they change.
    pub(super) fn binding(&mut self, id: CallId) -> Option<Binding> {
        let call = self.calls.get(&id)?;
        if call.binding.is_none() {
            let principal = call.asker.reply().and_then(|reply| self.sessions.get(&reply.route.session));
            let principal = principal.map_or("", |session| &session.principal);
            let binding = state::binding(principal, asked(&call.work)?);
            self.calls.get_mut(&id)?.binding = Some(binding);
        }
        self.calls.get(&id)?.binding
    }

    /// A request came again, with what we gave its host to bring back.
    pub(super) fn came_back(&mut self, again: Again<'_>, now: Instant, out: &mut Outputs) {
        let Again { reply, meta, work, retry } = again;
        let Some(text) = &retry.request_state else {
            // A tool that does not wait may know its own keys. Whatever else they are for is not known
            // without our state: it is asked again.
            let given = input::responses_by_shape(&retry.input_responses);
            let given = InputGiven { state: Vec::new(), answers: given };
            return self.admit_with(reply, Era::Modern(meta), work, Some(given), now, out);
        };
        let Some(session) = self.sessions.get(&reply.route.session) else { return };
        let Some(asked) = asked(&work) else { return };
        let binding = state::binding(&session.principal, asked);
        let opened = state::open(&self.config.state_key, &binding, text);
        let result = match opened {
            Err(error) => Err(RpcError::invalid_params(format!("Invalid params: {error}"))),
            Ok(State::Parked { instance, .. }) if instance != self.config.instance => {
                let text = "Invalid params: the requestState is that of a pmcp process which is gone or runs elsewhere; the call that it belongs to cannot go on here";
                Err(RpcError::invalid_params(text))
            }
            Ok(State::Parked { call, round, .. }) => {
                let again = Again { reply, meta, work, retry };
                return self.unpark(CallId(call), round, again, now, out);
            }
            Ok(State::Tool { expires, questions, state }) => {
                if self.wall.as_secs() > expires {
                    Err(RpcError::invalid_params("Invalid params: the requestState has expired"))
                } else {
                    given(&questions, state, &retry)
                }
            }
        };
        match result {
            Ok(given) => self.admit_with(reply, Era::Modern(meta), work, Some(given), now, out),
            Err(error) => self.answer_error(&reply, &error, out),
        }
    }

    /// The host of a parked call is back.
    fn unpark(&mut self, id: CallId, round: u32, again: Again<'_>, now: Instant, out: &mut Outputs) {
        let Again { reply, meta, work, retry } = again;
        if let Some(outcome) = self.left.take(id, round) {
            return self.answer_outcome(&reply, outcome, out);
        }
        let text = match self.calls.get(&id) {
            Some(call) if call.round == round && matches!(call.asker, Asker::Away) => None,
            Some(_) => Some("Invalid params: this requestState has been used already"),
            None => Some("Invalid params: the call that this requestState belongs to is over"),
        };
        if let Some(text) = text {
            return self.answer_error(&reply, &RpcError::invalid_params(text), out);
        }
        let answers = match self.read_answers(id, &retry.input_responses) {
            Ok(answers) => answers,
            Err(error) => return self.answer_error(&reply, &error, out),
        };
        let Some(call) = self.calls.get_mut(&id) else { return };
        if let (Work::Tool(call), Work::Tool(again)) = (&mut call.work, work) {
            call.progress_token = again.progress_token;
            call.progress = None;
        }
        if let Some(session) = self.sessions.get_mut(&reply.route.session) {
            session.in_flight.insert(reply.id.clone(), id);
        }
        call.meta = Some(meta);
        call.missing = None;
        call.asker = Asker::Host(reply);
        let left = call.left;
        self.deliver_all(id, answers, now, out);
        self.refuse_missing(id, now, out);
        if self.questions.of(id).next().is_some() {
            // The rest is asked again, with what the answers may lead to.
            if let Some(call) = self.calls.get_mut(&id) {
                let until = Some(now + QUESTIONS_GATHER);
                self.timers.set(id, Due::Gathered, call.gathers_until, until);
                call.gathers_until = until;
            }
        } else if self.calls.get(&id).is_some_and(|call| call.until.is_none()) {
            self.set_until(id, Some(now + left));
        }
    }

    /// A call ended while its host was away: the answer is kept for its return.
    pub(super) fn left_behind(&mut self, id: CallId, round: u32, outcome: Outcome, now: Instant) {
        let until = now + self.config.input_timeout;
        self.left.put(Entry { until, call: id, round, outcome });
    }

    /// The host of a parked call did not come back in time.
    pub(super) fn abandoned(&mut self, id: CallId, reason: &str, now: Instant, out: &mut Outputs) {
        let Some(what) = self.calls.get(&id).map(Call::what) else { return };
        log(out, Level::Info, format!("{what} is cancelled: {reason}"));
        self.remove(id, now, out);
    }
}

/// A request as states are bound to it.
fn asked(work: &Work) -> Option<Asked<'_>> {
    match work {
        Work::Tool(call) => Some(Asked::Tool { name: &call.name, arguments: &call.arguments }),
        Work::Prompt { name, arguments } => Some(Asked::Prompt { name, arguments }),
        Work::Read { uri } => Some(Asked::Resource { uri }),
        _ => None,
    }
}

/// What a tool that asked without waiting is given.
fn given(
    questions: &[(input::Kind, String)],
    state: Vec<u8>,
    retry: &Retry<'_>,
) -> Result<InputGiven, RpcError> {
    let responses = input::responses(&retry.input_responses);
    let mut answers = Vec::new();
    for (kind, key) in questions {
        let Some((_, raw)) = responses.iter().find(|(other, _)| other == key) else { continue };
        let answer = kind.answer(raw.get()).map_err(|reason| {
            RpcError::invalid_params(format!("Invalid params: inputResponses[\"{key}\"]: {reason}"))
        })?;
        answers.push(answer.into_given(key.clone()));
    }
    Ok(InputGiven { state, answers })
}

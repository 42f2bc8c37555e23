//! What tools ask hosts: their model (sampling), their roots, their user (elicitation).
//!
//! A question goes to the host whose call it belongs to, never to another. In the handshake era it
//! is a request of ours on the call's own route. In the modern era there are no such requests: the
//! call itself is answered with the question and goes on when the host comes back (`parked`); a
//! task shows it until it is answered (`tasks`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

use crate::ids::{CallId, Generation, Route, SessionId};
use crate::jsonrpc::message::RpcError;
use crate::limits::{QUESTION_BYTES_MAX, QUESTIONS_GATHER, QUESTIONS_MAX};
use crate::mcp::input::{self, Answer, Refusal, Spelled};
use crate::mcp::request::HostCapabilities;
use crate::mcp::{notify, revision, revision::Revision};

use super::call::{Asker, Call};
use super::timers::Due;
use super::{Bridge, Output, Outputs, Sort};

/// Questions that hosts have not answered, in the order of their deadlines.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: BTreeMap<u64, Question>,
    /// Of what is kept to be asked again.
    bytes: usize,
}

/// One question.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) id: u64,
    way: Way,
    pub(super) from: From,
    /// On whose behalf, if that is known.
    pub(super) call: Option<CallId>,
    /// What names it where a host is asked several things at once.
    pub(super) key: String,
    pub(super) spelled: Spelled,
    /// The task that asks, where messages about it have to say so.
    task: Option<String>,
    until: Instant,
}

/// How a question gets to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// As a request of ours (handshake era).
    Request(Route),
    /// As the answer to its call, or with its task (modern era).
    Shown,
}

/// Who wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// A tool process that waits for the answer, and the id of its request.
    Process(Generation, String),
    /// A call whose tool did not wait, under the tool's own key; it is called again with all
    /// answers (`stateless`).
    Call(String),
}

impl Questions {
    /// The question that was sent to this session as a request of this id.
    pub(super) fn take(&mut self, session: SessionId, id: u64) -> Option<Question> {
        match self.open.get(&id)?.way {
            Way::Request(route) if route.session == session => self.remove(id),
            _ => None,
        }
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Question> {
        let question = self.open.remove(&id)?;
        self.bytes -= question.spelled.size();
        Some(question)
    }

    fn insert(&mut self, question: Question) {
        self.bytes += question.spelled.size();
        self.open.insert(question.id, question);
    }

    /// Whether no host owes us an answer to a request.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// What is open for a call, first asked first.
    pub(super) fn of(&self, call: CallId) -> impl Iterator<Item = &Question> {
        self.open.values().filter(move |question| question.call == Some(call))
    }

    /// When the oldest is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.open.first_key_value().map(|(_, question)| question.until)
    }

    fn take_where(&mut self, matches: impl Fn(&Question) -> bool) -> Vec<Question> {
        let ids: Vec<u64> =
            self.open.values().filter(|question| matches(question)).map(|question| question.id).collect();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> (usize, usize) {
        (self.bytes, self.open.values().map(|question| question.spelled.size()).sum())
    }
}

/// Why a question is not asked, for the tool.
pub(super) type Refused = (Refusal, String);

/// A host that can be asked.
struct Host {
    way: Way,
    revision: Revision,
    capabilities: HostCapabilities,
}

impl Bridge {
    /// The tool process asks something and waits for the answer.
    pub(super) fn asked_by_process(
        &mut self,
        generation: Generation,
        request_id: String,
        question: &input::Question,
        now: Instant,
        out: &mut Outputs,
    ) {
        let call = self.call_that_asks(generation, question);
        let from = From::Process(generation, request_id.clone());
        let asked = call.and_then(|call| self.ask_host(call, question, from, None, now, out));
        if let Err((refusal, text)) = asked {
            let answer = Answer::refused(question.kind(), refusal, text);
            self.tell(generation, request_id, answer.into_msg(), out);
        }
    }

    /// The call on whose behalf a process asks; `None` if it runs none.
    fn call_that_asks(
        &self,
        generation: Generation,
        question: &input::Question,
    ) -> Result<Option<CallId>, Refused> {
        let what = question.kind().as_str();
        let unavailable = |text: String| (Refusal::Unavailable, text);
        if !self.processes.contains_key(&generation) {
            return Err(unavailable("this tool process is ending".to_owned()));
        }
        let named = question.call_request_id();
        let is_unsure = self.may_be_of_cancelled(generation, named);
        match self.running_calls(generation, named)[..] {
            [] if named.is_empty() && !is_unsure => Ok(None),
            [] => Err(unavailable(format!(
                "the call that the {what} request belongs to is not running any more"
            ))),
            [call] if !is_unsure => Ok(Some(call)),
            _ => Err(unavailable(format!(
                "several calls are running, and the {what} request does not say to which it belongs (call_request_id)"
            ))),
        }
    }

    /// Asks the host of a call. The key is one of ours if there is none.
    pub(super) fn ask_host(
        &mut self,
        call: Option<CallId>,
        question: &input::Question,
        from: From,
        key: Option<String>,
        now: Instant,
        out: &mut Outputs,
    ) -> Result<(), Refused> {
        let what = question.kind().as_str();
        let host = self.host_of(call, what)?;
        if let Some(required) = question.missing(&host.capabilities) {
            if let Some(call) = call.and_then(|call| self.calls.get_mut(&call)) {
                call.missing = Some(required);
            }
            return Err((Refusal::MissingCapability, not_offered(what, required)));
        }
        let spelled = question.spell(host.revision).map_err(|text| (Refusal::Invalid, text))?;
        let open = self.questions.open.values().filter(|other| other.call == call).count();
        if open >= QUESTIONS_MAX {
            let text = format!("{open} questions to the host are open, which is the limit");
            return Err((Refusal::Unavailable, text));
        }
        if self.questions.bytes + spelled.size() > QUESTION_BYTES_MAX {
            let text = format!("the open questions take more than {QUESTION_BYTES_MAX} bytes");
            return Err((Refusal::Unavailable, text));
        }
        let id = self.next_id();
        let task = call.and_then(|call| self.task_name(call));
        if let Way::Request(route) = host.way {
            let mut message = Vec::new();
            input::write_host_request(&mut message, id, &spelled, task.as_deref());
            out.push(Output::Host { route, message, sort: Sort::Message });
        }
        let key = key.unwrap_or_else(|| format!("{what}-{id}"));
        let until = now + self.config.input_timeout;
        self.questions.insert(Question { id, way: host.way, from, call, key, spelled, task, until });
        if let Some(call) = call {
            self.waits_for_host(call, now, out);
        }
        Ok(())
    }

    /// The host that a call belongs to. Without a call it is the only one, if there is just one and
    /// it can be asked outside a call.
    fn host_of(&self, call: Option<CallId>, what: &str) -> Result<Host, Refused> {
        let nobody =
            || (Refusal::Unavailable, format!("there is no call, so there is no host to ask for {what}"));
        let gone = || (Refusal::HostGone, "the host is gone".to_owned());
        let Some(call) = call else {
            let mut sessions = self.sessions.iter();
            let (Some((&id, session)), None) = (sessions.next(), sessions.next()) else {
                return Err(nobody());
            };
            let way = Way::Request(Route::session(id));
            return Ok(Host { way, revision: session.revision, capabilities: session.capabilities });
        };
        let call = self.calls.get(&call).ok_or_else(nobody)?;
        if let Some(meta) = &call.meta {
            return Ok(Host { way: Way::Shown, revision: revision::MODERN, capabilities: meta.capabilities });
        }
        let route = match &call.asker {
            Asker::Host(reply) => reply.route,
            Asker::Task(task) => self.task_route(*task).ok_or_else(gone)?,
            Asker::Away | Asker::Bridge => return Err(nobody()),
        };
        let session = self.sessions.get(&route.session).ok_or_else(gone)?;
        Ok(Host { way: Way::Request(route), revision: call.revision, capabilities: session.capabilities })
    }

    /// A question of a call is open: its time stands still, for a person may have to answer.
    fn waits_for_host(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        let is_modern = call.meta.is_some();
        match call.asker {
            Asker::Task(task) => return self.task_changed(task, out),
            // More may follow at once; all of them go in one answer.
            Asker::Host(_) if is_modern && call.gathers_until.is_none() => {
                let until = Some(now + QUESTIONS_GATHER);
                call.gathers_until = until;
                self.timers.set(id, Due::Gathered, None, until);
            }
            _ => {}
        }
        let Some(call) = self.calls.get_mut(&id) else { return };
        if let Some(until) = call.until {
            call.left = until.saturating_duration_since(now);
            self.set_until(id, None);
        }
    }

    /// A question of a call is over. Its time goes on when that was the last one.
    fn heard_of_host(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let has_more = self.questions.of(id).next().is_some();
        let Some(call) = self.calls.get(&id) else { return };
        let left = call.left;
        match call.asker {
            Asker::Task(task) => self.task_changed(task, out),
            Asker::Host(_) if !has_more && call.until.is_none() => self.set_until(id, Some(now + left)),
            _ => {}
        }
    }

    /// A host answered one of our requests.
    pub(super) fn host_answered(
        &mut self,
        session: SessionId,
        id: Option<u64>,
        outcome: Result<Cow<'_, str>, String>,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(question) = id.and_then(|id| self.questions.take(session, id)) else {
            let text = "the host answered a request that is not open; the answer was dropped";
            return super::log(out, crate::log::Level::Debug, text);
        };
        let kind = question.spelled.kind;
        let answer = match outcome {
            Ok(raw) => kind.answer(&raw).map_err(|text| (Refusal::Invalid, text)),
            Err(text) => Err((Refusal::Refused, text)),
        };
        let answer = answer.unwrap_or_else(|(refusal, text)| Answer::refused(kind, refusal, text));
        self.deliver(question, answer, now, out);
    }

    /// Ends the questions of a call whose host is back, but does not offer this time what they need.
    pub(super) fn refuse_missing(&mut self, id: CallId, now: Instant, out: &mut Outputs) {
        let Some(meta) = self.calls.get(&id).and_then(|call| call.meta.as_ref()) else { return };
        let capabilities = meta.capabilities;
        let lacks = |of: &Question| of.call == Some(id) && of.spelled.missing(&capabilities).is_some();
        for question in self.questions.take_where(lacks) {
            let (kind, required) = (question.spelled.kind, question.spelled.missing(&capabilities));
            if let Some(call) = self.calls.get_mut(&id) {
                call.missing = required;
            }
            let text = not_offered(kind.as_str(), required.unwrap_or_default());
            self.deliver(question, Answer::refused(kind, Refusal::MissingCapability, text), now, out);
        }
    }

    /// Brings an answer to whoever asked. The question is closed already.
    pub(super) fn deliver(&mut self, question: Question, answer: Answer, now: Instant, out: &mut Outputs) {
        let call = question.call;
        self.tell_asker(question, answer, out);
        if let Some(call) = call {
            self.heard_of_host(call, now, out);
        }
    }

    fn tell_asker(&mut self, question: Question, answer: Answer, out: &mut Outputs) {
        match (question.from, question.call) {
            (From::Process(generation, request_id), _) => {
                self.tell(generation, request_id, answer.into_msg(), out);
            }
            (From::Call(key), Some(call)) => self.given(call, answer.into_given(key)),
            (From::Call(_), None) => {}
        }
    }

    /// What a host brings, an `inputResponses` object, for the open questions of a call. Keys that are
    /// unknown, or answered already, are ignored, as the specification asks.
    ///
    /// # Errors
    /// For the host: one of them is malformed. None counts then.
    pub(super) fn read_answers(&self, call: CallId, responses: &str) -> Result<Vec<(u64, Answer)>, RpcError> {
        let mut answers: Vec<(u64, Answer)> = Vec::new();
        for (key, raw) in input::responses(responses) {
            let question = self.questions.of(call).find(|question| question.key == key);
            let Some(question) = question.filter(|it| answers.iter().all(|(other, _)| *other != it.id))
            else {
                continue;
            };
            let answer = question.spelled.kind.answer(raw.get()).map_err(|reason| {
                RpcError::invalid_params(format!("Invalid params: inputResponses[\"{key}\"]: {reason}"))
            })?;
            answers.push((question.id, answer));
        }
        Ok(answers)
    }

    /// Brings answers to whoever asked. All their questions are closed before anybody hears of one.
    pub(super) fn deliver_all(
        &mut self,
        call: CallId,
        answers: Vec<(u64, Answer)>,
        now: Instant,
        out: &mut Outputs,
    ) {
        let close = |(id, answer)| Some((self.questions.remove(id)?, answer));
        let answered: Vec<(Question, Answer)> = answers.into_iter().filter_map(close).collect();
        if answered.is_empty() {
            return;
        }
        for (question, answer) in answered {
            self.tell_asker(question, answer, out);
        }
        self.heard_of_host(call, now, out);
    }

    /// Ends the questions of a call that is over; the host need not answer any more.
    pub(super) fn withdraw_for_call(&mut self, call: CallId, reason: &str, now: Instant, out: &mut Outputs) {
        if !self.questions.is_empty() {
            let over = self.questions.take_where(|question| question.call == Some(call));
            self.withdraw(over, Refusal::Unavailable, reason, now, out);
        }
    }

    /// Ends the questions of a tool process that is gone.
    pub(super) fn withdraw_for_process(&mut self, generation: Generation, now: Instant, out: &mut Outputs) {
        let is_its = |question: &Question| matches!(question.from, From::Process(of, _) if of == generation);
        let over = self.questions.take_where(is_its);
        self.withdraw(over, Refusal::Unavailable, "the tool process ended", now, out);
    }

    /// Ends the questions to a host that is gone. It hears nothing of it.
    pub(super) fn withdraw_for_session(&mut self, session: SessionId, now: Instant, out: &mut Outputs) {
        let is_its = |question: &Question| matches!(question.way, Way::Request(to) if to.session == session);
        for question in self.questions.take_where(is_its) {
            let answer = Answer::refused(question.spelled.kind, Refusal::HostGone, "the host is gone");
            self.deliver(question, answer, now, out);
        }
    }

    /// Gives up on hosts that do not answer, and on calls whose hosts do not come back.
    pub(super) fn questions_due(&mut self, now: Instant, out: &mut Outputs) {
        if self.questions.deadline().is_none_or(|until| until > now) {
            return;
        }
        let limit = self.config.input_timeout;
        let reason = format!("the host did not answer within {limit:?} (--input-timeout)");
        let is_away = |question: &Question| {
            let call = question.call.and_then(|call| self.calls.get(&call));
            matches!(call, Some(Call { asker: Asker::Away, .. }))
        };
        let over: Vec<(u64, Option<CallId>)> = (self.questions.open.values())
            .take_while(|question| question.until <= now)
            .map(|question| (question.id, question.call.filter(|_| is_away(question))))
            .collect();
        for (id, away) in over {
            if let Some(call) = away {
                self.abandoned(call, &reason, now, out);
            }
            let question = self.questions.remove(id);
            self.withdraw(question.into_iter().collect(), Refusal::Timeout, &reason, now, out);
        }
    }

    fn withdraw(
        &mut self,
        questions: Vec<Question>,
        refusal: Refusal,
        reason: &str,
        now: Instant,
        out: &mut Outputs,
    ) {
        for question in questions {
            if let Way::Request(route) = question.way {
                // A task asks where its result is waited for, and that wait may be over.
                let is_task = question.task.is_some();
                let route = if is_task { Route::session(route.session) } else { route };
                let mut message = Vec::new();
                notify::cancelled_host_request(&mut message, question.id, reason, question.task.as_deref());
                out.push(Output::Host { route, message, sort: Sort::Message });
            }
            let answer = Answer::refused(question.spelled.kind, refusal, reason);
            self.deliver(question, answer, now, out);
        }
    }
}

fn not_offered(what: &str, required: &str) -> String {
    format!("the host does not offer {what} (it did not declare the capability {required})")
}

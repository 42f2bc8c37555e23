//! What a tool process asks of the host: sampling and roots.
//!
//! The question goes to the host whose call it belongs to, never to another.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Instant;

use crate::ids::{AskId, CallId, Generation, Route, SessionId};
use crate::limits::{HOST_REQUEST_TIMEOUT, HOST_REQUESTS_MAX};
use crate::mcp::input::{self, Question};
use crate::mcp::notify;
use crate::mcp::revision::LATEST;
use crate::wire::protomcp::{
    ListRootsRequest, ListRootsResponse, SamplingRequest, SamplingResponse, envelope::Msg,
};

use super::{Bridge, Output, Outputs, Sort};

/// Requests of ours that hosts have not answered, in the order of their deadlines.
#[derive(Debug, Default)]
pub(super) struct HostRequests {
    open: BTreeMap<u64, HostRequest>,
}

/// One question of a tool process.
#[derive(Debug)]
pub(super) struct HostRequest {
    id: u64,
    session: SessionId,
    /// Who asked, and under which id.
    generation: Generation,
    tool_request_id: String,
    /// On whose behalf, if that is known.
    call: Option<CallId>,
    kind: Kind,
    until: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sampling,
    Roots,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Kind::Sampling => "sampling",
            Kind::Roots => "roots",
        }
    }
}

impl HostRequests {
    /// The request of this id, if it went to this session.
    pub(super) fn take(&mut self, session: SessionId, id: u64) -> Option<HostRequest> {
        if self.open.get(&id)?.session != session {
            return None;
        }
        self.open.remove(&id)
    }

    /// Whether no host owes us an answer.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// When the oldest is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.open.first_key_value().map(|(_, request)| request.until)
    }

    fn take_where(&mut self, matches: impl Fn(&HostRequest) -> bool) -> Vec<HostRequest> {
        let ids: Vec<u64> =
            self.open.values().filter(|request| matches(request)).map(|request| request.id).collect();
        ids.iter().filter_map(|id| self.open.remove(id)).collect()
    }
}

impl Bridge {
    /// The tool process wants a model's answer.
    pub(super) fn sampling(
        &mut self,
        generation: Generation,
        tool_request_id: String,
        request: &SamplingRequest,
        now: Instant,
        out: &mut Outputs,
    ) {
        let asked =
            self.ask_host(generation, &tool_request_id, &request.call_request_id, Kind::Sampling, now);
        let sent = asked.and_then(|(id, route)| {
            let question = Question::Sampling(request.clone());
            let spelled = match self.sessions.get(&route.session) {
                Some(host) if question.missing(&host.capabilities).is_none() => question.spell(host.revision),
                _ => Err("the host does not take tools in sampling".to_owned()),
            };
            spelled
                .map(|spelled| {
                    let mut message = Vec::new();
                    input::write_host_request(&mut message, id, &spelled, None);
                    (route, message)
                })
                .inspect_err(|_| drop(self.host_requests.open.remove(&id)))
        });
        self.sent_or_failed(generation, tool_request_id, Kind::Sampling, sent, out);
    }

    /// The tool process wants the host's roots.
    pub(super) fn roots(
        &mut self,
        generation: Generation,
        tool_request_id: String,
        request: &ListRootsRequest,
        now: Instant,
        out: &mut Outputs,
    ) {
        let asked = self.ask_host(generation, &tool_request_id, &request.call_request_id, Kind::Roots, now);
        let question = Question::Roots(request.clone());
        let sent = asked.and_then(|(id, route)| {
            let spelled = question.spell(LATEST)?;
            let mut message = Vec::new();
            input::write_host_request(&mut message, id, &spelled, None);
            Ok((route, message))
        });
        self.sent_or_failed(generation, tool_request_id, Kind::Roots, sent, out);
    }

    fn sent_or_failed(
        &mut self,
        generation: Generation,
        tool_request_id: String,
        kind: Kind,
        sent: Result<(Route, Vec<u8>), String>,
        out: &mut Outputs,
    ) {
        match sent {
            Ok((route, message)) => out.push(Output::Host { route, message, sort: Sort::Message }),
            Err(reason) => self.refuse(generation, tool_request_id, kind, reason, out),
        }
    }

    /// Finds the host to ask and opens a request to it.
    fn ask_host(
        &mut self,
        generation: Generation,
        tool_request_id: &str,
        call_request_id: &str,
        kind: Kind,
        now: Instant,
    ) -> Result<(u64, Route), String> {
        let what = kind.as_str();
        let process = self.processes.get(&generation).ok_or("this tool process is ending")?;
        let call = if call_request_id.is_empty() {
            let mut calls = process.asks.values().filter_map(|ask| ask.call);
            let first = calls.next();
            if calls.next().is_some() {
                return Err(format!(
                    "several calls are running, and the {what} request does not say to which it belongs (call_request_id)"
                ));
            }
            first
        } else {
            let ask = call_request_id.parse().ok().and_then(|id| process.asks.get(&AskId(id)));
            Some(ask.and_then(|ask| ask.call).ok_or_else(|| {
                format!("the call that the {what} request belongs to is not running any more")
            })?)
        };
        let route = match call.and_then(|call| self.calls.get(&call)) {
            // There are no requests to hosts in the modern era.
            Some(call) if call.meta.is_some() => {
                return Err(format!(
                    "the host speaks a revision in which it is not asked for {what} this way"
                ));
            }
            Some(call) => call.reply.as_ref().map(|reply| reply.route),
            None if self.sessions.len() == 1 => self.sessions.keys().next().map(|&id| Route::session(id)),
            None => None,
        };
        let route =
            route.ok_or_else(|| format!("there is no call, so there is no host to ask for {what}"))?;
        let session = self.sessions.get(&route.session).ok_or("the host is gone")?;
        let able = match kind {
            Kind::Sampling => session.capabilities.sampling,
            Kind::Roots => session.capabilities.roots,
        };
        if !able {
            return Err(format!("the host does not offer {what} (it did not declare the capability)"));
        }
        let open =
            self.host_requests.open.values().filter(|request| request.session == route.session).count();
        if open >= HOST_REQUESTS_MAX {
            return Err(format!("{open} requests to the host are open, which is the limit"));
        }
        let id = self.next_id();
        let request = HostRequest {
            id,
            session: route.session,
            generation,
            tool_request_id: tool_request_id.to_owned(),
            call,
            kind,
            until: now + HOST_REQUEST_TIMEOUT,
        };
        self.host_requests.open.insert(id, request);
        Ok((id, route))
    }

    /// Brings a host's answer to the tool process.
    pub(super) fn deliver(
        &mut self,
        request: &HostRequest,
        outcome: Result<Cow<'_, str>, String>,
        out: &mut Outputs,
    ) {
        let kind = match request.kind {
            Kind::Sampling => input::Kind::Sampling,
            Kind::Roots => input::Kind::Roots,
        };
        let msg = match outcome.and_then(|result| kind.answer(&result)) {
            Ok(answer) => answer.into_msg(),
            Err(reason) => refusal(request.kind, reason),
        };
        self.tell(request.generation, request.tool_request_id.clone(), msg, out);
    }

    fn refuse(
        &mut self,
        generation: Generation,
        tool_request_id: String,
        kind: Kind,
        reason: String,
        out: &mut Outputs,
    ) {
        self.tell(generation, tool_request_id, refusal(kind, reason), out);
    }

    /// Ends the questions of a call that is over; the host need not answer any more.
    pub(super) fn withdraw_for_call(&mut self, call: CallId, reason: &str, out: &mut Outputs) {
        if !self.host_requests.is_empty() {
            let over = self.host_requests.take_where(|request| request.call == Some(call));
            self.withdraw(over, reason, out);
        }
    }

    /// Ends the questions of a tool process that is gone.
    pub(super) fn withdraw_for_process(&mut self, generation: Generation, out: &mut Outputs) {
        let over = self.host_requests.take_where(|request| request.generation == generation);
        self.withdraw(over, "the tool process ended", out);
    }

    /// Ends the questions to a host that is gone.
    pub(super) fn withdraw_for_session(&mut self, session: SessionId, out: &mut Outputs) {
        for request in self.host_requests.take_where(|request| request.session == session) {
            self.refuse(
                request.generation,
                request.tool_request_id,
                request.kind,
                "the host is gone".to_owned(),
                out,
            );
        }
    }

    /// Gives up on hosts that do not answer.
    pub(super) fn host_requests_due(&mut self, now: Instant, out: &mut Outputs) {
        if self.host_requests.deadline().is_some_and(|until| until <= now) {
            let over = self.host_requests.take_where(|request| request.until <= now);
            let reason = format!("the host did not answer within {} s", HOST_REQUEST_TIMEOUT.as_secs());
            self.withdraw(over, &reason, out);
        }
    }

    fn withdraw(&mut self, requests: Vec<HostRequest>, reason: &str, out: &mut Outputs) {
        for request in requests {
            let mut message = Vec::new();
            notify::cancelled_host_request(&mut message, request.id, reason, None);
            out.push(Output::Host { route: Route::session(request.session), message, sort: Sort::Message });
            self.refuse(request.generation, request.tool_request_id, request.kind, reason.to_owned(), out);
        }
    }
}

fn refusal(kind: Kind, error: String) -> Msg {
    match kind {
        Kind::Sampling => Msg::SamplingResponse(SamplingResponse { error, ..SamplingResponse::default() }),
        Kind::Roots => Msg::ListRootsResponse(ListRootsResponse { error, ..ListRootsResponse::default() }),
    }
}

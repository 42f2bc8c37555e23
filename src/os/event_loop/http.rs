//! Clients over HTTP, and what is behind them.

use std::time::{Duration, Instant};

use mio::Registry;

use super::EventLoop;
use crate::bridge::{Bridges, Input, Outputs, Sort};
use crate::front::http::guard::Principal;
use crate::front::http::server::Backend;
use crate::front::http::slab::Key;
use crate::ids::{Route, SessionId};
use crate::log::Level;
use crate::mcp::request::HostMessage;
use crate::metrics::Page;
use crate::os::http::Http;
use crate::os::pool::{Pool, Work};
use crate::os::vitals::Vitals;

/// What is behind the clients.
pub(super) struct Behind<'a> {
    bridge: &'a mut Bridges,
    outputs: &'a mut Outputs,
    pool: &'a mut Pool,
    vitals: Vitals,
    now: Instant,
}

impl Backend for Behind<'_> {
    fn open(&mut self, session: SessionId, lasts: bool, principal: &Principal) {
        let principal = principal.0.clone();
        self.bridge.handle(Input::SessionOpened { session, lasts, principal }, self.now, self.outputs);
    }

    fn close(&mut self, session: SessionId) {
        self.bridge.handle(Input::SessionClosed(session), self.now, self.outputs);
    }

    fn hand_in(&mut self, route: Route, message: HostMessage<'_>) {
        self.bridge.handle(Input::Host { route, message }, self.now, self.outputs);
    }

    fn parse(&mut self, connection: Key, body: Vec<u8>) {
        self.pool.submit(Work::ParseBody(connection, body));
    }

    fn input_schema(&self, tool: &str) -> Option<&str> {
        self.bridge.input_schema(tool)
    }

    fn unready(&self) -> Option<String> {
        self.bridge.health().reason(self.now)
    }

    fn write_metrics(&self, page: &mut Page<'_>) {
        self.vitals.write_metrics(self.now, page);
        self.bridge.write_metrics(page);
    }

    fn random(&mut self) -> Option<[u8; 16]> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok().map(|()| bytes)
    }
}

impl EventLoop {
    /// Does something with the clients over HTTP, if that is how hosts reach us.
    pub(super) fn with_http(&mut self, work: impl FnOnce(&mut Http, &mut Behind<'_>, &Registry)) {
        let Some(http) = &mut self.http else { return };
        let mut behind = Behind {
            bridge: &mut self.bridge,
            outputs: &mut self.outputs,
            pool: &mut self.pool,
            vitals: self.vitals,
            now: self.now,
        };
        work(http, &mut behind, self.poll.registry());
    }

    /// The clients' share of a turn; `wall` is the time since 1970.
    pub(super) fn serve_http(&mut self, wall: Duration) {
        let (now, may_read) = (self.now, self.takes_requests());
        self.with_http(|http, behind, registry| {
            http.server.set_time(now, wall);
            http.accept(registry, now);
            http.refresh(now);
            http.read(may_read, behind);
            if http.server.deadline().is_some_and(|at| at <= now) {
                http.server.tick(behind);
            }
        });
    }

    /// Whether more requests may be taken.
    pub(super) fn takes_requests(&self) -> bool {
        self.ends_by.is_none() && !self.tool_is_slow && !self.pool.is_full() && self.bridge.reads_host()
    }

    /// Brings a message of the bridge on its way.
    pub(super) fn send_over_http(&mut self, route: Route, message: Vec<u8>, sort: Sort) {
        self.with_http(|http, behind, _| match sort {
            Sort::Answer { error } => http.server.answer(route, message, error, behind),
            Sort::Message => http.server.message(route, &message),
        });
    }

    /// Writes what fits.
    pub(super) fn flush_http(&mut self) {
        self.with_http(|http, behind, registry| {
            http.carry_out(behind);
            http.flush(registry, behind);
            // What is found out on the way may be said at once.
            http.carry_out(behind);
        });
        let lines = self.http.as_mut().map(|http| http.server.take_log());
        for line in lines.into_iter().flatten() {
            self.console.log(Level::Debug, &line);
        }
        let troubles = self.http.as_mut().map(|http| std::mem::take(&mut http.troubles));
        for (level, trouble) in troubles.into_iter().flatten() {
            self.console.log(level, &trouble);
        }
    }
}

//! Streams of news: `subscriptions/listen` of the modern era.
//!
//! A host of that era has no session. It hears of changes only on streams that it opened, and of
//! those kinds only that it named.

use std::time::Instant;

use crate::ids::Route;
use crate::jsonrpc::message::{RequestId, RpcError, write_result};
use crate::limits::LISTENS_MAX;
use crate::mcp::request::Filter;
use crate::mcp::result::write_listen_end;
use crate::mcp::{notify, revision};

use super::call::Reply;
use super::metrics::Ending;
use super::{Bridge, Output, Outputs, Sort};

/// One open stream.
#[derive(Debug)]
pub(super) struct Listen {
    /// Whom its messages go to; the request's id names the stream.
    reply: Reply,
    filter: Filter,
}

impl Listen {
    pub(super) fn id(&self) -> &RequestId {
        &self.reply.id
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(super) fn route(&self) -> Route {
        self.reply.route
    }

    pub(super) fn method(&self) -> &'static str {
        self.reply.method
    }
}

impl Bridge {
    /// Opens a stream. Its first message says what will be heard on it.
    pub(super) fn listen(&mut self, reply: Reply, mut filter: Filter, now: Instant, out: &mut Outputs) {
        let Some(session) = self.sessions.get(&reply.route.session) else { return };
        if session.listens.len() >= LISTENS_MAX {
            let text = format!("{LISTENS_MAX} streams are open, which is the limit");
            return self.answer_error(&reply, &RpcError::invalid_params(text), out);
        }
        self.known_tasks(&reply, &mut filter.task_ids);
        let mut message = Vec::new();
        notify::acknowledged(&mut message, &reply.id, &filter);
        out.push(Output::Host { route: reply.route, message, sort: Sort::Message });
        self.tell_tasks(&reply, &filter.task_ids, out);
        if let Some(session) = self.sessions.get_mut(&reply.route.session) {
            session.listens.push(Listen { reply, filter });
        }
        self.tools_may_have_changed(out);
        self.refresh_lists(false, now);
    }

    /// Tells every stream that wants to hear it.
    pub(super) fn tell_listens(
        &self,
        out: &mut Outputs,
        wants: impl Fn(&Filter) -> bool,
        write: impl Fn(&mut Vec<u8>, Option<&RequestId>),
    ) {
        for listen in self.sessions.values().flat_map(|session| &session.listens) {
            if wants(&listen.filter) {
                let mut message = Vec::new();
                write(&mut message, Some(&listen.reply.id));
                out.push(Output::Host { route: listen.reply.route, message, sort: Sort::Message });
            }
        }
    }

    /// Ends all streams from our side, each with its result.
    pub(super) fn end_listens(&mut self, out: &mut Outputs) {
        for session in self.sessions.values_mut() {
            for Listen { reply, .. } in std::mem::take(&mut session.listens) {
                let dialect = crate::mcp::result::Dialect {
                    revision: revision::MODERN,
                    server_json: &self.server_json,
                };
                let mut message = Vec::new();
                write_result(&mut message, &reply.id, |body| write_listen_end(body, dialect, &reply.id));
                let sort = Sort::Answer { error: None };
                self.metrics.ended(reply.method, Ending::Result);
                out.push(Output::Host { route: reply.route, message, sort });
            }
        }
    }
}

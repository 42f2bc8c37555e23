//! The middleware chain around a call.
//!
//! A call keeps the chain that it began with: what registers or goes while it runs is not for it.

use std::time::Instant;

use crate::ids::CallId;
use crate::jsonrpc::json;
use crate::limits::MIDDLEWARE_TIMEOUT;
use crate::wire::protomcp::{MiddlewareInterceptRequest, MiddlewareInterceptResponse, envelope::Msg};

use super::call::{Call, Stage, Work};
use super::{Bridge, Outputs};

impl Bridge {
    /// Shows the arguments to the middleware of this index, or runs the tool after the last one.
    pub(super) fn before(&mut self, id: CallId, index: usize, now: Instant, out: &mut Outputs) {
        let Some(Call { stage, work: Work::Tool(call), .. }) = self.calls.get_mut(&id) else { return };
        let Some(name) = call.chain.get(index) else { return self.run_tool(id, out) };
        *stage = Stage::Before(index);
        let msg = Msg::MiddlewareIntercept(MiddlewareInterceptRequest {
            middleware_name: name.clone(),
            phase: "before".to_owned(),
            tool_name: call.name.clone(),
            arguments_json: call.arguments.clone(),
            ..MiddlewareInterceptRequest::default()
        });
        self.ask(id, msg, Some(now + MIDDLEWARE_TIMEOUT), out);
    }

    /// Shows the stored result to the last `left` middleware of the chain, the latest first, or
    /// sends it when none is left.
    pub(super) fn after(&mut self, id: CallId, left: usize, now: Instant, out: &mut Outputs) {
        let Some(Call { stage, work: Work::Tool(call), .. }) = self.calls.get_mut(&id) else { return };
        let (Some(index), Some(result)) = (left.checked_sub(1), &call.result) else {
            return self.finish_stored(id, now, out);
        };
        *stage = Stage::After(index);
        let msg = Msg::MiddlewareIntercept(MiddlewareInterceptRequest {
            middleware_name: call.chain.get(index).cloned().unwrap_or_default(),
            phase: "after".to_owned(),
            tool_name: call.name.clone(),
            arguments_json: call.arguments.clone(),
            result_json: result.result_json.clone(),
            is_error: result.is_error,
        });
        self.ask(id, msg, Some(now + MIDDLEWARE_TIMEOUT), out);
    }

    /// A middleware answered.
    pub(super) fn intercepted(
        &mut self,
        id: CallId,
        response: MiddlewareInterceptResponse,
        now: Instant,
        out: &mut Outputs,
    ) {
        let Some(Call { stage, work: Work::Tool(call), .. }) = self.calls.get_mut(&id) else {
            return self.mismatch(id, now, out);
        };
        let (Stage::Before(index) | Stage::After(index)) = *stage else { return self.mismatch(id, now, out) };
        let name = call.chain.get(index).map_or("", String::as_str);
        if response.reject {
            let reason =
                if response.reject_reason.is_empty() { "no reason given" } else { &response.reject_reason };
            let text = format!("rejected by the middleware \"{name}\": {reason}");
            return self.fail(id, &text, now, out);
        }
        if *stage == Stage::After(index) {
            if let (Some(result), false) = (&mut call.result, response.result_json.is_empty()) {
                result.result_json = response.result_json;
            }
            return self.after(id, index, now, out);
        }
        if !response.arguments_json.is_empty() {
            if !json::is_object(&response.arguments_json) {
                let text =
                    format!("rejected: the middleware \"{name}\" made arguments that are not a JSON object");
                return self.fail(id, &text, now, out);
            }
            let arguments = response.arguments_json;
            self.binding(id); // It belongs to what the host sent.
            if let Some(Call { work: Work::Tool(call), .. }) = self.calls.get_mut(&id) {
                call.arguments = arguments;
            }
        }
        self.before(id, index + 1, now, out);
    }
}

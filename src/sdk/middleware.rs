//! Middleware: a look at every call of this process's tools, before and after.

use std::fmt;

use super::args::Args;
use super::json::Json;
use crate::wire::protomcp;

/// Begins a middleware.
///
/// ```
/// use pmcp_bridge::sdk::middleware;
///
/// let guard = middleware("guard")
///     .priority(10)
///     .before(|call| {
///         if call.tool() == "remove" && call.arguments().get_or("force", false).unwrap_or(true) {
///             call.reject("force is not allowed here");
///         }
///     })
///     .after(|call| call.set_result(call.result().replace("hunter2", "*****")));
/// # let _ = guard;
/// ```
pub fn middleware(name: impl Into<String>) -> Middleware {
    Middleware { name: name.into(), priority: 0, before: None, after: None }
}

/// A middleware, for [`Server::middleware`](super::Server::middleware).
#[must_use = "a middleware works once a server has it"]
pub struct Middleware {
    pub(crate) name: String,
    pub(crate) priority: i32,
    before: Option<Hook<BeforeCall>>,
    after: Option<Hook<AfterCall>>,
}

type Hook<C> = Box<dyn Fn(&mut C) + Send + Sync>;

impl Middleware {
    /// Its place among others: lower runs earlier before a call and later after it. Without this
    /// it is 0.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// What to do before a call. A panic in it rejects the call.
    pub fn before(mut self, before: impl Fn(&mut BeforeCall) + Send + Sync + 'static) -> Self {
        self.before = Some(Box::new(before));
        self
    }

    /// What to do after a call. A panic in it hides the result.
    pub fn after(mut self, after: impl Fn(&mut AfterCall) + Send + Sync + 'static) -> Self {
        self.after = Some(Box::new(after));
        self
    }

    /// Runs the hook that the bridge asks for.
    pub(crate) fn intercept(
        &self,
        request: protomcp::MiddlewareInterceptRequest,
    ) -> protomcp::MiddlewareInterceptResponse {
        let mut response = protomcp::MiddlewareInterceptResponse::default();
        match request.phase.as_str() {
            "before" => {
                if let Some(before) = &self.before {
                    let mut call = BeforeCall { request, changed: None, rejected: None };
                    before(&mut call);
                    response.arguments_json = call.changed.unwrap_or_default();
                    response.reject = call.rejected.is_some();
                    response.reject_reason = call.rejected.unwrap_or_default();
                }
            }
            "after" => {
                if let Some(after) = &self.after {
                    let mut call = AfterCall { request, changed: None };
                    after(&mut call);
                    response.result_json = call.changed.unwrap_or_default();
                }
            }
            _ => {}
        }
        response
    }
}

impl fmt::Debug for Middleware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Middleware").field("name", &self.name).field("priority", &self.priority).finish()
    }
}

/// A call that is about to happen.
#[derive(Debug)]
pub struct BeforeCall {
    request: protomcp::MiddlewareInterceptRequest,
    changed: Option<String>,
    rejected: Option<String>,
}

impl BeforeCall {
    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.request.tool_name
    }

    /// The arguments, with the changes made so far.
    pub fn arguments(&self) -> Args<'_> {
        Args::new(self.changed.as_deref().unwrap_or(&self.request.arguments_json))
    }

    /// Calls the tool with other arguments, a JSON object.
    pub fn set_arguments(&mut self, arguments: impl Into<Json>) {
        self.changed = Some(arguments.into().into_string());
    }

    /// Ends the call here; the reason is told to the model.
    pub fn reject(&mut self, reason: impl Into<String>) {
        self.rejected = Some(reason.into());
    }
}

/// A call that has happened.
#[derive(Debug)]
pub struct AfterCall {
    request: protomcp::MiddlewareInterceptRequest,
    changed: Option<String>,
}

impl AfterCall {
    /// The tool's name.
    pub fn tool(&self) -> &str {
        &self.request.tool_name
    }

    /// The arguments that the tool was called with.
    pub fn arguments(&self) -> Args<'_> {
        Args::new(&self.request.arguments_json)
    }

    /// The result's content: a JSON array of content blocks, with the changes made so far.
    pub fn result(&self) -> &str {
        self.changed.as_deref().unwrap_or(&self.request.result_json)
    }

    /// Whether the tool failed.
    pub fn is_error(&self) -> bool {
        self.request.is_error
    }

    /// Answers with other content: a JSON array of content blocks, or any other text.
    pub fn set_result(&mut self, result: impl Into<Json>) {
        self.changed = Some(result.into().into_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(phase: &str) -> protomcp::MiddlewareInterceptRequest {
        protomcp::MiddlewareInterceptRequest {
            phase: phase.to_owned(),
            tool_name: "t".to_owned(),
            arguments_json: r#"{"a":1}"#.to_owned(),
            result_json: "[]".to_owned(),
            ..Default::default()
        }
    }

    #[test]
    fn hooks_change_reject_or_leave_alone() {
        let both = middleware("m")
            .before(|call| {
                call.set_arguments(json!({"a": call.arguments().get::<i64>("a").unwrap() + 1}));
                if call.arguments().get::<i64>("a").unwrap() == 2 {
                    call.reject("two");
                }
            })
            .after(|call| call.set_result("done"));
        let before = both.intercept(request("before"));
        assert_eq!(before.arguments_json, r#"{"a":2}"#);
        assert!(before.reject);
        assert_eq!(before.reject_reason, "two");
        assert_eq!(both.intercept(request("after")).result_json, "done");
        assert_eq!(both.intercept(request("between")), Default::default());
        assert_eq!(middleware("none").intercept(request("before")), Default::default());
    }
}

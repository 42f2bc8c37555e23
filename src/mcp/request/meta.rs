//! What a request says in its `_meta`: its era, and in the modern one all about its host.

use serde_json::value::RawValue;

use super::params::{host_capabilities, implementation, level, present};
use super::{Era, RequestMeta};
use crate::jsonrpc::json::{self, Kind, Object};
use crate::jsonrpc::message::RpcError;
use crate::mcp::error;
use crate::mcp::revision;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The keys of W3C trace context, which travel on to the tool process.
const TRACE: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// The known members of `_meta`, unjudged.
#[derive(Default)]
pub(super) struct Meta<'a> {
    progress_token: Option<&'a RawValue>,
    version: Option<&'a RawValue>,
    capabilities: Option<&'a RawValue>,
    client_info: Option<&'a RawValue>,
    log_level: Option<&'a RawValue>,
    trace: [Option<&'a RawValue>; 3],
    duplicate: Option<&'static str>,
}

impl<'a> Meta<'a> {
    /// What cannot be read says nothing; hosts of the handshake era have always been let through
    /// with such.
    pub(super) fn read(meta: Option<&'a RawValue>) -> Self {
        let names =
            ["progressToken", VERSION, CAPABILITIES, CLIENT_INFO, LOG_LEVEL, TRACE[0], TRACE[1], TRACE[2]];
        let Some(Ok(fields)) = meta.map(|meta| json::fields(meta.get(), &names)) else {
            return Self::default();
        };
        let [progress_token, version, capabilities, client_info, log_level, trace @ ..] =
            fields.values.map(present);
        Self {
            progress_token,
            version,
            capabilities,
            client_info,
            log_level,
            trace,
            duplicate: fields.duplicate,
        }
    }

    /// The token for progress as the host spelled it.
    pub(super) fn progress_token(&self) -> Option<Box<str>> {
        let is_token = |token: &&RawValue| matches!(json::kind_of(token), Kind::String | Kind::Number);
        self.progress_token
            .filter(is_token)
            .filter(|_| self.duplicate != Some("progressToken"))
            .map(|token| token.get().into())
    }

    /// Which era the request belongs to. One of the two keys that must be there makes it a modern
    /// one: a host that sends half an envelope has to be told, not guessed at.
    ///
    /// # Errors
    /// A modern envelope that is not whole is `-32602`, one of a revision that is not spoken this
    /// way `-32022`.
    pub(super) fn era(&self) -> Result<Era, RpcError> {
        if self.version.is_none() && self.capabilities.is_none() {
            return Ok(Era::Handshake);
        }
        if let Some(name) = self.duplicate {
            return Err(bad(name, "is there twice"));
        }
        let version = self.version.ok_or_else(|| bad(VERSION, "is missing"))?;
        let version = json::string(version).ok_or_else(|| bad(VERSION, "must be a string"))?;
        let capabilities = self.capabilities.ok_or_else(|| bad(CAPABILITIES, "is missing"))?;
        if json::kind_of(capabilities) != Kind::Object {
            return Err(bad(CAPABILITIES, "must be an object"));
        }
        if version != revision::MODERN.as_str() {
            return Err(error::unsupported_version(&version));
        }
        let log_level = match self.log_level {
            None => None,
            Some(value) => {
                let name = json::string(value).ok_or_else(|| bad(LOG_LEVEL, "must be a string"))?;
                Some(level(&format!("_meta[\"{LOG_LEVEL}\"]"), &name)?)
            }
        };
        let (client_name, client_version) = implementation(self.client_info);
        Ok(Era::Modern(Box::new(RequestMeta {
            version: revision::MODERN.as_str().into(),
            is_sound: true,
            capabilities: host_capabilities(Some(capabilities)),
            client_name,
            client_version,
            log_level,
            trace_json: self.trace_json(),
        })))
    }

    /// What a modern envelope that is not sound claims all the same.
    pub(super) fn claim(&self) -> RequestMeta {
        let version = self.version.and_then(json::string).map(|version| version.into_owned().into());
        RequestMeta { version: version.unwrap_or_default(), ..RequestMeta::default() }
    }

    /// The trace context as one object, or empty. Whatever is not a string is none.
    fn trace_json(&self) -> String {
        let is_text = |value: &&RawValue| json::kind_of(value) == Kind::String;
        let trace = self.trace.map(|value| value.filter(is_text));
        if trace.iter().all(Option::is_none) {
            return String::new();
        }
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        for (name, value) in TRACE.into_iter().zip(trace) {
            object.raw_if(name, value.map(RawValue::get));
        }
        object.close();
        // What the writers append is text.
        String::from_utf8(out).unwrap_or_default()
    }
}

fn bad(name: &str, fault: &str) -> RpcError {
    RpcError::invalid_params(format!("Invalid params: _meta[\"{name}\"] {fault}"))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::super::{CallTool, Filter, HostCapabilities, HostMessage, Request, Retry, TaskWish, parse};
    use super::*;
    use crate::limits::SUBSCRIPTIONS_MAX;
    use crate::mcp::logging::Level;

    const WHOLE: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
    const WITH_TASKS: &str = r#""io.modelcontextprotocol\/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

    fn asked(method: &str, params: &str) -> (Era, Result<Request<'static>, RpcError>) {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        match parse(line.as_bytes()).into_owned() {
            HostMessage::Request { era, request, .. } => (era, request),
            other => panic!("{other:?}"),
        }
    }

    fn modern(method: &str, members: &str, meta: &str) -> Result<Request<'static>, RpcError> {
        let (era, request) = asked(method, &format!(r#"{{{members}"_meta":{{{meta}}}}}"#));
        assert!(era.meta().is_some(), "{method} {members} {meta}");
        request
    }

    #[test]
    fn each_request_names_its_era() {
        for handshake in [
            "null",
            "[]",
            "{}",
            r#"{"_meta":null}"#,
            r#"{"_meta":7}"#,
            r#"{"_meta":{"progressToken":1,"traceparent":"x"}}"#,
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":null}}"#,
            r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#,
        ] {
            assert_eq!(asked("ping", handshake), (Era::Handshake, Ok(Request::Ping)), "{handshake}");
        }
        let meta = format!(
            r#"{WHOLE},"io.modelcontextprotocol/clientInfo":{{"name":"h","version":"2"}},"io.modelcontextprotocol/logLevel":"info","tracestate":"a=\u0062","traceparent":"00-1","baggage":7,"own":1"#
        );
        let (era, request) = asked("server/discover", &format!(r#"{{"_meta":{{{meta}}}}}"#));
        let expected = RequestMeta {
            version: "2026-07-28".into(),
            is_sound: true,
            client_name: "h".into(),
            client_version: "2".into(),
            log_level: Some(Level::Info),
            trace_json: r#"{"traceparent":"00-1","tracestate":"a=\u0062"}"#.into(),
            ..RequestMeta::default()
        };
        assert_eq!((era, request), (Era::Modern(Box::new(expected)), Ok(Request::Discover)));
        let odd_info = format!(r#"{{"_meta":{{{WHOLE},"io.modelcontextprotocol/clientInfo":7}}}}"#);
        assert_eq!(asked("server/discover", &odd_info).1, Ok(Request::Discover));
    }

    #[test]
    fn half_an_envelope_is_refused_before_the_method_is_looked_at() {
        let version = "io.modelcontextprotocol/protocolVersion";
        let capabilities = "io.modelcontextprotocol/clientCapabilities";
        let table = [
            (format!(r#""{version}":"2026-07-28""#), -32602, "clientCapabilities\"] is missing"),
            (format!(r#""{capabilities}":{{}}"#), -32602, "protocolVersion\"] is missing"),
            (format!(r#""{version}":20260728,"{capabilities}":{{}}"#), -32602, "must be a string"),
            (format!(r#""{version}":"2026-07-28","{capabilities}":[]"#), -32602, "must be an object"),
            (format!(r#""{version}":"2026-07-28","{capabilities}":null"#), -32602, "is missing"),
            (format!(r#"{WHOLE},"{version}":"2026-07-28""#), -32602, "is there twice"),
            (format!(r#"{WHOLE},"io.modelcontextprotocol/logLevel":"loud""#), -32602, "must be one of debug"),
            (format!(r#"{WHOLE},"io.modelcontextprotocol/logLevel":1"#), -32602, "must be a string"),
            (format!(r#""{version}":"2099-01-01","{capabilities}":{{}}"#), -32022, "2099-01-01"),
            (format!(r#""{version}":"2025-11-25","{capabilities}":{{}}"#), -32022, "2025-11-25"),
            (format!(r#""{version}":"","{capabilities}":{{}}"#), -32022, "version"),
        ];
        for (meta, code, expected) in table {
            for method in ["server/discover", "tools/list", "no/such"] {
                let (era, _) = asked(method, &format!(r#"{{"_meta":{{{meta}}}}}"#));
                let claim = era.meta().expect("a modern claim");
                assert!(!claim.is_sound && meta.contains(&*claim.version), "{meta}");
                let error = modern(method, "", &meta).unwrap_err();
                assert_eq!(error.code, code, "{method} {meta}");
                assert!(error.message.contains(expected), "{method} {meta}: {}", error.message);
            }
            // Whoever shakes hands is let in.
            let params = format!(r#"{{"protocolVersion":"2025-11-25","_meta":{{{meta}}}}}"#);
            let (era, request) = asked("initialize", &params);
            assert!(era == Era::Handshake && matches!(request, Ok(Request::Initialize(_))), "{meta}");
        }
        assert_eq!(modern("initialize", "", WHOLE).unwrap_err().code, -32601);
        assert_eq!(asked("initialize", "{}").1.unwrap_err().code, -32602);
        let params = format!(r#"{{"protocolVersion":"2025-11-25","_meta":{{{WHOLE}}}}}"#);
        let (era, request) = asked("initialize", &params);
        assert!(era.meta().is_some() && matches!(request, Ok(Request::Initialize(_))));
    }

    #[test]
    fn each_era_has_its_own_methods() {
        let handshake_only = [
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
            "tasks/result",
            "tasks/list",
            "notifications/initialized",
            "roots/list",
            "no/such",
        ];
        for method in handshake_only {
            let error =
                modern(method, r#""uri":"a:b","taskId":"1","level":"info","#, WITH_TASKS).unwrap_err();
            assert_eq!(error.code, -32601, "{method}");
        }
        for method in ["server/discover", "subscriptions/listen", "tasks/update", "no/such"] {
            assert_eq!(asked(method, "{}").1.unwrap_err().code, -32601, "{method}");
        }
        let cursor = Some("c".to_owned());
        let task = r#"{"taskId":"t","cursor":"c"}"#;
        assert_eq!(asked("tasks/result", task).1, Ok(Request::TaskResult { id: "t".into() }));
        assert_eq!(asked("tasks/list", task).1, Ok(Request::TaskList { cursor: cursor.clone() }));
        assert_eq!(asked("tasks/get", task).1, Ok(Request::TaskGet { id: "t".into() }));
        assert_eq!(modern("tools/list", r#""cursor":"c","#, WHOLE), Ok(Request::ListTools { cursor }));
    }

    #[test]
    fn capabilities_are_those_of_this_request() {
        let none = HostCapabilities::default();
        let table = [
            ("{}", none),
            (r#"{"elicitation":{}}"#, HostCapabilities { elicitation: true, ..none }),
            (r#"{"elicitation":{"url":{}}}"#, HostCapabilities { elicitation_url: true, ..none }),
            (
                r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
                HostCapabilities { tasks: true, ..none },
            ),
            (r#"{"extensions":{"io.modelcontextprotocol/tasks":true}}"#, none),
            (r#"{"tasks":{}}"#, none),
        ];
        for (capabilities, expected) in table {
            let params =
                format!(r#"{{"_meta":{{"{VERSION}":"2026-07-28","{CAPABILITIES}":{capabilities}}}}}"#);
            let (era, _) = asked("tools/list", &params);
            assert_eq!(era.meta().unwrap().capabilities, expected, "{capabilities}");
        }
    }

    #[test]
    fn tasks_need_the_extension() {
        for (method, members) in [
            ("tasks/get", r#""taskId":"t","#),
            ("tasks/update", ""),
            ("tasks/cancel", ""),
            ("subscriptions/listen", r#""notifications":{"taskIds":["t"]},"#),
        ] {
            let error = modern(method, members, WHOLE).unwrap_err();
            assert_eq!(error.code, -32021, "{method}");
            let required = r#"{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
            assert_eq!(error.data.as_deref(), Some(required), "{method}");
        }
        let id = "t".to_owned();
        let table = [
            ("tasks/get", r#""taskId":"t","#, Request::TaskGet { id: id.clone() }),
            ("tasks/cancel", r#""taskId":"t","#, Request::TaskCancel { id: id.clone() }),
            (
                "tasks/update",
                r#""taskId":"t","inputResponses":{"k":{}},"#,
                Request::TaskUpdate { id, input_responses: r#"{"k":{}}"#.into() },
            ),
        ];
        for (method, members, expected) in table {
            assert_eq!(modern(method, members, WITH_TASKS), Ok(expected), "{method}");
            assert_eq!(modern(method, "", WITH_TASKS).unwrap_err().code, -32602, "{method}");
        }
        for bad in [r#""taskId":"t","#, r#""taskId":"t","inputResponses":[],"#] {
            assert_eq!(modern("tasks/update", bad, WITH_TASKS).unwrap_err().code, -32602, "{bad}");
        }
    }

    #[test]
    fn what_is_tried_again_brings_answers_and_state() {
        let retry = |responses: &str, state: Option<&str>| {
            let input_responses = Cow::Owned(responses.to_owned());
            Some(Retry { input_responses, request_state: state.map(str::to_owned) })
        };
        let table = [
            ("", None),
            (r#""inputResponses":{"k":{"action":"accept"}},"#, retry(r#"{"k":{"action":"accept"}}"#, None)),
            (r#""requestState":"s","#, retry("{}", Some("s"))),
            (r#""requestState":"","inputResponses":null,"#, retry("{}", Some(""))),
        ];
        for (members, expected) in table {
            let call = modern("tools/call", &format!(r#"{members}"name":"n","task":{{}},"#), WHOLE);
            let Ok(Request::CallTool(CallTool { retry, task: None, .. })) = call else { panic!("{call:?}") };
            assert_eq!(retry, expected, "{members}");
            let prompt = modern("prompts/get", &format!(r#"{members}"name":"n","#), WHOLE);
            assert!(matches!(prompt, Ok(Request::GetPrompt { retry, .. }) if retry == expected), "{members}");
            let read = modern("resources/read", &format!(r#"{members}"uri":"u","#), WHOLE);
            assert!(
                matches!(read, Ok(Request::ReadResource { retry, .. }) if retry == expected),
                "{members}"
            );
        }
        for bad in [r#""inputResponses":[],"#, r#""inputResponses":"{}","#, r#""requestState":1,"#] {
            let error = modern("tools/call", &format!(r#"{bad}"name":"n","#), WHOLE).unwrap_err();
            assert_eq!(error.code, -32602, "{bad}");
        }
    }

    #[test]
    fn a_task_is_wished_for_in_the_handshake_era() {
        let table = [
            (r#"{}"#, Some(TaskWish { ttl_ms: None })),
            (r#"{"ttl":60000}"#, Some(TaskWish { ttl_ms: Some(60_000) })),
            (r#"{"ttl":6e4}"#, Some(TaskWish { ttl_ms: Some(60_000) })),
            (r#"{"ttl":-1}"#, Some(TaskWish { ttl_ms: None })),
            (r#"{"ttl":null}"#, Some(TaskWish { ttl_ms: None })),
            ("null", None),
            ("true", None),
        ];
        for (task, expected) in table {
            let (_, call) = asked("tools/call", &format!(r#"{{"name":"n","task":{task}}}"#));
            assert!(matches!(call, Ok(Request::CallTool(call)) if call.task == expected), "{task}");
        }
    }

    #[test]
    fn filters_of_streams() {
        let listen = |notifications: &str| {
            modern("subscriptions/listen", &format!(r#""notifications":{notifications},"#), WITH_TASKS)
        };
        let all = Filter {
            tools: true,
            prompts: false,
            resources: true,
            resource_uris: vec!["a:b".into(), "c:d".into()],
            task_ids: vec!["t".into()],
        };
        let table = [
            ("{}", Filter::default()),
            (r#"{"toolsListChanged":null,"future":7}"#, Filter::default()),
            (
                r#"{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,"resourceSubscriptions":["c:d","a:b","c:d"],"taskIds":["t"]}"#,
                all,
            ),
        ];
        for (notifications, expected) in table {
            assert_eq!(listen(notifications), Ok(Request::Listen(expected)), "{notifications}");
        }
        let many = format!(
            "{{\"taskIds\":[{}]}}",
            (0..=SUBSCRIPTIONS_MAX).map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(",")
        );
        for bad in [
            "null",
            "[]",
            r#"{"toolsListChanged":1}"#,
            r#"{"resourceSubscriptions":"a:b"}"#,
            r#"{"resourceSubscriptions":[1]}"#,
            &many,
        ] {
            assert_eq!(listen(bad).unwrap_err().code, -32602, "{}", &bad[..bad.len().min(80)]);
        }
    }
}

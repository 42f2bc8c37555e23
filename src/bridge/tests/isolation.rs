//! A tool process for each session.

use super::modern::meta;
use super::*;

/// Hosts, and a clock that stands.
struct Hosts {
    bridges: Bridges,
    now: Instant,
    outputs: Outputs,
}

impl Hosts {
    fn new(isolate: bool) -> Self {
        let config = Config { isolate, ..Scene::new().bridge.config.clone() };
        Self { bridges: Bridges::new(config), now: Instant::now(), outputs: Vec::new() }
    }

    fn input(&mut self, input: Input<'_>) {
        self.bridges.handle(input, self.now, &mut self.outputs);
    }

    fn open(&mut self, session: u64, lasts: bool) -> Option<u64> {
        self.input(Input::SessionOpened { session: SessionId(session), lasts, principal: "".into() });
        self.started()
    }

    /// The process that is to be started.
    fn started(&mut self) -> Option<u64> {
        let mut started = None;
        self.outputs.retain(|output| match output {
            Output::Start(generation) => started.replace(generation.0).is_some(),
            _ => true,
        });
        started
    }

    fn tool(&mut self, generation: u64, request_id: &str, msg: Msg) {
        let generation = Generation(generation);
        let received = match msg {
            Msg::CallResult(result) => {
                let msg = Some(Msg::CallResult(result));
                let envelope = Envelope { request_id: request_id.into(), msg, ..Envelope::default() };
                Received::CallResult { frame: envelope.encode_to_vec().into() }
            }
            msg => Received::Envelope(Envelope {
                request_id: request_id.into(),
                msg: Some(msg),
                ..Envelope::default()
            }),
        };
        self.input(Input::Tool { generation, received });
    }

    /// Serves one tool, named after the process.
    fn serve(&mut self, generation: u64) {
        self.input(Input::ToolConnected(Generation(generation)));
        let opening = self.told(generation).remove(0).request_id;
        let tools = vec![definition(&format!("of-{generation}"))];
        self.tool(generation, &opening, Msg::ToolList(ToolListResponse { tools, ..Default::default() }));
        self.tool(
            generation,
            "",
            Msg::ReloadResponse(ReloadResponse { success: true, ..Default::default() }),
        );
        self.now += crate::limits::SETTLE;
        self.input(Input::Tick);
    }

    fn told(&mut self, generation: u64) -> Vec<Envelope> {
        let mut told = Vec::new();
        self.outputs.retain(|output| match output {
            Output::Tool { generation: to, frame } if to.0 == generation => {
                told.push(Envelope::decode(&frame[frame::HEADER..]).expect("an envelope"));
                false
            }
            _ => true,
        });
        told
    }

    fn ask(&mut self, session: u64, method: &str, params: &Value) {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let route = Route::session(SessionId(session));
        self.input(Input::Host { route, message: request::parse(line.as_bytes()) });
    }

    fn heard(&mut self) -> Vec<(u64, Value)> {
        let mut heard = Vec::new();
        self.outputs.retain(|output| match output {
            Output::Host { route, message, .. } => {
                heard.push((route.session.0, serde_json::from_slice(message).expect("JSON")));
                false
            }
            _ => true,
        });
        heard
    }

    fn orders(&mut self) -> Vec<String> {
        let orders = std::mem::take(&mut self.outputs).into_iter().filter_map(|output| match output {
            Output::Kill { generation, .. } => Some(format!("kill {}", generation.0)),
            Output::Exit => Some("exit".to_owned()),
            _ => None,
        });
        orders.collect()
    }
}

#[test]
fn each_session_that_lasts_has_a_process_of_its_own() {
    let mut hosts = Hosts::new(true);
    assert_eq!(hosts.open(1, false), Some(1), "one is for all requests without a session");
    assert_eq!(hosts.open(2, false), None);
    assert_eq!((hosts.open(3, true), hosts.open(4, true)), (Some(2), Some(3)));
    for generation in [1, 2, 3] {
        hosts.serve(generation);
    }
    hosts.ask(1, "tools/list", &json!({"_meta": meta(json!({}))}));
    hosts.ask(3, "tools/list", &json!({}));
    hosts.ask(4, "tools/list", &json!({}));
    let seen: Vec<(u64, String)> =
        hosts.heard().iter().map(|(to, list)| (*to, names(list, "tools").join(" "))).collect();
    assert_eq!(seen, [(1, "of-1".into()), (3, "of-2".into()), (4, "of-3".into())]);
    // Ids of one are nothing to another, and a process speaks for its own session alone.
    hosts.ask(3, "tools/call", &json!({"name": "of-2"}));
    hosts.ask(4, "tools/call", &json!({"name": "of-3"}));
    let (mine, other) = (hosts.told(2).remove(0).request_id, hosts.told(3).remove(0).request_id);
    assert_ne!(mine, other);
    let result = || Msg::CallResult(CallToolResponse { result_json: "[]".into(), ..Default::default() });
    hosts.tool(2, &other, result());
    assert!(hosts.heard().is_empty());
    hosts.tool(3, &other, result());
    assert_eq!(hosts.heard()[0].0, 4);
    hosts.tool(2, &mine, result());
    assert_eq!(hosts.heard()[0].0, 3);
}

#[test]
fn a_process_ends_with_its_session_and_all_end_in_the_end() {
    let mut hosts = Hosts::new(true);
    hosts.open(1, false);
    hosts.open(2, true);
    hosts.open(3, true);
    for generation in [1, 2, 3] {
        hosts.serve(generation);
    }
    hosts.orders();
    hosts.input(Input::SessionClosed(SessionId(2)));
    assert_eq!(hosts.orders(), ["kill 2"]);
    let exited = |generation| Input::ToolExited {
        generation: Generation(generation),
        how: "exited with status 0".into(),
        stderr: String::new(),
    };
    hosts.input(exited(2));
    assert!(hosts.orders().is_empty(), "the others go on");
    hosts.input(Input::Reload { cause: "a file changed".into() });
    assert_eq!(hosts.outputs.iter().filter(|output| matches!(output, Output::Start(_))).count(), 2);
    hosts.orders();
    hosts.input(Input::Stop { reason: "SIGTERM".into() });
    assert_eq!(hosts.orders().len(), 4, "two sessions, and a reload of each");
    for generation in [1, 4, 5] {
        hosts.input(exited(generation));
        assert!(hosts.orders().is_empty(), "{generation}");
    }
    hosts.input(exited(3));
    assert_eq!(hosts.orders(), ["exit"]);
}

#[test]
fn without_isolation_all_share_one() {
    let mut hosts = Hosts::new(false);
    assert_eq!((hosts.open(1, true), hosts.open(2, true)), (Some(1), None));
}

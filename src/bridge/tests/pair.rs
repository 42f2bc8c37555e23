//! The bridge and the SDK's peer joined in memory: random stories on a simulated clock, bytes
//! delivered in random pieces, processes that die at any step. Whatever happens, every request
//! has exactly one answer, and in the end nothing is left over.
//!
//! A failing story prints its seed; `PMCP_SEED=n cargo test pair` repeats it alone, and
//! `PMCP_STORIES=n` tells more of them.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::sdk::peer::{Offer, Peer, Request, Step, Work, envelope};
use crate::wire::frame::{Frame, FrameReader};
use crate::wire::protomcp::{
    CompletionResponse, DisableToolsRequest, EnableToolsRequest, GetPromptResponse,
    MiddlewareInterceptResponse, ProgressNotification, ReadResourceResponse, RegisterMiddlewareRequest,
    SamplingRequest,
};

/// A small generator; the same seed tells the same story.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// A tool process: the peer, and the two directions of its socket.
struct Tool {
    peer: Peer,
    reader: FrameReader,
    bridge_reader: Reader,
    to_tool: Vec<u8>,
    to_bridge: Vec<u8>,
    running: Vec<Request>,
}

impl Tool {
    fn send(&mut self, request_id: &str, msg: Msg) {
        self.to_bridge.extend(frame::encode(&envelope(request_id.to_owned(), msg)));
    }
}

struct Story {
    scene: Scene,
    random: Random,
    tools: BTreeMap<u64, Tool>,
    /// Requests of the host, and how many answers each has had.
    asked: BTreeMap<u64, u32>,
    cancelled: BTreeSet<u64>,
    next_id: u64,
    concurrency: u32,
    with_middleware: bool,
}

impl Story {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (concurrency, with_middleware) = (1 + random.below(4) as u32, random.below(3) == 0);
        let mut scene = Scene::new();
        scene.initialize("2025-11-25");
        Self {
            scene,
            random,
            tools: BTreeMap::new(),
            asked: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            next_id: 1,
            concurrency,
            with_middleware,
        }
    }

    fn ask(&mut self, method: &str, params: Value) {
        self.asked.insert(self.next_id, 0);
        self.scene.ask(self.next_id, method, params);
        self.next_id += 1;
    }

    fn step(&mut self) {
        match self.random.below(24) {
            0..4 => {
                let name = ["a", "b", "missing"][self.random.below(3)];
                let token = self.random.below(2);
                self.ask("tools/call", json!({"name": name, "_meta": {"progressToken": token}}));
            }
            4 => {
                let id = self.random.below(self.next_id as usize) as u64;
                if self.asked.get(&id) == Some(&0) {
                    self.cancelled.insert(id);
                }
                let params = json!({"requestId": id});
                self.scene
                    .say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
            }
            5 => {
                let method = ["tools/list", "resources/list", "prompts/list", "ping"][self.random.below(4)];
                self.ask(method, json!({}));
            }
            6 => self.ask("resources/read", json!({"uri": "x://y"})),
            7 => self.ask("prompts/get", json!({"name": "p"})),
            8..12 => self.deliver_some(),
            12..17 => self.finish_one(),
            17 => self.speak_up(),
            18 => self.scene.wait(Duration::from_millis([1, 20, 300][self.random.below(3)])),
            19 if self.random.below(8) == 0 => self.kill_one(),
            20 if self.random.below(10) == 0 => {
                self.scene.input(Input::Reload { cause: "tools.py changed".into() });
            }
            _ => self.deliver_some(),
        }
        self.carry_out();
    }

    /// Does what the bridge said, and listens as the host.
    fn carry_out(&mut self) {
        for order in self.scene.orders() {
            let (word, generation) = order.split_once(' ').expect("no exit in these stories");
            let generation = generation.parse().expect("a generation");
            match word {
                "start" => self.start(generation),
                _ => self.end(generation, "was killed by signal 15"),
            }
        }
        for (generation, tool) in &mut self.tools {
            for told in self.scene.told(*generation) {
                tool.to_tool.extend(frame::encode(&told));
            }
        }
        self.scene.logged(Level::Debug);
        for message in self.scene.heard() {
            match (message["id"].as_u64(), message.get("method")) {
                (Some(id), None) => {
                    let answers =
                        self.asked.get_mut(&id).unwrap_or_else(|| panic!("nobody asked: {message}"));
                    *answers += 1;
                }
                (Some(id), Some(_)) if self.random.below(4) > 0 => {
                    let result =
                        json!({"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"});
                    self.scene.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
                }
                _ => {}
            }
        }
    }

    fn start(&mut self, generation: u64) {
        if self.random.below(6) == 0 {
            self.scene.exited(generation, "exited with status 1", "");
            return;
        }
        let middleware = |name: &str, priority| RegisterMiddlewareRequest { name: name.into(), priority };
        let offer = Offer {
            tools: vec![definition("a"), definition("b")],
            hidden: vec!["b".into()],
            middleware: if self.with_middleware {
                vec![middleware("m", 1), middleware("n", 0)]
            } else {
                Vec::new()
            },
            concurrency: self.concurrency,
            ..Offer::default()
        };
        self.tools.insert(
            generation,
            Tool {
                peer: Peer::new(offer),
                reader: FrameReader::new(1 << 20),
                bridge_reader: Reader::new(1 << 20),
                to_tool: Vec::new(),
                to_bridge: Vec::new(),
                running: Vec::new(),
            },
        );
        self.scene.input(Input::ToolConnected(Generation(generation)));
    }

    fn end(&mut self, generation: u64, how: &str) {
        if self.tools.remove(&generation).is_some() {
            let reason = "closed its connection".to_owned();
            self.scene.input(Input::ToolDisconnected { generation: Generation(generation), reason });
            self.scene.exited(generation, how, "last words");
        }
    }

    fn some_tool(&mut self) -> Option<u64> {
        let generations: Vec<u64> = self.tools.keys().copied().collect();
        (!generations.is_empty()).then(|| generations[self.random.below(generations.len())])
    }

    fn kill_one(&mut self) {
        if let Some(generation) = self.some_tool() {
            self.end(generation, "was killed by signal 11");
        }
    }

    fn deliver_some(&mut self) {
        if let Some(generation) = self.some_tool() {
            let count = 1 + self.random.below(400);
            self.deliver(generation, count);
        }
    }

    /// Moves up to `count` bytes in each direction.
    fn deliver(&mut self, generation: u64, count: usize) {
        let Some(tool) = self.tools.get_mut(&generation) else { return };
        let bytes: Vec<u8> = tool.to_tool.drain(..count.min(tool.to_tool.len())).collect();
        let mut steps = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let count = rest.len().min(tool.reader.space().len()).min(100_000);
            tool.reader.space()[..count].copy_from_slice(&rest[..count]);
            tool.reader.advance(count);
            rest = &rest[count..];
            while let Some(Frame::Body(body)) = tool.reader.next().expect("the bridge keeps to the frames") {
                let received = Envelope::decode(&*body).expect("the bridge sends envelopes");
                tool.peer.receive(received, &mut steps);
            }
        }
        for step in steps {
            match step {
                Step::Send(told) => tool.to_bridge.extend(frame::encode(&told)),
                Step::Run(request) => tool.running.push(request),
                Step::Answer { .. } | Step::TakenBack { .. } | Step::Restore(_) => {}
            }
        }
        assert!(tool.running.len() <= self.concurrency as usize, "the bridge sent more than was announced");
        let bytes: Vec<u8> = tool.to_bridge.drain(..count.min(tool.to_bridge.len())).collect();
        let mut all = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let count = rest.len().min(tool.bridge_reader.space().len()).min(100_000);
            tool.bridge_reader.space()[..count].copy_from_slice(&rest[..count]);
            tool.bridge_reader.advance(count);
            rest = &rest[count..];
            while let Some(received) = tool.bridge_reader.next().expect("the peer keeps to the frames") {
                let generation = Generation(generation);
                self.scene.bridge.handle(Input::Tool { generation, received }, self.scene.now, &mut all);
            }
        }
        self.scene.outputs.append(&mut all);
        self.scene.run_jobs();
        self.scene.check();
    }

    /// A handler ends.
    fn finish_one(&mut self) {
        let Some(generation) = self.some_tool() else { return };
        let pick = self.random.below(100);
        let big = self.random.below(40) == 0;
        let Some(tool) = self.tools.get_mut(&generation) else { return };
        if tool.running.is_empty() {
            return;
        }
        let request = tool.running.swap_remove(pick % tool.running.len());
        let answer = match &request.work {
            Work::Call { .. } => {
                let text = if big { "z".repeat(300_000) } else { "ok".to_owned() };
                let enable_tools = if pick.is_multiple_of(5) { vec!["b".to_owned()] } else { Vec::new() };
                let result_json = json!([{"type": "text", "text": text}]).to_string();
                Msg::CallResult(CallToolResponse { result_json, enable_tools, ..Default::default() })
            }
            Work::Read { .. } => Msg::ReadResourceResponse(ReadResourceResponse::default()),
            Work::Prompt { .. } => Msg::GetPromptResponse(GetPromptResponse::default()),
            Work::Complete(_) => Msg::CompletionResponse(CompletionResponse::default()),
            Work::Intercept(_) => Msg::MiddlewareInterceptResponse(MiddlewareInterceptResponse {
                reject: pick.is_multiple_of(7),
                ..Default::default()
            }),
        };
        let mut steps = Vec::new();
        tool.running.extend(tool.peer.finish(request, answer, &mut steps));
        for step in steps {
            let Step::Send(told) = step else { panic!("{step:?}") };
            tool.to_bridge.extend(frame::encode(&told));
        }
    }

    /// A handler says something in between.
    fn speak_up(&mut self) {
        let Some(generation) = self.some_tool() else { return };
        let pick = self.random.below(1000);
        let Some(tool) = self.tools.get_mut(&generation) else { return };
        let Some(request) = tool.running.first() else { return };
        let request_id = request.request_id.clone();
        let names = vec!["b".to_owned()];
        let msg = match (pick % 4, &request.work) {
            (0, Work::Call { progress_token, .. }) => {
                let progress = ProgressNotification {
                    progress_token: progress_token.clone(),
                    progress: pick as i64,
                    ..Default::default()
                };
                return tool.send("", Msg::Progress(progress));
            }
            (1, _) => Msg::SamplingRequest(SamplingRequest {
                messages_json: "[]".into(),
                call_request_id: request_id,
                ..Default::default()
            }),
            (2, _) => Msg::EnableTools(EnableToolsRequest { tool_names: names }),
            _ => Msg::DisableTools(DisableToolsRequest { tool_names: names }),
        };
        let asked = tool.peer.ask(msg);
        tool.to_bridge.extend(frame::encode(&asked));
    }

    /// Lets everything that was begun come to its end.
    fn settle(&mut self) {
        for round in 0..200 {
            for generation in self.tools.keys().copied().collect::<Vec<_>>() {
                self.deliver(generation, usize::MAX);
            }
            for _ in 0..20 {
                self.finish_one();
            }
            // Long enough for backoffs at first, and for every timeout in the middle.
            self.scene.wait(Duration::from_millis(if round == 100 { 1_000_000 } else { 50 }));
            self.carry_out();
        }
    }
}

#[test]
fn every_request_has_exactly_one_answer_whatever_happens() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let seeds = match (number("PMCP_SEED"), number("PMCP_STORIES")) {
        (Some(seed), _) => seed..=seed,
        (None, stories) => 1..=stories.unwrap_or(60),
    };
    for seed in seeds {
        eprintln!("PMCP_SEED={seed}");
        let mut story = Story::new(seed);
        for _ in 0..600 {
            story.step();
        }
        story.settle();
        for (id, answers) in &story.asked {
            let cancelled = story.cancelled.contains(id);
            assert!(
                *answers == 1 || (cancelled && *answers == 0),
                "request {id} had {answers} answers (cancelled: {cancelled})"
            );
        }
        let bridge = &story.scene.bridge;
        assert!(bridge.calls.is_empty(), "{:#?}", bridge.calls);
        assert_eq!((bridge.waiting.len(), bridge.waiting.bytes()), (0, 0));
        assert!(bridge.questions.is_empty());
        for process in bridge.processes.values() {
            assert_eq!((process.busy, process.asks.len()), (0, 0), "{process:#?}");
        }
    }
}

//! A tool process of a story: the SDK's peer, the two directions of its socket, and handlers that
//! ask, go on as tasks, report, answer with questions or do not care.
//!
//! What a handler was called with says for whom it works. It puts that mark on all that it says, and
//! what it is told has to carry the same.

use super::*;
use crate::sdk::peer::{Offer, Peer, Request, Step, Work, envelope};
use crate::wire::frame::{Frame, FrameReader};
use crate::wire::protomcp::{
    CompletionResponse, DisableToolsRequest, ElicitRequest, EnableToolsRequest, GetPromptResponse,
    InputAnswer, InputQuestion, InputRequired, ListRootsRequest, LogMessage, MiddlewareInterceptResponse,
    ProgressNotification, ReadResourceResponse, RegisterMiddlewareRequest, ResourceContent, SamplingRequest,
    ToolError, input_question::Question,
};

pub(super) struct Tool {
    peer: Peer,
    reader: FrameReader,
    bridge_reader: Reader,
    to_tool: Vec<u8>,
    to_bridge: Vec<u8>,
    running: Vec<Handler>,
    habits: Habits,
}

/// A request that a handler is at.
struct Handler {
    request: Request,
    /// For whom it works.
    mark: String,
    /// Its questions that have no answer yet.
    asked: Vec<String>,
    is_task: bool,
}

/// For whom a request is.
fn mark(request: &Request) -> String {
    let of = |arguments: &str| {
        let arguments: Value = serde_json::from_str(arguments).expect("arguments are JSON");
        arguments["for"].as_str().unwrap_or_default().to_owned()
    };
    match &request.work {
        Work::Call { arguments_json, .. } | Work::Prompt { arguments_json, .. } => of(arguments_json),
        Work::Intercept(intercept) => of(&intercept.arguments_json),
        Work::Read { uri } => uri.trim_start_matches("x://").to_owned(),
        Work::Complete(_) => String::new(),
    }
}

impl Tool {
    pub(super) fn new(habits: Habits) -> Self {
        let middleware = |name: &str, priority| RegisterMiddlewareRequest { name: name.into(), priority };
        let mut tools: Vec<ToolDefinition> = ["a", "b", "may", "must"].into_iter().map(definition).collect();
        tools[2].task_support = true;
        tools[3].task_required = true;
        let offer = Offer {
            tools,
            hidden: vec!["b".into()],
            middleware: match habits.has_middleware {
                true => vec![middleware("m", 1), middleware("n", 0)],
                false => Vec::new(),
            },
            concurrency: habits.concurrency,
            ..Offer::default()
        };
        Self {
            peer: Peer::new(offer),
            reader: FrameReader::new(1 << 20),
            bridge_reader: Reader::new(1 << 20),
            to_tool: Vec::new(),
            to_bridge: Vec::new(),
            running: Vec::new(),
            habits,
        }
    }

    /// The bridge said this; it has yet to arrive.
    pub(super) fn hear(&mut self, told: &Envelope) {
        self.to_tool.extend(frame::encode(told));
    }

    fn say(&mut self, told: &Envelope) {
        self.to_bridge.extend(frame::encode(told));
    }

    /// Takes up to `count` bytes in.
    pub(super) fn receive(&mut self, count: usize) {
        let bytes: Vec<u8> = self.to_tool.drain(..count.min(self.to_tool.len())).collect();
        let mut steps = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let count = rest.len().min(self.reader.space().len()).min(100_000);
            self.reader.space()[..count].copy_from_slice(&rest[..count]);
            self.reader.advance(count);
            rest = &rest[count..];
            while let Some(Frame::Body(body)) = self.reader.next().expect("the bridge keeps to the frames") {
                let received = Envelope::decode(&*body).expect("the bridge sends envelopes");
                self.peer.receive(received, &mut steps);
            }
        }
        for step in steps {
            self.take(step);
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Send(mut told) => {
                if let (Some(Msg::ToolList(list)), 0) = (&mut told.msg, self.habits.concurrency) {
                    list.max_concurrent_calls = 0;
                }
                self.say(&told);
            }
            Step::Run(request) => self.begin(request),
            Step::Answer { request_id, message } => {
                let handler = self.running.iter_mut().find(|it| it.asked.contains(&request_id));
                if let Some(handler) = handler {
                    handler.asked.retain(|asked| *asked != request_id);
                    let told = format!("{message:?}");
                    let is_for_it = told.contains(&handler.mark) || says_no(&message);
                    assert!(is_for_it, "for {}: {told}", handler.mark);
                }
            }
            Step::TakenBack { request_id } => {
                self.running.iter_mut().for_each(|it| it.asked.retain(|asked| *asked != request_id));
            }
            Step::Restore(_) => {}
        }
    }

    fn begin(&mut self, request: Request) {
        let mark = mark(&request);
        if let Some(given) = &request.input {
            assert!(given.state.is_empty() || given.state == mark.as_bytes(), "{mark}: {given:?}");
            // Without a state there is nothing that says which keys these answers can have.
            let is_known = |answer: &InputAnswer| given.state.is_empty() || answer.key.starts_with('k');
            assert!(given.answers.iter().all(is_known), "{given:?}");
            let for_others =
                given.answers.iter().filter(|it| !format!("{it:?}").contains(&mark)).map(|it| &it.answer);
            for answer in for_others.flatten() {
                use crate::wire::protomcp::input_answer::Answer;
                let is_no = match answer {
                    Answer::Elicit(it) => !it.error.is_empty() || it.action != "accept",
                    Answer::Sampling(it) => !it.error.is_empty(),
                    Answer::Roots(it) => !it.error.is_empty(),
                };
                assert!(is_no, "for {mark}: {answer:?}");
            }
        }
        self.running.push(Handler { request, mark, asked: Vec::new(), is_task: false });
        let counted = self.running.iter().filter(|handler| !handler.is_task).count();
        assert!(counted <= self.habits.concurrency.max(1) as usize, "more than was announced");
    }

    /// Hands up to `count` bytes out.
    pub(super) fn send(&mut self, count: usize, mut hand_out: impl FnMut(Received<'_>)) {
        let bytes: Vec<u8> = self.to_bridge.drain(..count.min(self.to_bridge.len())).collect();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let count = rest.len().min(self.bridge_reader.space().len()).min(100_000);
            self.bridge_reader.space()[..count].copy_from_slice(&rest[..count]);
            self.bridge_reader.advance(count);
            rest = &rest[count..];
            while let Some(received) = self.bridge_reader.next().expect("the peer keeps to the frames") {
                hand_out(received);
            }
        }
    }

    /// A handler does something, unless it waits for an answer.
    pub(super) fn work(&mut self, random: &mut Random, habits: Habits) {
        if self.running.is_empty() {
            return;
        }
        let at = random.below(self.running.len());
        let handler = &self.running[at];
        if self.is_idle(handler, habits) || (!handler.asked.is_empty() && !random.once_in(16)) {
            return;
        }
        match (&handler.request.work, random.below(18)) {
            (Work::Call { .. } | Work::Prompt { .. } | Work::Read { .. }, 0..4) => {
                for _ in 0..1 + random.below(3) {
                    self.ask(at, random);
                }
            }
            (Work::Call { .. } | Work::Prompt { .. } | Work::Read { .. }, 4..6) => {
                let count = random.below(3) as u32;
                let questions = (0..count).map(|n| question(&handler.mark, n, random)).collect();
                let keeps_state = count == 0 || random.once_in(2);
                let state = if keeps_state { handler.mark.clone().into_bytes() } else { Vec::new() };
                self.finish(at, Msg::InputRequired(InputRequired { questions, state }));
            }
            (Work::Call { .. }, 6..8) => {
                if let Ok(started) = self.peer.start_task(&handler.request.cancelled) {
                    self.running[at].is_task = true;
                    started.announcement.iter().for_each(|told| self.say(told));
                }
            }
            (Work::Call { .. }, 8..11) => self.report(at, random),
            _ => self.finish_well(at, random),
        }
    }

    /// All handlers that wait for nothing come to their end.
    pub(super) fn finish_all(&mut self, random: &mut Random, habits: Habits) {
        for at in (0..self.running.len()).rev() {
            let handler = &self.running[at];
            if handler.asked.is_empty() && !self.is_idle(handler, habits) {
                self.finish_well(at, random);
            }
        }
    }

    /// Whether a handler goes on for nobody, for ever.
    fn is_idle(&self, handler: &Handler, habits: Habits) -> bool {
        habits.is_stubborn && handler.request.cancelled.get()
    }

    fn ask(&mut self, at: usize, random: &mut Random) {
        let handler = &self.running[at];
        let is_known = self.habits.concurrency == 0 && !handler.is_task && random.once_in(2);
        let call = if is_known { String::new() } else { handler.request.request_id.clone() };
        let msg = match asked_for(&handler.mark, random) {
            Question::Elicit(it) => Msg::ElicitRequest(ElicitRequest { call_request_id: call, ..it }),
            Question::Sampling(it) => Msg::SamplingRequest(SamplingRequest { call_request_id: call, ..it }),
            Question::Roots(_) => Msg::ListRootsRequest(ListRootsRequest { call_request_id: call }),
        };
        let asked = self.peer.ask(msg);
        self.running[at].asked.push(asked.request_id.clone());
        self.say(&asked);
    }

    fn report(&mut self, at: usize, random: &mut Random) {
        let Handler { request, mark, .. } = &self.running[at];
        let Work::Call { progress_token, .. } = &request.work else { return };
        let number = random.below(100) as i64;
        let names = vec!["b".to_owned()];
        let msg = match random.below(5) {
            0 => {
                self.peer.note_progress(&request.cancelled, number, 100, mark.clone());
                let (progress_token, message) = (progress_token.clone(), mark.clone());
                Msg::Progress(ProgressNotification { progress_token, progress: number, total: 100, message })
            }
            1 => match self.peer.note_status(&request.cancelled, mark.clone()) {
                Some(told) => return self.say(&told),
                None => return,
            },
            2 => Msg::Log(LogMessage {
                level: "error".into(),
                data_json: json!(mark).to_string(),
                call_request_id: request.request_id.clone(),
                ..LogMessage::default()
            }),
            3 => Msg::EnableTools(EnableToolsRequest { tool_names: names }),
            _ => Msg::DisableTools(DisableToolsRequest { tool_names: names }),
        };
        self.say(&envelope(String::new(), msg));
    }

    fn finish_well(&mut self, at: usize, random: &mut Random) {
        let Handler { request, mark, .. } = &self.running[at];
        let answer = match &request.work {
            Work::Call { .. } => {
                let more = if random.once_in(40) { 300_000 } else { 0 };
                let text = format!("{mark}{}", "z".repeat(more));
                let result_json = json!([{"type": "text", "text": text}]).to_string();
                let enable_tools = if random.once_in(5) { vec!["b".to_owned()] } else { Vec::new() };
                let (is_error, refuses) = (random.once_in(6), random.once_in(20));
                let error = refuses.then(|| ToolError { rpc_code: 7, ..ToolError::default() });
                let response =
                    CallToolResponse { is_error, result_json, enable_tools, error, ..Default::default() };
                Msg::CallResult(response)
            }
            Work::Read { uri } => {
                let content = ResourceContent { uri: uri.clone(), text: mark.clone(), ..Default::default() };
                Msg::ReadResourceResponse(ReadResourceResponse { contents: vec![content], error: None })
            }
            Work::Prompt { .. } => {
                Msg::GetPromptResponse(GetPromptResponse { description: mark.clone(), ..Default::default() })
            }
            Work::Complete(_) => Msg::CompletionResponse(CompletionResponse::default()),
            Work::Intercept(intercept) => {
                let mut arguments: Value =
                    serde_json::from_str(&intercept.arguments_json).expect("arguments are JSON");
                arguments["seen"] = json!(true);
                let changes = random.once_in(3);
                let arguments_json = if changes { arguments.to_string() } else { String::new() };
                let reject = random.once_in(7);
                Msg::MiddlewareInterceptResponse(MiddlewareInterceptResponse {
                    arguments_json,
                    reject,
                    ..Default::default()
                })
            }
        };
        self.finish(at, answer);
    }

    fn finish(&mut self, at: usize, answer: Msg) {
        let Handler { request, .. } = self.running.swap_remove(at);
        let mut steps = Vec::new();
        let next = self.peer.finish(request, answer, &mut steps);
        for step in steps {
            self.take(step);
        }
        next.into_iter().for_each(|request| self.begin(request));
    }
}

fn says_no(answer: &Msg) -> bool {
    match answer {
        Msg::ElicitResponse(it) => !it.error.is_empty() || it.action != "accept",
        Msg::SamplingResponse(it) => !it.error.is_empty(),
        Msg::ListRootsResponse(it) => !it.error.is_empty(),
        _ => false,
    }
}

fn question(mark: &str, number: u32, random: &mut Random) -> InputQuestion {
    InputQuestion { key: format!("k{number}"), question: Some(asked_for(mark, random)) }
}

fn asked_for(mark: &str, random: &mut Random) -> Question {
    let message = mark.to_owned();
    match random.below(4) {
        0 => Question::Roots(ListRootsRequest::default()),
        1 => Question::Sampling(SamplingRequest {
            messages_json: "[]".into(),
            system_prompt: message,
            ..Default::default()
        }),
        2 => Question::Elicit(ElicitRequest {
            message,
            mode: "url".into(),
            url: "https://a.example".into(),
            ..Default::default()
        }),
        _ => Question::Elicit(ElicitRequest { message, ..Default::default() }),
    }
}

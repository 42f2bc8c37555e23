//! The hosts of a story: what they ask, how they answer and come back, and what they must never
//! hear.
//!
//! Each request carries a mark: the session in the handshake era, the principal in the modern one.
//! Tools put it on all that they say, so that nobody hears a mark of another.

mod heard;

use std::collections::{BTreeMap, BTreeSet};

use super::super::modern::offering;
use super::*;

const TASKS: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = "io.modelcontextprotocol/related-task";
const STREAM: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Default)]
pub(super) struct Hosts {
    all: Vec<Host>,
    tickets: Vec<Ticket>,
    tasks: Vec<Task>,
    last_id: u64,
    last_session: u64,
}

struct Host {
    session: SessionId,
    principal: &'static str,
    is_open: bool,
    /// What it said in `initialize`, if it did.
    handshake: Option<Handshake>,
    asked: BTreeMap<u64, Asked>,
    /// Requests of the bridge that it has not answered.
    owes: Vec<(u64, String)>,
    listens: BTreeMap<u64, Value>,
}

#[derive(Clone)]
struct Handshake {
    capabilities: Value,
    has_tasks: bool,
}

/// A request of a host.
struct Asked {
    what: What,
    route: Route,
    answers: u32,
    is_cancelled: bool,
    /// The exchange was closed without an answer.
    is_unanswered: bool,
    progress: Option<i64>,
    /// The task that it became.
    task: Option<usize>,
}

enum What {
    /// It may be answered with questions or with a task.
    Work {
        method: &'static str,
        params: Value,
        is_modern: bool,
    },
    /// About a task; with the keys whose questions it answers.
    Task {
        method: &'static str,
        task: usize,
        is_its: bool,
        keys: Vec<String>,
    },
    Listen,
    Other,
    /// It has to be refused.
    Bad,
}

/// What a host may come back with.
struct Ticket {
    method: &'static str,
    params: Value,
    principal: &'static str,
    state: Value,
    questions: Vec<(String, String)>,
    /// Its call waits in the tool process; such a state is good for one return.
    is_parked: bool,
    is_used: bool,
}

struct Task {
    id: String,
    host: usize,
    is_modern: bool,
    /// How it ended.
    over: Option<(Value, Value)>,
    /// It is no longer kept.
    is_gone: bool,
    questions: Vec<(String, String)>,
    answered: BTreeSet<String>,
}

impl Host {
    fn marks(&self) -> [String; 2] {
        [format!("<s:{}>", self.session.0), format!("<p:{}>", self.principal)]
    }

    /// On stdio there is one exchange, elsewhere one for each request.
    fn route(&self, exchange: u64) -> Route {
        let exchange = if self.session == HOST { 0 } else { exchange };
        Route { session: self.session, exchange }
    }

    fn knows_tasks(&self) -> bool {
        self.handshake.as_ref().is_some_and(|handshake| handshake.has_tasks)
    }
}

fn everything() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

/// Whether these capabilities allow a request like this.
fn declare(capabilities: &Value, method: &str, params: &Value) -> bool {
    let has = |pointer: &str| capabilities.pointer(pointer).is_some_and(Value::is_object);
    match (method, params["mode"].as_str()) {
        ("roots/list", _) => has("/roots"),
        ("sampling/createMessage", _) => has("/sampling"),
        ("elicitation/create", Some("url")) => has("/elicitation/url"),
        ("elicitation/create", _) => has("/elicitation/form") || capabilities["elicitation"] == json!({}),
        _ => panic!("{method} is no question"),
    }
}

fn answer_to(method: &str, mark: &str, random: &mut Random) -> Value {
    match (method, random.below(4)) {
        ("elicitation/create", 0) => json!({"action": "decline"}),
        ("elicitation/create", _) => json!({"action": "accept", "content": {"for": mark}}),
        ("roots/list", _) => json!({"roots": [{"uri": format!("file:///{mark}")}]}),
        _ => json!({"role": "assistant", "content": {"type": "text", "text": mark}, "model": "m"}),
    }
}

/// All marks in a message.
fn marks(message: &Value) -> Vec<String> {
    let text = message.to_string();
    let begins = text.match_indices("<s:").chain(text.match_indices("<p:"));
    begins.map(|(at, _)| text[at..=at + text[at..].find('>').expect("a whole mark")].to_owned()).collect()
}

impl Hosts {
    /// The host of stdio, which stays to the end.
    pub(super) fn first(&mut self, scene: &mut Scene) {
        let handshake = Handshake { capabilities: everything(), has_tasks: true };
        self.enter(HOST, "", Some(handshake.clone()));
        self.shake_hands(scene, 0, &handshake, "2025-11-25");
    }

    fn enter(&mut self, session: SessionId, principal: &'static str, handshake: Option<Handshake>) {
        self.all.push(Host {
            session,
            principal,
            is_open: true,
            handshake,
            asked: BTreeMap::new(),
            owes: Vec::new(),
            listens: BTreeMap::new(),
        });
    }

    fn shake_hands(&mut self, scene: &mut Scene, host: usize, handshake: &Handshake, revision: &str) {
        let info = json!({"name": "h", "version": "1"});
        let params =
            json!({"protocolVersion": revision, "capabilities": handshake.capabilities, "clientInfo": info});
        self.ask(scene, host, "initialize", params, What::Other);
        let line = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        scene.say_from(Route::session(self.all[host].session), &line);
    }

    fn come_or_go(&mut self, scene: &mut Scene, random: &mut Random) {
        let open: Vec<usize> = (1..self.all.len()).filter(|&at| self.all[at].is_open).collect();
        if open.len() > 2 || (!open.is_empty() && random.once_in(2)) {
            let host = &mut self.all[open[random.below(open.len())]];
            host.is_open = false;
            host.owes.clear();
            return scene.input(Input::SessionClosed(host.session));
        }
        self.last_session += 1;
        let session = SessionId(self.last_session);
        let principal = ["", "ann", "bob"][random.below(3)];
        scene.input(Input::SessionOpened { session, lasts: true, principal: principal.into() });
        let revision = ["2025-11-25", "2025-06-18"][random.below(2)];
        let capabilities = if random.once_in(4) { json!({}) } else { everything() };
        let handshake = Handshake { capabilities, has_tasks: revision == "2025-11-25" };
        let handshake = (!random.once_in(3)).then_some(handshake);
        self.enter(session, principal, handshake.clone());
        if let Some(handshake) = handshake {
            self.shake_hands(scene, self.all.len() - 1, &handshake, revision);
        }
    }

    fn some_host(&self, random: &mut Random) -> usize {
        let open: Vec<usize> = (0..self.all.len()).filter(|&at| self.all[at].is_open).collect();
        open[random.below(open.len())]
    }

    fn ask(&mut self, scene: &mut Scene, host: usize, method: &str, params: Value, what: What) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let route = self.all[host].route(id);
        let asked = Asked {
            what,
            route,
            answers: 0,
            is_cancelled: false,
            is_unanswered: false,
            progress: None,
            task: None,
        };
        self.all[host].asked.insert(id, asked);
        scene.say_from(route, &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// One host does something.
    pub(super) fn act(&mut self, scene: &mut Scene, random: &mut Random) {
        let host = self.some_host(random);
        match random.below(22) {
            0..6 => self.work(scene, random, host, "tools/call"),
            6 => self.work(scene, random, host, "prompts/get"),
            7 => self.work(scene, random, host, "resources/read"),
            8 => {
                let method = ["tools/list", "resources/list", "prompts/list"][random.below(3)];
                let is_old = self.all[host].handshake.is_some() && random.once_in(2);
                let params = if is_old { json!({}) } else { json!({"_meta": offering(json!({}))}) };
                self.ask(scene, host, method, params, What::Other);
            }
            9 | 10 => self.cancel(scene, random, host),
            11..14 => self.come_back(scene, random),
            14..17 => self.look_after_a_task(scene, random),
            17 => self.listen(scene, random, host),
            18 => self.come_or_go(scene, random),
            _ => self.answer_one(scene, random, host),
        }
    }

    /// Answers what is owed, and some of what is shown.
    pub(super) fn settle(&mut self, scene: &mut Scene, random: &mut Random) {
        for host in 0..self.all.len() {
            if self.all[host].is_open && random.once_in(2) {
                self.answer_one(scene, random, host);
            }
        }
        if random.once_in(2) {
            self.come_back(scene, random);
            self.look_after_a_task(scene, random);
        }
    }

    fn work(&mut self, scene: &mut Scene, random: &mut Random, host: usize, method: &'static str) {
        let of = &self.all[host];
        let is_modern = of.handshake.is_none() || random.once_in(2);
        let mark = of.marks()[usize::from(is_modern)].clone();
        let mut params = match method {
            "resources/read" => json!({"uri": format!("x://{mark}")}),
            "prompts/get" => json!({"name": "p", "arguments": {"for": mark}}),
            _ => {
                let name = ["a", "b", "may", "may", "must", "missing"][random.below(6)];
                json!({"name": name, "arguments": {"for": mark, "n": self.last_id}})
            }
        };
        let mut meta = json!({});
        if is_modern {
            let mut capabilities =
                [everything(), json!({"elicitation": {}}), json!({})][random.below(3)].clone();
            if random.once_in(2) {
                capabilities["extensions"] = json!({TASKS: {}});
            }
            meta = offering(capabilities);
        } else if of.knows_tasks() && method == "tools/call" && random.once_in(2) {
            let ttls = [json!({}), json!({"ttl": 90_000}), json!({"ttl": 1500}), json!({"ttl": 0})];
            params["task"] = ttls[random.below(4)].clone();
        }
        if random.once_in(2) {
            meta["progressToken"] = json!(self.last_id + 1);
        }
        params["_meta"] = meta;
        let what = What::Work { method, params: params.clone(), is_modern };
        self.ask(scene, host, method, params, what);
    }

    fn cancel(&mut self, scene: &mut Scene, random: &mut Random, host: usize) {
        let of = &mut self.all[host];
        let ids: Vec<u64> = of.asked.keys().copied().collect();
        let open: Vec<u64> = ids.iter().copied().filter(|id| of.asked[id].answers == 0).collect();
        let from = if open.is_empty() || random.once_in(5) { &ids } else { &open };
        let Some(&id) = from.get(random.below(from.len().max(1))) else { return };
        if let Some(asked) = of.asked.get_mut(&id) {
            asked.is_cancelled |= asked.answers == 0;
        }
        of.listens.remove(&id);
        let params = json!({"requestId": id, "reason": "no more"});
        let line = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        scene.say_from(Route::session(of.session), &line);
    }

    /// A host tries again what was answered with questions.
    fn come_back(&mut self, scene: &mut Scene, random: &mut Random) {
        if self.tickets.is_empty() {
            return;
        }
        // Mostly one of the latest.
        let from = self.tickets.len().saturating_sub(if random.once_in(4) { usize::MAX } else { 3 });
        let at = from + random.below(self.tickets.len() - from);
        let way = random.below(14);
        let Some(host) = self.host_like(random, self.tickets[at].principal, way == 10) else { return };
        let ticket = &mut self.tickets[at];
        let mark = format!("<p:{}>", ticket.principal);
        let mut params = ticket.params.clone();
        if !params["_meta"]["progressToken"].is_null() {
            params["_meta"]["progressToken"] = json!(self.last_id + 1);
        }
        if random.once_in(6) {
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
        }
        let again = params.clone();
        let mut responses = json!({"unknown": 1});
        for (key, method) in &ticket.questions {
            if way != 6 || random.once_in(2) {
                responses[key] = answer_to(method, &mark, random);
            }
        }
        params["inputResponses"] = responses;
        params["requestState"] = ticket.state.clone();
        let is_bad = match way {
            7 if !ticket.questions.is_empty() && !ticket.is_parked => {
                params["inputResponses"][&ticket.questions[0].0] = json!(7);
                true
            }
            // Of a call that is over the answers are not looked at any more.
            7 if !ticket.questions.is_empty() => {
                params["inputResponses"][&ticket.questions[0].0] = json!(7);
                ticket.is_used
            }
            8 => {
                let state = ticket.state.as_str().expect("a state is a text");
                let at = 3 + random.below(state.len() - 3);
                let other = if &state[at..=at] == "A" { "B" } else { "A" };
                params["requestState"] = json!(format!("{}{other}{}", &state[..at], &state[at + 1..]));
                true
            }
            9 if ticket.method == "tools/call" => {
                params["arguments"]["n"] = json!("another");
                true
            }
            10 => true,
            11 => {
                params["requestState"] = Value::Null;
                false
            }
            _ => std::mem::replace(&mut ticket.is_used, true) && ticket.is_parked,
        };
        let method = ticket.method;
        let what = if is_bad { What::Bad } else { What::Work { method, params: again, is_modern: true } };
        self.ask(scene, host, method, params, what);
    }

    /// An open host of a principal, or of another one.
    fn host_like(&self, random: &mut Random, principal: &str, is_other: bool) -> Option<usize> {
        let is_like = |host: &Host| host.is_open && (host.principal != principal) == is_other;
        let like: Vec<usize> = (0..self.all.len()).filter(|&at| is_like(&self.all[at])).collect();
        (!like.is_empty()).then(|| like[random.below(like.len())])
    }

    fn look_after_a_task(&mut self, scene: &mut Scene, random: &mut Random) {
        if self.tasks.is_empty() {
            return;
        }
        let from = self.tasks.len().saturating_sub(if random.once_in(4) { usize::MAX } else { 3 });
        let at = from + random.below(self.tasks.len() - from);
        let task = &self.tasks[at];
        let owner = &self.all[task.host];
        let is_its = !random.once_in(8);
        let host = if is_its && !task.is_modern {
            owner.is_open.then_some(task.host)
        } else {
            self.host_like(random, owner.principal, !is_its)
        };
        let Some(host) = host else { return };
        if !task.is_modern && !self.all[host].knows_tasks() {
            return;
        }
        let mut params = json!({"taskId": task.id});
        let mut keys = Vec::new();
        let method = match (task.is_modern, random.below(8)) {
            (_, 0..3) => "tasks/get",
            (_, 3) => "tasks/cancel",
            (false, 4) => {
                self.ask(scene, host, "tasks/list", json!({}), What::Other);
                return;
            }
            (false, _) => "tasks/result",
            (true, _) => {
                let mut responses = json!({"unknown": 1});
                for (key, method) in &task.questions {
                    if !random.once_in(3) {
                        responses[key] = answer_to(method, &owner.marks()[1], random);
                        keys.push(key.clone());
                    }
                }
                params["inputResponses"] = responses;
                "tasks/update"
            }
        };
        if task.is_modern {
            params["_meta"] = offering(json!({"extensions": {TASKS: {}}}));
        }
        self.ask(scene, host, method, params, What::Task { method, task: at, is_its, keys });
    }

    fn listen(&mut self, scene: &mut Scene, random: &mut Random, host: usize) {
        let principal = self.all[host].principal;
        let is_its = |task: &&Task| task.is_modern && self.all[task.host].principal == principal;
        let ids: Vec<&str> = self.tasks.iter().filter(is_its).map(|task| task.id.as_str()).collect();
        let filter = json!({"toolsListChanged": random.once_in(2), "taskIds": ids});
        let meta = offering(json!({"extensions": {TASKS: {}}}));
        let params = json!({"notifications": filter, "_meta": meta});
        self.all[host].listens.insert(self.last_id + 1, filter);
        self.ask(scene, host, "subscriptions/listen", params, What::Listen);
    }

    fn answer_one(&mut self, scene: &mut Scene, random: &mut Random, host: usize) {
        let of = &mut self.all[host];
        if of.owes.is_empty() {
            return;
        }
        let (id, method) = of.owes.swap_remove(random.below(of.owes.len()));
        let mut line = json!({"jsonrpc": "2.0", "id": id});
        match random.below(8) {
            0 => line["error"] = json!({"code": -1, "message": "no"}),
            1 => line["result"] = json!(7),
            2 => return, // It never answers.
            _ => line["result"] = answer_to(&method, &of.marks()[0], random),
        }
        scene.say_from(Route::session(of.session), &line);
    }
}

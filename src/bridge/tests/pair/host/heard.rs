//! What hosts hear, and what they must never hear.

use super::*;

impl Hosts {
    /// A message arrives.
    pub(in super::super) fn hear(&mut self, route: Route, message: &Value, sort: Sort) {
        let at = self.all.iter().position(|host| host.session == route.session).expect("a known session");
        let host = &self.all[at];
        assert!(host.is_open, "a session that is over hears {message}");
        let own = host.marks();
        assert!(marks(message).iter().all(|mark| own.contains(mark)), "{own:?} hears {message}");
        if route.exchange != 0 {
            let asked = &host.asked[&route.exchange];
            assert!(asked.answers == 0 && !asked.is_unanswered, "an exchange that is over hears {message}");
        }
        let is_answer = matches!(sort, Sort::Answer { .. });
        match (message["id"].as_u64(), message["method"].as_str()) {
            (Some(id), None) => {
                assert!(is_answer);
                self.answered(at, id, route, message);
            }
            (Some(id), Some(method)) => {
                assert!(!is_answer);
                let handshake = host.handshake.as_ref().expect("only hosts of the handshake era are asked");
                assert!(declare(&handshake.capabilities, method, &message["params"]), "{message}");
                self.all[at].owes.push((id, method.to_owned()));
            }
            (None, Some(method)) => {
                assert!(!is_answer);
                self.notified(at, method, &message["params"]);
            }
            (None, None) => panic!("nobody asked for {message}"),
        }
    }

    /// An exchange is closed without an answer.
    pub(in super::super) fn hear_nothing(&mut self, route: Route) {
        if route.exchange == 0 {
            return; // On stdio it does not say which.
        }
        let host = self.all.iter_mut().find(|host| host.session == route.session).expect("a known session");
        assert!(host.is_open);
        let asked = host.asked.get_mut(&route.exchange).expect("an exchange");
        assert!(asked.is_cancelled && asked.answers == 0 && !asked.is_unanswered);
        asked.is_unanswered = true;
    }

    fn answered(&mut self, at: usize, id: u64, route: Route, message: &Value) {
        let host = &mut self.all[at];
        let asked = host.asked.get_mut(&id).unwrap_or_else(|| panic!("nobody asked: {message}"));
        asked.answers += 1;
        assert!(asked.answers == 1 && !asked.is_cancelled, "one answer too many: {message}");
        assert_eq!(asked.route, route, "{message}");
        let (result, error) = (&message["result"], &message["error"]);
        match &mut asked.what {
            What::Bad => assert_eq!(error["code"], -32602, "{message}"),
            What::Other => {}
            What::Listen => panic!("no stream ends here: {message}"),
            What::Work { method, params, is_modern } => {
                let (method, is_modern) = (*method, *is_modern);
                let params = std::mem::take(params);
                match result["resultType"].as_str() {
                    Some("input_required") => {
                        assert!(is_modern);
                        self.asked_in_answer(at, method, params, result);
                    }
                    Some("task") => {
                        let capabilities = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
                        assert!(capabilities["extensions"][TASKS].is_object(), "{message}");
                        asked.task = Some(self.tasks.len());
                        self.task_created(at, true, result);
                    }
                    kind => {
                        assert_eq!(kind.is_some(), is_modern && error.is_null(), "{message}");
                        if params["task"].is_object() && error.is_null() {
                            assert!(!is_modern);
                            asked.task = Some(self.tasks.len());
                            self.task_created(at, false, &result["task"]);
                        }
                    }
                }
            }
            What::Task { method, task, is_its, keys } => {
                let (method, task, is_its, keys) = (*method, *task, *is_its, std::mem::take(keys));
                if !is_its {
                    assert_eq!(error["code"], -32602, "{message}");
                    return;
                }
                self.told_of_task(method, task, keys, message);
            }
        }
    }

    fn asked_in_answer(&mut self, at: usize, method: &'static str, params: Value, result: &Value) {
        let capabilities = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        let mut questions = Vec::new();
        for (key, question) in result["inputRequests"].as_object().into_iter().flatten() {
            let method = question["method"].as_str().expect("a question has a method");
            assert!(declare(capabilities, method, &question["params"]), "{capabilities}: {result}");
            questions.push((key.clone(), method.to_owned()));
        }
        let is_parked = questions.first().is_some_and(|(key, _)| !key.starts_with('k'));
        let (principal, state) = (self.all[at].principal, result["requestState"].clone());
        self.tickets.push(Ticket { method, params, principal, state, questions, is_parked, is_used: false });
    }

    fn task_created(&mut self, host: usize, is_modern: bool, task: &Value) {
        assert!(task["status"] == "working" || is_modern && task["status"] == "input_required", "{task}");
        let id = task["taskId"].as_str().expect("a task has an id").to_owned();
        self.tasks.push(Task {
            id,
            host,
            is_modern,
            over: None,
            is_gone: false,
            questions: Vec::new(),
            answered: BTreeSet::new(),
        });
    }

    fn told_of_task(&mut self, method: &str, task: usize, keys: Vec<String>, message: &Value) {
        if message["error"].is_object() {
            let of = &mut self.tasks[task];
            let text = message["error"]["message"].as_str().expect("errors have messages");
            if text.contains("no longer kept") {
                of.is_gone = true;
            } else if method == "tasks/cancel" {
                assert!(!of.is_modern && text.contains("ended already"), "{message}");
            } else {
                // The call's own error.
                assert!(method == "tasks/result", "{message}");
            }
            return;
        }
        let result = &message["result"];
        assert!(!self.tasks[task].is_gone, "it is back: {message}");
        match method {
            "tasks/get" => self.task_seen(task, result),
            "tasks/cancel" if !self.tasks[task].is_modern => {
                assert_eq!(result["status"], "cancelled");
                self.task_seen(task, result);
            }
            "tasks/result" => {
                assert_eq!(result["_meta"][RELATED]["taskId"], self.tasks[task].id, "{message}");
            }
            "tasks/update" => self.tasks[task].answered.extend(keys),
            _ => {}
        }
    }

    /// A task never leaves the end that it had, and asks nothing twice.
    fn task_seen(&mut self, task: usize, seen: &Value) {
        let task = &mut self.tasks[task];
        let result =
            [&seen["result"], &seen["error"], &seen["statusMessage"]].map(Value::to_string).join(",");
        let now = (seen["status"].clone(), json!(result));
        if let Some(over) = &task.over {
            assert_eq!(*over, now, "an end of a task changed");
        }
        let is_over = !matches!(seen["status"].as_str(), Some("working" | "input_required"));
        task.over = is_over.then_some(now);
        let requests = seen["inputRequests"].as_object();
        assert_eq!(requests.is_some(), task.is_modern && seen["status"] == "input_required", "{seen}");
        task.questions.clear();
        for (key, question) in requests.into_iter().flatten() {
            assert!(!task.answered.contains(key), "asked and answered: {seen}");
            let method = question["method"].as_str().expect("a question has a method").to_owned();
            task.questions.push((key.clone(), method));
        }
    }

    fn notified(&mut self, at: usize, method: &str, params: &Value) {
        let host = &mut self.all[at];
        if let Some(stream) = params["_meta"].get(STREAM) {
            let filter = stream.as_u64().and_then(|id| host.listens.get(&id));
            let filter = filter.unwrap_or_else(|| panic!("a stream that is closed hears {params}"));
            match method {
                "notifications/tools/list_changed" => assert_eq!(filter["toolsListChanged"], true),
                "notifications/subscriptions/acknowledged" => {}
                "notifications/tasks" => {
                    let ids = filter["taskIds"].as_array().expect("a list of tasks");
                    assert!(ids.contains(&params["taskId"]), "{params}");
                    self.task_told(params);
                }
                _ => panic!("{method} on a stream"),
            }
            return;
        }
        assert!(host.handshake.is_some() || method.ends_with("/progress") || method.ends_with("/message"));
        match method {
            "notifications/progress" => {
                let token = params["progressToken"].as_u64().expect("one of ours");
                let asked = host.asked.get_mut(&token).expect("one of ours");
                let is_running_task = asked.task.is_some_and(|task| {
                    let task = &self.tasks[task];
                    !task.is_modern && task.over.is_none() && params["_meta"][RELATED]["taskId"] == *task.id
                });
                assert!(asked.answers == 0 && !asked.is_cancelled || is_running_task, "{params}");
                let progress = params["progress"].as_i64();
                assert!(progress > asked.progress, "progress does not rise");
                asked.progress = progress;
            }
            "notifications/cancelled" => {
                let id = params["requestId"].as_u64().expect("one of the bridge's ids");
                host.owes.retain(|(owed, _)| *owed != id);
            }
            "notifications/tasks/status" => self.task_told(params),
            _ => {}
        }
    }

    fn task_told(&mut self, params: &Value) {
        let task = self.tasks.iter().position(|task| params["taskId"] == *task.id);
        self.task_seen(task.expect("a task of this host"), params);
    }

    /// Each request has its answer.
    pub(in super::super) fn have_settled(&self) {
        for host in self.all.iter().filter(|host| host.is_open) {
            for (id, asked) in &host.asked {
                let is_stream = matches!(asked.what, What::Listen) && !asked.is_cancelled;
                let expected = u32::from(!asked.is_cancelled && !is_stream);
                assert_eq!(asked.answers, expected, "request {id} of {:?}", host.session);
                let is_closed = asked.is_cancelled && asked.route.exchange != 0;
                assert_eq!(asked.is_unanswered, is_closed, "request {id} of {:?}", host.session);
            }
        }
    }
}

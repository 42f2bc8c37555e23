//! What is told to those who watch over us: whether anything serves, and what was counted.

use super::*;
use crate::limits::{QUICK_DEATHS_MAX, RETRY};
use crate::metrics::Page;

impl Scene {
    fn metrics(&self) -> String {
        let mut out = Vec::new();
        self.bridge.write_metrics(std::iter::empty(), &mut Page::new(&mut out));
        String::from_utf8(out).expect("metrics are text")
    }

    /// The number behind a sample's name and labels.
    #[track_caller]
    fn metric(&self, sample: &str) -> u64 {
        let text = self.metrics();
        let found = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("no {sample} in {text}")).parse().expect("a whole number")
    }
}

#[test]
fn health_follows_the_life_of_the_tool_process() {
    let mut scene = Scene::building(Some(Duration::from_secs(600)));
    assert_eq!(scene.bridge.health(), Health::Building);
    assert_eq!(scene.metric("pmcp_ready"), 0);
    scene.input(Input::ToolLaunched(Generation(1)));
    assert_eq!(scene.bridge.health(), Health::Starting);
    scene.initialize("2025-11-25");
    scene.started(1);
    assert_eq!(scene.bridge.health(), Health::Starting);
    scene.handshake(1, &["a"], 0);
    assert_eq!(scene.bridge.health(), Health::Serving(Generation(1)));
    assert_eq!(scene.bridge.health().reason(scene.now), None);
    assert_eq!(scene.metric("pmcp_ready"), 1);
    scene.input(Input::Reload { cause: "a.py changed".into() });
    assert!(scene.bridge.health() == Health::Serving(Generation(1)));
    scene.exited(2, "exited with status 1", "");
    scene.exited(1, "exited with status 3", "a secret");
    let Health::Restarting(Some(_)) = scene.bridge.health() else { panic!("{:?}", scene.bridge.health()) };
    let reason = scene.bridge.health().reason(scene.now).unwrap();
    assert!(reason.contains("within 1 s") && !reason.contains("secret"), "{reason}");
    scene.input(Input::Stop { reason: "SIGTERM".into() });
    assert_eq!(scene.bridge.health(), Health::Ending);
}

#[test]
fn a_reload_is_seen_until_it_is_over() {
    let mut scene = Scene::serving(&["a"]);
    assert!(!scene.bridge.reloads());
    scene.input(Input::Reload { cause: "a.py changed".into() });
    assert!(scene.bridge.reloads());
    scene.started(2);
    scene.handshake(2, &["a"], 0);
    assert!(!scene.bridge.reloads());
    scene.input(Input::Reload { cause: "a.py changed".into() });
    scene.exited(3, "exited with status 1", "");
    assert!(!scene.bridge.reloads());
    let counted =
        ["result", "error"].map(|it| scene.metric(&format!("pmcp_reloads_total{{outcome=\"{it}\"}}")));
    assert_eq!(counted, [1, 1]);
}

/// Has the first process and those after it die at once, until it stays down.
fn die_to_the_end(scene: &mut Scene) -> u64 {
    for generation in 1..u64::from(QUICK_DEATHS_MAX) {
        scene.exited(generation, "exited with status 1", "");
        let at = scene.bridge.deadline().expect("it is started again");
        scene.wait(at - scene.now);
    }
    let last = u64::from(QUICK_DEATHS_MAX);
    scene.exited(last, "exited with status 1", "");
    last
}

#[test]
fn one_that_stays_down_is_tried_again_where_nobody_would_notice() {
    let mut scene = Scene::new();
    die_to_the_end(&mut scene);
    assert_eq!((scene.bridge.health(), scene.bridge.deadline()), (Health::Restarting(None), None));

    let mut scene = Scene::with(|config| config.is_unattended = true);
    let last = die_to_the_end(&mut scene);
    assert_eq!(scene.bridge.deadline(), Some(scene.now + RETRY));
    assert_eq!(scene.bridge.health(), Health::Restarting(Some(scene.now + RETRY)));
    scene.orders();
    scene.wait(RETRY);
    assert_eq!(scene.orders(), [format!("start {}", last + 1)]);
    scene.exited(last + 1, "exited with status 1", "");
    assert_eq!(scene.bridge.deadline(), Some(scene.now + RETRY));
    // A call does not wait for that.
    scene.initialize("2025-11-25");
    scene.call(1, "a");
    assert_eq!(scene.orders(), [format!("start {}", last + 2)]);
    let starts = scene.metric("pmcp_tool_process_starts_total");
    assert_eq!((starts, scene.metric("pmcp_tool_process_crashes_total")), (last + 2, last + 1));
}

#[test]
fn every_end_of_a_request_is_counted_once() {
    let mut scene = Scene::serving(&["a"]);
    // A result, a tool that fails, an error, and one that is cancelled.
    scene.call(1, "a");
    let told = scene.told_one(1);
    scene.wait(Duration::from_millis(40));
    scene.result(1, &told.request_id, "one");
    scene.call(2, "a");
    let told = scene.told_one(1);
    let failed = CallToolResponse { is_error: true, result_json: "[]".into(), ..CallToolResponse::default() };
    scene.tool(1, &told.request_id, Msg::CallResult(failed));
    scene.call(3, "no such tool");
    scene.call(4, "a");
    assert_eq!(scene.metric("pmcp_calls_in_flight"), 1);
    scene.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}));
    scene.ask(5, "ping", json!({}));
    scene.ask(6, "no/such/method", json!({}));
    assert_eq!(scene.heard().len(), 5);
    for (method, outcome, count) in [
        ("initialize", "result", 1),
        ("tools/call", "result", 1),
        ("tools/call", "tool_error", 1),
        ("tools/call", "error", 1),
        ("tools/call", "cancelled", 1),
        ("ping", "result", 1),
        ("invalid", "error", 1),
    ] {
        let sample = format!("pmcp_requests_total{{method=\"{method}\",outcome=\"{outcome}\"}}");
        assert_eq!(scene.metric(&sample), count, "{sample}");
    }
    assert_eq!(scene.metric("pmcp_errors_total{code=\"-32602\"}"), 1);
    assert_eq!(scene.metric("pmcp_errors_total{code=\"-32601\"}"), 1);
    assert_eq!(scene.metric("pmcp_tool_call_duration_seconds_count{tool=\"a\"}"), 2);
    assert_eq!(scene.metric("pmcp_tool_call_duration_seconds_bucket{tool=\"a\",le=\"0.02\"}"), 1);
    assert_eq!(scene.metric("pmcp_tool_call_duration_seconds_bucket{tool=\"a\",le=\"0.05\"}"), 2);
    assert_eq!(scene.metric("pmcp_tool_call_failures_total{tool=\"a\"}"), 1);
    assert_eq!(scene.metric("pmcp_calls_in_flight"), 0);
    assert!(!scene.metrics().contains("no such"), "hosts must not be able to fill the page");
}

#[test]
fn what_a_session_leaves_undone_is_counted() {
    let mut scene = Scene::serving(&["a"]);
    scene.call(1, "a");
    scene.input(Input::SessionClosed(HOST));
    assert_eq!(scene.metric("pmcp_requests_total{method=\"tools/call\",outcome=\"cancelled\"}"), 1);
}

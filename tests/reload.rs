//! Reloads on the real program: the old process serves until the new one has proven itself, and
//! the other ways when they are asked for.

use std::process::Command;
use std::sync::Arc;

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::{ReloadResponse, SaveState, ToolListResponse};
use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::host::Host;
use crate::support::pmcp::Setup;
use crate::support::raw_tool::{Peer, RawTool, tool};
use crate::support::{eventually, process};

/// A bridge with one serving process, and the means to save its file.
struct Stage {
    host: Host,
    raw_tool: RawTool,
    dir: Arc<Dir>,
}

impl Stage {
    fn new(command: &str, flags: &[&str]) -> (Stage, Peer) {
        let dir = Arc::new(Dir::new());
        let raw_tool = RawTool::new(&dir);
        let mut host = Setup::command(&dir, command).arg(raw_tool.file()).args(flags).host();
        let peer = raw_tool.serve(vec![tool("any")]);
        host.initialize();
        host.ask("tools/list", Value::Null);
        (Stage { host, raw_tool, dir }, peer)
    }

    /// Another content each time; a shell writes it, see [`Dir::script`].
    fn save(&self) {
        self.shell("echo '# more' >> tool/raw-tool");
    }

    fn shell(&self, line: &str) {
        let status = Command::new("sh").arg("-c").arg(line).current_dir(self.dir.path()).status().unwrap();
        assert!(status.success(), "{line}");
    }

    #[track_caller]
    fn call_says(&mut self, peer: &Peer, text: &str) -> Value {
        let id = self.host.begin_call("any", json!({}));
        let call = peer.call();
        peer.answer_text(&call, text);
        let result = self.host.result_of(id);
        assert_eq!(result["content"][0]["text"], text);
        result
    }
}

#[test]
fn a_broken_save_hurts_nobody_and_everybody_is_told() {
    let (mut stage, peer) = Stage::new("dev", &[]);
    stage.shell("cp -p tool/raw-tool good && printf '#!/bin/sh\\necho line 3: no such word >&2\\nexit 7\\n' > tool/raw-tool");
    let news = stage.host.notification("notifications/message");
    assert_eq!(news["level"], "error");
    assert!(news["data"].as_str().unwrap().contains("line 3: no such word"), "{news}");
    stage.host.stderr_says("exited with status 7");
    let result = stage.call_says(&peer, "old");
    let note = result["content"][1]["text"].as_str().unwrap();
    assert!(note.contains("version 1") && note.contains("line 3: no such word"), "{note}");
    assert_eq!(result["_meta"]["protomcp/reload"]["serving"], 1);
    stage.shell("cat good > tool/raw-tool; echo '# mended' >> tool/raw-tool");
    let mended = stage.raw_tool.serve(vec![tool("any"), tool("more")]);
    stage.host.notification("notifications/tools/list_changed");
    let result = stage.call_says(&mended, "new");
    assert_eq!(result, json!({"content": [{"type": "text", "text": "new"}]}));
    stage.host.end();
}

#[test]
fn a_call_in_flight_finishes_on_the_old_process_and_new_ones_go_to_the_new() {
    let (mut stage, old) = Stage::new("dev", &[]);
    let slow = stage.host.begin_call("any", json!({}));
    let call = old.call();
    stage.save();
    let new = stage.raw_tool.serve(vec![tool("any"), tool("more")]);
    stage.host.notification("notifications/tools/list_changed");
    stage.call_says(&new, "new");
    assert!(process::alive(old.pid), "it still has a call");
    old.answer_text(&call, "old");
    assert_eq!(stage.host.result_of(slow)["content"][0]["text"], "old");
    eventually("the old process is gone", || !process::alive(old.pid));
    stage.host.end();
}

#[test]
fn the_drain_ends_calls_that_take_too_long() {
    let (mut stage, old) = Stage::new("dev", &["--drain", "200ms"]);
    let slow = stage.host.begin_call("any", json!({}));
    old.call();
    stage.save();
    let new = stage.raw_tool.serve(vec![tool("any")]);
    let result = stage.host.result_of(slow);
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().contains("replaced by a newer one"), "{result}");
    eventually("the old process is gone", || !process::alive(old.pid));
    stage.call_says(&new, "new");
}

#[test]
fn immediate_kills_the_old_process_first() {
    let (mut stage, old) = Stage::new("dev", &["--hot-reload", "immediate"]);
    let slow = stage.host.begin_call("any", json!({}));
    old.call();
    stage.save();
    let result = stage.host.result_of(slow);
    assert!(result["content"][0]["text"].as_str().unwrap().contains("--hot-reload immediate"), "{result}");
    eventually("the old process is gone", || !process::alive(old.pid));
    let new = stage.raw_tool.serve(vec![tool("any")]);
    stage.call_says(&new, "new");
}

#[test]
fn exclusive_ends_the_old_process_before_the_new_one_starts() {
    let (mut stage, old) = Stage::new("dev", &["--exclusive"]);
    let slow = stage.host.begin_call("any", json!({}));
    let call = old.call();
    stage.save();
    stage.host.stderr_says("reloading");
    assert_eq!(stage.raw_tool.starts_so_far(), 0);
    old.answer_text(&call, "old");
    assert_eq!(stage.host.result_of(slow)["content"][0]["text"], "old");
    let life = stage.raw_tool.started();
    assert!(!process::alive(old.pid), "there are two");
    let new = Peer::connect(&life);
    new.handshake(vec![tool("any")]);
    stage.call_says(&new, "new");
}

#[test]
fn graceful_asks_a_process_that_can_reload_in_place() {
    let (mut stage, peer) = Stage::new("dev", &["--hot-reload", "graceful"]);
    let list = |names: &[&str]| {
        let tools = names.iter().map(|name| tool(name)).collect();
        Msg::ToolList(ToolListResponse { tools, reloads_in_place: true, ..Default::default() })
    };
    peer.send("", list(&["any"]));
    stage.call_says(&peer, "before");
    stage.save();
    let request = peer.next();
    assert!(matches!(request.msg, Some(Msg::Reload(_))), "{request:?}");
    let done = ReloadResponse { success: true, error: String::new() };
    peer.send(&request.request_id, Msg::ReloadResponse(done));
    peer.send("", list(&["any", "more"]));
    stage.host.notification("notifications/tools/list_changed");
    stage.call_says(&peer, "after");
    assert_eq!(stage.raw_tool.starts_so_far(), 0);
}

#[test]
fn graceful_proves_a_new_process_where_the_old_one_cannot_reload() {
    let (mut stage, _old) = Stage::new("dev", &["--hot-reload", "graceful"]);
    stage.save();
    let new = stage.raw_tool.serve(vec![tool("any")]);
    stage.host.stderr_says("can't reload in place");
    eventually("the new one serves", || stage.host.stderr().matches("serving 1 tools").count() == 2);
    stage.call_says(&new, "new");
}

#[test]
fn a_signal_reloads_too_and_state_goes_along() {
    for command in ["run", "dev"] {
        let (mut stage, old) = Stage::new(command, &["--log-level", "info"]);
        stage.raw_tool.order("echo \"this is life $PROTOMCP_GENERATION\" >&2");
        stage.host.stderr_says("this is life 1");
        old.send("", Msg::SaveState(SaveState { state: b"seven".to_vec() }));
        stage.call_says(&old, "the state was taken before this");
        process::signal(stage.host.pid(), "USR1");
        let new = stage.raw_tool.serve(vec![tool("any")]);
        let restored = new.next();
        assert!(
            matches!(restored.msg, Some(Msg::RestoreState(ref it)) if it.state == b"seven"),
            "{restored:?}"
        );
        eventually("the old process is gone", || !process::alive(old.pid));
        stage.raw_tool.order("echo \"this is life $PROTOMCP_GENERATION\" >&2");
        stage.host.stderr_says("this is life 2");
        stage.call_says(&new, "new");
        stage.host.end();
    }
}

/// Open descriptors of a process.
fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

#[test]
fn a_hundred_reloads_leave_everything_where_it_was() {
    let (mut stage, mut peer) = Stage::new("run", &["--log-level", "error"]);
    let pid = stage.host.pid();
    let mut reload = |stage: &mut Stage| {
        process::signal(pid, "USR1");
        // A call in the middle of it is not lost, whoever gets it.
        let id = stage.host.begin_call("any", json!({}));
        let next = stage.raw_tool.connect();
        let call = peer.call();
        peer.answer_text(&call, "old");
        assert_eq!(stage.host.result_of(id)["content"][0]["text"], "old");
        next.handshake(vec![tool("any")]);
        let old = std::mem::replace(&mut peer, next);
        eventually("the old process is gone", || !process::alive(old.pid));
    };
    for _ in 0..5 {
        reload(&mut stage);
    }
    let measure = || (descriptors(pid), process::status(pid, "Threads"), process::memory(pid, "VmRSS"));
    let (files, threads, memory) = measure();
    for _ in 0..100 {
        reload(&mut stage);
    }
    let (files_after, threads_after, memory_after) = measure();
    assert_eq!((files_after, threads_after), (files, threads));
    assert!(memory_after <= memory + (1 << 20), "{memory} bytes became {memory_after}");
    stage.host.end();
}

#[test]
fn an_idle_dev_does_not_wake_up() {
    let (mut stage, peer) = Stage::new("dev", &[]);
    stage.save();
    let new = stage.raw_tool.serve(vec![tool("any")]);
    eventually("the old process is gone", || !process::alive(peer.pid));
    stage.call_says(&new, "new");
    process::stays_idle(stage.host.pid());
    stage.call_says(&new, "still");
}

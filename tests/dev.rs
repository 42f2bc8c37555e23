//! `pmcp dev`: a change of the file is a new tool process, and the host stays.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use pmcp_bridge::wire::protomcp::envelope::Msg;
use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::host::Host;
use crate::support::pmcp::Setup;
use crate::support::raw_tool::{RawTool, frame, text_result, tool};
use crate::support::{eventually, process};

/// A shell does the writing, see [`Dir::script`].
fn shell(line: &str, folder: &Path) {
    let status = Command::new("sh").arg("-c").arg(line).current_dir(folder).status().unwrap();
    assert!(status.success(), "{line}");
}

fn start(command: &str) -> (Host, RawTool, Arc<Dir>) {
    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    let host = Setup::command(&dir, command).arg(tool.file()).args(["--log-level", "error"]).host();
    (host, tool, dir)
}

fn names(host: &mut Host) -> Vec<String> {
    let list = host.ask("tools/list", Value::Null);
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn each_way_to_save_is_a_change() {
    let (mut host, raw_tool, dir) = start("dev");
    let mut peer = raw_tool.serve(vec![tool("first")]);
    host.initialize();
    assert_eq!(names(&mut host), ["first"]);
    for (name, way) in [
        ("appended", "echo '# more' >> tool/raw-tool"),
        ("overwritten", "cp tool/raw-tool copy && echo '# w' >> copy && cat copy > tool/raw-tool"),
        ("renamed-over", "cp -p tool/raw-tool copy && echo '# x' >> copy && mv copy tool/raw-tool"),
        (
            "backed-up",
            "mv tool/raw-tool tool/backup~ && cp -p tool/backup~ tool/raw-tool && echo '# y' >> tool/raw-tool",
        ),
        ("edited", "sed -i '$a # z' tool/raw-tool"),
    ] {
        shell(way, dir.path());
        let old = peer.pid;
        peer = raw_tool.serve(vec![tool("first"), tool(name)]);
        host.notification("notifications/tools/list_changed");
        assert_eq!(names(&mut host), ["first", name], "{way}");
        eventually("the old process is gone", || !process::alive(old));
        let id = host.begin_call(name, json!({}));
        let call = peer.call();
        peer.answer_text(&call, "new");
        assert_eq!(host.result_of(id)["content"][0]["text"], "new");
    }
    host.end();
}

#[test]
fn a_storm_of_saves_is_few_restarts() {
    let (mut host, raw_tool, dir) = start("dev");
    let _first = raw_tool.serve(vec![tool("any")]);
    host.initialize();
    shell("for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo '#' >> tool/raw-tool; done", dir.path());
    let peer = raw_tool.serve(vec![tool("any"), tool("new")]);
    eventually("the new one serves", || names(&mut host).len() == 2);
    assert!(peer.nothing_within(Duration::from_millis(600)));
    assert!(raw_tool.starts_so_far() <= 1, "more restarts than one, or two for a slow shell");
}

#[test]
fn other_files_are_no_change() {
    let (mut host, raw_tool, dir) = start("dev");
    let _peer = raw_tool.serve(vec![tool("any")]);
    host.initialize();
    shell(
        "mkdir -p tool/node_modules tool/.git tool/__pycache__ && touch tool/notes.txt tool/data.csv \
         tool/.hidden tool/node_modules/a tool/.git/index tool/__pycache__/a && cat tool/raw-tool > /dev/null",
        dir.path(),
    );
    // Watched events come in order: were one of these a change, it would be a start of its own.
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(raw_tool.starts_so_far(), 0);
    assert_eq!(names(&mut host), ["any"]);
}

#[test]
fn a_broken_save_is_repaired_by_the_next() {
    let (mut host, raw_tool, dir) = start("dev");
    let _peer = raw_tool.serve(vec![tool("any")]);
    host.initialize();
    assert_eq!(names(&mut host), ["any"]);
    shell("cp -p tool/raw-tool good && echo '#!/bin/sh\nexit 7' > tool/raw-tool", dir.path());
    host.stderr_says("status 7");
    assert_eq!(host.ask("ping", Value::Null), json!({}));
    shell("cat good > tool/raw-tool", dir.path());
    let peer = raw_tool.serve(vec![tool("any"), tool("repaired")]);
    eventually("the repaired one serves", || names(&mut host).len() == 2);
    let id = host.begin_call("repaired", json!({}));
    let call = peer.call();
    peer.answer_text(&call, "yes");
    assert_eq!(host.result_of(id)["content"][0]["text"], "yes");
    host.end();
}

#[test]
fn a_call_in_flight_is_answered_whatever_is_saved() {
    let (mut host, raw_tool, dir) = start("dev");
    let peer = raw_tool.serve(vec![tool("any")]);
    host.initialize();
    let id = host.begin_call("any", json!({}));
    let call = peer.call();
    shell("echo '#' >> tool/raw-tool", dir.path());
    let next = raw_tool.serve(vec![tool("any"), tool("new")]);
    // Whether the old process may finish it or not: the host hears of it.
    let _ = peer.stream().write_all(&frame(&call.id, Msg::CallResult(text_result("old"))));
    assert!(host.result_of(id)["content"][0]["text"].is_string());
    eventually("the new one serves", || names(&mut host).len() == 2);
    let id = host.begin_call("new", json!({}));
    let call = next.call();
    next.answer_text(&call, "new");
    assert_eq!(host.result_of(id)["content"][0]["text"], "new");
}

#[test]
fn run_does_not_watch() {
    let (mut host, raw_tool, dir) = start("run");
    let peer = raw_tool.serve(vec![tool("any")]);
    host.initialize();
    shell("echo '#' >> tool/raw-tool", dir.path());
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(raw_tool.starts_so_far(), 0);
    assert!(process::alive(peer.pid));
    assert_eq!(names(&mut host), ["any"]);
}

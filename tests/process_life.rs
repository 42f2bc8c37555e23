//! The life of the tool process: crashes, restarts, and why it could not start.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pmcp_bridge::wire::protomcp::ReloadResponse;
use pmcp_bridge::wire::protomcp::envelope::Msg;
use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::host::Host;
use crate::support::pmcp::{Setup, example};
use crate::support::raw_tool::{Peer, RawTool, Trio, tool};
use crate::support::{eventually, process};

/// A host of a program that runs this script as its tool process.
fn scripted(text: &str, flags: &[&str]) -> (Host, Arc<Dir>) {
    let dir = Arc::new(Dir::new());
    let file = dir.script("tool", text);
    let host = Setup::run(&dir).arg(file).args(flags).host();
    (host, dir)
}

#[track_caller]
fn text_of(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    result["content"].to_string()
}

#[test]
fn a_crash_fails_the_calls_in_flight_at_once_and_says_why() {
    for (order, how) in [
        ("echo 'the last words' >&2; exit 3", "3"),
        ("echo 'the last words' >&2; kill -9 $$", "9"),
        ("echo 'the last words' >&2; kill -SEGV $$", "11"),
        ("echo 'the last words' >&2; exit 0", "0"),
    ] {
        let mut trio = Trio::new(&["any"]);
        let id = trio.host.begin_call("any", json!({}));
        let waiting = trio.host.begin_call("any", json!({"waits": true}));
        trio.peer.call();
        let begin = Instant::now();
        trio.tool.order(order);
        let text = text_of(&trio.host.result_of(id));
        // On a quiet machine it is within 100 ms, which nothing here holds it to: the time of the
        // shell counts as well, and a busy machine may take long to run it.
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        assert!(text.contains(how), "how it ended is not said: {text}");
        assert!(text.contains("the last words"), "its stderr is not said: {text}");
        // What had not begun waits for the next life.
        trio.peer = trio.tool.serve(vec![tool("any")]);
        let call = trio.peer.call();
        assert_eq!(call.arguments, r#"{"waits":true}"#);
        trio.peer.answer_text(&call, "yes");
        assert_eq!(trio.host.result_of(waiting)["content"][0]["text"], "yes");
        trio.lives();
        trio.host.end();
    }
}

#[test]
fn a_process_that_only_closes_its_socket_is_replaced() {
    let mut trio = Trio::new(&["any"]);
    let id = trio.host.begin_call("any", json!({}));
    trio.peer.call();
    let old = trio.peer.pid;
    trio.peer.stream().shutdown(std::net::Shutdown::Both).unwrap();
    text_of(&trio.host.result_of(id));
    trio.peer = trio.tool.serve(vec![tool("any")]);
    trio.lives();
    eventually("the old process is gone", || !process::alive(old));
}

#[test]
fn there_is_never_more_than_one_process() {
    let mut trio = Trio::new(&["any"]);
    for _ in 0..4 {
        let old = trio.peer.pid;
        trio.tool.order("exit 1");
        trio.peer = trio.tool.serve(vec![tool("any")]);
        assert_ne!(trio.peer.pid, old);
        assert!(!process::alive(old));
        trio.lives();
    }
    assert_eq!(trio.tool.starts_so_far(), 0);
}

#[test]
fn a_process_that_dies_at_once_is_not_started_without_end() {
    let (mut host, dir) =
        scripted("#!/bin/sh\necho start >> \"$PMCP_TEST_DIR/starts\"\necho no good >&2\nexit 1\n", &[]);
    host.initialize();
    let starts = || std::fs::read_to_string(dir.join("starts")).map_or(0, |text| text.lines().count());
    eventually("five quick deaths", || starts() >= 5);
    // It stays down: the sixth would have come after at most twice the longest wait so far.
    let calls_see_it = text_of(&host.call("any", json!({})));
    assert!(calls_see_it.contains("no good"), "{calls_see_it}");
    // The call was a reason to try again, and once is enough.
    let after = starts();
    assert!(after <= 7, "{after} starts");
    std::thread::sleep(Duration::from_secs(2));
    assert!(starts() <= after + 1, "it goes on: {} starts", starts());
    host.end();
}

#[test]
fn a_process_that_exits_before_it_connects_is_an_error_that_says_why() {
    let (mut host, _dir) = scripted("#!/bin/sh\necho 'SyntaxError: line 7' >&2\nexit 5\n", &[]);
    host.initialize();
    let begin = Instant::now();
    let text = text_of(&host.call("any", json!({})));
    assert!(begin.elapsed() < Duration::from_secs(10));
    for word in ["SyntaxError: line 7", "5", "tool"] {
        assert!(text.contains(word), "{word} is not said: {text}");
    }
    assert!(host.ask("tools/list", Value::Null)["tools"].as_array().unwrap().is_empty());
    assert_eq!(host.ask("ping", Value::Null), json!({}));
    host.stderr_says("SyntaxError: line 7");
    host.end();
}

#[test]
fn the_reason_of_a_death_fits_behind_whatever_was_printed() {
    let wide = "i=0; while [ $i -lt 40 ]; do printf '%08000d\\n' $i >&2; i=$((i+1)); done";
    let (mut host, _dir) = scripted(&format!("#!/bin/sh\n{wide}\necho boom >&2\nexit 1\n"), &[]);
    host.initialize();
    let text = text_of(&host.call("any", json!({})));
    assert!(text.contains("boom") && text.len() < 32 * 1024, "{} bytes", text.len());
    host.stderr_says("pmcp: error: the tool process");
    host.end();
}

#[test]
fn a_process_that_never_connects_is_an_error_after_the_start_timeout() {
    let (mut host, _dir) =
        scripted("#!/bin/sh\necho 'thinking' >&2\nexec sleep 1000\n", &["--start-timeout", "300ms"]);
    host.initialize();
    let begin = Instant::now();
    let text = text_of(&host.call("any", json!({})));
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert!(text.contains("300ms") || text.contains("0.3"), "the bound is not said: {text}");
    assert!(text.contains("thinking"), "its stderr is not said: {text}");
    assert_eq!(host.ask("ping", Value::Null), json!({}));
    host.end();
}

#[test]
fn a_process_that_connects_and_says_nothing_is_an_error_too() {
    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    let mut host = Setup::run(&dir).arg(tool.file()).args(["--start-timeout", "300ms"]).host();
    host.initialize();
    let _peer = tool.connect();
    text_of(&host.call("any", json!({})));
    host.end();
}

#[test]
fn what_it_said_counts_even_if_it_ends_before_anybody_listened() {
    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    let mut host = Setup::run(&dir).arg(tool.file()).host();
    host.initialize();
    let call = host.begin_call("any", json!({}));
    assert_eq!(host.ask("ping", Value::Null), json!({}));
    let life = tool.started();
    process::signal(host.pid(), "STOP");
    tool.order("exit 3");
    eventually("it ends", || !process::alive(life.pid));
    let peer = Peer::connect(&life);
    peer.send("", Msg::ReloadResponse(ReloadResponse { success: false, error: "no database".into() }));
    process::signal(host.pid(), "CONT");
    let text = text_of(&host.result_of(call));
    assert!(text.contains("refused to serve: no database"), "{text}");
    host.end();
}

#[test]
fn a_file_that_cannot_be_run_is_said_at_once() {
    let dir = Arc::new(Dir::new());
    let file = dir.script("tool", "#!/no/such/interpreter\n");
    let mut host = Setup::run(&dir).arg(file).host();
    host.initialize();
    let text = text_of(&host.call("any", json!({})));
    assert!(text.contains("No such file"), "{text}");
    host.end();
}

#[test]
fn a_repaired_file_serves_at_the_next_call() {
    let dir = Arc::new(Dir::new());
    let file = dir.script("tool", "#!/bin/sh\nexit 1\n");
    let mut host = Setup::run(&dir).arg(&file).host();
    host.initialize();
    assert_eq!(host.ask("tools/list", Value::Null), json!({"tools": []}));
    text_of(&host.call("echo", json!({"text": "a"})));
    // Put in place in one go, as editors do.
    let good = format!("#!/bin/sh\nexec '{}'\n", example("tool-everything").display());
    let new = dir.script("tool.new", &good);
    std::fs::rename(new, &file).unwrap();
    eventually("the next calls are served", || {
        let id = host.begin_call("echo", json!({"text": "a"}));
        let answer = host.answer(id);
        answer["result"]["content"][0]["text"] == "a"
    });
    host.notification("notifications/tools/list_changed");
    host.end();
}

#[test]
fn what_the_process_prints_is_seen_on_stderr_and_nowhere_else() {
    let mut trio = Trio::new(&["any"]);
    trio.tool.order("echo 'a stray print'; echo 'a complaint' >&2; printf 'no newline'");
    trio.host.stderr_says("a stray print");
    trio.host.stderr_says("a complaint");
    trio.lives();
    trio.tool.order("exit 0");
    trio.host.stderr_says("no newline");
    assert!(trio.host.rest().is_empty());
    // Bytes that are no text, an endless line, control characters.
    trio.peer = trio.tool.serve(vec![tool("any")]);
    trio.tool
        .order(r"printf '\377\376\n'; head -c 1000000 /dev/zero; echo; printf '\033[31mred\n'; echo after");
    trio.host.stderr_says("after");
    assert!(trio.host.stderr().len() < 100_000, "{}", trio.host.stderr().len());
    trio.lives();
    trio.host.end();
}

#[test]
fn a_flood_of_prints_neither_blocks_nor_floods() {
    let mut trio = Trio::new(&["any"]);
    trio.tool.order("seq 1 200000; seq 1 200000 >&2; echo done > \"$PMCP_TEST_DIR/done\"");
    eventually("the flood is taken", || trio.dir.join("done").exists());
    trio.lives();
    let shown = trio.host.stderr().lines().count();
    assert!(shown < 100_000, "{shown} lines were shown");
    trio.host.end();
}

#[test]
fn the_process_has_no_input_and_knows_its_socket() {
    let (mut host, _dir) = scripted(
        "#!/bin/sh\n\
         echo \"input $(readlink /proc/$$/fd/0)\" >&2\n\
         stat -c 'folder %a' \"$(dirname \"$PROTOMCP_SOCKET\")\" >&2\n\
         stat -c 'socket %F' \"$PROTOMCP_SOCKET\" >&2\n\
         exec sleep 1000\n",
        &[],
    );
    host.stderr_says("input /dev/null");
    host.stderr_says("folder 700");
    host.stderr_says("socket socket");
    host.end();
}

#[test]
fn arguments_behind_the_file_are_the_files() {
    let dir = Arc::new(Dir::new());
    let file = dir.script("tool", "#!/bin/sh\nfor word; do echo \"got $word\" >&2; done\nexec sleep 1000\n");
    let host = Setup::run(&dir).arg(file).args(["--", "one", "--two", "three four"]).host();
    for word in ["got one", "got --two", "got three four"] {
        host.stderr_says(word);
    }
}

#[test]
fn a_runtime_is_run_with_the_file() {
    let dir = Arc::new(Dir::new());
    dir.write("tool.xyz", "exec sleep 1000");
    let host = Setup::run(&dir)
        .arg(dir.join("tool.xyz"))
        .args(["--runtime", "sh -c 'echo \"got $1\" >&2; exec sleep 1000' 'a name'"])
        .host();
    host.stderr_says("tool.xyz");
}

#[test]
fn the_socket_lies_where_it_is_told_to() {
    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    let socket = dir.join("my.sock");
    let mut host = Setup::run(&dir).arg(tool.file()).arg("--socket").arg(&socket).host();
    let life = tool.started();
    assert_eq!(life.socket, socket);
    host.end();
    assert!(!socket.exists());

    // In the runtime folder, if there is one.
    let runtime = dir.join("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let mut host = Setup::run(&dir).arg(tool.file()).env("XDG_RUNTIME_DIR", &runtime).host();
    assert!(tool.started().socket.starts_with(&runtime));
    host.end();
    assert_eq!(std::fs::read_dir(&runtime).unwrap().count(), 0);
}

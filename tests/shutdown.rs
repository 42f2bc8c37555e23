//! The end: the host goes, a signal comes, a pipe breaks. Everything that was started goes too,
//! soon, and what was finished is still said.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::environment::skip;
use crate::support::pmcp::{Setup, example};
use crate::support::raw_tool::{RawTool, Trio, tool};
use crate::support::{eventually, process};

/// What the end may take at most: grace, TERM, KILL, and a machine that has other things to do.
const END_MAX: Duration = Duration::from_millis(2500);

#[test]
fn a_host_that_is_gone_takes_everything_with_it() {
    // The tool process does what it is told, or does not: the end comes either way.
    for order in ["true", "trap '' TERM", "trap '' TERM HUP INT; sleep 1000 & sleep 1000 & wait"] {
        let mut trio = Trio::new(&["any"]);
        trio.host.begin_call("any", json!({}));
        trio.peer.call();
        trio.tool.order(order);
        let begin = Instant::now();
        trio.host.end();
        assert!(begin.elapsed() < END_MAX, "{order}: {:?}", begin.elapsed());
    }
}

#[test]
fn an_idle_end_is_quick() {
    let mut trio = Trio::new(&["any"]);
    trio.lives();
    let begin = Instant::now();
    trio.host.end();
    assert!(begin.elapsed() < Duration::from_millis(900), "{:?}", begin.elapsed());
}

#[test]
fn signals_end_everything() {
    for signal in ["TERM", "INT", "HUP"] {
        let mut trio = Trio::new(&["any"]);
        trio.host.begin_call("any", json!({}));
        trio.peer.call();
        let begin = Instant::now();
        process::signal(trio.host.pid(), signal);
        let status = trio.host.wait();
        assert!(begin.elapsed() < END_MAX, "{signal}: {:?}", begin.elapsed());
        assert!(status.success(), "{signal}: {status}");
        trio.host.nothing_left();
    }
}

#[test]
fn a_second_signal_means_now() {
    let mut trio = Trio::with(vec![tool("any")], |setup| setup.args(["--grace", "25s"]), |_| {});
    trio.host.begin_call("any", json!({}));
    trio.peer.call();
    process::signal(trio.host.pid(), "TERM");
    // It still serves what runs, so it has not ended.
    assert!(trio.peer.nothing_within(Duration::from_millis(100)));
    assert!(process::alive(trio.host.pid()));
    let begin = Instant::now();
    process::signal(trio.host.pid(), "TERM");
    trio.host.wait();
    assert!(begin.elapsed() < END_MAX, "{:?}", begin.elapsed());
    trio.host.nothing_left();
}

#[test]
fn a_wrapper_and_what_it_wraps_both_go() {
    for signal in ["", "TERM", "INT", "HUP"] {
        let dir = Arc::new(Dir::new());
        let tool = RawTool::new(&dir);
        let wrapper = dir.script("wrap.sh", "#!/bin/sh\nsh -c \"'$1'; true\"\necho wrapped\n");
        let mut host =
            Setup::run(&dir).arg(tool.file()).arg("--runtime").arg(format!("'{}'", wrapper.display())).host();
        let _peer = tool.serve(vec![crate::support::raw_tool::tool("any")]);
        host.initialize();
        if signal.is_empty() {
            host.hang_up();
        } else {
            process::signal(host.pid(), signal);
        }
        let begin = Instant::now();
        host.wait();
        assert!(begin.elapsed() < END_MAX);
        host.nothing_left();
    }
}

#[test]
fn what_a_shell_started_before_us_is_not_ours_to_end() {
    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    let script = "sleep 1000 > /dev/null 2>&1 & echo $! > \"$PMCP_TEST_DIR/before\"; exec \"$@\"";
    let mut host = Setup::run(&dir).arg(tool.file()).under(["sh", "-c", script, "sh"]).host();
    let peer = tool.serve(Vec::new());
    host.initialize();
    let before = std::fs::read_to_string(dir.join("before")).unwrap().trim().parse().unwrap();
    // Ours, in another session.
    tool.order("setsid sleep 1000 &");
    eventually("a sleeper of ours", || process::of_folder(dir.path()).len() == 4);
    host.hang_up();
    assert!(host.wait().success());
    assert_eq!(process::of_folder(dir.path()), [before]);
    process::signal(before, "KILL");
    drop(peer);
}

#[test]
fn when_the_bridge_is_killed_its_child_goes_too() {
    let trio = Trio::new(&["any"]);
    let child = trio.peer.pid;
    process::signal(trio.host.pid(), "KILL");
    eventually("the child is gone", || !process::alive(child));
    // The socket was taken away as soon as the child had connected.
    trio.host.nothing_left();
}

#[test]
fn what_finishes_within_the_grace_is_still_answered() {
    let mut trio = Trio::with(vec![tool("any")], |setup| setup.args(["--grace", "20s"]), |_| {});
    let running = trio.host.begin_call("any", json!({"n": 1}));
    let waiting = trio.host.begin_call("any", json!({"n": 2}));
    let call = trio.peer.call();
    trio.host.hang_up();
    trio.peer.answer_text(&call, "just in time");
    let call = trio.peer.call();
    trio.peer.answer_text(&call, "that too");
    assert_eq!(trio.host.result_of(running)["content"][0]["text"], "just in time");
    assert_eq!(trio.host.result_of(waiting)["content"][0]["text"], "that too");
    let begin = Instant::now();
    assert!(trio.host.wait().success());
    assert!(begin.elapsed() < END_MAX, "nothing is left to wait for: {:?}", begin.elapsed());
    trio.host.nothing_left();
}

/// Hello and two calls, for programs that are fed by a script.
const PIECE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"first"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"second"}}}"#,
    "\n",
);

#[track_caller]
fn holds_the_answers(output: &[u8]) {
    let text = String::from_utf8_lossy(output);
    let answers: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line.trim()).ok()).collect();
    let of = |id: u64| {
        answers
            .iter()
            .find(|answer| answer["id"] == id && answer.get("method").is_none())
            .unwrap_or_else(|| panic!("no answer to {id}: {text}"))
    };
    assert_eq!(of(1)["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(of(2)["result"]["content"][0]["text"], "first");
    assert_eq!(of(3)["result"]["content"][0]["text"], "second");
}

#[test]
fn a_piped_script_gets_all_its_answers() {
    let dir = Arc::new(Dir::new());
    dir.write("input", PIECE);
    let setup = || Setup::run(&dir).arg(example("tool-everything"));
    // From a pipe that ends at once, with and without a last newline.
    for input in ["cat input", "printf %s \"$(cat input)\""] {
        let output = setup().under(["sh", "-c", &format!("{input} | \"$@\""), "sh"]).output();
        assert!(output.status.success());
        holds_the_answers(&output.stdout);
    }
    // From a file into a file.
    let mut command = setup().build();
    let status = command
        .stdin(std::fs::File::open(dir.join("input")).unwrap())
        .stdout(std::fs::File::create(dir.join("output")).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    holds_the_answers(&std::fs::read(dir.join("output")).unwrap());
    // Appended to a file.
    let output = setup().under(["sh", "-c", "\"$@\" < input >> output", "sh"]).output();
    assert!(output.status.success());
    holds_the_answers(&std::fs::read(dir.join("output")).unwrap());
}

#[test]
fn nothing_to_read_is_the_end() {
    let dir = Arc::new(Dir::new());
    let begin = Instant::now();
    let output = Setup::run(&dir).arg(example("tool-everything")).output();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.is_empty());
    assert!(begin.elapsed() < END_MAX, "{:?}", begin.elapsed());
    // With no one to read either.
    let status = Setup::run(&dir)
        .arg(example("tool-everything"))
        .build()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    // With both closed.
    let output =
        Setup::run(&dir).arg(example("tool-everything")).under(["sh", "-c", "\"$@\" <&- >&-", "sh"]).output();
    assert!(output.status.code().is_some(), "whatever it says, it ends: {output:?}");
}

/// The flags of one of our own descriptors.
fn is_nonblocking(descriptor: &impl std::os::fd::AsRawFd) -> bool {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", descriptor.as_raw_fd())).unwrap();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    i64::from_str_radix(flags.trim(), 8).unwrap() & 0o4000 != 0
}

#[test]
fn a_socket_does_for_stdin_and_stdout() {
    let dir = Arc::new(Dir::new());
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let shared = theirs.try_clone().unwrap();
    let mut child = Setup::run(&dir)
        .arg(example("tool-everything"))
        .build()
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs.try_clone().unwrap())))
        .stdout(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    (&ours).write_all(PIECE.as_bytes()).unwrap();
    let mut output = Vec::new();
    let mut reader = BufReader::new(&ours);
    for _ in 0..3 {
        reader.read_until(b'\n', &mut output).unwrap();
    }
    holds_the_answers(&output);
    assert!(!is_nonblocking(&shared), "whoever shares the socket would get EAGAIN");
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!is_nonblocking(&shared));
}

#[test]
fn pipes_that_others_share_stay_as_they_were() {
    let dir = Arc::new(Dir::new());
    let (input, mut to_stdin) = std::io::pipe().unwrap();
    let (from_stdout, output) = std::io::pipe().unwrap();
    let (shared_input, shared_output) = (input.try_clone().unwrap(), output.try_clone().unwrap());
    let mut child =
        Setup::run(&dir).arg(example("tool-everything")).build().stdin(input).stdout(output).spawn().unwrap();
    to_stdin.write_all(PIECE.as_bytes()).unwrap();
    let mut text = Vec::new();
    let mut reader = BufReader::new(from_stdout);
    for _ in 0..3 {
        reader.read_until(b'\n', &mut text).unwrap();
    }
    holds_the_answers(&text);
    assert!(!is_nonblocking(&shared_input) && !is_nonblocking(&shared_output), "while it runs");
    drop(to_stdin);
    assert!(child.wait().unwrap().success());
    assert!(!is_nonblocking(&shared_input) && !is_nonblocking(&shared_output), "afterwards");
}

#[test]
fn a_terminal_does_for_stdin_and_stdout() {
    if Command::new("script").arg("--version").output().is_err() {
        return skip("there is no program `script` to make a terminal with");
    }
    let dir = Arc::new(Dir::new());
    let command = Setup::run(&dir).arg(example("tool-everything")).build();
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let mut child = Command::new("script")
        .args(["--quiet", "--command", &words.join(" "), "/dev/null"])
        .env("PMCP_TEST_DIR", dir.path())
        .env("TMPDIR", dir.join("tmp"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(PIECE.as_bytes()).unwrap();
    let mut text = Vec::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    // The terminal echoes what was typed; the answers come among it, in any order.
    let has_both = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        ["first", "second"].iter().all(|answer| text.contains(&format!("\"text\":\"{answer}\"}}]")))
    };
    while !has_both(&text) {
        assert!(reader.read_until(b'\n', &mut text).unwrap() > 0, "{:?}", String::from_utf8(text));
    }
    holds_the_answers(&text);
    // End of transmission.
    stdin.write_all(b"\x04").unwrap();
    eventually("it ends", || child.try_wait().unwrap().is_some());
}

#[test]
fn a_host_that_stops_listening_is_gone() {
    let dir = Arc::new(Dir::new());
    let mut child = Setup::run(&dir)
        .arg(example("tool-everything"))
        .build()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(PIECE.as_bytes()).unwrap();
    let mut text = Vec::new();
    for _ in 0..3 {
        stdout.read_until(b'\n', &mut text).unwrap();
    }
    drop(stdout);
    let begin = Instant::now();
    let _ = stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}\n");
    eventually("it ends", || child.try_wait().unwrap().is_some());
    assert!(begin.elapsed() < END_MAX, "{:?}", begin.elapsed());
    assert!(process::of_folder(dir.path()).is_empty());
}

#[test]
fn a_host_that_does_not_read_cannot_hold_up_the_end() {
    let dir = Arc::new(Dir::new());
    let mut child = Setup::run(&dir)
        .arg(example("tool-everything"))
        .build()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::with_capacity(64, child.stdout.take().unwrap());
    stdin.write_all(PIECE.as_bytes()).unwrap();
    stdin
        .write_all(
            b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\
              \"params\":{\"name\":\"big\",\"arguments\":{\"bytes\":3000000}}}\n",
        )
        .unwrap();
    let mut text = Vec::new();
    for _ in 0..3 {
        stdout.read_until(b'\n', &mut text).unwrap();
    }
    // The beginning of the fourth answer: the rest does not fit into the pipe.
    stdout.read_exact(&mut [0; 64]).unwrap();
    let begin = Instant::now();
    drop(stdin);
    eventually("it ends", || child.try_wait().unwrap().is_some());
    assert!(begin.elapsed() < END_MAX, "{:?}", begin.elapsed());
    assert!(process::of_folder(dir.path()).is_empty());
}

#[test]
fn as_the_first_process_of_a_container_it_reaps_what_it_inherits() {
    let inside = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    let permitted = Command::new(inside[0]).args(&inside[1..]).arg("true").output();
    if !permitted.is_ok_and(|output| output.status.success()) {
        return skip("a process namespace may not be made here");
    }
    let dir = Arc::new(Dir::new());
    let tool = RawTool::new(&dir);
    let mut host = Setup::run(&dir).arg(tool.file()).under(inside).host();
    let peer = tool.serve(vec![crate::support::raw_tool::tool("any")]);
    assert_ne!(peer.pid, 1);
    host.initialize();
    let bridge = {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", host.pid())).unwrap();
        children.trim().parse::<u32>().unwrap()
    };
    // Grandchildren whose parents end first.
    tool.order(
        "for n in 1 2 3 4 5 6 7 8; do (sh -c 'sleep 0.01; echo ended >> \"$PMCP_TEST_DIR/ended\"' &) ; done",
    );
    eventually("they have ended", || {
        std::fs::read_to_string(dir.join("ended")).is_ok_and(|text| text.lines().count() == 8)
    });
    let zombies = || {
        let children = std::fs::read_to_string(format!("/proc/{bridge}/task/{bridge}/children")).unwrap();
        children
            .split_whitespace()
            .filter(|pid| {
                let state = process::status(pid.parse().unwrap(), "State");
                state.is_some_and(|state| state.starts_with('Z'))
            })
            .count()
    };
    eventually("all are reaped", || zombies() == 0);
    let begin = Instant::now();
    process::signal(bridge, "TERM");
    host.wait();
    assert!(begin.elapsed() < END_MAX, "{:?}", begin.elapsed());
    host.nothing_left();
}

#[test]
fn many_runs_leave_nothing() {
    let dir = Arc::new(Dir::new());
    for run in 0..20 {
        let mut host = Setup::run(&dir).arg(example("tool-everything")).host();
        if run % 2 == 0 {
            // In the middle of the start.
            host.ask("ping", Value::Null);
            process::signal(host.pid(), "TERM");
            host.wait();
            host.nothing_left();
        } else {
            host.end();
        }
    }
}

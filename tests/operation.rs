//! What those see who run the program unattended: its log as JSON, and what it tells the service
//! manager that started it.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;

use serde_json::Value;

use crate::support::dir::Dir;
use crate::support::pmcp::Setup;
use crate::support::process;
use crate::support::raw_tool::{RawTool, tool};

/// The lines of a log in JSON.
#[track_caller]
fn objects(log: &str) -> Vec<Value> {
    let object = |line: &str| {
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let time = object["time"].as_str().expect("a time");
        assert!(time.len() == "2026-01-01T00:00:00.000Z".len() && time.ends_with('Z'), "{time}");
        object
    };
    log.lines().map(object).collect()
}

#[test]
fn a_log_for_programs_is_one_object_on_each_line() {
    let dir = Arc::new(Dir::new());
    let raw = RawTool::new(&dir);
    let mut host = Setup::run(&dir).args(["--log-format", "json", "-v"]).arg(raw.file()).host();
    let _peer = raw.serve(vec![tool("any")]);
    host.initialize();
    raw.order("printf 'a \"b\" \\033[31m \\377\\r\\nlast' >&2; echo out; exit 3");
    let _peer = raw.serve(vec![tool("any")]);
    host.stderr_says("generation\":1,\"message\":\"last\"");
    raw.order("echo second");
    host.stderr_says("\"second\"");
    host.end();
    let lines = objects(&host.stderr());
    let said = |source: &str, message: &str| {
        let found = lines
            .iter()
            .find(|line| line["source"] == source && line["message"].as_str().unwrap().contains(message));
        found.unwrap_or_else(|| panic!("nothing of {source} about {message}: {lines:#?}"))
    };
    assert_eq!(said("tool", "a \"b\" \u{1b}[31m \u{fffd}")["generation"], 1);
    assert_eq!(said("tool", "out")["generation"], 1);
    assert_eq!(said("tool", "second")["generation"], 2);
    let death = said("pmcp", "exited with status 3");
    assert_eq!((&death["level"], &death["generation"]), (&"error".into(), &Value::Null));
    assert!(death["message"].as_str().unwrap().contains("\nlast"), "its last words are in one line: {death}");
    assert_eq!(said("pmcp", "starting")["level"], "info");
}

#[test]
fn what_keeps_it_from_beginning_is_told_in_the_same_way() {
    let dir = Arc::new(Dir::new());
    let output = Setup::run(&dir).args(["no-such.py", "--log-format", "json"]).output();
    assert_eq!(output.status.code(), Some(2));
    let lines = objects(std::str::from_utf8(&output.stderr).unwrap());
    assert_eq!((lines.len(), &lines[0]["level"]), (1, &"error".into()));
    assert!(lines[0]["message"].as_str().unwrap().contains("no-such.py"));
}

/// The service manager's end.
struct Manager {
    socket: UnixDatagram,
}

impl Manager {
    #[track_caller]
    fn heard(&self) -> String {
        let mut buffer = [0; 1024];
        let count = self.socket.recv(&mut buffer).expect("it tells something");
        String::from_utf8(buffer[..count].to_vec()).unwrap()
    }

    /// Everything up to a message that begins like this.
    #[track_caller]
    fn heard_until(&self, begin: &str) -> String {
        loop {
            let text = self.heard();
            if text.starts_with(begin) {
                return text;
            }
            assert!(!text.starts_with("READY=1") && !text.starts_with("STOPPING=1"), "{text} before {begin}");
        }
    }
}

#[test]
fn the_service_manager_learns_when_it_is_ready_reloads_lives_and_ends() {
    let dir = Arc::new(Dir::new());
    let hidden = format!("pmcp-test-{}", dir.path().display());
    let path = dir.join("notify");
    let of_path = (SocketAddr::from_pathname(&path).unwrap(), path.display().to_string());
    let abstract_name = (SocketAddr::from_abstract_name(&hidden).unwrap(), format!("@{hidden}"));
    for (address, name) in [of_path, abstract_name] {
        let manager = Manager { socket: UnixDatagram::bind_addr(&address).unwrap() };
        manager.socket.set_read_timeout(Some(crate::support::PATIENCE)).unwrap();
        let dir = Arc::new(Dir::new());
        let raw = RawTool::new(&dir);
        let setup = Setup::run(&dir).arg(raw.file()).env("NOTIFY_SOCKET", &name).env("LISTEN_FDNAMES", "x");
        let mut host = setup.env("WATCHDOG_USEC", "100000").host();
        let first = raw.connect();
        // Long enough for a sign of life while it is not ready.
        manager.heard_until("STATUS=the tool process is starting");
        assert_eq!(manager.heard_until("WATCHDOG"), "WATCHDOG=1");
        raw.order("echo variables: ${NOTIFY_SOCKET-none} ${WATCHDOG_USEC-none} ${LISTEN_FDNAMES-none}");
        host.stderr_says("tool: variables: none none none");
        first.handshake(vec![tool("any")]);
        assert!(manager.heard_until("READY=1").ends_with("\nSTATUS=version 1 of the tools serves"));
        process::signal(host.pid(), "USR1");
        let second = raw.connect();
        let text = manager.heard_until("RELOADING=1");
        let micros = text.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")).unwrap();
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        let age = uptime - micros.parse::<f64>().unwrap() / 1e6;
        assert!((-1.0..60.0).contains(&age), "{micros} of {uptime}");
        second.handshake(vec![tool("any")]);
        assert!(manager.heard_until("READY=1").ends_with("\nSTATUS=version 2 of the tools serves"));
        host.end();
        manager.heard_until("STOPPING=1");
    }
}

#[test]
fn a_service_manager_that_is_none_is_named_and_hurts_nobody() {
    let dir = Arc::new(Dir::new());
    for (name, says) in [("vsock:2:1", true), ("/no/such/socket", false)] {
        let raw = RawTool::new(&dir);
        let mut host = Setup::run(&dir).arg(raw.file()).env("NOTIFY_SOCKET", name).host();
        let _peer = raw.serve(vec![tool("any")]);
        host.initialize();
        host.end();
        assert_eq!(host.stderr().contains("NOTIFY_SOCKET is vsock:2:1"), says, "{}", host.stderr());
        for fifo in ["starts", "orders"] {
            std::fs::remove_file(dir.join(fifo)).unwrap();
        }
    }
}

#[test]
fn without_a_service_manager_it_stays_at_rest() {
    let dir = Arc::new(Dir::new());
    let raw = RawTool::new(&dir);
    let mut host = Setup::run(&dir).arg(raw.file()).env("WATCHDOG_USEC", "100000").host();
    let _peer = raw.serve(vec![tool("any")]);
    host.initialize();
    process::stays_idle(host.pid());
    host.end();
}

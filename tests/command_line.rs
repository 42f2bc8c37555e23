//! Wrong command lines, help and version of the real program: what a person sees, and the code
//! that a script sees.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};

fn pmcp() -> Command {
    let program = std::env::var_os("PMCP_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_pmcp").into());
    let mut command = Command::new(program);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command
}

fn run<Word: AsRef<OsStr>>(words: &[Word]) -> Output {
    pmcp().args(words).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn a_wrong_command_line_is_one_line_and_code_2() {
    for (line, hint) in [
        ("", "pmcp run FILE"),
        ("rnu server.py", "did you mean run?"),
        ("run", "pmcp run FILE"),
        ("dev Cargo.toml --runtime cat --watch [a", "is not closed"),
        ("dev Cargo.toml --runtime cat --ignore {a", "is not closed"),
        ("dev Cargo.toml --runtime cat --poll 0", "--poll"),
        ("run Cargo.toml --runtime cat --watch *.txt", "pmcp dev"),
        ("run --nmae x server.py", "did you mean --name?"),
        ("dev server.py --call-timeout fast", "1h30m"),
        ("run server.py --transport htpp", "stdio and http"),
        ("run Cargo.toml --runtime cat --listen 0.0.0.0:0", "--insecure"),
        ("run Cargo.toml --runtime cat --listen unix:src", "src exists and is not a socket"),
        ("run Cargo.toml --runtime cat --transport stdio --port 0", "--port can't go with it"),
        ("run Cargo.tml", "did you mean Cargo.toml?"),
        ("run no/such/server.py", "no/such"),
        ("run src", "is a folder"),
        ("run LICENSE-MIT", "--runtime"),
        ("run Cargo.toml --runtime no-such-program", "PATH"),
        ("run Cargo.toml --runtime cat --instructions no-such-file", "no-such-file"),
        ("run Cargo.toml --runtime cat --socket no/such/s", "--socket: "),
        ("run Cargo.toml --runtime cat --socket no/such/s", "no/such/s can't be used: No such file"),
        ("run Cargo.toml --runtime cat --socket Cargo.toml/s", "Cargo.toml/s can't be used: Not a directory"),
        ("run Cargo.toml --runtime cat --socket Cargo.toml", "Cargo.toml exists and is not a socket"),
        // Nobody may make files there, not even root.
        ("dev Cargo.toml --runtime cat --socket /sys/s", "--socket: /sys/s can't be used: "),
        ("help nothing", "run, dev, doctor and health"),
        ("health https://localhost", "TLS"),
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = run(&words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "pmcp {line}: {said}");
        assert!(output.stdout.is_empty(), "pmcp {line}");
        assert_eq!(said.matches('\n').count(), 1, "pmcp {line}: {said}");
        assert!(said.starts_with("pmcp: ") && said.ends_with('\n'), "pmcp {line}: {said}");
        assert!(said.contains(hint), "pmcp {line}: {said}");
    }
}

#[test]
fn whatever_was_typed_is_shown_on_one_line() {
    for bytes in [&b"a\nb\rc\x1b[31m"[..], b"\xff\xfe", b"run\n"] {
        for words in [vec![OsStr::from_bytes(bytes)], vec![OsStr::new("run"), OsStr::from_bytes(bytes)]] {
            let output = run(&words);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert_eq!(said.chars().filter(|c| c.is_control()).count(), 1, "{said:?}");
        }
    }
}

#[test]
fn help_and_version_are_printed_and_nothing_is_touched() {
    for line in ["--help", "-h", "help", "help run", "run --help", "dev no-such-file -h", "-V", "run -V"] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = pmcp().args(&words).env_clear().output().expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "pmcp {line}");
        assert!(output.stderr.is_empty() && output.stdout.ends_with(b"\n"), "pmcp {line}");
    }
    let version = format!("pmcp {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(text(&run(&["--version"]).stdout), version);
}

#[test]
fn a_reader_that_is_gone_is_no_failure_and_a_full_disk_is_one() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = pmcp().arg("--help").stdout(writer).status().expect("the program starts");
    assert_eq!(status.code(), Some(0));
    let full = std::fs::File::create("/dev/full").expect("this device is always full");
    let status = pmcp().arg("--help").stdout(full).status().expect("the program starts");
    assert_eq!(status.code(), Some(1));
}

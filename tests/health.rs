//! `pmcp health` against servers of all kinds: what it says, and the code that a container engine
//! goes by.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::dir::Dir;
use crate::support::pmcp::binary;

/// What it says, and its code.
#[track_caller]
fn health(words: &[&str]) -> (String, i32) {
    // A container may have nothing but the program.
    let mut command = Command::new(binary());
    let output = command.arg("health").args(words).env_clear().stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.matches('\n').count(), 1, "{said:?}");
    assert_eq!(said.chars().filter(|c| c.is_control()).count(), 1, "{said:?}");
    (said.trim_end().into(), output.status.code().unwrap())
}

/// Reads a request up to its empty line.
fn request(stream: &mut impl Read) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

/// A server for one connection; it gives what it was asked.
fn server(answer: &'static [u8]) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let asked = request(&mut stream);
        stream.write_all(answer).unwrap();
        asked
    });
    (address, served)
}

#[test]
fn an_answer_is_one_line_and_one_code() {
    for (answer, line, code) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nready\n"[..], "200 ready", 0),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "204", 0),
        (
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\nwhy\x1b[0m\n\n",
            "503 why\u{fffd}[0m",
            1,
        ),
        (b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", "302", 1),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "what answers does not speak HTTP", 1),
        (b"", "the connection was closed without an answer", 1),
    ] {
        let (address, served) = server(answer);
        assert_eq!(health(&[&address]), (format!("{address}/readyz: {line}"), code));
        let asked = served.join().unwrap();
        assert!(asked.starts_with("GET /readyz HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains(&format!("\r\nHost: {address}\r\n")), "{asked}");
    }
}

#[test]
fn a_socket_is_asked_like_an_address() {
    let dir = Dir::new();
    let path = dir.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let asked = request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nalive\n").unwrap();
        asked
    });
    let of = format!("unix:{}", path.display());
    assert_eq!(health(&[&format!("{of}:/livez")]), (format!("{of}/livez: 200 alive"), 0));
    assert!(served.join().unwrap().starts_with("GET /livez HTTP/1.1\r\nHost: localhost\r\n"));
    let (said, code) = health(&[&of]);
    assert!(said.contains("refused") && code == 1, "{said}");
    std::fs::remove_file(&path).unwrap();
    let (said, code) = health(&[&of]);
    assert!(said.contains("No such file") && code == 1, "{said}");
}

#[test]
fn nobody_is_waited_for_longer_than_was_said() {
    // One that takes the connection and says nothing, and one that says little by little.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let addresses = [&silent, &slow].map(|listener| listener.local_addr().unwrap().to_string());
    let trickle = std::thread::spawn(move || {
        let (mut stream, _) = slow.accept().unwrap();
        let head = b"HTTP/1.1 200 OK\r\nA: ".iter().chain(std::iter::repeat(&b'x'));
        for byte in head {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    for address in addresses {
        let begin = Instant::now();
        let (said, code) = health(&[&address, "--timeout", "300ms"]);
        assert_eq!((said, code), (format!("{address}/readyz: no answer came in time"), 1));
        assert!(begin.elapsed() >= Duration::from_millis(300));
    }
    trickle.join().unwrap();
    // A port that was free a moment ago.
    let address = silent.local_addr().unwrap().to_string();
    drop(silent);
    let (said, code) = health(&[&address]);
    assert!(said.contains("refused") && code == 1, "{said}");
}

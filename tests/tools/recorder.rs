//! Starts the command given, passes its input and output through, and keeps what was said as the other
//! tests do: what official clients and the bridge say to each other is judged as well.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it stands in for the program whose output it passes on"
)]

use std::io::{BufRead, BufReader, Read, Write, stdin, stdout};
use std::process::{Command, Stdio, exit};
use std::sync::Arc;

#[path = "../support/transcript.rs"]
mod transcript;

use transcript::Transcript;

fn main() {
    let mut words = std::env::args_os().skip(1);
    let program = words.next().expect("a command to start");
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("a pipe");
    let output = child.stdout.take().expect("a pipe");
    let transcript = Arc::new(Transcript::new());
    let said = Arc::clone(&transcript);
    std::thread::spawn(move || {
        let mut bytes = [0; 64 * 1024];
        while let Ok(count @ 1..) = stdin().lock().read(&mut bytes) {
            said.host(&bytes[..count]);
            if input.write_all(&bytes[..count]).is_err() {
                return;
            }
        }
    });
    for line in BufReader::new(output).split(b'\n') {
        let Ok(mut line) = line else { break };
        transcript.program(&line);
        line.push(b'\n');
        let mut out = stdout().lock();
        if out.write_all(&line).and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    drop(stdout());
    exit(child.wait().ok().and_then(|status| status.code()).unwrap_or(1));
}

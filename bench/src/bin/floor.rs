//! The floor: what two pipes and two processes cost when nothing is done. Reads a line, finds the
//! id and the text by searching, writes an answer of the right shape. No parsing, no checks.

use std::io::{BufRead, BufReader, Write};

fn main() {
    let mut input = BufReader::with_capacity(64 * 1024, std::io::stdin().lock());
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    let mut answer = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let Some(id) = between(&line, b"\"id\":", b",") else { continue };
        answer.clear();
        answer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        answer.extend_from_slice(id);
        answer.extend_from_slice(b",\"result\":");
        if let Some(text) = between(&line, b"\"text\":\"", b"\"") {
            answer.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"");
            answer.extend_from_slice(text);
            answer.extend_from_slice(b"\"}]}");
        } else {
            answer.extend_from_slice(
                b"{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\
                  \"serverInfo\":{\"name\":\"floor\",\"version\":\"0\"}}",
            );
        }
        answer.extend_from_slice(b"}\n");
        if output.write_all(&answer).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// The bytes after `start` up to `end`.
fn between<'a>(line: &'a [u8], start: &[u8], end: &[u8]) -> Option<&'a [u8]> {
    let from = line.windows(start.len()).position(|window| window == start)? + start.len();
    let rest = &line[from..];
    let to = rest.iter().position(|byte| *byte == end[0])?;
    Some(&rest[..to])
}

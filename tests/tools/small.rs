//! The smallest tool process in Rust: the wire by hand, with no SDK, for messages below 128 bytes.
//! Its one tool says its version and its parent.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;

const VERSION: &str = "one";

fn field(number: u8, data: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, data.len() as u8][..], data].concat()
}

/// The content of a field.
fn find(mut message: &[u8], number: u8) -> Option<&[u8]> {
    while let [key, length, rest @ ..] = message {
        let (content, behind) = rest.split_at(*length as usize);
        if key >> 3 == number {
            return Some(content);
        }
        message = behind;
    }
    None
}

fn main() {
    let path = std::env::var("PROTOMCP_SOCKET").unwrap();
    let mut bridge = UnixStream::connect(path).unwrap();
    let mut length = [0; 4];
    while bridge.read_exact(&mut length).is_ok() {
        let mut asked = vec![0; u32::from_be_bytes(length) as usize];
        bridge.read_exact(&mut asked).unwrap();
        let request = field(14, find(&asked, 14).unwrap_or_default());
        let mut answers = Vec::new();
        if find(&asked, 2).is_some() {
            let tool = [field(1, b"where"), field(3, br#"{"type":"object"}"#)].concat();
            answers.push([field(5, &field(1, &tool)), request].concat());
            answers.push(field(4, &[8, 1]));
        } else if find(&asked, 3).is_some() {
            let said = format!("{VERSION} {}", parent_id());
            answers.push([field(6, &field(2, said.as_bytes())), request].concat());
        }
        for answer in answers {
            bridge.write_all(&(answer.len() as u32).to_be_bytes()).unwrap();
            bridge.write_all(&answer).unwrap();
        }
    }
}

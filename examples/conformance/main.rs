//! The tool file for the protocol's official conformance suite, which prescribes the names and
//! texts in it: `pmcp dev examples/conformance/main.rs`. It uses everything that a tool file can,
//! so it is also a place to look things up.

#![allow(clippy::disallowed_methods, reason = "the bridge must not sleep; a tool may")]

mod asking;
mod beside;
mod input_required;
mod results;
mod running;
mod tasks;

use pmcp_bridge::sdk::{Error, Server};

fn main() -> Result<(), Error> {
    // Many, because a call that waits for somebody who never answers keeps its place.
    let server = Server::new().concurrency(64);
    let server = results::add(server);
    let server = running::add(server);
    let server = asking::add(server);
    let server = input_required::add(server);
    let server = tasks::add(server);
    beside::add(server).run()
}

/// The smallest picture: one black pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
    \0\0\0\nIDATx\xdac`\0\0\0\x02\0\x01\xe5'\xde\xfc\0\0\0\0IEND\xaeB`\x82";

/// The shortest sound: none.
const WAV: &[u8] = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\x80>\0\0\x02\0\x10\0data\0\0\0\0";

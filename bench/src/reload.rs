//! From a save to the news of it: `pmcp dev` beside the start of the same tool process alone.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::server::{Recipe, Server};

/// Medians over the saves.
pub struct Reload {
    /// From the save to `notifications/tools/list_changed`.
    pub save: Duration,
    /// From the start of the tool process to its tools, without a bridge.
    pub alone: Duration,
}

/// Saves the file of a tool process so many times.
pub fn measure(pmcp: &Path, echo_tool: &Path, saves: usize) -> Reload {
    let folder = std::env::temp_dir().join(format!("pmcp-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let file = folder.join("tools.sh");
    save(&file, echo_tool, 0);
    let recipe = Recipe {
        name: "pmcp dev",
        program: pmcp.to_path_buf(),
        arguments: vec!["dev".into(), file.display().to_string()],
    };
    let (mut server, _) = Server::start(&recipe);
    server.list_tools();
    let mut took: Vec<(Duration, Duration)> = (1..=saves)
        .map(|number| {
            let begin = Instant::now();
            save(&file, echo_tool, number);
            server.wait_for("notifications/tools/list_changed");
            let save = begin.elapsed();
            server.list_tools();
            (save, alone(&file, &folder))
        })
        .collect();
    server.stop();
    let _ = fs::remove_dir_all(&folder);
    let median = |of: fn(&mut (Duration, Duration)) -> Duration, took: &mut Vec<(Duration, Duration)>| {
        let mut values: Vec<Duration> = took.iter_mut().map(of).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    Reload { save: median(|both| both.0, &mut took), alone: median(|both| both.1, &mut took) }
}

/// Writes the file as an editor does: beside it, then over it. Its tools are others each time.
fn save(file: &Path, echo_tool: &Path, number: usize) {
    let beside: PathBuf = file.with_extension("new");
    let text = format!("#!/bin/sh\nexec '{}' {number}\n", echo_tool.display());
    fs::write(&beside, text).expect("the folder can be written");
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::rename(&beside, file).expect("the folder can be written");
}

/// Starts the tool process and asks for its tools over a socket of our own.
fn alone(file: &Path, folder: &Path) -> Duration {
    let socket = folder.join("alone.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let begin = Instant::now();
    let mut child = Command::new(file)
        .env("PROTOMCP_SOCKET", &socket)
        .stdin(Stdio::null())
        .spawn()
        .expect("the tool process starts");
    let (mut stream, _) = listener.accept().expect("it connects");
    // An envelope with an empty ListToolsRequest (field 2).
    stream.write_all(&[0, 0, 0, 2, 0x12, 0]).expect("it reads");
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("it answers");
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut body).expect("it answers");
    let took = begin.elapsed();
    drop(stream);
    let _ = child.wait();
    fs::remove_file(&socket).expect("it is ours");
    took
}

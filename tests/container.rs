//! deploy/container/Containerfile without a container engine: its files in a folder of their own, which
//! is all that its processes see, in namespaces of their own, read-only and as the user that it names.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::pmcp::binary;
use crate::support::served::Served;
use crate::support::{environment, eventually, process};

/// What the file says.
#[derive(Default)]
struct Image {
    copied: Vec<(String, String)>,
    user: String,
    healthcheck: Vec<String>,
    entrypoint: Vec<String>,
    command: Vec<String>,
    exposed: String,
}

impl Image {
    /// Understands as much as is in there, and nothing else.
    #[track_caller]
    fn read(text: &str) -> Image {
        let mut image = Image::default();
        let words =
            |text: &str| -> Vec<String> { serde_json::from_str(text).expect("the words of a command") };
        let text = text.replace("\\\n", " ");
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (instruction, rest) = line.split_once(' ').expect(line);
            match instruction {
                "FROM" => assert_eq!(rest, "scratch"),
                "COPY" => {
                    let (from, to) = rest.split_once(' ').expect(line);
                    image.copied.push((from.into(), to.into()));
                }
                "USER" => image.user = rest.into(),
                "EXPOSE" => image.exposed = rest.into(),
                "HEALTHCHECK" => {
                    let (options, command) = rest.split_once(" CMD ").expect(line);
                    assert!(options.split(' ').all(|option| option.starts_with("--")), "{line}");
                    image.healthcheck = words(command);
                }
                "ENTRYPOINT" => image.entrypoint = words(rest),
                "CMD" => image.command = words(rest),
                other => panic!("{other} is not understood here"),
            }
        }
        image
    }
}

/// Mounts what an engine mounts, then becomes the image's process. The folder is the first argument,
/// the user the second, the command the rest.
const RUN: &str = "set -e; root=$1; user=$2; shift 2
mount --make-rprivate /
mount --bind \"$root\" \"$root\"
mount -t tmpfs none \"$root/dev\"
mkdir -m 1777 \"$root/dev/shm\"
mount -t tmpfs -o mode=1777 none \"$root/dev/shm\"
touch \"$root/dev/null\"
mount --bind /dev/null \"$root/dev/null\"
mount -t proc proc \"$root/proc\"
mount -o remount,bind,ro \"$root\"
exec chroot --userspec=\"$user\" \"$root\" \"$@\"";

#[test]
fn the_image_has_two_files_and_is_well() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/container/Containerfile"));
    let mut image = Image::read(&text.unwrap());
    // What `make image` puts side by side.
    let static_files = binary().parent().map(Path::to_owned).unwrap_or_default();
    if !static_files.ends_with("static") || !static_files.join("server").exists() {
        return environment::leave_out("the program under test is not the one that make image made");
    }
    if !process::can_unshare() {
        return environment::leave_out("this user may not make namespaces");
    }
    let dir = Arc::new(Dir::new());
    let root = dir.join("root");
    for folder in ["dev", "proc"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for (from, to) in &image.copied {
        let name = from.strip_prefix("target/static/").expect("a file that make image made");
        let path = root.join(to.trim_start_matches('/'));
        fs::copy(static_files.join(name), &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
    // The network is that of the machine, on which somebody else may have the port.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    for word in image.entrypoint.iter_mut().chain(&mut image.healthcheck) {
        if let Some(before) = word.strip_suffix(&format!(":{}", image.exposed)) {
            *word = format!("{before}:{port}");
        }
    }
    assert!(image.user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{}", image.user);

    // Where the engine's part of the work is found.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let health = || {
        let mut chroot = Command::new("chroot");
        chroot.arg(format!("--userspec={}", image.user)).arg(&root).args(&image.healthcheck);
        let output = chroot.env_clear().env("PATH", &path).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(health().0, Some(1), "nothing runs yet");
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", RUN, "sh"]);
    unshare.arg(&root).arg(&image.user).args(&image.entrypoint).args(&image.command);
    unshare.env_clear().env("PATH", &path);
    unshare.env("MCP_TOKEN", "a-token").env("PMCP_TEST_DIR", dir.path());
    let served = Served::spawn(unshare, 1, Stdio::null());
    assert_eq!(served.address(), format!("0.0.0.0:{port}"));
    eventually("it is well", || health().0 == Some(0));
    assert!(health().1.ends_with("/readyz: 200 ready\n"), "{}", health().1);
    // Probes from other machines ask for whatever address they see.
    assert_eq!(served.ask("GET /readyz", &[("Host", "10.1.2.3:80")], "").status, 200);
    let bearer = [("Authorization", "Bearer a-token"), ("Host", "mcp.example.com")];
    assert_eq!(served.initialize(&bearer[1..]).status, 401);
    let session = served.initialize(&bearer).one("mcp-session-id").to_owned();
    let headers = [&bearer[..], &[("Mcp-Session-Id", session.as_str())]].concat();
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let answer: Value =
        serde_json::from_str(&served.ask("POST /mcp", &headers, &call.to_string()).body).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "Hello, Ada!");
    // The log is for programs.
    let log = served.stderr();
    assert!(
        log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok_and(|it| it.is_object())),
        "{log}"
    );
    // The engine ends the first process of the container, which is pmcp itself.
    let first = process::of_folder(dir.path()).into_iter().find(|pid| command_of(*pid) == Path::new("/pmcp"));
    process::signal(first.expect("pmcp runs"), "TERM");
    eventually("all of it is gone", || process::of_folder(dir.path()).is_empty());
    assert_eq!(health().0, Some(1));
}

/// The first word of a process's command line.
fn command_of(pid: u32) -> PathBuf {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(line.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned().into()
}

//! The files below `deploy/` do what docs/deploy.md says: units, image, manifest and reverse proxy are
//! checked by their own tools as far as a machine without them running can, and what they start is
//! started.

use std::io::{Read, Write};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::input_question::Question;
use pmcp_bridge::wire::protomcp::{
    DisableToolsRequest, ElicitRequest, InputQuestion, InputRequired, ProgressNotification,
};
use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::pmcp::{Setup, binary};
use crate::support::raw_tool::{Call, Peer, RawTool, tool};
use crate::support::served::Served;
use crate::support::{PATIENCE, environment, eventually, process};

/// A file of the guide.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(name)
}

#[track_caller]
fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap()
}

/// Whether a program is there.
fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", "command -v \"$0\"", program]).output();
    found.is_ok_and(|output| output.status.success())
}

/// What a service unit starts: the words behind `pmcp`, up to the file with the tools.
#[track_caller]
fn flags_of_unit() -> Vec<String> {
    let unit = text("systemd/pmcp.service").replace("\\\n", " ");
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let mut words = line.split_whitespace().map(str::to_owned);
    assert_eq!(words.by_ref().take(2).collect::<Vec<_>>(), ["/usr/local/bin/pmcp", "run"]);
    let mut words: Vec<String> = words.collect();
    assert_eq!(words.pop().as_deref(), Some("/srv/mcp/server.py"));
    words
}

#[test]
fn systemd_understands_the_units() {
    if !has("systemd-analyze") {
        return environment::leave_out("there is no systemd-analyze");
    }
    let dir = Dir::new();
    // It looks whether what is to be started is there.
    let installed = binary().canonicalize().unwrap();
    let unit = text("systemd/pmcp.service").replace("/usr/local/bin/pmcp", installed.to_str().unwrap());
    let service = dir.write("pmcp.service", &unit);
    let socket = dir.write("pmcp.socket", &text("systemd/pmcp.socket"));
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .args([&service, &socket])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    // Its own judgement of what the service may do, from 0 to 10, here times ten.
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=yes", "--no-pager", "--threshold=15"]).arg(&service);
    let output = security.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    // What `systemctl enable` would do.
    dir.write("root/etc/systemd/system/pmcp.service", &unit);
    dir.write("root/etc/systemd/system/pmcp.socket", &text("systemd/pmcp.socket"));
    let root = dir.join("root");
    let mut enable = Command::new("systemctl");
    let output = enable.arg("--root").arg(&root).args(["enable", "pmcp.service"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for wanted in ["multi-user.target.wants/pmcp.service", "sockets.target.wants/pmcp.socket"] {
        let link = root.join("etc/systemd/system").join(wanted);
        assert!(link.symlink_metadata().is_ok(), "{wanted}");
    }
}

/// The commands of the guide, each block by itself.
fn blocks() -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/deploy.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let blocks = guide.split("\n```sh\n").skip(1).map(|rest| rest.split("\n```").next().unwrap());
    blocks.map(|block| block.lines().map(str::to_owned).collect()).collect()
}

#[test]
fn what_the_guide_has_root_do_makes_a_service() {
    if !has("systemctl") || !has("openssl") {
        return environment::leave_out("there is no systemctl or no openssl");
    }
    let dir = Dir::new();
    let commands = blocks().into_iter().find(|block| block[0].starts_with("install ")).unwrap();
    // Into a folder instead of the machine's, on which systemd need not run.
    let root = dir.join("root");
    std::fs::create_dir_all(&root).unwrap();
    let script: String = commands
        .iter()
        .filter(|line| *line != "systemctl daemon-reload")
        .map(|line| {
            let line = line.replace(" /usr/", " $ROOT/usr/").replace(" /etc/", " $ROOT/etc/");
            line.replace("target/static/pmcp", "$PMCP").replace("enable --now", "--root=$ROOT enable") + "\n"
        })
        .collect();
    let mut sh = Command::new("sh");
    sh.args(["-eu", "-c", &script]).env("ROOT", &root).env("PMCP", binary());
    let output = sh.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(has(root.join("usr/local/bin/pmcp").to_str().unwrap()));
    let secrets = std::fs::read_to_string(root.join("etc/pmcp/environment")).unwrap();
    for (line, name) in secrets.lines().zip(["MCP_TOKEN=", "MCP_STATE_KEY="]) {
        assert_eq!(line.strip_prefix(name).map(str::len), Some(64), "{line}");
    }
    let links = "multi-user.target.wants/pmcp.service";
    assert!(root.join("etc/systemd/system").join(links).symlink_metadata().is_ok());
}

#[test]
fn every_other_command_of_the_guide_is_run_somewhere_or_stands_for_what_is() {
    let known = [
        // By CI.
        "make image",
        // The image's file is carried out by the tests in `container`.
        "docker build --file deploy/container/Containerfile --tag pmcp .",
        "docker run --rm --publish 127.0.0.1:8080:8080 --env MCP_TOKEN pmcp",
        // The manifest is checked and its containers are started here.
        "kubectl apply --filename deploy/kubernetes/pmcp.yaml",
        // The configuration is checked here and used by a running nginx.
        "nginx -t",
        "nginx -s reload",
    ];
    let others: Vec<String> =
        blocks().into_iter().filter(|block| !block[0].starts_with("install ")).flatten().collect();
    assert_eq!(others, known);
}

#[test]
fn what_the_guide_says_of_metrics_is_so() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/deploy.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let replica = Replica::of_unit(&[], &[]);
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: mcp.example.com\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
    );
    let page = Line::send(&replica.socket, &request).end();
    let mut named = 0;
    for name in guide.split('`').skip(1).step_by(2) {
        if (name.starts_with("pmcp_") || name.starts_with("process_")) && !name.contains(' ') {
            assert!(page.contains(&format!("\n# TYPE {name} ")), "{name} is not in {page}");
            named += 1;
        }
    }
    assert!(named > 15, "{named}");
    let most = pmcp_bridge::limits::METRICS_TOOLS_MAX;
    assert!(guide.contains(&format!("The first {most} tools")));
    let quiet = pmcp_bridge::limits::HTTP_QUIET.as_secs();
    assert!(guide.contains(&format!("more than {quiet} s")));
    let retry = pmcp_bridge::limits::RETRY.as_secs();
    assert!(guide.contains(&format!("every {retry} s at the latest")));
}

/// What a modern host posts to call a tool.
fn call_of(name: &str, more: &Value) -> String {
    let mut params = json!({
        "name": name,
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
            "progressToken": 1,
        },
    });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: mcp.example.com\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

const TOKEN: &str = "what-hosts-bring";
const KEY: &str = "a-key-that-all-replicas-share-of-32-bytes";

/// A connection to a socket.
struct Line {
    stream: UnixStream,
    got: String,
}

impl Line {
    #[track_caller]
    fn send(socket: &Path, request: &str) -> Line {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        Line { stream, got: String::new() }
    }

    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let count = self.stream.read(&mut buffer).expect("something comes");
        self.got.push_str(&String::from_utf8_lossy(&buffer[..count]));
        count > 0
    }

    /// Reads until this has come.
    #[track_caller]
    fn until(&mut self, text: &str) {
        while !self.got.contains(text) {
            assert!(self.read(), "it ended before {text:?} came: {}", self.got);
        }
    }

    /// All that comes.
    fn end(mut self) -> String {
        while self.read() {}
        self.got
    }

    /// The JSON of a response that is no stream.
    #[track_caller]
    fn json(self) -> Value {
        let got = self.end();
        let (begin, end) = (got.find('{').expect(&got), got.rfind('}').expect(&got));
        serde_json::from_str(&got[begin..=end]).unwrap_or_else(|error| panic!("{error}: {got}"))
    }
}

/// A server with a tool process, behind a socket.
struct Replica {
    served: Served,
    peer: Peer,
    socket: PathBuf,
    _dir: Arc<Dir>,
}

impl Replica {
    /// Started as the service unit says, with a socket as its socket unit makes it.
    #[track_caller]
    fn of_unit(more: &[&str], variables: &[(&str, &str)]) -> Replica {
        let dir = Arc::new(Dir::new());
        let raw = RawTool::new(&dir);
        let socket = dir.join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let script = "exec 3<&0 0</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"";
        let setup = Setup::run(&dir).args(flags_of_unit()).args(more).arg(raw.file());
        let setup = setup.env("MCP_TOKEN", TOKEN).env("MCP_STATE_KEY", KEY);
        let setup = variables.iter().fold(setup, |setup, (name, value)| setup.env(name, value));
        let stdin = Stdio::from(std::os::fd::OwnedFd::from(listener));
        let served = Served::start_with(setup.under(["sh", "-c", script, "sh"]), 1, stdin);
        let peer = raw.serve(vec![tool("any")]);
        Replica { served, peer, socket, _dir: dir }
    }
}

#[test]
fn the_service_unit_starts_a_server_that_tells_systemd_of_itself() {
    let dir = Dir::new();
    let path = dir.join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = |begin: &str| {
        let mut buffer = [0; 1024];
        loop {
            let count = manager.recv(&mut buffer).unwrap_or_else(|error| panic!("no {begin}: {error}"));
            if buffer[..count].starts_with(begin.as_bytes()) {
                return;
            }
        }
    };
    let watchdog = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "1000000")];
    let replica = Replica::of_unit(&[], &watchdog);
    heard("READY=1");
    heard("WATCHDOG=1");
    let asked = call_of("any", &json!({}));
    let line = Line::send(&replica.socket, &asked);
    replica.peer.answer_text(&replica.peer.call(), "done");
    assert_eq!(line.json()["result"]["content"][0]["text"], "done");
    let stranger = Line::send(&replica.socket, &asked.replace("Host: mcp", "Host: evil")).end();
    assert!(stranger.starts_with("HTTP/1.1 403 "), "{stranger}");
    let stranger = Line::send(&replica.socket, &asked.replace(TOKEN, "another")).end();
    assert!(stranger.starts_with("HTTP/1.1 401 "), "{stranger}");
    // What ExecReload= sends.
    assert!(text("systemd/pmcp.service").contains("\nExecReload=/bin/kill -USR1 $MAINPID\n"));
    process::signal(replica.served.pid(), "USR1");
    heard("RELOADING=1");
    process::signal(replica.served.pid(), "TERM");
    heard("STOPPING=1");
}

/// A running nginx.
struct Nginx {
    child: Child,
    /// Where it listens.
    front: PathBuf,
    dir: Dir,
}

impl Nginx {
    /// With the guide's configuration, in which only places and perhaps a time are others.
    #[track_caller]
    fn start(upstreams: &[&Path], read_timeout: Option<&str>) -> Option<Nginx> {
        let program = environment::file("nginx/nginx")?;
        let dir = Dir::new();
        let front = dir.join("front");
        let servers: String =
            upstreams.iter().map(|path| format!("    server unix:{};\n", path.display())).collect();
        let mut conf = text("nginx/pmcp.conf");
        for (from, to) in [
            ("    server unix:/run/pmcp.sock;\n", servers.as_str()),
            ("listen 443 ssl;", &format!("listen unix:{};", front.display())),
            ("    ssl_certificate /etc/ssl/mcp.example.com.pem;\n", ""),
            ("    ssl_certificate_key /etc/ssl/mcp.example.com.key;\n", ""),
            ("    ssl_protocols TLSv1.2 TLSv1.3;\n", ""),
            ("proxy_read_timeout 60s;", &format!("proxy_read_timeout {};", read_timeout.unwrap_or("60s"))),
        ] {
            assert!(conf.contains(from), "{from} is not in the configuration");
            conf = conf.replace(from, to);
        }
        let mut command = nginx(&program, &dir, &conf);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        eventually("nginx listens", || UnixStream::connect(&front).is_ok());
        Some(Nginx { child, front, dir })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking()
            && let Some(mut stderr) = self.child.stderr.take()
        {
            let mut said = String::new();
            let _ = stderr.read_to_string(&mut said);
            eprintln!("nginx in {}:\n{said}", self.dir.path().display());
        }
    }
}

/// nginx with this for its http block, and nothing of the machine's own configuration.
fn nginx(program: &Path, dir: &Dir, conf: &str) -> Command {
    dir.write("pmcp.conf", conf);
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("    {kind}_temp_path {}/{kind};\n", dir.path().display()))
        .collect();
    let main = dir.write(
        "nginx.conf",
        &format!(
            "daemon off;\nmaster_process off;\npid {0}/pid;\nevents {{}}\n\
             http {{\n    access_log off;\n{temporary}    include {0}/pmcp.conf;\n}}\n",
            dir.path().display()
        ),
    );
    let mut command = Command::new(program);
    command.arg("-p").arg(dir.path()).arg("-c").arg(main).args(["-e", "stderr"]).stdin(Stdio::null());
    command
}

#[test]
fn nginx_understands_its_configuration() {
    let Some(program) = environment::file("nginx/nginx") else { return };
    if !has("openssl") {
        return environment::leave_out("there is no openssl to make a certificate");
    }
    let dir = Dir::new();
    let (certificate, key) = (dir.join("certificate"), dir.join("key"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]);
    openssl.args(["-subj", "/CN=mcp.example.com", "-out"]).arg(&certificate).arg("-keyout").arg(&key);
    assert!(openssl.output().unwrap().status.success());
    let conf = text("nginx/pmcp.conf")
        .replace("/etc/ssl/mcp.example.com.pem", certificate.to_str().unwrap())
        .replace("/etc/ssl/mcp.example.com.key", key.to_str().unwrap());
    let output = nginx(&program, &dir, &conf).arg("-t").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("[warn]"), "{said}");
}

#[test]
fn through_nginx_events_come_at_once_and_probes_do_not_get_in() {
    let replica = Replica::of_unit(&[], &[]);
    let Some(nginx) = Nginx::start(&[&replica.socket], None) else { return };
    let mut line = Line::send(&nginx.front, &call_of("any", &json!({})));
    let call = replica.peer.call();
    for progress in 1..4 {
        let progress_token = call.progress_token.clone();
        let news = ProgressNotification { progress_token, progress, ..Default::default() };
        replica.peer.send("", Msg::Progress(news));
        // Before anything else has happened.
        line.until(&format!("\"progress\":{progress}"));
    }
    assert!(line.got.to_ascii_lowercase().contains("content-type: text/event-stream"), "{}", line.got);
    replica.peer.answer_text(&call, "done");
    assert!(line.end().contains("\"text\":\"done\""));
    for path in ["/", "/livez", "/readyz", "/metrics", "/mcp/x"] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: mcp.example.com\r\nConnection: close\r\n\r\n");
        let got = Line::send(&nginx.front, &request).end();
        assert!(got.starts_with("HTTP/1.1 404 ") && got.contains("nginx"), "{path}: {got}");
    }
    // Another name is refused by pmcp, which learns of it.
    let other = call_of("any", &json!({})).replace("Host: mcp.", "Host: evil.");
    let got = Line::send(&nginx.front, &other).end();
    assert!(got.starts_with("HTTP/1.1 403 ") && got.contains("evil.example.com"), "{got}");
    // A large argument arrives whole.
    let large = json!({"arguments": {"x": "y".repeat(3 << 20)}});
    let line = Line::send(&nginx.front, &call_of("any", &large));
    let call = replica.peer.call();
    assert!(call.arguments.len() > 3 << 20);
    replica.peer.answer_text(&call, "large");
    assert_eq!(line.json()["result"]["content"][0]["text"], "large");
}

/// How long nothing happens: with `PMCP_IDLE=600` ten minutes at the times of the guide, else a few
/// seconds at shorter ones. The times are what is tested, not waited for.
#[test]
fn an_idle_stream_lives_on_through_nginx() {
    let idle = std::env::var("PMCP_IDLE").ok().map(|text| text.parse().expect("PMCP_IDLE is in seconds"));
    let (flags, read_timeout, idle): (&[&str], _, u64) = match idle {
        Some(seconds) => (&[], None, seconds),
        // A sign of life each second, and a proxy that cuts what is silent for three.
        None => (&["--stream-time", "1s"], Some("3s"), 7),
    };
    let replica = Replica::of_unit(&[flags, &["--call-timeout", "1h"]].concat(), &[]);
    let Some(nginx) = Nginx::start(&[&replica.socket], read_timeout) else { return };
    let mut call_line = Line::send(&nginx.front, &call_of("any", &json!({})));
    let call = replica.peer.call();
    // A host of the era with a handshake listens to its session.
    let head = format!(
        "HTTP/1.1\r\nHost: mcp.example.com\r\nAuthorization: Bearer {TOKEN}\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n"
    );
    let body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\
        \"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}";
    let post = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let answer = Line::send(&nginx.front, &format!("POST /mcp {head}{post}")).end();
    let session = answer.lines().find_map(|line| line.strip_prefix("Mcp-Session-Id: ")).expect(&answer);
    let own = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-06-18\r\n");
    let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let noted =
        format!("{own}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{note}", note.len());
    assert!(Line::send(&nginx.front, &format!("POST /mcp {head}{noted}")).end().starts_with("HTTP/1.1 202 "));
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let listed =
        format!("{own}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{list}", list.len());
    assert!(Line::send(&nginx.front, &format!("POST /mcp {head}{listed}")).end().contains("\"any\""));
    let mut listener = Line::send(&nginx.front, &format!("GET /mcp {head}{own}\r\n"));
    listener.until("\r\n\r\n");
    let begin = Instant::now();
    let mut comments = 0;
    for line in [&mut call_line, &mut listener] {
        line.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    }
    while begin.elapsed() < Duration::from_secs(idle) {
        for line in [&mut call_line, &mut listener] {
            let mut buffer = [0; 4096];
            match line.stream.read(&mut buffer) {
                Ok(0) => panic!("a stream was cut after {:?}: {}", begin.elapsed(), line.got),
                Ok(count) => line.got.push_str(&String::from_utf8_lossy(&buffer[..count])),
                Err(_) => {}
            }
        }
        comments = call_line.got.matches("\n:").count();
    }
    assert!(comments > 2, "{}", call_line.got);
    for line in [&mut call_line, &mut listener] {
        line.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    replica.peer.answer_text(&call, "at last");
    assert!(call_line.end().contains("\"text\":\"at last\""));
    listener.got.clear();
    let tool_names = vec!["any".into()];
    replica.peer.send("", Msg::DisableTools(DisableToolsRequest { tool_names }));
    listener.until("notifications/tools/list_changed");
}

/// What the container's image starts, without the command that its CMD names.
#[track_caller]
fn entrypoint() -> Vec<String> {
    let text = text("container/Containerfile");
    let line = text.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).unwrap();
    let words: Vec<String> = serde_json::from_str(line).unwrap();
    assert_eq!(words[..2], ["/pmcp", "run"]);
    words[2..].to_vec()
}

#[test]
fn replicas_of_the_manifest_take_up_each_others_calls_behind_a_plain_balancer() {
    let Some(python) = environment::file("operation/bin/python") else { return };
    let mut check = Command::new(python);
    let output =
        check.arg(environment::source("operation/kubernetes.py")).arg(file("kubernetes/pmcp.yaml")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(manifest["probes"]["readinessProbe"], json!([8080, "/readyz"]));
    assert_eq!(manifest["probes"]["livenessProbe"], json!([8080, "/livez"]));
    let image = text("container/Containerfile");
    assert!(image.contains(&format!("\nUSER {0}:{0}\n", manifest["user"])));
    let (before, flags) = (entrypoint(), manifest["args"].as_array().unwrap());
    let flags: Vec<&str> = flags.iter().map(|word| word.as_str().unwrap()).collect();
    let end = flags.iter().position(|word| *word == "--").expect("what is to be started");
    assert_eq!(flags[end..], ["--", "/server"]);
    let grace = before.iter().position(|word| word == "--grace").map(|at| before[at + 1].as_str());
    assert!(grace == Some("20s") && manifest["ends_within"].as_u64() > Some(25));

    let replicas = [(), ()].map(|()| {
        let dir = Arc::new(Dir::new());
        let raw = RawTool::new(&dir);
        let socket = dir.join("socket");
        let listen = format!("unix:{}", socket.display());
        let words = before.iter().map(|word| word.replace("0.0.0.0:8080", &listen));
        let setup = Setup::run(&dir).args(words).args(&flags[..end]).arg(raw.file());
        let setup = ["MCP_TOKEN", "MCP_STATE_KEY"].iter().fold(setup, |setup, name| {
            let value = manifest["environment"][name].as_str().expect("a secret");
            setup.env(name, if *name == "MCP_TOKEN" { TOKEN } else { value })
        });
        let served = Served::start(setup, 1);
        let peer = raw.serve(vec![tool("any")]);
        Replica { served, peer, socket, _dir: dir }
    });
    let sockets: Vec<&Path> = replicas.iter().map(|replica| replica.socket.as_path()).collect();
    let Some(nginx) = Nginx::start(&sockets, None) else { return };
    // One is asked and asks back, and keeps nothing.
    let line = Line::send(&nginx.front, &call_of("any", &json!({})));
    let first = asked(&replicas);
    let question = ElicitRequest {
        message: "Who?".into(),
        requested_schema_json: r#"{"type":"object","properties":{"name":{"type":"string"}}}"#.into(),
        ..Default::default()
    };
    let question = InputQuestion { key: "who".into(), question: Some(Question::Elicit(question)) };
    let required = InputRequired { questions: vec![question], state: b"step 1".to_vec() };
    replicas[first.0].peer.send(&first.1.id, Msg::InputRequired(required));
    let answer = line.json();
    let state = &answer["result"]["requestState"];
    assert!(state.is_string(), "{answer}");
    // The other one takes it up.
    let who = json!({"who": {"action": "accept", "content": {"name": "Eve"}}});
    let again = json!({"requestState": state, "inputResponses": who});
    let mut line = Line::send(&nginx.front, &call_of("any", &again));
    let mut second = asked(&replicas);
    while second.0 == first.0 {
        replicas[second.0].peer.answer_text(&second.1, "Eve");
        assert_eq!(line.json()["result"]["content"][0]["text"], "Eve");
        line = Line::send(&nginx.front, &call_of("any", &again));
        second = asked(&replicas);
    }
    replicas[second.0].peer.answer_text(&second.1, "Eve");
    assert_eq!(line.json()["result"]["content"][0]["text"], "Eve");
    // One that is gone is not missed.
    let [gone, left] = if second.0 == 0 { [1, 0] } else { [0, 1] };
    process::signal(replicas[gone].served.pid(), "KILL");
    eventually("it is gone", || !process::alive(replicas[gone].served.pid()));
    for _ in 0..4 {
        let line = Line::send(&nginx.front, &call_of("any", &json!({})));
        replicas[left].peer.answer_text(&replicas[left].peer.call(), "here");
        assert_eq!(line.json()["result"]["content"][0]["text"], "here");
    }
}

/// Which of them was called.
#[track_caller]
fn asked(replicas: &[Replica; 2]) -> (usize, Call) {
    let begin = Instant::now();
    loop {
        for (at, replica) in replicas.iter().enumerate() {
            if let Some(call) = replica.peer.try_call() {
                return (at, call);
            }
        }
        assert!(begin.elapsed() < PATIENCE, "none of them was called");
        std::thread::sleep(Duration::from_millis(2));
    }
}

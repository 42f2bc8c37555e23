//! A scripted host that uses a tool file through `pmcp dev` and shows what is said:
//! `make demo` (a tool file in Rust) and `make demo-python`.
//!
//! It makes a folder of its own below `target`, starts the bridge that was built beside it, and
//! fails when anything is answered that it does not expect.

#![expect(clippy::print_stdout, reason = "this program exists to print")]

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long anything may take; a first build is the longest.
const PATIENCE: Duration = Duration::from_secs(180);

/// What stands in a tool file, behind its language's sign for a comment, where the new tool goes.
const MARK: &str = "A new tool goes here.";

const NEW_RUST_TOOL: &str = r#"
.tool(
    tool("shout")
        .description("Says it louder")
        .arg::<String>("text", "What to say")
        .handler(|_, args| Ok(format!("{}!", args.get::<String>("text")?.to_uppercase()))),
)
"#;

const NEW_PYTHON_TOOL: &str = r#"
@tool("Says it louder")
def shout(text: str) -> str:
    return text.upper() + "!"
"#;

fn main() -> ExitCode {
    let language = std::env::args().nth(1).unwrap_or_default();
    let outcome = match language.as_str() {
        "rust" => rust_file().and_then(|file| conversation(&file)),
        "python" => python_file().and_then(|file| conversation(&file)),
        _ => Err("usage: demo-host rust|python".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A tool file and what it will be changed to.
struct ToolFile {
    pmcp: PathBuf,
    path: PathBuf,
    environment: Vec<(&'static str, PathBuf)>,
    changed: String,
}

/// A package in a folder of its own that needs nothing but this one.
fn rust_file() -> Result<ToolFile> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = target()?;
    let folder = target.join("demo");
    let path = folder.join("src/main.rs");
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"demo\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         pmcp-bridge = {{ path = {:?}, default-features = false }}\n",
        package.display().to_string()
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    // The same versions as the bridge, so that nothing has to be fetched.
    fs::copy(package.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let source = fs::read_to_string(package.join("examples/demo.rs"))?;
    fs::write(&path, &source)?;
    Ok(ToolFile {
        pmcp: target.join("debug/pmcp"),
        path,
        environment: vec![("CARGO_TARGET_DIR", target), ("CARGO_NET_OFFLINE", "true".into())],
        changed: with_new_tool(&source, "//", NEW_RUST_TOOL)?,
    })
}

/// A folder with a virtual environment that holds the published SDK.
fn python_file() -> Result<ToolFile> {
    let target = target()?;
    let folder = target.join("demo-python");
    let path = folder.join("server.py");
    let python = folder.join(".venv/bin/python");
    fs::create_dir_all(&folder)?;
    if !folder.join(".venv/made").exists() {
        println!("(making a virtual environment with the protomcp SDK)");
        run(Command::new("python3").args(["-m", "venv"]).arg(folder.join(".venv")))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "protomcp==0.3.1"];
        run(Command::new(python).args(pip))?;
        fs::write(folder.join(".venv/made"), "")?;
    }
    let source = include_str!("../examples/server.py");
    fs::write(&path, source)?;
    Ok(ToolFile {
        pmcp: target.join("debug/pmcp"),
        path,
        environment: Vec::new(),
        changed: with_new_tool(source, "#", NEW_PYTHON_TOOL)?,
    })
}

/// The folder that cargo builds into: this program lies in `debug/examples`.
fn target() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.ancestors().nth(3).ok_or("this program lies in no target folder")?;
    Ok(folder.to_path_buf())
}

fn run(command: &mut Command) -> Result<()> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} failed: {status}").into()),
        Err(error) => Err(format!("{command:?} can't be started: {error}").into()),
    }
}

fn with_new_tool(source: &str, comment: &str, tool: &str) -> Result<String> {
    let (before, after) =
        source.split_once(&format!("{comment} {MARK}")).ok_or("the tool file has no place for a new tool")?;
    Ok(format!("{before}{}{after}", tool.trim()))
}

/// The whole of it.
fn conversation(file: &ToolFile) -> Result<()> {
    println!("$ pmcp dev {}", file.path.display());
    let mut host = Host::start(file)?;

    heading("The host introduces itself.");
    let about = host.ask(
        "initialize",
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "demo-host", "version": "1" }
        }),
    )?;
    expect(
        about["capabilities"]["tools"]["listChanged"] == true,
        "the server says that its tools may change",
    )?;
    host.tell("notifications/initialized")?;

    heading("Which tools are there?");
    let tools = host.tools()?;
    expect(tools == ["count", "greet", "unlock"], "there are count, greet and unlock")?;

    heading("A call.");
    let answer = host.call("greet", json!({ "name": "Ada" }), None)?;
    expect(text(&answer) == "Hello, Ada!", "Ada is greeted")?;

    heading("A call that reports its progress.");
    let answer = host.call("count", json!({ "to": 3 }), Some("steps"))?;
    expect(text(&answer) == "Counted to 3.", "it counts to 3")?;
    let steps: Vec<&Value> = host.notes_of("notifications/progress").map(|note| &note["params"]).collect();
    expect(steps.len() == 3, "every step was reported")?;
    expect(steps.iter().all(|step| step["progressToken"] == "steps"), "with the host's token")?;

    heading("A tool that shows another one: the host is told, and asks again.");
    host.call("unlock", json!({}), None)?;
    let tools = host.changed_tools("secret")?;
    expect(tools == ["count", "greet", "secret", "unlock"], "there is a secret tool, too")?;
    host.call("secret", json!({}), None)?;

    heading("The tool file is changed: it gets a tool named shout. Nobody restarts anything.");
    fs::write(&file.path, &file.changed)?;
    host.changed_tools("shout")?;
    let answer = host.call("shout", json!({ "text": "it works" }), None)?;
    expect(text(&answer) == "IT WORKS!", "the new tool works")?;

    heading("The host goes, and everything ends.");
    host.end()
}

fn heading(text: &str) {
    println!("\n# {text}");
}

fn expect(is_so: bool, what: &str) -> Result<()> {
    if is_so { Ok(()) } else { Err(format!("expected that {what}").into()) }
}

/// The text of a call's result.
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// The far end of the bridge's standard input and output.
struct Host {
    bridge: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
    /// Notifications since the last question.
    notes: Vec<Value>,
}

impl Host {
    fn start(file: &ToolFile) -> Result<Host> {
        let mut bridge = Command::new(&file.pmcp)
            .arg("dev")
            .arg(&file.path)
            .args(["--start-timeout", "3m"])
            .envs(file.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} can't be started: {error}", file.pmcp.display()))?;
        let stdin = bridge.stdin.take();
        let stdout = BufReader::new(bridge.stdout.take().ok_or("the bridge has no standard output")?);
        let (sender, lines) = mpsc::channel();
        std::thread::Builder::new().name("reader".into()).spawn(move || {
            for line in stdout.lines().map_while(std::result::Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        })?;
        Ok(Host { bridge, stdin, lines, last_id: 0, notes: Vec::new() })
    }

    /// Sends a message and shows it.
    fn send(&mut self, message: &Value) -> Result<()> {
        show("host ->", message);
        let stdin = self.stdin.as_mut().ok_or("the host is gone")?;
        Ok(writeln!(stdin, "{message}")?)
    }

    /// Waits for a message and shows it; `None` at the end.
    fn receive(&mut self, deadline: Instant) -> Result<Option<Value>> {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = match self.lines.recv_timeout(left) {
            Ok(line) => line,
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(None),
            Err(mpsc::RecvTimeoutError::Timeout) => return Err("nothing came for too long".into()),
        };
        let message: Value = serde_json::from_str(&line).map_err(|error| format!("{error} in {line}"))?;
        show("host <-", &message);
        Ok(Some(message))
    }

    /// A notification.
    fn tell(&mut self, method: &str) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method }))
    }

    /// A request and its result; an error answer is an error.
    fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        self.notes.clear();
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let deadline = Instant::now() + PATIENCE;
        while let Some(mut message) = self.receive(deadline)? {
            if message.get("id").is_none() {
                self.notes.push(message);
                continue;
            }
            expect(message["id"] == id, "the answer has the question's id")?;
            expect(message.get("result").is_some(), "the answer is a result")?;
            return Ok(message["result"].take());
        }
        Err("the bridge went away".into())
    }

    fn notes_of<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Value> {
        self.notes.iter().filter(move |note| note["method"] == method)
    }

    /// The names of all tools, sorted.
    fn tools(&mut self) -> Result<Vec<String>> {
        let mut list = self.ask("tools/list", json!({}))?;
        let tools = list["tools"].as_array_mut().ok_or("a list of tools has tools")?;
        let mut names: Vec<String> =
            tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_string)).collect();
        names.sort();
        println!("        (tools: {})", names.join(", "));
        Ok(names)
    }

    /// Waits until it is told that the tools changed and one of them has this name.
    fn changed_tools(&mut self, wanted: &str) -> Result<Vec<String>> {
        const CHANGED: &str = "notifications/tools/list_changed";
        let deadline = Instant::now() + PATIENCE;
        let mut is_changed = self.notes_of(CHANGED).next().is_some();
        loop {
            if is_changed {
                let tools = self.tools()?;
                if tools.iter().any(|name| name == wanted) {
                    return Ok(tools);
                }
                is_changed = self.notes_of(CHANGED).next().is_some();
            } else {
                let message = self.receive(deadline)?.ok_or("the bridge went away")?;
                is_changed = message["method"] == CHANGED;
            }
        }
    }

    /// A call that succeeds.
    fn call(&mut self, name: &str, arguments: Value, progress_token: Option<&str>) -> Result<Value> {
        let mut params = json!({ "name": name, "arguments": arguments });
        if let Some(token) = progress_token {
            params["_meta"] = json!({ "progressToken": token });
        }
        let result = self.ask("tools/call", params)?;
        expect(result["isError"] != true, "the call succeeds")?;
        Ok(result)
    }

    /// Closes the bridge's standard input, which is how a host goes.
    fn end(mut self) -> Result<()> {
        drop(self.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        while self.receive(deadline)?.is_some() {}
        let status = self.bridge.wait()?;
        println!("pmcp ended: {status}");
        expect(status.success(), "the bridge ends well")
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // After a failure nothing is left behind: without its host the bridge ends by itself.
        drop(self.stdin.take());
        let _ = self.bridge.wait();
    }
}

/// One message on one line, without what is the same in all of them.
fn show(direction: &str, message: &Value) {
    /// Longer ones are cut: this is for reading along.
    const SHOWN_MAX: usize = 150;
    let id = message.get("id").map(|id| format!("[{id}] ")).unwrap_or_default();
    let method = message["method"].as_str().map(|method| format!("{method} ")).unwrap_or_default();
    let body = ["params", "result", "error"].iter().find_map(|name| message.get(*name));
    let body = body.map(Value::to_string).unwrap_or_default();
    let cut: String = body.chars().take(SHOWN_MAX).collect();
    let more = if cut.len() < body.len() { "…" } else { "" };
    println!("{direction} {}", format!("{id}{method}{cut}{more}").trim_end());
}

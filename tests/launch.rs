//! How a tool file is started: what runs it, where, with which environment; the build before a
//! start; and what the doctor says about all that.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::environment::skip;
use crate::support::host::Host;
use crate::support::pmcp::Setup;
use crate::support::{PATIENCE, eventually, process};

const PYTHON: &str = include_str!("tools/small.py");
const NODE: &str = include_str!("tools/small.mjs");
const RUST: &str = include_str!("tools/small.rs");
const GO: &str = include_str!("tools/small.go");

/// Whether a program is on `PATH`; where it is not, its test is skipped.
fn has(program: &str) -> bool {
    let found = which(program).is_some();
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// What the tool says when it is called.
#[track_caller]
fn said(host: &mut Host) -> String {
    let result = host.call("where", json!({}));
    assert_ne!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The words of that.
#[track_caller]
fn words(host: &mut Host) -> Vec<String> {
    said(host).split(' ').map(str::to_owned).collect()
}

/// Starts the program from `/`, as hosts do.
fn from_root(setup: Setup) -> Setup {
    setup.under(["sh", "-c", "cd / && exec \"$0\" \"$@\""])
}

#[test]
fn a_file_runs_in_its_project_wherever_the_host_is() {
    if !has("python3") {
        return;
    }
    let dir = Arc::new(Dir::new());
    dir.write("p/pyproject.toml", "");
    let file = dir.write("p/src/server.py", PYTHON);
    let run = || from_root(Setup::run(&dir)).arg(&file).env("PROTOMCP_PYTHON", "python3");
    for (setup, folder) in [
        (run(), dir.join("p")),
        (run().args(["--cwd", dir.path().to_str().unwrap()]), dir.path().into()),
        (run().args(["--cwd", "usr"]), "/usr".into()),
    ] {
        let mut host = setup.host();
        host.initialize();
        assert_eq!(words(&mut host)[1], folder.to_str().unwrap());
        host.end();
    }
}

#[test]
fn a_whole_command_runs_where_it_was_typed() {
    if !has("python3") {
        return;
    }
    let dir = Arc::new(Dir::new());
    dir.write("p/pyproject.toml", "");
    dir.write("p/server.py", PYTHON);
    let mut host = Setup::run(&dir).args(["-q", "--", "python3", "-B", "p/server.py", "--name", "x"]).host();
    assert_eq!(host.initialize()["serverInfo"]["name"], "server");
    let words = words(&mut host);
    assert_eq!(words[1], dir.path().to_str().unwrap());
    assert_eq!(words[2], host.pid().to_string(), "something stands between us and the tool process");
    host.end();
}

#[test]
fn the_environment_file_is_read_at_each_start() {
    if !has("python3") {
        return;
    }
    let dir = Arc::new(Dir::new());
    let file = dir.write("server.py", PYTHON);
    dir.write("vars", "# what the tool needs\nexport A='first'\nno assignment, but a secret\n");
    let mut host = Setup::run(&dir).arg(file).args(["--env-file", "vars"]).host();
    host.initialize();
    assert_eq!(words(&mut host)[3], "first");
    host.stderr_says("vars, line 3: there is no NAME=VALUE; the line is left out");
    assert!(!host.stderr().contains("secret"), "{}", host.stderr());
    dir.write("vars", "A=second\n");
    process::signal(host.pid(), "USR1");
    let begin = Instant::now();
    while words(&mut host)[3] != "second" {
        assert!(begin.elapsed() < PATIENCE, "the file was not read again");
    }
    // A file that is gone is a failed start; what serves goes on.
    std::fs::remove_file(dir.join("vars")).unwrap();
    process::signal(host.pid(), "USR1");
    host.stderr_says("could not be started: --env-file");
    assert_eq!(words(&mut host)[3], "second");
    host.end();
    let mut host = Setup::run(&dir).args(["server.py", "--env", "A=typed", "--env", "B="]).host();
    host.initialize();
    assert_eq!(words(&mut host)[3], "typed");
    host.end();
    let output = Setup::run(&dir).args(["server.py", "--env-file", "vars"]).output();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("vars can't be used: No such file"));
}

#[test]
fn a_host_with_a_window_gives_a_bare_path() {
    let Some(python) = which("python3") else { return skip("python3 is not installed") };
    let dir = Arc::new(Dir::new());
    let home = dir.join("home");
    dir.write("p/tool.jl", PYTHON);
    // The shims that tools like pyenv install need their own folder, so the real one is called.
    dir.script("home/.local/bin/julia", &format!("#!/bin/sh\nexec '{}' \"$@\"\n", python.display()));
    let bare = |file: &str| {
        Setup::run(&dir).arg(dir.join(file)).env("PATH", "/usr/bin:/bin").env("HOME", home.to_str().unwrap())
    };
    let mut host = bare("p/tool.jl").env("PYENV_VERSION", pyenv_version()).host();
    host.initialize();
    let bin = home.join(".local/bin");
    let path = words(&mut host)[4].clone();
    assert!(path.contains(&format!("{}:/usr/bin:/bin", bin.display())), "{path}");
    host.end();
    dir.write("p/tool.lua", "");
    let output = bare("p/tool.lua").output();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let looked = format!("lua was not found; looked in /usr/bin, /bin (PATH) and in {}", bin.display());
    assert!(said.contains(&looked), "{said}");
}

#[test]
fn a_lock_file_of_a_tool_that_is_not_there_is_one_warning() {
    let Some(python) = which("python3") else { return skip("python3 is not installed") };
    let Some(tool) = ["poetry", "pdm"].into_iter().find(|tool| which(tool).is_none()) else {
        return skip("both poetry and pdm are installed");
    };
    let dir = Arc::new(Dir::new());
    dir.write(&format!("p/{tool}.lock"), "");
    let file = dir.write("p/server.py", PYTHON);
    // A shim needs more of PATH than the program is to see.
    let interpreter = format!("#!/bin/sh\nPATH=$WHOLE_PATH exec '{}' \"$@\"\n", python.display());
    let script = dir.script("bin/python3", &interpreter);
    let mut host = Setup::run(&dir)
        .arg(file)
        .args(["--log-level", "info"])
        .env("PATH", script.parent().unwrap())
        .env("WHOLE_PATH", std::env::var_os("PATH").unwrap())
        .host();
    host.initialize();
    assert_eq!(words(&mut host)[0], "one");
    process::signal(host.pid(), "USR1");
    eventually("it is started again", || host.stderr().matches("serving 1 tools").count() == 2);
    let said = host.stderr();
    let warnings: Vec<&str> = said.lines().filter(|line| line.contains("warning: ")).collect();
    let text = format!("p/{tool}.lock asks for {tool}, which is not installed; looked in ");
    assert!(matches!(warnings[..], [line] if line.contains(&text)), "{said}");
    host.end();
}

/// A pyenv shim with another home looks for its version there.
fn pyenv_version() -> String {
    std::env::var("PYENV_VERSION").unwrap_or_else(|_| "system".into())
}

/// A tool file that has to be built, in a folder of its own.
struct Package {
    dir: Arc<Dir>,
    file: PathBuf,
    /// The source for a version.
    source: fn(&str) -> String,
}

impl Package {
    fn rust() -> Package {
        let dir = Arc::new(Dir::new());
        dir.write(
            "p/Cargo.toml",
            "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
        );
        let file = dir.join("p/src/main.rs");
        Package { dir, file, source: |version| RUST.replace("\"one\"", &format!("{version:?}")) }
    }

    fn go() -> Package {
        // On a new machine go builds its own library first, which takes its time.
        let status = Command::new("go").args(["build", "encoding/binary", "fmt", "net"]).status().unwrap();
        assert!(status.success(), "go build: {status}");
        let dir = Arc::new(Dir::new());
        dir.write("p/go.mod", "module example.com/p\n\ngo 1.20\n");
        dir.write("p/tool.go", GO);
        let file = dir.join("p/version.go");
        Package { dir, file, source: |version| format!("package main\n\nconst version = {version:?}\n") }
    }

    fn save(&self, source: &str) {
        self.dir.write(self.file.strip_prefix(self.dir.path()).unwrap().to_str().unwrap(), source);
    }
}

/// The host and whoever reads the next result learn that a save does not start, and why.
#[track_caller]
fn is_told_and_the_old_one_serves(host: &mut Host, error: &str) {
    let news = host.notification("notifications/message");
    assert_eq!(news["level"], "error");
    let begin = format!("The newest save does not start; version 1 serves on: {error}");
    assert!(news["data"].as_str().unwrap().starts_with(&begin), "{news}");
    let result = host.call("where", json!({}));
    assert!(result["content"][0]["text"].as_str().unwrap().starts_with("one "), "{result}");
    let note = result["content"][1]["text"].as_str().unwrap();
    let begin =
        format!("This result comes from version 1 of the tools: the newest save does not start ({error}");
    assert!(note.starts_with(&begin) && note.ends_with(")."), "{note}");
    let meta = &result["_meta"]["protomcp/reload"];
    assert!(meta["error"].as_str().unwrap().starts_with(error), "{result}");
}

#[track_caller]
fn serves_soon(host: &mut Host, version: &str) {
    let begin = Instant::now();
    while words(host)[0] != version {
        assert!(begin.elapsed() < PATIENCE, "the new version does not serve: {}", host.stderr());
        std::thread::sleep(Duration::from_millis(10));
    }
    let result = host.call("where", json!({}));
    assert!(result.get("_meta").is_none(), "{result}");
}

#[track_caller]
fn is_built_beside_the_one_that_serves(package: &Package, error: &str) {
    package.save(&(package.source)("one"));
    let mut host =
        Setup::command(&package.dir, "dev").arg(&package.file).args(["--start-timeout", "20s"]).host();
    host.initialize();
    host.stderr_says("serving 1 tools");
    let words = words(&mut host);
    assert_eq!(words[0], "one");
    assert_eq!(words[1], host.pid().to_string(), "something stands between us and the tool process");
    eventually("only the tool process is left", || process::of_folder(package.dir.path()).len() == 2);
    // A compile error is a failed save.
    package.save(&format!("{}\nthis does not compile\n", (package.source)("broken")));
    host.stderr_says("could not be built: `");
    is_told_and_the_old_one_serves(&mut host, error);
    package.save(&(package.source)("two"));
    serves_soon(&mut host, "two");
    host.end();
}

#[test]
fn rust_is_built_beside_the_one_that_serves() {
    if has("cargo") {
        is_built_beside_the_one_that_serves(&Package::rust(), "error: expected one of `!` or `::`, found ");
    }
}

#[test]
fn go_is_built_beside_the_one_that_serves() {
    if has("go") {
        is_built_beside_the_one_that_serves(&Package::go(), "./version.go:5:1: syntax error: ");
    }
}

/// A file that an interpreter runs: it is broken in each of these ways, one after the other.
#[track_caller]
fn is_proven_beside_the_one_that_serves(name: &str, source: &str, ways: &[(&str, &str)]) {
    let dir = Arc::new(Dir::new());
    let file = dir.write(name, source);
    let version = |version: &str| source.replace("\"one\"", &format!("{version:?}"));
    // At once, so that nobody ever loads half of it.
    let save = |text: &str| std::fs::rename(dir.write("saved", text), &file).unwrap();
    let mut host = Setup::command(&dir, "dev").arg(&file).host();
    host.initialize();
    assert_eq!(words(&mut host)[0], "one");
    for (way, error) in ways {
        save(&format!("{way}\n{}", version("broken")));
        is_told_and_the_old_one_serves(&mut host, error);
    }
    save(&version("two"));
    serves_soon(&mut host, "two");
    host.end();
}

#[test]
fn python_is_proven_beside_the_one_that_serves() {
    if has("python3") {
        let ways = [
            ("this does not parse", "SyntaxError: invalid syntax"),
            ("import protomcp_is_not_here", "ModuleNotFoundError: No module named 'protomcp_is_not_here'"),
            ("class Gone(Exception): pass\nraise Gone('out')", "Gone: out"),
        ];
        is_proven_beside_the_one_that_serves("server.py", PYTHON, &ways);
    }
}

#[test]
fn node_is_proven_beside_the_one_that_serves() {
    if has("node") {
        let ways = [
            ("this does not parse", "SyntaxError: Unexpected identifier"),
            ("import './gone.mjs';", "Error [ERR_MODULE_NOT_FOUND]: Cannot find module "),
            ("throw new RangeError('too far');", "RangeError: too far"),
        ];
        is_proven_beside_the_one_that_serves("server.mjs", NODE, &ways);
    }
}

/// A cargo that never comes to an end, with a child of its own.
fn endless_cargo(dir: &Arc<Dir>) -> String {
    let script = dir.script("bin/cargo", "#!/bin/sh\necho building >&2\nsleep 1000 &\nwait\n");
    dir.write("p/Cargo.toml", "[package]\nname = \"p\"\n");
    dir.write("p/src/main.rs", "");
    format!("{}:/usr/bin:/bin", script.parent().unwrap().display())
}

#[test]
fn a_build_has_a_bound_of_its_own() {
    let dir = Arc::new(Dir::new());
    let path = endless_cargo(&dir);
    let mut host = Setup::run(&dir)
        .args(["p/src/main.rs", "--build-timeout", "300ms", "--start-timeout", "1ms"])
        .env("PATH", path)
        .host();
    host.initialize();
    let result = host.call("any", json!({}));
    let text = result["content"].to_string();
    assert!(text.contains("was not built within 300ms (--build-timeout)"), "{text}");
    host.stderr_says("tool: building");
    host.end();
}

#[test]
fn a_build_ends_with_its_host_and_with_a_newer_save() {
    let dir = Arc::new(Dir::new());
    let path = endless_cargo(&dir);
    let mut host = Setup::command(&dir, "dev").arg("p/src/main.rs").env("PATH", path).host();
    host.initialize();
    host.stderr_says("tool: building");
    let built =
        || process::of_folder(dir.path()).into_iter().filter(|pid| *pid != host.pid()).collect::<Vec<_>>();
    let first = built();
    dir.write("p/src/main.rs", "// a newer save");
    eventually("the first build is gone", || !first.iter().any(|pid| process::alive(*pid)));
    eventually("the second build runs", || !built().is_empty());
    host.end();
}

/// The doctor's report and its exit code.
fn doctor(setup: Setup) -> (Value, Option<i32>) {
    let output = setup.args(["--format", "json"]).output();
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (report, output.status.code())
}

#[test]
fn the_doctor_says_what_is_used_and_that_it_serves() {
    if !has("python3") {
        return;
    }
    let dir = Arc::new(Dir::new());
    dir.write("p/pyproject.toml", "[tool.uv]\n");
    dir.write("p/server.py", &PYTHON.replace("[\"where\"]", "[\"where\", \"a.dot\"]"));
    dir.script("bin/pmcp", "#!/bin/sh\n");
    let path = format!("{}:{}", dir.join("bin").display(), std::env::var("PATH").unwrap());
    let ask = || Setup::command(&dir, "doctor").arg("p/server.py").env("PATH", &path);
    let (report, code) = doctor(ask().args(["--env", "A=hush"]));
    assert_eq!((code, &report["serves"]), (Some(0), &json!(true)), "{report:#}");
    assert!(report["serves_after_ms"].as_u64().is_some_and(|time| time < 30_000), "{report:#}");
    assert_eq!(report["offers"]["tools"], json!(["where", "a.dot"]));
    assert_eq!(report["folder"], dir.join("p").to_str().unwrap());
    assert!(report["interpreter"]["version"].as_str().unwrap().starts_with("Python 3"), "{report:#}");
    assert!(report["environment"].as_array().unwrap().contains(&json!("A")));
    assert!(!report.to_string().contains("hush"));
    let warnings = report["warnings"].to_string();
    for part in ["the first pmcp on PATH is another program", "a.dot", "is refused by some hosts"] {
        assert!(warnings.contains(part), "{warnings}");
    }
    if which("uv").is_none() {
        assert!(warnings.contains("pyproject.toml asks for uv, which is not installed"), "{warnings}");
    }
    let text = ask().output();
    let said = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        said.contains("tools        2: where, a.dot\n") && said.contains("serves       yes, after "),
        "{said}"
    );
}

#[test]
fn the_doctor_says_what_is_wrong() {
    let dir = Arc::new(Dir::new());
    dir.write("p/empty.py", "import protomcp_is_not_here as x\n");
    dir.write("p/silent.sh", "exit 0\n");
    dir.write("p/sdk.py", "from protomcp import tool\n");
    dir.write("p/tool.jl", "");
    dir.write(
        "p/Cargo.toml",
        "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
    );
    dir.write("p/src/main.rs", "this does not compile");
    let ask = |file: &str| doctor(Setup::command(&dir, "doctor").arg(dir.join("p").join(file)));
    let mut cases = vec![
        ("silent.sh", "problem", "exited with status 0 before it connected"),
        ("silent.sh", "hint", "does the file call run() at its end?"),
    ];
    if has("python3") {
        cases.push(("empty.py", "problem", "No module named 'protomcp_is_not_here'"));
        cases.push(("sdk.py", "warnings", "-m pip install protomcp"));
    }
    if has("cargo") {
        cases.push(("src/main.rs", "problem", "error: could not compile `p`"));
    }
    if which("julia").is_none() {
        cases.push(("tool.jl", "problem", "julia was not found; looked in "));
    }
    for (file, field, part) in cases {
        let (report, code) = ask(file);
        assert_eq!((code, &report["serves"]), (Some(1), &json!(false)), "{file}: {report:#}");
        assert!(report[field].to_string().contains(part), "{file}: {report:#}");
    }
    let output = Setup::command(&dir, "doctor").arg("no-such-file.py").output();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("pmcp: there is no file no-such-file.py"));
    let left = process::of_folder(dir.path());
    assert!(left.is_empty(), "{left:?}");
}

//! Which saves restart the tool process, on the real program with real editors and git, and what
//! the person is told.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::dir::Dir;
use crate::support::host::Host;
use crate::support::pmcp::{Setup, binary};
use crate::support::raw_tool::{Peer, RawTool, tool};
use crate::support::{environment, eventually, process};

/// A project in Python whose tool process is a scripted one.
struct Stage {
    host: Host,
    raw_tool: RawTool,
    dir: Arc<Dir>,
    /// Those that were started, so that their connections stay.
    peers: Vec<Peer>,
    /// How much of stderr was looked at.
    seen: usize,
}

/// Both ways to learn of changes.
const WAYS: [&[&str]; 2] = [&[], &["--poll", "20ms"]];

impl Stage {
    /// `pmcp dev` in a project with these files in it, all saying `old`.
    fn new(project: &str, files: &[&str], flags: &[&str]) -> Stage {
        let dir = Arc::new(Dir::new());
        let raw_tool = RawTool::new(&dir);
        let project = format!("{project}/pyproject.toml");
        dir.write(&project, "");
        for file in files {
            dir.write(file, "old\n");
        }
        // The file to serve is an ordinary source file that runs the scripted tool process.
        let entry = dir.join(&project).with_file_name("server.py");
        std::fs::write(&entry, format!("exec '{}'\n", raw_tool.file().display())).unwrap();
        // What was written just now would be taken for written since it began.
        shell("find . -type f -exec touch -d '1 hour ago' {} +", &dir);
        let setup = Setup::command(&dir, "dev").arg(entry).args(["--runtime", "sh"]).args(flags);
        Stage::started(setup.host(), raw_tool, dir)
    }

    fn started(host: Host, raw_tool: RawTool, dir: Arc<Dir>) -> Stage {
        let mut stage = Stage { host, raw_tool, dir, peers: Vec::new(), seen: 0 };
        stage.peers.push(stage.raw_tool.serve(vec![tool("any")]));
        stage.host.initialize();
        eventually("it says what is watched", || stage.host.stderr().contains(" folder"));
        stage
    }

    fn shell(&self, line: &str) {
        shell(line, &self.dir);
    }

    /// Waits for the next restart and returns its cause.
    #[track_caller]
    fn cause(&mut self) -> String {
        self.peers.push(self.raw_tool.serve(vec![tool("any")]));
        let mut cause = None;
        eventually("the cause is told", || {
            let said = self.host.stderr();
            let lines = said[self.seen..].lines().filter_map(|line| line.split_once(" changed, reloading"));
            cause = lines.map(|(line, _)| line.trim_start_matches("pmcp: info: ").to_string()).next();
            cause.is_some()
        });
        let said = self.host.stderr();
        self.seen += said[self.seen..].find(" changed, reloading").unwrap_or(0) + 1;
        cause.unwrap_or_default()
    }

    /// All causes until it is over: what is done now is the only one.
    #[track_caller]
    fn causes(&mut self) -> Vec<String> {
        let mut causes = vec![self.cause()];
        loop {
            self.shell("echo later >> p/later.py");
            match self.cause() {
                cause if cause == "later.py" => return causes,
                cause => causes.push(cause),
            }
        }
    }

    /// The process that was started last serves.
    #[track_caller]
    fn calls_go_to_the_last(&mut self) {
        let earlier = &self.peers[..self.peers.len() - 1];
        eventually("those before it are gone", || !earlier.iter().any(|peer| process::alive(peer.pid)));
        let id = self.host.begin_call("any", json!({}));
        let peer = self.peers.last().unwrap();
        peer.answer_text(&peer.call(), "here");
        assert_eq!(self.host.result_of(id)["content"][0]["text"], "here");
    }

    /// Nothing has changed: the next restart is for what is done now.
    #[track_caller]
    fn no_change(&mut self, what: &str) {
        self.shell("echo later >> p/later.py");
        assert_eq!(self.cause(), "later.py", "{what}");
    }
}

fn shell(line: &str, dir: &Dir) {
    let status = Command::new("sh").args(["-ec", line]).current_dir(dir.path()).status().unwrap();
    assert!(status.success(), "{line}");
}

fn has(program: &str) -> bool {
    Command::new("sh").args(["-c", &format!("command -v {program} > /dev/null")]).status().unwrap().success()
}

#[test]
fn however_an_editor_saves_it_is_one_change() {
    let mut ways = vec![
        "echo new >> a.py",
        "sed -i 's/o/0/' a.py",
        "cp a.py copy && echo x >> copy && mv copy a.py",
        "cp a.py a.py~ && echo x >> a.py && rm a.py~",
        "ln -s me@here.1:2 .#a.py && mv a.py a.py~ && echo y > a.py && rm .#a.py",
        "cp a.py a.py___jb_tmp___ && echo z >> a.py___jb_tmp___ && mv a.py a.py___jb_old___ && \
         mv a.py___jb_tmp___ a.py && rm a.py___jb_old___",
        "rm a.py && echo created > a.py",
        "echo x > 4913 && rm 4913 && mv a.py a.py~ && echo vim > a.py && rm a.py~",
    ];
    if has("vim") {
        ways.extend([
            "vim -u NONE -n -es -c 'set backupcopy=no writebackup' -c 'normal oone' -c 'wq' a.py",
            "vim -u NONE -es -c 'set backupcopy=yes backup' -c 'normal otwo' -c 'wq' a.py",
        ]);
    } else {
        environment::leave_out("vim is absent, so only what it does is done");
    }
    if has("emacs") {
        ways.push("emacs -Q --batch a.py --eval '(insert \"three\")' -f save-buffer");
    } else {
        environment::leave_out("emacs is absent, so only what it does is done");
    }
    for flags in WAYS {
        let mut stage = Stage::new("p", &["p/a.py", "p/lib/b.py"], flags);
        for way in &ways {
            stage.shell(&format!("cd p && {way}"));
            assert_eq!(stage.cause(), "a.py", "{way} {flags:?}");
        }
        stage.shell("rm p/lib/b.py");
        assert_eq!(stage.cause(), "lib/b.py");
        assert_eq!(stage.raw_tool.starts_so_far(), 0, "more restarts than saves");
        stage.host.end();
    }
}

#[test]
fn what_changes_nothing_restarts_nothing() {
    for flags in WAYS {
        let mut stage = Stage::new("p", &["p/a.py", "p/notes.txt", "p/node_modules/x.py"], flags);
        for line in [
            "touch p/a.py",
            "cp p/a.py p/copy.txt && cat p/copy.txt > p/a.py",
            "cp p/a.py p/copy.txt && mv p/copy.txt p/a.py",
            "mv p/a.py p/a.py~ && cp p/a.py~ p/a.py",
            "rm p/a.py && echo old > p/a.py",
            "echo x >> p/notes.txt; echo x >> p/node_modules/x.py; mkdir p/.venv; echo x > p/.venv/a.py",
            "cat p/a.py > /dev/null; ls -R p > /dev/null",
        ] {
            stage.shell(line);
            stage.no_change(line);
        }
        assert_eq!(stage.raw_tool.starts_so_far(), 0);
        stage.host.end();
    }
}

#[test]
fn a_checkout_of_200_files_is_one_restart_or_two() {
    if !has("git") {
        return environment::skip("git is absent");
    }
    for flags in WAYS {
        let dir = Arc::new(Dir::new());
        let raw_tool = RawTool::new(&dir);
        let entry = dir.write("p/server.py", &format!("exec '{}'\n", raw_tool.file().display()));
        shell(
            "cd p && git init -q -b main && git config user.email a@b && git config user.name a
             for n in $(seq 200); do mkdir -p m$((n % 20)); echo old > m$((n % 20))/$n.py; done
             git add . && git commit -qm old && git checkout -qb new
             for n in $(seq 200); do echo new > m$((n % 20))/$n.py; done
             mkdir fresh && echo new > fresh/a.py && git add . && git commit -qm new && git checkout -q main
             find . -name '*.py' -exec touch -d '1 hour ago' {} + && git status > /dev/null",
            &dir,
        );
        let setup = Setup::command(&dir, "dev").arg(entry).args(["--runtime", "sh"]).args(flags);
        let mut stage = Stage::started(setup.host(), raw_tool, dir);
        let begin = Instant::now();
        stage.shell("cd p && git checkout -q new");
        // On a machine so busy that git itself pauses, each pause may look like the end.
        let most = 2 + begin.elapsed().as_millis() / 100;
        let causes = stage.causes();
        assert!(causes.len() as u128 <= most, "{causes:?}");
        assert!(causes[0].contains(" other files"), "{causes:?}");
        stage.shell("cd p && git commit -qm nothing --allow-empty && git gc -q");
        stage.no_change("what git does for itself");
        stage.host.end();
    }
}

#[test]
fn folders_that_are_filled_at_once_are_seen_whole() {
    for flags in WAYS {
        let mut stage = Stage::new("p", &["p/a.py"], flags);
        for round in 0..5 {
            stage.shell(&format!("mkdir -p p/n{round}/x/y/z && echo new > p/n{round}/x/y/z/deep.py"));
            assert_eq!(stage.cause(), format!("n{round}/x/y/z/deep.py"));
            stage.shell(&format!("echo newer > p/n{round}/x/y/z/deep.py"));
            assert_eq!(stage.cause(), format!("n{round}/x/y/z/deep.py"));
        }
        stage.host.end();
    }
}

#[test]
fn globs_and_gitignore_decide() {
    let files = ["p/a.py", "p/templates/a.html", "p/gen/a.py", "p/out/a.py", "lib/shared.sql", "p/.env"];
    let flags = ["--watch", "templates", "--watch", "../lib/*.sql", "--ignore", "gen", "--ignore=*_test.py"];
    let mut stage = Stage::new("p", &files, &flags);
    stage.shell("echo 'out/\n.env' > p/.gitignore");
    stage.no_change("the rules have changed");
    stage.shell("echo x >> p/gen/a.py; echo x >> p/out/a.py; echo x > p/a_test.py; echo x >> lib/other.py");
    stage.no_change("what was left out");
    for (file, cause) in [
        ("p/templates/a.html", "templates/a.html"),
        ("p/templates/new/b.css", "templates/new/b.css"),
        ("p/.env", ".env"),
        ("p/pyproject.toml", "pyproject.toml"),
        ("lib/shared.sql", "/lib/shared.sql"),
    ] {
        stage.shell(&format!("mkdir -p p/templates/new; echo x >> {file}"));
        assert!(stage.cause().ends_with(cause), "{file}");
    }
    stage.host.end();
}

#[test]
fn a_project_may_live_in_a_folder_that_projects_leave_out() {
    for project in [".tools/p", "venv/p", "node_modules/.git/p"] {
        let file = format!("{project}/lib/a.py");
        let mut stage = Stage::new(project, &[&file], &[]);
        let said = stage.host.stderr();
        let line = format!("pmcp: info: watching 2 folders in {}\n", stage.dir.join(project).display());
        assert!(said.contains(&line), "{said}");
        stage.shell(&format!("echo x >> {file}"));
        assert_eq!(stage.cause(), "lib/a.py");
        stage.host.end();
    }
}

#[test]
fn a_project_that_is_replaced_is_followed() {
    for flags in WAYS {
        let mut stage = Stage::new("p", &["p/a.py"], flags);
        stage.shell("cp -a p next && echo x >> next/a.py && mv p last && mv next p");
        assert_eq!(stage.cause(), "a.py");
        stage.shell("echo y >> p/a.py");
        assert_eq!(stage.cause(), "a.py");
        stage.shell("echo z >> last/a.py");
        stage.no_change("the old one");
        stage.host.end();
    }
}

#[test]
fn a_storm_of_saves_is_few_restarts_and_the_last_one_counts() {
    for flags in WAYS {
        let mut stage = Stage::new("p", &["p/a.py"], flags);
        let begin = Instant::now();
        stage.shell("for n in $(seq 500); do echo $n > p/a.py; done; echo the last > p/a.py");
        let most = 2 + begin.elapsed().as_millis() / 100;
        let causes = stage.causes();
        assert!(causes.len() as u128 <= most, "{causes:?}");
        stage.shell("echo the last > p/a.py");
        stage.no_change("it was seen");
        stage.host.end();
    }
}

#[test]
fn where_nobody_tells_it_looks_and_says_so() {
    for (limit, reason) in [
        ("max_inotify_watches", "fs.inotify.max_user_watches"),
        ("max_inotify_instances", "fs.inotify.max_user_instances"),
    ] {
        // In a user namespace of our own, where the limit is ours to set.
        let line = format!("echo 1 > /proc/sys/user/{limit} && exec \"$@\"");
        let line = if limit.ends_with("instances") { line.replace("echo 1", "echo 0") } else { line };
        let wrapper = ["unshare", "-Ur", "sh", "-c", &line, "sh"];
        let can = Command::new(wrapper[0]).args(&wrapper[1..]).arg("true").output();
        if !can.is_ok_and(|output| output.status.success()) {
            return environment::skip("no user namespace can be made");
        }
        let dir = Arc::new(Dir::new());
        let raw_tool = RawTool::new(&dir);
        dir.write("p/pyproject.toml", "");
        dir.write("p/lib/a.py", "old\n");
        let entry = dir.write("p/server.py", &format!("exec '{}'\n", raw_tool.file().display()));
        shell("find . -type f -exec touch -d '1 hour ago' {} +", &dir);
        let setup = Setup::command(&dir, "dev").arg(entry).args(["--runtime", "sh"]).under(wrapper);
        let mut stage = Stage::started(setup.host(), raw_tool, dir);
        let said = stage.host.stderr();
        assert!(said.contains("pmcp: warning: looking at 2 folders in "), "{said}");
        assert!(said.contains(" every 500ms, because ") && said.contains(reason), "{said}");
        stage.shell("echo x >> p/lib/a.py");
        assert_eq!(stage.cause(), "lib/a.py");
        stage.host.end();
    }
}

#[test]
fn a_folder_that_may_not_be_read_is_told_of_and_the_rest_is_watched() {
    let dir = Arc::new(Dir::new());
    dir.write("p/closed/a.py", "old\n");
    let entry = dir.write("p/server.py", "while :; do sleep 1; done\n");
    shell("mkdir tmp && chmod 700 p/closed && chmod 777 . tmp p && chmod 666 p/server.py", &dir);
    let mut setup = Setup::command(&dir, "dev").arg(entry).args(["--runtime", "sh"]);
    if process::status(std::process::id(), "Uid").is_some_and(|uid| uid.starts_with("0\t")) {
        // Nothing is forbidden to us: as somebody else.
        let other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let can = Command::new(other[0]).args(&other[1..]).arg(binary()).arg("--version").output();
        if !can.is_ok_and(|output| output.status.success()) {
            return environment::skip("the program cannot be run as another user");
        }
        setup = setup.under(other);
    } else {
        shell("chmod 000 p/closed", &dir);
    }
    let mut host = setup.host();
    host.stderr_says(&format!(
        "changes in {} go unnoticed: Permission denied",
        dir.join("p/closed").display()
    ));
    host.stderr_says("watching 1 folder in ");
    shell("echo '# x' >> p/server.py", &dir);
    host.stderr_says("server.py changed");
    shell("chmod 755 p/closed", &dir);
    host.hang_up();
    host.wait();
}

#[test]
fn a_whole_command_restarts_for_what_it_was_told_to_watch() {
    for flags in WAYS {
        let dir = Arc::new(Dir::new());
        let raw_tool = RawTool::new(&dir);
        dir.write("conf/a.toml", "old\n");
        dir.write("conf/a.txt", "old\n");
        shell("find conf -type f -exec touch -d '1 hour ago' {} +", &dir);
        let setup = Setup::command(&dir, "dev").args(flags).args(["--watch", "conf/*.toml", "--"]);
        let host = setup.arg(raw_tool.file()).host();
        let mut stage = Stage::started(host, raw_tool, dir);
        for _ in 0..2 {
            stage.shell("echo x >> conf/a.txt; echo x >> b.toml; echo x >> conf/a.toml");
            assert_eq!(stage.cause(), "conf/a.toml");
        }
        stage.calls_go_to_the_last();
        assert_eq!(stage.raw_tool.starts_so_far(), 0);
        stage.host.end();
    }
}

#[test]
fn a_change_of_the_environment_file_reloads() {
    for flags in WAYS {
        let flags = [flags, &["--env-file", "settings/vars"]].concat();
        let mut stage = Stage::new("p", &["settings/vars"], &flags);
        for value in ["first", "second"] {
            stage.shell(&format!("echo A={value} > settings/vars"));
            assert!(stage.cause().ends_with("settings/vars"));
            stage.calls_go_to_the_last();
            stage.raw_tool.order("echo \"A is $A\" >&2");
            stage.host.stderr_says(&format!("A is {value}"));
        }
        stage.host.end();
    }
}

#[test]
fn a_file_that_vanishes_serves_on_until_it_is_back() {
    for flags in WAYS {
        let mut stage = Stage::new("p", &["p/a.py"], flags);
        stage.host.ask("tools/list", Value::Null);
        stage.shell("mv p/server.py kept");
        let news = stage.host.notification("notifications/message");
        assert!(news["data"].as_str().unwrap().contains("server.py"), "{news}");
        stage.calls_go_to_the_last();
        stage.shell("mv kept p/server.py");
        stage.peers.push(stage.raw_tool.serve(vec![tool("any"), tool("more")]));
        stage.host.notification("notifications/tools/list_changed");
        stage.calls_go_to_the_last();
        stage.host.end();
    }
}

#[test]
fn an_idle_program_does_not_wake_up() {
    let stage = Stage::new("p", &["p/a.py", "p/lib/b.py"], &[]);
    process::stays_idle(stage.host.pid());
}

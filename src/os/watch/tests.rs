//! The watcher over real folders, told by the system and looking by itself.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use super::*;
use crate::watch::glob::Glob;
use crate::watch::sources::Sources;

/// The longest wait for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Both ways to learn of changes.
const WAYS: [Option<Duration>; 2] = [None, Some(Duration::from_millis(10))];

struct Bench {
    /// What is removed at the end; the root is in it.
    outer: PathBuf,
    root: PathBuf,
    poll: Poll,
    watcher: Watcher,
    reports: Vec<String>,
}

impl Bench {
    fn new(poll: Option<Duration>) -> Self {
        Self::with("p", poll, &[], &[], |_| {})
    }

    /// Watches a folder of this name, after it was filled.
    fn with(
        name: &str,
        poll: Option<Duration>,
        watch: &[&str],
        ignore: &[&str],
        fill: impl FnOnce(&Path),
    ) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let outer = std::env::temp_dir().join(format!("pmcp-watch-{}-{count}", std::process::id()));
        let root = outer.join(name);
        fs::create_dir_all(root.join("old/deep")).unwrap();
        fs::create_dir_all(root.join("node_modules")).unwrap();
        fs::write(root.join("a.py"), "0").unwrap();
        fs::write(root.join("old/deep/there.py"), "0").unwrap();
        fill(&root);
        // What was written before it began is no change; the clock of files is coarse.
        for file in ["a.py", "old/deep/there.py"] {
            age(&root.join(file));
        }
        let globs = |texts: &[&str]| texts.iter().map(|text| Glob::parse(text, &root).unwrap()).collect();
        let rules = Rules::new(root.clone(), true, Sources::of("py"), globs(watch), globs(ignore));
        let watcher = Watcher::new(&Watch { rules, poll });
        let bench = Self { outer, root, poll: Poll::new().unwrap(), watcher, reports: Vec::new() };
        if let Some(fd) = bench.watcher.fd() {
            bench.poll.registry().register(&mut SourceFd(&fd), Token(0), Interest::READABLE).unwrap();
        }
        bench
    }

    /// Goes on until the first sweep is done.
    fn begun(mut self) -> Self {
        let begin = Instant::now();
        while self.reports.is_empty() {
            self.step();
            assert!(begin.elapsed() < PATIENCE);
        }
        self
    }

    /// One turn of the loop; a cause if there is one.
    fn step(&mut self) -> Option<String> {
        let mut timeout = Duration::ZERO;
        if !self.watcher.is_busy() {
            let deadline = self.watcher.deadline();
            timeout = deadline.map_or(PATIENCE, |time| time.saturating_duration_since(Instant::now()));
        }
        let mut events = Events::with_capacity(4);
        self.poll.poll(&mut events, Some(timeout)).unwrap();
        let now = Instant::now();
        self.watcher.read(now);
        self.watcher.turn(now);
        self.reports.extend(std::iter::from_fn(|| self.watcher.take_report()).map(|(_, text)| text));
        self.watcher.take_cause()
    }

    #[track_caller]
    fn change(&mut self) -> String {
        let begin = Instant::now();
        loop {
            if let Some(cause) = self.step() {
                return cause;
            }
            assert!(begin.elapsed() < PATIENCE, "no change was noticed");
        }
    }

    /// Nothing has changed: what is noticed is only what is done now.
    #[track_caller]
    fn no_change(&mut self, what: &str) {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        fs::write(self.root.join("later.py"), count.to_string()).unwrap();
        assert_eq!(self.change(), "later.py", "{what}");
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.root.join(from), self.root.join(to)).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.root.join(name)).unwrap();
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.outer);
    }
}

/// Written long ago.
fn age(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
}

#[test]
fn every_way_to_save_a_file_is_noticed() {
    /// What it is called, and what is done with `a.py`.
    type Way = (&'static str, fn(&Bench, &str));
    let ways: [Way; 9] = [
        ("written in place", |bench, text| bench.write("a.py", text)),
        ("written beside it, renamed over it", |bench, text| {
            bench.write(".a.py.tmp", text);
            bench.rename(".a.py.tmp", "a.py");
        }),
        ("sed -i", |bench, text| {
            bench.write("sedXy12aB", text);
            bench.rename("sedXy12aB", "a.py");
        }),
        ("vim", |bench, text| {
            bench.write(".a.py.swp", "swap");
            bench.write("4913", "");
            bench.remove("4913");
            bench.rename("a.py", "a.py~");
            bench.write("a.py", text);
            bench.remove("a.py~");
            bench.remove(".a.py.swp");
        }),
        ("emacs, by renaming", |bench, text| {
            symlink("me@here.1234:1", bench.root.join(".#a.py")).unwrap();
            bench.write("#a.py#", text);
            let _ = fs::remove_file(bench.root.join("a.py~"));
            bench.rename("a.py", "a.py~");
            bench.write("a.py", text);
            bench.remove(".#a.py");
            bench.remove("#a.py#");
        }),
        ("emacs, by copying", |bench, text| {
            fs::copy(bench.root.join("a.py"), bench.root.join("a.py~")).unwrap();
            bench.write("a.py", text);
        }),
        ("two renames", |bench, text| {
            bench.write("a.py___jb_tmp___", text);
            bench.rename("a.py", "a.py___jb_old___");
            bench.rename("a.py___jb_tmp___", "a.py");
            bench.remove("a.py___jb_old___");
        }),
        ("deleted and created", |bench, text| {
            bench.remove("a.py");
            bench.write("a.py", text);
        }),
        ("a link to it is moved over it", |bench, text| {
            bench.write("a.py.other", text);
            fs::hard_link(bench.root.join("a.py.other"), bench.root.join("a.py.link")).unwrap();
            bench.rename("a.py.link", "a.py");
        }),
    ];
    for way in WAYS {
        let mut bench = Bench::new(way).begun();
        for (round, (what, save)) in ways.into_iter().enumerate() {
            save(&bench, &format!("text {round}"));
            assert_eq!(bench.change(), "a.py", "{what}, {way:?}");
            save(&bench, &format!("text {round}"));
            bench.no_change(&format!("{what} again, {way:?}"));
        }
        symlink("a.py", bench.root.join("link.py")).unwrap();
        assert_eq!(bench.change(), "link.py");
        bench.remove("a.py");
        let cause = bench.change();
        // Where the system tells, it tells of the link alone what happens to the link.
        assert!(cause == "a.py" || way.is_some() && cause == "a.py and another file", "{cause}");
        bench.write("old/deep/there.py", "4");
        assert_eq!(bench.change(), "old/deep/there.py");
        fs::set_permissions(bench.root.join("old/deep/there.py"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(bench.change(), "old/deep/there.py");
    }
}

#[test]
fn what_changes_nothing_is_no_change() {
    for way in WAYS {
        let mut bench = Bench::new(way).begun();
        bench.write("a.py", "0");
        bench.no_change("the same bytes");
        age(&bench.root.join("a.py"));
        bench.no_change("touched");
        bench.write("a.py", "1");
        bench.write("a.py", "0");
        bench.no_change("there and back");
        bench.write("new.py", "");
        bench.remove("new.py");
        bench.no_change("created and deleted");
        for name in
            ["a.pyc", ".a.py.swp", "notes.txt", "node_modules/a.py", ".git/hooks/a.py", "old/venv/a.py"]
        {
            bench.write(name, "1");
        }
        bench.no_change("what does not count");
        bench.rename("old", "older");
        bench.rename("older", "old");
        bench.no_change("a folder there and back");
    }
}

#[test]
fn folders_that_come_later_are_watched() {
    for way in WAYS {
        let mut bench = Bench::new(way).begun();
        // Filled before anybody can watch it.
        bench.write("new/er/still/a.py", "1");
        assert_eq!(bench.change(), "new/er/still/a.py");
        bench.write("new/er/b.py", "1");
        assert_eq!(bench.change(), "new/er/b.py");
        bench.rename("new", "moved");
        let cause = bench.change();
        assert!(cause == "moved/er/b.py and 3 other files", "{cause}");
        bench.write("moved/er/still/a.py", "2");
        assert_eq!(bench.change(), "moved/er/still/a.py");
        // Out of sight.
        fs::rename(bench.root.join("moved"), bench.outer.join("moved")).unwrap();
        assert_eq!(bench.change(), "moved/er/b.py and another file");
        fs::write(bench.outer.join("moved/er/b.py"), "2").unwrap();
        bench.no_change("a folder that is elsewhere now");
        fs::rename(bench.outer.join("moved"), bench.root.join("back")).unwrap();
        assert_eq!(bench.change(), "back/er/b.py and another file");
        fs::remove_dir_all(bench.root.join("back")).unwrap();
        assert_eq!(bench.change(), "back/er/b.py and another file");
    }
}

#[test]
fn a_checkout_is_one_change_or_two() {
    for way in WAYS {
        let mut bench = Bench::with("p", way, &[], &[], |root| {
            for number in 0..200 {
                let folder = root.join(format!("m{}", number % 20));
                fs::create_dir_all(&folder).unwrap();
                let file = folder.join(format!("{number}.py"));
                fs::write(&file, "0").unwrap();
                age(&file);
            }
        })
        .begun();
        for number in 0..200 {
            let name = format!("m{}/{number}.py", number % 20);
            bench.remove(&name);
            bench.write(&name, "1");
        }
        bench.write("z/last.py", "1");
        let mut causes = vec![bench.change()];
        let all = |causes: &[String]| -> usize {
            let others = |cause: &String| {
                cause
                    .split_once(" and ")
                    .map_or(0, |(_, rest)| rest.split(' ').next().unwrap().parse().unwrap_or(1))
            };
            causes.iter().map(|cause| 1 + others(cause)).sum()
        };
        while all(&causes) < 201 {
            causes.push(bench.change());
        }
        assert!(all(&causes) == 201 && causes.len() <= 2, "{way:?}: {causes:?}");
        bench.no_change("it is over");
    }
}

#[test]
fn a_storm_of_saves_is_a_few_changes() {
    for way in WAYS {
        let mut bench = Bench::new(way).begun();
        let begin = Instant::now();
        let mut causes = 0;
        let mut saves = 0;
        let mut last = begin;
        // Where the machine itself makes a pause the storm is over.
        let mut pauses = 0;
        while begin.elapsed() < 2 * crate::limits::DEBOUNCE_MAX {
            saves += 1;
            bench.write("a.py", &format!("save {saves}"));
            // What is due is due while it goes on, too.
            let now = Instant::now();
            pauses += usize::from(now - last > crate::limits::DEBOUNCE / 3);
            last = now;
            bench.watcher.read(now);
            bench.watcher.turn(now);
            causes += usize::from(bench.watcher.take_cause().is_some());
        }
        assert!((1..=4 + pauses).contains(&causes), "{causes} causes for {saves} saves, {way:?}");
        bench.write("a.py", "the last one");
        assert_eq!(bench.change(), "a.py");
    }
}

#[test]
fn a_project_may_be_called_what_projects_leave_out() {
    for name in [".tools", "venv", "target/dist", "node_modules/.git"] {
        for way in WAYS {
            let mut bench = Bench::with(name, way, &[], &[], |_| {}).begun();
            bench.write("old/a.py", "1");
            assert_eq!(bench.change(), "old/a.py", "{name}");
            bench.write("dist/a.py", "1");
            bench.no_change(name);
        }
    }
}

#[test]
fn gitignore_is_heeded_and_may_change() {
    for way in WAYS {
        let mut bench = Bench::with("p", way, &[], &["ignored"], |root| {
            fs::create_dir_all(root.join("build/deep")).unwrap();
            fs::write(root.join("build/deep/a.py"), "0").unwrap();
            fs::write(root.join(".gitignore"), "build/\n*_gen.py\n").unwrap();
            fs::write(root.join("old/.gitignore"), "local.py\n").unwrap();
            age(&root.join("build/deep/a.py"));
        })
        .begun();
        for name in ["build/deep/a.py", "x_gen.py", "old/local.py", "old/deep/local.py", "ignored/a.py"] {
            bench.write(name, "1");
            age(&bench.root.join(name));
        }
        bench.no_change("what is ignored");
        bench.write(".gitignore", "later/\n");
        bench.no_change("what is not ignored any longer is only looked at");
        bench.write("build/deep/a.py", "2");
        assert_eq!(bench.change(), "build/deep/a.py");
        bench.write("x_gen.py", "2");
        assert_eq!(bench.change(), "x_gen.py");
        bench.write("later/a.py", "2");
        bench.no_change("what is ignored now");
        bench.write("later.gitignore", "");
        bench.remove("old/.gitignore");
        bench.no_change("another one is gone");
        bench.write("old/local.py", "2");
        assert_eq!(bench.change(), "old/local.py");
    }
}

#[test]
fn a_folder_that_says_it_holds_no_sources_is_left_out() {
    for way in WAYS {
        let mut bench = Bench::with("p", way, &[], &[], |root| {
            fs::create_dir_all(root.join("env/lib")).unwrap();
            fs::write(root.join("env/pyvenv.cfg"), "").unwrap();
            fs::create_dir_all(root.join(".cache")).unwrap();
            fs::write(root.join(".cache/CACHEDIR.TAG"), "").unwrap();
        })
        .begun();
        bench.write("env/lib/a.py", "1");
        bench.write("env/a.py", "1");
        bench.write(".cache/a.py", "1");
        bench.no_change("an environment and a cache");
    }
}

#[test]
fn what_was_asked_for_elsewhere_is_watched() {
    for way in WAYS {
        let globs = ["../lib/**/*.sql", "../later/deep/x.txt", "dist/*.py"];
        let mut bench = Bench::with("p", way, &globs, &[], |root| {
            fs::create_dir_all(root.join("../lib/deep")).unwrap();
            fs::create_dir_all(root.join("dist")).unwrap();
        })
        .begun();
        fs::write(bench.outer.join("lib/deep/a.sql"), "1").unwrap();
        assert!(bench.change().ends_with("/lib/deep/a.sql"));
        bench.write("dist/a.py", "1");
        assert_eq!(bench.change(), "dist/a.py");
        fs::create_dir_all(bench.outer.join("later/deep")).unwrap();
        fs::write(bench.outer.join("later/deep/x.txt"), "1").unwrap();
        assert!(bench.change().ends_with("/later/deep/x.txt"));
        fs::write(bench.outer.join("lib/deep/a.py"), "1").unwrap();
        fs::write(bench.outer.join("later/deep/y.txt"), "1").unwrap();
        bench.no_change("what was not asked for");
    }
}

#[test]
fn a_root_that_is_replaced_is_followed() {
    for way in WAYS {
        let mut bench = Bench::new(way).begun();
        let other = bench.outer.join("other");
        fs::create_dir_all(other.join("sub")).unwrap();
        fs::write(other.join("a.py"), "other").unwrap();
        fs::write(other.join("sub/b.py"), "other").unwrap();
        fs::rename(&bench.root, bench.outer.join("away")).unwrap();
        fs::rename(&other, &bench.root).unwrap();
        let cause = bench.change();
        assert_eq!(cause, "a.py and 2 other files", "{way:?}");
        bench.write("sub/b.py", "2");
        assert_eq!(bench.change(), "sub/b.py", "{way:?}");
        fs::write(bench.outer.join("away/a.py"), "2").unwrap();
        bench.no_change("the old one");
        fs::remove_dir_all(&bench.root).unwrap();
        assert_eq!(bench.change(), "a.py and 2 other files", "{way:?}");
        bench.write("sub/deep/c.py", "3");
        assert_eq!(bench.change(), "sub/deep/c.py", "{way:?}");
        bench.write("sub/deep/c.py", "4");
        assert_eq!(bench.change(), "sub/deep/c.py", "{way:?}");
        assert_eq!(bench.reports.iter().any(|text| text.contains("is gone")), way.is_none());
    }
}

#[test]
fn a_folder_above_that_is_renamed_is_noticed_with_the_next_change() {
    let mut bench = Bench::with("up/p", None, &[], &[], |_| {}).begun();
    let up = bench.outer.join("up");
    fs::rename(&up, bench.outer.join("away")).unwrap();
    fs::create_dir_all(&bench.root).unwrap();
    fs::write(bench.outer.join("away/p/a.py"), "1").unwrap();
    assert!(bench.change().starts_with("a.py"));
    bench.write("b.py", "1");
    while !bench.change().contains("b.py") {}
    bench.write("b.py", "2");
    assert_eq!(bench.change(), "b.py");
}

#[test]
fn what_the_system_could_not_tell_is_looked_for() {
    let mut bench = Bench::new(None).begun();
    // More events than the system keeps, and then one that it cannot keep.
    let queue = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let queue: usize = queue.trim().parse().unwrap();
    bench.write("b.py", "0");
    assert_eq!(bench.change(), "b.py");
    let files =
        ["a.py", "b.py"].map(|name| fs::File::options().write(true).open(bench.root.join(name)).unwrap());
    for round in 0..queue + 10 {
        files[round % 2].set_modified(SystemTime::now()).unwrap();
    }
    bench.write("old/deep/there.py", "1");
    bench.write("new/a.py", "1");
    fs::remove_file(bench.root.join("b.py")).unwrap();
    assert_eq!(bench.change(), "b.py and 2 other files");
    bench.write("new/a.py", "2");
    assert_eq!(bench.change(), "new/a.py");
}

#[test]
fn it_goes_on_looking_where_the_system_does_not_tell_any_longer() {
    let mut bench = Bench::new(None).begun();
    bench.watcher.poll_from_now_on(Why::Blind("NFS"), Instant::now());
    assert_eq!(bench.watcher.fd(), None);
    bench.write("a.py", "1");
    assert_eq!(bench.change(), "a.py");
    bench.write("new/b.py", "1");
    assert_eq!(bench.change(), "new/b.py");
    let said = bench.reports.pop().unwrap();
    assert!(said.ends_with(" every 500ms, because NFS does not announce changes"), "{said}");
}

#[test]
fn what_is_written_while_it_begins_is_a_change() {
    for way in WAYS {
        let mut bench = Bench::new(way);
        // The clock of files is coarser than ours.
        let begin = SystemTime::now();
        while fs::metadata(bench.root.join("old/deep/there.py")).unwrap().modified().unwrap() < begin {
            bench.write("old/deep/there.py", "1");
        }
        assert_eq!(bench.change(), "old/deep/there.py");
        bench.no_change("it was told already");
    }
}

#[test]
fn what_is_no_file_holds_nothing_up() {
    for way in WAYS {
        let mut bench = Bench::new(way).begun();
        bench.remove("a.py");
        assert!(Command::new("mkfifo").arg(bench.root.join("a.py")).status().unwrap().success());
        fs::create_dir(bench.root.join("folder.py")).unwrap();
        symlink("/nowhere", bench.root.join("dangling.py")).unwrap();
        symlink(&bench.root, bench.root.join("loop")).unwrap();
        symlink(".", bench.root.join("loop.py")).unwrap();
        assert_eq!(bench.change(), "a.py");
        bench.no_change("pipes, folders and links to nowhere");
    }
}

#[test]
fn the_one_line_says_how_many_folders_are_watched() {
    let bench = Bench::new(None).begun();
    assert_eq!(bench.reports, [format!("watching 3 folders in {}", bench.root.display())]);
    let bench = Bench::new(WAYS[1]).begun();
    let root = bench.root.display();
    assert_eq!(bench.reports, [format!("looking at 3 folders in {root} every 10ms, because --poll says so")]);
}

#[test]
fn a_folder_that_may_not_be_read_is_told_of_once() {
    if sys::own_uid() == 0 {
        // Nothing is forbidden to us; the real program is tested as another user.
        return;
    }
    for way in WAYS {
        let closed = |root: &Path| {
            fs::create_dir_all(root.join("closed")).unwrap();
            fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        };
        let mut bench = Bench::with("p", way, &[], &[], closed).begun();
        bench.write("a.py", "1");
        assert_eq!(bench.change(), "a.py");
        bench.no_change("another sweep");
        assert_eq!(bench.reports.iter().filter(|text| text.contains("closed go unnoticed")).count(), 1);
        fs::set_permissions(bench.root.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
        bench.write("closed/a.py", "1");
        assert_eq!(bench.change(), "closed/a.py");
    }
}

#[test]
fn names_may_be_any_bytes() {
    use std::os::unix::ffi::OsStringExt;
    for way in WAYS {
        let mut bench = Bench::new(way).begun();
        let name = OsString::from_vec(b"\xff\n.py".to_vec());
        fs::write(bench.root.join(name), "1").unwrap();
        assert_eq!(bench.change(), "\u{fffd}\n.py");
    }
}

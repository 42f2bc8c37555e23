//! Changes of the tool process's files. Which ones count and when is pure; the rest is inotify.
//!
//! A folder tree is walked a few folders per turn, so that a large one delays nothing.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use inotify::{EventMask, Inotify, WatchDescriptor, WatchMask};

use super::Watch;
use crate::limits::{DEBOUNCE, DEBOUNCE_MAX, WATCHED_FOLDERS_MAX};

/// Folders that hold no sources: what was installed, built, or belongs to other programs. Hidden
/// ones are skipped as well.
const SKIPPED: [&str; 5] = ["node_modules", "__pycache__", "target", "venv", "dist"];

/// Folders that are walked in one turn of the loop.
const FOLDERS_PER_TURN: usize = 32;

/// What is watched, and what has changed.
#[derive(Debug)]
pub(super) struct Watcher {
    inotify: Inotify,
    root: PathBuf,
    filter: Filter,
    debounce: Debounce,
    folders: HashMap<WatchDescriptor, PathBuf>,
    to_walk: VecDeque<Walk>,
    trouble: Option<String>,
    is_limited: bool,
}

/// A folder that is not watched yet.
#[derive(Debug)]
struct Walk {
    folder: PathBuf,
    /// It is new: the files in it are changes.
    is_news: bool,
}

impl Watcher {
    /// Begins to watch; the root itself at once, what is below with the next turns.
    pub(super) fn new(watch: &Watch) -> io::Result<Self> {
        let mut watcher = Self {
            inotify: Inotify::init()?,
            root: watch.root.clone(),
            filter: Filter { extensions: watch.extensions.clone() },
            debounce: Debounce::default(),
            folders: HashMap::new(),
            to_walk: VecDeque::new(),
            trouble: None,
            is_limited: false,
        };
        watcher.add(&watch.root)?;
        watcher.to_walk.push_back(Walk { folder: watch.root.clone(), is_news: false });
        Ok(watcher)
    }

    /// For the poll.
    pub(super) fn fd(&self) -> RawFd {
        self.inotify.as_raw_fd()
    }

    /// Whether [`walk`](Self::walk) has something to do.
    pub(super) fn is_walking(&self) -> bool {
        !self.to_walk.is_empty()
    }

    /// Watches some more of the folders that are known of.
    pub(super) fn walk(&mut self, now: Instant) {
        for _ in 0..FOLDERS_PER_TURN {
            let Some(Walk { folder, is_news }) = self.to_walk.pop_front() else { return };
            // Watch first and list then: what is created in between is seen twice, not never.
            if self.add(&folder).is_err() {
                // It is gone already, or not ours to read.
                continue;
            }
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder && !Filter::skips_folder(&name) {
                    self.to_walk.push_back(Walk { folder: entry.path(), is_news });
                } else if !is_folder && is_news && self.filter.wants(&name) {
                    self.touch(&entry.path(), now);
                }
            }
        }
    }

    /// Takes in what has happened.
    pub(super) fn read(&mut self, now: Instant) {
        let mut buffer = [0; 8 * 1024];
        loop {
            let events = match self.inotify.read_events(&mut buffer) {
                Ok(events) => events,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            for event in events {
                self.take_in(event.wd, event.mask, event.name.unwrap_or_default(), now);
            }
        }
    }

    fn take_in(&mut self, descriptor: WatchDescriptor, mask: EventMask, name: &OsStr, now: Instant) {
        if mask.contains(EventMask::Q_OVERFLOW) {
            // Anything may have happened: look at all of it again.
            self.to_walk.push_back(Walk { folder: self.root.clone(), is_news: true });
        } else if mask.contains(EventMask::IGNORED) {
            self.folders.remove(&descriptor);
        } else if let Some(folder) = self.folders.get(&descriptor) {
            let path = folder.join(name);
            if mask.contains(EventMask::ISDIR) {
                let is_new = mask.intersects(EventMask::CREATE | EventMask::MOVED_TO);
                if is_new && !Filter::skips_folder(name) {
                    self.to_walk.push_back(Walk { folder: path, is_news: true });
                }
            } else if self.filter.wants(name) && is_complete(mask, &path) {
                self.touch(&path, now);
            }
        }
    }

    fn touch(&mut self, path: &Path, now: Instant) {
        let name = path.strip_prefix(&self.root).unwrap_or(path);
        self.debounce.touch(&name.to_string_lossy(), now);
    }

    /// When [`due`](Self::due) has something to say.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.debounce.deadline()
    }

    /// What changed, once it is quiet again.
    pub(super) fn due(&mut self, now: Instant) -> Option<String> {
        self.debounce.due(now)
    }

    /// A sentence about what cannot be watched, once.
    pub(super) fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    fn add(&mut self, folder: &Path) -> io::Result<()> {
        let mask = WatchMask::CLOSE_WRITE
            | WatchMask::CREATE
            | WatchMask::DELETE
            | WatchMask::MOVED_FROM
            | WatchMask::MOVED_TO
            | WatchMask::ONLYDIR;
        let is_full = self.folders.len() >= WATCHED_FOLDERS_MAX;
        let added = if is_full {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            self.inotify.watches().add(folder, mask)
        };
        match added {
            Ok(descriptor) => {
                self.folders.insert(descriptor, folder.to_path_buf());
                Ok(())
            }
            Err(error) => {
                if error.kind() == io::ErrorKind::StorageFull && !self.is_limited {
                    self.is_limited = true;
                    self.trouble = Some(format!(
                        "there are more folders below {} than can be watched ({}); changes in some go unnoticed",
                        self.root.display(),
                        if is_full { "our own bound" } else { "see fs.inotify.max_user_watches" },
                    ));
                }
                Err(error)
            }
        }
    }
}

/// Whether the file is as it shall be. One that is created by being opened is not: its writer
/// closes it later. One that is created as a link is.
fn is_complete(mask: EventMask, path: &Path) -> bool {
    !mask.contains(EventMask::CREATE)
        || fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink() || metadata.nlink() > 1)
}

/// Which files and folders count.
#[derive(Debug)]
struct Filter {
    extensions: Vec<OsString>,
}

impl Filter {
    /// Editors keep hidden files beside the one that is edited: `.#a.py`, `.a.py.swp`, `#a.py#`.
    fn wants(&self, name: &OsStr) -> bool {
        let is_editors = name.as_encoded_bytes().first().is_some_and(|first| b".#".contains(first));
        let extension = Path::new(name).extension().unwrap_or_default();
        !is_editors && self.extensions.iter().any(|wanted| wanted == extension)
    }

    fn skips_folder(name: &OsStr) -> bool {
        name.as_encoded_bytes().starts_with(b".") || SKIPPED.iter().any(|skipped| name == *skipped)
    }
}

/// Many changes become one, when they are over.
#[derive(Debug, Default)]
struct Debounce {
    storm: Option<Storm>,
}

#[derive(Debug)]
struct Storm {
    first: Instant,
    last: Instant,
    cause: String,
    has_others: bool,
}

impl Debounce {
    fn touch(&mut self, name: &str, now: Instant) {
        match &mut self.storm {
            Some(storm) => {
                storm.last = now;
                storm.has_others |= storm.cause != name;
            }
            None => {
                self.storm = Some(Storm { first: now, last: now, cause: name.into(), has_others: false });
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.storm.as_ref().map(|storm| (storm.last + DEBOUNCE).min(storm.first + DEBOUNCE_MAX))
    }

    fn due(&mut self, now: Instant) -> Option<String> {
        self.deadline().filter(|deadline| *deadline <= now)?;
        let storm = self.storm.take()?;
        Some(if storm.has_others { format!("{} and others", storm.cause) } else { storm.cause })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mio::unix::SourceFd;
    use mio::{Events, Interest, Poll, Token};

    use super::*;

    fn filter() -> Filter {
        Filter { extensions: vec!["py".into(), "toml".into()] }
    }

    #[test]
    fn sources_count_and_leavings_do_not() {
        for name in ["a.py", "b.c.py", "pyproject.toml"] {
            assert!(filter().wants(OsStr::new(name)), "{name}");
        }
        for name in ["a.pyc", ".#a.py", "#a.py#", ".a.py.swp", "a.py~", "4913", "py", ".py", ""] {
            assert!(!filter().wants(OsStr::new(name)), "{name}");
        }
        let without = Filter { extensions: vec![OsString::new()] };
        assert!(without.wants(OsStr::new("tool")) && !without.wants(OsStr::new("tool.py")));
        for name in [".git", ".venv", "venv", "node_modules", "__pycache__", "target", "dist"] {
            assert!(Filter::skips_folder(OsStr::new(name)), "{name}");
        }
        assert!(!Filter::skips_folder(OsStr::new("src")));
    }

    #[test]
    fn a_storm_counts_once_when_it_is_over() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        assert_eq!(debounce.deadline(), None);
        debounce.touch("a.py", start);
        debounce.touch("a.py", start + DEBOUNCE / 2);
        assert_eq!(debounce.due(start + DEBOUNCE), None);
        let deadline = debounce.deadline().unwrap();
        assert_eq!(deadline, start + DEBOUNCE / 2 + DEBOUNCE);
        assert_eq!(debounce.due(deadline).as_deref(), Some("a.py"));
        assert_eq!(debounce.due(deadline + DEBOUNCE), None);
    }

    #[test]
    fn a_storm_that_does_not_end_counts_all_the_same() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        let mut now = start;
        let cause = loop {
            debounce.touch(if now == start { "a.py" } else { "b.py" }, now);
            now += DEBOUNCE / 5;
            if let Some(cause) = debounce.due(now) {
                break cause;
            }
        };
        assert_eq!(cause, "a.py and others");
        assert_eq!(now, start + DEBOUNCE_MAX);
    }

    struct Bench {
        root: PathBuf,
        poll: Poll,
        watcher: Watcher,
    }

    impl Bench {
        fn new(name: &str) -> Self {
            let root = std::env::temp_dir().join(format!("pmcp-watch-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            fs::create_dir_all(root.join("old/deep")).unwrap();
            fs::create_dir_all(root.join("node_modules")).unwrap();
            fs::write(root.join("old/deep/there.py"), "").unwrap();
            let watch = Watch { root: root.clone(), extensions: filter().extensions, also: Vec::new() };
            let mut watcher = Watcher::new(&watch).unwrap();
            while watcher.is_walking() {
                watcher.walk(Instant::now());
            }
            assert_eq!(watcher.deadline(), None, "what was there is no change");
            let poll = Poll::new().unwrap();
            poll.registry().register(&mut SourceFd(&watcher.fd()), Token(0), Interest::READABLE).unwrap();
            Self { root, poll, watcher }
        }

        /// Handles what happens until a change is due. The debounce's clock is ours: when the
        /// events are in, its deadline has come.
        fn change(&mut self) -> String {
            let mut events = Events::with_capacity(4);
            loop {
                self.watcher.read(Instant::now());
                while self.watcher.is_walking() {
                    self.watcher.walk(Instant::now());
                }
                if let Some(deadline) = self.watcher.deadline() {
                    return self.watcher.due(deadline).unwrap();
                }
                self.poll.poll(&mut events, Some(Duration::from_secs(20))).unwrap();
                assert!(!events.is_empty(), "no change was noticed");
            }
        }
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.root);
        }
    }

    #[test]
    fn every_way_to_save_a_file_is_noticed() {
        let mut bench = Bench::new("saves");
        let root = bench.root.clone();
        fs::write(root.join("a.py"), "1").unwrap();
        assert_eq!(bench.change(), "a.py");
        // Atomic: written beside it, renamed over it.
        fs::write(root.join(".a.py.tmp"), "2").unwrap();
        fs::rename(root.join(".a.py.tmp"), root.join("a.py")).unwrap();
        assert_eq!(bench.change(), "a.py");
        // Moved away and written anew, as vim does.
        fs::rename(root.join("a.py"), root.join("a.py~")).unwrap();
        fs::write(root.join("a.py"), "3").unwrap();
        assert_eq!(bench.change(), "a.py");
        std::os::unix::fs::symlink("a.py", root.join("link.py")).unwrap();
        assert_eq!(bench.change(), "link.py");
        fs::remove_file(root.join("a.py")).unwrap();
        assert_eq!(bench.change(), "a.py");
        fs::write(root.join("old/deep/there.py"), "4").unwrap();
        assert_eq!(bench.change(), "old/deep/there.py");
    }

    #[test]
    fn folders_that_come_later_are_watched_and_some_are_not() {
        let mut bench = Bench::new("folders");
        let root = bench.root.clone();
        fs::write(root.join("node_modules/no.py"), "").unwrap();
        fs::create_dir_all(root.join(".git/deep")).unwrap();
        fs::write(root.join(".git/deep/no.py"), "").unwrap();
        fs::write(root.join("no.txt"), "").unwrap();
        fs::create_dir_all(root.join("new/er")).unwrap();
        fs::write(root.join("new/er/a.py"), "").unwrap();
        assert_eq!(bench.change(), "new/er/a.py");
        fs::rename(root.join("new"), root.join("moved")).unwrap();
        assert_eq!(bench.change(), "moved/er/a.py");
        fs::write(root.join("moved/er/b.py"), "").unwrap();
        assert_eq!(bench.change(), "moved/er/b.py");
    }

    #[test]
    fn a_root_that_is_not_there_is_an_error() {
        let watch = Watch { root: "/no/such/folder".into(), extensions: Vec::new(), also: Vec::new() };
        assert!(Watcher::new(&watch).is_err());
    }
}

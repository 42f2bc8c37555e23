//! Changes of the tool process's files: the part that looks. What counts is [`crate::watch`]'s.
//!
//! Folders are watched, not files: however an editor saves, something happens in the folder. What
//! happens only says where to look; a file has changed if its content is other than before.
//! Where the system does not tell, all folders are looked through again and again instead. Either
//! way a tree is walked a little in each turn of the loop, so that a large one delays nothing.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, ReadDir};
use std::io;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::notify::{News, Notify};
use super::{Watch, sys};
use crate::limits::{GITIGNORE_MAX, POLL, POLL_REST, WATCH_SLICE, WATCHED_FILES_MAX, WATCHED_FOLDERS_MAX};
use crate::log::Level;
use crate::watch::changes::{Changes, cause};
use crate::watch::contents::{Contents, Look};
use crate::watch::mounts;
use crate::watch::rules::{GITIGNORE, LEFT_OUT_MARKERS, Rules};

mod look;
mod notify;

/// What is watched, and what has changed.
#[derive(Debug)]
pub(super) struct Watcher {
    rules: Rules,
    contents: Contents,
    changes: Changes,
    source: Source,
    /// When it began: what was written later may have been read before.
    began: Duration,
    to_walk: VecDeque<Walk>,
    sweep: Sweep,
    /// Files that something happened to, until each was looked at.
    judged: BTreeSet<PathBuf>,
    /// Those of them that have changed: the first one and their number.
    found: Option<(PathBuf, usize)>,
    cause: Option<String>,
    /// The project's folder as it was met, whatever takes its name later.
    identity: Option<(u64, u64)>,
    /// Folders that were said to be unreadable.
    unreadable: BTreeSet<PathBuf>,
    is_full: bool,
    reports: VecDeque<(Level, String)>,
}

/// Where the news of changes come from.
#[derive(Debug)]
enum Source {
    Notify(Notify),
    /// Looking.
    Poll {
        interval: Duration,
        /// When to look again; absent while looking.
        next: Option<Instant>,
        why: Why,
    },
}

/// Why we look instead of being told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    /// `--poll`
    Asked,
    /// This file system does not tell.
    Blind(&'static str),
    /// There is nobody left who could tell.
    UsedUp(String),
}

/// A folder that is to be looked through.
#[derive(Debug)]
struct Walk {
    folder: PathBuf,
    /// Files in it that are not known are changes.
    is_news: bool,
    /// What is left of it, once it was begun.
    entries: Option<ReadDir>,
}

/// A walk through everything.
#[derive(Debug, Default)]
struct Sweep {
    /// Its number.
    number: u32,
    begin: Option<Instant>,
    folders: usize,
    /// One was finished: what is not known is new.
    was_finished: bool,
    /// It was told what is watched and how.
    was_reported: bool,
}

impl Watcher {
    /// Begins to watch. Nothing is looked at before the first [`turn`](Self::turn).
    pub(super) fn new(watch: &Watch) -> Self {
        let source = match (watch.poll, Notify::new()) {
            (Some(interval), _) => Source::Poll { interval, next: None, why: Why::Asked },
            (None, Ok(notify)) => Source::Notify(notify),
            (None, Err(error)) => Source::Poll { interval: POLL, next: None, why: why_no_instance(&error) },
        };
        let mut watcher = Self {
            rules: watch.rules.clone(),
            contents: Contents::default(),
            changes: Changes::default(),
            source,
            began: look::now(),
            to_walk: VecDeque::new(),
            sweep: Sweep::default(),
            judged: BTreeSet::new(),
            found: None,
            cause: None,
            identity: None,
            unreadable: BTreeSet::new(),
            is_full: false,
            reports: VecDeque::new(),
        };
        let above = gitignores_above(watcher.rules.root());
        watcher.rules.learn_above(&above);
        watcher.begin_sweep(Instant::now());
        watcher
    }

    /// For the poll, if there is something to wait for.
    pub(super) fn fd(&self) -> Option<RawFd> {
        match &self.source {
            Source::Notify(notify) => Some(notify.fd()),
            Source::Poll { .. } => None,
        }
    }

    /// Whether the next [`turn`](Self::turn) has something to do already.
    pub(super) fn is_busy(&self) -> bool {
        !self.to_walk.is_empty() || !self.judged.is_empty()
    }

    /// When there is something to do at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let next = match self.source {
            Source::Poll { next, .. } => next,
            Source::Notify(_) => None,
        };
        self.changes.deadline().into_iter().chain(next).min()
    }

    /// Takes in what the system tells.
    pub(super) fn read(&mut self, now: Instant) {
        let Source::Notify(notify) = &mut self.source else { return };
        let rules = &self.rules;
        for news in notify.read(|path| rules.counts(path) || path.ends_with(GITIGNORE)) {
            match news {
                News::File(path) => self.changes.touch(&path, now),
                News::Came(folder) if self.rules.enters(&folder) => {
                    self.to_walk.push_back(Walk { folder, is_news: true, entries: None });
                }
                News::Came(_) => {}
                News::Went(folder) => self.folder_went(&folder, now),
                News::Lost => self.begin_sweep(now),
            }
        }
    }

    /// Looks around for a little while.
    pub(super) fn turn(&mut self, now: Instant) {
        let end = Instant::now() + WATCH_SLICE;
        if matches!(self.source, Source::Poll { next: Some(next), .. } if next <= now) {
            self.begin_sweep(now);
        }
        self.walk(end, now);
        if self.judged.is_empty()
            && let Some(files) = self.changes.due(now, !self.to_walk.is_empty())
        {
            self.judged = files;
        }
        self.judge(end, now);
    }

    /// What changed, once.
    pub(super) fn take_cause(&mut self) -> Option<String> {
        self.cause.take()
    }

    /// What a person shall know.
    pub(super) fn take_report(&mut self) -> Option<(Level, String)> {
        self.reports.pop_front()
    }

    /// Looks at everything from the beginning.
    fn begin_sweep(&mut self, now: Instant) {
        if let Source::Poll { next, .. } = &mut self.source {
            *next = None;
        }
        self.sweep.number = self.sweep.number.wrapping_add(1);
        self.sweep.begin = Some(now);
        self.sweep.folders = 0;
        self.to_walk.clear();
        let begins: Vec<PathBuf> = self.rules.begins().into_iter().map(Path::to_path_buf).collect();
        for begin in begins {
            self.begin_at(&begin, self.sweep.was_finished);
        }
    }

    /// A folder that is not there yet is waited for in the nearest one above it.
    fn begin_at(&mut self, begin: &Path, is_news: bool) {
        if let Some(folder) = begin.ancestors().find(|folder| folder.is_dir()) {
            self.to_walk.push_back(Walk { folder: folder.to_path_buf(), is_news, entries: None });
        }
    }

    /// Walks on until `end`.
    fn walk(&mut self, end: Instant, now: Instant) {
        while let Some(mut walk) = self.to_walk.pop_front() {
            if walk.entries.is_none() {
                walk.entries = self.enter(&walk.folder, walk.is_news, now);
            }
            while let Some(entry) = walk.entries.as_mut().and_then(Iterator::next) {
                let Ok(entry) = entry else { continue };
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if self.rules.enters(&path) {
                        let next = Walk { folder: path, is_news: walk.is_news, entries: None };
                        self.to_walk.push_back(next);
                    }
                } else if self.rules.counts(&path) || path.ends_with(GITIGNORE) {
                    self.meet(&path, walk.is_news, now);
                }
                if Instant::now() >= end {
                    self.to_walk.push_front(walk);
                    return;
                }
            }
            if self.to_walk.is_empty() {
                self.finish_walk(now);
            }
            if Instant::now() >= end {
                return;
            }
        }
    }

    /// Opens a folder that is to be looked through, and has it watched before: what is created in
    /// between is seen twice, not never.
    fn enter(&mut self, folder: &Path, is_news: bool, now: Instant) -> Option<ReadDir> {
        if folder == self.rules.root() {
            self.identity = look::identity(folder);
        }
        let is_known = matches!(&self.source, Source::Notify(notify) if notify.watches(folder));
        let count = match &self.source {
            Source::Notify(notify) => notify.count(),
            Source::Poll { .. } => self.sweep.folders,
        };
        if count >= WATCHED_FOLDERS_MAX && !is_known {
            let why = format!("there are more than {WATCHED_FOLDERS_MAX} folders");
            self.report_full(&format!(
                "{why}; leave some out with --ignore, or name what counts in .gitignore"
            ));
            return None;
        }
        if let Source::Notify(notify) = &mut self.source {
            let blind = sys::file_system(folder).ok().and_then(mounts::blind);
            if let Some(name) = blind {
                self.poll_from_now_on(Why::Blind(name), now);
                return None;
            }
            match notify.add(folder) {
                Ok(()) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => {
                    let why = "the system lets this user watch no more folders (fs.inotify.max_user_watches)";
                    self.poll_from_now_on(Why::UsedUp(why.into()), now);
                    return None;
                }
                Err(error) => {
                    self.note_unreadable(folder, &error);
                    return None;
                }
            }
        }
        let is_marked = || LEFT_OUT_MARKERS.iter().any(|name| folder.join(name).exists());
        if !self.rules.is_named(folder) && is_marked() {
            if let Source::Notify(notify) = &mut self.source {
                notify.forget(folder);
            }
            return None;
        }
        // What it says anew is heeded when it is seen to have changed.
        if !is_news || !self.rules.has_learned(folder) {
            self.learn(folder);
        }
        self.sweep.folders += 1;
        let entries = fs::read_dir(folder).inspect_err(|error| self.note_unreadable(folder, error)).ok()?;
        self.unreadable.remove(folder);
        Some(entries)
    }

    /// A file was met on the way.
    fn meet(&mut self, path: &Path, is_news: bool, now: Instant) {
        let Some(stat) = look::stat(path) else { return };
        let number = self.sweep.number;
        let is_recent = || self.began <= stat.modified && stat.modified <= look::now();
        match self.contents.look(path, &stat, number) {
            Look::Same => {}
            Look::Unsure => {
                let Some(fingerprint) = look::fingerprint(path, true) else { return };
                if self.contents.is_other(path, &fingerprint) {
                    self.changes.found(path, Some(stat), now);
                } else {
                    self.contents.update(path, Some(fingerprint), number);
                }
            }
            Look::Other => self.changes.found(path, Some(stat), now),
            Look::Unknown if self.contents.is_full() => {
                let why = format!("there are more than {WATCHED_FILES_MAX} files");
                self.report_full(&format!("{why}; leave some out with --ignore"));
            }
            Look::Unknown if is_news || is_recent() => self.changes.found(path, Some(stat), now),
            Look::Unknown => {
                let may_read = self.contents.has_room_to_read(&stat);
                self.contents.update(path, look::fingerprint(path, may_read), number);
            }
        }
    }

    /// Everything was walked that was to be walked.
    fn finish_walk(&mut self, now: Instant) {
        let Some(begin) = self.sweep.begin.take() else { return };
        let unseen: Vec<PathBuf> = self.contents.unseen(self.sweep.number).map(Path::to_path_buf).collect();
        for path in unseen {
            if look::stat(&path).is_some() {
                // It is there, but is not counted any longer.
                self.contents.forget(&path);
            } else {
                self.changes.found(&path, None, now);
            }
        }
        if let Source::Poll { interval, next, .. } = &mut self.source {
            *next = Some(Instant::now() + begin.elapsed().saturating_mul(POLL_REST).max(*interval));
        }
        self.sweep.was_finished = true;
        if !std::mem::replace(&mut self.sweep.was_reported, true) {
            self.report_begin();
        }
    }

    /// Looks into the files that something happened to until `end`.
    fn judge(&mut self, end: Instant, now: Instant) {
        let mut rules_changed = false;
        let mut any_is_gone = false;
        let was_judging = !self.judged.is_empty();
        while let Some(path) = self.judged.pop_first() {
            let fingerprint = look::fingerprint(&path, true);
            any_is_gone |= fingerprint.is_none();
            let has_changed = self.contents.update(&path, fingerprint, self.sweep.number);
            if path.ends_with(GITIGNORE) {
                rules_changed |= self.learn(path.parent().unwrap_or(Path::new("/")));
            } else if has_changed && self.rules.counts(&path) {
                self.found.get_or_insert((path, 0)).1 += 1;
            }
            if Instant::now() >= end {
                break;
            }
        }
        if rules_changed {
            self.rules_changed(now);
        }
        if any_is_gone {
            self.check_root(now);
        }
        if was_judging && self.judged.is_empty() {
            self.cause = self.found.take().map(|(first, count)| cause(&first, count, self.rules.root()));
        }
    }

    fn learn(&mut self, folder: &Path) -> bool {
        self.rules.learn(folder, look::read(&folder.join(GITIGNORE), GITIGNORE_MAX).as_deref())
    }

    /// Another folder may be in the way of the rules now, or none: begins anew, but what is known
    /// stays so, and what is not known has only been overlooked.
    fn rules_changed(&mut self, now: Instant) {
        if let Source::Notify(notify) = &mut self.source {
            notify.forget(Path::new("/"));
        }
        self.begin_sweep(now);
        for walk in &mut self.to_walk {
            walk.is_news = false;
        }
    }

    /// A folder above the project's may have been renamed, which nobody tells.
    fn check_root(&mut self, now: Instant) {
        let root = self.rules.root().to_path_buf();
        if matches!(self.source, Source::Notify(_))
            && self.identity.is_some()
            && look::identity(&root) != self.identity
        {
            self.folder_went(&root, now);
        }
    }

    fn folder_went(&mut self, folder: &Path, now: Instant) {
        let below: Vec<PathBuf> = self.contents.below(folder).map(Path::to_path_buf).collect();
        for file in below {
            self.changes.touch(&file, now);
        }
        if let Source::Notify(notify) = &mut self.source {
            notify.forget(folder);
        }
        let begins = self.rules.begins().into_iter().filter(|begin| begin.starts_with(folder));
        let begins: Vec<PathBuf> = begins.map(Path::to_path_buf).collect();
        for begin in begins {
            self.begin_at(&begin, true);
            if begin == self.rules.root() && self.identity.take().is_some() && !begin.is_dir() {
                let text =
                    format!("the folder {} is gone; it is watched again when it is back", begin.display());
                self.reports.push_back((Level::Warning, text));
            }
        }
    }

    fn poll_from_now_on(&mut self, why: Why, now: Instant) {
        self.source = Source::Poll { interval: POLL, next: None, why };
        self.sweep.was_reported = false;
        self.begin_sweep(now);
    }

    /// The one line about what is watched.
    fn report_begin(&mut self) {
        let count = self.sweep.folders;
        let folders = if count == 1 { "folder" } else { "folders" };
        let root = self.rules.root().display();
        let below = if self.rules.is_deep() { "" } else { ", not those below it: it is no project's" };
        let report = match &self.source {
            Source::Notify(_) => (Level::Info, format!("watching {count} {folders} in {root}{below}")),
            Source::Poll { interval, why, .. } => {
                let (level, why) = match why {
                    Why::Asked => (Level::Info, "because --poll says so".to_string()),
                    Why::Blind(name) => (Level::Info, format!("because {name} does not announce changes")),
                    Why::UsedUp(why) => (Level::Warning, format!("because {why}")),
                };
                let text = format!("looking at {count} {folders} in {root}{below} every {interval:?}, {why}");
                (level, text)
            }
        };
        self.reports.push_back(report);
    }

    fn note_unreadable(&mut self, folder: &Path, error: &io::Error) {
        let is_gone = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        if !is_gone && self.unreadable.insert(folder.to_path_buf()) {
            let text = format!("changes in {} go unnoticed: {error}", folder.display());
            self.reports.push_back((Level::Warning, text));
        }
    }

    fn report_full(&mut self, why: &str) {
        if !self.is_full {
            self.is_full = true;
            let text = format!("changes in parts of {} go unnoticed: {why}", self.rules.root().display());
            self.reports.push_back((Level::Warning, text));
        }
    }
}

fn why_no_instance(error: &io::Error) -> Why {
    Why::UsedUp(match error.raw_os_error() {
        Some(libc::EMFILE) => {
            "the system lets this user watch no more (fs.inotify.max_user_instances)".to_string()
        }
        _ => format!("the system does not watch files: {error}"),
    })
}

/// The `.gitignore`s of the folders above, up to the one where the work tree begins.
fn gitignores_above(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let depth = root.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    let above = root.ancestors().skip(1).take(depth);
    above
        .filter_map(|folder| {
            let text = look::read(&folder.join(GITIGNORE), GITIGNORE_MAX)?;
            Some((folder.to_path_buf(), text))
        })
        .collect()
}

#[cfg(test)]
mod tests;

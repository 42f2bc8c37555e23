//! Many changes become one, when they are over.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::limits::{DEBOUNCE, DEBOUNCE_MAX, WATCHED_FILES_MAX};
use crate::watch::contents::Stat;

/// Files that may have changed, until it is quiet.
#[derive(Debug, Default)]
pub struct Changes {
    storm: Option<Storm>,
}

#[derive(Debug)]
struct Storm {
    first: Instant,
    last: Instant,
    /// With what was found of them, where they were looked for.
    files: BTreeMap<PathBuf, Option<Stat>>,
}

impl Changes {
    /// Something happened to this file.
    pub fn touch(&mut self, file: &Path, now: Instant) {
        self.insert(file, None, now);
    }

    /// A file was found to be other than before, `None` if it is gone. To find it just so again
    /// says nothing new.
    pub fn found(&mut self, file: &Path, stat: Option<Stat>, now: Instant) {
        let known = self.storm.as_ref().and_then(|storm| storm.files.get(file));
        if known != Some(&stat) {
            self.insert(file, stat, now);
        }
    }

    fn insert(&mut self, file: &Path, stat: Option<Stat>, now: Instant) {
        let storm = self.storm.get_or_insert(Storm { first: now, last: now, files: BTreeMap::new() });
        storm.last = now;
        if let Some(known) = storm.files.get_mut(file) {
            *known = stat;
        } else if storm.files.len() < WATCHED_FILES_MAX {
            storm.files.insert(file.to_path_buf(), stat);
        }
        // That so many have changed is certain; what the others are is not needed then.
    }

    /// When [`due`](Self::due) has something to say.
    pub fn deadline(&self) -> Option<Instant> {
        self.storm.as_ref().map(|storm| (storm.last + DEBOUNCE).min(storm.first + DEBOUNCE_MAX))
    }

    /// The files, once it is quiet again or the storm has lasted too long. While more is being
    /// looked for (`is_looking`) it is not quiet.
    pub fn due(&mut self, now: Instant, is_looking: bool) -> Option<BTreeSet<PathBuf>> {
        self.deadline().filter(|deadline| *deadline <= now)?;
        let storm = self.storm.take_if(|storm| !is_looking || storm.first + DEBOUNCE_MAX <= now)?;
        Some(storm.files.into_keys().collect())
    }
}

/// What is told of the files that have changed: the first by its name, the others by their number.
pub fn cause(first: &Path, count: usize, root: &Path) -> String {
    let name = first.strip_prefix(root).unwrap_or(first).display();
    match count {
        0 | 1 => name.to_string(),
        2 => format!("{name} and another file"),
        _ => format!("{name} and {} other files", count - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(due: Option<BTreeSet<PathBuf>>) -> Vec<String> {
        due.into_iter().flatten().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_storm_counts_once_when_it_is_over() {
        let start = Instant::now();
        let mut changes = Changes::default();
        assert_eq!(changes.deadline(), None);
        changes.touch(Path::new("a.py"), start);
        changes.touch(Path::new("a.py"), start + DEBOUNCE / 2);
        assert_eq!(changes.due(start + DEBOUNCE, false), None);
        let deadline = changes.deadline().unwrap();
        assert_eq!(deadline, start + DEBOUNCE / 2 + DEBOUNCE);
        assert_eq!(files(changes.due(deadline, false)), ["a.py"]);
        assert_eq!(changes.due(deadline + DEBOUNCE, false), None);
    }

    #[test]
    fn a_storm_that_does_not_end_counts_all_the_same() {
        let start = Instant::now();
        let mut changes = Changes::default();
        let mut now = start;
        let found = loop {
            changes.touch(Path::new(if now == start { "b.py" } else { "a.py" }), now);
            now += DEBOUNCE / 5;
            if let Some(found) = changes.due(now, false) {
                break found;
            }
        };
        assert_eq!(files(Some(found)), ["a.py", "b.py"]);
        assert_eq!(now, start + DEBOUNCE_MAX);
    }

    #[test]
    fn what_is_found_again_is_no_news() {
        let start = Instant::now();
        let mut changes = Changes::default();
        let stat = Some(Stat::default());
        changes.found(Path::new("a.py"), stat, start);
        changes.found(Path::new("a.py"), stat, start + DEBOUNCE / 2);
        assert_eq!(changes.deadline(), Some(start + DEBOUNCE));
        for (file, stat) in
            [("b.py", stat), ("b.py", Some(Stat { size: 1, ..Stat::default() })), ("a.py", None)]
        {
            let now = changes.deadline().unwrap();
            changes.found(Path::new(file), stat, now);
            assert_eq!(changes.deadline(), Some(now + DEBOUNCE), "{file}");
        }
    }

    #[test]
    fn it_is_not_quiet_while_more_is_looked_for() {
        let start = Instant::now();
        let mut changes = Changes::default();
        changes.touch(Path::new("a.py"), start);
        assert_eq!(changes.due(start + DEBOUNCE, true), None);
        assert_eq!(files(changes.due(start + DEBOUNCE_MAX, true)), ["a.py"]);
    }

    #[test]
    fn a_cause_names_the_file() {
        for (first, count, said) in [
            ("/p/x/a.py", 1, "x/a.py"),
            ("/p/a.py", 2, "a.py and another file"),
            ("/p/a.py", 200, "a.py and 199 other files"),
            ("/q/a.py", 1, "/q/a.py"),
        ] {
            assert_eq!(cause(Path::new(first), count, Path::new("/p")), said);
        }
    }
}

//! What was seen of each file, so that only what is really other than before counts.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::limits::{HASHED_BYTES_MAX, HASHED_FILE_MAX, MTIME_SETTLED, WATCHED_FILES_MAX};

/// What the file system says of a file without opening it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Its length.
    pub size: u64,
    /// When it was written last, since the epoch.
    pub modified: Duration,
    /// It may be run.
    pub is_executable: bool,
}

impl Stat {
    /// Whether a later write would show in [`modified`](Self::modified): some file systems count
    /// in seconds.
    pub fn is_settled(&self, now: Duration) -> bool {
        now.checked_sub(self.modified).is_some_and(|age| age > MTIME_SETTLED)
    }
}

/// One look at a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    stat: Stat,
    /// Of the whole content; absent if that was not read.
    hash: Option<u64>,
    /// See [`Stat::is_settled`].
    is_settled: bool,
}

impl Fingerprint {
    /// Reads the file, unless it is large: then its size and time have to do.
    pub fn take(stat: Stat, now: Duration, content: Option<&mut dyn Read>) -> Self {
        let hash = content.and_then(|content| hash(content).ok().flatten());
        Self { stat, hash, is_settled: stat.is_settled(now) }
    }

    fn is_other_than(&self, before: &Self) -> bool {
        if self.stat.size != before.stat.size || self.stat.is_executable != before.stat.is_executable {
            return true;
        }
        match (self.hash, before.hash) {
            (Some(now), Some(before)) => now != before,
            _ => self.stat.modified != before.stat.modified,
        }
    }
}

/// `None` if it is more than is read.
fn hash(content: &mut dyn Read) -> io::Result<Option<u64>> {
    let mut hasher = DefaultHasher::new();
    let mut buffer = [0; 16 * 1024];
    let mut total = 0;
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(Some(hasher.finish())),
            Ok(count) => {
                hasher.write(&buffer[..count]);
                total += count as u64;
                if total > HASHED_FILE_MAX {
                    return Ok(None);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What one look without reading tells of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It is as it was.
    Same,
    /// It looks as it was, but was written so late that this says little.
    Unsure,
    /// Something happened to it.
    Other,
    /// It was never seen.
    Unknown,
}

/// All files that count.
#[derive(Debug, Default)]
pub struct Contents {
    files: BTreeMap<PathBuf, Known>,
    /// Bytes that were read of files nobody has changed yet.
    read: u64,
}

#[derive(Debug)]
struct Known {
    fingerprint: Fingerprint,
    /// In which sweep it was seen last.
    sweep: u32,
}

impl Contents {
    /// What can be told of a file without reading it. Counts as seen in this sweep.
    pub fn look(&mut self, path: &Path, stat: &Stat, sweep: u32) -> Look {
        let Some(known) = self.files.get_mut(path) else { return Look::Unknown };
        known.sweep = sweep;
        match known.fingerprint.stat == *stat {
            true if known.fingerprint.is_settled => Look::Same,
            true => Look::Unsure,
            false => Look::Other,
        }
    }

    /// Whether a file that is met for the first time shall be read at once.
    pub fn has_room_to_read(&mut self, stat: &Stat) -> bool {
        let fits = stat.size <= HASHED_FILE_MAX && self.read + stat.size <= HASHED_BYTES_MAX;
        self.read += if fits { stat.size } else { 0 };
        fits
    }

    /// Whether a known file is other than before.
    pub fn is_other(&self, path: &Path, now: &Fingerprint) -> bool {
        self.files.get(path).is_none_or(|known| now.is_other_than(&known.fingerprint))
    }

    /// Takes in how a file is now; `None` if it is gone. True if it is other than before.
    pub fn update(&mut self, path: &Path, now: Option<Fingerprint>, sweep: u32) -> bool {
        match (self.files.get_mut(path), now) {
            (Some(known), Some(now)) => {
                let is_other = now.is_other_than(&known.fingerprint);
                *known = Known { fingerprint: now, sweep };
                is_other
            }
            (Some(_), None) => self.files.remove(path).is_some(),
            (None, Some(now)) => {
                if !self.is_full() {
                    self.files.insert(path.to_path_buf(), Known { fingerprint: now, sweep });
                }
                true
            }
            (None, None) => false,
        }
    }

    /// Does not keep a file in mind any longer.
    pub fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// Whether no more files are kept in mind.
    pub fn is_full(&self) -> bool {
        self.files.len() >= WATCHED_FILES_MAX
    }

    /// The files in this folder and below.
    pub fn below<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = &'a Path> {
        let from = self.files.range::<Path, _>((Bound::Included(folder), Bound::Unbounded));
        from.map(|(path, _)| path.as_path()).take_while(move |path| path.starts_with(folder))
    }

    /// The files that were not seen in this sweep.
    pub fn unseen(&self, sweep: u32) -> impl Iterator<Item = &Path> {
        self.files.iter().filter(move |(_, known)| known.sweep != sweep).map(|(path, _)| path.as_path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn stat(size: u64, modified: u64) -> Stat {
        Stat { size, modified: Duration::from_secs(modified), is_executable: false }
    }

    fn file(content: &str, modified: u64) -> Option<Fingerprint> {
        let mut reader = content.as_bytes();
        Some(Fingerprint::take(stat(content.len() as u64, modified), DAY, Some(&mut reader)))
    }

    #[test]
    fn only_what_is_other_than_before_counts() {
        let a = Path::new("/p/a.py");
        let mut contents = Contents::default();
        assert!(contents.update(a, file("one", 1), 0), "it is new");
        for (now, is_other, why) in [
            (file("one", 1), false, "nothing happened"),
            (file("one", 2), false, "touched"),
            (file("two", 3), true, "written"),
            (file("two", 3), false, "saved again"),
            (file("six", 3), true, "the same size and time, other bytes"),
            (file("", 4), true, "emptied"),
            (None, true, "deleted"),
            (None, false, "still not there"),
            (file("six", 5), true, "there again"),
        ] {
            assert_eq!(contents.update(a, now, 0), is_other, "{why}");
        }
        let runs = Stat { is_executable: true, ..stat(3, 5) };
        let runs = Fingerprint::take(runs, DAY, Some(&mut "six".as_bytes()));
        assert!(contents.update(a, Some(runs), 0), "made executable");
    }

    #[test]
    fn a_large_file_counts_by_its_size_and_time() {
        let path = Path::new("/p/model.bin");
        let large = |size, modified| {
            let mut endless = io::repeat(0);
            Some(Fingerprint::take(stat(size, modified), DAY, Some(&mut endless)))
        };
        let mut contents = Contents::default();
        contents.update(path, large(1 << 30, 1), 0);
        assert!(!contents.update(path, large(1 << 30, 1), 0));
        assert!(contents.update(path, large(1 << 30, 2), 0));
        assert!(contents.update(path, large(1 << 31, 2), 0));
        // One that was not read says by itself what is known of it.
        assert!(contents.update(path, Some(Fingerprint::take(stat(9, 9), DAY, None)), 0));
        assert!(!contents.update(path, Some(Fingerprint::take(stat(9, 9), DAY, None)), 0));
    }

    #[test]
    fn a_file_that_cannot_be_read_has_no_hash() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::PermissionDenied.into())
            }
        }
        assert_eq!(Fingerprint::take(stat(1, 1), DAY, Some(&mut Broken)).hash, None);
    }

    #[test]
    fn a_look_tells_what_need_not_be_read() {
        let a = Path::new("/p/a.py");
        let mut contents = Contents::default();
        assert_eq!(contents.look(a, &stat(3, 1), 1), Look::Unknown);
        contents.update(a, file("one", 1), 1);
        assert_eq!(contents.look(a, &stat(3, 1), 2), Look::Same);
        assert_eq!(contents.look(a, &stat(3, 2), 2), Look::Other);
        assert_eq!(contents.look(a, &stat(4, 1), 2), Look::Other);
        // Written just now: it may be written again without that being seen. So may one from the
        // future.
        let day = DAY.as_secs();
        for fresh in [day, day - MTIME_SETTLED.as_secs(), day + 100] {
            contents.update(a, file("one", fresh), 2);
            assert_eq!(contents.look(a, &stat(3, fresh), 3), Look::Unsure, "{fresh}");
        }
    }

    #[test]
    fn a_sweep_finds_what_is_gone_and_a_folder_what_is_below_it() {
        let mut contents = Contents::default();
        for path in ["/p/a.py", "/p/x/a.py", "/p/x/y/a.py", "/p/x.py", "/p/xy/a.py"] {
            contents.update(Path::new(path), file("", 1), 1);
        }
        let below: Vec<_> = contents.below(Path::new("/p/x")).collect();
        assert_eq!(below, [Path::new("/p/x/a.py"), Path::new("/p/x/y/a.py")]);
        assert_eq!(contents.below(Path::new("/p")).count(), 5);
        assert_eq!(contents.below(Path::new("/q")).count(), 0);
        contents.look(Path::new("/p/x.py"), &stat(0, 1), 2);
        assert_eq!(contents.unseen(2).count(), 4);
    }

    #[test]
    fn what_is_kept_in_mind_is_bounded() {
        let mut contents = Contents::default();
        for number in 0..WATCHED_FILES_MAX + 10 {
            assert!(contents.update(Path::new(&format!("/p/{number}")), file("", 1), 0));
        }
        assert!(contents.is_full());
        assert_eq!(contents.below(Path::new("/p")).count(), WATCHED_FILES_MAX);
        assert!(!contents.has_room_to_read(&stat(HASHED_FILE_MAX + 1, 0)));
        let room = (0..1000).filter(|_| contents.has_room_to_read(&stat(HASHED_FILE_MAX, 0))).count();
        assert_eq!(room as u64, HASHED_BYTES_MAX / HASHED_FILE_MAX);
    }
}

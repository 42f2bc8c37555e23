//! A file that is read again when it has changed; looked at when it is needed, and not too often.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::limits::FILE_LOOK;

/// What tells one content of a path from another: device, file, size, and when both it and its
/// entry were changed, in nanoseconds.
type Stamp = (u64, u64, u64, i128, i128);

/// A file and what was seen of it.
#[derive(Debug)]
pub(super) struct FreshFile {
    path: PathBuf,
    size_max: u64,
    /// How it was when it was last looked at; an error is one that was told.
    seen: Option<Result<Stamp, io::ErrorKind>>,
    /// When that was.
    looked: Option<Instant>,
}

impl FreshFile {
    /// A file that counts as changed at the first look, so that nothing is missed between a first
    /// reading and that.
    pub(super) fn new(path: PathBuf, size_max: u64) -> Self {
        Self { path, size_max, seen: None, looked: None }
    }

    /// The same file, for who reads it right after this: as it is now, it is no news.
    #[cfg(any(test, feature = "tls"))]
    pub(super) fn noted(mut self) -> Self {
        self.seen = Some(stamp(&self.path).map_err(|error| error.kind()));
        self
    }

    /// Whatever it holds is news at the next look, which may be at once.
    pub(super) fn forget(&mut self) {
        self.seen = None;
        self.looked = None;
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes, if they may have changed since the last look. One that can't be read is told
    /// once, until something about it changes.
    pub(super) fn news(&mut self, now: Instant) -> Option<io::Result<Vec<u8>>> {
        if self.looked.is_some_and(|at| now < at + FILE_LOOK) {
            return None;
        }
        self.looked = Some(now);
        // The stamp first: what is written while we read differs from it at the next look.
        let stamp = stamp(&self.path);
        let seen = Some(stamp.as_ref().map(|stamp| *stamp).map_err(io::Error::kind));
        if std::mem::replace(&mut self.seen, seen) == seen {
            return None;
        }
        Some(stamp.and_then(|_| read(&self.path, self.size_max)))
    }
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let data = fs::metadata(path)?;
    let at = |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    let modified = at(data.mtime(), data.mtime_nsec());
    Ok((data.dev(), data.ino(), data.len(), modified, at(data.ctime(), data.ctime_nsec())))
}

/// Reads a file, not more of it than this, and nothing but a file.
pub fn read(path: &Path, size_max: u64) -> io::Result<Vec<u8>> {
    // Anything else might never end, or never begin.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(size_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > size_max {
        let size = size_max / 1024;
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {size} KiB")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A folder that is gone with its value.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("pmcp-fresh-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a temporary folder");
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_change_is_news_once_and_not_too_often() {
        let folder = Folder::new("change");
        let path = folder.0.join("keys");
        let start = Instant::now();
        let later = |looks: u32| start + FILE_LOOK * looks;
        fs::write(&path, "one").expect("a file");
        let mut file = FreshFile::new(path.clone(), 10);
        let text = |news: Option<io::Result<Vec<u8>>>| {
            news.map(|read| {
                read.map(|bytes| String::from_utf8(bytes).expect("text")).map_err(|error| error.kind())
            })
        };
        assert_eq!(text(file.news(start)), Some(Ok("one".into())));
        assert_eq!(text(file.news(later(1))), None);
        // Replaced, as a careful writer does it: the size may be the same, even the time.
        fs::write(folder.0.join("new"), "two").expect("a file");
        fs::rename(folder.0.join("new"), &path).expect("a rename");
        assert_eq!(text(file.news(later(2) - Duration::from_millis(1))), None, "too soon");
        assert_eq!(text(file.news(later(2))), Some(Ok("two".into())));
        fs::remove_file(&path).expect("a file");
        assert_eq!(text(file.news(later(3))), Some(Err(io::ErrorKind::NotFound)));
        assert_eq!(text(file.news(later(4))), None, "told once");
        fs::write(&path, "three").expect("a file");
        assert_eq!(text(file.news(later(5))), Some(Ok("three".into())));
        fs::write(&path, "larger than ten").expect("a file");
        assert_eq!(text(file.news(later(6))), Some(Err(io::ErrorKind::FileTooLarge)));
        let mut file = FreshFile::new(path.clone(), 10).noted();
        fs::write(&path, "four").expect("a file");
        assert_eq!(text(file.news(start)), Some(Ok("four".into())));
        assert_eq!(text(FreshFile::new(path, 10).noted().news(start)), None);
    }

    #[test]
    fn only_a_file_is_read() {
        let folder = Folder::new("only");
        assert_eq!(read(&folder.0, 10).map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput));
        assert!(read(Path::new("/dev/zero"), 10).is_err());
    }
}

//! How a file is seen: what the file system says of it, and what is in it.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::limits::HASHED_FILE_MAX;
use crate::watch::contents::{Fingerprint, Stat};

/// The time as file systems have it.
pub(super) fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// What is said of a regular file; a link to one counts as the file.
pub(super) fn stat(path: &Path) -> Option<Stat> {
    let data = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    // Times before the epoch are as good as the epoch.
    let seconds = data.mtime().try_into().unwrap_or(0);
    let nanoseconds = data.mtime_nsec().try_into().unwrap_or(0);
    Some(Stat {
        size: data.len(),
        modified: Duration::new(seconds, nanoseconds),
        is_executable: data.mode() & 0o111 != 0,
    })
}

/// One look at a file, and into it if it `may_read` and the file is small; `None` if there is none.
pub(super) fn fingerprint(path: &Path, may_read: bool) -> Option<Fingerprint> {
    // Asked before it is read: what is written in between is seen the next time.
    let stat = stat(path)?;
    let mut file = None;
    if may_read && stat.size <= HASHED_FILE_MAX {
        file = open(path);
    }
    Some(Fingerprint::take(stat, now(), file.as_mut().map(|file| file as &mut dyn Read)))
}

/// The beginning of a file, if it can be read.
pub(super) fn read(path: &Path, max: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    open(path)?.take(max).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Which folder this is, whatever it is called.
pub(super) fn identity(folder: &Path) -> Option<(u64, u64)> {
    fs::metadata(folder).ok().filter(fs::Metadata::is_dir).map(|data| (data.dev(), data.ino()))
}

/// A pipe that took the place of a file must not hold us up.
fn open(path: &Path) -> Option<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()
}

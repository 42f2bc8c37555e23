//! inotify: folders that the system tells about.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::ops::Bound;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use inotify::{EventMask, Inotify, WatchDescriptor, WatchMask};

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// A file is other than before, is there, or is gone.
    File(PathBuf),
    /// A folder is there, or may be read now.
    Came(PathBuf),
    /// A folder is gone, with all that was in it.
    Went(PathBuf),
    /// More than the system could keep.
    Lost,
}

/// The folders that are watched, both ways.
#[derive(Debug)]
pub(super) struct Notify {
    inotify: Inotify,
    folders: HashMap<WatchDescriptor, PathBuf>,
    descriptors: BTreeMap<PathBuf, WatchDescriptor>,
}

impl Notify {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { inotify: Inotify::init()?, folders: HashMap::new(), descriptors: BTreeMap::new() })
    }

    /// For the poll.
    pub(super) fn fd(&self) -> RawFd {
        self.inotify.as_raw_fd()
    }

    pub(super) fn count(&self) -> usize {
        self.folders.len()
    }

    pub(super) fn watches(&self, folder: &Path) -> bool {
        self.descriptors.contains_key(folder)
    }

    /// Watches a folder, not what is below it. One that is watched already stays so.
    pub(super) fn add(&mut self, folder: &Path) -> io::Result<()> {
        let mask = WatchMask::CLOSE_WRITE
            | WatchMask::ATTRIB
            | WatchMask::CREATE
            | WatchMask::DELETE
            | WatchMask::MOVED_FROM
            | WatchMask::MOVED_TO
            | WatchMask::DELETE_SELF
            | WatchMask::MOVE_SELF
            | WatchMask::EXCL_UNLINK
            | WatchMask::ONLYDIR;
        let descriptor = self.inotify.watches().add(folder, mask)?;
        // The same folder by another name, and another folder by the same name.
        if let Some(other) = self.folders.insert(descriptor.clone(), folder.to_path_buf())
            && other != folder
        {
            self.descriptors.remove(&other);
        }
        if let Some(other) = self.descriptors.insert(folder.to_path_buf(), descriptor.clone())
            && other != descriptor
        {
            self.folders.remove(&other);
            // It may be gone by itself.
            let _ = self.inotify.watches().remove(other);
        }
        Ok(())
    }

    /// Does not watch this folder any longer, nor those below it.
    pub(super) fn forget(&mut self, folder: &Path) {
        let range = (Bound::Included(folder), Bound::Unbounded);
        let below = self.descriptors.range::<Path, _>(range).map(|(path, _)| path);
        let below: Vec<PathBuf> = below.take_while(|path| path.starts_with(folder)).cloned().collect();
        for path in below {
            if let Some(descriptor) = self.descriptors.remove(&path) {
                self.folders.remove(&descriptor);
                // It may be gone by itself.
                let _ = self.inotify.watches().remove(descriptor);
            }
        }
    }

    /// What has happened since it was last asked. News of a file are told only if it is `wanted`
    /// and, as far as can be told, whole.
    pub(super) fn read(&mut self, wanted: impl Fn(&Path) -> bool) -> Vec<News> {
        let mut news = Vec::new();
        let mut buffer = [0; 8 * 1024];
        loop {
            let events = match self.inotify.read_events(&mut buffer) {
                Ok(events) => events,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return news,
            };
            for event in events {
                let mask = event.mask;
                if mask.contains(EventMask::Q_OVERFLOW) {
                    news.push(News::Lost);
                } else if mask.contains(EventMask::IGNORED) {
                    if let Some(path) = self.folders.remove(&event.wd) {
                        self.descriptors.remove(&path);
                    }
                } else if let Some(folder) = self.folders.get(&event.wd) {
                    let path = folder.join(event.name.unwrap_or_default());
                    if mask.intersects(EventMask::DELETE_SELF | EventMask::MOVE_SELF) {
                        news.push(News::Went(folder.clone()));
                    } else if mask.contains(EventMask::ISDIR) {
                        let comes = EventMask::CREATE | EventMask::MOVED_TO | EventMask::ATTRIB;
                        let has_come = event.name.is_some() && mask.intersects(comes);
                        let has_gone = mask.intersects(EventMask::DELETE | EventMask::MOVED_FROM);
                        if has_come {
                            news.push(News::Came(path));
                        } else if has_gone {
                            news.push(News::Went(path));
                        }
                    } else if event.name.is_some() && wanted(&path) && is_whole(mask, &path) {
                        news.push(News::File(path));
                    }
                }
            }
        }
    }
}

/// Whether the file is as it shall be. One that is created by being opened is not: its writer
/// closes it later. One that is created as a link is.
fn is_whole(mask: EventMask, path: &Path) -> bool {
    !mask.contains(EventMask::CREATE)
        || fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink() || data.nlink() > 1)
}

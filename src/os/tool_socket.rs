//! The unix socket on which one generation of the tool process finds us.
//!
//! It lies in a folder that only we may enter, and exists only until the tool process is there:
//! after the accept the listener, its file and its folder are gone, so that nothing is left when
//! we end, however we end.

use std::fmt::Display;
use std::fs::{self, DirBuilder, Permissions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use mio::net::{UnixListener, UnixStream};

use super::sys;

/// `sun_path` has 108 bytes, one of which ends the string.
const PATH_MAX: usize = 107;

/// A socket that waits for its tool process.
#[derive(Debug)]
pub(super) struct ToolSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Made by us for this socket alone.
    folder: Option<PathBuf>,
}

/// What came of an accept.
#[derive(Debug)]
pub(super) enum Accepted {
    /// The tool process, or something of the same user that claims to be.
    Tool(UnixStream),
    /// Somebody else's process, by its uid; the connection is closed.
    Stranger(u32),
    /// Nobody is there (any more).
    Nobody,
}

impl ToolSocket {
    /// Listens at `path` if one is given, else in a new folder in the first fitting place.
    pub(super) fn bind(path: Option<&Path>) -> io::Result<Self> {
        match path {
            Some(path) => Self::bind_given(path).map_err(|error| other(format!("--socket: {error}"))),
            None => Self::bind_in(places()),
        }
    }

    /// Listens at the path that a person gave. The error names it.
    fn bind_given(path: &Path) -> io::Result<Self> {
        make_way(path)?;
        Self::bind_at(path.to_path_buf(), None)
            .map_err(|error| other(format!("{} can't be used: {error}", path.display())))
    }

    /// Listens in a new folder in the first of these places that allows it.
    fn bind_in(places: Vec<PathBuf>) -> io::Result<Self> {
        let mut reasons = Vec::new();
        for place in places {
            let random = RandomState::new().hash_one(0) as u32;
            let folder = place.join(format!("pmcp-{}-{random:08x}", std::process::id()));
            // mkdir fails for whatever exists already, so nobody can have prepared it.
            let bound = DirBuilder::new().mode(0o700).create(&folder).and_then(|()| {
                let path = folder.join("tool.sock");
                let bound = check_length(&path).and_then(|()| Self::bind_at(path, Some(folder.clone())));
                bound.inspect_err(|_| {
                    let _ = fs::remove_dir(&folder);
                })
            });
            match bound {
                Ok(socket) => return Ok(socket),
                Err(error) => reasons.push(format!("{}: {error}", place.display())),
            }
        }
        let reasons = reasons.join("; ");
        Err(other(format!("no folder for the tool process's socket ({reasons}); --socket names one")))
    }

    fn bind_at(path: PathBuf, folder: Option<PathBuf>) -> io::Result<Self> {
        let listener = UnixListener::bind(&path)?;
        let socket = Self { listener, path, folder };
        fs::set_permissions(&socket.path, Permissions::from_mode(0o600))?;
        Ok(socket)
    }

    /// What the tool process is told.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// For the poll.
    pub(super) fn listener(&mut self) -> &mut UnixListener {
        &mut self.listener
    }

    /// Whether the one who knocks is let in. The caller goes on until nobody is there.
    pub(super) fn accept(&self) -> io::Result<Accepted> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                let uid = sys::peer_uid(stream.as_fd())?;
                if uid == sys::own_uid() || uid == 0 {
                    return Ok(Accepted::Tool(stream));
                }
                Ok(Accepted::Stranger(uid))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Accepted::Nobody),
            Err(error) => Err(error),
        }
    }
}

impl Drop for ToolSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Whether a socket can lie at the path that a person gave, as a sentence if not. Nothing tells
/// that as surely as making one, for a moment.
pub(super) fn try_path(path: &Path) -> io::Result<()> {
    ToolSocket::bind_given(path).map(drop)
}

/// Whether a socket can be made at a path, after what a killed process left there is gone.
pub(super) fn make_way(path: &Path) -> io::Result<()> {
    check_length(path)?;
    remove_stale(path)
}

/// Whether the path of a socket may be that long, as a sentence if not.
fn check_length(path: &Path) -> io::Result<()> {
    let length = path.as_os_str().len();
    if length > PATH_MAX {
        let path = path.display();
        return Err(other(format!(
            "the path of a unix socket may have {PATH_MAX} bytes, this one has {length}: {path}"
        )));
    }
    Ok(())
}

/// A socket on which nobody listens is what a killed process left; anything else stays.
fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(other(format!("{} exists and is not a socket", path.display())));
    }
    // A datagram socket cannot connect to a stream listener, so a living one is not disturbed: it
    // is only told apart from a dead one by the error.
    match UnixDatagram::unbound()?.connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => Err(other(format!("{} is in use", path.display()))),
    }
}

/// Where a folder of ours may be, best first.
fn places() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let user = PathBuf::from(format!("/run/user/{}", sys::own_uid()));
    let mut places: Vec<PathBuf> = runtime.into_iter().collect();
    places.extend([user, PathBuf::from("/dev/shm"), std::env::temp_dir()]);
    places.dedup();
    places
}

fn other(text: impl Display) -> io::Error {
    io::Error::other(text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("pmcp-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn lies_in_a_private_folder_and_is_gone_afterwards() {
        let place = scratch("socket");
        let missing = place.join("missing");
        let socket = ToolSocket::bind_in(vec![missing, place.clone()]).unwrap();
        let folder = socket.path().parent().unwrap().to_path_buf();
        assert_eq!(folder.parent().unwrap(), place);
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(socket.path()).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(socket.accept().unwrap(), Accepted::Nobody));
        let _tool = std::os::unix::net::UnixStream::connect(socket.path()).unwrap();
        assert!(matches!(socket.accept().unwrap(), Accepted::Tool(_)));
        drop(socket);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
        fs::remove_dir(place).unwrap();
    }

    #[test]
    fn a_place_that_is_too_deep_is_passed_over_and_leaves_nothing() {
        let place = scratch("deep");
        let deep = place.join("d".repeat(90));
        fs::create_dir(&deep).unwrap();
        let error = ToolSocket::bind_in(vec![deep.clone()]).unwrap_err().to_string();
        assert!(error.contains("may have 107 bytes") && error.contains("--socket"), "{error}");
        assert_eq!(fs::read_dir(&deep).unwrap().count(), 0);
        assert!(ToolSocket::bind_in(vec![deep, place.clone()]).is_ok());
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_given_path_takes_over_from_the_dead_only() {
        let place = scratch("given");
        let path = place.join("s");
        // std leaves the file of a dropped listener behind, as a killed process does.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let socket = ToolSocket::bind(Some(&path)).unwrap();
        let error = ToolSocket::bind(Some(&path)).unwrap_err().to_string();
        assert!(error.ends_with("is in use"), "{error}");
        drop(socket);
        assert!(!path.exists());
        fs::write(&path, "a file").unwrap();
        let error = ToolSocket::bind(Some(&path)).unwrap_err().to_string();
        assert!(error.ends_with("exists and is not a socket"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"a file");
        assert!(check_length(Path::new(&"x".repeat(107))).is_ok());
        assert!(check_length(Path::new(&"x".repeat(108))).is_err());
        fs::remove_file(&path).unwrap();
        assert!(try_path(&path).is_ok() && !path.exists());
        fs::remove_dir(place).unwrap();
        let error = ToolSocket::bind(Some(&path)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--socket: {} can't be used: ", path.display())), "{error}");
    }
}

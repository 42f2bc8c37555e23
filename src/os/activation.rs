//! Sockets that the service manager opened for us before it started us (systemd's socket
//! activation): it may listen where we could not, and clients may knock before we are there.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::process;

use super::{Address, sys};
use crate::limits::LISTENERS_MAX;

/// The number of the first.
const FIRST: i32 = 3;

/// A socket that listens already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The number of its descriptor.
    number: i32,
    /// Where clients reach it.
    at: Place,
}

/// Where a handed socket listens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Tcp(std::net::SocketAddr),
    /// In words: it need not have a file.
    Unix(String),
}

/// A listener of either kind.
#[derive(Debug)]
pub(super) enum Listening {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// What the service manager gave us, by the variables of the environment; nothing if it gave nothing
/// or gave it to somebody else.
///
/// # Errors
/// A sentence that says what of it can't be used.
pub fn handed(variables: fn(&str) -> Option<OsString>) -> Result<Vec<Address>, String> {
    let number = |name| variables(name).and_then(|value| value.to_str()?.parse::<u32>().ok());
    if number("LISTEN_PID") != Some(process::id()) {
        return Ok(Vec::new());
    }
    let count = number("LISTEN_FDS").unwrap_or(0);
    let last = i32::try_from(count).ok().filter(|_| count as usize <= LISTENERS_MAX);
    let last = last
        .ok_or_else(|| format!("LISTEN_FDS hands over {count} sockets, and {LISTENERS_MAX} are the most"))?;
    (FIRST..FIRST + last).map(|number| look(number).map(Address::Handed)).collect()
}

fn look(number: i32) -> Result<Handed, String> {
    let could_not =
        |error: io::Error| format!("LISTEN_FDS: descriptor {number} is no socket that listens: {error}");
    let at = match listening(number).map_err(could_not)? {
        Listening::Tcp(listener) => Place::Tcp(listener.local_addr().map_err(could_not)?),
        Listening::Unix(listener) => {
            let address = listener.local_addr().map_err(could_not)?;
            let path = address.as_pathname().map(|path| path.display().to_string());
            Place::Unix(path.unwrap_or_else(|| "(no file)".into()))
        }
    };
    Ok(Handed { number, at })
}

/// Our own descriptor of a socket, after it was seen that it listens.
fn listening(number: i32) -> io::Result<Listening> {
    let owned: OwnedFd = sys::duplicate_inherited(number)?;
    if !sys::is_listening(&owned)? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "nobody can connect to it"));
    }
    let listener = TcpListener::from(owned);
    Ok(match listener.local_addr() {
        Ok(_) => Listening::Tcp(listener),
        // What has no address of the network is a unix socket.
        Err(_) => Listening::Unix(OwnedFd::from(listener).into()),
    })
}

impl Handed {
    /// Opens it for the loop.
    pub(super) fn open(&self) -> io::Result<Listening> {
        let listening = listening(self.number)?;
        match &listening {
            Listening::Tcp(listener) => listener.set_nonblocking(true)?,
            Listening::Unix(listener) => listener.set_nonblocking(true)?,
        }
        Ok(listening)
    }

    /// Its address, if it has one of the network.
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        match &self.at {
            Place::Tcp(address) => Some(*address),
            Place::Unix(_) => None,
        }
    }
}

impl std::fmt::Display for Handed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.at {
            Place::Tcp(address) => address.fmt(f),
            Place::Unix(path) => write!(f, "unix:{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_somebody_else_is_left_alone() {
        assert_eq!(handed(|_| None), Ok(Vec::new()));
        assert_eq!(handed(|name| (name != "LISTEN_PID").then(|| "1".into())), Ok(Vec::new()));
        assert_eq!(handed(|_| Some("1".into())), Ok(Vec::new()));
        let ours = |name: &str| match name {
            "LISTEN_PID" => Some(process::id().to_string().into()),
            _ => Some("4711".into()),
        };
        assert!(handed(ours).unwrap_err().contains("64 are the most"));
    }

    #[test]
    fn a_socket_is_told_from_what_is_none() {
        use std::os::fd::AsRawFd as _;
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = look(tcp.as_raw_fd()).unwrap();
        assert_eq!(
            (found.address(), found.to_string()),
            (tcp.local_addr().ok(), tcp.local_addr().unwrap().to_string())
        );
        assert!(matches!(found.open().unwrap(), Listening::Tcp(_)));
        let path = std::env::temp_dir().join(format!("pmcp-activation-{}", process::id()));
        let unix = UnixListener::bind(&path).unwrap();
        let found = look(unix.as_raw_fd()).unwrap();
        assert_eq!((found.address(), found.to_string()), (None, format!("unix:{}", path.display())));
        assert!(matches!(found.open().unwrap(), Listening::Unix(_)));
        std::fs::remove_file(&path).unwrap();
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(look(one.as_raw_fd()).unwrap_err().contains("nobody can connect"));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(look(file.as_raw_fd()).unwrap_err().contains("is no socket that listens"));
        assert!(look(1_000_000).is_err());
    }
}

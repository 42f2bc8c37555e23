//! Where clients knock: an address of the network, or a file.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use mio::event::Source;
use mio::net::{TcpListener, UnixListener};
use mio::{Interest, Registry, Token};

use super::socket::Stream;
use crate::front::http::guard::Peer;
use crate::os::Address;
use crate::os::activation::Listening;
use crate::os::tool_socket;

/// One that clients can connect to.
#[derive(Debug)]
pub(in crate::os) struct Listener {
    kind: Kind,
    /// Somebody may have knocked.
    pub(super) is_ready: bool,
}

#[derive(Debug)]
enum Kind {
    /// With the scheme that clients use.
    Tcp(TcpListener, &'static str),
    /// With its file, and whether that is ours.
    Unix(UnixListener, String, Option<PathBuf>),
}

impl Listener {
    /// Listens. The error names the address.
    pub(super) fn bind(address: &Address, tls: bool, registry: &Registry, token: Token) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
        let scheme = if tls { "https" } else { "http" };
        let mut kind = match address {
            Address::Tcp(address) => Kind::Tcp(TcpListener::bind(*address).map_err(named)?, scheme),
            Address::Unix(path) => {
                tool_socket::make_way(path)?;
                let listener = UnixListener::bind(path).map_err(named)?;
                // Only who may open the file can ask; a group is let in by the folder's owner.
                fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(named)?;
                Kind::Unix(listener, address.to_string(), Some(path.clone()))
            }
            Address::Handed(handed) => match handed.open().map_err(named)? {
                Listening::Tcp(listener) => Kind::Tcp(TcpListener::from_std(listener), scheme),
                Listening::Unix(listener) => {
                    Kind::Unix(UnixListener::from_std(listener), address.to_string(), None)
                }
            },
        };
        let source: &mut dyn Source = match &mut kind {
            Kind::Tcp(listener, _) => listener,
            Kind::Unix(listener, ..) => listener,
        };
        registry.register(source, token, Interest::READABLE).map_err(named)?;
        Ok(Self { kind, is_ready: true })
    }

    /// The next client; `WouldBlock` if there is none.
    pub(super) fn accept(&self) -> io::Result<(Stream, Peer)> {
        match &self.kind {
            Kind::Tcp(listener, _) => {
                let (stream, address) = listener.accept()?;
                // A response is written at once and shall not wait for the acknowledgement of another.
                stream.set_nodelay(true)?;
                Ok((Stream::Tcp(stream), Peer::Ip(address.ip())))
            }
            Kind::Unix(listener, ..) => Ok((Stream::Unix(listener.accept()?.0), Peer::Unix)),
        }
    }
}

impl fmt::Display for Listener {
    /// As a client has to be told.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Tcp(listener, scheme) => match listener.local_addr() {
                Ok(address) => write!(f, "{scheme}://{address}/mcp"),
                Err(error) => write!(f, "an address that cannot be told ({error})"),
            },
            Kind::Unix(_, shown, _) => f.write_str(shown),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Kind::Unix(_, _, Some(path)) = &self.kind {
            let _ = fs::remove_file(path);
        }
    }
}

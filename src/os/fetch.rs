//! One GET within one time, for `pmcp health`; no loop runs then.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::front::http::client::{self, Answer};
use crate::limits::HEALTH_ANSWER_MAX;

/// Whom to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A host, by name or address, and its port.
    Tcp(String, u16),
    /// The socket at this path.
    Unix(PathBuf),
}

/// Asks for a path.
///
/// # Errors
/// Nothing that speaks HTTP answered within the time.
pub fn fetch(place: &Place, path: &str, timeout: Duration) -> io::Result<Answer> {
    let until = Instant::now() + timeout;
    match place {
        Place::Tcp(host, port) => {
            let shown =
                if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
            let stream = connect(host, *port, until)?;
            let timeouts =
                |left| stream.set_read_timeout(Some(left)).and(stream.set_write_timeout(Some(left)));
            ask(&stream, timeouts, &client::get(&shown, path), until)
        }
        Place::Unix(file) => {
            // One whose queue is full would otherwise keep us waiting.
            let stream = mio::net::UnixStream::connect(file).map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock => io::Error::new(error.kind(), "it does not accept connections"),
                _ => error,
            })?;
            let stream = UnixStream::from(OwnedFd::from(stream));
            stream.set_nonblocking(false)?;
            let timeouts =
                |left| stream.set_read_timeout(Some(left)).and(stream.set_write_timeout(Some(left)));
            ask(&stream, timeouts, &client::get("localhost", path), until)
        }
    }
}

/// Connects to the first address that lets us in.
fn connect(host: &str, port: u16, until: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn ask<S>(
    mut stream: S,
    timeouts: impl Fn(Duration) -> io::Result<()>,
    request: &[u8],
    until: Instant,
) -> io::Result<Answer>
where
    S: Read + Write,
{
    timeouts(left(until)?)?;
    // One that answers and closes at once has answered all the same.
    let written = stream.write_all(request);
    let mut answer = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        // Set anew each time, so that no trickle of bytes makes it longer.
        timeouts(left(until)?)?;
        let count = match stream.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(too_late()),
            Err(error) if answer.is_empty() => return Err(written.err().unwrap_or(error)),
            Err(_) => 0,
        };
        answer.extend_from_slice(&buffer[..count.min(HEALTH_ANSWER_MAX)]);
        let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text);
        if let Some(answer) = client::read(&answer, count == 0).map_err(invalid)? {
            return Ok(answer);
        }
    }
}

fn left(until: Instant) -> io::Result<Duration> {
    match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(too_late()),
        left => Ok(left),
    }
}

fn too_late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer came in time")
}

//! TLS 1.3 between a socket and what is read from it and written to it, by rustls.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection};

use super::TlsFiles;
use super::fresh_file::{self, FreshFile};
use crate::limits::{TLS_FILE_MAX, TLS_WRITE_BUFFER};

/// The certificate and the private key that connections are answered with.
#[derive(Debug)]
pub(super) struct Identity {
    certificate: FreshFile,
    key: FreshFile,
    config: Arc<ServerConfig>,
}

impl Identity {
    /// Reads both files, in PEM: the certificate, perhaps with those that lead to a root behind it,
    /// and its private key.
    ///
    /// # Errors
    /// A sentence that says which file is wrong, and how.
    pub(super) fn open(files: &TlsFiles) -> Result<Self, String> {
        let TlsFiles { certificate, key } = files;
        let fresh = |path: &Path| FreshFile::new(path.into(), TLS_FILE_MAX).noted();
        // Their state is noted before they are read, so that no change is missed.
        let (fresh_certificate, fresh_key) = (fresh(certificate), fresh(key));
        Ok(Self { certificate: fresh_certificate, key: fresh_key, config: load(certificate, key)? })
    }

    /// Whatever the files hold is news.
    pub(super) fn forget(&mut self) {
        self.certificate.forget();
        self.key.forget();
    }

    /// Looks whether the files have changed: then new connections are answered with what they hold
    /// now. Files that can't be used change nothing, and are told once.
    pub(super) fn refresh(&mut self, now: Instant) -> Result<bool, String> {
        let changed = [self.certificate.news(now), self.key.news(now)];
        if changed.iter().all(Option::is_none) {
            return Ok(false);
        }
        self.config = load(self.certificate.path(), self.key.path())?;
        Ok(true)
    }

    /// The server's side of a new connection.
    ///
    /// # Errors
    /// rustls can't make one, which it has no reason for.
    pub(super) fn session(&self) -> io::Result<Session> {
        let mut tls = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        tls.set_buffer_limit(Some(TLS_WRITE_BUFFER));
        Ok(Session(Box::new(tls)))
    }
}

fn load(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let read = |path: &Path| {
        fresh_file::read(path, TLS_FILE_MAX)
            .map_err(|error| format!("{} can't be read: {error}", path.display()))
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&read(certificate)?)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{} is not PEM: {error}", certificate.display()))?;
    if chain.is_empty() {
        return Err(format!("{} holds no certificate (PEM)", certificate.display()));
    }
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?)
        .map_err(|error| format!("{} holds no private key (PEM): {error}", key.display()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| {
            format!("{} and {} don't go together: {error}", certificate.display(), key.display())
        })?;
    // Who offers HTTP/2 shall not begin to speak it.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Clients keep their connections; to remember how to resume one that has ended is not worth it.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// The server's side of one connection.
pub(super) struct Session(Box<ServerConnection>);

impl Session {
    /// Reads what the client has sent, through `socket`; what has to go there in return is tried at
    /// once. Less than fits in means that there is no more for now. Nothing at all is the end, also
    /// of a client that left without a word: what it may have meant to say is for HTTP to judge.
    ///
    /// # Errors
    /// `WouldBlock`, or what is not TLS of a kind that we speak: then the client has been told.
    pub(super) fn read(&mut self, socket: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            match self.0.reader().read(&mut buffer[filled..]) {
                Ok(0) => return Ok(filled),
                Ok(count) => {
                    filled += count;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(filled),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            match self.0.read_tls(socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && filled > 0 => return Ok(filled),
                Err(error) => return Err(error),
            }
            let state = self.0.process_new_packets().map(drop);
            match self.flush(socket) {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => state.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
            }
        }
    }

    /// Writes some of the bytes, through `socket`. What is taken may still wait here
    /// ([`Session::owes`]).
    ///
    /// # Errors
    /// `WouldBlock`: what was taken before has to go first. Or the socket broke.
    pub(super) fn write(&mut self, socket: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
        self.flush(socket)?;
        let count = self.0.writer().write(bytes)?;
        match self.flush(socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            // Before the handshake is done little is taken.
            _ if count == 0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(count),
        }
    }

    /// Writes what waits here.
    ///
    /// # Errors
    /// `WouldBlock`: some is left. Or the socket broke.
    pub(super) fn flush(&mut self, socket: &mut impl Write) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether something waits here to be written.
    pub(super) fn owes(&self) -> bool {
        self.0.wants_write()
    }

    /// Says that nothing more will come: what was sent is whole.
    pub(super) fn say_goodbye(&mut self, socket: &mut impl Write) -> io::Result<()> {
        self.0.send_close_notify();
        self.flush(socket)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::path::PathBuf;
    use std::time::Duration;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;

    fn path(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
    }

    fn identity() -> Identity {
        Identity::open(&TlsFiles { certificate: path("localhost.crt"), key: path("localhost.key") })
            .expect("an identity")
    }

    fn client(protocols: &[&[u8]]) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_file(path("localhost.crt")).expect("a certificate");
        roots.add(root).expect("a root");
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let name = ServerName::try_from("localhost").expect("a name");
        ClientConnection::new(Arc::new(config), name).expect("a client")
    }

    /// A socket that takes and gives only so much at a time.
    #[derive(Default)]
    struct Wire {
        incoming: VecDeque<u8>,
        outgoing: Vec<u8>,
        is_ended: bool,
        /// What it takes before it would block; nothing more than it gives at once.
        room: usize,
        piece: usize,
    }

    impl Read for Wire {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(self.piece);
            if self.incoming.is_empty() && !self.is_ended {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = self.incoming.len().min(most);
            for (to, from) in buffer.iter_mut().zip(self.incoming.drain(..count)) {
                *to = from;
            }
            Ok(count)
        }
    }

    impl Write for Wire {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room).min(self.piece);
            if count == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.room -= count;
            self.outgoing.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Pair {
        client: ClientConnection,
        server: Session,
        wire: Wire,
        /// What the server has read, and what the client has.
        read: Vec<u8>,
        heard: Vec<u8>,
    }

    impl Pair {
        fn new(piece: usize, protocols: &[&[u8]]) -> Self {
            let server = identity().session().expect("a session");
            let wire = Wire { piece, room: usize::MAX, ..Wire::default() };
            Self { client: client(protocols), server, wire, read: Vec::new(), heard: Vec::new() }
        }

        /// The client's bytes go to the server, and the server reads; then the other way round.
        fn turn(&mut self) -> io::Result<()> {
            let mut sent = Vec::new();
            while self.client.wants_write() {
                self.client.write_tls(&mut sent)?;
            }
            self.wire.incoming.extend(sent);
            let mut buffer = [0; 1000];
            loop {
                match self.server.read(&mut self.wire, &mut buffer) {
                    Ok(0) => break,
                    Ok(count) => self.read.extend_from_slice(&buffer[..count]),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
            let _ = self.server.flush(&mut self.wire);
            let outgoing = std::mem::take(&mut self.wire.outgoing);
            let mut rest = &outgoing[..];
            while !rest.is_empty() {
                self.client.read_tls(&mut rest)?;
                let state = self.client.process_new_packets().map_err(io::Error::other)?;
                let mut plain = vec![0; state.plaintext_bytes_to_read()];
                self.client.reader().read_exact(&mut plain)?;
                self.heard.extend_from_slice(&plain);
            }
            Ok(())
        }
    }

    #[test]
    fn bytes_go_both_ways_in_pieces_of_any_size() {
        for piece in [1, 7, 1000, 100_000] {
            let mut pair = Pair::new(piece, &[b"h2", b"http/1.1"]);
            let question = vec![b'q'; 50_000];
            let answer: Vec<u8> = (0..200_000u32).map(|number| number as u8).collect();
            pair.client.set_buffer_limit(None);
            pair.client.writer().write_all(&question).expect("a question");
            let mut left = &answer[..];
            for _ in 0..100 {
                pair.turn().expect("a turn");
                while !left.is_empty() && !pair.client.is_handshaking() {
                    match pair.server.write(&mut pair.wire, left) {
                        Ok(count) => left = &left[count..],
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            assert_eq!(pair.client.alpn_protocol(), Some(&b"http/1.1"[..]));
            assert!(pair.read == question && pair.heard == answer, "in pieces of {piece}");
            assert!(!pair.server.owes());
        }
    }

    #[test]
    fn a_full_socket_is_waited_for() {
        let mut pair = Pair::new(100_000, &[]);
        while pair.client.is_handshaking() || pair.client.wants_write() {
            pair.turn().expect("a turn");
        }
        pair.wire.room = 10;
        let taken = pair.server.write(&mut pair.wire, &[7; 100_000]).expect("some");
        assert!(taken > 0 && taken <= 100_000 && pair.server.owes());
        let error = pair.server.write(&mut pair.wire, &[7; 10]).expect_err("no room");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        pair.wire.room = usize::MAX;
        pair.server.flush(&mut pair.wire).expect("room");
        assert!(!pair.server.owes());
        pair.turn().expect("a turn");
        assert_eq!(pair.heard, vec![7; taken]);
    }

    #[test]
    fn the_end_is_told_and_heard() {
        let mut pair = Pair::new(1000, &[]);
        while pair.client.is_handshaking() || pair.client.wants_write() {
            pair.turn().expect("a turn");
        }
        pair.client.writer().write_all(b"last").expect("words");
        pair.client.send_close_notify();
        pair.turn().expect("a turn");
        assert_eq!(pair.read, b"last");
        assert_eq!(pair.server.read(&mut pair.wire, &mut [0; 10]).expect("the end"), 0);
        pair.server.write(&mut pair.wire, b"answer").expect("room");
        pair.server.say_goodbye(&mut pair.wire).expect("room");
        pair.turn().expect("a turn");
        assert_eq!(pair.heard, b"answer");
        assert_eq!(pair.client.reader().read(&mut [0; 10]).expect("the end"), 0);
        // A client that is gone without a word.
        let mut pair = Pair::new(1000, &[]);
        pair.turn().expect("a turn");
        pair.wire.is_ended = true;
        assert_eq!(pair.server.read(&mut pair.wire, &mut [0; 10]).expect("the end"), 0);
    }

    #[test]
    fn what_is_no_tls_is_refused_with_an_alert() {
        let mut pair = Pair::new(1000, &[]);
        pair.wire.incoming.extend(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let error = pair.server.read(&mut pair.wire, &mut [0; 10]).expect_err("no TLS");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert_eq!(pair.wire.outgoing.first(), Some(&21), "an alert");
        let mut other = Pair::new(1000, &[b"h2"]);
        assert!(other.turn().is_err(), "no protocol in common");
    }

    #[test]
    fn files_that_do_not_fit_are_told_and_change_nothing() {
        let folder = std::env::temp_dir().join(format!("pmcp-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (certificate, key) = (folder.join("crt"), folder.join("key"));
        let files = TlsFiles { certificate: certificate.clone(), key: key.clone() };
        let copy = |name: &str, to: &Path| std::fs::copy(path(name), to).map(drop).expect("a copy");
        let problem = || Identity::open(&files).expect_err("a problem");
        assert!(problem().contains("can't be read"));
        copy("localhost.key", &certificate);
        copy("localhost.key", &key);
        assert!(problem().contains("no certificate"), "{}", problem());
        copy("localhost.crt", &certificate);
        copy("localhost.crt", &key);
        assert!(problem().contains("no private key"), "{}", problem());
        copy("localhost.key", &key);
        let mut identity = Identity::open(&files).expect("an identity");
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(identity.refresh(start), Ok(false));
        assert_eq!(identity.refresh(later(1)), Ok(false));
        let before = Arc::clone(&identity.config);
        std::fs::write(&key, "half").expect("a file");
        assert!(identity.refresh(later(2)).is_err());
        assert_eq!(identity.refresh(later(3)), Ok(false), "told once");
        assert!(Arc::ptr_eq(&before, &identity.config));
        copy("localhost.key", &key);
        assert_eq!(identity.refresh(later(4)), Ok(true));
        assert!(!Arc::ptr_eq(&before, &identity.config));
        std::fs::remove_dir_all(&folder).expect("a folder");
    }
}

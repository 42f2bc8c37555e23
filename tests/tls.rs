//! TLS, in builds that have it: with a client that is not ours.

use std::process::Command;
use std::sync::Arc;

use crate::access::{Server, serve_in};
use crate::support::dir::Dir;
use crate::support::environment;

/// A server with the certificate and the key of `tests/tls`, copied so that they can be changed.
fn serve(flags: &[&str]) -> (Arc<Dir>, Server) {
    let dir = Arc::new(Dir::new());
    for name in ["localhost.crt", "localhost.key"] {
        std::fs::copy(environment::source("tls").join(name), dir.join(name)).expect("a copy");
    }
    let flags = [&["--tls-cert", "localhost.crt", "--tls-key", "localhost.key", "-v"], flags].concat();
    let server = serve_in(Arc::clone(&dir), &flags, &[]);
    (dir, server)
}

/// What came of a step, for a client that trusts the first certificate.
#[track_caller]
fn client(server: &Server, step: &str) -> Option<String> {
    let port = server.address().rsplit(':').next().expect("a port");
    let Ok(output) = Command::new("python3")
        .arg(environment::source("clients/tls.py"))
        .arg(port)
        .arg(environment::source("tls/localhost.crt"))
        .arg(step)
        .output()
    else {
        environment::skip("there is no Python");
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{step}: {errors}");
    Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

#[test]
fn a_client_that_is_not_ours() {
    let (_dir, server) = serve(&[]);
    assert!(server.urls[0].starts_with("https://127.0.0.1:"), "{:?}", server.urls);
    for (step, expected) in [
        ("requests", "TLSv1.3 [200, 200, 200, 200, 200]"),
        ("protocol", "http/1.1"),
        ("end", "HTTP/1.1 404 Not Found"),
        ("plain", "an alert: True"),
    ] {
        let Some(said) = client(&server, step) else { return };
        assert_eq!(said, expected, "{step}");
    }
    let old = client(&server, "old").expect("Python");
    assert!(old.starts_with("refused: "), "{old}");
    assert_eq!(client(&server, "requests").as_deref(), Some("TLSv1.3 [200, 200, 200, 200, 200]"));
}

#[test]
fn another_certificate_holds_for_new_clients() {
    let (dir, server) = serve(&[]);
    if client(&server, "protocol").is_none() {
        return;
    }
    dir.write("localhost.crt", "half");
    crate::support::eventually("the broken file is told", || {
        assert_eq!(client(&server, "protocol").as_deref(), Some("http/1.1"), "the one before it stays");
        server.stderr().contains("holds no certificate")
    });
    std::fs::copy(environment::source("tls/localhost.crt"), dir.join("localhost.crt")).expect("a copy");
    crate::support::eventually("the certificate is read again", || {
        assert_eq!(client(&server, "protocol").as_deref(), Some("http/1.1"));
        server.stderr().contains("certificate as it is now")
    });
}

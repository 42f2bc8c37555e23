//! `pmcp health`: asks a pmcp that serves over HTTP how it is. For containers, which have no other
//! program to ask with.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use super::show;
use crate::limits::HTTP_PORT;
use crate::os::fetch::{Place, fetch};

/// It is not well, or nobody answers.
const NOT_HEALTHY: u8 = 1;

/// What is asked for if nothing is typed.
const READY: &str = "/readyz";

/// Whom to ask for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it listens.
    pub place: Place,
    /// What to ask for.
    pub path: String,
}

impl Default for Target {
    /// What listens on this machine if nobody says where.
    fn default() -> Self {
        Self { place: Place::Tcp("127.0.0.1".into(), HTTP_PORT), path: READY.into() }
    }
}

/// Asks, and says on one line what was answered. The exit code is 0 if all is well, else 1.
pub fn ask(target: &Target, timeout: Duration) -> ExitCode {
    let of = match &target.place {
        Place::Tcp(host, port) => format!("{host}:{port}"),
        Place::Unix(path) => format!("unix:{}", path.display()),
    };
    let (is_well, line) = match fetch(&target.place, &target.path, timeout) {
        Ok(answer) => {
            let (status, said) = (answer.status, answer.line);
            ((200..300).contains(&status), format!("{status} {said}"))
        }
        Err(error) => (false, error.to_string()),
    };
    let path = &target.path;
    let shown = show(&format!("{of}{path}: {}\n", super::one_line(line.trim_end())));
    if is_well { shown } else { ExitCode::from(NOT_HEALTHY) }
}

/// Understands `http://HOST:PORT/PATH`, without the scheme too, and `unix:FILE` with `:/PATH` behind
/// it. The error is a clause that fits behind what was typed.
pub fn target(text: &str) -> Result<Target, String> {
    let malformed = "is neither http://HOST:PORT/PATH nor unix:FILE:/PATH";
    if text.starts_with("https:") {
        return Err("would need TLS; let pmcp listen at unix:FILE as well, and ask there".into());
    }
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) || text.contains(['@', '#']) {
        return Err(malformed.into());
    }
    if let Some(rest) = text.strip_prefix("unix:") {
        let (file, path) = match rest.rsplit_once(":/") {
            Some((file, path)) => (file, format!("/{path}")),
            None => (rest, String::new()),
        };
        // As nginx spells it.
        let file = Path::new(file);
        if file.as_os_str().is_empty() {
            return Err("names no file; like unix:/run/pmcp.sock".into());
        }
        return Ok(Target { place: Place::Unix(file.to_owned()), path: or_ready(&path) });
    }
    let rest = text.strip_prefix("http://").unwrap_or(text);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (host, port) = match authority.rsplit_once(':') {
        // The colon belongs to an address in brackets.
        Some((_, port)) if port.ends_with(']') => (authority, 80),
        Some((host, port)) => (host, port.parse().map_err(|_| malformed.to_owned())?),
        None => (authority, 80),
    };
    let host = host.strip_prefix('[').map_or(Some(host), |host| host.strip_suffix(']')).unwrap_or_default();
    if host.is_empty()
        || host.contains(['[', ']', '?'])
        || text.contains("://") != text.starts_with("http://")
    {
        return Err(malformed.into());
    }
    Ok(Target { place: Place::Tcp(host.into(), port), path: or_ready(path) })
}

fn or_ready(path: &str) -> String {
    if matches!(path, "" | "/") { READY.into() } else { path.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_say_whom_to_ask() {
        for (text, host, port, path) in [
            ("http://127.0.0.1:8080", "127.0.0.1", 8080, "/readyz"),
            ("http://127.0.0.1:8080/", "127.0.0.1", 8080, "/readyz"),
            ("127.0.0.1:8080/livez", "127.0.0.1", 8080, "/livez"),
            ("http://[::1]:80/a/b?c", "::1", 80, "/a/b?c"),
            ("[::1]", "::1", 80, "/readyz"),
            ("http://localhost", "localhost", 80, "/readyz"),
        ] {
            let place = Place::Tcp(host.into(), port);
            assert_eq!(target(text), Ok(Target { place, path: path.into() }), "{text}");
        }
        for (text, file, path) in [
            ("unix:/run/pmcp.sock", "/run/pmcp.sock", "/readyz"),
            ("unix:/run/pmcp.sock:/livez", "/run/pmcp.sock", "/livez"),
            ("unix:a:b", "a:b", "/readyz"),
        ] {
            assert_eq!(
                target(text),
                Ok(Target { place: Place::Unix(file.into()), path: path.into() }),
                "{text}"
            );
        }
        assert_eq!(target("127.0.0.1:8080"), Ok(Target::default()));
    }

    #[test]
    fn what_is_no_such_place_is_refused() {
        for (text, hint) in [
            ("https://127.0.0.1", "TLS"),
            ("ftp://127.0.0.1", "is neither"),
            ("http://", "is neither"),
            ("http://:80", "is neither"),
            ("http://[::1", "is neither"),
            ("http://a:b@c", "is neither"),
            ("a:99999", "is neither"),
            ("a b", "is neither"),
            ("http://a/\r\nEvil: 1", "is neither"),
            ("http://a?b", "is neither"),
            ("unix:", "names no file"),
            ("unix::/livez", "names no file"),
        ] {
            let problem = target(text).expect_err(text);
            assert!(problem.contains(hint), "{text}: {problem}");
        }
    }
}

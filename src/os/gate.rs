//! What the guard needs of the world: the file of the issuer's keys.

use std::path::PathBuf;
use std::time::Instant;

use super::fresh_file::FreshFile;
use super::tls::Identity;
use crate::front::http::guard::{Guard, Rules};
use crate::front::oauth::keys::Keys;
use crate::limits::JWKS_MAX;
use crate::log::Level;

/// Who may ask over HTTP.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// What the guard keeps to.
    pub rules: Rules,
    /// `--oauth-jwks`: read again when it changes.
    pub keys: Option<PathBuf>,
    /// `--tls-cert` and `--tls-key`: TCP clients speak TLS.
    pub tls: Option<TlsFiles>,
}

/// What TCP clients are answered with in TLS; read again when one of them changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate in PEM, perhaps with those that lead to a root behind it.
    pub certificate: PathBuf,
    /// Its private key in PEM.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Whether they can be used.
    ///
    /// # Errors
    /// A sentence that says which of them can't, or that this build has no TLS.
    pub fn check(&self) -> Result<(), String> {
        Identity::open(self).map(drop)
    }
}

/// Brings a guard the keys that it goes by.
#[derive(Debug)]
pub(super) struct Gate {
    keys: Option<FreshFile>,
}

impl Gate {
    /// Keys from this file, if there is one.
    pub(super) fn new(keys: Option<PathBuf>) -> Self {
        Self { keys: keys.map(|path| FreshFile::new(path, JWKS_MAX)) }
    }

    /// Whatever the file holds is news.
    pub(super) fn forget(&mut self) {
        if let Some(file) = &mut self.keys {
            file.forget();
        }
    }

    /// Looks whether the keys have changed; to be called before requests are checked, as often as
    /// one likes. Keys that can't be used change nothing. What is returned is for a person.
    pub(super) fn refresh(&mut self, guard: &mut Guard, now: Instant) -> Vec<(Level, String)> {
        let Some(file) = &mut self.keys else { return Vec::new() };
        let Some(news) = file.news(now) else { return Vec::new() };
        let path = file.path().display();
        let read = match news {
            Ok(bytes) => Keys::read(&bytes),
            Err(error) => Err(format!("can't be read: {error}")),
        };
        match read {
            Ok(mut keys) => {
                let mut lines = vec![(Level::Info, format!("{} keys of the issuer in {path}", keys.len()))];
                let left_out = std::mem::take(&mut keys.left_out).into_iter();
                lines.extend(left_out.map(|line| (Level::Warning, format!("{path}: {line}"))));
                guard.replace_keys(keys);
                lines
            }
            Err(problem) => vec![(Level::Warning, format!("{path} {problem}; the keys before it stay"))],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::front::oauth::{self, resource::Resource};
    use crate::limits::FILE_LOOK;

    fn jwks(x: &str) -> String {
        format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#)
    }

    #[test]
    fn keys_are_replaced_and_broken_ones_are_told_once() {
        let path = std::env::temp_dir().join(format!("pmcp-gate-{}", std::process::id()));
        let good = jwks("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        fs::write(&path, &good).expect("a file");
        let resource = Resource::new("https://i", &["https://a".into()], &[]).expect("a resource");
        let server = oauth::Server::new(resource, Keys::read(good.as_bytes()).expect("keys"));
        let rules = Rules { oauth: Some(server), ..Rules::default() };
        let mut guard = Guard::new(rules);
        let mut gate = Gate::new(Some(path.clone()));
        let start = Instant::now();
        let mut levels = |looks: u32| -> Vec<Level> {
            gate.refresh(&mut guard, start + FILE_LOOK * looks).into_iter().map(|(level, _)| level).collect()
        };
        assert_eq!(levels(0), [Level::Info]);
        assert_eq!(levels(1), []);
        fs::write(&path, "half a fi").expect("a file");
        assert_eq!(levels(2), [Level::Warning]);
        assert_eq!(levels(3), []);
        fs::write(&path, good.replace("]}", ",7]}")).expect("a file");
        assert_eq!(levels(4), [Level::Info, Level::Warning]);
        fs::remove_file(&path).expect("a file");
        assert_eq!(levels(5), [Level::Warning]);
        assert_eq!(Gate::new(None).refresh(&mut guard, start), []);
    }
}

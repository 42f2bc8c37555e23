//! Who may ask over HTTP: the flags for it, and what they mean together.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::flag::Flag;
use crate::front::http::guard::Rules;
use crate::front::http::guard::names::{Authority, Names, Origin, Proxy};
use crate::front::http::guard::rate::Rate;
use crate::front::http::guard::secret::{Scheme, Secret};
use crate::front::oauth::{self, keys::Keys, resource::Resource};
use crate::limits::{FLAG_RATE_MAX, IN_FLIGHT, JWKS_MAX};
use crate::os::{self, Admission, TlsFiles};

/// The flags, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// `--auth`, each: where a secret is brought, and the variable that holds it.
    pub auth: Vec<(Scheme, String)>,
    /// `--insecure`
    pub insecure: bool,
    /// `--allow-host`, each
    pub hosts: Vec<Authority>,
    /// `--allow-origin`, each
    pub origins: Vec<Origin>,
    /// `--proxy`, each
    pub proxies: Vec<Proxy>,
    /// `--oauth-issuer`
    pub issuer: Option<String>,
    /// `--oauth-audience`, each
    pub audiences: Vec<String>,
    /// `--oauth-jwks`
    pub jwks: Option<PathBuf>,
    /// `--oauth-scope`, each
    pub scopes: Vec<String>,
    /// `--tls-cert`
    pub certificate: Option<PathBuf>,
    /// `--tls-key`
    pub tls_key: Option<PathBuf>,
    /// `--rate`
    pub rate: Option<Rate>,
    /// `--max-in-flight`
    pub in_flight_max: Option<usize>,
}

/// From where we can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach<'a> {
    /// By those who may open a file.
    Unix,
    /// From this machine.
    Loopback,
    /// From others, too: at this address, as it was typed.
    Beyond(&'a str),
}

impl Access {
    /// The first flag that was typed; none of them means anything on a pipe.
    pub fn first_typed(&self) -> Option<Flag> {
        let typed = [
            (Flag::Auth, !self.auth.is_empty()),
            (Flag::Insecure, self.insecure),
            (Flag::AllowHost, !self.hosts.is_empty()),
            (Flag::AllowOrigin, !self.origins.is_empty()),
            (Flag::Proxy, !self.proxies.is_empty()),
            (Flag::OauthIssuer, self.issuer.is_some()),
            (Flag::OauthAudience, !self.audiences.is_empty()),
            (Flag::OauthJwks, self.jwks.is_some()),
            (Flag::OauthScope, !self.scopes.is_empty()),
            (Flag::TlsCert, self.certificate.is_some()),
            (Flag::TlsKey, self.tls_key.is_some()),
            (Flag::Rate, self.rate.is_some()),
            (Flag::MaxInFlight, self.in_flight_max.is_some()),
        ];
        typed.into_iter().find(|(_, is_typed)| *is_typed).map(|(flag, _)| flag)
    }

    /// Who may ask; `folder` is the one that paths begin at, `variable` looks into our environment.
    ///
    /// # Errors
    /// What can't work, or would let strangers in.
    pub fn settle(
        &self,
        reach: Reach<'_>,
        folder: &Path,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Admission, String> {
        let secrets = self.secrets(variable)?;
        let oauth = self.oauth(folder)?;
        if oauth.is_some() && secrets.iter().any(|secret| secret.scheme() == Scheme::Token) {
            return Err(
                "--auth token and --oauth-issuer both ask for the header Authorization, and a request has \
                        one: use --auth apikey beside OAuth"
                    .into(),
            );
        }
        let is_open = secrets.is_empty() && oauth.is_none() && !self.insecure;
        if let (Reach::Beyond(address), true) = (reach, is_open) {
            return Err(format!(
                "{address} can be reached from other machines: say who may call the tools with --auth \
                 token:VARIABLE, or --insecure if everybody may"
            ));
        }
        if self.origins.contains(&Origin::Any) && is_open {
            return Err(
                "--allow-origin '*' lets every page in a browser call the tools: say who may with --auth \
                        token:VARIABLE, or --insecure if everybody may"
                    .into(),
            );
        }
        let rules = Rules {
            names: Names {
                loopback: reach == Reach::Loopback,
                hosts: self.hosts.clone(),
                origins: self.origins.clone(),
                proxies: self.proxies.clone(),
            },
            secrets,
            oauth,
            rate: self.rate,
            in_flight_max: self.in_flight_max.unwrap_or(IN_FLIGHT),
        };
        let keys = self.jwks.as_ref().map(|path| folder.join(path));
        Ok(Admission { rules, keys, tls: self.tls(folder)? })
    }

    /// `--tls-…`: both, or neither.
    fn tls(&self, folder: &Path) -> Result<Option<TlsFiles>, String> {
        let files = match (&self.certificate, &self.tls_key) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => {
                TlsFiles { certificate: folder.join(certificate), key: folder.join(key) }
            }
            _ => return Err("TLS needs --tls-cert FILE and --tls-key FILE, both".into()),
        };
        files.check().map_err(|problem| format!("--tls-cert, --tls-key: {problem}"))?;
        Ok(Some(files))
    }

    /// `--auth`
    fn secrets(&self, variable: impl Fn(&str) -> Option<OsString>) -> Result<Vec<Secret>, String> {
        let mut secrets: Vec<Secret> = Vec::new();
        for (scheme, name) in &self.auth {
            if secrets.iter().any(|secret| secret.scheme() == *scheme) {
                let (scheme, header) = match scheme {
                    Scheme::Token => ("token", "Authorization"),
                    Scheme::ApiKey => ("apikey", "X-API-Key"),
                };
                return Err(format!(
                    "--auth {scheme} was given twice: all of them must pass, but a request has one header {header}"
                ));
            }
            let value = variable(name).ok_or(format!("--auth: the variable {name} is not set"))?;
            let value =
                value.to_str().ok_or(format!("--auth: what the variable {name} holds is not UTF-8"))?;
            let secret = Secret::new(*scheme, value)
                .map_err(|problem| format!("--auth: what the variable {name} holds {problem}"))?;
            secrets.push(secret);
        }
        Ok(secrets)
    }

    /// `--oauth-…`: all of it, or nothing.
    fn oauth(&self, folder: &Path) -> Result<Option<oauth::Server>, String> {
        let (issuer, path) = match (&self.issuer, &self.audiences[..], &self.jwks) {
            (Some(issuer), [_, ..], Some(path)) => (issuer, folder.join(path)),
            (None, [], None) if self.scopes.is_empty() => return Ok(None),
            _ => {
                return Err(
                    "OAuth needs --oauth-issuer URL, --oauth-audience URI and --oauth-jwks FILE, all three"
                        .into(),
                );
            }
        };
        let resource = Resource::new(issuer, &self.audiences, &self.scopes)?;
        let bytes = os::read_file(&path, JWKS_MAX)
            .map_err(|error| format!("--oauth-jwks: {} can't be read: {error}", path.display()))?;
        let keys =
            Keys::read(&bytes).map_err(|problem| format!("--oauth-jwks: {} {problem}", path.display()))?;
        Ok(Some(oauth::Server::new(resource, keys)))
    }
}

/// `--auth SCHEME:VARIABLE`
pub fn auth(text: &str) -> Result<(Scheme, String), String> {
    let form =
        || "is not token:VARIABLE or apikey:VARIABLE, with the variable that holds the secret".to_string();
    let (scheme, name) = text.split_once(':').ok_or_else(form)?;
    let scheme = match scheme {
        "token" => Scheme::Token,
        "apikey" => Scheme::ApiKey,
        _ => return Err(form()),
    };
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(form());
    }
    Ok((scheme, name.into()))
}

/// `--rate N/s`, or per minute or hour.
pub fn rate(text: &str) -> Result<Rate, String> {
    let form = || "is not a rate such as 10/s, 100/m or 1000/h".to_string();
    let (requests, unit) = text.split_once('/').ok_or_else(form)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(form()),
    };
    if requests.is_empty() || !requests.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(form());
    }
    match requests.parse() {
        Ok(0) => Err("lets nobody ask anything".into()),
        Ok(requests) if requests <= FLAG_RATE_MAX => Ok(Rate { requests, per: Duration::from_secs(seconds) }),
        _ => Err(format!("is more than {FLAG_RATE_MAX}")),
    }
}

/// `--max-in-flight N`
pub fn in_flight(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("lets nobody ask anything".into()),
        Ok(count) if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(count),
        _ => Err("is not a number".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<OsString> {
        let value = match name {
            "TOKEN" => "s3cret",
            "KEY" => "k3y",
            "EMPTY" => "",
            "LINE" => "s3cret\n",
            _ => return None,
        };
        Some(value.into())
    }

    fn access(auth: &[&str]) -> Access {
        Access { auth: auth.iter().map(|text| super::auth(text).expect(text)).collect(), ..Access::default() }
    }

    fn settle(access: &Access, reach: Reach) -> Result<Admission, String> {
        access.settle(reach, Path::new("/nowhere"), environment)
    }

    fn problem(access: &Access, reach: Reach) -> String {
        settle(access, reach).expect_err("a problem")
    }

    #[test]
    fn a_secret_that_is_no_secret_refuses_to_start() {
        for (variable, said) in [("NONE", "not set"), ("EMPTY", "is empty"), ("LINE", "white space")] {
            let problem = problem(&access(&[&format!("token:{variable}")]), Reach::Loopback);
            assert!(problem.contains(variable) && problem.contains(said), "{problem}");
            assert!(!problem.contains("s3cret"), "{problem}");
        }
        let twice = problem(&access(&["token:TOKEN", "apikey:KEY", "token:KEY"]), Reach::Loopback);
        assert!(twice.contains("--auth token") && twice.contains("Authorization"), "{twice}");
        let both = settle(&access(&["token:TOKEN", "apikey:KEY"]), Reach::Loopback);
        assert_eq!(both.expect("rules").rules.secrets.len(), 2);
    }

    #[test]
    fn strangers_are_let_in_only_on_demand() {
        let open = access(&[]);
        assert!(settle(&open, Reach::Loopback).expect("rules").rules.names.loopback);
        assert!(!settle(&open, Reach::Unix).expect("rules").rules.names.loopback);
        let refused = problem(&open, Reach::Beyond("0.0.0.0"));
        assert!(refused.contains("0.0.0.0") && refused.contains("--insecure"), "{refused}");
        assert!(settle(&access(&["token:TOKEN"]), Reach::Beyond("::")).is_ok());
        let insecure = Access { insecure: true, ..Access::default() };
        assert!(settle(&insecure, Reach::Beyond("::")).is_ok());
        let pages = Access { origins: vec![Origin::Any], ..Access::default() };
        assert!(problem(&pages, Reach::Loopback).contains("--allow-origin"));
        assert!(settle(&Access { insecure: true, ..pages }, Reach::Loopback).is_ok());
    }

    #[test]
    fn every_flag_arrives_in_the_rules() {
        let access = Access {
            hosts: vec!["a.example".parse().unwrap()],
            origins: vec!["https://a.example".parse().unwrap()],
            proxies: vec!["10.0.0.1".parse().unwrap()],
            rate: Some(rate("3/m").unwrap()),
            in_flight_max: Some(7),
            ..access(&["apikey:KEY"])
        };
        let rules = settle(&access, Reach::Loopback).expect("rules").rules;
        assert_eq!(rules.names.hosts, access.hosts);
        assert_eq!(rules.names.origins, access.origins);
        assert_eq!(rules.names.proxies, access.proxies);
        assert_eq!(rules.secrets[0].scheme(), Scheme::ApiKey);
        assert_eq!((rules.rate, rules.in_flight_max), (access.rate, 7));
        assert_eq!(settle(&Access::default(), Reach::Unix).expect("rules").rules.in_flight_max, IN_FLIGHT);
        assert_eq!(access.first_typed(), Some(Flag::Auth));
        assert_eq!(Access::default().first_typed(), None);
    }

    #[test]
    fn values_as_people_write_them() {
        assert_eq!(auth("token:A_B"), Ok((Scheme::Token, "A_B".into())));
        for wrong in ["", "token", "token:", "TOKEN:A", "bearer:A", "apikey:A=b", ":A"] {
            assert!(auth(wrong).is_err(), "{wrong}");
        }
        let per = |requests, seconds| Ok(Rate { requests, per: Duration::from_secs(seconds) });
        assert_eq!(rate("10/s"), per(10, 1));
        assert_eq!(rate("1000000/h"), per(1_000_000, 3600));
        for wrong in [
            "",
            "10",
            "/s",
            "0/s",
            "-1/s",
            "+1/s",
            "1.5/s",
            "10/d",
            "10/",
            "10/s ",
            "1000001/s",
            "99999999999/s",
        ] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        assert_eq!(in_flight("1"), Ok(1));
        for wrong in ["", "0", "-1", "+1", "x", "1k"] {
            assert!(in_flight(wrong).is_err(), "{wrong}");
        }
    }

    /// All that OAuth needs, with this as the file of keys.
    fn with_oauth(jwks: &Path) -> Access {
        Access {
            issuer: Some("https://login.example.com".into()),
            audiences: vec!["https://mcp.example.com/mcp".into()],
            jwks: Some(jwks.into()),
            scopes: vec!["a".into()],
            ..Access::default()
        }
    }

    const JWKS: &str =
        r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

    #[test]
    fn oauth_needs_all_of_its_flags_and_a_file_of_keys() {
        let folder = crate::cli::settings::tests::Folder::new();
        folder.file("jwks", JWKS);
        let whole = with_oauth(&folder.path("jwks"));
        let admission = settle(&whole, Reach::Beyond("::")).expect("an admission");
        assert_eq!(admission.keys, Some(folder.path("jwks")));
        assert!(admission.rules.oauth.is_some());
        for part in [
            Access { issuer: None, ..whole.clone() },
            Access { audiences: Vec::new(), ..whole.clone() },
            Access { jwks: None, ..whole.clone() },
            Access { scopes: vec!["a".into()], ..Access::default() },
        ] {
            let problem = problem(&part, Reach::Loopback);
            assert!(problem.contains("all three"), "{problem}");
        }
        let both = Access { auth: vec![auth("token:TOKEN").unwrap()], ..whole.clone() };
        assert!(problem(&both, Reach::Loopback).contains("Authorization"));
        let beside = Access { auth: vec![auth("apikey:KEY").unwrap()], ..whole.clone() };
        assert!(settle(&beside, Reach::Loopback).is_ok());
        for (text, said) in [("{}", "JWK set"), (r#"{"keys":[]}"#, "no public key")] {
            folder.file("jwks", text);
            let problem = problem(&whole, Reach::Loopback);
            assert!(problem.starts_with("--oauth-jwks: ") && problem.contains(said), "{problem}");
        }
        folder.remove("jwks");
        assert!(problem(&whole, Reach::Loopback).contains("can't be read"));
    }

    #[test]
    fn tls_needs_both_of_its_files() {
        let file = |name: &str| Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name));
        let typed = |certificate: Option<PathBuf>, tls_key: Option<PathBuf>| {
            let access = Access { certificate, tls_key, ..Access::default() };
            settle(&access, Reach::Loopback).map(|admission| admission.tls.is_some())
        };
        assert_eq!(typed(None, None), Ok(false));
        assert!(typed(file("localhost.crt"), None).unwrap_err().contains("both"));
        assert!(typed(None, file("localhost.key")).unwrap_err().contains("both"));
        let both = typed(file("localhost.crt"), file("localhost.key"));
        if cfg!(feature = "tls") {
            assert_eq!(both, Ok(true));
            let swapped = typed(file("localhost.key"), file("localhost.crt")).unwrap_err();
            assert!(swapped.starts_with("--tls-cert") && swapped.contains("no certificate"), "{swapped}");
        } else {
            let problem = both.unwrap_err();
            assert!(problem.contains("no TLS") && problem.contains("reverse proxy"), "{problem}");
        }
    }
}

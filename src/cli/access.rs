//! Who may ask over HTTP: the flags for it, and what they mean together.

use std::ffi::OsString;
use std::time::Duration;

use crate::cli::flag::Flag;
use crate::front::http::guard::Rules;
use crate::front::http::guard::names::{Authority, Names, Origin, Proxy};
use crate::front::http::guard::rate::Rate;
use crate::front::http::guard::secret::{Scheme, Secret};
use crate::limits::{FLAG_RATE_MAX, IN_FLIGHT};

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
            (Flag::Rate, self.rate.is_some()),
            (Flag::MaxInFlight, self.in_flight_max.is_some()),
        ];
        typed.into_iter().find(|(_, is_typed)| *is_typed).map(|(flag, _)| flag)
    }

    /// What the guard will keep to; `variable` looks into our environment.
    ///
    /// # Errors
    /// What can't work, or would let strangers in.
    pub fn rules(
        &self,
        reach: Reach<'_>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Rules, String> {
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
        let is_open = secrets.is_empty() && !self.insecure;
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
        Ok(Rules {
            names: Names {
                loopback: reach == Reach::Loopback,
                hosts: self.hosts.clone(),
                origins: self.origins.clone(),
                proxies: self.proxies.clone(),
            },
            secrets,
            rate: self.rate,
            in_flight_max: self.in_flight_max.unwrap_or(IN_FLIGHT),
        })
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

    fn problem(access: &Access, reach: Reach) -> String {
        access.rules(reach, environment).expect_err("a problem")
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
        let both = access(&["token:TOKEN", "apikey:KEY"]).rules(Reach::Loopback, environment);
        assert_eq!(both.expect("rules").secrets.len(), 2);
    }

    #[test]
    fn strangers_are_let_in_only_on_demand() {
        let open = access(&[]);
        assert!(open.rules(Reach::Loopback, environment).expect("rules").names.loopback);
        assert!(!open.rules(Reach::Unix, environment).expect("rules").names.loopback);
        let refused = problem(&open, Reach::Beyond("0.0.0.0"));
        assert!(refused.contains("0.0.0.0") && refused.contains("--insecure"), "{refused}");
        assert!(access(&["token:TOKEN"]).rules(Reach::Beyond("::"), environment).is_ok());
        let insecure = Access { insecure: true, ..Access::default() };
        assert!(insecure.rules(Reach::Beyond("::"), environment).is_ok());
        let pages = Access { origins: vec![Origin::Any], ..Access::default() };
        assert!(problem(&pages, Reach::Loopback).contains("--allow-origin"));
        assert!(Access { insecure: true, ..pages }.rules(Reach::Loopback, environment).is_ok());
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
        let rules = access.rules(Reach::Loopback, environment).expect("rules");
        assert_eq!(rules.names.hosts, access.hosts);
        assert_eq!(rules.names.origins, access.origins);
        assert_eq!(rules.names.proxies, access.proxies);
        assert_eq!(rules.secrets[0].scheme(), Scheme::ApiKey);
        assert_eq!((rules.rate, rules.in_flight_max), (access.rate, 7));
        assert_eq!(
            Access::default().rules(Reach::Unix, environment).expect("rules").in_flight_max,
            IN_FLIGHT
        );
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
}

//! The guard as a whole: the order of its verdicts, and what is open to everybody.

use super::secret::Scheme;
use super::*;
use crate::front::oauth::tests::{Issuer, NOW, claims, server};

/// A head by its headers.
#[derive(Clone)]
pub(super) struct Asked<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) headers: Vec<(&'a str, &'a str)>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(headers: &[(&'a str, &'a str)]) -> Self {
        Self { method: "POST", path: "/mcp", headers: headers.to_vec() }
    }

    fn with(mut self, name: &'a str, value: &'a str) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl Head for Asked<'_> {
    fn method(&self) -> &str {
        self.method
    }

    fn path(&self) -> &str {
        self.path
    }

    fn field(&self, name: &str) -> Field<'_> {
        let mut values = self.headers.iter().filter(|(header, _)| *header == name);
        match (values.next(), values.next()) {
            (None, _) => Field::Absent,
            (Some((_, value)), None) => Field::Is(value),
            _ => Field::Unclear,
        }
    }
}

const PEER: Peer = Peer::Ip(IpAddr::V4(core::net::Ipv4Addr::LOCALHOST));

fn local() -> Asked<'static> {
    Asked::new(&[("host", "localhost")])
}

fn guard(secrets: &[(Scheme, &str)], rate: Option<Rate>) -> Guard {
    let secrets =
        secrets.iter().map(|(scheme, value)| Secret::new(*scheme, value).expect("a secret")).collect();
    Guard::new(Rules {
        names: Names { loopback: true, ..Names::default() },
        secrets,
        rate,
        ..Rules::default()
    })
}

fn verdict(guard: &mut Guard, asked: &Asked) -> Result<Principal, Refusal> {
    guard.check(asked, PEER, Instant::now(), Duration::from_secs(1_800_000_000))
}

/// The values of all headers of one name.
fn values<'a>(refusal: &'a Refusal, name: &str) -> Vec<&'a str> {
    refusal.headers.iter().filter(|(header, _)| *header == name).map(|(_, value)| value.as_str()).collect()
}

#[test]
fn without_secrets_everybody_is_nobody() {
    let principal = verdict(&mut guard(&[], None), &local()).expect("a pass");
    assert!(principal.is_nobody());
}

#[test]
fn all_secrets_must_be_brought_each_in_its_header() {
    let both = [(Scheme::Token, "s3cret"), (Scheme::ApiKey, "a key")];
    let bearer = "Bearer s3cret";
    for (secrets, headers, expected) in [
        (&both[..1], vec![], 401),
        (&both[..1], vec![("authorization", bearer)], 200),
        (&both[..1], vec![("authorization", "bearer  s3cret")], 200),
        (&both[..1], vec![("authorization", "Bearer s3cre")], 401),
        (&both[..1], vec![("authorization", "Bearer s3cret2")], 401),
        (&both[..1], vec![("authorization", "Bearer S3CRET")], 401),
        (&both[..1], vec![("authorization", "Bearer")], 401),
        (&both[..1], vec![("authorization", "s3cret")], 401),
        (&both[..1], vec![("authorization", "Basic s3cret")], 401),
        (&both[..1], vec![("x-api-key", "s3cret")], 401),
        (&both[..1], vec![("authorization", bearer), ("authorization", bearer)], 400),
        (&both[1..], vec![("x-api-key", "a key")], 200),
        (&both[1..], vec![("x-api-key", "a  key")], 401),
        (&both[1..], vec![("x-api-key", "")], 401),
        (&both[1..], vec![("authorization", "Bearer a key")], 401),
        (&both, vec![("authorization", bearer)], 401),
        (&both, vec![("x-api-key", "a key")], 401),
        (&both, vec![("authorization", bearer), ("x-api-key", "a key")], 200),
        (&both, vec![("authorization", bearer), ("x-api-key", "another")], 401),
    ] {
        let asked = headers.iter().fold(local(), |asked, (name, value)| asked.with(name, value));
        match verdict(&mut guard(secrets, None), &asked) {
            Ok(principal) => {
                assert_eq!(expected, 200, "{headers:?}");
                assert!(!principal.is_nobody() && !principal.0.contains("cret"));
            }
            Err(refusal) => {
                assert_eq!(refusal.status, expected, "{headers:?}");
                assert!(!refusal.body.contains("cret"), "{refusal:?}");
                assert!(!values(&refusal, "WWW-Authenticate").is_empty(), "{refusal:?}");
            }
        }
    }
}

#[test]
fn a_challenge_for_each_secret_that_is_lacking() {
    let mut guard = guard(&[(Scheme::Token, "s3cret"), (Scheme::ApiKey, "key")], None);
    let refusal = verdict(&mut guard, &local()).expect_err("a refusal");
    let challenges = values(&refusal, "WWW-Authenticate");
    assert_eq!(challenges, ["Bearer realm=\"mcp\"", "ApiKey realm=\"mcp\", header=\"X-API-Key\""]);
    let wrong = local().with("authorization", "Bearer x").with("x-api-key", "key");
    let refusal = verdict(&mut guard, &wrong).expect_err("a refusal");
    assert_eq!(values(&refusal, "WWW-Authenticate"), ["Bearer realm=\"mcp\", error=\"invalid_token\""]);
}

#[test]
fn a_secret_that_no_header_can_carry_is_none() {
    for (scheme, value) in [
        (Scheme::Token, ""),
        (Scheme::Token, "a\n"),
        (Scheme::Token, " a"),
        (Scheme::Token, "a b"),
        (Scheme::Token, "ä"),
        (Scheme::ApiKey, "a\tb"),
        (Scheme::ApiKey, "a\0"),
    ] {
        assert!(Secret::new(scheme, value).is_err(), "{value:?}");
    }
    let shown = format!("{:?}", Secret::new(Scheme::Token, "s3cret"));
    assert_eq!(shown, "Ok(Secret(Token))");
}

#[test]
fn health_and_discovery_and_preflights_are_open() {
    let mut guard = guard(&[(Scheme::Token, "s3cret")], None);
    let foreign = Asked::new(&[("host", "10.1.2.3:8080")]);
    for (method, path, at_home, from_afar) in [
        ("GET", "/livez", 200, 403),
        ("GET", "/readyz", 200, 403),
        ("GET", "/.well-known/oauth-protected-resource", 200, 403),
        ("OPTIONS", "/mcp", 200, 403),
        ("options", "/mcp", 401, 403),
        ("GET", "/mcp", 401, 403),
        ("GET", "/metrics", 401, 403),
        ("GET", "/livez/..", 401, 403),
        ("GET", "/.well-known", 401, 403),
    ] {
        for (asked, expected) in [(local(), at_home), (foreign.clone(), from_afar)] {
            let asked = Asked { method, path, ..asked };
            let status = verdict(&mut guard, &asked).map_or_else(|refusal| refusal.status, |_| 200);
            assert_eq!(status, expected, "{method} {path}");
        }
    }
}

#[test]
fn a_probe_from_elsewhere_may_use_any_name() {
    let secrets = vec![Secret::new(Scheme::Token, "s3cret").expect("a secret")];
    let names = Names { hosts: vec!["mcp.example.com".parse().expect("a host")], ..Names::default() };
    let mut guard = Guard::new(Rules { names, secrets, ..Rules::default() });
    let asked = |path| Asked { method: "GET", path, ..Asked::new(&[("host", "10.1.2.3:8080")]) };
    assert!(verdict(&mut guard, &asked("/readyz")).is_ok());
    assert_eq!(verdict(&mut guard, &asked("/metrics")).map_err(|refusal| refusal.status), Err(403));
}

#[test]
fn too_many_requests_are_told_when_to_come_back() {
    let rate = Rate { requests: 2, per: Duration::from_secs(60) };
    let mut guard = guard(&[(Scheme::Token, "s3cret")], Some(rate));
    let good = local().with("authorization", "Bearer s3cret");
    let start = Instant::now();
    let mut ask = |asked: &Asked, seconds| {
        let now = start + Duration::from_secs(seconds);
        guard.check(asked, PEER, now, Duration::ZERO).map_err(|refusal| (refusal.status, refusal))
    };
    let passed = (0..1000).take_while(|_| ask(&good, 0).is_ok()).count();
    assert_eq!(passed, crate::limits::RATE_BURST_MIN as usize);
    let (status, refusal) = ask(&good, 1).expect_err("a refusal");
    assert_eq!((status, values(&refusal, "Retry-After")), (429, vec!["29"]));
    assert!(refusal.body.contains("2/m"), "{}", refusal.body);
    // Those who guess are another caller, and bounded as well.
    let guesses: Vec<u16> = (0..20).map(|_| ask(&local(), 1).expect_err("a refusal").0).collect();
    assert_eq!(guesses[..10], [401; 10]);
    assert_eq!(guesses[10..], [429; 10]);
    assert!(ask(&good, 30).is_ok(), "guesses of others take nothing from who has authorized");
    // What is open to everybody is not counted.
    for _ in 0..100 {
        assert!(ask(&Asked { method: "OPTIONS", ..local() }, 30).is_ok());
        assert!(ask(&Asked { path: "/livez", ..local() }, 30).is_ok());
    }
}

#[test]
fn only_so_many_are_in_flight() {
    let mut guard = Guard::new(Rules { in_flight_max: 2, ..Rules::default() });
    assert!(guard.enter().is_ok() && guard.enter().is_ok());
    let refusal = guard.enter().expect_err("a refusal");
    assert_eq!((refusal.status, values(&refusal, "Retry-After")), (503, vec!["1"]));
    guard.leave();
    assert!(guard.enter().is_ok() && guard.enter().is_err());
}

#[test]
fn only_pages_that_are_allowed_may_read() {
    let mut rules = Rules { names: Names { loopback: true, ..Names::default() }, ..Rules::default() };
    rules.names.origins = vec!["https://app.example.com".parse().expect("an origin")];
    let guard = Guard::new(rules);
    assert_eq!(guard.shared_with(&local()), None);
    assert_eq!(guard.shared_with(&local().with("origin", "http://localhost:3000")), None);
    let page = local().with("origin", "https://app.example.com");
    assert_eq!(guard.shared_with(&page), Some("https://app.example.com"));
}

/// A guard that wants tokens of the issuer made of the seed 7.
fn with_oauth(scopes: &[&str], secrets: &[(Scheme, &str)], rate: Option<Rate>) -> Guard {
    let oauth = Some(server(&Issuer::new(7).jwks(), scopes));
    Guard::new(Rules { oauth, ..guard(secrets, rate).rules })
}

const METADATA: &str =
    "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"";

#[test]
fn a_token_of_the_issuer_says_who_asks() {
    let mut guard = with_oauth(&["a:b"], &[], None);
    let issuer = Issuer::new(7);
    let mut ask = |authorization: &str| {
        let asked = local();
        let asked = if authorization.is_empty() { asked } else { asked.with("authorization", authorization) };
        guard.check(&asked, PEER, Instant::now(), NOW)
    };
    let token = issuer.token(&claims(&[("scope", "\"a:b\"")]));
    for _ in 0..2 {
        assert_eq!(ask(&format!("Bearer {token}")), Ok(Principal("sub:ada".into())));
    }
    let refusal = ask("").expect_err("no token");
    assert_eq!(refusal.status, 401);
    assert_eq!(values(&refusal, "WWW-Authenticate"), [format!("Bearer {METADATA}, scope=\"a:b\"")]);
    let basic = ask("Basic YTpi").expect_err("no token");
    assert_eq!(basic, refusal);
    let stranger = Issuer::new(8).token(&claims(&[("scope", "\"a:b\"")]));
    let refusal = ask(&format!("Bearer {stranger}")).expect_err("a stranger's token");
    assert_eq!(refusal.status, 401);
    let challenge = values(&refusal, "WWW-Authenticate")[0];
    assert!(challenge.starts_with("Bearer error=\"invalid_token\", "), "{challenge}");
    assert!(challenge.contains(METADATA), "{challenge}");
    assert!(!format!("{refusal:?}").contains(&stranger));
    let narrow = issuer.token(&claims(&[("scope", "\"a\"")]));
    let refusal = ask(&format!("Bearer {narrow}")).expect_err("too narrow a token");
    assert_eq!(refusal.status, 403);
    let challenge = values(&refusal, "WWW-Authenticate")[0];
    assert!(challenge.starts_with("Bearer error=\"insufficient_scope\", "), "{challenge}");
    assert!(challenge.ends_with("scope=\"a:b\""), "{challenge}");
    let twice = local().with("authorization", "Bearer a").with("authorization", "Bearer b");
    let refusal = guard.check(&twice, PEER, Instant::now(), NOW).expect_err("two tokens");
    assert_eq!(refusal.status, 400);
}

#[test]
fn metadata_is_open_to_everybody() {
    let guard = with_oauth(&[], &[], None);
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let document = guard.document(path).expect("metadata");
        assert!(document.contains("\"authorization_servers\":[\"https://login.example.com\"]"), "{document}");
    }
    assert_eq!(guard.document("/mcp"), None);
    assert_eq!(self::guard(&[], None).document("/.well-known/oauth-protected-resource"), None);
}

#[test]
fn a_key_beside_a_token() {
    let mut guard = with_oauth(&[], &[(Scheme::ApiKey, "key")], None);
    let token = format!("Bearer {}", Issuer::new(7).token(&claims(&[])));
    let mut status = |asked: &Asked| match guard.check(asked, PEER, Instant::now(), NOW) {
        Ok(principal) => (200, vec![principal.0.into()]),
        Err(refusal) => {
            let challenges = values(&refusal, "WWW-Authenticate").into_iter();
            (
                refusal.status,
                challenges.map(|text| text.split(' ').next().unwrap_or_default().into()).collect(),
            )
        }
    };
    let named = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(status(&local()), (401, named(&["ApiKey", "Bearer"])));
    assert_eq!(status(&local().with("authorization", &token)), (401, named(&["ApiKey"])));
    assert_eq!(status(&local().with("x-api-key", "key")), (401, named(&["Bearer"])));
    let both = local().with("x-api-key", "key").with("authorization", &token);
    assert_eq!(status(&both), (200, named(&["sub:ada"])));
}

#[test]
fn new_keys_hold_at_once() {
    let mut guard = with_oauth(&[], &[], None);
    let [old, new] = [7, 8].map(|seed| format!("Bearer {}", Issuer::new(seed).token(&claims(&[]))));
    let passes = |guard: &mut Guard, token: &str| {
        guard.check(&local().with("authorization", token), PEER, Instant::now(), NOW).is_ok()
    };
    assert!(passes(&mut guard, &old) && !passes(&mut guard, &new));
    guard.replace_keys(Keys::read(Issuer::new(8).jwks().as_bytes()).expect("keys"));
    assert!(!passes(&mut guard, &old) && passes(&mut guard, &new));
}

#[test]
fn signatures_are_not_checked_as_often_as_an_address_wants() {
    let rate = Rate { requests: 1, per: Duration::from_secs(60) };
    let mut guard = with_oauth(&[], &[], Some(rate));
    let start = Instant::now();
    let issuer = Issuer::new(7);
    let mut status = |token: &str| {
        let asked = local().with("authorization", token);
        guard.check(&asked, PEER, start, NOW).map_or_else(|refusal| refusal.status, |_| 200)
    };
    let known = format!("Bearer {}", issuer.token(&claims(&[])));
    assert_eq!(status(&known), 200);
    let guesses: Vec<u16> = (0..20).map(|_| status("Bearer a.b.c")).collect();
    assert_eq!(guesses, [[401; 10], [429; 10]].concat());
    let unknown = format!("Bearer {}", issuer.token(&claims(&[("sub", "\"eve\"")])));
    assert_eq!(status(&unknown), 429, "it would have to be checked");
    assert_eq!(status(&known), 200, "it need not be checked");
}

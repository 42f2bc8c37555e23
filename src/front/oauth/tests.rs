//! Tokens, good and hostile, against keys and claims.

use ed25519_compact::{KeyPair, Seed};
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};

use super::*;

pub(in crate::front) const NOW: Duration = Duration::from_secs(1_800_000_000);
const ISSUER: &str = "https://login.example.com";
const OWN: &str = "https://mcp.example.com/mcp";

/// base64url without padding.
fn encoded(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(padded);
        for place in 0..=group.len() {
            text.push(LETTERS[(bits >> (18 - 6 * place)) as usize & 63] as char);
        }
    }
    text
}

/// The issuer's private keys, one for each algorithm that can be signed with here.
pub(in crate::front) struct Issuer {
    ed25519: KeyPair,
    p256: SigningKey,
}

impl Issuer {
    pub(in crate::front) fn new(seed: u8) -> Self {
        Self {
            ed25519: KeyPair::from_seed(Seed::new([seed; 32])),
            p256: SigningKey::from_slice(&[seed; 32]).expect("a scalar"),
        }
    }

    /// Both public keys, as a set that names them `ed` and `ec`.
    pub(in crate::front) fn jwks(&self) -> String {
        let point = self.p256.verifying_key().to_sec1_point(false);
        format!(
            r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"ed","x":"{}"}},
            {{"kty":"EC","crv":"P-256","kid":"ec","use":"sig","alg":"ES256","x":"{}","y":"{}"}}]}}"#,
            encoded(&self.ed25519.pk[..]),
            encoded(point.x().expect("a coordinate")),
            encoded(point.y().expect("a coordinate")),
        )
    }

    /// A token with any header and claims, signed with the key that `key` names.
    fn sign(&self, header: &str, claims: &str, key: &str) -> String {
        let signed = format!("{}.{}", encoded(header.as_bytes()), encoded(claims.as_bytes()));
        let signature = match key {
            "ed" => self.ed25519.sk.sign(&signed, None).to_vec(),
            _ => {
                let signature: Signature = self.p256.sign(signed.as_bytes());
                signature.to_bytes().to_vec()
            }
        };
        format!("{signed}.{}", encoded(&signature))
    }

    /// A token with these claims under a common header.
    pub(in crate::front) fn token(&self, claims: &str) -> String {
        self.sign(r#"{"alg":"EdDSA","kid":"ed","typ":"at+jwt"}"#, claims, "ed")
    }
}

pub(in crate::front) fn server(jwks: &str, scopes: &[&str]) -> Server {
    let scopes: Vec<String> = scopes.iter().map(|scope| scope.to_string()).collect();
    let resource = Resource::new(ISSUER, &[OWN.into(), "api://pmcp".into()], &scopes).expect("a resource");
    Server::new(resource, Keys::read(jwks.as_bytes()).expect("keys"))
}

/// Claims that pass, after changes: a member that is named is replaced or, as "", left out.
pub(in crate::front) fn claims(changes: &[(&str, &str)]) -> String {
    let now = NOW.as_secs();
    let exp = (now + 300).to_string();
    let iat = now.to_string();
    let iss = format!("\"{ISSUER}\"");
    let aud = format!("\"{OWN}\"");
    let usual = [("iss", &*iss), ("aud", &*aud), ("exp", &*exp), ("iat", &*iat), ("sub", "\"ada\"")];
    let changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
    let kept = usual.into_iter().filter(|(name, _)| !changed(name));
    let members: Vec<String> = kept
        .chain(changes.iter().copied())
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// The verdict on claims, whose signature is right.
fn judged(scopes: &[&str], changes: &[(&str, &str)]) -> Result<Box<str>, Fault> {
    let issuer = Issuer::new(7);
    server(&issuer.jwks(), scopes).examine(&issuer.token(&claims(changes)), NOW)
}

#[test]
fn a_good_token_says_whose_it_is() {
    assert_eq!(judged(&[], &[]).as_deref(), Ok("sub:ada"));
    let of_client = [("sub", ""), ("client_id", "\"ada\"")];
    assert_eq!(judged(&[], &of_client).as_deref(), Ok("client_id:ada"), "another one than the person ada");
}

#[test]
fn claims_must_be_for_us_and_for_now() {
    let now = NOW.as_secs();
    let at = |offset: i64| now.saturating_add_signed(offset).to_string();
    let cases: &[(&str, &str, Option<Fault>)] = &[
        ("iss", "", Some(Fault::Issuer)),
        ("iss", "null", Some(Fault::Issuer)),
        ("iss", "\"https://login.example.com/\"", Some(Fault::Issuer)),
        ("iss", "\"https://LOGIN.example.com\"", Some(Fault::Issuer)),
        ("iss", "[\"https://login.example.com\"]", Some(Fault::Issuer)),
        ("aud", "", Some(Fault::Audience)),
        ("aud", "[]", Some(Fault::Audience)),
        ("aud", "{}", Some(Fault::Audience)),
        ("aud", "\"https://other.example.com/mcp\"", Some(Fault::Audience)),
        ("aud", "[\"https://other.example.com\", \"https://mcp.example.com/mcp\"]", None),
        ("aud", "[1, \"https://mcp.example.com/mcp\"]", Some(Fault::Audience)),
        ("aud", "\"api://pmcp\"", None),
        ("aud", "\"https://mcp.example.com/mcp/\"", None),
        ("exp", "", Some(Fault::Time)),
        ("exp", "\"1900000000\"", Some(Fault::Time)),
        ("exp", "null", Some(Fault::Time)),
        ("exp", "-1", Some(Fault::Expired)),
        ("exp", "1e300", None),
        ("exp", &at(-59), None),
        ("exp", &at(-60), Some(Fault::Expired)),
        ("exp", &format!("{}.5", at(-60)), None),
        ("nbf", &at(60), None),
        ("nbf", &at(61), Some(Fault::NotYet)),
        ("nbf", "true", Some(Fault::Time)),
        ("iat", "", None),
        ("iat", &at(60), None),
        ("iat", &at(61), Some(Fault::NotYet)),
        ("iat", "\"now\"", Some(Fault::Time)),
        ("sub", "", Some(Fault::Subject)),
        ("sub", "\"\"", Some(Fault::Subject)),
        ("sub", "7", Some(Fault::Subject)),
        ("sub", "\"a\\nb\"", Some(Fault::Subject)),
        ("sub", &format!("\"{}\"", "a".repeat(600)), Some(Fault::Subject)),
        ("scope", "7", Some(Fault::Malformed)),
    ];
    for (name, value, fault) in cases {
        assert_eq!(judged(&[], &[(name, value)]).err(), *fault, "{name}: {value}");
    }
}

#[test]
fn all_scopes_are_needed_in_whichever_way_they_are_spelled() {
    let cases: &[(&[(&str, &str)], bool)] = &[
        (&[], false),
        (&[("scope", "\"a:b c\"")], true),
        (&[("scope", "\"x c y a:b\"")], true),
        (&[("scope", "\"a:b\"")], false),
        (&[("scope", "\"a:bc c\"")], false),
        (&[("scope", "\"A:B C\"")], false),
        (&[("scp", "[\"a:b\",\"c\"]")], true),
        (&[("scp", "\"a:b c\"")], true),
        (&[("scp", "[\"a:b\"]"), ("scope", "\"c\"")], true),
        (&[("scopes", "\"a:b c\"")], false),
    ];
    for (changes, passes) in cases {
        let verdict = judged(&["a:b", "c"], changes);
        assert_eq!(verdict.is_ok(), *passes, "{changes:?}: {verdict:?}");
        assert!(*passes || verdict == Err(Fault::Scope), "{changes:?}: {verdict:?}");
    }
}

#[test]
fn headers_that_ask_for_trouble() {
    let issuer = Issuer::new(7);
    let mut server = server(&issuer.jwks(), &[]);
    let claims = claims(&[]);
    for (header, key, expected) in [
        (r#"{"alg":"EdDSA","kid":"ed"}"#, "ed", None),
        (r#"{"alg":"Ed25519","kid":"ed","typ":"JWT"}"#, "ed", None),
        (r#"{"alg":"EdDSA","typ":"application/AT+JWT"}"#, "ed", None),
        (r#"{"alg":"ES256","kid":"ec"}"#, "ec", None),
        (
            r#"{"alg":"ES256","kid":"ec","jku":"https://evil.example","jwk":{},"x5u":"https://evil.example"}"#,
            "ec",
            None,
        ),
        // Another algorithm than the key's, a key under another algorithm's name.
        (r#"{"alg":"ES256","kid":"ed"}"#, "ed", Some(Fault::Key)),
        (r#"{"alg":"EdDSA","kid":"ec"}"#, "ed", Some(Fault::Key)),
        (r#"{"alg":"ES256"}"#, "ed", Some(Fault::Signature)),
        (r#"{"alg":"RS256","kid":"ed"}"#, "ed", Some(Fault::Key)),
        (r#"{"alg":"none","kid":"ed"}"#, "ed", Some(Fault::Algorithm)),
        (r#"{"alg":"None"}"#, "ed", Some(Fault::Algorithm)),
        (r#"{"alg":"HS256","kid":"ed"}"#, "ed", Some(Fault::Algorithm)),
        (r#"{"alg":"eddsa","kid":"ed"}"#, "ed", Some(Fault::Algorithm)),
        (r#"{"alg":["EdDSA"],"kid":"ed"}"#, "ed", Some(Fault::Algorithm)),
        (r#"{"alg":"PS256","kid":"ed"}"#, "ed", Some(Fault::Algorithm)),
        (r#"{"kid":"ed"}"#, "ed", Some(Fault::Algorithm)),
        (r#"{"alg":"EdDSA","kid":"other"}"#, "ed", Some(Fault::Key)),
        (r#"{"alg":"EdDSA","kid":7}"#, "ed", Some(Fault::Malformed)),
        (r#"{"alg":"EdDSA","kid":null}"#, "ed", Some(Fault::Malformed)),
        (r#"{"alg":"EdDSA","kid":"ed","crit":["b64"],"b64":false}"#, "ed", Some(Fault::Critical)),
        (r#"{"alg":"EdDSA","kid":"ed","crit":[]}"#, "ed", Some(Fault::Critical)),
        (r#"{"alg":"EdDSA","kid":"ed","typ":"dpop+jwt"}"#, "ed", Some(Fault::Kind)),
        (r#"{"alg":"EdDSA","kid":"ed","typ":"logout+jwt"}"#, "ed", Some(Fault::Kind)),
        (r#"{"alg":"EdDSA","kid":"ed","typ":"application/"}"#, "ed", Some(Fault::Kind)),
        (r#"{"alg":"EdDSA","kid":"ed","typ":"applicatioñ/jwt"}"#, "ed", Some(Fault::Kind)),
        (r#"{"alg":"EdDSA","kid":"ed","typ":1}"#, "ed", Some(Fault::Malformed)),
        // A reader that takes the first and one that takes the last would disagree.
        (r#"{"alg":"none","alg":"EdDSA","kid":"ed"}"#, "ed", Some(Fault::Malformed)),
        (r#"{"alg":"EdDSA","kid":"ed","kid":"ed"}"#, "ed", Some(Fault::Malformed)),
        (r#"{"alg":"EdDSA","kid":"ed","\u0061lg":"none"}"#, "ed", Some(Fault::Malformed)),
        ("[]", "ed", Some(Fault::Malformed)),
        ("", "ed", Some(Fault::Malformed)),
        (r#"{"alg":"EdDSA"} {}"#, "ed", Some(Fault::Malformed)),
    ] {
        let verdict = server.examine(&issuer.sign(header, &claims, key), NOW);
        assert_eq!(verdict.err(), expected, "{header}");
    }
    let twice = format!("{},\"sub\":\"eve\"}}", claims.trim_end_matches('}'));
    assert_eq!(server.examine(&issuer.token(&twice), NOW), Err(Fault::Malformed));
    for broken in ["", "[]", "{", "null", "{\"iss\":}", "\u{feff}{}"] {
        assert_eq!(server.examine(&issuer.token(broken), NOW), Err(Fault::Malformed), "{broken}");
    }
}

#[test]
fn a_token_that_was_changed_anywhere_is_refused() {
    let issuer = Issuer::new(7);
    let mut server = server(&issuer.jwks(), &[]);
    for key in ["ed", "ec"] {
        let header = if key == "ed" { r#"{"alg":"EdDSA"}"# } else { r#"{"alg":"ES256"}"# };
        let token = issuer.sign(header, &claims(&[]), key);
        assert!(server.examine(&token, NOW).is_ok());
        for at in 0..token.len() {
            assert!(server.examine(&token[..at], NOW).is_err(), "cut at {at}");
            let other = if &token[at..=at] == "A" { "B" } else { "A" };
            let changed = [&token[..at], other, &token[at + 1..]].concat();
            assert!(server.examine(&changed, NOW).is_err(), "changed at {at}");
            let longer = [&token[..at], "A", &token[at..]].concat();
            assert!(server.examine(&longer, NOW).is_err(), "longer at {at}");
        }
        for tail in [".", "=", " ", "\n", "A", ".e30", "%3D"] {
            assert!(server.examine(&format!("{token}{tail}"), NOW).is_err(), "{tail:?}");
        }
        let (signed, _) = token.rsplit_once('.').expect("a signature");
        assert_eq!(server.examine(&format!("{signed}."), NOW), Err(Fault::Signature));
    }
    let stranger = Issuer::new(8).token(&claims(&[]));
    assert_eq!(server.examine(&stranger, NOW), Err(Fault::Signature));
    for wild in ["", ".", "..", "...", "a.b", "é.é.é", "e30.e30.", "e30.e30.e30"] {
        assert!(server.examine(wild, NOW).is_err(), "{wild}");
    }
}

#[test]
fn a_huge_token_is_not_looked_at() {
    let issuer = Issuer::new(7);
    let mut server = server(&issuer.jwks(), &[]);
    let long = |length| issuer.token(&claims(&[("x", &format!("\"{}\"", "a".repeat(length)))]));
    assert!(server.examine(&long(8 * 1024), NOW).is_ok());
    assert_eq!(server.examine(&long(16 * 1024), NOW), Err(Fault::TooLong));
    // What is not asked for is skipped, however deep it goes.
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(server.examine(&issuer.token(&claims(&[("x", &deep)])), NOW).is_ok());
    assert_eq!(server.examine(&issuer.token(&claims(&[("aud", &deep)])), NOW), Err(Fault::Audience));
}

#[test]
fn the_examples_of_the_rfcs() {
    let claims =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    let rsa = r#"{"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}"#;
    let p256 = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
    let ed25519 = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let keys = Keys::read(format!(r#"{{"keys":[{rsa},{p256},{ed25519}]}}"#).as_bytes()).expect("keys");
    assert_eq!(keys.len(), 3);
    // RFC 7515, sections A.2 and A.3, and RFC 8037, section A.4.
    for (header, payload, signature) in [
        (
            "eyJhbGciOiJSUzI1NiJ9",
            claims,
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        ),
        (
            "eyJhbGciOiJFUzI1NiJ9",
            claims,
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        (
            "eyJhbGciOiJFZERTQSJ9",
            "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ] {
        let token = format!("{header}.{payload}.{signature}");
        assert_eq!(
            token::verified(&token, &keys),
            Ok(base64url::decode(payload).expect("bytes")),
            "{header}"
        );
        let resource = Resource::new(ISSUER, &[OWN.into()], &[]).expect("a resource");
        let fault = if payload == claims { Fault::Issuer } else { Fault::Malformed };
        assert_eq!(token::check(&token, &keys, &resource, NOW), Err(fault));
    }
}

#[test]
fn a_good_token_is_known_again_until_it_expires_or_the_keys_change() {
    let issuer = Issuer::new(7);
    let mut server = server(&issuer.jwks(), &[]);
    let token = issuer.token(&claims(&[]));
    assert_eq!(server.recall(&token, NOW), None);
    assert!(server.examine(&token, NOW).is_ok());
    assert_eq!(server.recall(&token, NOW), Some("sub:ada"));
    assert_eq!(server.recall(&format!("{token}x"), NOW), None);
    let end = NOW + Duration::from_secs(360);
    assert!(server.recall(&token, end - Duration::from_millis(1)).is_some());
    assert_eq!(server.recall(&token, end), None);
    assert_eq!(server.examine(&token, end), Err(Fault::Expired));
    server.replace_keys(Keys::read(Issuer::new(8).jwks().as_bytes()).expect("keys"));
    assert_eq!(server.recall(&token, NOW), None);
    assert_eq!(server.examine(&token, NOW), Err(Fault::Signature));
}

#[test]
fn only_so_many_tokens_are_known() {
    let issuer = Issuer::new(7);
    let mut server = server(&issuer.jwks(), &[]);
    let grant = |until| Grant { subject: "sub:x".into(), until };
    for number in 0..TOKENS_KNOWN_MAX {
        let until = if number % 2 == 0 { NOW } else { NOW * 2 };
        server.known.insert(hash(&number.to_string()), grant(until));
    }
    let token = issuer.token(&claims(&[]));
    assert!(server.examine(&token, NOW).is_ok());
    assert_eq!(server.known.len(), TOKENS_KNOWN_MAX / 2 + 1, "those that have expired are forgotten first");
    for number in 0..TOKENS_KNOWN_MAX {
        server.known.insert(hash(&number.to_string()), grant(NOW * 2));
    }
    let other = issuer.token(&claims(&[("sub", "\"eve\"")]));
    let before = server.known.len();
    assert!(server.examine(&other, NOW).is_ok());
    assert!(server.known.len() <= before && server.recall(&other, NOW).is_some());
}

/// What becomes of a set of keys: how many are taken, how many are left out and told.
fn read(keys: &str) -> Result<(usize, usize), String> {
    Keys::read(format!("{{\"keys\":[{keys}]}}").as_bytes()).map(|keys| (keys.len(), keys.left_out.len()))
}

#[test]
fn keys_that_are_for_something_else_or_wrong() {
    let ed = |more: &str| {
        format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"{more}}}"#)
    };
    let good = ed("");
    for more in [
        "",
        r#","use":"sig""#,
        r#","key_ops":["verify"]"#,
        r#","alg":"EdDSA","kid":"a""#,
        r#","alg":"Ed25519""#,
        r#","use":null"#,
    ] {
        assert_eq!(read(&ed(more)), Ok((1, 0)), "{more}");
    }
    for more in [
        r#","use":"enc""#,
        r#","key_ops":["encrypt"]"#,
        r#","key_ops":[]"#,
        r#","alg":"ES256""#,
        r#","alg":7"#,
    ] {
        assert_eq!(read(&format!("{},{good}", ed(more))), Ok((1, 0)), "{more}");
    }
    for other in [
        r#"{"kty":"oct","k":"AAAA"}"#,
        r#"{"kty":"EC","crv":"P-384"}"#,
        r#"{"kty":"OKP","crv":"X25519"}"#,
        "{}",
        r#"{"kty":7}"#,
    ] {
        assert_eq!(read(&format!("{other},{good}")), Ok((1, 0)), "{other}");
    }
    let bits = |bytes: usize| encoded(&vec![0xffu8; bytes]);
    let (weak, strong, huge) = (bits(255), bits(256), bits(513));
    for broken in [
        ed(r#","d":"AAAA""#),
        ed(r#","kid":7"#),
        ed(r#","kid":"a","kid":"b""#),
        ed(r#","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#),
        r#"{"kty":"OKP","crv":"Ed25519"}"#.into(),
        // The neutral point: every signature could be made to fit.
        format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, encoded(&[&[1][..], &[0; 31]].concat())),
        format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, encoded(&[0xff; 32])),
        format!(r#"{{"kty":"EC","crv":"P-256","x":"{0}","y":"{0}"}}"#, encoded(&[5; 32])),
        format!(r#"{{"kty":"EC","crv":"P-256","x":"{0}","y":"{0}"}}"#, encoded(&[0; 32])),
        format!(r#"{{"kty":"RSA","n":"{weak}","e":"AQAB"}}"#),
        format!(r#"{{"kty":"RSA","n":"AAAA{weak}","e":"AQAB"}}"#),
        format!(r#"{{"kty":"RSA","n":"{huge}","e":"AQAB"}}"#),
        format!(r#"{{"kty":"RSA","n":"{strong}","e":"AQ"}}"#),
        format!(r#"{{"kty":"RSA","n":"{strong}","e":"Ag"}}"#),
        format!(r#"{{"kty":"RSA","n":"{strong}"}}"#),
        format!(r#"{{"kty":"RSA","n":"{strong}","e":"{strong}"}}"#),
        r#"{"kty":"RSA","e":"AQAB"}"#.into(),
        "7".into(),
    ] {
        assert_eq!(read(&format!("{broken},{good}")), Ok((1, 1)), "{broken}");
        assert!(read(&broken).is_err_and(|problem| problem.contains("left out")), "{broken}");
    }
    assert_eq!(read(&format!(r#"{{"kty":"RSA","n":"AAAA{strong}","e":"AQAB"}}"#)), Ok((1, 0)));
    for wrong in
        ["", "{}", "[]", r#"{"keys":{}}"#, r#"{"keys":[]}"#, r#"{"keys":[],"keys":[]}"#, "\u{feff}{}"]
    {
        assert!(Keys::read(wrong.as_bytes()).is_err(), "{wrong}");
    }
    assert!(Keys::read(b"\xff").is_err());
    assert!(read(&vec![good.as_str(); 65].join(",")).is_err());
    assert_eq!(read(&vec![good.as_str(); 64].join(",")), Ok((64, 0)));
}

#[test]
fn which_key_a_token_means() {
    let [one, two] = [1, 2].map(Issuer::new);
    let key = |issuer: &Issuer, id: &str| {
        let id = if id.is_empty() { String::new() } else { format!(",\"kid\":\"{id}\"") };
        format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"{id}}}"#, encoded(&issuer.ed25519.pk[..]))
    };
    let verdict = |keys: &[String], issuer: &Issuer, id: &str| {
        let id = if id.is_empty() { String::new() } else { format!(",\"kid\":\"{id}\"") };
        let token = issuer.sign(&format!(r#"{{"alg":"EdDSA"{id}}}"#), &claims(&[]), "ed");
        server(&format!("{{\"keys\":[{}]}}", keys.join(",")), &[]).examine(&token, NOW).map(drop)
    };
    let both = [key(&one, "1"), key(&two, "2")];
    assert_eq!(verdict(&both, &one, "1"), Ok(()));
    assert_eq!(verdict(&both, &two, "2"), Ok(()));
    assert_eq!(verdict(&both, &one, "2"), Err(Fault::Signature));
    assert_eq!(verdict(&both, &one, "3"), Err(Fault::Key));
    assert_eq!(verdict(&both, &one, ""), Err(Fault::Key), "either would have to be tried");
    assert_eq!(verdict(&both[..1], &one, ""), Ok(()));
    assert_eq!(verdict(&[key(&one, "")], &one, "any"), Ok(()), "the issuer's file has no ids");
    assert_eq!(verdict(&[key(&one, ""), key(&two, "")], &one, "any"), Err(Fault::Key));
    assert_eq!(verdict(&[key(&one, ""), key(&two, "2")], &one, "any"), Ok(()));
    assert_eq!(verdict(&[key(&one, "1"), key(&two, "1")], &two, "1"), Ok(()), "one id for two keys");
}

#[test]
fn no_description_needs_quoting_or_tells_of_the_token() {
    let issuer = Issuer::new(7);
    let mut server = server(&issuer.jwks(), &["needed"]);
    let token = issuer.token(&claims(&[("sub", "\"s3cret\"")]));
    let fault = server.examine(&token, NOW).expect_err("a fault");
    let challenge = server.resource().challenge(Some(fault));
    assert!(!challenge.contains("s3cret") && !challenge.contains(&token), "{challenge}");
    assert_eq!(challenge.matches('"').count() % 2, 0);
    assert!(!challenge.contains('\\'));
}

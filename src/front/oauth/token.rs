//! What a token says, and whether it is to be believed: a JWT (RFC 7519) in its compact form, by
//! the profile for access tokens (RFC 9068) as far as issuers keep to it.

use std::time::Duration;

use serde_json::value::RawValue;

use super::base64url;
use super::keys::Keys;
use super::resource::Resource;
use super::signature::Algorithm;
use crate::jsonrpc::json::{self, Fields, Kind};
use crate::limits::{TOKEN_LEEWAY, TOKEN_MAX, TOKEN_SUBJECT_MAX};

/// Whose token it is and how long it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The issuer's name for who asks, behind the name of the claim that holds it. There is one
    /// issuer, so that tells everybody apart.
    pub subject: Box<str>,
    /// Since 1970, the leeway included.
    pub until: Duration,
}

/// Why a token does not pass. What is told of it holds nothing of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the descriptions say it all")]
pub enum Fault {
    TooLong,
    Malformed,
    Kind,
    Critical,
    Algorithm,
    Key,
    Signature,
    Issuer,
    Audience,
    Expired,
    NotYet,
    Time,
    Subject,
    Scope,
}

impl Fault {
    /// A sentence for the client's developer, without quotes and backslashes.
    pub const fn description(self) -> &'static str {
        match self {
            Fault::TooLong => "the token is too long",
            Fault::Malformed => "the token is no well-formed JWT",
            Fault::Kind => "the token is for another use (typ)",
            Fault::Critical => "the token has extensions that must be understood (crit)",
            Fault::Algorithm => "the token is signed with another algorithm than RS256, ES256 or EdDSA",
            Fault::Key => "the token does not tell the key that it is signed with (kid), or it is unknown",
            Fault::Signature => "the signature of the token is wrong",
            Fault::Issuer => "the token is from another issuer (iss)",
            Fault::Audience => "the token was issued for another server (aud)",
            Fault::Expired => "the token has expired (exp)",
            Fault::NotYet => "the token is not valid yet (nbf, iat)",
            Fault::Time => "the token does not tell when it expires (exp)",
            Fault::Subject => "the token does not tell whose it is (sub, client_id)",
            Fault::Scope => "the token lacks a scope",
        }
    }
}

/// Checks a token: first its signature, then what it says. `wall` is the time since 1970.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn check(token: &str, keys: &Keys, resource: &Resource, wall: Duration) -> Result<Grant, Fault> {
    if token.len() > TOKEN_MAX {
        return Err(Fault::TooLong);
    }
    let claims = verified(token, keys)?;
    let text = std::str::from_utf8(&claims).map_err(|_| Fault::Malformed)?;
    const NAMES: [&str; 9] = ["iss", "aud", "exp", "nbf", "iat", "sub", "client_id", "scope", "scp"];
    let [iss, aud, exp, nbf, iat, sub, client_id, scope, scp] = members(text, &NAMES)?;
    if required(iss).is_none_or(|issuer| issuer != resource.issuer()) {
        return Err(Fault::Issuer);
    }
    if !strings(aud).ok_or(Fault::Audience)?.iter().any(|audience| resource.is_meant(audience)) {
        return Err(Fault::Audience);
    }
    let now = wall.as_secs_f64();
    let leeway = TOKEN_LEEWAY.as_secs_f64();
    let expires = exp.ok_or(Fault::Time).and_then(number)? + leeway;
    if now >= expires {
        return Err(Fault::Expired);
    }
    for begins in [nbf, iat].into_iter().flatten() {
        if number(begins)? > now + leeway {
            return Err(Fault::NotYet);
        }
    }
    let subject = match (sub, client_id) {
        (Some(_), _) => required(sub).map(|name| format!("sub:{name}")),
        // A client that asks for itself, at issuers that name no subject then.
        (None, _) => required(client_id).map(|name| format!("client_id:{name}")),
    };
    let is_sound = |name: &String| {
        !name.ends_with(':') && name.len() <= TOKEN_SUBJECT_MAX && !name.contains(char::is_control)
    };
    let subject = subject.filter(is_sound).ok_or(Fault::Subject)?;
    let mut scopes = Vec::new();
    // RFC 8693 knows one text with blanks between; some issuers write `scp`, as a list.
    for value in [scope, scp].into_iter().flatten() {
        scopes.extend(strings(Some(value)).ok_or(Fault::Malformed)?);
    }
    let has = |needed: &str| scopes.iter().any(|scope| scope.split(' ').any(|scope| scope == needed));
    if !resource.scopes().iter().all(|needed| has(needed)) {
        return Err(Fault::Scope);
    }
    Ok(Grant {
        subject: subject.into(),
        until: Duration::try_from_secs_f64(expires).unwrap_or(Duration::MAX),
    })
}

/// The claims of a token whose signature is right, as bytes.
pub(super) fn verified(token: &str, keys: &Keys) -> Result<Vec<u8>, Fault> {
    let (signed, signature) = token.rsplit_once('.').ok_or(Fault::Malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(Fault::Malformed)?;
    let [header, claims, signature] =
        [header, claims, signature].map(|part| base64url::decode(part).ok_or(Fault::Malformed));
    let header = String::from_utf8(header?).map_err(|_| Fault::Malformed)?;
    let (claims, signature) = (claims?, signature?);
    let [alg, kid, typ, crit] = members(&header, &["alg", "kid", "typ", "crit"])?;
    if crit.is_some() {
        return Err(Fault::Critical);
    }
    if let Some(typ) = typ {
        let typ = json::string(typ).ok_or(Fault::Malformed)?;
        let kind = typ.get(..12).filter(|prefix| prefix.eq_ignore_ascii_case("application/"));
        let kind = kind.map_or(&*typ, |prefix| &typ[prefix.len()..]);
        if !["jwt", "at+jwt"].iter().any(|known| kind.eq_ignore_ascii_case(known)) {
            return Err(Fault::Kind);
        }
    }
    let algorithm = alg.and_then(json::string).and_then(|name| Algorithm::named(&name));
    let algorithm = algorithm.ok_or(Fault::Algorithm)?;
    let id = kid.map(|kid| json::string(kid).ok_or(Fault::Malformed)).transpose()?;
    let meant = keys.meant(algorithm, id.as_deref());
    if meant.is_empty() {
        return Err(Fault::Key);
    }
    if !meant.iter().any(|key| key.verifies(signed.as_bytes(), &signature)) {
        return Err(Fault::Signature);
    }
    Ok(claims)
}

/// Members of an object, none of them twice: two readers could heed different ones.
fn members<'a, const N: usize>(
    text: &'a str,
    names: &[&'static str; N],
) -> Result<[Option<&'a RawValue>; N], Fault> {
    match json::fields(text, names) {
        Ok(Fields { values, duplicate: None, .. }) => Ok(values),
        _ => Err(Fault::Malformed),
    }
}

/// A string that must be there.
fn required(value: Option<&RawValue>) -> Option<String> {
    value.and_then(json::string).map(|text| text.into_owned())
}

/// A string or a list of strings.
fn strings(value: Option<&RawValue>) -> Option<Vec<String>> {
    let value = value?;
    match json::kind_of(value) {
        Kind::String => Some(vec![json::string(value)?.into_owned()]),
        Kind::Array => {
            json::elements(value.get())?.into_iter().map(|element| required(Some(element))).collect()
        }
        _ => None,
    }
}

/// Seconds since 1970, perhaps with a fraction (RFC 7519, section 2).
fn number(value: &RawValue) -> Result<f64, Fault> {
    let number: Option<f64> =
        (json::kind_of(value) == Kind::Number).then(|| value.get().parse().ok()).flatten();
    number.filter(|number| number.is_finite()).ok_or(Fault::Time)
}

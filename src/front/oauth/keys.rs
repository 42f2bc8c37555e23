//! The keys of the issuer: a JWK set (RFC 7517), as `--oauth-jwks` names it.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::base64url;
use super::signature::{Algorithm, Key};
use crate::jsonrpc::json::{self, Kind};
use crate::limits::JWKS_KEYS_MAX;

/// The keys that tokens may be signed with.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    keys: Vec<Named>,
    /// A sentence for each key that looks like one for us but can't be used.
    pub left_out: Vec<String>,
}

#[derive(Clone, Debug)]
struct Named {
    id: Option<Box<str>>,
    key: Key,
}

/// What a JWK is to us.
enum Use {
    Key(Key),
    /// For something else, such as encryption.
    Other,
    /// It would be for us, but this is wrong with it.
    Broken(&'static str),
}

impl Keys {
    /// Reads a set. Keys for other purposes and algorithms are passed over.
    ///
    /// # Errors
    /// A clause that fits behind the file's name: it is no such set, or holds no key for us.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let fault = || "is not a JWK set: {\"keys\": [...]}".to_string();
        let text = std::str::from_utf8(bytes).map_err(|_| fault())?;
        let set = json::fields(text, &["keys"]).map_err(|_| fault())?;
        let list = set.values[0].filter(|_| set.duplicate.is_none()).ok_or_else(fault)?;
        let list = json::elements(list.get()).ok_or_else(fault)?;
        if list.len() > JWKS_KEYS_MAX {
            return Err(format!("holds {} keys; {JWKS_KEYS_MAX} is the most", list.len()));
        }
        let mut keys = Keys::default();
        for (index, jwk) in list.into_iter().enumerate() {
            let (id, found) = read_key(jwk);
            match found {
                Use::Key(key) => keys.keys.push(Named { id, key }),
                Use::Other => {}
                Use::Broken(problem) => {
                    let name = id.map_or(String::new(), |id| format!(" ({id:?})"));
                    keys.left_out.push(format!("key {}{name} is left out: the key {problem}", index + 1));
                }
            }
        }
        if keys.keys.is_empty() {
            let reasons = keys.left_out.join("; ");
            let reasons = if reasons.is_empty() { String::new() } else { format!(": {reasons}") };
            return Err(format!("holds no public key for RS256, ES256 or EdDSA{reasons}"));
        }
        Ok(keys)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none, so that no token passes.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys that a token may mean: those under the id that it names, else the only one without
    /// an id; if it names none, the only one. Never all, or each forgery would be tried with each.
    pub(super) fn meant(&self, algorithm: Algorithm, id: Option<&str>) -> Vec<&Key> {
        let of = |is_meant: &dyn Fn(&Named) -> bool| -> Vec<&Key> {
            let fits = |named: &&Named| named.key.algorithm() == algorithm && is_meant(named);
            self.keys.iter().filter(fits).map(|named| &named.key).collect()
        };
        if let Some(id) = id {
            let same = of(&|named| named.id.as_deref() == Some(id));
            if !same.is_empty() {
                return same;
            }
        }
        let mut only = of(&|named| id.is_none() || named.id.is_none());
        if only.len() > 1 {
            only.clear();
        }
        only
    }
}

fn read_key(jwk: &RawValue) -> (Option<Box<str>>, Use) {
    const NAMES: [&str; 12] = ["kty", "kid", "use", "key_ops", "alg", "crv", "n", "e", "x", "y", "d", "k"];
    if json::kind_of(jwk) != Kind::Object {
        return (None, Use::Broken("is no object"));
    }
    let Ok(found) = json::fields(jwk.get(), &NAMES) else { return (None, Use::Broken("is no object")) };
    let [kty, kid, purpose, operations, algorithm, curve, n, e, x, y, d, k] =
        found.values.map(|value| value.filter(|value| json::kind_of(value) != Kind::Null));
    let text = |value: Option<&'_ RawValue>| value.and_then(json::string).map(Cow::into_owned);
    let id: Option<Box<str>> = text(kid).map(Into::into);
    let says = |value: Option<&RawValue>, expected: &str| text(value).as_deref() == Some(expected);
    if let Some(name) = found.duplicate {
        return (id, Use::Broken(if name == "kid" { "has two ids" } else { "has a member twice" }));
    }
    if kid.is_some() && id.is_none() {
        return (None, Use::Broken("has an id that is no text"));
    }
    let is_for_signatures = (purpose.is_none() || says(purpose, "sig"))
        && operations.is_none_or(|list| {
            let list = json::elements(list.get()).unwrap_or_default();
            list.into_iter().any(|operation| says(Some(operation), "verify"))
        });
    let kind = text(kty).unwrap_or_default();
    let wanted = match (kind.as_str(), text(curve).as_deref()) {
        ("RSA", _) => Algorithm::Rs256,
        ("EC", Some("P-256")) => Algorithm::Es256,
        ("OKP", Some("Ed25519")) => Algorithm::EdDsa,
        _ => return (id, Use::Other),
    };
    let named = algorithm.map(|name| text(Some(name)).and_then(|name| Algorithm::named(&name)));
    if !is_for_signatures || named.is_some_and(|named| named != Some(wanted)) {
        return (id, Use::Other);
    }
    if d.is_some() || k.is_some() {
        return (id, Use::Broken("is a private one, which belongs to the issuer alone"));
    }
    let bytes = |value| text(value).and_then(|text| base64url::decode(&text)).unwrap_or_default();
    let key = match wanted {
        Algorithm::Rs256 => Key::rsa(&bytes(n), &bytes(e)),
        Algorithm::Es256 => Key::p256(&bytes(x), &bytes(y)),
        Algorithm::EdDsa => Key::ed25519(&bytes(x)),
    };
    (id, key.map_or_else(Use::Broken, Use::Key))
}

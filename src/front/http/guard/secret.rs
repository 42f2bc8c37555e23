//! `--auth`: secrets that every request must bring.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Field, Head, Refusal};

/// Where a request brings a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `Authorization: Bearer SECRET` (RFC 6750, section 2.1).
    Token,
    /// `X-API-Key: SECRET`.
    ApiKey,
}

/// A secret that requests must bring. What is kept of it is a hash: comparing hashes tells
/// nothing about the secret by the time that it takes, not even its length.
#[derive(Clone)]
pub struct Secret {
    scheme: Scheme,
    hash: [u8; 32],
}

impl Secret {
    /// A secret to be brought in this way.
    ///
    /// # Errors
    /// A clause that fits behind "the value": no header can carry it, or carries something else.
    pub fn new(scheme: Scheme, value: &str) -> Result<Self, &'static str> {
        let is_sound = |byte: u8| byte.is_ascii_graphic() || byte == b' ' && scheme == Scheme::ApiKey;
        if value.is_empty() {
            return Err("is empty");
        }
        // A newline at the end is the usual slip.
        if value.trim_ascii() != value {
            return Err("begins or ends with white space");
        }
        if !value.bytes().all(is_sound) {
            return Err("holds a character that its header can't carry");
        }
        Ok(Self { scheme, hash: hash(value.as_bytes()) })
    }

    /// Where requests bring it.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Whether the request brings it.
    ///
    /// # Errors
    /// What the request was lacking.
    pub(super) fn check(&self, head: &dyn Head) -> Result<(), Fault> {
        let brought = match self.scheme {
            Scheme::Token => bearer(head),
            Scheme::ApiKey => match head.field("x-api-key") {
                Field::Is(key) => Ok(key),
                Field::Absent => Err(Fault::Missing),
                Field::Unclear => Err(Fault::Unclear),
            },
        }?;
        let is_same: bool = hash(brought.as_bytes()).ct_eq(&self.hash).into();
        if is_same { Ok(()) } else { Err(Fault::Wrong) }
    }

    /// What a 401 names in `WWW-Authenticate`.
    fn challenge(&self, fault: Fault) -> String {
        match (self.scheme, fault) {
            (Scheme::Token, Fault::Wrong) => "Bearer realm=\"mcp\", error=\"invalid_token\"".into(),
            (Scheme::Token, _) => "Bearer realm=\"mcp\"".into(),
            // No registered scheme, but a 401 must name one.
            (Scheme::ApiKey, _) => "ApiKey realm=\"mcp\", header=\"X-API-Key\"".into(),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({:?})", self.scheme)
    }
}

/// Why a request does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The header is not there.
    Missing,
    /// It is there more than once, or no text.
    Unclear,
    /// It holds something else.
    Wrong,
}

/// All secrets must be brought: what to answer where they are not.
pub(super) fn check_all(secrets: &[Secret], head: &dyn Head) -> Result<(), Refusal> {
    let faults: Vec<(&Secret, Fault)> =
        secrets.iter().filter_map(|secret| secret.check(head).err().map(|fault| (secret, fault))).collect();
    let Some((first, fault)) = faults.first() else { return Ok(()) };
    let header = match first.scheme {
        Scheme::Token => "Authorization: Bearer TOKEN",
        Scheme::ApiKey => "X-API-Key: KEY",
    };
    let mut refusal = match fault {
        Fault::Unclear => Refusal::new(400, format_args!("the header {header} was sent more than once")),
        Fault::Missing => Refusal::new(401, format_args!("this server needs a header {header}")),
        Fault::Wrong => Refusal::new(401, format_args!("what came in the header {header} is wrong")),
    };
    for (secret, fault) in faults {
        refusal.headers.push(("WWW-Authenticate", secret.challenge(fault)));
    }
    Err(refusal)
}

/// The token of `Authorization: Bearer TOKEN`. Schemes are case-insensitive; another scheme counts
/// as no authorization.
pub(super) fn bearer(head: &dyn Head) -> Result<&str, Fault> {
    match head.field("authorization") {
        Field::Is(text) => {
            let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
            if scheme.eq_ignore_ascii_case("bearer") {
                Ok(token.trim_matches(' '))
            } else {
                Err(Fault::Missing)
            }
        }
        Field::Absent => Err(Fault::Missing),
        Field::Unclear => Err(Fault::Unclear),
    }
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

//! We as a resource server of OAuth 2.1: which access tokens pass, and where others are had.
//!
//! What lives here: what a token says ([`token`]), the keys that it may be signed with ([`keys`]),
//! signatures ([`signature`]), what we are called and which metadata we serve ([`resource`]),
//! spelling ([`base64url`]). What does not: headers and statuses (`http::guard`), and files. No
//! token leaves this room: not in an answer, not in a line for a person, not towards the tools.

pub mod base64url;
pub mod keys;
pub mod resource;
pub mod signature;
pub mod token;

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest, Sha256};

use self::keys::Keys;
use self::resource::Resource;
use self::token::{Fault, Grant};
use crate::limits::TOKENS_KNOWN_MAX;

/// A protected resource, the keys of its issuer and the tokens that were good lately.
#[derive(Clone, Debug)]
pub struct Server {
    resource: Resource,
    keys: Keys,
    /// By their hash, so that nobody finds tokens in our memory, and no time tells how much of one
    /// is right. Only good ones are here: nobody can push those of others out with made-up ones.
    known: HashMap<[u8; 32], Grant>,
}

impl Server {
    /// A server that believes tokens which one of these keys has signed.
    pub fn new(resource: Resource, keys: Keys) -> Self {
        Self { resource, keys, known: HashMap::new() }
    }

    /// What we are, to issuer and clients.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The issuer has other keys now. All tokens must prove themselves anew.
    pub fn replace_keys(&mut self, keys: Keys) {
        self.keys = keys;
        self.known.clear();
    }

    /// Whose token it is, if it was found good before and has not expired since.
    pub fn recall(&self, token: &str, wall: Duration) -> Option<&str> {
        let grant = self.known.get(&hash(token))?;
        (wall < grant.until).then_some(&*grant.subject)
    }

    /// Whose token it is; takes long. `wall` is the time since 1970.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn examine(&mut self, token: &str, wall: Duration) -> Result<Box<str>, Fault> {
        let grant = token::check(token, &self.keys, &self.resource, wall)?;
        if self.known.len() >= TOKENS_KNOWN_MAX {
            self.known.retain(|_, grant| wall < grant.until);
        }
        if self.known.len() >= TOKENS_KNOWN_MAX {
            let any = self.known.keys().next().copied();
            any.and_then(|any| self.known.remove(&any));
        }
        let subject = grant.subject.clone();
        self.known.insert(hash(token), grant);
        Ok(subject)
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
pub(in crate::front) mod tests;

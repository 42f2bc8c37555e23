//! What a host is given to bring back: `requestState` (basic/patterns/mrtr, "Server Requirements")
//! and the ids of tasks. Hosts can read both, but make or alter neither: both are signed.
//!
//! A state belongs to one request of one principal; with any other it is refused.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::input::Kind;
use crate::jsonrpc::json;

/// What a state begins with: whose it is, and in which of our formats.
const VERSION: &str = "p1.";

/// Bytes of a signature that are sent; half of the hash is what RFC 2104 takes for enough.
const MAC: usize = 16;

/// Bytes of a binding that are sent, so that a state of another request can be told from one that
/// was altered.
const BINDING: usize = 16;

/// First byte of what is signed, so that no signature can stand for another.
const OF_STATE: u8 = 1;
const OF_TASK: u8 = 2;

/// First byte of a state.
const PARKED: u8 = 0;
const TOOL: u8 = 1;

/// What signs. Whoever knows it can make states.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// A key from a secret of any length.
    pub fn new(secret: &[u8]) -> Self {
        // The key's own length, so that it cannot be refused.
        let mut block = [0; 64];
        block[..32].copy_from_slice(&Sha256::digest(secret));
        Self(Hmac::new(&block.into()))
    }

    fn mac(&self, of: u8, parts: [&[u8]; 2]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(&[of]);
        parts.iter().for_each(|part| mac.update(part));
        mac
    }
}

/// What a state belongs to: a principal and a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding([u8; 32]);

/// A request that can be answered with questions.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// `tools/call`.
    Tool {
        /// Which.
        name: &'a str,
        /// A JSON object.
        arguments: &'a str,
    },
    /// `prompts/get`.
    Prompt {
        /// Which.
        name: &'a str,
        /// A JSON object.
        arguments: &'a str,
    },
    /// `resources/read`.
    Resource {
        /// Which.
        uri: &'a str,
    },
}

/// What the states of this request belong to. A host may spell the arguments anew when it tries
/// again, so they count as values. `principal` says who the host was proven to be, or is empty.
pub fn binding(principal: &str, request: Asked<'_>) -> Binding {
    let (method, name, arguments) = match request {
        Asked::Tool { name, arguments } => ("tools/call", name, arguments),
        Asked::Prompt { name, arguments } => ("prompts/get", name, arguments),
        Asked::Resource { uri } => ("resources/read", uri, ""),
    };
    let canonical = json::canonical(arguments);
    let arguments = canonical.as_deref().unwrap_or(arguments.as_bytes());
    let mut hash = Sha256::new();
    for part in [principal.as_bytes(), method.as_bytes(), name.as_bytes(), arguments] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    Binding(hash.finalize().into())
}

/// What is to be known again when the host tries again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The call still runs in the tool process, which waits for the answers.
    Parked {
        /// The bridge in which it does.
        instance: u64,
        /// The call there.
        call: u64,
        /// How many times it asked before.
        round: u32,
    },
    /// The tool has ended its call and begins anew with the answers.
    Tool {
        /// When it is no longer good, in seconds since 1970.
        expires: u64,
        /// What was asked, by keys.
        questions: Vec<(Kind, String)>,
        /// The tool's own.
        state: Vec<u8>,
    },
}

/// Why a state is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateError {
    /// It was not made with this key, or it was altered.
    Foreign,
    /// It was given to another principal or for another request.
    OtherRequest,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StateError::Foreign => "requestState was not given out here, or it was altered on its way",
            StateError::OtherRequest => "requestState was given out for another request",
        })
    }
}

impl std::error::Error for StateError {}

/// Spells a state for the host.
pub fn seal(key: &Key, binding: &Binding, state: &State) -> String {
    let mut bytes = Vec::with_capacity(64);
    match state {
        State::Parked { instance, call, round } => {
            bytes.push(PARKED);
            bytes.extend_from_slice(&instance.to_be_bytes());
            bytes.extend_from_slice(&call.to_be_bytes());
            bytes.extend_from_slice(&round.to_be_bytes());
        }
        State::Tool { expires, questions, state } => {
            bytes.push(TOOL);
            bytes.extend_from_slice(&expires.to_be_bytes());
            bytes.extend_from_slice(&(questions.len() as u32).to_be_bytes());
            for (kind, name) in questions {
                bytes.push(kind_byte(*kind));
                bytes.extend_from_slice(&(name.len() as u32).to_be_bytes());
                bytes.extend_from_slice(name.as_bytes());
            }
            bytes.extend_from_slice(state);
        }
    }
    bytes.extend_from_slice(&binding.0[..BINDING]);
    let mac = key.mac(OF_STATE, [&bytes, &binding.0]).finalize().into_bytes();
    bytes.extend_from_slice(&mac[..MAC]);
    let mut text = VERSION.to_owned();
    write_digits(&mut text, &bytes);
    text
}

/// Reads a state that a host brought back. Whether it has expired is for the caller to say.
///
/// # Errors
/// It is none of ours, or none of this request.
pub fn open(key: &Key, binding: &Binding, text: &str) -> Result<State, StateError> {
    let bytes = text.strip_prefix(VERSION).and_then(read_digits).ok_or(StateError::Foreign)?;
    let (signed, mac) = split_end::<MAC>(&bytes).ok_or(StateError::Foreign)?;
    let (payload, bound) = split_end::<BINDING>(signed).ok_or(StateError::Foreign)?;
    // What was signed holds the whole binding, of which only a part was sent. So one that differs
    // cannot be checked, but it is refused all the same.
    if bound[..] != binding.0[..BINDING] {
        return Err(StateError::OtherRequest);
    }
    key.mac(OF_STATE, [signed, &binding.0]).verify_truncated_left(mac).map_err(|_| StateError::Foreign)?;
    read(payload).ok_or(StateError::Foreign)
}

fn read(mut bytes: &[u8]) -> Option<State> {
    match take::<1>(&mut bytes)? {
        [PARKED] => {
            let instance = u64::from_be_bytes(take(&mut bytes)?);
            let call = u64::from_be_bytes(take(&mut bytes)?);
            let round = u32::from_be_bytes(take(&mut bytes)?);
            bytes.is_empty().then_some(State::Parked { instance, call, round })
        }
        [TOOL] => {
            let expires = u64::from_be_bytes(take(&mut bytes)?);
            let count = u32::from_be_bytes(take(&mut bytes)?);
            let mut questions = Vec::new();
            for _ in 0..count {
                let [kind] = take(&mut bytes)?;
                let len = u32::from_be_bytes(take(&mut bytes)?) as usize;
                let (name, rest) = bytes.split_at_checked(len)?;
                bytes = rest;
                questions.push((kind_of(kind)?, String::from_utf8(name.to_vec()).ok()?));
            }
            Some(State::Tool { expires, questions, state: bytes.to_vec() })
        }
        _ => None,
    }
}

const fn kind_byte(kind: Kind) -> u8 {
    match kind {
        Kind::Sampling => 0,
        Kind::Roots => 1,
        Kind::Elicit => 2,
    }
}

const fn kind_of(byte: u8) -> Option<Kind> {
    match byte {
        0 => Some(Kind::Sampling),
        1 => Some(Kind::Roots),
        2 => Some(Kind::Elicit),
        _ => None,
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*head)
}

fn split_end<const N: usize>(bytes: &[u8]) -> Option<(&[u8], &[u8; N])> {
    bytes.split_last_chunk()
}

/// The id of a task: 32 letters, digits, `-` and `_`, which only we can make. `instance` is the
/// bridge's, `number` the task's in it.
pub fn task_id(key: &Key, instance: u64, number: u64) -> String {
    let number = number.to_be_bytes();
    let mac = key.mac(OF_TASK, [&instance.to_be_bytes(), &number]).finalize().into_bytes();
    let mut text = String::with_capacity(32);
    write_digits(&mut text, &[&number, &mac[..MAC]].concat());
    text
}

/// The number of the task that this id was given to, whether or not it is still kept.
pub fn is_task_id(key: &Key, instance: u64, id: &str) -> Option<u64> {
    if id.len() != 32 {
        return None;
    }
    let bytes = read_digits(id)?;
    let (number, mac) = bytes.split_first_chunk()?;
    key.mac(OF_TASK, [&instance.to_be_bytes(), number]).verify_truncated_left(mac).ok()?;
    Some(u64::from_be_bytes(*number))
}

/// Appends base64 with the alphabet for URLs and without padding (RFC 4648, section 5).
fn write_digits(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|i| u32::from(chunk.get(i).copied().unwrap_or(0)));
        let bits = a << 16 | b << 8 | c;
        for place in 0..=chunk.len() {
            out.push(char::from(DIGITS[(bits >> (18 - 6 * place) & 63) as usize]));
        }
    }
}

/// The bytes, if the text is exactly what [`write_digits`] makes of them.
fn read_digits(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for place in 0..4 {
            bits = bits << 6 | chunk.get(place).map_or(Some(0), |digit| value(*digit))?;
        }
        let [_, all @ ..] = bits.to_be_bytes();
        let (whole, rest) = all.split_at(chunk.len() - 1);
        if whole.is_empty() || rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(whole);
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

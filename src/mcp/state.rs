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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::random;

    const PARKED_STATE: State = State::Parked { instance: 7, call: 8, round: 9 };

    fn key() -> Key {
        Key::new(b"secret")
    }

    fn bound() -> Binding {
        binding("ann", Asked::Tool { name: "t", arguments: r#"{"a":1,"b":2}"# })
    }

    fn tool_state() -> State {
        State::Tool {
            expires: 1_700_000_000,
            questions: vec![(Kind::Elicit, "k".into()), (Kind::Sampling, "é".into())],
            state: b"own".to_vec(),
        }
    }

    // Computed with another implementation of all of it: replicas of different versions must
    // understand each other's states.
    const PARKED_TEXT: &str = "p1.AAAAAAAAAAAHAAAAAAAAAAgAAAAJqPxYBNHVQQ8ixINl3-ypykiMlVrMuo6xTuwKN7BGN5c";
    const TOOL_TEXT: &str =
        "p1.AQAAAABlU_EAAAAAAgIAAAABawAAAAACw6lvd26o_FgE0dVBDyLEg2Xf7KnKSsDQYRLIoPXYJOspVlNIdw";
    const TASK_ID: &str = "AAAAAAAAACo1_dhT0l7E55xMePQT1Yz7";

    #[test]
    fn states_keep_their_spelling() {
        assert_eq!(seal(&key(), &bound(), &PARKED_STATE), PARKED_TEXT);
        assert_eq!(seal(&key(), &bound(), &tool_state()), TOOL_TEXT);
        assert_eq!(task_id(&key(), 7, 42), TASK_ID);
    }

    #[test]
    fn what_was_sealed_can_be_opened() {
        let states = [
            PARKED_STATE,
            State::Parked { instance: u64::MAX, call: 0, round: u32::MAX },
            tool_state(),
            State::Tool { expires: 0, questions: vec![], state: vec![] },
            State::Tool { expires: 1, questions: vec![(Kind::Roots, String::new())], state: vec![0; 5000] },
        ];
        for state in states {
            let text = seal(&key(), &bound(), &state);
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)));
            assert_eq!(open(&key(), &bound(), &text), Ok(state));
        }
    }

    #[test]
    fn no_character_can_be_altered() {
        for text in [PARKED_TEXT, TOOL_TEXT] {
            for at in 0..text.len() {
                for other in ["A", "B", "-", "/", "=", ".", "é", ""] {
                    if text[at..=at] != *other {
                        let altered = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                        assert!(open(&key(), &bound(), &altered).is_err(), "{altered}");
                    }
                }
                assert_eq!(open(&key(), &bound(), &text[..at]).ok(), None);
            }
            assert!(open(&key(), &bound(), &format!("{text}A")).is_err());
            assert!(open(&key(), &bound(), &format!(" {text}")).is_err());
        }
    }

    #[test]
    fn foreign_states_are_told_from_those_of_other_requests() {
        let arguments = r#"{"a":1,"b":2}"#;
        for other in [
            binding("bob", Asked::Tool { name: "t", arguments }),
            binding("", Asked::Tool { name: "t", arguments }),
            binding("ann", Asked::Tool { name: "u", arguments }),
            binding("ann", Asked::Tool { name: "t", arguments: r#"{"a":1,"b":3}"# }),
            binding("ann", Asked::Prompt { name: "t", arguments }),
            binding("ann", Asked::Resource { uri: "t" }),
            binding("annt", Asked::Tool { name: "", arguments }),
        ] {
            assert_eq!(open(&key(), &other, PARKED_TEXT), Err(StateError::OtherRequest));
        }
        assert_eq!(open(&Key::new(b"other"), &bound(), PARKED_TEXT), Err(StateError::Foreign));
        for foreign in ["", "p1.", "p1.AAAA", "p2.AAAA", TASK_ID, "{}"] {
            assert_eq!(open(&key(), &bound(), foreign), Err(StateError::Foreign), "{foreign}");
        }
        assert!(StateError::Foreign.to_string().contains("altered"));
        assert!(StateError::OtherRequest.to_string().contains("another request"));
    }

    #[test]
    fn arguments_are_compared_by_value() {
        let arguments = |arguments| binding("", Asked::Tool { name: "t", arguments });
        assert_eq!(arguments(r#"{"a":1,"b":[2.0]}"#), arguments("{ \"b\" : [2],\n\"\\u0061\":1 }"));
        assert_ne!(arguments(r#"{"a":[1,2]}"#), arguments(r#"{"a":[2,1]}"#));
        // What is too deep is taken as it is spelled.
        let deep = |space: &str| format!("{{\"a\":{space}{}{}}}", "[".repeat(200), "]".repeat(200));
        let [one, same, other] = [deep(""), deep(""), deep(" ")];
        assert_eq!(arguments(&one), arguments(&same));
        assert_ne!(arguments(&one), arguments(&other));
    }

    #[test]
    fn ids_of_tasks_cannot_be_made_up() {
        for number in [0, 1, 42, u64::MAX] {
            let id = task_id(&key(), 7, number);
            assert_eq!(id.len(), 32);
            assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{id}");
            assert_eq!(is_task_id(&key(), 7, &id), Some(number));
            assert_eq!(is_task_id(&key(), 8, &id), None);
            assert_eq!(is_task_id(&Key::new(b""), 7, &id), None);
            for at in 0..id.len() {
                let other = if &id[at..=at] == "A" { "B" } else { "A" };
                let altered = format!("{}{other}{}", &id[..at], &id[at + 1..]);
                assert_eq!(is_task_id(&key(), 7, &altered), None, "{altered}");
            }
        }
        for bad in ["", "A", &"A".repeat(32), &"é".repeat(16), &format!("{TASK_ID}A"), PARKED_TEXT] {
            assert_eq!(is_task_id(&key(), 7, bad), None, "{bad}");
        }
    }

    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{:?}", key()), "Key(..)");
        assert_ne!(seal(&Key::new(b""), &bound(), &PARKED_STATE), seal(&key(), &bound(), &PARKED_STATE));
    }

    #[test]
    fn digits_and_bytes() {
        let table = [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")];
        for (bytes, expected) in table {
            let mut text = String::new();
            write_digits(&mut text, bytes.as_bytes());
            assert_eq!(text, expected);
            assert_eq!(read_digits(expected).as_deref(), Some(bytes.as_bytes()));
        }
        // Each value has one spelling only.
        for bad in ["Z", "Zh", "Zm9", "Zg==", "Zm9vY", "+/+/", "Zm 8"] {
            assert_eq!(read_digits(bad), None, "{bad}");
        }
        let mut seed = 3;
        for _ in 0..500 {
            let bytes: Vec<u8> = (0..random(&mut seed, 20)).map(|_| random(&mut seed, 256) as u8).collect();
            let mut text = String::new();
            write_digits(&mut text, &bytes);
            assert_eq!(read_digits(&text), Some(bytes));
        }
    }
}

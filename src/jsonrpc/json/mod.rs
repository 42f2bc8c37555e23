//! JSON as text: which kind it is, a look one level deep, and writing it.
//!
//! Text counts as *sound* here when it is valid JSON that is nested at most
//! [`JSON_DEPTH_MAX`] deep. Only sound text is passed on to a host.

use memchr::memchr2;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::limits::JSON_DEPTH_MAX;

mod canonical;
mod read;
mod write;

pub use canonical::canonical;
pub use read::{Fields, FieldsOf, elements, entries, fields, read_base64, string};
pub use write::{Array, Object, base64_len, string_len, write_base64, write_number, write_raw, write_str};

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

/// The kind of sound text; `None` for text that is not JSON or nested too deeply.
pub fn kind(json: &str) -> Option<Kind> {
    serde_json::from_str::<IgnoredAny>(json).ok()?;
    is_shallow(json).then(|| first_kind(json.trim_ascii_start()))
}

/// Whether the text is a sound JSON object.
pub fn is_object(json: &str) -> bool {
    json.trim_ascii_start().starts_with('{') && kind(json) == Some(Kind::Object)
}

/// The kind of a value that was already parsed.
pub fn kind_of(value: &RawValue) -> Kind {
    first_kind(value.get())
}

/// In valid JSON the first byte tells the kind.
fn first_kind(json: &str) -> Kind {
    match json.as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    }
}

/// Whether valid JSON is nested at most [`JSON_DEPTH_MAX`] deep.
pub fn is_shallow(json: &str) -> bool {
    // Each level takes two bytes, so short texts need no look.
    if json.len() <= 2 * JSON_DEPTH_MAX {
        return true;
    }
    let bytes = json.as_bytes();
    let mut at = 0;
    let mut depth = 0usize;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'[' | b'{' => {
                depth += 1;
                if depth > JSON_DEPTH_MAX {
                    return false;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => at += string_rest(&bytes[at..]),
            _ => {}
        }
    }
    true
}

/// How many bytes the rest of a JSON string takes, its closing quote included.
fn string_rest(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
pub(crate) mod proof {
    /// What `write` appends, proven to be one line of valid JSON.
    pub(crate) fn written<T>(write: impl FnOnce(&mut Vec<u8>) -> T) -> String {
        let mut out = b"before".to_vec();
        write(&mut out);
        let text = String::from_utf8(out).expect("text");
        let text = text.strip_prefix("before").expect("appended").to_owned();
        assert!(!text.contains(['\n', '\r']), "{text:?}");
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        text
    }

    /// Reproducible numbers below `bound` (xorshift).
    pub(crate) fn random(seed: &mut u64, bound: usize) -> usize {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        (*seed % bound as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn kinds_of_sound_text() {
        let table = [
            ("{}", Some(Kind::Object)),
            (" \r\n[1, 2]\t", Some(Kind::Array)),
            ("\"a\"", Some(Kind::String)),
            ("-0.5e3", Some(Kind::Number)),
            ("true", Some(Kind::Bool)),
            ("null", Some(Kind::Null)),
            ("", None),
            ("nul", None),
            ("{} {}", None),
            ("[1,]", None),
            ("{\"a\":}", None),
            ("\"\n\"", None),
            ("01", None),
            ("NaN", None),
        ];
        for (text, expected) in table {
            assert_eq!(kind(text), expected, "{text:?}");
            assert_eq!(is_object(text), expected == Some(Kind::Object), "{text:?}");
        }
    }

    #[test]
    fn nesting_is_bounded_and_brackets_in_strings_do_not_count() {
        assert_eq!(kind(&nested(JSON_DEPTH_MAX)), Some(Kind::Array));
        assert_eq!(kind(&nested(JSON_DEPTH_MAX + 1)), None);
        assert_eq!(kind(&format!("[{}]", nested(JSON_DEPTH_MAX))), None);
        assert_eq!(kind(&nested(1_000_000)), None);
        let text = format!("[\"{}\\\"{}\\\\\",[]]", "[".repeat(500), "{".repeat(500));
        assert_eq!(kind(&text), Some(Kind::Array));
        let wide = format!("[{}[]]", "[],".repeat(500));
        assert_eq!(kind(&wide), Some(Kind::Array));
    }
}

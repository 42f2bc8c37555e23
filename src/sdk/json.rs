//! Writing JSON as text: a tool's result is built once, straight into the string that travels.

use std::fmt;

use serde_json::Value;

/// JSON as text, made from a [`Value`] (see [`json!`](crate::sdk::json!)) or from text that is
/// JSON already and that is sent as written.
///
/// Where a builder of this module wants a `Json`, both of these work:
///
/// ```
/// use pmcp_bridge::sdk::{json, tool};
/// tool("a").output_schema(json!({"type": "object"}));
/// tool("b").output_schema(r#"{"type": "object"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, given away.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Whether it is one JSON object.
    pub(crate) fn is_object(&self) -> bool {
        self.0.trim_start().starts_with('{') && is_json(&self.0)
    }

    /// Whether it is one JSON array.
    pub(crate) fn is_array(&self) -> bool {
        self.0.trim_start().starts_with('[') && is_json(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self(value.to_string())
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self(text)
    }
}

/// Whether `text` is one JSON value.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// Appends `text` as a JSON string, quotes included.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    while let Some(at) = find_special(rest.as_bytes()) {
        // All bytes that need an escape are ASCII, so `at` is always a character boundary.
        out.push_str(&rest[..at]);
        let byte = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.push_str("\\u00");
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    out.push_str(rest);
    out.push('"');
}

/// Where the first byte is that a JSON string cannot hold as it is.
fn find_special(bytes: &[u8]) -> Option<usize> {
    let is_special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    // A block without branches is looked through many bytes at a time.
    let clean =
        bytes.chunks(64).take_while(|block| !block.iter().fold(false, |any, &byte| any | is_special(byte)));
    let from = 64 * clean.count();
    let tail = bytes.get(from..)?;
    tail.iter().position(|&byte| is_special(byte)).map(|at| from + at)
}

/// Appends `,"name":` to an object that is being written, without the comma when it is the first
/// field.
pub(crate) fn push_name(out: &mut String, name: &str) {
    if !out.ends_with('{') {
        out.push(',');
    }
    push_string(out, name);
    out.push(':');
}

/// Appends a field with a string value.
pub(crate) fn push_field(out: &mut String, name: &str, value: &str) {
    push_name(out, name);
    push_string(out, value);
}

/// The JSON Schema of an object with these properties (name, schema, whether it is required), in
/// this order: models and people read it from the top.
pub(crate) fn object_schema<'a>(properties: impl Iterator<Item = (&'a str, &'a Value, bool)>) -> Json {
    let mut out = String::from(r#"{"type":"object","properties":{"#);
    let mut required = String::new();
    for (name, schema, is_required) in properties {
        push_name(&mut out, name);
        out.push_str(&schema.to_string());
        if is_required {
            required.push(if required.is_empty() { '[' } else { ',' });
            push_string(&mut required, name);
        }
    }
    out.push('}');
    if !required.is_empty() {
        push_name(&mut out, "required");
        out.push_str(&required);
        out.push(']');
    }
    out.push('}');
    Json(out)
}

/// Appends `bytes` as base64 with padding (RFC 4648, section 4).
pub(crate) fn push_base64(out: &mut String, bytes: &[u8]) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let six = (bits >> (18 - 6 * at)) & 63;
            out.push(if at <= chunk.len() { char::from(ALPHABET[six as usize]) } else { '=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_from_a_parser_as_they_were() {
        let all: String =
            (0..0x300).filter_map(char::from_u32).chain("řemeslník 漢字 🦀\u{2028}".chars()).collect();
        let mut out = String::new();
        push_string(&mut out, &all);
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), all);
        assert!(!out.bytes().any(|byte| byte < 0x20), "no raw control character");
    }

    #[test]
    fn base64_follows_the_vectors_of_the_rfc() {
        for (bytes, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = String::new();
            push_base64(&mut out, bytes.as_bytes());
            assert_eq!(out, expected);
        }
        let mut out = String::new();
        push_base64(&mut out, &[0xfb, 0xff, 0xbf]);
        assert_eq!(out, "+/+/");
    }

    #[test]
    fn kinds_of_json_are_told_apart() {
        assert!(Json::from(r#" {"a":1}"#).is_object());
        assert!(!Json::from(r#"{"a":1"#).is_object());
        assert!(!Json::from("[1]").is_object());
        assert!(Json::from("[1]").is_array());
        assert!(!Json::from("").is_object());
    }
}

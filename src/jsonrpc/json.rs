//! Reading just enough of JSON, and writing it.
//!
//! Text counts as *sound* here when it is valid JSON that is nested at most
//! [`JSON_DEPTH_MAX`] deep. Only sound text is passed on to a host.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memchr2, memmem};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::limits::JSON_DEPTH_MAX;

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
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

/// Some members of an object, in the order in which they were asked for.
#[derive(Debug)]
pub struct Fields<'a, const N: usize> {
    /// Each member's value, `null` included; `None` when the member is absent.
    pub values: [Option<&'a RawValue>; N],
    /// A member that was there twice; the values hold its last one.
    pub duplicate: Option<&'static str>,
    /// Whether any member, also one that was not asked for, is `null`.
    pub has_null: bool,
}

/// Looks up members of a JSON object in one scan; whatever else it has is checked and skipped.
///
/// # Errors
/// The category tells text that is not JSON (syntax, end of file) from JSON that is not an
/// object (data).
pub fn fields<'a, const N: usize>(
    json: &'a str,
    names: &[&'static str; N],
) -> Result<Fields<'a, N>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let fields = FieldsOf(names).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(fields)
}

/// Reads an object's [`Fields`] in the middle of something larger.
#[derive(Debug)]
pub struct FieldsOf<'n, const N: usize>(pub &'n [&'static str; N]);

impl<'de, const N: usize> DeserializeSeed<'de> for FieldsOf<'_, N> {
    type Value = Fields<'de, N>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for FieldsOf<'_, N> {
    type Value = Fields<'de, N>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields { values: [None; N], duplicate: None, has_null: false };
        while let Some(position) = map.next_key_seed(Position(self.0))? {
            let value: &RawValue = map.next_value()?;
            fields.has_null |= kind_of(value) == Kind::Null;
            if let Some(position) = position
                && fields.values[position].replace(value).is_some()
            {
                fields.duplicate = Some(self.0[position]);
            }
        }
        Ok(fields)
    }
}

/// Reads a key as its place in a list of names, so that no key is ever copied.
struct Position<'n>(&'n [&'static str]);

impl<'de> DeserializeSeed<'de> for Position<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Position<'_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|name| *name == key))
    }
}

/// The members of a JSON object in their order, for the rare object that has to be rebuilt.
/// `None` when it is not one.
pub fn entries(json: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    struct Entries;
    struct Key<'a>(Cow<'a, str>);

    impl<'de> serde::Deserialize<'de> for Key<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct KeyVisitor;
            impl<'de> Visitor<'de> for KeyVisitor {
                type Value = Key<'de>;
                fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                    formatter.write_str("a string")
                }
                fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                    Ok(Key(Cow::Borrowed(key)))
                }
                fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                    Ok(Key(Cow::Owned(key.to_owned())))
                }
            }
            deserializer.deserialize_str(KeyVisitor)
        }
    }

    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<(Cow<'de, str>, &'de RawValue)>;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                entries.push((key, value));
            }
            Ok(entries)
        }
    }

    let mut deserializer = serde_json::Deserializer::from_str(json);
    let entries = deserializer.deserialize_map(Entries).ok()?;
    deserializer.end().ok()?;
    Some(entries)
}

/// The elements of a JSON array. `None` when it is not one.
pub fn elements(json: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(json).ok()
}

/// A JSON string's text, without a copy when nothing in it is escaped; lone surrogates become
/// U+FFFD. `None` when it is not a string.
pub fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let token = value.get();
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    if memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let text: Result<String, _> = serde_json::from_str(token);
    let text = text.or_else(|_| {
        let mut mended = Vec::with_capacity(token.len());
        write_raw(&mut mended, token);
        serde_json::from_slice(&mended)
    });
    text.ok().map(Cow::Owned)
}

/// Appends valid JSON so that it fits in a line and in strict readers: CR and LF between tokens
/// become spaces, escapes that spell half of a surrogate pair become `\ufffd`. One copy.
pub fn write_raw(out: &mut Vec<u8>, json: &str) {
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    let written = &mut out[start..];
    // Valid JSON has no raw CR or LF inside a string.
    let mut at = 0;
    while let Some(found) = memchr2(b'\n', b'\r', &written[at..]) {
        at += found;
        written[at] = b' ';
    }
    let holds = |escape: &[u8]| memmem::find(written, escape).is_some();
    if memchr(b'\\', written).is_some() && (holds(b"\\ud") || holds(b"\\uD")) {
        mend_surrogates(written);
    }
}

/// Replaces lone surrogate escapes in place; all spellings take six bytes.
fn mend_surrogates(json: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = memchr(b'\\', &json[at..]) {
        at += found;
        match unit(&json[at..]) {
            None => at += 2,
            Some(0xd800..=0xdbff) if matches!(unit(&json[at + 6..]), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                json[at..at + 6].copy_from_slice(b"\\ufffd");
                at += 6;
            }
            Some(_) => at += 6,
        }
        at = at.min(json.len());
    }
}

/// The code unit of a `\uXXXX` escape at the start of `json`.
fn unit(json: &[u8]) -> Option<u32> {
    let digits = json.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

const fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// How long `text` is as a JSON string, quotes included; for exact reservations.
pub fn string_len(text: &str) -> usize {
    let extra = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    };
    2 + text.len() + text.bytes().map(extra).sum::<usize>()
}

/// Appends a JSON string.
pub fn write_str(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, tail) = rest.split_at(plain_len(rest));
        out.extend_from_slice(plain);
        let Some((&byte, tail)) = tail.split_first() else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
        rest = tail;
    }
    out.push(b'"');
}

/// How many bytes can be copied as they are. Whole chunks are checked without an early exit,
/// which the compiler turns into vector instructions.
fn plain_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    for chunk in bytes.chunks_exact(16) {
        if chunk.iter().fold(false, |found, byte| found | needs_escape(*byte)) {
            break;
        }
        at += 16;
    }
    let rest = &bytes[at..];
    at + rest.iter().position(|byte| needs_escape(*byte)).unwrap_or(rest.len())
}

/// Appends a number.
pub fn write_number(out: &mut Vec<u8>, number: impl ToString) {
    out.extend_from_slice(number.to_string().as_bytes());
}

/// How long `bytes` are as base64 in a JSON string, quotes included.
pub const fn base64_len(bytes: usize) -> usize {
    2 + bytes.div_ceil(3) * 4
}

/// Appends bytes as a JSON string of base64 (RFC 4648, section 4).
pub fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| DIGITS[(bits & 63) as usize];
    out.push(b'"');
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|i| u32::from(chunk.get(i).copied().unwrap_or(0)));
        let bits = a << 16 | b << 8 | c;
        let mut digits = [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)];
        if chunk.len() < 3 {
            digits[3] = b'=';
        }
        if chunk.len() < 2 {
            digits[2] = b'=';
        }
        out.extend_from_slice(&digits);
    }
    out.push(b'"');
}

/// Writes an object member by member. What is absent is left out, never `null`.
#[derive(Debug)]
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Object<'o> {
    /// Opens an object at the end of `out`.
    pub fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    /// Begins a member; its value has to be appended to what is returned.
    pub fn member(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.out.push(b',');
        }
        write_str(self.out, name);
        self.out.push(b':');
        self.out
    }

    /// A string.
    pub fn text(&mut self, name: &str, text: &str) {
        write_str(self.member(name), text);
    }

    /// A string that is left out when empty.
    pub fn text_if(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.text(name, text);
        }
    }

    /// Valid JSON.
    pub fn raw(&mut self, name: &str, json: &str) {
        write_raw(self.member(name), json);
    }

    /// A token that a peer spelled, to be given back byte for byte.
    pub fn token(&mut self, name: &str, token: &str) {
        self.member(name).extend_from_slice(token.as_bytes());
    }

    /// Valid JSON, or left out.
    pub fn raw_if(&mut self, name: &str, json: Option<&str>) {
        if let Some(json) = json {
            self.raw(name, json);
        }
    }

    /// A number.
    pub fn number(&mut self, name: &str, number: impl ToString) {
        write_number(self.member(name), number);
    }

    /// `true` or `false`.
    pub fn flag(&mut self, name: &str, flag: bool) {
        self.member(name).extend_from_slice(if flag { b"true" } else { b"false" });
    }

    /// Closes the object.
    pub fn close(self) {
        self.out.push(b'}');
    }
}

/// Writes an array element by element.
#[derive(Debug)]
pub struct Array<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Array<'o> {
    /// Opens an array at the end of `out`.
    pub fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, is_empty: true }
    }

    /// Begins an element; it has to be appended to what is returned.
    pub fn element(&mut self) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.out.push(b',');
        }
        self.out
    }

    /// Elements that are already JSON, with the commas between them.
    pub fn elements(&mut self, json: &str) {
        if !json.is_empty() {
            write_raw(self.element(), json);
        }
    }

    /// Closes the array.
    pub fn close(self) {
        self.out.push(b']');
    }
}

#[cfg(test)]
pub(crate) mod proof {
    /// What `write` appends, proven to be one line of valid JSON.
    pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
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
    use serde_json::Value;

    use super::proof::{random, written};
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

    #[test]
    fn fields_are_found_in_any_order_and_spelling() {
        let json = " {\"x\":[1,{\"a\":2}],\"b\" : {\"a\":1} ,\"\\u0061\":\"v\"}\r";
        let fields = fields(json, &["a", "b", "c"]).unwrap();
        let [a, b, c] = fields.values.map(|value| value.map(RawValue::get));
        assert_eq!((a, b, c), (Some("\"v\""), Some("{\"a\":1}"), None));
        assert_eq!((fields.duplicate, fields.has_null), (None, false));
        let fields = super::fields("{\"a\":1,\"z\":null,\"a\":2}", &["a"]).unwrap();
        assert_eq!((fields.duplicate, fields.has_null), (Some("a"), true));
        for (json, is_json) in [("[]", true), ("1", true), ("", false), ("{", false), ("{\"a\":1}}", false)] {
            let error = super::fields(json, &["a"]).unwrap_err();
            assert_eq!(error.is_data(), is_json, "{json}");
        }
    }

    #[test]
    fn strings_are_borrowed_when_they_can_be() {
        let raw = |json: &'static str| serde_json::from_str::<&RawValue>(json).unwrap();
        assert!(matches!(string(raw("\"plain é\"")), Some(Cow::Borrowed("plain é"))));
        assert_eq!(string(raw("\"a\\u0062\\n\"")).unwrap(), "ab\n");
        assert_eq!(string(raw("\"\\ud83d\\ude00\"")).unwrap(), "😀");
        assert_eq!(string(raw("\"x\\ud83dy\"")).unwrap(), "x\u{fffd}y");
        for other in ["1", "null", "[]", "{}", "true"] {
            assert_eq!(string(raw(other)), None, "{other}");
        }
    }

    #[test]
    fn raw_json_becomes_one_line() {
        let table = [
            ("{\n  \"a\": [1,\r\n 2]\n}", "{   \"a\": [1,   2] }"),
            ("\"\\n\\r\"", "\"\\n\\r\""),
            (r#""\ud800""#, r#""\ufffd""#),
            (r#""\uDC00x\uD800\u0041""#, r#""\ufffdx\ufffd\u0041""#),
            (r#""\ud83d\ude00\ud83d""#, r#""\ud83d\ude00\ufffd""#),
            (r#""\uD83D\uDE00""#, r#""\uD83D\uDE00""#),
            (r#""\\ud800""#, r#""\\ud800""#),
            (r#""\\\ud800\"""#, r#""\\\ufffd\"""#),
        ];
        for (json, expected) in table {
            assert_eq!(written(|out| write_raw(out, json)), expected, "{json}");
        }
    }

    #[test]
    fn mended_strings_are_what_lossy_decoding_gives() {
        let units = [0x41u32, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0x5c, 0x22, 0xd7ff];
        let mut seed = 7;
        for _ in 0..2000 {
            let chosen: Vec<u16> =
                (0..random(&mut seed, 6)).map(|_| units[random(&mut seed, units.len())] as u16).collect();
            let json: String = chosen.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = format!("\"{json}\"");
            let text = written(|out| write_raw(out, &json));
            let value: String = serde_json::from_str(&text).unwrap();
            assert_eq!(value, String::from_utf16_lossy(&chosen), "{json}");
        }
    }

    #[test]
    fn strings_come_back_as_they_were() {
        let alphabet =
            ["a", "\"", "\\", "\n", "\r", "\t", "\u{8}", "\u{c}", "\0", "\u{1f}", "\u{7f}", "é", "😀"];
        let mut seed = 1;
        for round in 0..3000 {
            let text: String = (0..random(&mut seed, 60))
                .map(|_| if round % 3 == 0 { "plain" } else { alphabet[random(&mut seed, alphabet.len())] })
                .collect();
            let json = written(|out| write_str(out, &text));
            assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), Value::String(text.clone()));
            assert_eq!(json.len(), string_len(&text), "{text:?}");
        }
    }

    #[test]
    fn base64_of_the_rfc() {
        let table = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, expected) in table {
            let text = written(|out| write_base64(out, bytes.as_bytes()));
            assert_eq!(text, format!("\"{expected}\""));
            assert_eq!(text.len(), base64_len(bytes.len()));
        }
        assert_eq!(written(|out| write_base64(out, &[0xff, 0xef, 0xbe])), "\"/+++\"");
    }

    #[test]
    fn objects_and_arrays_leave_out_what_is_absent() {
        let text = written(|out| {
            let mut object = Object::open(out);
            object.text_if("empty", "");
            object.raw_if("none", None);
            let mut array = Array::open(object.member("list"));
            array.elements("");
            array.elements("1,2");
            write_number(array.element(), -3);
            array.close();
            object.flag("yes", true);
            object.text("odd \"name\"", "");
            object.close();
        });
        assert_eq!(text, r#"{"list":[1,2,-3],"yes":true,"odd \"name\"":""}"#);
        assert_eq!(written(|out| Object::open(out).close()), "{}");
    }
}

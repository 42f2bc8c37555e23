//! Looking into a value one level deep; what is inside stays a slice of the text.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Kind, kind_of, write_raw};

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

/// The bytes that base64 (RFC 4648, section 4) stands for. `None` unless it is spelled as
/// [`write_base64`](super::write_base64) spells it: padded, and without stray bits.
pub fn read_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let padding = digits.iter().rev().take(2).take_while(|digit| **digit == b'=').count();
    let mut out = Vec::with_capacity(digits.len() / 4 * 3);
    let mut bits = 0u32;
    for (at, digit) in digits[..digits.len() - padding].iter().enumerate() {
        bits = bits << 6
            | u32::from(match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            });
        // Each digit but the first of four completes a byte.
        if at % 4 > 0 {
            out.push((bits >> (6 - at % 4 * 2)) as u8);
        }
    }
    // What the last digit holds beyond the last byte is nothing.
    let stray = [0, 0b11, 0b1111][padding];
    (bits & stray == 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn base64_is_read_in_one_spelling_only() {
        for length in 0..40usize {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 37 + length) as u8).collect();
            let mut out = Vec::new();
            super::super::write_base64(&mut out, &bytes);
            let text = String::from_utf8(out).unwrap();
            assert_eq!(read_base64(text.trim_matches('"')), Some(bytes), "{text}");
        }
        for wrong in
            ["SGVsbG8", "SGVs!!!bG8=", "SGVsbG9=", "=", "====", "A===", "SG=s", "SGVsbG8=SGVs", "SGVs\nbG8"]
        {
            assert_eq!(read_base64(wrong), None, "{wrong}");
        }
    }
}

//! One spelling for all spellings of a value, so that two can be compared by their bytes.

use std::ops::Range;

use super::{kind, string_rest, write_number, write_str};

/// Whole numbers up to here are exact in the floating point that most peers count in.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Sound JSON without white space, the members of objects sorted by their names, strings with as
/// few escapes as they need, and numbers that are equal spelled alike. `None` for what is not
/// sound. Takes about the time of two copies.
pub fn canonical(json: &str) -> Option<Vec<u8>> {
    kind(json)?;
    let mut writer = Writer { json, at: 0, out: Vec::with_capacity(json.len()) };
    writer.value()?;
    Some(writer.out)
}

/// Goes over valid JSON. Whatever is valid is copied; the rest is `None` for good measure.
struct Writer<'a> {
    json: &'a str,
    at: usize,
    out: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.json.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.json.as_bytes().get(self.at).copied()
    }

    fn value(&mut self) -> Option<()> {
        match self.peek()? {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string().map(drop),
            _ => self.scalar(),
        }
    }

    fn array(&mut self) -> Option<()> {
        self.at += 1;
        self.out.push(b'[');
        while self.peek()? != b']' {
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    self.out.push(b',');
                }
                _ => self.value()?,
            }
        }
        self.at += 1;
        self.out.push(b']');
        Some(())
    }

    fn object(&mut self) -> Option<()> {
        self.at += 1;
        self.out.push(b'{');
        let start = self.out.len();
        // Where each name lies, and where its member ends.
        let mut members: Vec<(Range<usize>, usize)> = Vec::new();
        while self.peek()? != b'}' {
            match self.peek()? {
                b',' => self.at += 1,
                _ => {
                    let name = self.string()?;
                    if self.peek()? != b':' {
                        return None;
                    }
                    self.at += 1;
                    self.out.push(b':');
                    self.value()?;
                    self.out.push(b',');
                    members.push((name, self.out.len()));
                }
            }
        }
        self.at += 1;
        let name = |member: &(Range<usize>, usize)| &self.out[member.0.clone()];
        if !members.is_sorted_by(|one, other| name(one) <= name(other)) {
            // Stable, so that members of one name stay in their order: the last one counts.
            members.sort_by(|one, other| name(one).cmp(name(other)));
            let mut sorted = Vec::with_capacity(self.out.len() - start);
            for (name, end) in &members {
                sorted.extend_from_slice(&self.out[name.start..*end]);
            }
            self.out[start..].copy_from_slice(&sorted);
        }
        if !members.is_empty() {
            self.out.pop();
        }
        self.out.push(b'}');
        Some(())
    }

    /// Writes a string and says where it lies.
    fn string(&mut self) -> Option<Range<usize>> {
        if self.peek()? != b'"' {
            return None;
        }
        let len = 1 + string_rest(&self.json.as_bytes()[self.at + 1..]);
        let token = self.json.get(self.at..self.at + len)?;
        self.at += len;
        let start = self.out.len();
        match token.contains('\\').then(|| serde_json::from_str::<String>(token)) {
            Some(Ok(text)) => write_str(&mut self.out, &text),
            // Half of a surrogate pair has one spelling only, but for the case of its digits.
            Some(Err(_)) | None => self.out.extend_from_slice(token.as_bytes()),
        }
        Some(start..self.out.len())
    }

    /// A number, `true`, `false` or `null`.
    fn scalar(&mut self) -> Option<()> {
        let rest = &self.json[self.at..];
        let is_end = |byte: u8| matches!(byte, b',' | b']' | b'}' | b':') || byte.is_ascii_whitespace();
        let token = &rest[..rest.bytes().position(is_end).unwrap_or(rest.len())];
        if token.is_empty() {
            return None;
        }
        self.at += token.len();
        match token.contains(['.', 'e', 'E']).then(|| token.parse::<f64>()) {
            Some(Ok(number)) if number.fract() == 0.0 && number.abs() <= EXACT_MAX => {
                write_number(&mut self.out, number as i64);
            }
            Some(Ok(number)) if number.is_finite() => {
                write_number(&mut self.out, format_args!("{number:e}"));
            }
            _ if token == "-0" => self.out.push(b'0'),
            _ => self.out.extend_from_slice(token.as_bytes()),
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::proof::random;
    use super::*;
    use crate::limits::JSON_DEPTH_MAX;

    fn text(json: &str) -> Option<String> {
        canonical(json).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn spellings_of_one_value_become_one() {
        let table = [
            ("{}", "{}"),
            (" [ ] ", "[]"),
            ("[1 ,\n[2,{ }],\ttrue,null ]", "[1,[2,{}],true,null]"),
            (r#"{"b":1,"a":{"d":[],"c":2}}"#, r#"{"a":{"c":2,"d":[]},"b":1}"#),
            (r#"{ "a" : 1 , "b" : 2 }"#, r#"{"a":1,"b":2}"#),
            (r#"{"\u0062":"\u00e9\/\n","a":"é"}"#, r#"{"a":"é","b":"é/\n"}"#),
            (r#"{"b":"}{,:\"","a":"\\"}"#, r#"{"a":"\\","b":"}{,:\""}"#),
            (r#""\ud800""#, r#""\ud800""#),
            ("1.0", "1"),
            ("-0.0", "0"),
            ("-0", "0"),
            ("1e2", "100"),
            ("1.50", "1.5e0"),
            ("15e-1", "1.5e0"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("1e999", "1e999"),
        ];
        for (json, expected) in table {
            assert_eq!(text(json).as_deref(), Some(expected), "{json}");
            assert_eq!(text(expected).as_deref(), Some(expected), "{expected}");
        }
    }

    #[test]
    fn different_values_stay_different() {
        let all = [
            "1",
            "\"1\"",
            "[1]",
            "true",
            "null",
            "{}",
            "[]",
            r#"{"a":1}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":2,"a":1}"#,
            "9007199254740993",
            "9007199254740992",
            "0.1",
            "0.10000000000000002",
            "1e999",
            "1e998",
        ];
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert_ne!(text(one), text(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn what_is_not_sound_has_no_spelling() {
        let deep = format!("{}{}", "[".repeat(JSON_DEPTH_MAX + 1), "]".repeat(JSON_DEPTH_MAX + 1));
        for json in ["", "{", "[1,]", "{\"a\"}", "nul", &deep] {
            assert_eq!(text(json), None, "{json}");
        }
    }

    #[test]
    fn nothing_makes_it_stop_or_lose_a_value() {
        let pieces = ["[", "]", "{", "}", ",", ":", "\"a\"", "\"\\u0061\"", "1", " ", "null", "\"", "\\"];
        let mut seed = 5;
        for _ in 0..20_000 {
            let json: String =
                (0..random(&mut seed, 9)).map(|_| pieces[random(&mut seed, pieces.len())]).collect();
            // Also what was not checked before is gone over without harm.
            let mut writer = Writer { json: &json, at: 0, out: Vec::new() };
            writer.value();
            if let Ok(value) = serde_json::from_str::<serde_json::Value>(&json) {
                let text = text(&json).unwrap();
                assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value, "{json}");
            }
        }
    }
}

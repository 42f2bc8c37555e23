//! Writing values at the end of a message.

use memchr::{memchr, memchr2, memmem};

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

    /// Goes on with an object that one of these has closed, at the end of `out`.
    pub fn reopen(out: &'o mut Vec<u8>, closed: &[u8]) -> Self {
        out.extend_from_slice(closed.strip_suffix(b"}").unwrap_or(b"{"));
        Self { out, is_empty: closed.len() <= 2 }
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
mod tests {
    use serde_json::Value;

    use super::super::proof::{random, written};
    use super::*;

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

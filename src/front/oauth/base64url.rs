//! base64url without padding, as JOSE spells bytes (RFC 7515, section 2).

/// The bytes, if they are spelled in the one way that there is: no padding, no white space, and no
/// bits left over. A second spelling of the same signature would be a second token.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for character in group {
            bits = bits << 6 | u32::from(value(*character)?);
        }
        match group.len() {
            4 => bytes.extend_from_slice(&bits.to_be_bytes()[1..]),
            3 if bits & 0b11 == 0 => bytes.extend_from_slice(&(bits >> 2).to_be_bytes()[2..]),
            2 if bits & 0b1111 == 0 => bytes.push((bits >> 4) as u8),
            _ => return None,
        }
    }
    Some(bytes)
}

fn value(character: u8) -> Option<u8> {
    match character {
        b'A'..=b'Z' => Some(character - b'A'),
        b'a'..=b'z' => Some(character - b'a' + 26),
        b'0'..=b'9' => Some(character - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_for_any_bytes() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg", b"f"),
            ("Zm8", b"fo"),
            ("Zm9v", b"foo"),
            ("Zm9vYg", b"foob"),
            ("Zm9vYmE", b"fooba"),
            ("Zm9vYmFy", b"foobar"),
            ("-_-_", &[0xfb, 0xff, 0xbf]),
            ("_w", &[0xff]),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes), "{text}");
        }
    }

    #[test]
    fn other_spellings_are_none() {
        for text in
            ["Z", "Zm9vY", "Zg==", "Zm8=", "Zh", "Zm9", "Zm+v", "Zm/v", "Zm 9v", "Zm9v\n", "Zmé", "===="]
        {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}

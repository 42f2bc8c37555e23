//! Command lines as people write them.

use std::ffi::OsString;

/// Cuts a command at its spaces as a shell does, with both kinds of quotes and the backslash, and
/// nothing else. `None` if a quote is not closed.
pub fn split(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    // A word that is there may still be empty: ''.
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('"'), '\\') => match characters.next()? {
                escaped @ ('"' | '\\') => word.get_or_insert_default().push(escaped),
                other => word.get_or_insert_default().extend(['\\', other]),
            },
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().push(characters.next()?),
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// A command line as a person would type it.
pub fn shown(command: &[OsString]) -> String {
    let word = |word: &OsString| {
        let text = word.to_string_lossy();
        let plain = |c: char| c.is_alphanumeric() || "-_./=+:,@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text.into_owned()
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    command.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_cut_as_a_shell_does() {
        for (text, expected) in [
            ("", &[] as &[&str]),
            ("  a  b ", &["a", "b"]),
            ("a 'b c' d", &["a", "b c", "d"]),
            (r#"a "b 'c' \"d\" \n""#, &["a", r#"b 'c' "d" \n"#]),
            (r"a\ b 'c\d'", &["a b", r"c\d"]),
            ("a''b '' \"\"", &["ab", "", ""]),
            ("x='1 2'3", &["x=1 23"]),
        ] {
            assert_eq!(
                split(text).as_deref(),
                Some(&expected.iter().map(|s| s.to_string()).collect::<Vec<_>>()[..]),
                "{text}"
            );
        }
        for text in ["'a", "\"a", "a\\", "\"a\\", "a 'b\""] {
            assert_eq!(split(text), None, "{text}");
        }
        let words = ["a b", "", "it's", "plain/x.py", "$HOME"].map(OsString::from);
        assert_eq!(shown(&words), r"'a b' '' 'it'\''s' plain/x.py '$HOME'");
        assert_eq!(split(&shown(&words)), Some(words.map(|word| word.into_string().unwrap()).into()));
    }
}

//! Regular expressions as JSON Schema means them (ECMA-262, with the `u` flag), in linear time.
//!
//! They are rewritten for an engine that takes time in proportion to the text and knows neither
//! what looks ahead or behind nor references back. A pattern with those is refused.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use regex_lite::{Regex, RegexBuilder};

use crate::limits::JSON_SCHEMA_PATTERN_MAX;

/// A pattern that can be looked for.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// Bytes as it was written: what a look at one character costs, roughly.
    len: usize,
}

impl Pattern {
    /// # Errors
    /// Says what is wrong with it, or what of it is not supported.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let mut translator =
            Translator { rest: pattern.chars().peekable(), out: String::with_capacity(pattern.len() * 2) };
        translator.run()?;
        let regex = RegexBuilder::new(&translator.out)
            .size_limit(JSON_SCHEMA_PATTERN_MAX)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { regex, len: translator.out.len() })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// What a look at a text costs, in steps.
    pub(super) fn cost(&self, text: &str) -> usize {
        text.len().saturating_mul(self.len.min(1000)) / 64
    }
}

/// White space and line terminators (ECMA-262, section 22.2.2.9).
const SPACES: &[(char, char)] = &[
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];
const DIGITS: &[(char, char)] = &[('0', '9')];
const WORDS: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
}

/// What an escape stands for.
enum Escaped {
    Character(char),
    /// Sorted ranges.
    Class(Vec<(char, char)>),
    /// `\b` or `\B`, which is no character.
    Boundary(char),
}

impl Translator<'_> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(character) = self.rest.next() {
            match character {
                '\\' => match self.escape()? {
                    Escaped::Character(character) => self.literal(character),
                    Escaped::Class(ranges) => {
                        self.out.push('[');
                        self.ranges(&ranges);
                        self.out.push(']');
                    }
                    Escaped::Boundary(kind) => self.out.extend(['\\', kind]),
                },
                '[' => self.class()?,
                '(' => self.group()?,
                '.' => self.out.push_str("[^\\n\\r\\u{2028}\\u{2029}]"),
                '^' | '$' | '*' | '+' | '?' | '|' | ')' => self.out.push(character),
                '{' => self.repetition(),
                other => self.literal(other),
            }
        }
        Ok(())
    }

    fn literal(&mut self, character: char) {
        if character.is_alphanumeric() {
            self.out.push(character);
        } else {
            // Writing to a string never fails.
            let _ = write!(self.out, "\\u{{{:x}}}", u32::from(character));
        }
    }

    fn ranges(&mut self, ranges: &[(char, char)]) {
        if ranges.is_empty() {
            // What no character is.
            self.out.push_str("^\\s\\S");
        }
        for (first, last) in ranges {
            self.literal(*first);
            if first != last {
                self.out.push('-');
                self.literal(*last);
            }
        }
    }

    /// Nothing refers back to a group, so none needs a number or a name.
    fn group(&mut self) -> Result<(), String> {
        self.out.push_str("(?");
        if self.rest.next_if_eq(&'?').is_none() {
            self.out.push(':');
            return Ok(());
        }
        let ahead =
            || "what looks ahead or behind, as (?=, (?!, (?<= and (?<! do, is not supported".to_owned();
        match self.rest.next() {
            Some(':') => self.out.push(':'),
            Some('=' | '!') => return Err(ahead()),
            Some('<') => {
                if matches!(self.rest.peek(), Some('=' | '!')) {
                    return Err(ahead());
                }
                self.rest
                    .by_ref()
                    .find(|character| *character == '>')
                    .ok_or("the name of a group has no end")?;
                self.out.push(':');
            }
            Some(flag @ ('i' | '-')) => {
                self.out.push(flag);
                let flags = self.rest.by_ref().take_while(|character| *character != ':');
                let flags: Vec<char> = flags.collect();
                if !flags.iter().all(|flag| matches!(flag, 'i' | '-')) {
                    return Err("a group has flags that are not supported".to_owned());
                }
                self.out.extend(flags);
                self.out.push(':');
            }
            _ => return Err("(? begins a group that is not known".to_owned()),
        }
        Ok(())
    }

    /// A brace that repeats nothing is a character.
    fn repetition(&mut self) {
        let mut ahead = self.rest.clone();
        let mut inside = String::new();
        let is_closed = loop {
            match ahead.next() {
                Some('}') => break true,
                Some(character @ ('0'..='9' | ',')) => inside.push(character),
                _ => break false,
            }
        };
        let (least, most) = inside.split_once(',').unwrap_or((&inside, ""));
        if is_closed && !least.is_empty() && !most.contains(',') {
            self.out.extend(["{", &inside, "}"]);
            self.rest = ahead;
        } else {
            self.literal('{');
        }
    }

    fn class(&mut self) -> Result<(), String> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let first = match self.class_member()? {
                None => break,
                Some(Escaped::Character(character)) => character,
                Some(Escaped::Class(class)) => {
                    ranges.extend(class);
                    continue;
                }
                Some(Escaped::Boundary(_)) => '\u{8}',
            };
            let mut ahead = self.rest.clone();
            let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|next| next != ']');
            if !is_range {
                ranges.push((first, first));
                continue;
            }
            self.rest.next();
            match self.class_member()? {
                Some(Escaped::Character(last)) if first <= last => ranges.push((first, last)),
                Some(Escaped::Character(_)) => {
                    return Err("a range in brackets ends before it begins".to_owned());
                }
                Some(Escaped::Class(class)) => {
                    ranges.extend([(first, first), ('-', '-')]);
                    ranges.extend(class);
                }
                _ => return Err("brackets hold a range without an end".to_owned()),
            }
        }
        if is_negated {
            ranges = complement(ranges);
        }
        self.out.push('[');
        self.ranges(&ranges);
        self.out.push(']');
        Ok(())
    }

    /// `None` at the closing bracket.
    fn class_member(&mut self) -> Result<Option<Escaped>, String> {
        match self.rest.next() {
            None => Err("a bracket is never closed".to_owned()),
            Some(']') => Ok(None),
            Some('\\') => self.escape().map(Some),
            Some(character) => Ok(Some(Escaped::Character(character))),
        }
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<Escaped, String> {
        let class = |ranges: &[(char, char)]| Ok(Escaped::Class(ranges.to_vec()));
        let all_but = |ranges: &[(char, char)]| Ok(Escaped::Class(complement(ranges.to_vec())));
        let character = match self.rest.next() {
            None => return Err("ends with a backslash".to_owned()),
            Some('d') => return class(DIGITS),
            Some('D') => return all_but(DIGITS),
            Some('w') => return class(WORDS),
            Some('W') => return all_but(WORDS),
            Some('s') => return class(SPACES),
            Some('S') => return all_but(SPACES),
            Some(kind @ ('b' | 'B')) => return Ok(Escaped::Boundary(kind)),
            Some(kind @ ('p' | 'P')) => {
                let ranges = self.property()?;
                return Ok(Escaped::Class(if kind == 'P' { complement(ranges) } else { ranges }));
            }
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some('0') if !self.rest.peek().is_some_and(char::is_ascii_digit) => '\0',
            Some('0'..='9' | 'k') => {
                return Err("references back, as \\1 is one, are not supported".to_owned());
            }
            Some('c') => match self.rest.next() {
                Some(letter) if letter.is_ascii_alphabetic() => char::from(letter as u8 % 32),
                _ => return Err("\\c is not followed by a letter".to_owned()),
            },
            Some('x') => char::from_u32(self.hex(2)?).unwrap_or_default(),
            Some('u') => self.unicode()?,
            Some(letter) if letter.is_ascii_alphanumeric() => {
                return Err(format!("\\{letter} has no meaning in ECMA-262"));
            }
            Some(other) => other,
        };
        Ok(Escaped::Character(character))
    }

    fn hex(&mut self, digits: usize) -> Result<u32, String> {
        let mut value = 0;
        for _ in 0..digits {
            let digit = self.rest.next().and_then(|character| character.to_digit(16));
            value = value * 16 + digit.ok_or("\\x or \\u is not followed by enough digits")?;
        }
        Ok(value)
    }

    fn unicode(&mut self) -> Result<char, String> {
        let code = if self.rest.next_if_eq(&'{').is_some() {
            let digits: String = self.rest.by_ref().take_while(|character| *character != '}').collect();
            u32::from_str_radix(&digits, 16).ok()
        } else {
            let first = self.hex(4)?;
            let mut ahead = self.rest.clone();
            let is_pair =
                (0xd800..0xdc00).contains(&first) && ahead.next() == Some('\\') && ahead.next() == Some('u');
            if is_pair {
                self.rest = ahead;
                let second = self.hex(4)?;
                (0xdc00..0xe000)
                    .contains(&second)
                    .then(|| 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
            } else {
                Some(first)
            }
        };
        code.and_then(char::from_u32).ok_or_else(|| "\\u does not stand for a character".to_owned())
    }

    /// The characters with a property of Unicode. Letters are those that words are written with,
    /// some marks included: exact tables would weigh more than all the rest.
    fn property(&mut self) -> Result<Vec<(char, char)>, String> {
        let is_open = self.rest.next() == Some('{');
        let name: String = self.rest.by_ref().take_while(|character| *character != '}').collect();
        let name = name.strip_prefix("General_Category=").or(name.strip_prefix("gc=")).unwrap_or(&name);
        let holds: fn(char) -> bool = match name {
            "Any" => |_| true,
            "ASCII" => |it| it.is_ascii(),
            "Alphabetic" | "Alpha" => char::is_alphabetic,
            "L" | "Letter" => |it| it.is_alphabetic() && !it.is_numeric(),
            "Lu" | "Uppercase_Letter" => |it| it.is_uppercase() && !it.is_numeric(),
            "Ll" | "Lowercase_Letter" => |it| it.is_lowercase() && !it.is_numeric(),
            "Uppercase" | "Upper" => char::is_uppercase,
            "Lowercase" | "Lower" => char::is_lowercase,
            "N" | "Number" => char::is_numeric,
            "White_Space" | "space" => char::is_whitespace,
            "Cc" | "Control" | "cntrl" => char::is_control,
            _ => return Err(format!("the property \\p{{{name}}} is not supported")),
        };
        if !is_open {
            return Err("\\p is not followed by a brace".to_owned());
        }
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut before = false;
        for character in '\0'..=char::MAX {
            let is_in = holds(character);
            match ranges.last_mut() {
                Some(range) if is_in && before => range.1 = character,
                _ if is_in => ranges.push((character, character)),
                _ => {}
            }
            before = is_in;
        }
        Ok(ranges)
    }
}

/// All other characters.
fn complement(mut ranges: Vec<(char, char)>) -> Vec<(char, char)> {
    ranges.sort_unstable();
    let mut others = Vec::with_capacity(ranges.len() + 1);
    // The first character that may be missing; none beyond the last.
    let mut next = Some('\0');
    for (first, last) in ranges {
        let Some(begin) = next else { break };
        if let Some(before) = ('\0'..first).next_back().filter(|before| begin <= *before) {
            others.push((begin, before));
        }
        next = (last..=char::MAX).nth(1).map(|after| after.max(begin));
    }
    others.extend(next.map(|begin| (begin, char::MAX)));
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches() {
        for (pattern, good, bad) in [
            ("^a+$", &["a", "aaa"][..], &["", "ab", "a\n"][..]),
            ("b", &["abc", "b"], &["a", ""]),
            ("^(foo|ba[rz])?$", &["", "foo", "baz"], &["fooo", "ba"]),
            ("^\\d{2,3}$", &["12", "123"], &["1", "1234", "١٢"]),
            ("^\\w\\W$", &["a-", "_é"], &["aa", "é-"]),
            ("^\\s\\S$", &["\u{feff}x", "\u{3000}x", "\nx"], &["xx", "\u{200b}x", " \u{2029}"]),
            ("^[\\S]$", &["x"], &["\u{2029}", " "]),
            ("^.$", &["é", "😀"], &["\n", "\r", "\u{2028}", "ab"]),
            ("^[^a]$", &["b", "\n"], &["a", ""]),
            ("^[\\w.-]+@[a-z\\-]+$", &["a.b-c@x-y"], &["a b@x", "@"]),
            ("^[a-]$", &["a", "-"], &["b"]),
            ("^[\\d-x]$", &["1", "-", "x"], &["y"]),
            ("^[[:&&~^]$", &["[", ":", "&", "~", "^"], &["a", "]"]),
            ("[]", &[], &["", "a"]),
            ("^[^]$", &["a", "\n"], &["", "ab"]),
            ("^a{,2}{$", &["a{,2}{"], &["a", "aa"]),
            ("^[\\b]\\0\\x41\\u0042\\u{43}\\ud83d\\ude00\\cJ\\/$", &["\u{8}\0ABC😀\n/"], &["bABC"]),
            ("(?<year>\\d{4})-(?:x)", &["2026-x"], &["26-x"]),
            ("^(?i:ab)c$", &["ABc"], &["ABC"]),
            ("\\bfoo\\b", &["a foo b"], &["food"]),
            ("^\\p{Lu}\\P{L}\\p{N}[\\p{Ll}_]$", &["É-½é", "A-5_"], &["é-1_"]),
            ("a b#c", &["a b#c"], &["abc"]),
            ("^a{2}?$", &["aa"], &["a"]),
        ] {
            let compiled = Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            for text in good {
                assert!(compiled.is_match(text), "{pattern} {text:?}");
            }
            for text in bad {
                assert!(!compiled.is_match(text), "{pattern} {text:?}");
            }
        }
    }

    #[test]
    fn what_is_refused() {
        for (pattern, word) in [
            ("(?=a)", "ahead"),
            ("(?!a)", "ahead"),
            ("(?<=a)", "behind"),
            ("(?<!a)", "behind"),
            ("(a)\\1", "back"),
            ("(?<n>a)\\k<n>", "back"),
            ("\\Z", "no meaning"),
            ("\\p{Script=Greek}", "not supported"),
            ("a\\", "backslash"),
            ("[a", "closed"),
            ("[b-a]", "before"),
            ("\\u12", "digits"),
            ("\\ud800", "character"),
            ("(a", ""),
            ("a)", ""),
            ("*", ""),
            ("(?m:a)", ""),
            ("a{1000000}", ""),
            ("(((((a{99}){99}){99}){99}){99})", ""),
        ] {
            let error = Pattern::new(pattern).expect_err(pattern);
            assert!(error.contains(word), "{pattern}: {error}");
        }
        assert!(Pattern::new(&"(".repeat(100_000)).is_err());
    }

    #[test]
    fn all_other_characters() {
        assert_eq!(complement(vec![]), [('\0', char::MAX)]);
        assert_eq!(complement(vec![('\0', char::MAX)]), []);
        assert_eq!(complement(vec![('b', 'd'), ('c', 'c'), ('e', 'x')]), [('\0', 'a'), ('y', char::MAX)]);
        let around = complement(vec![('\u{d7ff}', '\u{e000}')]);
        assert_eq!(around, [('\0', '\u{d7fe}'), ('\u{e001}', char::MAX)]);
    }

    #[test]
    fn no_pattern_makes_it_panic() {
        use crate::jsonrpc::json::proof::random;
        let mut seed = 11;
        let parts = [
            "\\", "(", ")", "[", "]", "?", "{", "}", "^", "-", "1", "u", "p", "{L}", "d", "<", ">", ":", "|",
            "*", "😀", "c",
        ];
        for _ in 0..20_000 {
            let pattern: String =
                (0..1 + random(&mut seed, 8)).map(|_| parts[random(&mut seed, parts.len())]).collect();
            if let Ok(pattern) = Pattern::new(&pattern) {
                pattern.is_match("a1-😀");
            }
        }
    }
}

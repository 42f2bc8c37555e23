//! A JSON text as a flat list of its values, so that a schema can look at any of them.
//!
//! Nothing is converted: strings and numbers stay slices of the text, because a conversion would
//! lose digits. Reading takes one pass, one allocation and no recursion.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr2;

use crate::limits::{JSON_SCHEMA_INSTANCE_DEPTH_MAX, JSON_SCHEMA_TEXT_MAX};

/// Which value of a document: its position in the list. The root is 0.
pub(super) type At = u32;

/// What a value is. A number is told from an integer by its value, not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Object,
    Array,
    Number,
    String,
}

/// One value, or the name of a member. After an object come its names and values in turn, after an
/// array its elements, each followed by what is inside of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    kind: Kind,
    /// Of a string: nothing in it is escaped. Of a number: it is digits, perhaps with a minus.
    is_plain: bool,
    /// Where its text begins, and where it ends.
    start: u32,
    end: u32,
    /// The position behind all that is inside of it. While it is being read: what contains it.
    next: At,
    /// Elements of an array, members of an object.
    len: u32,
}

/// A text and its values.
#[derive(Debug)]
pub(super) struct Document {
    text: Box<str>,
    nodes: Box<[Node]>,
}

impl Document {
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let nodes = parse(text)?.into_boxed_slice();
        Ok(Self { text: text.into(), nodes })
    }

    pub(super) fn view(&self) -> View<'_> {
        View { text: &self.text, nodes: &self.nodes }
    }
}

/// A document to look into.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    text: &'a str,
    nodes: &'a [Node],
}

const NULL: Node = Node { kind: Kind::Null, is_plain: true, start: 0, end: 0, next: 0, len: 0 };

impl<'a> View<'a> {
    /// The nodes are those that [`parse`] made of this text.
    pub(super) fn new(text: &'a str, nodes: &'a [Node]) -> Self {
        Self { text, nodes }
    }

    fn node(self, at: At) -> &'a Node {
        self.nodes.get(at as usize).unwrap_or(&NULL)
    }

    pub(super) fn kind(self, at: At) -> Kind {
        self.node(at).kind
    }

    /// How many elements or members it has.
    pub(super) fn len(self, at: At) -> usize {
        self.node(at).len as usize
    }

    /// The position behind all that is inside of it.
    pub(super) fn end(self, at: At) -> At {
        self.node(at).next.max(at + 1)
    }

    /// How it is spelled.
    pub(super) fn text(self, at: At) -> &'a str {
        self.text.get(self.span(at)).unwrap_or_default()
    }

    /// Where it is spelled.
    pub(super) fn span(self, at: At) -> Range<usize> {
        let node = self.node(at);
        node.start as usize..node.end as usize
    }

    pub(super) fn is_true(self, at: At) -> bool {
        self.text(at) == "true"
    }

    /// Whether it is spelled as digits, perhaps with a minus.
    pub(super) fn is_plain_number(self, at: At) -> bool {
        let node = self.node(at);
        node.kind == Kind::Number && node.is_plain
    }

    /// A string's text if it is spelled as it is.
    pub(super) fn plain_string(self, at: At) -> Option<&'a str> {
        let node = self.node(at);
        let is_plain = node.kind == Kind::String && node.is_plain;
        is_plain.then(|| self.text.get(node.start as usize + 1..node.end as usize - 1)).flatten()
    }

    /// A string's text; lone surrogates become U+FFFD. Of what is no string: nothing.
    pub(super) fn string(self, at: At) -> Cow<'a, str> {
        if self.kind(at) != Kind::String {
            return Cow::Borrowed("");
        }
        match self.plain_string(at) {
            Some(plain) => Cow::Borrowed(plain),
            None => {
                let quoted = self.text(at);
                Cow::Owned(unescape(quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default()))
            }
        }
    }

    /// The text of a value that may be no string at all.
    pub(super) fn as_string(self, at: At) -> Option<Cow<'a, str>> {
        (self.kind(at) == Kind::String).then(|| self.string(at))
    }

    /// Positions of the elements of an array.
    pub(super) fn elements(self, at: At) -> impl Iterator<Item = At> + use<'a> {
        let count = if self.kind(at) == Kind::Array { self.len(at) } else { 0 };
        let mut next = at + 1;
        (0..count).map(move |_| {
            let element = next;
            next = self.end(element);
            element
        })
    }

    /// Positions of the names and values of an object's members.
    pub(super) fn members(self, at: At) -> impl Iterator<Item = (At, At)> + use<'a> {
        let count = if self.kind(at) == Kind::Object { self.len(at) } else { 0 };
        let mut next = at + 1;
        (0..count).map(move |_| {
            let name = next;
            next = self.end(name + 1);
            (name, name + 1)
        })
    }

    /// The last member of this name.
    pub(super) fn get(self, at: At, wanted: &str) -> Option<At> {
        let is_wanted = |name: At| match self.plain_string(name) {
            Some(plain) => plain == wanted,
            None => self.string(name) == wanted,
        };
        self.members(at).filter(|(name, _)| is_wanted(*name)).map(|(_, value)| value).last()
    }

    /// What a JSON pointer (RFC 6901) leads to.
    pub(super) fn pointed(self, from: At, pointer: &str) -> Option<At> {
        let mut at = from;
        let mut steps = pointer.split('/');
        if !steps.next()?.is_empty() {
            return None;
        }
        for step in steps {
            at = match self.kind(at) {
                Kind::Object => self.get(at, &step.replace("~1", "/").replace("~0", "~"))?,
                Kind::Array if step == "0" || !step.starts_with(['0', '+']) => {
                    self.elements(at).nth(step.parse().ok()?)?
                }
                _ => return None,
            };
        }
        Some(at)
    }

    /// The steps from the root to a value or a name: each the name of a member or the number of an
    /// element.
    pub(super) fn path(self, target: At) -> Vec<Step<'a>> {
        let mut steps = Vec::new();
        let mut at = 0;
        while at < target {
            let holds = |value: At| value == target || (value < target && target < self.end(value));
            let step = match self.kind(at) {
                Kind::Object => self
                    .members(at)
                    .find(|(name, value)| *name == target || holds(*value))
                    .map(|(name, value)| (Step::Member(self.string(name)), value)),
                _ => (0..)
                    .zip(self.elements(at))
                    .find(|(_, element)| holds(*element))
                    .map(|(index, element)| (Step::Element(index), element)),
            };
            let Some((step, inside)) = step else { break };
            steps.push(step);
            at = inside;
        }
        steps
    }
}

impl View<'_> {
    /// Whether this is the name of a member.
    pub(super) fn is_name(self, target: At) -> bool {
        let mut at = 0;
        while at < target {
            let inside = match self.kind(at) {
                Kind::Object => self.members(at).find(|(_, value)| target < self.end(*value)),
                _ => self.elements(at).find(|element| target < self.end(*element)).map(|at| (at, at)),
            };
            match inside {
                Some((name, value)) if name == target => return value != target,
                Some((_, value)) => at = value,
                None => return false,
            }
        }
        false
    }
}

/// From a value to one directly inside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Member(Cow<'a, str>),
    Element(usize),
}

fn unescape(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let mut characters = after.chars();
        match characters.next() {
            Some('u') => {
                let unit = |text: &str| u32::from_str_radix(text.get(..4)?, 16).ok();
                let first = unit(characters.as_str()).unwrap_or(0xfffd);
                rest = characters.as_str().get(4..).unwrap_or_default();
                let second =
                    || rest.strip_prefix("\\u").and_then(unit).filter(|it| (0xdc00..0xe000).contains(it));
                match first {
                    0xd800..0xdc00 if let Some(second) = second() => {
                        let both = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        out.push(char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER));
                        rest = rest.get(6..).unwrap_or_default();
                    }
                    first => out.push(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)),
                }
                continue;
            }
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some(other) => out.push(other),
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out
}

/// The values of a JSON text in their order.
///
/// # Errors
/// It is not JSON (RFC 8259), or beyond what is looked at.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, &'static str> {
    if text.len() > JSON_SCHEMA_TEXT_MAX {
        return Err("is too long to be checked");
    }
    // A guess that is seldom too small: names and values of five bytes and their punctuation.
    let nodes = Vec::with_capacity(4 + text.len() / 8);
    Parser { text, bytes: text.as_bytes(), at: 0, nodes }.run()
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
}

/// No container: the root has been read.
const OUTSIDE: At = At::MAX;

const NOT_JSON: &str = "is not JSON";

impl Parser<'_> {
    fn run(mut self) -> Result<Vec<Node>, &'static str> {
        let mut open = OUTSIDE;
        let mut depth = 0;
        'value: loop {
            // A value begins here.
            let here = self.nodes.len() as At;
            match self.peek() {
                first @ Some(b'{' | b'[') => {
                    depth += 1;
                    if depth > JSON_SCHEMA_INSTANCE_DEPTH_MAX {
                        return Err("is nested too deeply to be checked");
                    }
                    let kind = if first == Some(b'{') { Kind::Object } else { Kind::Array };
                    let start = self.at as u32;
                    self.nodes.push(Node { kind, is_plain: true, start, end: 0, next: open, len: 0 });
                    self.at += 1;
                    open = here;
                    let close = if kind == Kind::Object { b'}' } else { b']' };
                    if self.peek() != Some(close) {
                        self.count_one(open);
                        if kind == Kind::Object {
                            self.name()?;
                        }
                        continue 'value;
                    }
                }
                _ => self.scalar()?,
            }
            // A value has ended, or an empty container is about to.
            loop {
                let Some(container) = self.nodes.get(open as usize).copied() else {
                    return if self.peek().is_none() { Ok(self.nodes) } else { Err(NOT_JSON) };
                };
                match (self.peek(), container.kind) {
                    (Some(b','), kind) => {
                        self.at += 1;
                        self.count_one(open);
                        if kind == Kind::Object {
                            self.name()?;
                        }
                        continue 'value;
                    }
                    (Some(b'}'), Kind::Object) | (Some(b']'), Kind::Array) => {
                        self.at += 1;
                        let next = self.nodes.len() as At;
                        if let Some(node) = self.nodes.get_mut(open as usize) {
                            node.end = self.at as u32;
                            node.next = next;
                        }
                        open = container.next;
                        depth -= 1;
                    }
                    _ => return Err(NOT_JSON),
                }
            }
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn count_one(&mut self, container: At) {
        if let Some(node) = self.nodes.get_mut(container as usize) {
            node.len += 1;
        }
    }

    fn name(&mut self) -> Result<(), &'static str> {
        if self.peek() != Some(b'"') {
            return Err(NOT_JSON);
        }
        self.string()?;
        if self.peek() != Some(b':') {
            return Err(NOT_JSON);
        }
        self.at += 1;
        Ok(())
    }

    fn push(&mut self, kind: Kind, is_plain: bool, start: usize) {
        let next = self.nodes.len() as At + 1;
        self.nodes.push(Node { kind, is_plain, start: start as u32, end: self.at as u32, next, len: 0 });
    }

    fn scalar(&mut self) -> Result<(), &'static str> {
        let start = self.at;
        let rest = &self.text[start..];
        let word = |word: &str| rest.starts_with(word).then_some(word.len());
        if let Some(byte) = self.bytes.get(start) {
            let (kind, length) = match byte {
                b'"' => return self.string(),
                b't' => (Kind::Bool, word("true")),
                b'f' => (Kind::Bool, word("false")),
                b'n' => (Kind::Null, word("null")),
                _ => return self.number(),
            };
            self.at += length.ok_or(NOT_JSON)?;
            self.push(kind, true, start);
            return Ok(());
        }
        Err(NOT_JSON)
    }

    fn string(&mut self) -> Result<(), &'static str> {
        let start = self.at;
        self.at += 1;
        let mut is_plain = true;
        loop {
            let rest = &self.bytes[self.at..];
            let found = memchr2(b'"', b'\\', rest).ok_or(NOT_JSON)?;
            if rest[..found].iter().any(|byte| *byte < 0x20) {
                return Err(NOT_JSON);
            }
            self.at += found + 1;
            if rest[found] == b'"' {
                break;
            }
            is_plain = false;
            self.at += match rest.get(found + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 1,
                Some(b'u') => {
                    let digits = rest.get(found + 2..found + 6).ok_or(NOT_JSON)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return Err(NOT_JSON);
                    }
                    5
                }
                _ => return Err(NOT_JSON),
            };
        }
        self.push(Kind::String, is_plain, start);
        Ok(())
    }

    fn number(&mut self) -> Result<(), &'static str> {
        let start = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        let leads_with_zero = self.bytes.get(self.at) == Some(&b'0');
        if self.digits()? > 1 && leads_with_zero {
            return Err(NOT_JSON);
        }
        let mut is_plain = true;
        if self.bytes.get(self.at) == Some(&b'.') {
            is_plain = false;
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            is_plain = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        self.push(Kind::Number, is_plain, start);
        Ok(())
    }

    fn digits(&mut self) -> Result<usize, &'static str> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(NOT_JSON) } else { Ok(count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::random;

    #[test]
    fn what_is_json_is_what_the_reader_of_messages_takes() {
        let table = [
            "{}",
            "[]",
            " [ 1 , 2 ] ",
            "{\"a\":{\"b\":[]},\"c\":1}",
            "0",
            "-0",
            "01",
            "1.",
            ".5",
            "1e5",
            "1E+05",
            "1e",
            "-",
            "+1",
            "nul",
            "null",
            "nulll",
            "tru",
            "\"",
            "\"\\\"",
            "\"a\\u00e9\"",
            "\"\\u00g0\"",
            "\"\\x\"",
            "\"\u{1}\"",
            "\"\n\"",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "{\"a\":1,}",
            "[1}",
            "{\"a\":1]",
            "[",
            "]",
            "",
            " ",
            "1 2",
            "[]]",
            "{\"a\":1 \"b\":2}",
            "[1 2]",
            "\u{a0}1",
            "\"é\u{10ffff}\"",
            "NaN",
        ];
        for text in table {
            let expected = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(parse(text).is_ok(), expected, "{text:?}");
        }
        // And of texts that are nearly JSON.
        let mut seed = 7;
        let letters =
            ["{", "}", "[", "]", ",", ":", "\"a\"", "\"", "\\", "1", "-", ".", "e", "0", "true", "null", " "];
        for _ in 0..200_000 {
            let text: String =
                (0..1 + random(&mut seed, 9)).map(|_| letters[random(&mut seed, letters.len())]).collect();
            let expected = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            assert_eq!(parse(&text).is_ok(), expected, "{text:?}");
        }
    }

    #[test]
    fn values_are_found_again() {
        let text = r#" {"a": [1, {"b~/c": "x\ny"}, []], "d\u0065": -2.5, "a": [10, 20]} "#;
        let nodes = parse(text).unwrap();
        let view = View::new(text, &nodes);
        assert_eq!(view.len(0), 3);
        let first = view.members(0).next().unwrap().1;
        assert_eq!(view.text(first), r#"[1, {"b~/c": "x\ny"}, []]"#);
        let inner = view.elements(first).nth(1).unwrap();
        let (name, value) = view.members(inner).next().unwrap();
        assert_eq!((view.string(name).as_ref(), view.string(value).as_ref()), ("b~/c", "x\ny"));
        let path = [Step::Member("a".into()), Step::Element(1), Step::Member("b~/c".into())];
        assert_eq!(view.path(value), path);
        assert_eq!(view.path(name), path);
        assert_eq!(view.path(0), []);
        assert_eq!(view.pointed(0, "/a/1").map(|at| view.text(at)), Some("20"), "the last of two");
        assert_eq!(view.pointed(inner, "/b~0~1c"), Some(value));
        assert_eq!(view.pointed(0, "/de").map(|at| view.text(at)), Some("-2.5"));
        for nowhere in ["a", "/x", "/a/2", "/a/01", "/a/-1", "/a/+1", "/a/", "/a/0/x"] {
            assert_eq!(view.pointed(0, nowhere), None, "{nowhere}");
        }
        assert!(view.is_plain_number(view.pointed(0, "/a/0").unwrap()));
        assert!(!view.is_plain_number(view.pointed(0, "/de").unwrap()));
    }

    #[test]
    fn strings_are_what_was_meant() {
        for (json, meant) in [
            (r#""\u00e9\t\/\\\"\b\f\r\n""#, "é\t/\\\"\u{8}\u{c}\r\n"),
            (r#""\ud83d\ude00!""#, "😀!"),
            (r#""\ud83dx\ude00""#, "\u{fffd}x\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\\\"""#, "\\\""),
        ] {
            let nodes = parse(json).unwrap();
            assert_eq!(View::new(json, &nodes).string(0), meant, "{json}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(JSON_SCHEMA_INSTANCE_DEPTH_MAX)).is_ok());
        assert!(parse(&nested(JSON_SCHEMA_INSTANCE_DEPTH_MAX + 1)).is_err());
        assert!(parse(&"[".repeat(1_000_000)).is_err());
    }
}

//! Patterns for paths: `*`, `?`, `[a-z]`, `**` and `{a,b}`.
//!
//! A pattern is cut at its slashes into parts; within a part and between the parts the last star
//! alone is ever tried again, so the time is bounded by the product of both lengths.

use std::path::{Component, Path, PathBuf};

use crate::limits::{GLOB_ALTERNATIVES_MAX, GLOB_LENGTH_MAX};

/// A pattern without its beginning: it is matched with the names of a path, one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// `**`: any number of names; at the end at least one.
    AnyDepth,
    /// Exactly this name.
    Name(Vec<u8>),
    /// Names that look like this.
    Like(Vec<Token>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// `*`
    Any,
    /// `?`
    One,
    /// `[a-z]`, `[!a]`
    Set { is_negated: bool, ranges: Vec<(u32, u32)> },
    /// Itself.
    Char(u32),
}

impl Pattern {
    /// Cuts a pattern that has no braces. Parts that say nothing are left out. The error is a
    /// clause that fits behind the pattern.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let mut parts: Vec<Part> = Vec::new();
        for name in text.split(|byte| *byte == b'/') {
            match name {
                b"" | b"." => {}
                b"**" => {
                    if parts.last() != Some(&Part::AnyDepth) {
                        parts.push(Part::AnyDepth);
                    }
                }
                _ => parts.push(part(name)?),
            }
        }
        if parts.is_empty() { Err("names nothing".into()) } else { Ok(Self { parts }) }
    }

    /// This one, at any depth.
    #[must_use]
    pub fn at_any_depth(mut self) -> Self {
        if self.parts.first() != Some(&Part::AnyDepth) {
            self.parts.insert(0, Part::AnyDepth);
        }
        self
    }

    /// Whether it is of a single name.
    pub fn is_one_name(&self) -> bool {
        self.parts.len() == 1
    }

    /// Whether the path that is made of these names matches.
    pub fn matches(&self, names: &[&[u8]]) -> bool {
        let parts = &self.parts;
        let (mut part, mut name) = (0, 0);
        // Behind the last `**`, and the name that is tried there.
        let mut again: Option<(usize, usize)> = None;
        while name < names.len() {
            match parts.get(part) {
                Some(Part::AnyDepth) if part + 1 == parts.len() => return true,
                Some(Part::AnyDepth) => {
                    part += 1;
                    again = Some((part, name));
                }
                Some(wanted) if wanted.matches(names[name]) => {
                    part += 1;
                    name += 1;
                }
                _ => match &mut again {
                    Some((behind, tried)) => {
                        *tried += 1;
                        (part, name) = (*behind, *tried);
                    }
                    None => return false,
                },
            }
        }
        part == parts.len()
    }

    /// Whether something below the folder that is made of these names may match.
    fn may_match_below(&self, names: &[&[u8]]) -> bool {
        for (at, name) in names.iter().enumerate() {
            match self.parts.get(at) {
                Some(Part::AnyDepth) => return true,
                Some(part) if part.matches(name) => {}
                _ => return false,
            }
        }
        names.len() < self.parts.len()
    }

    /// Whether the folder is named on the way to what matches, and not just met by a star.
    fn names(&self, names: &[&[u8]]) -> bool {
        let is_on_the_way =
            names.iter().zip(&self.parts).all(|(name, part)| *part != Part::AnyDepth && part.matches(name));
        let last = names.len().checked_sub(1).and_then(|last| self.parts.get(last));
        is_on_the_way && names.len() < self.parts.len() && matches!(last, Some(Part::Name(_)))
    }
}

impl Part {
    fn matches(&self, name: &[u8]) -> bool {
        match self {
            Part::AnyDepth => true,
            Part::Name(wanted) => wanted == name,
            Part::Like(tokens) => is_like(tokens, name),
        }
    }
}

fn is_like(tokens: &[Token], name: &[u8]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while at < name.len() {
        let (character, length) = character(&name[at..]);
        let fits = match tokens.get(token) {
            Some(Token::Any) => {
                token += 1;
                again = Some((token, at));
                continue;
            }
            Some(Token::One) => true,
            Some(Token::Char(wanted)) => *wanted == character,
            Some(Token::Set { is_negated, ranges }) => {
                ranges.iter().any(|(first, last)| (first..=last).contains(&&character)) != *is_negated
            }
            None => false,
        };
        if fits {
            token += 1;
            at += length;
        } else if let Some((behind, tried)) = &mut again {
            *tried += self::character(&name[*tried..]).1;
            (token, at) = (*behind, *tried);
        } else {
            return false;
        }
    }
    tokens[token..].iter().all(|token| *token == Token::Any)
}

/// The first character and its length. A byte that is no part of one counts as a character that
/// UTF-8 cannot spell.
fn character(bytes: &[u8]) -> (u32, usize) {
    let first = bytes[0];
    let length = match first {
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
        _ => 1,
    };
    let text = bytes.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    match text.and_then(|text| text.chars().next()) {
        Some(character) => (character.into(), length),
        None => (0xd800 + u32::from(first), 1),
    }
}

fn part(text: &[u8]) -> Result<Part, String> {
    let mut tokens = Vec::new();
    let mut literal = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (mut value, mut length) = character(&text[at..]);
        match text[at] {
            b'*' => {
                if tokens.last() != Some(&Token::Any) {
                    tokens.push(Token::Any);
                }
                at += 1;
                continue;
            }
            b'?' => {
                tokens.push(Token::One);
                at += 1;
                continue;
            }
            b'[' => {
                let (set, length) = set(&text[at..])?;
                tokens.push(set);
                at += length;
                continue;
            }
            b'\\' => {
                at += 1;
                if at == text.len() {
                    return Err("ends with a backslash that escapes nothing".into());
                }
                (value, length) = character(&text[at..]);
            }
            _ => {}
        }
        literal.extend_from_slice(&text[at..at + length]);
        tokens.push(Token::Char(value));
        at += length;
    }
    let is_literal = tokens.iter().all(|token| matches!(token, Token::Char(_)));
    Ok(if is_literal { Part::Name(literal) } else { Part::Like(tokens) })
}

/// `[a-z]`, and how long it is. A bracket that comes first is one of the characters.
fn set(text: &[u8]) -> Result<(Token, usize), String> {
    let open = || "has a [ that is not closed".to_string();
    let mut at = 1;
    let is_negated = text.get(at).is_some_and(|byte| b"!^".contains(byte));
    at += usize::from(is_negated);
    let first_at = at;
    let mut ranges = Vec::new();
    let one = |at: &mut usize| -> Result<u32, String> {
        *at += usize::from(text.get(*at) == Some(&b'\\'));
        let (value, length) = character(text.get(*at..).filter(|rest| !rest.is_empty()).ok_or_else(open)?);
        *at += length;
        Ok(value)
    };
    while at == first_at || text.get(at) != Some(&b']') {
        let first = one(&mut at)?;
        let is_range = text.get(at) == Some(&b'-') && text.get(at + 1).is_some_and(|byte| *byte != b']');
        let mut last = first;
        if is_range {
            at += 1;
            last = one(&mut at)?;
        }
        if last < first {
            return Err("has a range whose end comes before its beginning".into());
        }
        ranges.push((first, last));
    }
    Ok((Token::Set { is_negated, ranges }, at + 1))
}

/// What `--watch` and `--ignore` take: patterns that begin at a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    /// The folder up to the first part that is not just a name, and what follows it.
    alternatives: Vec<(PathBuf, Pattern)>,
}

impl Glob {
    /// Reads what was typed. A relative pattern begins at `root`, wherever below it if it is a
    /// single name; `..` leads out of it. The error is a clause that fits behind the pattern.
    pub fn parse(text: &str, root: &Path) -> Result<Self, String> {
        if text.len() > GLOB_LENGTH_MAX {
            return Err(format!("is longer than {GLOB_LENGTH_MAX} bytes"));
        }
        if text.starts_with('!') {
            return Err("begins with !; name what is left out with --ignore".into());
        }
        let alternatives: Result<_, String> =
            unfold(text)?.into_iter().map(|text| alternative(&text, root)).collect();
        Ok(Self { alternatives: alternatives? })
    }

    /// Exactly this path.
    pub fn exactly(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        let base = path.parent().unwrap_or(Path::new("/")).to_path_buf();
        Self { alternatives: vec![(base, Pattern { parts: vec![Part::Name(name)] })] }
    }

    /// The same, beginning at these folders.
    #[must_use]
    pub fn with_bases(mut self, real: impl Fn(&Path) -> PathBuf) -> Self {
        for (base, _) in &mut self.alternatives {
            *base = real(base);
        }
        self
    }

    /// Whether it matches an absolute path.
    pub fn matches(&self, path: &Path) -> bool {
        self.below(path, |pattern, names| pattern.matches(names))
    }

    /// Whether something below this folder may match.
    pub fn may_match_below(&self, folder: &Path) -> bool {
        self.leads_through(folder) || self.below(folder, Pattern::may_match_below)
    }

    /// Whether the folder is named on the way to what matches, and not just met by a star.
    pub fn names(&self, folder: &Path) -> bool {
        self.leads_through(folder) || self.below(folder, Pattern::names)
    }

    /// The folders that its alternatives begin at.
    pub fn bases(&self) -> impl Iterator<Item = &Path> {
        self.alternatives.iter().map(|(base, _)| base.as_path())
    }

    fn leads_through(&self, folder: &Path) -> bool {
        self.bases().any(|base| base.starts_with(folder))
    }

    fn below(&self, path: &Path, holds: impl Fn(&Pattern, &[&[u8]]) -> bool) -> bool {
        self.alternatives
            .iter()
            .any(|(base, pattern)| path.strip_prefix(base).is_ok_and(|rest| holds(pattern, &names(rest))))
    }
}

/// The names that a relative path is made of.
pub fn names(path: &Path) -> Vec<&[u8]> {
    path.iter().map(|name| name.as_encoded_bytes()).collect()
}

fn alternative(text: &str, root: &Path) -> Result<(PathBuf, Pattern), String> {
    let is_folder = text.ends_with('/');
    let trimmed = text.trim_end_matches('/');
    let mut base = if text.starts_with('/') { PathBuf::from("/") } else { root.to_path_buf() };
    let mut rest = trimmed;
    // What is just a name belongs to the folder that it begins at, the last part excepted.
    while let Some((name, behind)) = rest.split_once('/') {
        match name {
            "" | "." => {}
            ".." => {
                base.pop();
            }
            name => match part(name.as_bytes())? {
                Part::Name(name) => {
                    base.push(String::from_utf8(name).map_err(|_| "is not UTF-8")?);
                }
                _ => break,
            },
        }
        rest = behind;
    }
    if Path::new(rest).components().any(|part| part == Component::ParentDir) {
        return Err("has .. where it cannot be followed".into());
    }
    let mut pattern = Pattern::parse(rest.as_bytes())?;
    if !trimmed.contains('/') {
        pattern = pattern.at_any_depth();
    }
    if is_folder {
        pattern.parts.push(Part::AnyDepth);
    }
    Ok((base, pattern))
}

/// All that a pattern with `{a,b}` stands for.
fn unfold(text: &str) -> Result<Vec<String>, String> {
    let mut unfolded = Vec::new();
    let mut left = vec![text.to_string()];
    // Each step takes one pair of braces away.
    for _ in 0..4 * GLOB_ALTERNATIVES_MAX {
        let Some(text) = left.pop() else { return Ok(unfolded) };
        let Some((open, cuts)) = braces(&text)? else {
            unfolded.push(text);
            continue;
        };
        let close = cuts[cuts.len() - 1];
        let mut from = open + 1;
        let pieces: Vec<&str> = cuts
            .iter()
            .map(|cut| {
                let piece = &text[from..*cut];
                from = cut + 1;
                piece
            })
            .collect();
        // Last in, first out.
        left.extend(
            pieces.iter().rev().map(|piece| format!("{}{piece}{}", &text[..open], &text[close + 1..])),
        );
        if unfolded.len() + left.len() > GLOB_ALTERNATIVES_MAX {
            break;
        }
    }
    Err(format!("stands for more than {GLOB_ALTERNATIVES_MAX} patterns"))
}

/// Where the first braces open, and where their commas and their end are.
fn braces(text: &str) -> Result<Option<(usize, Vec<usize>)>, String> {
    let mut open = None;
    let mut cuts = Vec::new();
    let mut depth = 0_usize;
    // Where the first character of a set is; a bracket there is one of its characters.
    let mut set = None;
    let mut escaped = false;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().copied().enumerate() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match byte {
            b'\\' => escaped = true,
            b']' if set.is_some_and(|first| at > first) => set = None,
            _ if set.is_some() => {}
            b'[' => set = Some(at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'!' | b'^')))),
            b'{' => {
                depth += 1;
                open.get_or_insert(at);
            }
            b',' if depth == 1 => cuts.push(at),
            b'}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    cuts.push(at);
                    break;
                }
            }
            _ => {}
        }
    }
    match open {
        Some(_) if depth > 0 => Err("has a { that is not closed".into()),
        Some(open) => Ok(Some((open, cuts))),
        None => Ok(None),
    }
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;

//! Identifiers of schemas, and references to them (RFC 3986). They are names: nothing is fetched.

use std::borrow::Cow;

/// A reference without its fragment, and the fragment with its escapes read.
pub(super) fn split(reference: &str) -> (&str, Cow<'_, str>) {
    let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    (uri, unescape(fragment))
}

/// What a reference without a fragment means where `base` is in force (section 5.2). Without any
/// base it stays what it is.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    let it = Parts::of(reference);
    if it.scheme.is_some() {
        return reference.to_owned();
    }
    let base = Parts::of(base);
    let (authority, path, query) = if it.authority.is_some() {
        (it.authority, without_dots(it.path), it.query)
    } else if it.path.is_empty() {
        (base.authority, base.path.to_owned(), it.query.or(base.query))
    } else if it.path.starts_with('/') {
        (base.authority, without_dots(it.path), it.query)
    } else {
        let folder = match base.path.rfind('/') {
            Some(slash) => &base.path[..=slash],
            None if base.authority.is_some() => "/",
            None => "",
        };
        (base.authority, without_dots(&format!("{folder}{}", it.path)), it.query)
    };
    let mut uri = String::with_capacity(reference.len() + path.len() + 32);
    for (before, part, after) in
        [("", base.scheme, ":"), ("//", authority, ""), ("", Some(path.as_str()), ""), ("?", query, "")]
    {
        if let Some(part) = part {
            uri.extend([before, part, after]);
        }
    }
    uri
}

struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(uri: &'a str) -> Self {
        let is_scheme = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_alphabetic())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        };
        let scheme = uri.split_once(':').filter(|(scheme, _)| is_scheme(scheme));
        let rest = scheme.map_or(uri, |(_, rest)| rest);
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                (Some(authority), path)
            }
            None => (None, rest),
        };
        Self { scheme: scheme.map(|(scheme, _)| scheme), authority, path, query }
    }
}

/// A path without `.` and `..` (section 5.2.4).
fn without_dots(path: &str) -> String {
    let is_rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(usize::from(is_rooted)).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                // What is left is a folder.
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("{}{}", if is_rooted { "/" } else { "" }, kept.join("/"))
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        let digits = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) => {
                bytes.push(escaped);
                at += 3;
            }
            None => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification() {
        // RFC 3986, section 5.4; fragments are split off before.
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/../h", "http://a/b/c/h"),
        ] {
            assert_eq!(resolve("http://a/b/c/d;p?q", reference), expected, "{reference}");
        }
    }

    #[test]
    fn other_bases() {
        for (base, reference, expected) in [
            ("", "a.json", "a.json"),
            ("", "/a/./b", "/a/b"),
            ("http://a", "b", "http://a/b"),
            ("urn:uuid:1", "", "urn:uuid:1"),
            ("urn:uuid:1", "urn:x", "urn:x"),
            ("tag:a,2020:b/c", "d", "tag:a,2020:b/d"),
            ("a/b", "c", "a/c"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{base} {reference}");
        }
        assert_eq!(split("a#/b%22%25%zz"), ("a", Cow::from("/b\"%%zz")));
        assert_eq!(split("#"), ("", Cow::from("")));
    }
}

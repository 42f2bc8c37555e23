//! Where in a document something is, for programs and for people.

use std::fmt::Write;

use super::document::Step;
use crate::limits::SHOWN_MAX;

/// A JSON pointer (RFC 6901).
pub(super) fn pointer(steps: &[Step<'_>]) -> String {
    let mut out = String::new();
    for step in steps {
        // Writing to a string never fails.
        let _ = match step {
            Step::Member(name) => write!(out, "/{}", name.replace('~', "~0").replace('/', "~1")),
            Step::Element(index) => write!(out, "/{index}"),
        };
    }
    out
}

/// What a sentence is about: a path in quotes, or `root` for the whole.
pub(super) fn subject(steps: &[Step<'_>], root: &str) -> String {
    if steps.is_empty() {
        return root.to_owned();
    }
    let mut path = String::new();
    for step in steps {
        let dot = if path.is_empty() { "" } else { "." };
        let _ = match step {
            Step::Member(name) => write!(path, "{dot}{name}"),
            Step::Element(index) => write!(path, "[{index}]"),
        };
    }
    format!("\"{}\"", shown(&path))
}

/// As much of a text as is quoted, in one line.
pub(super) fn shown(text: &str) -> String {
    let mut out: String =
        text.chars().take(SHOWN_MAX).map(|it| if it.is_control() { ' ' } else { it }).collect();
    if out.len() < text.len() && text.chars().nth(SHOWN_MAX).is_some() {
        out.push('…');
    }
    out
}

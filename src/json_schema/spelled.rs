//! Values that came as strings: a model that fills in `"[1,2]"` or `"5"` means the array or the
//! number that its schema asks for.

use std::borrow::Cow;

use super::document::{self, At, Kind, View};
use super::rule::Types;
use super::{Finding, Schema};
use crate::limits::JSON_SCHEMA_SPELLED_ROUNDS;

impl Schema {
    /// A value, given as JSON text, as the schema takes it: where it asks for an array, an object, a
    /// number, a boolean or `null`, a string that holds one counts as it. Where it takes a string,
    /// nothing is touched; a value that fits is returned as it is.
    ///
    /// # Errors
    /// What is wrong with it even so.
    pub fn read_spelled<'t>(&self, instance: &'t str) -> Result<Cow<'t, str>, Vec<Finding>> {
        let mut text = Cow::Borrowed(instance);
        // What a string holds may hold such strings in turn.
        for _ in 0..JSON_SCHEMA_SPELLED_ROUNDS {
            let nodes = document::parse(&text).map_err(|reason| vec![self.whole(reason)])?;
            let view = View::new(&text, &nodes);
            let Some(report) = self.faults(view) else { return Ok(text) };
            match replaced(view, report.strings) {
                Some(replaced) => text = Cow::Owned(replaced),
                None => return Err(report.findings),
            }
        }
        let findings = self.check(&text);
        if findings.is_empty() { Ok(text) } else { Err(findings) }
    }
}

/// The text with what those strings hold in place of them, if any of them holds what is asked for.
fn replaced(view: View<'_>, mut strings: Vec<(At, Types)>) -> Option<String> {
    strings.sort_unstable_by_key(|(at, _)| *at);
    let mut out = String::new();
    let whole = view.text(0);
    let mut from = view.span(0).start;
    let begin = from;
    for wanted in strings.chunk_by(|(one, _), (other, _)| one == other) {
        let Some((at, _)) = wanted.first() else { continue };
        if view.is_name(*at) {
            continue;
        }
        let held = view.string(*at);
        let held = held.trim_ascii();
        let Ok(nodes) = document::parse(held) else { continue };
        let inner = View::new(held, &nodes);
        if inner.kind(0) == Kind::String || !wanted.iter().any(|(_, types)| types.hold(inner, 0)) {
            continue;
        }
        let span = view.span(*at);
        out.push_str(whole.get(from - begin..span.start - begin)?);
        out.push_str(held);
        from = span.end;
    }
    if from == begin {
        return None;
    }
    out.push_str(whole.get(from - begin..)?);
    Some(out)
}

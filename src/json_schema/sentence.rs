//! What is wrong with a value, as a sentence that a model can act on.

use std::fmt::Write;

use super::document::{At, Kind, View};
use super::keyword::Keyword;
use super::path;
use super::rule::{Members, Types, type_name};
use crate::limits::JSON_SCHEMA_CHOICES_SHOWN;

/// What is wrong. Positions are of the schema's document, unless it says otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault<'s> {
    /// Nothing may be here.
    Never,
    /// It is of another kind.
    Type(Types),
    /// It is not the value, or none of the values, that are written there.
    Const(At),
    Enum(At),
    /// It is beyond the number that is written there.
    Bound(Keyword, At),
    MultipleOf(At),
    /// There are this many, but should be that many.
    Count {
        keyword: Keyword,
        wanted: usize,
        found: usize,
    },
    /// Its characters are not as the pattern that is written there.
    Pattern(At),
    /// A member of this name is missing; and where it is only asked for beside another one, that.
    Missing {
        name: &'s str,
        beside: Option<&'s str>,
    },
    /// The member is none of those that may be there.
    Unknown(Option<&'s Members>),
    /// So many elements fit.
    Contains {
        keyword: Keyword,
        wanted: usize,
        found: usize,
    },
    /// Two elements, of the instance, are equal.
    Twins(At, At),
    /// What is wrong with it by each of the alternatives.
    None(&'s [String]),
    /// It fits these two alternatives.
    Two(usize, usize),
    Not,
}

/// The sentence without its full stop. `root` is what the whole instance is called.
pub(super) fn sentence(
    fault: Fault<'_>,
    schema: View<'_>,
    (instance, root): (View<'_>, &str),
    at: At,
) -> String {
    let steps = instance.path(at);
    let mut out = if instance.is_name(at) {
        format!("the name \"{}\"", path::shown(&instance.string(at)))
    } else {
        path::subject(&steps, root)
    };
    let written = |at: At| path::shown(schema.text(at));
    // Writing to a string never fails.
    let _ = match fault {
        Fault::Never => write!(out, " is not allowed"),
        Fault::Type(types) => write!(out, " must be {}, but is {}", any_of(types), shown(instance, at)),
        Fault::Const(value) => write!(out, " must be {}", written(value)),
        Fault::Enum(values) => {
            write!(out, " must be one of {}", listed(schema.elements(values).map(written)))
        }
        Fault::Bound(keyword, value) => {
            let how = match keyword {
                Keyword::Minimum => "at least",
                Keyword::ExclusiveMinimum => "more than",
                Keyword::Maximum => "at most",
                _ => "less than",
            };
            write!(out, " must be {how} {}, but is {}", written(value), shown(instance, at))
        }
        Fault::MultipleOf(value) => {
            write!(out, " must be a multiple of {}, but is {}", written(value), shown(instance, at))
        }
        Fault::Count { keyword, wanted, found } => {
            let (how, what) = match keyword {
                Keyword::MinLength => ("at least", "characters"),
                Keyword::MaxLength => ("at most", "characters"),
                Keyword::MinItems => ("at least", "elements"),
                Keyword::MaxItems => ("at most", "elements"),
                Keyword::MinProperties => ("at least", "members"),
                _ => ("at most", "members"),
            };
            write!(out, " must have {how} {wanted} {what}, but has {found}")
        }
        Fault::Pattern(value) => write!(out, " must match the pattern {}", written(value)),
        Fault::Missing { name, beside } => {
            let mut steps = steps;
            steps.push(super::document::Step::Member(name.into()));
            out = format!("{} is missing", path::subject(&steps, ""));
            match beside {
                Some(beside) => write!(out, ", but must be there where \"{}\" is", path::shown(beside)),
                None => Ok(()),
            }
        }
        Fault::Unknown(members) => {
            let _ = write!(out, " is not a known name here");
            let named = members.map(|members| members.named.as_slice()).unwrap_or_default();
            let known = named
                .iter()
                .filter(|named| named.schema.is_some())
                .map(|named| format!("\"{}\"", named.name));
            let known = listed(known);
            if known.is_empty() { Ok(()) } else { write!(out, "; known are {known}") }
        }
        Fault::Contains { keyword, wanted, found } => {
            let how = if keyword == Keyword::MaxContains { "at most" } else { "at least" };
            write!(out, " must have {how} {wanted} elements that fit \"contains\", but has {found}")
        }
        Fault::Twins(one, other) => {
            let place = |at| path::subject(&instance.path(at), "");
            write!(out, " must have no two equal elements, but {} and {} are", place(one), place(other))
        }
        Fault::None(reasons) => {
            let reasons = (1..).zip(reasons).map(|(number, reason)| format!("({number}) {reason}"));
            write!(out, " fits none of the alternatives: {}", reasons.collect::<Vec<_>>().join("; "))
        }
        Fault::Two(one, other) => {
            write!(
                out,
                " must fit exactly one of the alternatives, but fits ({}) and ({})",
                one + 1,
                other + 1
            )
        }
        Fault::Not => write!(out, " must not fit the schema under \"not\""),
    };
    out
}

/// A value, if it is short, or what it is.
fn shown(view: View<'_>, at: At) -> String {
    match view.kind(at) {
        kind @ (Kind::Object | Kind::Array) => with_article(type_name(kind)),
        Kind::String => format!("the string {}", path::shown(view.text(at))),
        _ => path::shown(view.text(at)),
    }
}

fn any_of(types: Types) -> String {
    let names: Vec<String> = types.names().map(with_article).collect();
    names.join(" or ")
}

fn with_article(name: &str) -> String {
    match name {
        "null" => name.to_owned(),
        _ if name.starts_with(['a', 'i', 'o']) => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

fn listed(values: impl Iterator<Item = String>) -> String {
    let mut values: Vec<String> = values.take(JSON_SCHEMA_CHOICES_SHOWN + 1).collect();
    if values.len() > JSON_SCHEMA_CHOICES_SHOWN {
        values.truncate(JSON_SCHEMA_CHOICES_SHOWN);
        values.push("…".to_owned());
    }
    values.join(", ")
}

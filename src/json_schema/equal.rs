//! Equality of JSON values: by what they are, not by how they are spelled.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::document::{At, Kind, View};
use super::number::Decimal;

/// Whether two values are equal: members of objects in any order, numbers by their value.
///
/// The recursion goes as deep as the values are nested, which is bounded. Takes a step off the
/// budget for each comparison; without budget nothing is equal.
pub(super) fn equal(one: (View<'_>, At), other: (View<'_>, At), steps: &mut usize) -> bool {
    let ((one, at), (other, other_at)) = (one, other);
    if *steps == 0 || one.kind(at) != other.kind(other_at) {
        return false;
    }
    *steps -= 1;
    match one.kind(at) {
        Kind::Null => true,
        Kind::Bool => one.text(at) == other.text(other_at),
        Kind::Number => {
            let (text, other_text) = (one.text(at), other.text(other_at));
            text == other_text || Decimal::parse(text) == Decimal::parse(other_text)
        }
        Kind::String => match (one.plain_string(at), other.plain_string(other_at)) {
            (Some(one), Some(other)) => one == other,
            _ => one.string(at) == other.string(other_at),
        },
        Kind::Array => {
            one.len(at) == other.len(other_at)
                && one
                    .elements(at)
                    .zip(other.elements(other_at))
                    .all(|(at, other_at)| equal((one, at), (other, other_at), steps))
        }
        Kind::Object => {
            let members = sorted(one, at);
            let others = sorted(other, other_at);
            members.len() == others.len()
                && members.iter().zip(&others).all(|((name, at), (other_name, other_at))| {
                    name == other_name && equal((one, *at), (other, *other_at), steps)
                })
        }
    }
}

/// The members by their names; of several with one name the last.
fn sorted<'a>(view: View<'a>, at: At) -> Vec<(Cow<'a, str>, At)> {
    let mut members: Vec<_> = view.members(at).map(|(name, value)| (view.string(name), value)).collect();
    // The last first, so that it is the one that stays.
    members.reverse();
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    members.dedup_by(|(one, _), (other, _)| one == other);
    members
}

/// Two equal elements of an array, if there are any. In time the sort of all their hashes.
pub(super) fn twins(view: View<'_>, array: At, steps: &mut usize) -> Option<(At, At)> {
    let mut hashes: Vec<(u64, At)> = view.elements(array).map(|at| (hash(view, at), at)).collect();
    hashes.sort_unstable();
    // Elements with one hash are nearly always equal: the first is compared with the others.
    for (index, (first, at)) in hashes.iter().enumerate() {
        let alike = hashes[index + 1..].iter().take_while(|(hash, _)| hash == first);
        for (_, other) in alike {
            if *steps == 0 {
                return None;
            }
            if equal((view, *at), (view, *other), steps) {
                return Some((*at.min(other), *at.max(other)));
            }
        }
    }
    None
}

/// Equal values have equal hashes.
fn hash(view: View<'_>, at: At) -> u64 {
    let mut state = DefaultHasher::new();
    let kind = view.kind(at);
    (kind as u8).hash(&mut state);
    match kind {
        Kind::Null => {}
        Kind::Bool => view.text(at).hash(&mut state),
        Kind::Number => Decimal::parse(view.text(at)).hash(&mut state),
        Kind::String => view.string(at).hash(&mut state),
        Kind::Array => view.elements(at).for_each(|at| hash(view, at).hash(&mut state)),
        Kind::Object => {
            for (name, at) in sorted(view, at) {
                name.hash(&mut state);
                hash(view, at).hash(&mut state);
            }
        }
    }
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::super::document::parse;
    use super::*;

    fn is_equal(one: &str, other: &str) -> bool {
        let (nodes, others) = (parse(one).unwrap(), parse(other).unwrap());
        let (view, other_view) = (View::new(one, &nodes), View::new(other, &others));
        let is_equal = equal((view, 0), (other_view, 0), &mut 1000);
        if is_equal {
            assert_eq!(hash(view, 0), hash(other_view, 0), "{one} {other}");
        }
        is_equal
    }

    #[test]
    fn values_are_equal_whatever_their_spelling() {
        for (one, other, expected) in [
            ("1", "1.0", true),
            ("1", "\"1\"", false),
            ("0", "false", false),
            ("null", "false", false),
            ("\"a\\u0062\"", "\"ab\"", true),
            ("\"a\"", "\"b\"", false),
            ("[1,2]", "[1.0, 2e0]", true),
            ("[1,2]", "[2,1]", false),
            ("[1]", "[1,1]", false),
            ("{\"a\":1,\"b\":[{}]}", "{\"b\": [{}], \"\\u0061\":1.0}", true),
            ("{\"a\":1}", "{\"a\":2}", false),
            ("{\"a\":1}", "{\"b\":1}", false),
            ("{\"a\":1}", "{\"a\":1,\"b\":1}", false),
            ("{\"a\":1,\"a\":2}", "{\"a\":2}", true),
            ("{\"a\":1,\"a\":2}", "{\"a\":1}", false),
        ] {
            assert_eq!(is_equal(one, other), expected, "{one} {other}");
            assert_eq!(is_equal(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn twins_are_found_among_many() {
        let find = |text: &str| {
            let nodes = parse(text).unwrap();
            let view = View::new(text, &nodes);
            twins(view, 0, &mut 1000)
                .map(|(one, other)| (view.text(one).to_owned(), view.text(other).to_owned()))
        };
        assert_eq!(find("[]"), None);
        assert_eq!(find("[1,\"1\",true,[1],{\"a\":1},null,0,false,[]]"), None);
        assert_eq!(find("[1,2,1.0]"), Some(("1".into(), "1.0".into())));
        assert_eq!(
            find("[{\"a\":1,\"b\":2},3,{\"b\":2,\"a\":1}]").map(|twins| twins.1),
            Some("{\"b\":2,\"a\":1}".into())
        );
        let many: Vec<String> = (0..10_000).chain([77]).map(|number| number.to_string()).collect();
        assert_eq!(find(&format!("[{}]", many.join(","))), Some(("77".into(), "77".into())));
    }

    #[test]
    fn without_budget_nothing_is_equal() {
        let text = "[1,1]";
        let nodes = parse(text).unwrap();
        assert_eq!(twins(View::new(text, &nodes), 0, &mut 0), None);
    }
}

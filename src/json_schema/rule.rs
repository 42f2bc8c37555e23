//! A schema as it is checked: flat lists of rules that refer to each other by number.

use super::document::{At, Kind, View};
use super::keyword::Keyword;
use super::pattern::Pattern;
use super::store::{Doc, ResourceId};

/// Which schema: its position in the list.
pub(super) type SchemaId = u32;

/// A part of one of the lists.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    pub(super) first: u32,
    pub(super) end: u32,
}

impl Part {
    pub(super) fn of<T>(self, list: &[T]) -> &[T] {
        list.get(self.first as usize..self.end as usize).unwrap_or_default()
    }

    pub(super) fn len(self) -> usize {
        self.end.saturating_sub(self.first) as usize
    }
}

/// One schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sub {
    /// Where it is written.
    pub(super) doc: Doc,
    pub(super) at: At,
    pub(super) resource: ResourceId,
    /// What it says, the cheap first.
    pub(super) rules: Part,
    /// It asks which members or elements others have looked at.
    pub(super) has_unevaluated: bool,
}

/// One thing that a schema says. A rule for other kinds of values than the one at hand holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// Nothing is right.
    Never,
    /// Its kind.
    Type(Types),
    /// It is the value that is written there.
    Const(At),
    /// It is one of the values that are written there.
    Enum(At),
    /// The number that is written there bounds it.
    Bound(Keyword, At),
    /// It is a multiple of the number that is written there.
    MultipleOf(At),
    /// Its characters, elements or members are counted.
    Count(Keyword, usize),
    /// A string: by the position in the list of patterns, and where it is written.
    Pattern(u32, At),
    /// The members of an object, by the position in the list of these.
    Members(u32),
    /// Where there is a member, there are others: an object of lists of names.
    DependentRequired(Keyword, At),
    /// Where there is a member, a schema holds for the whole object.
    Dependent(Part),
    /// The first elements of an array, and all others.
    Elements {
        /// In the list of lists.
        first: Part,
        rest: Option<SchemaId>,
    },
    /// How many elements a schema holds for.
    Contains {
        schema: SchemaId,
        min: usize,
        max: usize,
    },
    /// No two elements are equal.
    Unique,
    /// The schema holds that is written elsewhere.
    Ref(SchemaId),
    /// The same, but the outermost resource that was entered may have another one under this name,
    /// by its position in the list of such names.
    DynamicRef(SchemaId, u32),
    AllOf(Part),
    AnyOf(Part),
    OneOf(Part),
    Not(SchemaId),
    If {
        condition: SchemaId,
        then: Option<SchemaId>,
        otherwise: Option<SchemaId>,
    },
    /// All members or elements that no other rule has looked at.
    UnevaluatedProperties(SchemaId),
    UnevaluatedItems(SchemaId),
}

/// What a schema says of the members of an object.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Sorted by their names.
    pub(super) named: Vec<Named>,
    pub(super) patterns: Vec<(Pattern, SchemaId)>,
    /// For all members that are neither among the named nor match a pattern.
    pub(super) others: Option<SchemaId>,
    /// For all names.
    pub(super) names: Option<SchemaId>,
    /// How many of the named must be there.
    pub(super) required: usize,
}

/// A member that is known by its name.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: Box<str>,
    pub(super) schema: Option<SchemaId>,
    /// If it must be there: which one of those that must.
    pub(super) required: Option<u32>,
}

impl Members {
    pub(super) fn named(&self, name: &str) -> Option<&Named> {
        let found = self.named.binary_search_by(|named| named.name.as_ref().cmp(name));
        found.ok().and_then(|at| self.named.get(at))
    }
}

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(u8);

const INTEGER: u8 = 1 << 6;

/// The kinds, in the order in which they are told.
const TYPES: [(&str, u8); 7] = [
    ("string", 1 << Kind::String as u8),
    ("number", 1 << Kind::Number as u8),
    ("integer", INTEGER),
    ("boolean", 1 << Kind::Bool as u8),
    ("object", 1 << Kind::Object as u8),
    ("array", 1 << Kind::Array as u8),
    ("null", 1 << Kind::Null as u8),
];

impl Types {
    /// The value of `type`: a name, or a list of them.
    pub(super) fn read(view: View<'_>, at: At) -> Self {
        let bit = |at| TYPES.iter().find(|row| row.0 == view.string(at)).map_or(0, |row| row.1);
        Self(view.elements(at).fold(bit(at), |all, at| all | bit(at)))
    }

    /// Whether a value is of one of these kinds.
    pub(super) fn hold(self, view: View<'_>, at: At) -> bool {
        let kind = view.kind(at);
        self.0 & (1 << kind as u8) != 0
            || (kind == Kind::Number
                && self.0 & INTEGER != 0
                && (view.is_plain_number(at) || super::number::Decimal::parse(view.text(at)).is_integer()))
    }

    /// Their names.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        TYPES.iter().filter(move |row| self.0 & row.1 != 0).map(|row| row.0)
    }
}

/// What a value is called in `type`.
pub(super) fn type_name(kind: Kind) -> &'static str {
    TYPES.iter().find(|row| row.1 == 1 << kind as u8).map_or("value", |row| row.0)
}

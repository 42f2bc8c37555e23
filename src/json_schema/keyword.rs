//! The keywords of JSON Schema, and which of them a dialect has.

/// A version of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draft {
    /// Of 2018, which many generators still write.
    Draft7,
    /// The default of the Model Context Protocol.
    Draft2020,
}

/// What a schema's keywords mean: the draft, and which of its vocabularies are in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) draft: Draft,
    vocabularies: u8,
}

/// Where a keyword's value holds schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Nowhere.
    Nothing,
    /// It is one.
    Schema,
    /// Its elements are.
    List,
    /// The values of its members are, or those that are no lists of names.
    Map,
    /// It is one, or its elements are.
    SchemaOrList,
}

const SEVEN: u8 = 1;
const LATEST: u8 = 2;
const BOTH: u8 = SEVEN | LATEST;

const CORE: u8 = 1;
const APPLICATOR: u8 = 2;
const UNEVALUATED: u8 = 4;
const VALIDATION: u8 = 8;

/// Makes the list of keywords and the table that describes them, in one order.
macro_rules! keywords {
    ($($name:ident $spelled:literal $drafts:ident $vocabulary:ident $holds:ident,)*) => {
        /// A keyword with a meaning for us. `title`, `format` and the like are annotations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Keyword {
            $($name,)*
            /// What stands for all that a boolean schema says.
            False,
        }

        const TABLE: &[(Keyword, &str, u8, u8, Holds)] =
            &[$((Keyword::$name, $spelled, $drafts, $vocabulary, Holds::$holds),)*];
    };
}

keywords! {
    Id "$id" BOTH CORE Nothing,
    Ref "$ref" BOTH CORE Nothing,
    Schema "$schema" BOTH CORE Nothing,
    Anchor "$anchor" LATEST CORE Nothing,
    DynamicRef "$dynamicRef" LATEST CORE Nothing,
    DynamicAnchor "$dynamicAnchor" LATEST CORE Nothing,
    Defs "$defs" LATEST CORE Map,
    Definitions "definitions" BOTH CORE Map,
    Type "type" BOTH VALIDATION Nothing,
    Const "const" BOTH VALIDATION Nothing,
    Enum "enum" BOTH VALIDATION Nothing,
    Minimum "minimum" BOTH VALIDATION Nothing,
    ExclusiveMinimum "exclusiveMinimum" BOTH VALIDATION Nothing,
    Maximum "maximum" BOTH VALIDATION Nothing,
    ExclusiveMaximum "exclusiveMaximum" BOTH VALIDATION Nothing,
    MultipleOf "multipleOf" BOTH VALIDATION Nothing,
    MinLength "minLength" BOTH VALIDATION Nothing,
    MaxLength "maxLength" BOTH VALIDATION Nothing,
    Pattern "pattern" BOTH VALIDATION Nothing,
    MinProperties "minProperties" BOTH VALIDATION Nothing,
    MaxProperties "maxProperties" BOTH VALIDATION Nothing,
    Required "required" BOTH VALIDATION Nothing,
    DependentRequired "dependentRequired" LATEST VALIDATION Nothing,
    Properties "properties" BOTH APPLICATOR Map,
    PatternProperties "patternProperties" BOTH APPLICATOR Map,
    AdditionalProperties "additionalProperties" BOTH APPLICATOR Schema,
    PropertyNames "propertyNames" BOTH APPLICATOR Schema,
    DependentSchemas "dependentSchemas" LATEST APPLICATOR Map,
    Dependencies "dependencies" BOTH APPLICATOR Map,
    MinItems "minItems" BOTH VALIDATION Nothing,
    MaxItems "maxItems" BOTH VALIDATION Nothing,
    UniqueItems "uniqueItems" BOTH VALIDATION Nothing,
    PrefixItems "prefixItems" LATEST APPLICATOR List,
    Items "items" BOTH APPLICATOR SchemaOrList,
    AdditionalItems "additionalItems" SEVEN APPLICATOR Schema,
    Contains "contains" BOTH APPLICATOR Schema,
    MinContains "minContains" LATEST VALIDATION Nothing,
    MaxContains "maxContains" LATEST VALIDATION Nothing,
    AllOf "allOf" BOTH APPLICATOR List,
    AnyOf "anyOf" BOTH APPLICATOR List,
    OneOf "oneOf" BOTH APPLICATOR List,
    Not "not" BOTH APPLICATOR Schema,
    If "if" BOTH APPLICATOR Schema,
    Then "then" BOTH APPLICATOR Schema,
    Else "else" BOTH APPLICATOR Schema,
    UnevaluatedProperties "unevaluatedProperties" LATEST UNEVALUATED Schema,
    UnevaluatedItems "unevaluatedItems" LATEST UNEVALUATED Schema,
    ContentSchema "contentSchema" LATEST CORE Schema,
}

/// How many keywords there are.
pub(super) const KEYWORDS: usize = TABLE.len();

impl Keyword {
    /// As schemas spell it.
    pub(super) fn name(self) -> &'static str {
        TABLE.get(self as usize).map_or("false", |row| row.1)
    }
}

impl Dialect {
    /// The whole of a draft.
    pub(super) const fn of(draft: Draft) -> Self {
        Self { draft, vocabularies: CORE | APPLICATOR | UNEVALUATED | VALIDATION }
    }

    /// The dialect that `$schema` names; `None` for one that is not known here.
    pub(super) fn named(uri: &str) -> Option<Self> {
        let uri = uri.strip_suffix('#').unwrap_or(uri);
        Draft::ALL.into_iter().find(|draft| same_resource(draft.uri(), uri)).map(Self::of)
    }

    /// A dialect of the latest draft with these vocabularies, by their identifiers and whether they
    /// must be understood. `None` if one must that is not known here.
    pub(super) fn of_vocabularies<'a>(
        all: impl Iterator<Item = (std::borrow::Cow<'a, str>, bool)>,
    ) -> Option<Self> {
        let mut vocabularies = CORE;
        for (uri, is_required) in all {
            let name = uri.strip_prefix("https://json-schema.org/draft/2020-12/vocab/");
            vocabularies |= match name {
                Some("applicator") => APPLICATOR,
                Some("unevaluated") => UNEVALUATED,
                Some("validation") => VALIDATION,
                Some("core" | "meta-data" | "format-annotation" | "content") => 0,
                _ if is_required => return None,
                _ => 0,
            };
        }
        Some(Self { draft: Draft::Draft2020, vocabularies })
    }

    /// The keyword that is spelled so, if the dialect has it, and where it holds schemas.
    pub(super) fn keyword(self, spelled: &str) -> Option<(Keyword, Holds)> {
        let draft = match self.draft {
            Draft::Draft7 => SEVEN,
            Draft::Draft2020 => LATEST,
        };
        let row = TABLE.iter().find(|row| row.1 == spelled)?;
        (row.2 & draft != 0 && row.3 & self.vocabularies != 0).then_some((row.0, row.4))
    }
}

impl Draft {
    pub(super) const ALL: [Draft; 2] = [Draft::Draft2020, Draft::Draft7];

    /// What `$schema` calls it.
    pub(super) const fn uri(self) -> &'static str {
        match self {
            Draft::Draft7 => "http://json-schema.org/draft-07/schema",
            Draft::Draft2020 => "https://json-schema.org/draft/2020-12/schema",
        }
    }
}

/// Many write the wrong one of `http` and `https`.
fn same_resource(one: &str, other: &str) -> bool {
    let rest = |uri: &str| {
        uri.split_once("://").filter(|it| matches!(it.0, "http" | "https")).map(|it| it.1.to_owned())
    };
    one == other || rest(one).is_some_and(|one| rest(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_keywords() {
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, at, "{}", row.1);
            assert_eq!(row.0.name(), row.1);
        }
        assert_eq!(Keyword::False as usize, KEYWORDS);
    }

    #[test]
    fn dialects_by_name() {
        for (uri, expected) in [
            ("http://json-schema.org/draft-07/schema#", Some(Draft::Draft7)),
            ("http://json-schema.org/draft-07/schema", Some(Draft::Draft7)),
            ("https://json-schema.org/draft-07/schema#", Some(Draft::Draft7)),
            ("https://json-schema.org/draft/2020-12/schema", Some(Draft::Draft2020)),
            ("http://json-schema.org/draft/2020-12/schema#", Some(Draft::Draft2020)),
            ("http://json-schema.org/draft-04/schema#", None),
            ("http://json-schema.org/schema#", None),
            ("draft-07", None),
        ] {
            assert_eq!(Dialect::named(uri).map(|dialect| dialect.draft), expected, "{uri}");
        }
        let seven = Dialect::of(Draft::Draft7);
        assert_eq!(seven.keyword("$defs"), None);
        assert_eq!(seven.keyword("definitions"), Some((Keyword::Definitions, Holds::Map)));
        assert_eq!(seven.keyword("title"), None);
    }
}

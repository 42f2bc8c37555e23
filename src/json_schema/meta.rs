//! The schemas of schemas, which every schema of the draft has to fit and may refer to.

use std::sync::OnceLock;

use super::Schema;
use super::compile::compile;
use super::keyword::Draft;

/// That of 2020-12 and the vocabularies that it is made of, in one document.
const DRAFT_2020: &str = include_str!("meta/2020-12.json");
const DRAFT_7: &str = include_str!("meta/draft-07.json");

/// The document with a schema of this identifier, its own identifier and its draft.
pub(super) fn document_of(uri: &str) -> Option<(&'static str, &'static str, Draft)> {
    let draft = Draft::ALL.into_iter().find(|draft| match draft {
        Draft::Draft7 => uri == draft.uri(),
        Draft::Draft2020 => uri.starts_with("https://json-schema.org/draft/2020-12/"),
    })?;
    Some((draft.uri(), text(draft), draft))
}

fn text(draft: Draft) -> &'static str {
    match draft {
        Draft::Draft7 => DRAFT_7,
        Draft::Draft2020 => DRAFT_2020,
    }
}

/// The schema that schemas of a draft have to fit, compiled once.
pub(super) fn schema_of(draft: Draft) -> Option<&'static Schema> {
    static COMPILED: [OnceLock<Option<Schema>>; 2] = [OnceLock::new(), OnceLock::new()];
    let compiled = COMPILED.get(draft as usize)?;
    let compile = || compile(text(draft), draft, &[], false).ok().map(|schema| schema.of("the schema"));
    compiled.get_or_init(compile).as_ref()
}

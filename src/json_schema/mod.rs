//! JSON Schema: whether a value is as its schema says, and if not, what to change.
//!
//! What lives here: the drafts 2020-12 and 7 whole (every required case of the official test suite
//! holds), except that nothing is fetched: references lead to what is in the document, or to the
//! two meta-schemas. `format` and the `content` keywords are annotations. What does not: what MCP
//! makes of the schemas of tools, which is `mcp::schema`'s. JSON text goes in and findings come out. Imports: level 0
//! only. No IO.
//!
//! A schema is compiled once into flat lists of rules; a value is read once into a flat list of
//! its values. Time and depth are bounded, whatever the schema and the value.

use std::collections::HashMap;
use std::fmt;

mod check;
mod compile;
mod document;
mod equal;
mod keyword;
mod marks;
mod meta;
mod number;
mod path;
mod pattern;
mod rule;
mod sentence;
mod spelled;
mod store;
mod uri;

#[cfg(test)]
mod tests;

use check::Check;
use document::View;
pub use keyword::Draft;
use pattern::Pattern;
use rule::{Members, Rule, SchemaId, Sub};
use store::{ResourceId, Store};

/// One thing that is wrong with a value, or with a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// Where in the value (of a schema that is wrong: in the schema), as a JSON pointer.
    pub instance: String,
    /// Which keyword of the schema says so, as a JSON pointer into it; with a URI before it if it is
    /// in another document. Empty if none does.
    pub schema: String,
    /// The name of that keyword; `false` for a schema that allows nothing, empty for what no keyword
    /// says.
    pub rule: &'static str,
    /// A sentence without its full stop. It names the place and what to change there.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if self.rule.is_empty() { Ok(()) } else { write!(formatter, " ({})", self.rule) }
    }
}

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    store: Store,
    /// The first is the root.
    subs: Vec<Sub>,
    rules: Vec<Rule>,
    /// Schemas of lists.
    lists: Vec<SchemaId>,
    members: Vec<Members>,
    patterns: Vec<Pattern>,
    /// Schemas that hold where there is a member of a name.
    dependent: Vec<(Box<str>, SchemaId)>,
    /// The schema of a dynamic anchor's name in a resource.
    dynamic: HashMap<(u32, ResourceId), SchemaId>,
    is_dynamic: bool,
    /// What findings call the whole of a value.
    subject: &'static str,
}

impl Schema {
    /// Compiles the text of a schema. It is of 2020-12 unless its `$schema` says otherwise.
    ///
    /// # Errors
    /// What is wrong with it: it is not JSON, in a dialect that is not known, does not fit its
    /// meta-schema, refers to what is not there, or has a pattern that cannot be checked in linear
    /// time.
    pub fn compile(text: &str) -> Result<Self, Vec<Finding>> {
        Self::compile_with(text, Draft::Draft2020, &[])
    }

    /// The same with another draft for schemas without `$schema`, and with documents by their URIs
    /// that may be referred to.
    ///
    /// # Errors
    /// Those of [`compile`](Schema::compile).
    pub fn compile_with(text: &str, default: Draft, others: &[(&str, &str)]) -> Result<Self, Vec<Finding>> {
        compile::compile(text, default, others, true)
    }

    fn new(store: Store) -> Self {
        Self {
            store,
            subs: Vec::new(),
            rules: Vec::new(),
            lists: Vec::new(),
            members: Vec::new(),
            patterns: Vec::new(),
            dependent: Vec::new(),
            dynamic: HashMap::new(),
            is_dynamic: false,
            subject: "the value",
        }
    }

    /// The same schema, whose findings call the whole of a value so instead of "the value".
    pub fn of(mut self, subject: &'static str) -> Self {
        self.subject = subject;
        self
    }

    /// What is wrong with a value, given as JSON text; nothing if it fits. There may be more to say
    /// than is told.
    pub fn check(&self, instance: &str) -> Vec<Finding> {
        match document::parse(instance) {
            Ok(nodes) => {
                self.faults(View::new(instance, &nodes)).map_or(Vec::new(), |report| report.findings)
            }
            Err(reason) => vec![self.whole(reason)],
        }
    }

    /// What is wrong with a value that was read.
    fn faults(&self, instance: View<'_>) -> Option<check::Report> {
        if Check::fits(self, instance) == Some(true) {
            return None;
        }
        let mut report = Check::report(self, instance);
        if report.findings.is_empty() {
            report.findings.push(self.whole("is too large or too deep to be checked against its schema"));
        }
        Some(report)
    }

    /// Whether every object fits for sure, so that there is nothing to check.
    pub fn takes_any_object(&self) -> bool {
        let rules =
            |id: SchemaId| self.subs.get(id as usize).map_or(&[][..], |sub| sub.rules.of(&self.rules));
        let is_true = |id: SchemaId| rules(id).is_empty();
        rules(0).iter().all(|rule| match rule {
            Rule::Type(types) => types.names().any(|name| name == "object"),
            Rule::Members(index) => self.members.get(*index as usize).is_some_and(|members| {
                let mut schemas = members.named.iter().filter_map(|named| named.schema);
                members.required == 0
                    && members.patterns.is_empty()
                    && schemas.all(is_true)
                    && members.others.is_none_or(is_true)
                    && members.names.is_none_or(is_true)
            }),
            _ => false,
        })
    }

    /// Whether it is the schema `false`.
    fn is_never(&self, id: SchemaId) -> bool {
        let rules = self.subs.get(id as usize).map(|sub| sub.rules.of(&self.rules));
        matches!(rules, Some([Rule::Never]))
    }

    /// A finding about all of a value that no keyword makes.
    fn whole(&self, reason: &str) -> Finding {
        Finding { message: format!("{} {reason}", self.subject), ..Finding::default() }
    }
}

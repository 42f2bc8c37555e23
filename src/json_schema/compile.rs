//! From the text of a schema to its rules.
//!
//! Schemas are taken in as they are referred to, one after the other from a queue, so that neither
//! nesting nor references that go in circles need recursion.

use std::collections::HashMap;

use super::document::{At, Document, Kind};
use super::keyword::{Dialect, Draft, Holds, KEYWORDS, Keyword};
use super::number::Decimal;
use super::pattern::Pattern;
use super::rule::{Members, Named, Part, Rule, SchemaId, Sub, Types};
use super::store::{self, Doc, Other, ResourceId, Store};
use super::{Finding, Schema, meta, path};
use crate::limits::JSON_SCHEMA_SUBSCHEMAS_MAX;

/// What is wrong with a schema.
struct Fault {
    doc: Doc,
    /// The schema.
    at: At,
    /// Its keyword, with where the value is.
    rule: &'static str,
    value: At,
    /// The rest of a sentence that begins with the schema.
    message: String,
}

/// Compiles the text of a schema.
///
/// # Errors
/// What is wrong with it.
pub(super) fn compile(
    text: &str,
    default: Draft,
    others: &[Other<'_>],
    is_checked: bool,
) -> Result<Schema, Vec<Finding>> {
    let fault = |rule, message: String| {
        vec![Finding { instance: String::new(), schema: String::new(), rule, message }]
    };
    let document = Document::parse(text).map_err(|reason| fault("", format!("the schema {reason}")))?;
    let mut store = Store::default();
    store
        .add("", document, default, others)
        .map_err(|reason| fault("$ref", format!("the schema {reason}")))?;
    let Some(dialect) = store.resources.first().and_then(|root| root.dialect) else {
        let view = store.view(0);
        let name = view.get(0, "$schema").map(|at| view.string(at)).unwrap_or_default();
        let message = format!(
            "the schema is in the dialect \"{name}\"; only JSON Schema 2020-12 and draft-07 are known"
        );
        return Err(fault("$schema", message));
    };
    if is_checked && let Some(meta) = meta::schema_of(dialect.draft) {
        let mut findings = meta.check(text);
        if !findings.is_empty() {
            let uri = dialect.draft.uri();
            findings.iter_mut().for_each(|finding| finding.schema.insert_str(0, &format!("{uri}#")));
            return Err(findings);
        }
    }
    let compiler =
        Compiler { default, others, ids: HashMap::new(), names: Vec::new(), schema: Schema::new(store) };
    compiler.run().map_err(|(store, Fault { doc, at, rule, value, message })| {
        let view = store.view(doc);
        let instance = path::pointer(&view.path(value));
        let message = format!("{} {message}", path::subject(&view.path(at), "the schema"));
        vec![Finding { instance, schema: String::new(), rule, message }]
    })
}

struct Compiler<'a> {
    default: Draft,
    others: &'a [Other<'a>],
    /// Which schemas have been taken in.
    ids: HashMap<(Doc, At), SchemaId>,
    /// Names of dynamic anchors.
    names: Vec<String>,
    schema: Schema,
}

impl Compiler<'_> {
    fn run(mut self) -> Result<Schema, (Store, Fault)> {
        self.id(0, 0);
        let mut next = 0;
        loop {
            while let Some(sub) = self.schema.subs.get(next).copied() {
                if let Err(fault) = self.take_in(next, sub) {
                    return Err((self.schema.store, fault));
                }
                next += 1;
            }
            // What references may lead to once resources are entered in some order.
            self.take_in_dynamic();
            if next == self.schema.subs.len() {
                self.schema.is_dynamic = !self.names.is_empty();
                return Ok(self.schema);
            }
        }
    }

    /// The number of a schema, which is taken in later if it is new.
    fn id(&mut self, doc: Doc, at: At) -> SchemaId {
        let new = self.schema.subs.len() as SchemaId;
        let id = *self.ids.entry((doc, at)).or_insert(new);
        if id == new {
            let resource = self.schema.store.resource_of(doc, at);
            self.schema.subs.push(Sub { doc, at, resource, rules: Part::default(), has_unevaluated: false });
        }
        id
    }

    fn take_in_dynamic(&mut self) {
        for (index, name) in self.names.clone().iter().enumerate() {
            let all: Vec<(ResourceId, Doc, At)> = self.schema.store.dynamic_anchors(name).collect();
            for (resource, doc, at) in all {
                let id = self.id(doc, at);
                self.schema.dynamic.insert((index as u32, resource), id);
            }
        }
    }

    fn take_in(&mut self, index: usize, sub: Sub) -> Result<(), Fault> {
        let Sub { doc, at, resource, .. } = sub;
        let fault =
            |rule, message: &str| Err(Fault { doc, at, rule, value: at, message: message.to_owned() });
        if self.schema.subs.len() > JSON_SCHEMA_SUBSCHEMAS_MAX {
            return fault("", "is one schema too many to be checked");
        }
        let view = self.schema.store.view(doc);
        let first = self.schema.rules.len() as u32;
        let mut has_unevaluated = false;
        match view.kind(at) {
            Kind::Bool if view.is_true(at) => {}
            Kind::Bool => self.schema.rules.push(Rule::Never),
            Kind::Object => {
                let Some(dialect) =
                    self.schema.store.resources.get(resource as usize).and_then(|it| it.dialect)
                else {
                    return fault("$schema", "is in a dialect that is not known");
                };
                let keywords = store::keywords(view, at, dialect);
                let mut taker = Taker { compiler: self, doc, at, resource, dialect, keywords };
                has_unevaluated = taker.all()?;
            }
            _ => return fault("", "is referred to as a schema, but is neither object nor boolean"),
        }
        let end = self.schema.rules.len() as u32;
        if let Some(sub) = self.schema.subs.get_mut(index) {
            sub.rules = Part { first, end };
            sub.has_unevaluated = has_unevaluated;
        }
        Ok(())
    }
}

/// Takes in one schema.
struct Taker<'c, 'a> {
    compiler: &'c mut Compiler<'a>,
    doc: Doc,
    at: At,
    resource: ResourceId,
    dialect: Dialect,
    keywords: [Option<At>; KEYWORDS],
}

impl Taker<'_, '_> {
    fn value(&self, keyword: Keyword) -> Option<At> {
        self.keywords.get(keyword as usize).copied().flatten()
    }

    fn push(&mut self, rule: Rule) {
        self.compiler.schema.rules.push(rule);
    }

    fn fault(&self, keyword: Keyword, message: String) -> Fault {
        let value = self.value(keyword).unwrap_or(self.at);
        Fault { doc: self.doc, at: self.at, rule: keyword.name(), value, message }
    }

    /// The schemas in a keyword's value, with their names.
    fn schemas(&mut self, keyword: Keyword, holds: Holds) -> Vec<(Option<At>, SchemaId)> {
        let Some(value) = self.value(keyword) else { return Vec::new() };
        let view = self.compiler.schema.store.view(self.doc);
        let found: Vec<_> = store::schemas(view, value, holds).collect();
        found.into_iter().map(|(name, at)| (name, self.compiler.id(self.doc, at))).collect()
    }

    fn schema(&mut self, keyword: Keyword) -> Option<SchemaId> {
        self.schemas(keyword, Holds::Schema).first().map(|(_, id)| *id)
    }

    fn list(&mut self, keyword: Keyword) -> Option<Part> {
        let all = self.schemas(keyword, Holds::List);
        self.value(keyword).map(|_| self.part(all))
    }

    fn part(&mut self, all: Vec<(Option<At>, SchemaId)>) -> Part {
        let lists = &mut self.compiler.schema.lists;
        let first = lists.len() as u32;
        lists.extend(all.into_iter().map(|(_, id)| id));
        Part { first, end: lists.len() as u32 }
    }

    fn count(&self, keyword: Keyword) -> Option<usize> {
        let view = self.compiler.schema.store.view(self.doc);
        let value = self.value(keyword).filter(|at| view.kind(*at) == Kind::Number)?;
        Some(Decimal::parse(view.text(value)).count())
    }

    fn pattern(&self, keyword: Keyword, at: At) -> Result<Pattern, Fault> {
        let pattern = self.compiler.schema.store.view(self.doc).string(at);
        Pattern::new(&pattern).map_err(|reason| {
            let message =
                format!("has the pattern \"{}\", which cannot be checked: {reason}", path::shown(&pattern));
            self.fault(keyword, message)
        })
    }

    /// All rules, the cheap first; those that ask what others have looked at last.
    fn all(&mut self) -> Result<bool, Fault> {
        self.of_values()?;
        self.of_members()?;
        self.of_elements();
        self.references()?;
        for (keyword, rule) in [
            (Keyword::AllOf, Rule::AllOf as fn(Part) -> Rule),
            (Keyword::AnyOf, Rule::AnyOf),
            (Keyword::OneOf, Rule::OneOf),
        ] {
            if let Some(part) = self.list(keyword) {
                self.push(rule(part));
            }
        }
        if let Some(schema) = self.schema(Keyword::Not) {
            self.push(Rule::Not(schema));
        }
        if let Some(condition) = self.schema(Keyword::If) {
            let (then, otherwise) = (self.schema(Keyword::Then), self.schema(Keyword::Else));
            self.push(Rule::If { condition, then, otherwise });
        }
        let properties = self.schema(Keyword::UnevaluatedProperties).map(Rule::UnevaluatedProperties);
        let items = self.schema(Keyword::UnevaluatedItems).map(Rule::UnevaluatedItems);
        let has_unevaluated = properties.is_some() || items.is_some();
        self.compiler.schema.rules.extend(properties.into_iter().chain(items));
        Ok(has_unevaluated)
    }

    fn of_values(&mut self) -> Result<(), Fault> {
        if let Some(at) = self.value(Keyword::Type) {
            let types = Types::read(self.compiler.schema.store.view(self.doc), at);
            self.push(Rule::Type(types));
        }
        if let Some(at) = self.value(Keyword::Const) {
            self.push(Rule::Const(at));
        }
        if let Some(at) = self.value(Keyword::Enum) {
            self.push(Rule::Enum(at));
        }
        for keyword in [
            Keyword::Minimum,
            Keyword::ExclusiveMinimum,
            Keyword::Maximum,
            Keyword::ExclusiveMaximum,
            Keyword::MultipleOf,
        ] {
            let view = self.compiler.schema.store.view(self.doc);
            match self.value(keyword).filter(|at| view.kind(*at) == Kind::Number) {
                Some(at) if keyword == Keyword::MultipleOf => self.push(Rule::MultipleOf(at)),
                Some(at) => self.push(Rule::Bound(keyword, at)),
                None => {}
            }
        }
        for keyword in [
            Keyword::MinLength,
            Keyword::MaxLength,
            Keyword::MinItems,
            Keyword::MaxItems,
            Keyword::MinProperties,
            Keyword::MaxProperties,
        ] {
            if let Some(count) = self.count(keyword) {
                self.push(Rule::Count(keyword, count));
            }
        }
        if let Some(at) = self.value(Keyword::Pattern) {
            let pattern = self.pattern(Keyword::Pattern, at)?;
            let patterns = &mut self.compiler.schema.patterns;
            patterns.push(pattern);
            let index = patterns.len() as u32 - 1;
            self.push(Rule::Pattern(index, at));
        }
        Ok(())
    }

    fn of_members(&mut self) -> Result<(), Fault> {
        let schemas = self.schemas(Keyword::Properties, Holds::Map);
        let patterns = self.schemas(Keyword::PatternProperties, Holds::Map);
        let others = self.schema(Keyword::AdditionalProperties);
        let names = self.schema(Keyword::PropertyNames);
        let required = self.value(Keyword::Required);
        let says_nothing = schemas.is_empty() && patterns.is_empty() && others.is_none() && names.is_none();
        if !says_nothing || required.is_some() {
            let mut members = Members { others, names, ..Members::default() };
            for (name, id) in patterns {
                members
                    .patterns
                    .push((self.pattern(Keyword::PatternProperties, name.unwrap_or_default())?, id));
            }
            let view = self.compiler.schema.store.view(self.doc);
            let name = |at: At| Box::from(view.string(at));
            let schema = |(at, id): (Option<At>, SchemaId)| Named {
                name: at.map(name).unwrap_or_default(),
                schema: Some(id),
                required: None,
            };
            members.named.extend(schemas.into_iter().map(schema));
            // Of several with one name the last counts.
            members.named.reverse();
            members.named.sort_by(|one, other| one.name.cmp(&other.name));
            members.named.dedup_by(|one, other| one.name == other.name);
            for at in required.into_iter().flat_map(|list| view.elements(list)) {
                let name: Box<str> = name(at);
                let place = members.named.binary_search_by(|named| named.name.cmp(&name));
                let place = place.unwrap_or_else(|place| {
                    members.named.insert(place, Named { name, schema: None, required: None });
                    place
                });
                if let Some(named) = members.named.get_mut(place).filter(|named| named.required.is_none()) {
                    named.required = Some(members.required as u32);
                    members.required += 1;
                }
            }
            let all = &mut self.compiler.schema.members;
            all.push(members);
            let index = all.len() as u32 - 1;
            self.push(Rule::Members(index));
        }
        for keyword in [Keyword::DependentRequired, Keyword::Dependencies] {
            if let Some(at) = self.value(keyword) {
                self.push(Rule::DependentRequired(keyword, at));
            }
        }
        for keyword in [Keyword::DependentSchemas, Keyword::Dependencies] {
            let all = self.schemas(keyword, Holds::Map);
            let view = self.compiler.schema.store.view(self.doc);
            let named = all.into_iter().filter_map(|(name, id)| Some((Box::from(view.string(name?)), id)));
            let dependent = &mut self.compiler.schema.dependent;
            let first = dependent.len() as u32;
            dependent.extend(named);
            let end = dependent.len() as u32;
            if first < end {
                self.push(Rule::Dependent(Part { first, end }));
            }
        }
        Ok(())
    }

    fn of_elements(&mut self) {
        let view = self.compiler.schema.store.view(self.doc);
        let is_list = self.value(Keyword::Items).is_some_and(|at| view.kind(at) == Kind::Array);
        let is_unique = self.value(Keyword::UniqueItems).is_some_and(|at| view.is_true(at));
        let (first, rest) = match (self.dialect.draft, is_list) {
            (Draft::Draft7, true) => {
                (self.schemas(Keyword::Items, Holds::SchemaOrList), self.schema(Keyword::AdditionalItems))
            }
            (Draft::Draft7, false) => (Vec::new(), self.schema(Keyword::Items)),
            (Draft::Draft2020, _) => {
                (self.schemas(Keyword::PrefixItems, Holds::List), self.schema(Keyword::Items))
            }
        };
        if !first.is_empty() || rest.is_some() {
            let first = self.part(first);
            self.push(Rule::Elements { first, rest });
        }
        if let Some(schema) = self.schema(Keyword::Contains) {
            let min = self.count(Keyword::MinContains).unwrap_or(1);
            let max = self.count(Keyword::MaxContains).unwrap_or(usize::MAX);
            self.push(Rule::Contains { schema, min, max });
        }
        if is_unique {
            self.push(Rule::Unique);
        }
    }

    fn references(&mut self) -> Result<(), Fault> {
        for keyword in [Keyword::Ref, Keyword::DynamicRef] {
            let view = self.compiler.schema.store.view(self.doc);
            let Some(reference) = self.value(keyword).and_then(|at| view.as_string(at)) else { continue };
            let reference = reference.into_owned();
            let Compiler { default, others, .. } = *self.compiler;
            let target = self.compiler.schema.store.resolve(self.resource, &reference, default, others);
            let target = target.map_err(|message| self.fault(keyword, message))?;
            let id = self.compiler.id(target.doc, target.at);
            if keyword == Keyword::Ref || !target.is_dynamic {
                self.push(Rule::Ref(id));
                continue;
            }
            let name = reference.rsplit('#').next().unwrap_or_default();
            let names = &mut self.compiler.names;
            let index = names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            });
            self.push(Rule::DynamicRef(id, index as u32));
        }
        Ok(())
    }
}

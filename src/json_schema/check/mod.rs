//! Checking a value against the rules of a schema.
//!
//! A first look only says whether it fits and stops at the first fault. Only if it does not, a
//! second one gathers what there is to say. Both are bounded in depth and in steps.

use super::document::{At, Kind, View};
use super::keyword::Keyword;
use super::marks::Marks;
use super::number::Decimal;
use super::path;
use super::rule::{Part, Rule, SchemaId, Sub, Types};
use super::sentence::{self, Fault};
use super::store::ResourceId;
use super::{Finding, Schema, equal};
use crate::limits::{JSON_SCHEMA_DEPTH_MAX, JSON_SCHEMA_FINDINGS_MAX, JSON_SCHEMA_STEPS};

mod elements;
mod members;

/// One look at one value.
pub(super) struct Check<'s, 'i> {
    schema: &'s Schema,
    instance: View<'i>,
    /// What may still be done.
    steps: usize,
    depth: usize,
    /// The resources that were entered, where references depend on them.
    scope: Vec<ResourceId>,
    report: Option<Report>,
}

/// What a second look gathers.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
    /// Strings where something else must be, and what.
    pub(super) strings: Vec<(At, Types)>,
}

impl<'s, 'i> Check<'s, 'i> {
    /// Whether the value fits. `None` if the bounds do not suffice to know.
    pub(super) fn fits(schema: &'s Schema, instance: View<'i>) -> Option<bool> {
        let mut check = Self::new(schema, instance, None);
        let fits = check.eval(0, 0, None);
        (check.steps > 0).then_some(fits)
    }

    /// What is wrong with a value that does not fit.
    pub(super) fn report(schema: &'s Schema, instance: View<'i>) -> Report {
        let mut check = Self::new(schema, instance, Some(Report::default()));
        check.eval(0, 0, None);
        check.report.unwrap_or_default()
    }

    fn new(schema: &'s Schema, instance: View<'i>, report: Option<Report>) -> Self {
        let steps = JSON_SCHEMA_STEPS.saturating_add(instance.span(0).len());
        Self { schema, instance, steps, depth: 0, scope: Vec::new(), report }
    }

    /// Takes so many steps off the budget; false when it is used up, which ends everything.
    fn spend(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_sub(steps);
        self.steps > 0
    }

    /// A fault was found; for the caller to return.
    fn fail(&mut self, id: SchemaId, keyword: Keyword, at: At, fault: Fault<'_>) -> bool {
        if let Some(report) = &mut self.report
            && self.steps > 0
        {
            if let Fault::Type(types) = fault
                && self.instance.kind(at) == Kind::String
            {
                report.strings.push((at, types));
            }
            if report.findings.len() < JSON_SCHEMA_FINDINGS_MAX {
                let new = finding(self.schema, id, keyword, self.instance, at, fault);
                // Schemas often say the same thing more than once.
                let is_same = |old: &Finding| old.instance == new.instance && old.message == new.message;
                if !report.findings.iter().any(is_same) {
                    report.findings.push(new);
                }
            }
        }
        false
    }

    /// Whether to stop at a fault.
    fn is_hasty(&self) -> bool {
        self.report.is_none() || self.steps == 0
    }

    /// Whether a schema holds for a value. `marks` are those of the rules that hold for the same
    /// value; they count only if it does.
    fn eval(&mut self, id: SchemaId, at: At, marks: Option<&mut Marks>) -> bool {
        let schema = self.schema;
        let Some(sub) = schema.subs.get(id as usize) else { return true };
        if sub.rules.len() == 0 {
            return true;
        }
        if self.depth >= JSON_SCHEMA_DEPTH_MAX {
            self.steps = 0;
        }
        if !self.spend(1) {
            return false;
        }
        self.depth += 1;
        let enters = schema.is_dynamic && self.scope.last() != Some(&sub.resource);
        if enters {
            self.scope.push(sub.resource);
        }
        let holds = if sub.has_unevaluated {
            let mut own = Marks::default();
            let holds = self.rules(id, sub, at, Some(&mut own));
            if let Some(marks) = marks {
                marks.merge(&own);
            }
            holds
        } else {
            self.rules(id, sub, at, marks)
        };
        if enters {
            self.scope.pop();
        }
        self.depth -= 1;
        holds
    }

    fn rules(&mut self, id: SchemaId, sub: &Sub, at: At, mut marks: Option<&mut Marks>) -> bool {
        let schema = self.schema;
        let mut holds = true;
        for rule in sub.rules.of(&schema.rules) {
            // After a fault nobody knows what has been looked at.
            let is_last = matches!(rule, Rule::UnevaluatedProperties(_) | Rule::UnevaluatedItems(_));
            if !holds && is_last {
                break;
            }
            holds &= self.rule(id, sub, *rule, at, marks.as_deref_mut());
            if !holds && self.is_hasty() {
                break;
            }
        }
        holds
    }

    fn rule(&mut self, id: SchemaId, sub: &Sub, rule: Rule, at: At, marks: Option<&mut Marks>) -> bool {
        let schema = self.schema;
        let kind = self.instance.kind(at);
        let lists = |part: Part| part.of(&schema.lists);
        match rule {
            Rule::Never => self.fail(id, Keyword::False, at, Fault::Never),
            Rule::Type(types) => {
                types.hold(self.instance, at) || self.fail(id, Keyword::Type, at, Fault::Type(types))
            }
            Rule::Const(value) => {
                self.is_equal(sub, value, at) || self.fail(id, Keyword::Const, at, Fault::Const(value))
            }
            Rule::Enum(values) => {
                let mut all = schema.store.view(sub.doc).elements(values);
                all.any(|value| self.is_equal(sub, value, at))
                    || self.fail(id, Keyword::Enum, at, Fault::Enum(values))
            }
            Rule::Bound(..) | Rule::MultipleOf(_) if kind != Kind::Number => true,
            Rule::Bound(keyword, bound) => {
                let order = Decimal::parse(self.instance.text(at))
                    .cmp(&Decimal::parse(schema.store.view(sub.doc).text(bound)));
                let holds = match keyword {
                    Keyword::Minimum => order.is_ge(),
                    Keyword::ExclusiveMinimum => order.is_gt(),
                    Keyword::Maximum => order.is_le(),
                    _ => order.is_lt(),
                };
                holds || self.fail(id, keyword, at, Fault::Bound(keyword, bound))
            }
            Rule::MultipleOf(divisor) => {
                let text = schema.store.view(sub.doc).text(divisor);
                Decimal::parse(self.instance.text(at)).is_multiple_of(Decimal::parse(text))
                    || self.fail(id, Keyword::MultipleOf, at, Fault::MultipleOf(divisor))
            }
            Rule::Count(keyword, wanted) => self.count(id, keyword, wanted, at),
            Rule::Pattern(..) | Rule::Members(_) | Rule::DependentRequired(..) | Rule::Dependent(_)
                if kind != (if matches!(rule, Rule::Pattern(..)) { Kind::String } else { Kind::Object }) =>
            {
                true
            }
            Rule::Pattern(index, written) => {
                let Some(pattern) = schema.patterns.get(index as usize) else { return true };
                let text = self.instance.string(at);
                self.spend(pattern.cost(&text));
                pattern.is_match(&text) || self.fail(id, Keyword::Pattern, at, Fault::Pattern(written))
            }
            Rule::Members(index) => match schema.members.get(index as usize) {
                Some(members) => self.members(id, members, at, marks),
                None => true,
            },
            Rule::DependentRequired(keyword, names) => self.dependent_required(id, sub, keyword, names, at),
            Rule::Dependent(part) => self.dependent(part, at, marks),
            Rule::Elements { .. } | Rule::Contains { .. } | Rule::Unique | Rule::UnevaluatedItems(_)
                if kind != Kind::Array =>
            {
                true
            }
            Rule::Elements { first, rest } => self.elements(id, lists(first), rest, at, marks),
            Rule::Contains { schema, min, max } => self.contains(id, schema, (min, max), at, marks),
            Rule::Unique => {
                let twins = equal::twins(self.instance, at, &mut self.steps);
                twins.is_none_or(|(one, other)| {
                    self.fail(id, Keyword::UniqueItems, at, Fault::Twins(one, other))
                })
            }
            Rule::Ref(target) => self.eval(target, at, marks),
            Rule::DynamicRef(target, name) => {
                let mut outermost =
                    self.scope.iter().filter_map(|resource| schema.dynamic.get(&(name, *resource)));
                let target = outermost.next().copied().unwrap_or(target);
                self.eval(target, at, marks)
            }
            Rule::AllOf(part) => self.all_of(lists(part), at, marks),
            Rule::AnyOf(part) => self.any_of(id, lists(part), at, marks),
            Rule::OneOf(part) => self.one_of(id, lists(part), at, marks),
            Rule::Not(target) => {
                let fits = self.quietly(target, at, None);
                // Out of budget nothing is known.
                self.steps > 0 && (!fits || self.fail(id, Keyword::Not, at, Fault::Not))
            }
            Rule::If { condition, then, otherwise } => self.if_then(condition, then, otherwise, at, marks),
            Rule::UnevaluatedProperties(target) => self.unevaluated(id, target, Kind::Object, at, marks),
            Rule::UnevaluatedItems(target) => self.unevaluated(id, target, Kind::Array, at, marks),
        }
    }

    fn is_equal(&mut self, sub: &Sub, value: At, at: At) -> bool {
        equal::equal((self.schema.store.view(sub.doc), value), (self.instance, at), &mut self.steps)
    }

    fn count(&mut self, id: SchemaId, keyword: Keyword, wanted: usize, at: At) -> bool {
        let instance = self.instance;
        let found = match (keyword, instance.kind(at)) {
            (Keyword::MinLength | Keyword::MaxLength, Kind::String) => {
                let characters = |text: &str| text.bytes().filter(|byte| byte & 0xc0 != 0x80).count();
                match instance.plain_string(at) {
                    Some(plain) => characters(plain),
                    None => characters(&instance.string(at)),
                }
            }
            (Keyword::MinItems | Keyword::MaxItems, Kind::Array) => instance.len(at),
            (Keyword::MinProperties | Keyword::MaxProperties, Kind::Object) => instance.len(at),
            _ => return true,
        };
        let is_least = matches!(keyword, Keyword::MinLength | Keyword::MinItems | Keyword::MinProperties);
        let holds = if is_least { found >= wanted } else { found <= wanted };
        holds || self.fail(id, keyword, at, Fault::Count { keyword, wanted, found })
    }

    /// Whether a schema holds, without a word about it if it does not.
    fn quietly(&mut self, id: SchemaId, at: At, marks: Option<&mut Marks>) -> bool {
        let report = self.report.take();
        let holds = self.eval(id, at, marks);
        self.report = report;
        holds
    }

    /// The same for one of several alternatives, whose marks count only if it holds.
    fn tried(&mut self, id: SchemaId, at: At, marks: &mut Option<&mut Marks>) -> bool {
        let Some(marks) = marks else { return self.quietly(id, at, None) };
        let mut own = Marks::default();
        let holds = self.quietly(id, at, Some(&mut own));
        if holds {
            marks.merge(&own);
        }
        holds
    }

    fn all_of(&mut self, all: &[SchemaId], at: At, mut marks: Option<&mut Marks>) -> bool {
        let mut holds = true;
        for id in all {
            holds &= self.eval(*id, at, marks.as_deref_mut());
            if !holds && self.is_hasty() {
                break;
            }
        }
        holds
    }

    fn any_of(&mut self, id: SchemaId, all: &[SchemaId], at: At, mut marks: Option<&mut Marks>) -> bool {
        let mut holds = false;
        for alternative in all {
            holds |= self.tried(*alternative, at, &mut marks);
            if holds && marks.is_none() {
                break;
            }
        }
        holds || self.none_of(id, Keyword::AnyOf, all, at)
    }

    fn one_of(&mut self, id: SchemaId, all: &[SchemaId], at: At, mut marks: Option<&mut Marks>) -> bool {
        let mut found = None;
        for (index, alternative) in all.iter().enumerate() {
            if self.tried(*alternative, at, &mut marks) {
                if let Some(first) = found {
                    return self.fail(id, Keyword::OneOf, at, Fault::Two(first, index));
                }
                found = Some(index);
            }
        }
        // Out of budget another one may fit.
        self.steps > 0 && (found.is_some() || self.none_of(id, Keyword::OneOf, all, at))
    }

    /// Says what is wrong by each of the alternatives.
    fn none_of(&mut self, id: SchemaId, keyword: Keyword, all: &[SchemaId], at: At) -> bool {
        let Some(mut outer) = self.report.take() else { return false };
        let mut reasons: Vec<String> = Vec::new();
        for alternative in all {
            self.report = Some(Report::default());
            self.eval(*alternative, at, None);
            let inner = self.report.take().unwrap_or_default();
            outer.strings.extend(inner.strings);
            if reasons.len() < JSON_SCHEMA_FINDINGS_MAX {
                reasons.extend(inner.findings.into_iter().next().map(|finding| finding.message));
            }
        }
        self.report = Some(outer);
        self.fail(id, keyword, at, Fault::None(&reasons))
    }

    fn if_then(
        &mut self,
        condition: SchemaId,
        then: Option<SchemaId>,
        otherwise: Option<SchemaId>,
        at: At,
        mut marks: Option<&mut Marks>,
    ) -> bool {
        let consequence = if self.tried(condition, at, &mut marks) { then } else { otherwise };
        match consequence {
            Some(id) => self.eval(id, at, marks),
            None => self.steps > 0,
        }
    }

    fn unevaluated(
        &mut self,
        id: SchemaId,
        target: SchemaId,
        kind: Kind,
        at: At,
        marks: Option<&mut Marks>,
    ) -> bool {
        let instance = self.instance;
        let Some(marks) = marks.filter(|_| instance.kind(at) == kind) else { return true };
        let keyword = match kind {
            Kind::Object => Keyword::UnevaluatedProperties,
            _ => Keyword::UnevaluatedItems,
        };
        let mut holds = true;
        let values = instance.members(at).map(|(_, value)| value).chain(instance.elements(at));
        for (index, value) in values.enumerate() {
            if !marks.has(index) {
                holds &= if self.schema.is_never(target) {
                    self.fail(id, keyword, value, Fault::Unknown(None))
                } else {
                    self.eval(target, value, None)
                };
                if !holds && self.is_hasty() {
                    return false;
                }
            }
        }
        marks.mark_all();
        holds
    }
}

/// What there is to say about a fault.
fn finding(
    schema: &Schema,
    id: SchemaId,
    keyword: Keyword,
    instance: View<'_>,
    at: At,
    fault: Fault<'_>,
) -> Finding {
    let Some(sub) = schema.subs.get(id as usize) else { return Finding::default() };
    let written = schema.store.view(sub.doc);
    let place = path::pointer(&written.path(sub.at));
    let document = if sub.doc == 0 { "" } else { schema.store.uri_of(sub.doc) };
    let mark = if sub.doc == 0 { "" } else { "#" };
    let rule = keyword.name();
    let keyword = if keyword == Keyword::False { String::new() } else { format!("/{rule}") };
    Finding {
        instance: path::pointer(&instance.path(at)),
        schema: format!("{document}{mark}{place}{keyword}"),
        rule,
        message: sentence::sentence(fault, written, (instance, schema.subject), at),
    }
}

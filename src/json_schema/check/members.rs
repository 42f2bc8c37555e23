//! The members of an object.

use super::Check;
use crate::json_schema::document::At;
use crate::json_schema::keyword::Keyword;
use crate::json_schema::marks::Marks;
use crate::json_schema::rule::{Members, Part, SchemaId, Sub};
use crate::json_schema::sentence::Fault;

impl Check<'_, '_> {
    pub(super) fn members(
        &mut self,
        id: SchemaId,
        members: &Members,
        at: At,
        mut marks: Option<&mut Marks>,
    ) -> bool {
        let instance = self.instance;
        let mut holds = true;
        // Of those that must be there; the first ones without an allocation.
        let mut found = 0u64;
        let mut found_more = Marks::default();
        let mut missing = members.required;
        for (index, (name_at, value)) in instance.members(at).enumerate() {
            let name = instance.string(name_at);
            let mut is_known = false;
            if let Some(named) = members.named(&name) {
                if let Some(which) = named.required {
                    let is_new = match 1u64.checked_shl(which) {
                        Some(bit) if found & bit == 0 => {
                            found |= bit;
                            true
                        }
                        None if !found_more.has(which as usize) => {
                            found_more.mark(which as usize);
                            true
                        }
                        _ => false,
                    };
                    missing -= usize::from(is_new);
                }
                if let Some(schema) = named.schema {
                    is_known = true;
                    holds &= self.eval(schema, value, None);
                }
            }
            for (pattern, schema) in &members.patterns {
                self.spend(pattern.cost(&name));
                if pattern.is_match(&name) {
                    is_known = true;
                    holds &= self.eval(*schema, value, None);
                }
            }
            if let Some(others) = members.others.filter(|_| !is_known) {
                is_known = true;
                holds &= if self.schema.is_never(others) {
                    self.fail(id, Keyword::AdditionalProperties, value, Fault::Unknown(Some(members)))
                } else {
                    self.eval(others, value, None)
                };
            }
            if let Some(names) = members.names {
                holds &= self.eval(names, name_at, None);
            }
            if !holds && self.is_hasty() {
                return false;
            }
            if is_known && let Some(marks) = &mut marks {
                marks.mark(index);
            }
        }
        if missing > 0 {
            holds = false;
            if self.is_hasty() {
                return false;
            }
            for named in &members.named {
                let Some(which) = named.required else { continue };
                let is_there =
                    1u64.checked_shl(which).map_or(found_more.has(which as usize), |bit| found & bit != 0);
                if !is_there {
                    self.fail(id, Keyword::Required, at, Fault::Missing { name: &named.name, beside: None });
                }
            }
        }
        holds
    }

    pub(super) fn dependent_required(
        &mut self,
        id: SchemaId,
        sub: &Sub,
        keyword: Keyword,
        names: At,
        at: At,
    ) -> bool {
        let schema = self.schema;
        let written = schema.store.view(sub.doc);
        let mut holds = true;
        for (name, list) in written.members(names) {
            let beside = written.string(name);
            self.spend(self.instance.len(at));
            if written.len(list) == 0 || self.instance.get(at, &beside).is_none() {
                continue;
            }
            for name in written.elements(list) {
                let name = written.string(name);
                self.spend(self.instance.len(at));
                if self.instance.get(at, &name).is_none() {
                    holds = self.fail(id, keyword, at, Fault::Missing { name: &name, beside: Some(&beside) });
                    if self.is_hasty() {
                        return false;
                    }
                }
            }
        }
        holds
    }

    /// The schemas that hold for the whole object where a member is there.
    pub(super) fn dependent(&mut self, part: Part, at: At, mut marks: Option<&mut Marks>) -> bool {
        let schema = self.schema;
        let mut holds = true;
        for (name, id) in part.of(&schema.dependent) {
            self.spend(self.instance.len(at));
            if self.instance.get(at, name).is_some() {
                holds &= self.eval(*id, at, marks.as_deref_mut());
                if !holds && self.is_hasty() {
                    return false;
                }
            }
        }
        holds
    }
}

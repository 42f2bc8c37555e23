//! The elements of an array.

use super::Check;
use crate::json_schema::document::At;
use crate::json_schema::keyword::Keyword;
use crate::json_schema::marks::Marks;
use crate::json_schema::rule::SchemaId;
use crate::json_schema::sentence::Fault;

impl Check<'_, '_> {
    pub(super) fn elements(
        &mut self,
        id: SchemaId,
        first: &[SchemaId],
        rest: Option<SchemaId>,
        at: At,
        mut marks: Option<&mut Marks>,
    ) -> bool {
        let mut holds = true;
        for (index, element) in self.instance.elements(at).enumerate() {
            let Some(schema) = first.get(index).copied().or(rest) else { break };
            holds &= if index >= first.len() && self.schema.is_never(schema) {
                let count = Fault::Count {
                    keyword: Keyword::MaxItems,
                    wanted: first.len(),
                    found: self.instance.len(at),
                };
                return self.fail(id, Keyword::Items, at, count);
            } else {
                self.eval(schema, element, None)
            };
            if !holds && self.is_hasty() {
                return false;
            }
            if let Some(marks) = &mut marks {
                marks.mark(index);
            }
        }
        holds
    }

    pub(super) fn contains(
        &mut self,
        id: SchemaId,
        schema: SchemaId,
        (min, max): (usize, usize),
        at: At,
        mut marks: Option<&mut Marks>,
    ) -> bool {
        let mut found = 0;
        for (index, element) in self.instance.elements(at).enumerate() {
            if self.quietly(schema, element, None) {
                found += 1;
                if let Some(marks) = &mut marks {
                    marks.mark(index);
                }
                let is_known = found >= min && max == usize::MAX && marks.is_none();
                if is_known || found > max {
                    break;
                }
            }
        }
        let (keyword, wanted) = match () {
            () if found > max => (Keyword::MaxContains, max),
            () if found >= min => return self.steps > 0,
            // Without a number of its own it is one.
            () if min == 1 => (Keyword::Contains, min),
            () => (Keyword::MinContains, min),
        };
        self.fail(id, keyword, at, Fault::Contains { keyword, wanted, found })
    }
}

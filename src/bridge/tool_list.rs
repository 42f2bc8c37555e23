//! Which of the declared tools are active: the tool list's three modes.

use std::collections::BTreeSet;

use crate::wire::protomcp::BatchUpdateRequest;

/// What is active, by name. Names that no tool has are kept: the tool may come with a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ToolList {
    mode: Mode,
    /// In [`Mode::Allow`] the active names, otherwise the inactive ones.
    names: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// All tools but the disabled ones.
    #[default]
    Open,
    /// Only the allowed tools.
    Allow,
    /// All tools but the blocked ones.
    Block,
}

impl ToolList {
    /// Whether a declared tool of this name is active.
    pub(super) fn is_active(&self, name: &str) -> bool {
        self.names.contains(name) == (self.mode == Mode::Allow)
    }

    /// Makes tools active, whatever the mode.
    pub(super) fn enable<I: IntoIterator<Item: AsRef<str>>>(&mut self, names: I) {
        self.set(names, true);
    }

    /// Makes tools inactive, whatever the mode.
    pub(super) fn disable<I: IntoIterator<Item: AsRef<str>>>(&mut self, names: I) {
        self.set(names, false);
    }

    /// Only these are active from now on; none means: back to the open mode.
    pub(super) fn allow(&mut self, names: Vec<String>) {
        self.switch(Mode::Allow, names);
    }

    /// All but these are active from now on; none means: back to the open mode.
    pub(super) fn block(&mut self, names: Vec<String>) {
        self.switch(Mode::Block, names);
    }

    /// Sets the mode first, then enables, then disables.
    ///
    /// # Errors
    /// Both `allow` and `block` are given; nothing is changed then.
    pub(super) fn batch(&mut self, batch: BatchUpdateRequest) -> Result<(), &'static str> {
        if !batch.allow.is_empty() && !batch.block.is_empty() {
            return Err("a batch update names both allowed and blocked tools; nothing was changed");
        }
        if !batch.allow.is_empty() {
            self.allow(batch.allow);
        } else if !batch.block.is_empty() {
            self.block(batch.block);
        }
        self.enable(batch.enable);
        self.disable(batch.disable);
        Ok(())
    }

    /// How many names are kept.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Keeps only these names.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.names.retain(|name| keep(name));
    }

    fn set<I: IntoIterator<Item: AsRef<str>>>(&mut self, names: I, active: bool) {
        for name in names {
            let name = name.as_ref();
            if active == (self.mode == Mode::Allow) {
                if !self.names.contains(name) {
                    self.names.insert(name.to_owned());
                }
            } else {
                self.names.remove(name);
            }
        }
    }

    fn switch(&mut self, mode: Mode, names: Vec<String>) {
        self.mode = if names.is_empty() { Mode::Open } else { mode };
        self.names = names.into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(list: &ToolList) -> String {
        ["a", "b", "c"].into_iter().filter(|name| list.is_active(name)).collect()
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn open_mode_disables_and_enables() {
        let mut list = ToolList::default();
        assert_eq!(active(&list), "abc");
        list.disable(["b"]);
        assert_eq!(active(&list), "ac");
        list.enable(["b", "never declared"]);
        assert_eq!(active(&list), "abc");
    }

    #[test]
    fn modes_start_afresh_and_enable_works_in_each() {
        let mut list = ToolList::default();
        list.disable(["a"]);
        list.allow(names(&["a", "b"]));
        assert_eq!(active(&list), "ab");
        list.enable(["c"]);
        list.disable(["a"]);
        assert_eq!(active(&list), "bc");
        list.block(names(&["c"]));
        assert_eq!(active(&list), "ab");
        list.disable(["a"]);
        list.enable(["c"]);
        assert_eq!(active(&list), "bc");
    }

    #[test]
    fn an_empty_list_returns_to_the_open_mode() {
        for empty in [ToolList::allow, ToolList::block] {
            let mut list = ToolList::default();
            list.allow(names(&["a"]));
            empty(&mut list, Vec::new());
            assert_eq!(active(&list), "abc");
            list.disable(["a"]);
            assert_eq!(active(&list), "bc");
        }
    }

    #[test]
    fn a_batch_sets_its_mode_first() {
        let mut list = ToolList::default();
        let batch = BatchUpdateRequest {
            enable: names(&["b"]),
            disable: names(&["a"]),
            allow: names(&["a", "c"]),
            block: Vec::new(),
        };
        list.batch(batch).unwrap();
        assert_eq!(active(&list), "bc");
    }

    #[test]
    fn a_batch_with_both_modes_changes_nothing() {
        let mut list = ToolList::default();
        let batch = BatchUpdateRequest {
            enable: Vec::new(),
            disable: names(&["a"]),
            allow: names(&["a"]),
            block: names(&["b"]),
        };
        assert!(list.batch(batch).is_err());
        assert_eq!(list, ToolList::default());
    }
}

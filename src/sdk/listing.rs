//! Which prompts and resources hosts see in their lists, changed while the process runs.

use super::context::Link;

/// What is listed apart from tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Prompts, by their names.
    Prompts,
    /// Resources, by their URIs.
    Resources,
}

/// A list that hosts see, to be changed by a handler.
///
/// What is hidden is not in the list; who knows its name can still use it. Hosts are told of each
/// change.
#[derive(Clone, Copy)]
pub struct Listing<'a> {
    link: &'a dyn Link,
    listed: Listed,
}

impl<'a> Listing<'a> {
    pub(super) fn new(link: &'a dyn Link, listed: Listed) -> Self {
        Self { link, listed }
    }

    /// Shows what was hidden; names that nothing has are skipped.
    pub fn show<T: AsRef<str>>(self, names: impl IntoIterator<Item = T>) {
        self.link.list(self.listed, &owned(names), true);
    }

    /// Hides what is shown.
    pub fn hide<T: AsRef<str>>(self, names: impl IntoIterator<Item = T>) {
        self.link.list(self.listed, &owned(names), false);
    }

    /// Whether hosts see this one.
    pub fn is_shown(self, name: &str) -> bool {
        self.link.is_listed(self.listed, name)
    }
}

fn owned<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Vec<String> {
    names.into_iter().map(|name| name.as_ref().to_owned()).collect()
}

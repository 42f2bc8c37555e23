//! Completions: suggestions while a person fills in an argument.

use super::args::Args;
use super::context::Context;
use super::error::ToolError;
use crate::wire::protomcp;

/// Whose argument is being filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
}

impl Reference {
    /// A prompt, by its name.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self { kind: "ref/prompt", name: name.into() }
    }

    /// A resource template, by its text as announced.
    pub fn resource(uri_template: impl Into<String>) -> Self {
        Self { kind: "ref/resource", name: uri_template.into() }
    }
}

/// An argument in the making.
#[derive(Debug)]
pub struct Completing<'a> {
    value: &'a str,
    settled: Args<'a>,
}

impl<'a> Completing<'a> {
    pub(crate) fn new(value: &'a str, settled_json: &'a str) -> Self {
        Self { value, settled: Args::new(settled_json) }
    }

    /// What has been typed so far.
    pub fn value(&self) -> &'a str {
        self.value
    }

    /// The arguments that are settled already, if the host says so.
    pub fn settled(&self) -> &Args<'a> {
        &self.settled
    }

    /// Those of `values` that begin with what has been typed, upper and lower case being the same.
    ///
    /// ```
    /// use pmcp_bridge::sdk::{Reference, Server};
    ///
    /// Server::new().completion(Reference::prompt("review"), "language", |_, completing| {
    ///     Ok(completing.matching(["Go", "Python", "Rust"]))
    /// });
    /// ```
    pub fn matching<S: Into<String>>(&self, values: impl IntoIterator<Item = S>) -> Completion {
        let typed = self.value.to_lowercase();
        let values = values.into_iter().map(Into::into);
        Completion::from(values.filter(|value| value.to_lowercase().starts_with(&typed)).collect::<Vec<_>>())
    }
}

/// The suggestions; a list of texts becomes one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    values: Vec<String>,
    total: i32,
    has_more: bool,
}

impl Completion {
    /// How many there are in all, if more than are given here.
    pub fn total(mut self, total: u32) -> Self {
        self.total = i32::try_from(total).unwrap_or(i32::MAX);
        self
    }

    /// Whether there are more than are given here.
    pub fn has_more(mut self, has_more: bool) -> Self {
        self.has_more = has_more;
        self
    }

    pub(crate) fn into_wire(self) -> protomcp::CompletionResponse {
        protomcp::CompletionResponse { values: self.values, total: self.total, has_more: self.has_more }
    }
}

impl<S: Into<String>> From<Vec<S>> for Completion {
    fn from(values: Vec<S>) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), total: 0, has_more: false }
    }
}

impl<S: Into<String>, const N: usize> From<[S; N]> for Completion {
    fn from(values: [S; N]) -> Self {
        Self { values: values.into_iter().map(Into::into).collect(), total: 0, has_more: false }
    }
}

pub(crate) type CompletionHandler =
    Box<dyn Fn(&Context, &Completing<'_>) -> Result<Completion, ToolError> + Send + Sync>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_goes_by_the_beginning() {
        let completing = Completing::new("pY", r#"{"a":"b"}"#);
        assert_eq!(completing.matching(["Python", "Rust", "pypy"]).values, ["Python", "pypy"]);
        assert_eq!(completing.settled().get::<String>("a").unwrap(), "b");
    }
}

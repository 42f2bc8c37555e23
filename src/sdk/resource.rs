//! Resources and resource templates: what a host may read by URI.

use std::fmt;

use super::context::Context;
use super::error::ToolError;
use super::input::InputRequired;
use super::json::Json;
use crate::wire::protomcp::envelope::Msg;
use crate::wire::protomcp::{
    ReadResourceResponse, ResourceContent, ResourceDefinition, ResourceTemplateDefinition,
};

/// Begins a resource with a fixed URI; [`ResourceBuilder::read`] finishes it.
///
/// ```
/// use pmcp_bridge::sdk::resource;
///
/// let motd = resource("text://motd").name("motd").mime_type("text/plain").read(|_| Ok("Hello!"));
/// # let _ = motd;
/// ```
pub fn resource(uri: impl Into<String>) -> ResourceBuilder {
    let uri = uri.into();
    let definition = ResourceDefinition { name: uri.clone(), uri, ..Default::default() };
    ResourceBuilder { definition, hidden: false }
}

/// Begins a family of resources; [`ResourceTemplateBuilder::read`] finishes it.
///
/// The template is one of RFC 6570, level 1: `{name}` stands for one or more characters other
/// than `/`, `?` and `#`, which the handler gets percent-decoded.
///
/// ```
/// use pmcp_bridge::sdk::{ToolError, resource_template};
///
/// let notes = resource_template("notes://{id}").name("notes").read(|_, variables| {
///     match &variables["id"] {
///         "1" => Ok("Buy milk."),
///         id => Err(ToolError::not_found(format!("there is no note {id}"))),
///     }
/// });
/// # let _ = notes;
/// ```
pub fn resource_template(uri_template: impl Into<String>) -> ResourceTemplateBuilder {
    let uri_template = uri_template.into();
    ResourceTemplateBuilder {
        definition: ResourceTemplateDefinition {
            name: uri_template.clone(),
            uri_template,
            ..Default::default()
        },
    }
}

/// A resource without its handler; made by [`resource`].
#[derive(Clone, Debug)]
#[must_use = "a resource without a handler is not offered"]
pub struct ResourceBuilder {
    definition: ResourceDefinition,
    hidden: bool,
}

/// A template without its handler; made by [`resource_template`].
#[derive(Clone, Debug)]
#[must_use = "a template without a handler is not offered"]
pub struct ResourceTemplateBuilder {
    definition: ResourceTemplateDefinition,
}

/// What a resource and a template have in common.
macro_rules! resource_options {
    () => {
        /// A short name; the URI if not given.
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.definition.name = name.into();
            self
        }

        /// A name for people.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.definition.title = title.into();
            self
        }

        /// What it is, for the model.
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.definition.description = description.into();
            self
        }

        /// Its media type; contents that name none have this one.
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.definition.mime_type = mime_type.into();
            self
        }

        /// Its `annotations`, a JSON object.
        pub fn annotations(mut self, annotations: impl Into<Json>) -> Self {
            self.definition.annotations_json = annotations.into().into_string();
            self
        }

        /// Its icons, a JSON array.
        pub fn icons(mut self, icons: impl Into<Json>) -> Self {
            self.definition.icons_json = icons.into().into_string();
            self
        }

        /// Its `_meta`, a JSON object.
        pub fn meta(mut self, meta: impl Into<Json>) -> Self {
            self.definition.meta_json = meta.into().into_string();
            self
        }
    };
}

impl ResourceBuilder {
    resource_options!();

    /// Its size in bytes, if known.
    pub fn size(mut self, size: u64) -> Self {
        self.definition.size = i64::try_from(size).unwrap_or(i64::MAX);
        self
    }

    /// Leaves the resource out of the list until it is shown ([`Context::resources`]).
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Finishes the resource with the function that reads it.
    pub fn read<F, R>(self, read: F) -> Resource
    where
        F: Fn(&Context) -> Result<R, ToolError> + Send + Sync + 'static,
        R: Into<Contents>,
    {
        Resource {
            definition: self.definition,
            hidden: self.hidden,
            read: Box::new(move |context| read(context).map(Into::into)),
        }
    }
}

impl ResourceTemplateBuilder {
    resource_options!();

    /// Finishes the template with the function that reads what matches it. A
    /// [`ToolError::not_found`] tells the host that there is no such resource.
    pub fn read<F, R>(self, read: F) -> ResourceTemplate
    where
        F: Fn(&Context, &Variables) -> Result<R, ToolError> + Send + Sync + 'static,
        R: Into<Contents>,
    {
        ResourceTemplate {
            pattern: Pattern::parse(&self.definition.uri_template),
            definition: self.definition,
            read: Box::new(move |context, variables| read(context, variables).map(Into::into)),
        }
    }
}

/// A finished resource, ready for [`Server::resource`](super::Server::resource).
pub struct Resource {
    pub(crate) definition: ResourceDefinition,
    pub(crate) hidden: bool,
    pub(crate) read: ResourceHandler,
}

pub(crate) type ResourceHandler = Box<dyn Fn(&Context) -> Result<Contents, ToolError> + Send + Sync>;

/// A finished template, ready for [`Server::resource_template`](super::Server::resource_template).
pub struct ResourceTemplate {
    pub(crate) definition: ResourceTemplateDefinition,
    pub(crate) pattern: Result<Pattern, String>,
    pub(crate) read: ResourceTemplateHandler,
}

pub(crate) type ResourceTemplateHandler =
    Box<dyn Fn(&Context, &Variables) -> Result<Contents, ToolError> + Send + Sync>;

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Resource").field(&self.definition).finish()
    }
}

impl fmt::Debug for ResourceTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResourceTemplate").field(&self.definition).finish()
    }
}

/// What reading a resource yields: text, bytes, or several of these.
///
/// Text and bytes need no builder; they get the URI that was asked for and the media type that
/// was announced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    parts: Vec<ResourceContent>,
    /// Goes instead of all else.
    questions: Option<Box<InputRequired>>,
}

impl Contents {
    /// No contents yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(ResourceContent { text: text.into(), ..Default::default() });
        self
    }

    /// Adds bytes.
    pub fn blob(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.parts.push(ResourceContent { blob: bytes.into(), ..Default::default() });
        self
    }

    /// The media type of what was added last.
    pub fn mime_type(self, mime_type: impl Into<String>) -> Self {
        self.last(|part| part.mime_type = mime_type.into())
    }

    /// The URI of what was added last, if it is not the one that was asked for.
    pub fn uri(self, uri: impl Into<String>) -> Self {
        self.last(|part| part.uri = uri.into())
    }

    /// The `_meta` of what was added last, a JSON object.
    pub fn meta(self, meta: impl Into<Json>) -> Self {
        self.last(|part| part.meta_json = meta.into().into_string())
    }

    fn last(mut self, change: impl FnOnce(&mut ResourceContent)) -> Self {
        if let Some(part) = self.parts.last_mut() {
            change(part);
        }
        self
    }

    pub(crate) fn into_answer(mut self, uri: &str, mime_type: &str) -> Result<Msg, ToolError> {
        match self.questions.take() {
            Some(questions) => questions.into_answer(),
            None => {
                let contents = self.into_wire(uri, mime_type);
                Ok(Msg::ReadResourceResponse(ReadResourceResponse { contents, error: None }))
            }
        }
    }

    fn into_wire(self, uri: &str, mime_type: &str) -> Vec<ResourceContent> {
        let complete = |mut part: ResourceContent| {
            if part.uri.is_empty() {
                part.uri = uri.to_owned();
            }
            if part.mime_type.is_empty() {
                part.mime_type = mime_type.to_owned();
            }
            part
        };
        self.parts.into_iter().map(complete).collect()
    }
}

/// No contents yet: the host is asked first, and the resource is read again.
impl From<InputRequired> for Contents {
    fn from(questions: InputRequired) -> Self {
        Self { questions: Some(Box::new(questions)), ..Self::default() }
    }
}

impl From<&str> for Contents {
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}

impl From<String> for Contents {
    fn from(text: String) -> Self {
        Self::new().text(text)
    }
}

impl From<Vec<u8>> for Contents {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new().blob(bytes)
    }
}

impl From<&[u8]> for Contents {
    fn from(bytes: &[u8]) -> Self {
        Self::new().blob(bytes)
    }
}

/// What a template's variables stand for in one URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variables {
    uri: String,
    values: Vec<(String, String)>,
}

impl Variables {
    /// The whole URI.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// One variable, percent-decoded; `None` if the template has none of that name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Panics, as indexing does, if the template has no variable of that name.
impl std::ops::Index<&str> for Variables {
    type Output = str;

    fn index(&self, name: &str) -> &str {
        self.get(name).unwrap_or_else(|| panic!("the template has no variable {name:?}"))
    }
}

/// A parsed template: literals with one variable after each but the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// A literal and the variable behind it.
    pairs: Vec<(String, String)>,
    /// The literal at the end.
    tail: String,
}

impl Pattern {
    fn parse(template: &str) -> Result<Self, String> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut rest = template;
        while let Some((literal, after)) = rest.split_once('{') {
            let (name, after) = after
                .split_once('}')
                .ok_or_else(|| format!("{template:?} has a brace that is never closed"))?;
            let is_name = |name: &str| {
                !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.%-".contains(c))
            };
            if !is_name(name) {
                return Err(format!(
                    "{template:?} has the expression {{{name}}}; only {{name}} is understood"
                ));
            }
            if literal.is_empty() && !pairs.is_empty() {
                return Err(format!("{template:?} has nothing between two variables"));
            }
            if pairs.iter().any(|(_, other)| other == name) {
                return Err(format!("{template:?} has the variable {name} twice"));
            }
            pairs.push((literal.to_owned(), name.to_owned()));
            rest = after;
        }
        Ok(Self { pairs, tail: rest.to_owned() })
    }

    /// Matches a whole URI. Each variable takes as little as it can, the last one all that is
    /// left; time is linear in the URI's length.
    pub(crate) fn matches(&self, uri: &str) -> Option<Variables> {
        let Some(((head, _), _)) = self.pairs.split_first() else {
            return (uri == self.tail).then(|| Variables { uri: uri.to_owned(), values: Vec::new() });
        };
        let mut rest = uri.strip_prefix(head.as_str())?.strip_suffix(self.tail.as_str())?;
        let mut values = Vec::with_capacity(self.pairs.len());
        for (at, (_, name)) in self.pairs.iter().enumerate() {
            let value = match self.pairs.get(at + 1) {
                Some((literal, _)) => {
                    // At least one character belongs to the variable.
                    let first = rest.chars().next()?.len_utf8();
                    let end = first + rest[first..].find(literal.as_str())?;
                    let value = &rest[..end];
                    rest = &rest[end + literal.len()..];
                    value
                }
                None => rest,
            };
            if value.is_empty() || value.contains(['/', '?', '#']) {
                return None;
            }
            values.push((name.clone(), percent_decoded(value)?));
        }
        Some(Variables { uri: uri.to_owned(), values })
    }
}

/// Undoes percent-encoding (RFC 3986, section 2.1); `None` when the outcome is not UTF-8. A `%`
/// without two hex digits stands for itself.
fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        Pattern::parse(template).unwrap().matches(uri).map(|variables| variables.values)
    }

    fn pairs(of: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        Some(of.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
    }

    #[test]
    fn variables_are_found_between_literals() {
        assert_eq!(matched("notes://{id}", "notes://7"), pairs(&[("id", "7")]));
        assert_eq!(matched("a://{x}/{y}.md", "a://1/2.3.md"), pairs(&[("x", "1"), ("y", "2.3")]));
        assert_eq!(matched("{scheme}://x", "a://x"), pairs(&[("scheme", "a")]));
        assert_eq!(matched("a://{x}", "a://%C5%99%2Fb%"), pairs(&[("x", "ř/b%")]));
        assert_eq!(matched("a://{x}", "a://ř"), pairs(&[("x", "ř")]));
        assert_eq!(matched("{a}-{b}", "--x"), pairs(&[("a", "-"), ("b", "x")]));
        assert_eq!(matched("a://b", "a://b"), pairs(&[]));
    }

    #[test]
    fn what_does_not_fit_does_not_match() {
        for (template, uri) in [
            ("notes://{id}", "notes://"),
            ("notes://{id}", "notes://a/b"),
            ("notes://{id}", "notes://a?b"),
            ("notes://{id}", "note://a"),
            ("a://{x}.md", "a://b.txt"),
            ("a://{x}.md", "a://.md"),
            ("a://{x}aa", "a://a"),
            ("a://{x}/{y}", "a://1"),
            ("a://{x}", "a://%FF"),
            ("a://b", "a://bc"),
        ] {
            assert_eq!(matched(template, uri), None, "{template} {uri}");
        }
    }

    #[test]
    fn templates_of_higher_levels_are_refused() {
        for template in ["a://{+x}", "a://{x", "a://{}", "a://{x}{y}", "a://{x}/{x}", "a://{x,y}", "a{?q}"] {
            assert!(Pattern::parse(template).is_err(), "{template}");
        }
    }

    #[test]
    fn contents_get_what_was_asked_for() {
        let parts =
            Contents::from("a").blob([1]).mime_type("x/y").uri("u://2").into_wire("u://1", "text/plain");
        assert_eq!((parts[0].uri.as_str(), parts[0].mime_type.as_str()), ("u://1", "text/plain"));
        assert_eq!((parts[1].uri.as_str(), parts[1].mime_type.as_str()), ("u://2", "x/y"));
    }
}

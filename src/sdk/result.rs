//! What a tool answers.

use serde_json::Value;

use super::content::Content;
use super::error::ToolError;
use super::input::InputRequired;
use super::json::{Json, push_string};
use crate::wire::protomcp;
use crate::wire::protomcp::envelope::Msg;

/// The result of a tool.
///
/// Simple results need no builder: text, numbers and booleans become one text block, a
/// [`Value`] becomes structured content, `()` becomes an empty result.
///
/// ```
/// use pmcp_bridge::sdk::{ToolResult, json};
///
/// let result = ToolResult::new()
///     .text("Two cities found.")
///     .structured(json!({"cities": ["Brno", "Bern"]}))
///     .enable_tools(["forecast"]);
/// # let _ = result;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// A JSON array without its closing bracket; empty when there is no block.
    blocks: String,
    structured: String,
    meta: String,
    is_error: bool,
    enable: Vec<String>,
    disable: Vec<String>,
    /// Goes instead of all else.
    questions: Option<Box<InputRequired>>,
}

impl ToolResult {
    /// An empty result.
    pub fn new() -> Self {
        Self::default()
    }

    fn begin_block(&mut self) {
        self.blocks.push(if self.blocks.is_empty() { '[' } else { ',' });
    }

    /// Adds a text block.
    pub fn text(mut self, text: impl AsRef<str>) -> Self {
        self.begin_block();
        self.blocks.push_str(r#"{"type":"text","text":"#);
        push_string(&mut self.blocks, text.as_ref());
        self.blocks.push('}');
        self
    }

    /// Adds a picture: its bytes and its media type.
    pub fn image(self, bytes: impl AsRef<[u8]>, mime_type: &str) -> Self {
        self.content(Content::image(bytes, mime_type))
    }

    /// Adds a sound: its bytes and its media type.
    pub fn audio(self, bytes: impl AsRef<[u8]>, mime_type: &str) -> Self {
        self.content(Content::audio(bytes, mime_type))
    }

    /// Adds a pointer to a resource.
    pub fn resource_link(self, uri: &str, name: &str) -> Self {
        self.content(Content::resource_link(uri, name))
    }

    /// Adds any content block.
    pub fn content(mut self, content: impl Into<Content>) -> Self {
        self.begin_block();
        content.into().push_to(&mut self.blocks);
        self
    }

    /// Sets the structured content, which should fit the tool's output schema. When there is no
    /// text beside it the bridge adds its JSON as a text block, for hosts that show only text.
    pub fn structured(mut self, value: impl Into<Json>) -> Self {
        self.structured = value.into().into_string();
        self
    }

    /// Sets the result's `_meta`, a JSON object.
    pub fn meta(mut self, meta: impl Into<Json>) -> Self {
        self.meta = meta.into().into_string();
        self
    }

    /// Marks the result as a failure that the content explains. [`ToolError`] says more.
    pub fn error(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// Enables tools once this result is there.
    pub fn enable_tools<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.enable.extend(names.into_iter().map(Into::into));
        self
    }

    /// Disables tools once this result is there.
    pub fn disable_tools<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.disable.extend(names.into_iter().map(Into::into));
        self
    }

    pub(crate) fn into_answer(mut self) -> Result<Msg, ToolError> {
        match self.questions.take() {
            Some(questions) => questions.into_answer(),
            None => Ok(Msg::CallResult(self.into_wire())),
        }
    }

    pub(crate) fn into_wire(mut self) -> protomcp::CallToolResponse {
        if self.blocks.is_empty() {
            self.blocks.push('[');
        }
        self.blocks.push(']');
        protomcp::CallToolResponse {
            is_error: self.is_error,
            result_json: self.blocks,
            enable_tools: self.enable,
            disable_tools: self.disable,
            error: None,
            structured_content_json: self.structured,
            meta_json: self.meta,
        }
    }
}

/// A failed call: readable text for the model beside the fields for programs.
pub(crate) fn failed_call(error: ToolError) -> protomcp::CallToolResponse {
    let mut response = ToolResult::new().text(error.to_string()).error().into_wire();
    response.error = Some(error.into_wire());
    response
}

/// Not a result yet: the host is asked first, and the tool is called again.
impl From<InputRequired> for ToolResult {
    fn from(questions: InputRequired) -> Self {
        Self { questions: Some(Box::new(questions)), ..Self::default() }
    }
}

impl From<()> for ToolResult {
    fn from((): ()) -> Self {
        Self::new()
    }
}

impl From<&str> for ToolResult {
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}

impl From<String> for ToolResult {
    fn from(text: String) -> Self {
        Self::new().text(text)
    }
}

impl From<Content> for ToolResult {
    fn from(content: Content) -> Self {
        Self::new().content(content)
    }
}

impl From<Vec<Content>> for ToolResult {
    fn from(contents: Vec<Content>) -> Self {
        contents.into_iter().fold(Self::new(), Self::content)
    }
}

impl From<Value> for ToolResult {
    fn from(value: Value) -> Self {
        Self::new().structured(value)
    }
}

macro_rules! text_result {
    ($($type:ty),*) => {$(
        impl From<$type> for ToolResult {
            fn from(value: $type) -> Self {
                Self::new().text(value.to_string())
            }
        }
    )*};
}

text_result!(bool, char, f32, f64, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn simple_values_become_one_text_block() {
        assert_eq!(ToolResult::from("a\nb").into_wire().result_json, r#"[{"type":"text","text":"a\nb"}]"#);
        assert_eq!(ToolResult::from(1.5).into_wire().result_json, r#"[{"type":"text","text":"1.5"}]"#);
        assert_eq!(ToolResult::from(()).into_wire().result_json, "[]");
    }

    #[test]
    fn blocks_are_one_json_array() {
        let wire = ToolResult::new()
            .text("a")
            .image([0], "image/png")
            .content("b")
            .meta(json!({"k": 1}))
            .into_wire();
        let blocks: Value = serde_json::from_str(&wire.result_json).unwrap();
        assert_eq!(blocks.as_array().unwrap().len(), 3);
        assert_eq!(blocks[2]["text"], "b");
        assert_eq!(wire.meta_json, r#"{"k":1}"#);
    }

    #[test]
    fn an_error_is_told_twice() {
        let wire = failed_call(ToolError::new("GONE", "no").retryable(true));
        assert!(wire.is_error);
        assert_eq!(wire.result_json, r#"[{"type":"text","text":"GONE: no\n(retryable)"}]"#);
        assert!(wire.error.unwrap().retryable);
    }
}

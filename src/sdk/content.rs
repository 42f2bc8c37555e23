//! One content block: what a result, a prompt message or a sampling message is made of.

use super::json::{Json, push_base64, push_field, push_name};

/// One content block of the Model Context Protocol.
///
/// ```
/// use pmcp_bridge::sdk::{Content, json};
///
/// let chart = Content::image(b"\x89PNG", "image/png").annotations(json!({"audience": ["user"]}));
/// assert_eq!(
///     chart.to_json(),
///     r#"{"type":"image","data":"iVBORw==","mimeType":"image/png","annotations":{"audience":["user"]}}"#
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// A JSON object without its closing brace.
    open: String,
}

impl Content {
    fn of_type(kind: &str) -> Self {
        let mut open = String::from("{");
        push_field(&mut open, "type", kind);
        Self { open }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        push_field(&mut self.open, name, value);
        self
    }

    fn with_base64(mut self, name: &str, bytes: &[u8]) -> Self {
        push_name(&mut self.open, name);
        self.open.push('"');
        push_base64(&mut self.open, bytes);
        self.open.push('"');
        self
    }

    /// Text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::of_type("text").with("text", text.as_ref())
    }

    /// A picture: its bytes (not base64) and its media type, such as `image/png`.
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: &str) -> Self {
        Self::of_type("image").with_base64("data", bytes.as_ref()).with("mimeType", mime_type)
    }

    /// A sound: its bytes (not base64) and its media type, such as `audio/wav`. Hosts before
    /// revision 2025-03-26 see text instead.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: &str) -> Self {
        Self::of_type("audio").with_base64("data", bytes.as_ref()).with("mimeType", mime_type)
    }

    /// A pointer to a resource that the host may read. Hosts before revision 2025-06-18 see text
    /// instead. [`Content::field`] adds `title`, `description`, `mimeType` or `size`.
    pub fn resource_link(uri: &str, name: &str) -> Self {
        Self::of_type("resource_link").with("uri", uri).with("name", name)
    }

    /// A text resource, embedded.
    pub fn embedded_text(uri: &str, mime_type: &str, text: &str) -> Self {
        Self::embedded(uri, mime_type, |resource| resource.with("text", text))
    }

    /// A binary resource, embedded.
    pub fn embedded_blob(uri: &str, mime_type: &str, bytes: impl AsRef<[u8]>) -> Self {
        Self::embedded(uri, mime_type, |resource| resource.with_base64("blob", bytes.as_ref()))
    }

    fn embedded(uri: &str, mime_type: &str, body: impl FnOnce(Self) -> Self) -> Self {
        let mut resource = Self { open: String::from("{") }.with("uri", uri);
        if !mime_type.is_empty() {
            resource = resource.with("mimeType", mime_type);
        }
        Self::of_type("resource").field("resource", body(resource).to_json())
    }

    /// Sets `annotations`: `audience`, `priority`, `lastModified`.
    pub fn annotations(self, annotations: impl Into<Json>) -> Self {
        self.field("annotations", annotations)
    }

    /// Sets `_meta`.
    pub fn meta(self, meta: impl Into<Json>) -> Self {
        self.field("_meta", meta)
    }

    /// Sets any other field that the specification knows for this kind of block.
    pub fn field(mut self, name: &str, value: impl Into<Json>) -> Self {
        push_name(&mut self.open, name);
        self.open.push_str(value.into().as_str());
        self
    }

    /// The block as JSON.
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(self.open.len() + 1);
        self.push_to(&mut json);
        json
    }

    pub(crate) fn push_to(&self, out: &mut String) {
        out.push_str(&self.open);
        out.push('}');
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parsed(content: Content) -> Value {
        serde_json::from_str(&content.to_json()).unwrap()
    }

    #[test]
    fn every_kind_has_the_shape_of_the_specification() {
        assert_eq!(parsed(Content::text("a\"b")), json!({"type": "text", "text": "a\"b"}));
        assert_eq!(
            parsed(Content::audio([1, 2], "audio/wav")),
            json!({"type": "audio", "data": "AQI=", "mimeType": "audio/wav"})
        );
        assert_eq!(
            parsed(Content::resource_link("x://y", "y").field("size", "3").meta(json!({"k": 1}))),
            json!({"type": "resource_link", "uri": "x://y", "name": "y", "size": 3, "_meta": {"k": 1}})
        );
        assert_eq!(
            parsed(Content::embedded_text("x://y", "", "hi")),
            json!({"type": "resource", "resource": {"uri": "x://y", "text": "hi"}})
        );
        assert_eq!(
            parsed(Content::embedded_blob("x://y", "a/b", [0])),
            json!({"type": "resource", "resource": {"uri": "x://y", "mimeType": "a/b", "blob": "AA=="}})
        );
    }
}

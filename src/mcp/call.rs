//! The result of `tools/call` (server/tools, "Tool Result").

use std::borrow::Cow;

use super::content::{self, Content};
use super::error::write_tool_error;
use super::revision::Revision;
use super::schema;
use super::tool::Tool;
use crate::jsonrpc::json::{self, Array, Kind, Object};
use crate::wire::protomcp::ToolError;

/// What a tool process answered to a call. Empty texts are absent.
#[derive(Clone, Copy, Debug)]
pub struct CallAnswer<'a> {
    /// The call failed.
    pub is_error: bool,
    /// Normally an array of content blocks.
    pub result_json: &'a str,
    /// A JSON value.
    pub structured_content_json: &'a str,
    /// A JSON object.
    pub meta_json: &'a str,
    /// Details of a failed call.
    pub error: Option<&'a ToolError>,
}

/// The key of a tool error in a result's `_meta`.
const ERROR_KEY: &str = "protomcp/error";

/// What a host is told about structured content that it would refuse.
const BAD_STRUCTURED: &str = "The tool's structured content is not JSON that can be passed on.";
const NOT_AN_OBJECT: &str = "The tool's structured content is not an object, as its output schema wants it.";
const NO_STRUCTURED: &str = "The tool declares an output schema but returned no structured content.";

/// The structured content of a result.
struct Structured<'a> {
    /// A JSON value, valid.
    json: Cow<'a, str>,
    /// It goes into `{"result": value}`.
    is_wrapped: bool,
}

/// Appends the result of `tools/call`, as the host's revision takes it.
///
/// A result that hosts can take passes through as it is: one scan that validates it and one copy,
/// for which exactly the room is reserved that it takes.
pub fn write_call_result(
    out: &mut Vec<u8>,
    revision: Revision,
    tool: Option<&Tool>,
    answer: &CallAnswer<'_>,
) {
    let content = content::normalize(answer.result_json);
    let mut is_error = answer.is_error || answer.error.is_some();
    // Texts that stand beside the content.
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut structured = None;
    if revision.has_structured_content() && !is_error {
        match structured_content(tool, &content, answer.structured_content_json) {
            Ok(found) => structured = found,
            Err(reason) => {
                is_error = true;
                texts.push(Cow::Borrowed(reason));
            }
        }
    }
    if !content.has_text() && !answer.structured_content_json.is_empty() {
        // Hosts of any revision read the text; only some read the structured content.
        texts.push(Cow::Borrowed(answer.structured_content_json.trim_ascii()));
    }
    if let Some(error) = answer.error {
        if !is_said(&content, error) {
            texts.push(Cow::Owned(readable(error)));
        }
    }
    let meta = json::is_object(answer.meta_json).then_some(answer.meta_json);

    let texts_len: usize = texts.iter().map(|text| content::text_block_len(text) + 1).sum();
    let structured_len = structured.as_ref().map_or(0, |structured| structured.json.len());
    let error_len = answer.error.map_or(0, |error| 4 * (error.message.len() + error.suggestion.len()));
    // The rest is for the names of the members and for what the caller puts around the result.
    let names_len = 256;
    out.reserve_exact(
        content.written_len() + texts_len + structured_len + answer.meta_json.len() + error_len + names_len,
    );

    let mut result = Object::open(out);
    let mut array = Array::open(result.member("content"));
    content.write(&mut array, revision);
    for text in texts {
        content::write_text_block(array.element(), &text);
    }
    array.close();
    match structured {
        Some(Structured { json, is_wrapped: true }) => {
            let mut wrapper = Object::open(result.member("structuredContent"));
            wrapper.raw("result", &json);
            wrapper.close();
        }
        Some(Structured { json, is_wrapped: false }) => result.raw("structuredContent", &json),
        None => {}
    }
    if is_error {
        result.flag("isError", true);
    }
    match answer.error {
        Some(error) => write_meta(result.member("_meta"), meta, error),
        None => result.raw_if("_meta", meta),
    }
    result.close();
}

/// The structured content to send, if any.
///
/// # Errors
/// Says why the result has to be an error.
fn structured_content<'a>(
    tool: Option<&Tool>,
    content: &Content<'a>,
    json: &'a str,
) -> Result<Option<Structured<'a>>, &'static str> {
    let wraps = tool.is_some_and(|tool| tool.wraps_output);
    let json = json.trim_ascii();
    if !json.is_empty() {
        let kind = json::kind(json).ok_or(BAD_STRUCTURED)?;
        let is_wrapped = wraps || kind != Kind::Object;
        if is_wrapped && !wraps && tool.is_some_and(|tool| tool.output_schema.is_some()) {
            return Err(NOT_AN_OBJECT);
        }
        return Ok(Some(Structured { json: Cow::Borrowed(json), is_wrapped }));
    }
    let Some(schema) = tool.and_then(|tool| tool.output_schema.as_deref()) else { return Ok(None) };
    // SDKs without structured content return the value as their only text.
    let text = content.only_text().ok_or(NO_STRUCTURED)?;
    if wraps && schema::wraps_string(schema) {
        let mut string = Vec::with_capacity(text.len() + 2);
        json::write_str(&mut string, &text);
        let json = String::from_utf8(string).map_err(|_| NO_STRUCTURED)?;
        return Ok(Some(Structured { json: Cow::Owned(json), is_wrapped: true }));
    }
    match json::kind(&text) {
        Some(kind) if wraps || kind == Kind::Object => Ok(Some(Structured { json: text, is_wrapped: wraps })),
        _ => Err(NO_STRUCTURED),
    }
}

/// Whether a model that reads the content learns all that the error says.
fn is_said(content: &Content<'_>, error: &ToolError) -> bool {
    if error.message.is_empty() {
        return content.has_text() && error.error_code.is_empty() && error.suggestion.is_empty();
    }
    content.says(&error.message) && content.says(&error.suggestion)
}

/// A tool error for people and models.
fn readable(error: &ToolError) -> String {
    let mut text = String::new();
    match (error.error_code.as_str(), error.message.as_str()) {
        ("", "") => text.push_str("The tool failed."),
        ("", said) | (said, "") => text.push_str(said),
        (code, message) => {
            text.push_str(code);
            text.push_str(": ");
            text.push_str(message);
        }
    }
    if !error.suggestion.is_empty() {
        text.push_str("\nSuggestion: ");
        text.push_str(&error.suggestion);
    }
    if error.retryable {
        text.push_str("\n(retryable)");
    }
    text
}

/// Appends the tool's own `_meta` with the error added, unless the tool has put one there.
fn write_meta(out: &mut Vec<u8>, meta: Option<&str>, error: &ToolError) {
    let entries = meta.and_then(json::entries).unwrap_or_default();
    let mut object = Object::open(out);
    for (name, value) in &entries {
        object.raw(name, value.get());
    }
    if entries.iter().all(|(name, _)| name != ERROR_KEY) {
        write_tool_error(object.member(ERROR_KEY), error);
    }
    object.close();
}

/// Appends a call's result that is an error of one text; `meta` is a JSON object.
pub fn write_text_error(out: &mut Vec<u8>, text: &str, meta: Option<&str>) {
    let mut result = Object::open(out);
    let mut array = Array::open(result.member("content"));
    content::write_text_block(array.element(), text);
    array.close();
    result.flag("isError", true);
    result.raw_if("_meta", meta);
    result.close();
}

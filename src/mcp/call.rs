//! The result of `tools/call` (server/tools, "Tool Result").

use std::borrow::Cow;

use super::content::{self, Content};
use super::error::write_tool_error;
use super::result::{self, Dialect};
use super::revision::Revision;
use super::task;
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
    /// What the bridge has to say beside it.
    pub note: Option<&'a Note>,
    /// The task that it is the result of, in a revision that has tasks in its core.
    pub related_task: Option<&'a str>,
}

/// What the bridge says beside a tool's result, to the model and to the host's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// One line.
    pub text: String,
    /// The key in the result's `_meta`.
    pub key: &'static str,
    /// A JSON value.
    pub value_json: String,
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
/// for which exactly the room is reserved that it takes. Says whether the result is that of a call
/// that failed.
pub fn write_call_result(
    out: &mut Vec<u8>,
    dialect: Dialect<'_>,
    tool: Option<&Tool>,
    answer: &CallAnswer<'_>,
) -> bool {
    let revision = dialect.revision;
    let content = content::normalize(answer.result_json);
    let mut is_error = answer.is_error || answer.error.is_some();
    // Texts that stand beside the content.
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut structured = None;
    if revision.has_structured_content() && !is_error {
        match structured_content(revision, tool, &content, answer.structured_content_json) {
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
    if let Some(error) = answer.error
        && !is_said(&content, error)
    {
        texts.push(Cow::Owned(readable(error)));
    }
    if let Some(note) = answer.note {
        texts.push(Cow::Borrowed(&note.text));
    }
    let meta = json::is_object(answer.meta_json).then_some(answer.meta_json);

    let texts_len: usize = texts.iter().map(|text| content::text_block_len(text) + 1).sum();
    let structured_len = structured.as_ref().map_or(0, |structured| structured.json.len());
    let error_len = answer.error.map_or(0, |error| 4 * (error.message.len() + error.suggestion.len()));
    // The rest is for the names of the members and for what the caller puts around the result.
    let names_len = 256
        + answer.related_task.map_or(0, |id| 64 + id.len())
        + answer.note.map_or(0, |note| note.value_json.len())
        + result::extra_len(dialect);
    out.reserve_exact(
        content.written_len() + texts_len + structured_len + answer.meta_json.len() + error_len + names_len,
    );

    let mut result = result::open(out, dialect);
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
    if answer.error.is_some() || answer.note.is_some() || answer.related_task.is_some() {
        let meta = meta_json(meta, answer);
        result::close(result, dialect, Some(&meta));
    } else {
        result::close(result, dialect, meta);
    }
    is_error
}

/// The structured content to send, if any.
///
/// # Errors
/// Says why the result has to be an error.
fn structured_content<'a>(
    revision: Revision,
    tool: Option<&Tool>,
    content: &Content<'a>,
    json: &'a str,
) -> Result<Option<Structured<'a>>, &'static str> {
    let schema = tool.and_then(|tool| tool.output_schema.as_ref());
    // Hosts of the handshake era take objects alone.
    let has_wrapped_schema = schema.is_some_and(|schema| schema.is_wrapped);
    let is_wrapped = |kind| !revision.has_any_schema() && (has_wrapped_schema || kind != Kind::Object);
    let json = json.trim_ascii();
    if !json.is_empty() {
        let kind = json::kind(json).ok_or(BAD_STRUCTURED)?;
        if kind != Kind::Object && schema.is_some() && !has_wrapped_schema {
            return Err(NOT_AN_OBJECT);
        }
        return Ok(Some(Structured { json: Cow::Borrowed(json), is_wrapped: is_wrapped(kind) }));
    }
    let Some(schema) = schema else { return Ok(None) };
    // SDKs without structured content return the value as their only text.
    let text = content.only_text().ok_or(NO_STRUCTURED)?;
    if schema.is_string() {
        let mut string = Vec::with_capacity(text.len() + 2);
        json::write_str(&mut string, &text);
        let json = String::from_utf8(string).map_err(|_| NO_STRUCTURED)?;
        return Ok(Some(Structured { json: Cow::Owned(json), is_wrapped: is_wrapped(Kind::String) }));
    }
    match json::kind(&text) {
        Some(kind) if has_wrapped_schema || kind == Kind::Object => {
            Ok(Some(Structured { json: text, is_wrapped: is_wrapped(kind) }))
        }
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

/// The tool's own `_meta` with the error and the note added, unless the tool has put something
/// else there. Which task it belongs to is ours to say.
fn meta_json(meta: Option<&str>, answer: &CallAnswer<'_>) -> String {
    let mut entries = meta.and_then(json::entries).unwrap_or_default();
    if answer.related_task.is_some() {
        entries.retain(|(name, _)| name != task::RELATED);
    }
    let is_free = |key: &str| entries.iter().all(|(name, _)| name != key);
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    for (name, value) in &entries {
        object.raw(name, value.get());
    }
    if let Some(error) = answer.error.filter(|_| is_free(ERROR_KEY)) {
        write_tool_error(object.member(ERROR_KEY), error);
    }
    if let Some(note) = answer.note.filter(|note| is_free(note.key)) {
        object.raw(note.key, &note.value_json);
    }
    if let Some(id) = answer.related_task {
        task::write_related(&mut object, id);
    }
    object.close();
    // What the writers append is text.
    String::from_utf8(out).unwrap_or_default()
}

/// Appends a call's result that is an error of one text; `meta` is a JSON object, for a task of
/// 2025-11-25 [`task::related_meta`].
pub fn write_text_error(out: &mut Vec<u8>, dialect: Dialect<'_>, text: &str, meta: Option<&str>) {
    let mut result = result::open(out, dialect);
    let mut array = Array::open(result.member("content"));
    content::write_text_block(array.element(), text);
    array.close();
    result.flag("isError", true);
    result::close(result, dialect, meta);
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;

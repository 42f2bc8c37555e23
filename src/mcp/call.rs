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
/// for which exactly the room is reserved that it takes.
pub fn write_call_result(
    out: &mut Vec<u8>,
    dialect: Dialect<'_>,
    tool: Option<&Tool>,
    answer: &CallAnswer<'_>,
) {
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
    let names_len = 256 + answer.note.map_or(0, |note| note.value_json.len()) + result::extra_len(dialect);
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
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;
    use crate::jsonrpc::message::{RequestId, write_result};
    use crate::mcp::result::proof::{MODERN_DIALECT, modern};
    use crate::mcp::tool::from_definition;
    use crate::wire::protomcp::ToolDefinition;

    const NEW: Revision = Revision::V2025_11_25;
    const OLD: Revision = Revision::V2025_03_26;
    const TEXT: &str = r#"[{"type":"text","text":"a"}]"#;
    const NOTHING: CallAnswer<'_> = CallAnswer {
        is_error: false,
        result_json: "",
        structured_content_json: "",
        meta_json: "",
        error: None,
        note: None,
        related_task: None,
    };

    fn shown(revision: Revision, tool: Option<&Tool>, answer: &CallAnswer<'_>) -> String {
        written(|out| write_call_result(out, Dialect::of(revision), tool, answer))
    }

    fn tool(output_schema: &str) -> Tool {
        let output_schema_json = output_schema.to_owned();
        from_definition(ToolDefinition { name: "t".into(), output_schema_json, ..Default::default() })
            .unwrap()
            .0
    }

    #[test]
    fn a_note_stands_beside_the_result_in_text_and_meta() {
        let note =
            Note { text: "old code".into(), key: "protomcp/reload", value_json: r#"{"serving":1}"#.into() };
        let cases = [
            ("", r#""protomcp/reload":{"serving":1}"#),
            (r#"{"k":1}"#, r#""k":1,"protomcp/reload":{"serving":1}"#),
            (r#"{"protomcp/reload":0}"#, r#""protomcp/reload":0"#),
        ];
        for (meta_json, meta) in cases {
            let answer = CallAnswer { result_json: TEXT, meta_json, note: Some(&note), ..NOTHING };
            let expected = format!(
                r#"{{"content":[{{"type":"text","text":"a"}},{{"type":"text","text":"old code"}}],"_meta":{{{meta}}}}}"#
            );
            assert_eq!(written(|out| write_call_result(out, Dialect::of(NEW), None, &answer)), expected);
        }
    }

    #[test]
    fn results_without_an_output_schema() {
        let table = [
            (NEW, NOTHING, r#"{"content":[]}"#),
            (NEW, CallAnswer { result_json: TEXT, ..NOTHING }, r#"{"content":[{"type":"text","text":"a"}]}"#),
            (
                NEW,
                CallAnswer { result_json: "plain", is_error: true, ..NOTHING },
                r#"{"content":[{"type":"text","text":"plain"}],"isError":true}"#,
            ),
            (
                NEW,
                CallAnswer { result_json: TEXT, meta_json: "{\"k\":\n1}", ..NOTHING },
                r#"{"content":[{"type":"text","text":"a"}],"_meta":{"k": 1}}"#,
            ),
            (NEW, CallAnswer { meta_json: "[1]", ..NOTHING }, r#"{"content":[]}"#),
            (NEW, CallAnswer { meta_json: "{", ..NOTHING }, r#"{"content":[]}"#),
            (
                NEW,
                CallAnswer { structured_content_json: "{\"a\":\n1}", ..NOTHING },
                r#"{"content":[{"type":"text","text":"{\"a\":\n1}"}],"structuredContent":{"a": 1}}"#,
            ),
            (
                NEW,
                CallAnswer { result_json: TEXT, structured_content_json: " [1,2] ", ..NOTHING },
                r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{"result":[1,2]}}"#,
            ),
            (
                OLD,
                CallAnswer { structured_content_json: "{\"a\":1}", ..NOTHING },
                r#"{"content":[{"type":"text","text":"{\"a\":1}"}]}"#,
            ),
            (
                NEW,
                CallAnswer { is_error: true, structured_content_json: "{\"a\":1}", ..NOTHING },
                r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"isError":true}"#,
            ),
            (
                NEW,
                CallAnswer { result_json: TEXT, structured_content_json: "{\"a\":", ..NOTHING },
                r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"The tool's structured content is not JSON that can be passed on."}],"isError":true}"#,
            ),
        ];
        for (revision, answer, expected) in table {
            assert_eq!(shown(revision, None, &answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn results_with_an_output_schema() {
        let object = tool(r#"{"type":"object"}"#);
        let string = tool(r#"{"type":"string"}"#);
        let number = tool(r#"{"type":"integer"}"#);
        let result = |json| CallAnswer { result_json: json, ..NOTHING };
        let structured = |json| CallAnswer { result_json: TEXT, structured_content_json: json, ..NOTHING };
        let json_text = r#"[{"type":"text","text":"{\"a\":1}"}]"#;
        let number_text = r#"[{"type":"text","text":"42"}]"#;
        let table = [
            (&object, structured("{}"), r#"[{"type":"text","text":"a"}],"structuredContent":{}}"#),
            (&number, structured("7"), r#"[{"type":"text","text":"a"}],"structuredContent":{"result":7}}"#),
            (&number, structured("{}"), r#"[{"type":"text","text":"a"}],"structuredContent":{"result":{}}}"#),
            (
                &object,
                result(json_text),
                r#"[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#,
            ),
            (
                &object,
                result("{\"a\":1}"),
                r#"[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#,
            ),
            (
                &number,
                result(number_text),
                r#"[{"type":"text","text":"42"}],"structuredContent":{"result":42}}"#,
            ),
            (
                &string,
                result(number_text),
                r#"[{"type":"text","text":"42"}],"structuredContent":{"result":"42"}}"#,
            ),
        ];
        for (tool, answer, expected) in table {
            assert_eq!(shown(NEW, Some(tool), &answer), format!("{{\"content\":{expected}"), "{answer:?}");
        }
        let missing = [
            (&object, result("")),
            (&object, result(TEXT)),
            (&object, result(number_text)),
            (&object, structured("[1]")),
            (&number, result(TEXT)),
            (&object, result(r#"[{"type":"text","text":"{}"},{"type":"text","text":"{}"}]"#)),
        ];
        for (tool, answer) in missing {
            let text = shown(NEW, Some(tool), &answer);
            assert!(text.ends_with(r#""}],"isError":true}"#), "{text}");
            assert!(text.contains("structured content"), "{text}");
            assert!(!shown(OLD, Some(tool), &answer).contains("isError"), "old hosts know no output schema");
        }
        let failed = CallAnswer { is_error: true, ..result(TEXT) };
        assert_eq!(
            shown(NEW, Some(&object), &failed),
            r#"{"content":[{"type":"text","text":"a"}],"isError":true}"#
        );
    }

    #[test]
    fn tool_errors_are_told_in_text_and_meta() {
        let error = ToolError {
            error_code: "NOT_FOUND".into(),
            message: "no \"café\"".into(),
            suggestion: "Ask for tea.".into(),
            retryable: true,
            rpc_code: 0,
        };
        let text =
            r#"{"type":"text","text":"NOT_FOUND: no \"café\"\nSuggestion: Ask for tea.\n(retryable)"}"#;
        let meta = r#""protomcp/error":{"code":"NOT_FOUND","message":"no \"café\"","suggestion":"Ask for tea.","retryable":true}"#;
        let answer = CallAnswer { is_error: true, error: Some(&error), ..NOTHING };
        assert_eq!(
            shown(NEW, None, &answer),
            format!(r#"{{"content":[{text}],"isError":true,"_meta":{{{meta}}}}}"#)
        );
        let with_meta = CallAnswer { result_json: TEXT, is_error: false, meta_json: r#"{"k": 1}"#, ..answer };
        assert_eq!(
            shown(Revision::V2024_11_05, None, &with_meta),
            format!(
                r#"{{"content":[{{"type":"text","text":"a"}},{text}],"isError":true,"_meta":{{"k":1,{meta}}}}}"#
            )
        );
        let said = r#"[{"type":"text","text":"Sorry, no \"caf\u00e9\". Ask for tea."}]"#;
        let answer = CallAnswer { result_json: said, ..answer };
        assert_eq!(
            shown(NEW, None, &answer),
            format!(r#"{{"content":{said},"isError":true,"_meta":{{{meta}}}}}"#)
        );
        let own = CallAnswer { meta_json: r#"{"protomcp/error":1}"#, ..answer };
        assert!(shown(NEW, None, &own).ends_with(r#""_meta":{"protomcp/error":1}}"#));

        let blank = ToolError::default();
        let answer = CallAnswer { error: Some(&blank), ..NOTHING };
        assert!(shown(NEW, None, &answer).contains(r#""text":"The tool failed.""#));
        let answer = CallAnswer { result_json: TEXT, ..answer };
        assert!(!shown(NEW, None, &answer).contains("The tool failed."));
        let code = ToolError { error_code: "DOWN".into(), ..Default::default() };
        let answer = CallAnswer { error: Some(&code), ..answer };
        assert!(shown(NEW, None, &answer).contains(r#"{"type":"text","text":"DOWN"}"#));
    }

    #[test]
    fn text_errors() {
        let text = written(|out| write_text_error(out, Dialect::of(NEW), "a\nb", None));
        assert_eq!(text, r#"{"content":[{"type":"text","text":"a\nb"}],"isError":true}"#);
        let text = written(|out| write_text_error(out, Dialect::of(NEW), "", Some("{\"k\":1}")));
        assert_eq!(text, r#"{"content":[{"type":"text","text":""}],"isError":true,"_meta":{"k":1}}"#);
    }

    #[test]
    fn large_results_take_the_room_that_they_need() {
        let text = "x\n\"é".repeat(40_000);
        let blocks = format!(r#"[{{"type":"text","text":{}}}]"#, written(|out| json::write_str(out, &text)));
        let structured = format!("{{\"a\":{}}}", written(|out| json::write_str(out, &text)));
        for answer in [
            CallAnswer { result_json: &blocks, ..NOTHING },
            CallAnswer { result_json: &text, ..NOTHING },
            CallAnswer { result_json: &blocks, structured_content_json: &structured, ..NOTHING },
            CallAnswer { structured_content_json: &structured, ..NOTHING },
            CallAnswer { structured_content_json: &structured, is_error: true, ..NOTHING },
        ] {
            let mut out = Vec::new();
            write_result(&mut out, &RequestId::from_u64(1), |out| {
                write_call_result(out, Dialect::of(NEW), None, &answer);
            });
            assert!(out.capacity() <= out.len() + 512, "{} {}", out.capacity(), out.len());
            assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
        }
        let mut out = Vec::new();
        write_call_result(&mut out, Dialect::of(NEW), None, &CallAnswer { result_json: &blocks, ..NOTHING });
        assert!(out.capacity() <= blocks.len() + 512);
    }

    #[test]
    fn no_answer_of_a_tool_breaks_the_line() {
        use crate::jsonrpc::json::proof::random;
        let pieces = [
            "[",
            "]",
            "{",
            "}",
            "\"type\":",
            "\"text\"",
            ":",
            ",",
            "\n",
            "\r",
            "\\ud800",
            "\"",
            "null",
            "1",
            "{\"type\":\"text\",\"text\":\"a\"}",
            "é",
        ];
        let object = tool(r#"{"type":"object"}"#);
        let mut seed = 42;
        let mut text = || -> String {
            (0..random(&mut seed, 8)).map(|_| pieces[random(&mut seed, pieces.len())]).collect()
        };
        for _ in 0..1500 {
            let [result, structured, meta, message] = [text(), text(), text(), text()];
            let error = ToolError { message, ..Default::default() };
            for error in [None, Some(&error)] {
                let answer = CallAnswer {
                    is_error: false,
                    result_json: &result,
                    structured_content_json: &structured,
                    meta_json: &meta,
                    error,
                    note: None,
                    related_task: None,
                };
                for (revision, tool) in [(NEW, None), (NEW, Some(&object)), (OLD, None)] {
                    let value: serde_json::Value =
                        serde_json::from_str(&shown(revision, tool, &answer)).unwrap();
                    assert!(value["content"].is_array());
                }
            }
        }
    }

    #[test]
    fn modern_hosts_take_any_value() {
        let number = tool(r#"{"type":"integer"}"#);
        let string = tool(r#"{"type":"string"}"#);
        let object = tool(r#"{"type":"object"}"#);
        let structured = |json| CallAnswer { result_json: TEXT, structured_content_json: json, ..NOTHING };
        let number_text = CallAnswer { result_json: r#"[{"type":"text","text":"42"}]"#, ..NOTHING };
        let a = r#""content":[{"type":"text","text":"a"}],"#;
        let text_42 = r#""content":[{"type":"text","text":"42"}],"#;
        let table = [
            (None, structured(" [1.5]"), format!(r#"{a}"structuredContent":[1.5],"#)),
            (None, structured("null"), format!(r#"{a}"structuredContent":null,"#)),
            (None, structured(""), a.to_owned()),
            (Some(&number), structured("7"), format!(r#"{a}"structuredContent":7,"#)),
            (Some(&object), structured("{}"), format!(r#"{a}"structuredContent":{{}},"#)),
            (Some(&number), number_text, format!(r#"{text_42}"structuredContent":42,"#)),
            (Some(&string), number_text, format!(r#"{text_42}"structuredContent":"42","#)),
            (
                Some(&object),
                structured("7"),
                format!(
                    r#""content":[{{"type":"text","text":"a"}},{{"type":"text","text":"{NOT_AN_OBJECT}"}}],"isError":true,"#
                ),
            ),
        ];
        for (tool, answer, expected) in table {
            let text = written(|out| write_call_result(out, MODERN_DIALECT, tool, &answer));
            assert_eq!(text, modern(&expected), "{answer:?}");
        }
        let text = written(|out| write_text_error(out, MODERN_DIALECT, "no", None));
        assert_eq!(text, modern(r#""content":[{"type":"text","text":"no"}],"isError":true,"#));
    }

    #[test]
    fn modern_meta_holds_the_tools_ours_and_our_name() {
        let note = Note { text: "old".into(), key: "protomcp/reload", value_json: "1".into() };
        let own = r#""k":{"l":1}"#;
        let meta_json = format!("{{{own}}}");
        let answer = CallAnswer { meta_json: &meta_json, ..NOTHING };
        let name = r#""io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}"#;
        let text = written(|out| write_call_result(out, MODERN_DIALECT, None, &answer));
        assert_eq!(text, format!(r#"{{"resultType":"complete","content":[],"_meta":{{{own},{name}}}}}"#));
        let answer = CallAnswer { note: Some(&note), ..answer };
        let text = written(|out| write_call_result(out, MODERN_DIALECT, None, &answer));
        assert!(text.ends_with(&format!(r#""_meta":{{{own},"protomcp/reload":1,{name}}}}}"#)), "{text}");
    }
}

//! Results of calls, as hosts of each revision get them.

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
    from_definition(ToolDefinition { name: "t".into(), output_schema_json, ..Default::default() }).unwrap().0
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
fn the_result_of_a_task_names_it() {
    let related = r#""io.modelcontextprotocol/related-task":{"taskId":"t\"1"}"#;
    let error = ToolError { message: "a".into(), ..ToolError::default() };
    let with_error = CallAnswer { error: Some(&error), ..NOTHING };
    let table = [
        (NOTHING, format!(r#""_meta":{{{related}}}"#)),
        (CallAnswer { meta_json: r#"{"k":1}"#, ..NOTHING }, format!(r#""_meta":{{"k":1,{related}}}"#)),
        (
            CallAnswer { meta_json: r#"{"io.modelcontextprotocol/related-task":0}"#, ..NOTHING },
            format!(r#""_meta":{{{related}}}"#),
        ),
        (
            with_error,
            format!(r#""_meta":{{"protomcp/error":{{"message":"a","retryable":false}},{related}}}"#),
        ),
    ];
    for (answer, meta) in table {
        let answer = CallAnswer { result_json: TEXT, related_task: Some("t\"1"), ..answer };
        let text = shown(NEW, None, &answer);
        assert!(text.ends_with(&format!("{meta}}}")), "{text}");
    }
    let meta = task::related_meta("t\"1");
    let text = written(|out| write_text_error(out, Dialect::of(NEW), "gone", Some(&meta)));
    assert!(text.ends_with(&format!(r#""isError":true,"_meta":{{{related}}}}}"#)), "{text}");
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
        (&object, result(json_text), r#"[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#),
        (
            &object,
            result("{\"a\":1}"),
            r#"[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#,
        ),
        (&number, result(number_text), r#"[{"type":"text","text":"42"}],"structuredContent":{"result":42}}"#),
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
    let text = r#"{"type":"text","text":"NOT_FOUND: no \"café\"\nSuggestion: Ask for tea.\n(retryable)"}"#;
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
    let mut text =
        || -> String { (0..random(&mut seed, 8)).map(|_| pieces[random(&mut seed, pieces.len())]).collect() };
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
                let value: serde_json::Value = serde_json::from_str(&shown(revision, tool, &answer)).unwrap();
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

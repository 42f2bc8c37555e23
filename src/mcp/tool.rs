//! Tools, and what a list says about them (server/tools). The result of a call has a room of its
//! own, [`call`](super::call).

use super::declared;
use super::result::{self, Dialect};
use super::revision::Revision;
use super::schema::{self, Schema};
use crate::jsonrpc::json::{Array, Object};
use crate::wire::protomcp::ToolDefinition;

/// A tool as hosts see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// For people, or empty.
    pub title: String,
    /// For the model, or empty.
    pub description: String,
    /// What it takes.
    pub input_schema: Schema,
    /// What its structured content is.
    pub output_schema: Option<Schema>,
    /// A JSON object.
    pub annotations: Option<String>,
    /// A JSON array of icons.
    pub icons: Option<String>,
    /// A JSON object.
    pub meta: Option<String>,
    /// Whether it runs as a task.
    pub task: TaskSupport,
}

/// Whether a tool runs as a task (2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskSupport {
    /// Never.
    #[default]
    Forbidden,
    /// Where the host knows tasks.
    Optional,
    /// Always, so that a host that knows no tasks cannot call it.
    Required,
}

impl TaskSupport {
    /// As the protocol spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            TaskSupport::Forbidden => "forbidden",
            TaskSupport::Optional => "optional",
            TaskSupport::Required => "required",
        }
    }

    const fn of(definition: &ToolDefinition) -> Self {
        match (definition.task_required, definition.task_support) {
            (true, _) => TaskSupport::Required,
            (false, true) => TaskSupport::Optional,
            (false, false) => TaskSupport::Forbidden,
        }
    }
}

/// A tool from what a tool process says about it, and for the person what was mended of it (which
/// does not name it).
///
/// # Errors
/// Says why it cannot be offered at all.
pub fn from_definition(definition: ToolDefinition) -> Result<(Tool, Option<String>), String> {
    if definition.name.is_empty() {
        return Err("a tool without a name cannot be offered".to_owned());
    }
    let mut warnings: Vec<String> = Vec::new();
    let (input_schema, faults) = schema::input(&definition.input_schema_json);
    warnings.extend(faults);
    let output_schema = match definition.output_schema_json.trim_ascii() {
        "" => None,
        json => schema::output(json).map_err(|reason| warnings.push(reason.to_owned())).ok(),
    };
    let mut checked = |what, json: &str, check: declared::Check| {
        warnings.extend(declared::complaint(what, json, check));
        check(json).map(str::to_owned)
    };
    let annotations = checked("annotations", &definition.annotations_json, declared::tool_annotations)
        .or_else(|| annotations_from_hints(&definition));
    let icons = checked("icons", &definition.icons_json, declared::icons);
    let meta = checked("meta", &definition.meta_json, declared::meta);
    let task = TaskSupport::of(&definition);
    let tool = Tool {
        name: definition.name,
        title: definition.title,
        description: definition.description,
        input_schema,
        output_schema,
        annotations,
        icons,
        meta,
        task,
    };
    Ok((tool, (!warnings.is_empty()).then(|| warnings.join("; "))))
}

/// The four flags of the wire cannot tell "no" from "not said", so only a yes is passed on.
fn annotations_from_hints(definition: &ToolDefinition) -> Option<String> {
    let hints = [
        ("readOnlyHint", definition.read_only_hint),
        ("destructiveHint", definition.destructive_hint),
        ("idempotentHint", definition.idempotent_hint),
        ("openWorldHint", definition.open_world_hint),
    ];
    if hints.iter().all(|(_, hint)| !hint) {
        return None;
    }
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    hints.iter().filter(|(_, hint)| *hint).for_each(|(name, _)| object.flag(name, true));
    object.close();
    String::from_utf8(out).ok()
}

/// Appends the result of `tools/list`.
pub fn write_tools<'t>(
    out: &mut Vec<u8>,
    tools: impl Iterator<Item = &'t Tool>,
    dialect: Dialect<'_>,
    next_cursor: Option<&str>,
) {
    let mut result = result::open(out, dialect);
    let mut list = Array::open(result.member("tools"));
    for tool in tools {
        write_tool(list.element(), tool, dialect.revision);
    }
    list.close();
    if let Some(cursor) = next_cursor {
        result.text("nextCursor", cursor);
    }
    result::close_cacheable(result, dialect);
}

fn write_tool(out: &mut Vec<u8>, tool: &Tool, revision: Revision) {
    let mut object = Object::open(out);
    object.text("name", &tool.name);
    if revision.has_titles() {
        object.text_if("title", &tool.title);
    }
    object.text_if("description", &tool.description);
    if revision.has_icons() {
        object.raw_if("icons", tool.icons.as_deref());
    }
    object.raw("inputSchema", tool.input_schema.as_str(revision));
    if revision.has_structured_content() {
        object.raw_if("outputSchema", tool.output_schema.as_ref().map(|schema| schema.as_str(revision)));
    }
    if revision.has_annotations() {
        object.raw_if("annotations", tool.annotations.as_deref());
    }
    if revision.has_core_tasks() && tool.task != TaskSupport::Forbidden {
        let mut execution = Object::open(object.member("execution"));
        execution.text("taskSupport", tool.task.as_str());
        execution.close();
    }
    if revision.has_meta() {
        object.raw_if("_meta", tool.meta.as_deref());
    }
    object.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;
    use crate::mcp::result::proof::{MODERN_DIALECT, modern_cacheable};
    use crate::mcp::revision::LATEST;

    fn definition() -> ToolDefinition {
        ToolDefinition {
            name: "t".into(),
            title: "T".into(),
            description: "does\nit".into(),
            input_schema_json: "{\"type\":\"object\",\n\"properties\":{}}".into(),
            output_schema_json: r#"{"type":"object"}"#.into(),
            annotations_json: r#"{"destructiveHint":false}"#.into(),
            icons_json: r#"[{"src":"a"}]"#.into(),
            meta_json: r#"{"k":1}"#.into(),
            ..Default::default()
        }
    }

    #[test]
    fn each_revision_sees_what_it_knows() {
        let (tool, warning) = from_definition(definition()).unwrap();
        assert_eq!(warning, None);
        let base = r#""description":"does\nit","inputSchema":{"type":"object", "properties":{}}"#;
        let annotations = r#""annotations":{"destructiveHint":false}"#;
        let output = r#""outputSchema":{"type":"object"}"#;
        let table = [
            (Revision::V2024_11_05, format!(r#"{{"name":"t",{base}}}"#)),
            (Revision::V2025_03_26, format!(r#"{{"name":"t",{base},{annotations}}}"#)),
            (
                Revision::V2025_06_18,
                format!(r#"{{"name":"t","title":"T",{base},{output},{annotations},"_meta":{{"k":1}}}}"#),
            ),
            (
                Revision::V2025_11_25,
                format!(
                    r#"{{"name":"t","title":"T","description":"does\nit","icons":[{{"src":"a"}}],"inputSchema":{{"type":"object", "properties":{{}}}},{output},{annotations},"_meta":{{"k":1}}}}"#
                ),
            ),
        ];
        for (revision, expected) in table {
            let text = written(|out| write_tools(out, [&tool].into_iter(), Dialect::of(revision), None));
            assert_eq!(text, format!(r#"{{"tools":[{expected}]}}"#), "{revision:?}");
        }
    }

    #[test]
    fn how_a_tool_runs_is_told_where_tasks_are_part_of_the_core() {
        let table = [
            (false, false, TaskSupport::Forbidden, None),
            (true, false, TaskSupport::Optional, Some("optional")),
            (false, true, TaskSupport::Required, Some("required")),
            (true, true, TaskSupport::Required, Some("required")),
        ];
        for (task_support, task_required, expected, told) in table {
            let definition = ToolDefinition { task_support, task_required, ..definition() };
            let (tool, _) = from_definition(definition).unwrap();
            assert_eq!(tool.task, expected);
            for revision in Revision::ALL {
                let text = written(|out| write_tools(out, [&tool].into_iter(), Dialect::of(revision), None));
                let told = told.filter(|_| revision == LATEST);
                let member = told.map(|told| format!(r#","execution":{{"taskSupport":"{told}"}},"#));
                assert_eq!(text.contains("execution"), member.is_some(), "{text}");
                assert!(member.is_none_or(|member| text.contains(&member)), "{text}");
            }
        }
    }

    #[test]
    fn a_list_of_little() {
        let bare = ToolDefinition { name: "a\"b".into(), ..Default::default() };
        let (tool, warning) = from_definition(bare).unwrap();
        assert_eq!(warning, None);
        let text = written(|out| {
            write_tools(out, [&tool].into_iter(), Dialect::of(Revision::V2025_11_25), Some("c"))
        });
        assert_eq!(text, r#"{"tools":[{"name":"a\"b","inputSchema":{"type":"object"}}],"nextCursor":"c"}"#);
        let text = written(|out| write_tools(out, [].into_iter(), MODERN_DIALECT, Some("c")));
        assert_eq!(text, modern_cacheable(r#""tools":[],"nextCursor":"c","#));
        let text = written(|out| write_tools(out, [].into_iter(), Dialect::of(Revision::V2025_11_25), None));
        assert_eq!(text, r#"{"tools":[]}"#);
        assert!(from_definition(ToolDefinition::default()).is_err());
    }

    #[test]
    fn what_hosts_would_refuse_is_left_out_with_a_warning() {
        let bad = ToolDefinition {
            input_schema_json: "[".into(),
            output_schema_json: "3".into(),
            annotations_json: r#"{"title":null}"#.into(),
            icons_json: "[{}]".into(),
            meta_json: "1".into(),
            idempotent_hint: true,
            ..definition()
        };
        let (tool, warning) = from_definition(bad).unwrap();
        assert_eq!(tool.input_schema.as_str(Revision::V2025_11_25), r#"{"type":"object"}"#);
        assert_eq!(tool.annotations.as_deref(), Some(r#"{"idempotentHint":true}"#));
        assert_eq!((tool.output_schema, tool.icons, tool.meta), (None, None, None));
        let warning = warning.unwrap();
        // Whoever shows it says of which tool.
        assert!(!warning.contains("tool t"), "{warning}");
        for word in ["input schema", "output schema", "annotations", "icons", "meta"] {
            assert!(warning.contains(word), "{word}: {warning}");
        }
    }

    #[test]
    fn hints_and_wrapped_output() {
        let hints = ToolDefinition {
            read_only_hint: true,
            open_world_hint: true,
            annotations_json: String::new(),
            output_schema_json: r#"{"type":"integer"}"#.into(),
            ..definition()
        };
        let (tool, _) = from_definition(hints).unwrap();
        assert_eq!(tool.annotations.as_deref(), Some(r#"{"readOnlyHint":true,"openWorldHint":true}"#));
        let text = written(|out| write_tools(out, [&tool].into_iter(), MODERN_DIALECT, None));
        assert!(text.contains(r#""outputSchema":{"type":"integer"},"#), "{text}");
        let text = written(|out| write_tools(out, [&tool].into_iter(), Dialect::of(LATEST), None));
        assert!(text.contains(r#""outputSchema":{"type":"object","properties":{"result""#), "{text}");
        let both = ToolDefinition { read_only_hint: true, ..definition() };
        let (tool, _) = from_definition(both).unwrap();
        assert_eq!(tool.annotations.as_deref(), Some(r#"{"destructiveHint":false}"#));
    }
}

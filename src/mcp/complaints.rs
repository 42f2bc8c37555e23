//! What hosts are known to refuse about tools that the protocol allows.

use serde_json::Value;

use super::client::name;
use crate::limits::{HOST_TOOL_NAME_MAX, HOST_TOOLS_MAX, HOST_TOOLS_SHOWN};

/// What hosts are known to refuse about these tools, or not to show.
pub fn about(tools: &[Value]) -> Vec<String> {
    let mut complaints = Vec::new();
    for tool in tools {
        let name = name(tool);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > HOST_TOOL_NAME_MAX || !name.chars().all(is_plain) {
            complaints.push(format!(
                "the tool name {name:?} is refused by some hosts: they want 1 to {HOST_TOOL_NAME_MAX} letters, digits, _ and -"
            ));
        }
        for (field, what) in [("inputSchema", "input"), ("outputSchema", "output")] {
            let schema = &tool[field];
            let combinators = ["anyOf", "oneOf", "allOf"].into_iter();
            for combinator in combinators.filter(|combinator| schema.get(combinator).is_some()) {
                complaints.push(format!(
                    "the {what} schema of {name:?} has {combinator} at its root; some hosts then refuse all tools"
                ));
            }
            if has_reference(schema) {
                complaints.push(format!(
                    "the {what} schema of {name:?} has a $ref, which some hosts do not follow; put the schema in \
                     its place"
                ));
            }
        }
    }
    let count = tools.len();
    if count > HOST_TOOLS_MAX {
        complaints
            .push(format!("there are {count} tools; hosts are known that refuse more than {HOST_TOOLS_MAX}"));
    } else if count > HOST_TOOLS_SHOWN {
        complaints
            .push(format!("there are {count} tools; hosts are known that show only {HOST_TOOLS_SHOWN}"));
    }
    complaints
}

fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("$ref").is_some_and(Value::is_string) || fields.values().any(has_reference)
        }
        Value::Array(values) => values.iter().any(has_reference),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_hosts_refuse() {
        let tool = |name: &str, schema: Value| json!({"name": name, "inputSchema": schema});
        let fine = tool("a-b_C1", json!({"type": "object", "properties": {"$ref": {"anyOf": []}}}));
        assert_eq!(about(std::slice::from_ref(&fine)), Vec::<String>::new());
        let long = "x".repeat(65);
        for (tool, part) in [
            (tool("a.b", json!({})), "\"a.b\" is refused"),
            (tool("", json!({})), "\"\" is refused"),
            (tool(&long, json!({})), "is refused"),
            (tool("a", json!({"oneOf": []})), "has oneOf at its root"),
            (tool("a", json!({"properties": {"x": [{"$ref": "#/$defs/x"}]}})), "has a $ref"),
            (json!({"name": "a", "outputSchema": {"allOf": []}}), "the output schema of \"a\" has allOf"),
        ] {
            let complaints = about(&[tool]);
            assert!(complaints.len() == 1 && complaints[0].contains(part), "{complaints:?}");
        }
        for (count, part) in [(40, None), (41, Some("show only 40")), (129, Some("more than 128"))] {
            let complaints = about(&vec![fine.clone(); count]);
            assert_eq!(complaints.len(), usize::from(part.is_some()));
            assert!(part.is_none_or(|part| complaints[0].contains(part)), "{complaints:?}");
        }
    }
}

//! Prompts (server/prompts).

use super::content;
use super::declared;
use super::error;
use super::result::{self, Dialect};
use super::revision::Revision;
use crate::jsonrpc::json::{self, Array, Object};
use crate::jsonrpc::message::{RpcError, shown};
use crate::wire::protomcp::{GetPromptResponse, PromptArgument, PromptDefinition};

/// Appends the result of `prompts/list`.
pub fn write_prompts(
    out: &mut Vec<u8>,
    prompts: &[PromptDefinition],
    dialect: Dialect<'_>,
    next_cursor: Option<&str>,
) {
    let mut result = result::open(out, dialect);
    let mut list = Array::open(result.member("prompts"));
    for prompt in prompts.iter().filter(|prompt| !prompt.name.is_empty()) {
        write_definition(list.element(), prompt, dialect.revision);
    }
    list.close();
    if let Some(cursor) = next_cursor {
        result.text("nextCursor", cursor);
    }
    result::close_cacheable(result, dialect);
}

fn write_definition(out: &mut Vec<u8>, prompt: &PromptDefinition, revision: Revision) {
    let mut object = Object::open(out);
    object.text("name", &prompt.name);
    if revision.has_titles() {
        object.text_if("title", &prompt.title);
    }
    object.text_if("description", &prompt.description);
    if !prompt.arguments.is_empty() {
        let mut arguments = Array::open(object.member("arguments"));
        for argument in &prompt.arguments {
            write_argument(arguments.element(), argument, revision);
        }
        arguments.close();
    }
    if revision.has_icons() {
        object.raw_if("icons", declared::icons(&prompt.icons_json));
    }
    if revision.has_meta() {
        object.raw_if("_meta", declared::meta(&prompt.meta_json));
    }
    object.close();
}

fn write_argument(out: &mut Vec<u8>, argument: &PromptArgument, revision: Revision) {
    let mut object = Object::open(out);
    object.text("name", &argument.name);
    if revision.has_titles() {
        object.text_if("title", &argument.title);
    }
    object.text_if("description", &argument.description);
    if argument.required {
        object.flag("required", true);
    }
    object.close();
}

/// What [`write_prompts`] leaves out, for the person.
pub fn warnings(prompts: &[PromptDefinition]) -> Vec<String> {
    let mut warnings = Vec::new();
    for prompt in prompts {
        if prompt.name.is_empty() {
            warnings.push("a prompt without a name was left out".to_owned());
        }
        let complaints = [
            declared::complaint("icons", &prompt.icons_json, declared::icons),
            declared::complaint("meta", &prompt.meta_json, declared::meta),
        ];
        let complaints = complaints.into_iter().flatten();
        warnings.extend(complaints.map(|complaint| format!("the prompt \"{}\": {complaint}", prompt.name)));
    }
    warnings
}

/// The required arguments that are not in `arguments_json`, in the order of the definition.
pub fn missing_arguments(prompt: &PromptDefinition, arguments_json: &str) -> Vec<String> {
    let given = json::entries(arguments_json).unwrap_or_default();
    let is_given = |argument: &PromptArgument| given.iter().any(|(name, _)| *name == argument.name);
    prompt
        .arguments
        .iter()
        .filter(|argument| argument.required && !is_given(argument))
        .map(|argument| argument.name.clone())
        .collect()
}

/// The error that names the arguments `missing` of the prompt `name`.
pub fn missing_error(name: &str, missing: &[String]) -> RpcError {
    let name = shown(name);
    let list = missing.join(", ");
    RpcError::invalid_params(format!("Invalid params: the prompt {name} needs the arguments: {list}"))
}

/// How published SDKs, whose wire had no field for it, say that there is no such prompt.
const NOT_FOUND_TEXT: &str = "Prompt not found:";

/// Tells an answer to `prompts/get` from a failure.
///
/// # Errors
/// `-32602` for a prompt that does not exist, `-32603` for another failure if the tool process has
/// no other code for it.
pub fn answer(
    revision: Revision,
    name: &str,
    response: GetPromptResponse,
) -> Result<GetPromptResponse, RpcError> {
    if let Some(error) = &response.error {
        if error::is_not_found(error) {
            return Err(error::unknown_prompt(name));
        }
        return Err(
            error::protocol(revision, error).unwrap_or_else(|| error::failed("The prompt failed", error))
        );
    }
    // The same text may be the one message too.
    let rest = response.description.strip_prefix(NOT_FOUND_TEXT);
    if response.messages.len() <= 1 && rest.is_some_and(|rest| rest.trim() == name.trim()) {
        return Err(error::unknown_prompt(name));
    }
    Ok(response)
}

/// Appends the result of `prompts/get`.
pub fn write_prompt(out: &mut Vec<u8>, dialect: Dialect<'_>, response: &GetPromptResponse) {
    let len: usize = response.messages.iter().map(|message| message.content_json.len() + 64).sum();
    out.reserve_exact(len + json::string_len(&response.description) + 64 + result::extra_len(dialect));
    let mut result = result::open(out, dialect);
    result.text_if("description", &response.description);
    let mut messages = Array::open(result.member("messages"));
    for message in &response.messages {
        let mut object = Object::open(messages.element());
        // There are two roles; whoever else speaks is not the model.
        object.text("role", if message.role == "assistant" { "assistant" } else { "user" });
        content::write_one(object.member("content"), &message.content_json, dialect.revision);
        object.close();
    }
    messages.close();
    result::close(result, dialect, None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;
    use crate::mcp::result::proof::{MODERN_DIALECT, modern, modern_cacheable};
    use crate::wire::protomcp::{PromptMessage, ToolError};

    fn argument(name: &str, required: bool) -> PromptArgument {
        PromptArgument { name: name.into(), required, title: "A".into(), ..Default::default() }
    }

    fn prompt() -> PromptDefinition {
        PromptDefinition {
            name: "p".into(),
            title: "P".into(),
            arguments: vec![argument("x", true), argument("y", false), argument("z", true)],
            icons_json: r#"[{"src":"i"}]"#.into(),
            meta_json: "1".into(),
            ..Default::default()
        }
    }

    #[test]
    fn lists_by_revision() {
        let prompts = [prompt(), PromptDefinition::default()];
        let old = written(|out| write_prompts(out, &prompts, Dialect::of(Revision::V2025_03_26), None));
        assert_eq!(
            old,
            r#"{"prompts":[{"name":"p","arguments":[{"name":"x","required":true},{"name":"y"},{"name":"z","required":true}]}]}"#
        );
        let new = written(|out| write_prompts(out, &prompts, Dialect::of(Revision::V2025_11_25), Some("c")));
        assert_eq!(
            new,
            r#"{"prompts":[{"name":"p","title":"P","arguments":[{"name":"x","title":"A","required":true},{"name":"y","title":"A"},{"name":"z","title":"A","required":true}],"icons":[{"src":"i"}]}],"nextCursor":"c"}"#
        );
        let modern = written(|out| write_prompts(out, &prompts[..1], MODERN_DIALECT, Some("c")));
        let own = new.strip_prefix('{').and_then(|new| new.strip_suffix('}')).unwrap();
        assert_eq!(modern, modern_cacheable(&format!("{own},")));
        assert_eq!(warnings(&prompts).len(), 2);
    }

    #[test]
    fn missing_arguments_are_named() {
        let table = [
            ("{}", vec!["x", "z"]),
            (r#"{"z":"1"}"#, vec!["x"]),
            (r#"{"\u0078":"","z":"1"}"#, vec![]),
            ("broken", vec!["x", "z"]),
        ];
        for (arguments, expected) in table {
            assert_eq!(missing_arguments(&prompt(), arguments), expected, "{arguments}");
        }
        let error = missing_error("p", &["x".to_owned(), "z".to_owned()]);
        assert_eq!(error.code, -32602);
        assert!(error.message.ends_with("the prompt p needs the arguments: x, z"), "{}", error.message);
    }

    #[test]
    fn answers_and_failures() {
        let described = |text: &str| GetPromptResponse { description: text.into(), ..Default::default() };
        let answer = |name, response| answer(Revision::V2026_07_28, name, response);
        assert_eq!(answer("p", described("fine")), Ok(described("fine")));
        assert_eq!(answer("p", described("Prompt not found: q")), Ok(described("Prompt not found: q")));
        assert_eq!(answer("p", described("Prompt not found: p")).unwrap_err().code, -32602);
        let failed = |code: &str, rpc_code| {
            let error = Some(ToolError { error_code: code.into(), rpc_code, ..Default::default() });
            answer("p", GetPromptResponse { error, ..Default::default() }).unwrap_err().code
        };
        assert_eq!((failed("NOT_FOUND", 0), failed("BROKEN", 0)), (-32602, -32603));
        assert_eq!((failed("", -32602), failed("BROKEN", -32042)), (-32602, -32603));
    }

    #[test]
    fn messages_have_one_of_two_roles_and_one_block() {
        let message =
            |role: &str, content: &str| PromptMessage { role: role.into(), content_json: content.into() };
        let response = GetPromptResponse {
            description: "d".into(),
            messages: vec![
                message("assistant", r#"{"type":"text","text":"a"}"#),
                message("system", "bare"),
                message("user", r#"{"type":"audio","data":"","mimeType":"audio/x"}"#),
            ],
            error: None,
        };
        let text = written(|out| write_prompt(out, Dialect::of(Revision::V2025_11_25), &response));
        assert_eq!(
            text,
            r#"{"description":"d","messages":[{"role":"assistant","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"text","text":"bare"}},{"role":"user","content":{"type":"audio","data":"","mimeType":"audio/x"}}]}"#
        );
        let old = written(|out| write_prompt(out, Dialect::of(Revision::V2024_11_05), &response));
        assert!(!old.contains(r#""type":"audio""#), "{old}");
        let empty = written(|out| {
            write_prompt(out, Dialect::of(Revision::V2024_11_05), &GetPromptResponse::default())
        });
        assert_eq!(empty, r#"{"messages":[]}"#);
        let empty = written(|out| write_prompt(out, MODERN_DIALECT, &GetPromptResponse::default()));
        assert_eq!(empty, modern(r#""messages":[],"#));
    }
}

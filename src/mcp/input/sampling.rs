//! How a sampling request is spelled (client/sampling).

use serde_json::value::RawValue;

use super::{Kind, Spelled};
use crate::jsonrpc::json::{self, Array, Object};
use crate::limits::SAMPLING_TOKENS;
use crate::mcp::content;
use crate::mcp::revision::Revision;
use crate::wire::protomcp::SamplingRequest;

/// Whether the model may use tools, for which the host needs a capability of its own.
pub(super) fn has_tools(request: &SamplingRequest) -> bool {
    // Most have nothing extra.
    !request.extra_json.is_empty()
        && json::fields(&request.extra_json, &["tools", "toolChoice"]).is_ok_and(|fields| {
            fields.values.iter().flatten().any(|value| json::kind_of(value) != json::Kind::Null)
        })
}

/// The request as hosts get it.
///
/// # Errors
/// A sentence for the tool.
pub(super) fn spell(request: &SamplingRequest, revision: Revision) -> Result<Spelled, String> {
    let messages = json::elements(&request.messages_json)
        .filter(|_| json::is_shallow(&request.messages_json))
        .ok_or("messages_json must be a JSON array")?;
    let preferences = match request.model_preferences_json.trim_ascii() {
        "" => None,
        json if json::is_object(json) => Some(json),
        _ => return Err("model_preferences_json must be a JSON object".to_owned()),
    };
    let extra = match request.extra_json.trim_ascii() {
        "" => Vec::new(),
        json if json::is_object(json) => json::entries(json).unwrap_or_default(),
        _ => return Err("extra_json must be a JSON object".to_owned()),
    };
    let mut out = Vec::with_capacity(request.messages_json.len() + request.extra_json.len() + 256);
    let mut params = Object::open(&mut out);
    let mut list = Array::open(params.member("messages"));
    for message in messages {
        write_message(&mut list, message, revision)?;
    }
    list.close();
    params.raw_if("modelPreferences", preferences);
    params.text_if("systemPrompt", &request.system_prompt);
    let is_taken = |name: &str| match name {
        // What becomes of it would be a task of the host, which nobody would ask for again.
        "messages" | "task" | "_meta" => true,
        "modelPreferences" => preferences.is_some(),
        "systemPrompt" => !request.system_prompt.is_empty(),
        "maxTokens" => request.max_tokens > 0,
        _ => false,
    };
    let meta =
        extra.iter().rfind(|(name, value)| name == "_meta" && json::kind_of(value) == json::Kind::Object);
    let meta = meta.map(|(_, meta)| meta.get().into());
    let extra =
        extra.iter().filter(|(name, value)| !is_taken(name) && json::kind_of(value) != json::Kind::Null);
    let mut has_max_tokens = false;
    for (name, value) in extra {
        has_max_tokens |= name == "maxTokens";
        params.raw(name, value.get());
    }
    if !has_max_tokens {
        params.number("maxTokens", if request.max_tokens > 0 { request.max_tokens } else { SAMPLING_TOKENS });
    }
    params.close();
    Ok(Spelled { meta, ..Spelled::new(Kind::Sampling, out) })
}

/// Adds one message; a bare string as its content, or as the whole message, becomes a text.
fn write_message(list: &mut Array<'_>, message: &RawValue, revision: Revision) -> Result<(), String> {
    if let Some(text) = json::string(message) {
        let mut object = Object::open(list.element());
        object.text("role", "user");
        content::write_text_block(object.member("content"), &text);
        object.close();
        return Ok(());
    }
    let entries = json::entries(message.get()).ok_or("each message must be a JSON object")?;
    let of = |wanted: &str| entries.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value);
    if !matches!(of("role").map(RawValue::get), Some("\"user\"" | "\"assistant\"")) {
        return Err("the role of each message must be user or assistant".to_owned());
    }
    let content = of("content").ok_or("each message must have content")?;
    let blocks = match json::kind_of(content) {
        json::Kind::String | json::Kind::Object => vec![content],
        // One message of several blocks says the same as several of one block each.
        json::Kind::Array if !revision.has_sampling_tools() => {
            json::elements(content.get()).unwrap_or_default()
        }
        json::Kind::Array => vec![content],
        _ => return Err("each message must have content".to_owned()),
    };
    for block in blocks {
        let mut object = Object::open(list.element());
        for (name, value) in &entries {
            match (name.as_ref(), json::string(block)) {
                ("content", Some(text)) => content::write_text_block(object.member(name), &text),
                ("content", None) => object.raw(name, block.get()),
                _ if json::kind_of(value) == json::Kind::Null => {}
                _ => object.raw(name, value.get()),
            }
        }
        object.close();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;
    use crate::mcp::input::{Question, write_host_request, write_input_requests};
    use crate::mcp::request::HostCapabilities;
    use crate::mcp::revision::{LATEST, MODERN};

    fn request(messages: &str) -> SamplingRequest {
        SamplingRequest { messages_json: messages.into(), ..Default::default() }
    }

    fn params(request: &SamplingRequest, revision: Revision) -> String {
        let spelled = spell(request, revision).unwrap();
        let text = written(|out| write_host_request(out, 7, &spelled, None));
        let head = r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":"#;
        text.strip_prefix(head).and_then(|text| text.strip_suffix('}')).expect(head).to_owned()
    }

    #[test]
    fn as_the_protocol_wants_it() {
        let text = r#"{"role":"user","content":{"type":"text","text":"hi"}}"#;
        let table = [
            (request(&format!("[{text}]")), format!(r#"{{"messages":[{text}],"maxTokens":1000}}"#)),
            (request(r#"[{"role":"user","content":"hi","x":null}]"#), format!(r#"{{"messages":[{text}],"maxTokens":1000}}"#)),
            (request("[\"hi\"]"), format!(r#"{{"messages":[{text}],"maxTokens":1000}}"#)),
            (
                SamplingRequest {
                    model_preferences_json: "{\"hints\":\n[]}".into(),
                    system_prompt: "be\nbrief".into(),
                    max_tokens: 5,
                    extra_json: r#"{"temperature":0.5,"maxTokens":9,"systemPrompt":"x","messages":[],"tools":[],"a":null,"task":{}}"#.into(),
                    ..request("[]")
                },
                r#"{"messages":[],"modelPreferences":{"hints": []},"systemPrompt":"be\nbrief","temperature":0.5,"tools":[],"maxTokens":5}"#.to_owned(),
            ),
            (
                SamplingRequest { extra_json: r#"{"maxTokens":9}"#.into(), ..request("[]") },
                r#"{"messages":[],"maxTokens":9}"#.to_owned(),
            ),
            (
                SamplingRequest { extra_json: r#"{"_meta":{"k":1},"stopSequences":["a"]}"#.into(), ..request("[]") },
                r#"{"messages":[],"stopSequences":["a"],"maxTokens":1000,"_meta":{"k":1}}"#.to_owned(),
            ),
        ];
        for (request, expected) in table {
            assert_eq!(params(&request, LATEST), expected);
        }
    }

    #[test]
    fn each_era_has_it_in_its_own_place() {
        let spelled = spell(&request("[]"), MODERN).unwrap();
        let params = r#"{"messages":[],"maxTokens":1000}"#;
        let text = written(|out| write_input_requests(out, [("a\"b", &spelled)]));
        assert_eq!(text, format!(r#"{{"a\"b":{{"method":"sampling/createMessage","params":{params}}}}}"#));
    }

    #[test]
    fn several_blocks_become_several_messages_where_a_message_has_one() {
        let two = r#"{"type":"text","text":"a"},{"type":"text","text":"b"}"#;
        let request = request(&format!(r#"[{{"role":"assistant","content":[{two}]}}]"#));
        let new = format!(r#"{{"messages":[{{"role":"assistant","content":[{two}]}}],"maxTokens":1000}}"#);
        assert_eq!(params(&request, LATEST), new);
        assert_eq!(
            params(&request, Revision::V2025_06_18),
            r#"{"messages":[{"role":"assistant","content":{"type":"text","text":"a"}},{"role":"assistant","content":{"type":"text","text":"b"}}],"maxTokens":1000}"#
        );
    }

    #[test]
    fn what_cannot_be_asked_is_told() {
        let table = [
            (request(""), "messages_json"),
            (request("{}"), "messages_json"),
            (request("[1]"), "JSON object"),
            (request(r#"[{"content":"x"}]"#), "role"),
            (request(r#"[{"role":"system","content":"x"}]"#), "role"),
            (request(r#"[{"role":"user"}]"#), "content"),
            (request(r#"[{"role":"user","content":3}]"#), "content"),
            (request(&format!("[{}{}]", "[".repeat(200), "]".repeat(200))), "messages_json"),
            (
                SamplingRequest { model_preferences_json: "[]".into(), ..request("[]") },
                "model_preferences_json",
            ),
            (SamplingRequest { extra_json: "x".into(), ..request("[]") }, "extra_json"),
        ];
        for (request, word) in table {
            let error = spell(&request, LATEST).unwrap_err();
            assert!(error.contains(word), "{request:?}: {error}");
        }
    }

    #[test]
    fn tools_need_a_capability_of_their_own() {
        let able = HostCapabilities { sampling: true, ..HostCapabilities::default() };
        let with_tools = HostCapabilities { sampling_tools: true, ..able };
        let plain = Some(r#"{"sampling":{}}"#);
        let tools = Some(r#"{"sampling":{"tools":{}}}"#);
        let table = [
            ("", [plain, None, None]),
            ("{}", [plain, None, None]),
            (r#"{"tools":null}"#, [plain, None, None]),
            (r#"{"tools":[]}"#, [tools, tools, None]),
            (r#"{"toolChoice":{}}"#, [tools, tools, None]),
        ];
        for (extra, expected) in table {
            let question = Question::Sampling(SamplingRequest { extra_json: extra.into(), ..request("[]") });
            let missing = [HostCapabilities::default(), able, with_tools].map(|host| question.missing(&host));
            assert_eq!(missing, expected, "{extra}");
        }
    }
}

//! What we ask a host for, on behalf of a tool: sampling and roots (client/sampling,
//! client/roots).

use serde_json::value::RawValue;

use super::content;
use crate::jsonrpc::json::{self, Array, Kind, Object};
use crate::jsonrpc::message::write_request;
use crate::limits::SAMPLING_TOKENS;
use crate::wire::protomcp::{ListRootsResponse, RootDef, SamplingRequest, SamplingResponse};

/// Appends a whole `sampling/createMessage` request. `sampling_tools` says whether the host takes
/// tools in it.
///
/// # Errors
/// A sentence for the tool when its request cannot be asked; nothing is appended then.
pub fn sampling_request(
    out: &mut Vec<u8>,
    id: u64,
    request: &SamplingRequest,
    sampling_tools: bool,
) -> Result<(), String> {
    let mut params = Vec::with_capacity(request.messages_json.len() + 256);
    write_sampling_params(&mut params, request, sampling_tools)?;
    write_request(out, id, "sampling/createMessage", |out| out.extend_from_slice(&params));
    Ok(())
}

fn write_sampling_params(
    out: &mut Vec<u8>,
    request: &SamplingRequest,
    sampling_tools: bool,
) -> Result<(), String> {
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
    if !sampling_tools && extra.iter().any(|(name, _)| name == "tools" || name == "toolChoice") {
        return Err("the host does not take tools in sampling".to_owned());
    }
    let mut params = Object::open(out);
    let mut list = Array::open(params.member("messages"));
    for message in messages {
        write_sampling_message(list.element(), message)?;
    }
    list.close();
    params.raw_if("modelPreferences", preferences);
    params.text_if("systemPrompt", &request.system_prompt);
    let is_given = |name: &str| match name {
        "messages" => true,
        "modelPreferences" => preferences.is_some(),
        "systemPrompt" => !request.system_prompt.is_empty(),
        "maxTokens" => request.max_tokens > 0,
        _ => false,
    };
    let extra = extra.iter().filter(|(name, value)| !is_given(name) && json::kind_of(value) != Kind::Null);
    let mut has_max_tokens = false;
    for (name, value) in extra {
        has_max_tokens |= name == "maxTokens";
        params.raw(name, value.get());
    }
    if !has_max_tokens {
        params.number("maxTokens", if request.max_tokens > 0 { request.max_tokens } else { SAMPLING_TOKENS });
    }
    params.close();
    Ok(())
}

/// Appends one message; a bare string as its content, or as the whole message, becomes a text.
fn write_sampling_message(out: &mut Vec<u8>, message: &RawValue) -> Result<(), String> {
    if let Some(text) = json::string(message) {
        let mut object = Object::open(out);
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
    if !of("content")
        .is_some_and(|content| matches!(json::kind_of(content), Kind::String | Kind::Object | Kind::Array))
    {
        return Err("each message must have content".to_owned());
    }
    let mut object = Object::open(out);
    for (name, value) in &entries {
        match (name.as_ref(), json::string(value)) {
            ("content", Some(text)) => content::write_text_block(object.member(name), &text),
            _ if json::kind_of(value) == Kind::Null => {}
            _ => object.raw(name, value.get()),
        }
    }
    object.close();
    Ok(())
}

/// Appends a whole `roots/list` request.
pub fn roots_request(out: &mut Vec<u8>, id: u64) {
    write_request(out, id, "roots/list", |out| out.extend_from_slice(b"{}"));
}

/// What a host answered to `sampling/createMessage`, for the tool. What cannot be read becomes
/// the response's error.
pub fn parse_sampling_result(raw: &str) -> SamplingResponse {
    let failed = |error: &str| SamplingResponse { error: error.to_owned(), ..Default::default() };
    let Ok(fields) = json::fields(raw, &["role", "content", "model", "stopReason"]) else {
        return failed("the host's answer is not an object");
    };
    let [role, content, model, stop_reason] = fields.values;
    let Some(content) = content.filter(|content| json::kind_of(content) != Kind::Null) else {
        return failed("the host's answer has no content");
    };
    let text = |value: Option<&RawValue>| value.and_then(json::string).unwrap_or_default().into_owned();
    SamplingResponse {
        role: text(role),
        content_json: content.get().to_owned(),
        model: text(model),
        stop_reason: text(stop_reason),
        ..SamplingResponse::default()
    }
}

/// What a host answered to `roots/list`, for the tool.
pub fn parse_roots_result(raw: &str) -> ListRootsResponse {
    let roots = json::fields(raw, &["roots"]).ok().and_then(|fields| fields.values[0]);
    let Some(roots) = roots.and_then(|roots| json::elements(roots.get())) else {
        return ListRootsResponse {
            error: "the host's answer has no roots".to_owned(),
            ..Default::default()
        };
    };
    let root = |root: &RawValue| {
        let [uri, name] = json::fields(root.get(), &["uri", "name"]).ok()?.values;
        let name = name.and_then(json::string).unwrap_or_default().into_owned();
        Some(RootDef { uri: json::string(uri?)?.into_owned(), name })
    };
    // A root that cannot be read is no reason to hide the others.
    ListRootsResponse { roots: roots.into_iter().filter_map(root).collect(), ..ListRootsResponse::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;

    fn request(messages: &str) -> SamplingRequest {
        SamplingRequest { messages_json: messages.into(), ..Default::default() }
    }

    fn params(request: &SamplingRequest) -> String {
        let text = written(|out| sampling_request(out, 7, request, true).unwrap());
        let head = r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":"#;
        text.strip_prefix(head).and_then(|text| text.strip_suffix('}')).expect(head).to_owned()
    }

    #[test]
    fn sampling_as_the_protocol_wants_it() {
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
                    extra_json: r#"{"temperature":0.5,"maxTokens":9,"systemPrompt":"x","messages":[],"tools":[],"a":null}"#.into(),
                    ..request("[]")
                },
                r#"{"messages":[],"modelPreferences":{"hints": []},"systemPrompt":"be\nbrief","temperature":0.5,"tools":[],"maxTokens":5}"#.to_owned(),
            ),
            (
                SamplingRequest { extra_json: r#"{"maxTokens":9}"#.into(), ..request("[]") },
                r#"{"messages":[],"maxTokens":9}"#.to_owned(),
            ),
        ];
        for (request, expected) in table {
            assert_eq!(params(&request), expected);
        }
    }

    #[test]
    fn what_cannot_be_asked_is_told_and_nothing_written() {
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
            (SamplingRequest { extra_json: r#"{"tools":[]}"#.into(), ..request("[]") }, "tools"),
        ];
        for (request, word) in table {
            let mut out = Vec::new();
            let error = sampling_request(&mut out, 1, &request, false).unwrap_err();
            assert!(error.contains(word), "{request:?}: {error}");
            assert!(out.is_empty());
        }
    }

    #[test]
    fn answers_of_a_host() {
        let raw =
            r#"{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":"endTurn"}"#;
        let expected = SamplingResponse {
            role: "assistant".into(),
            content_json: r#"{"type":"text","text":"a"}"#.into(),
            model: "m".into(),
            stop_reason: "endTurn".into(),
            ..SamplingResponse::default()
        };
        assert_eq!(parse_sampling_result(raw), expected);
        for bad in ["null", "[]", "{}", r#"{"content":null}"#] {
            assert!(!parse_sampling_result(bad).error.is_empty(), "{bad}");
        }
        let roots = parse_roots_result(
            r#"{"roots":[{"uri":"file:///a","name":"a"},{"name":"x"},{"uri":"file:///b"},3]}"#,
        );
        let root = |uri: &str, name: &str| RootDef { uri: uri.into(), name: name.into() };
        assert_eq!(roots.roots, [root("file:///a", "a"), root("file:///b", "")]);
        assert_eq!(roots.error, "");
        for bad in ["null", "{}", r#"{"roots":{}}"#] {
            assert!(!parse_roots_result(bad).error.is_empty(), "{bad}");
        }
        let text = written(|out| roots_request(out, 0));
        assert_eq!(text, r#"{"jsonrpc":"2.0","id":0,"method":"roots/list","params":{}}"#);
    }
}

//! How an elicitation is spelled (client/elicitation), and which forms there can be.
//!
//! Strict hosts refuse a form for one odd member, and say so in words that help nobody; so it is
//! looked at before it is sent.

use serde_json::value::RawValue;

use super::{Kind, Spelled};
use crate::jsonrpc::json::{self, Object};
use crate::jsonrpc::message::shown;
use crate::mcp::revision::Revision;
use crate::wire::protomcp::ElicitRequest;

/// A form without fields: the user agrees or does not.
const NO_FIELDS: &str = r#"{"type":"object","properties":{}}"#;

/// What texts in a form may be besides any text.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// Whether the user is sent to a page.
pub(super) fn is_url(request: &ElicitRequest) -> bool {
    request.mode == "url"
}

/// The request as hosts get it.
///
/// # Errors
/// A sentence for the tool.
pub(super) fn spell(request: &ElicitRequest, revision: Revision) -> Result<Spelled, String> {
    if !revision.has_elicitation() {
        return Err(format!("the host speaks revision {}, which has no elicitation", revision.as_str()));
    }
    let mut out = Vec::with_capacity(request.message.len() + request.requested_schema_json.len() + 128);
    let mut params = Object::open(&mut out);
    match request.mode.as_str() {
        "" | "form" => {
            let schema = match request.requested_schema_json.trim_ascii() {
                "" => NO_FIELDS,
                json => json,
            };
            check_form(schema, revision).map_err(|fault| format!("requested_schema_json {fault}"))?;
            if revision.has_elicitation_modes() {
                params.text("mode", "form");
            }
            params.text("message", &request.message);
            params.raw("requestedSchema", schema);
        }
        "url" if !revision.has_elicitation_modes() => {
            let revision = revision.as_str();
            return Err(format!("the host speaks revision {revision}, which cannot send a user to a page"));
        }
        "url" => {
            if !is_absolute(&request.url) {
                return Err("url must be a whole URL in ASCII, like https://example.com/page".to_owned());
            }
            params.text("mode", "url");
            params.text("message", &request.message);
            params.text("url", &request.url);
        }
        other => return Err(format!("mode must be form or url, not {}", shown(other))),
    }
    params.close();
    let wants_id = is_url(request) && revision.has_elicitation_ids();
    Ok(Spelled { wants_id, ..Spelled::new(Kind::Elicit, out) })
}

/// A scheme with something behind it, and nothing that no URL has in it.
fn is_absolute(url: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    url.split_once(':').is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty())
        && url.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"\\^`{|}".contains(&byte))
}

/// A form is an object whose properties are texts, numbers, booleans or choices.
///
/// # Errors
/// Says what is wrong with it, as the rest of a sentence.
fn check_form(schema: &str, revision: Revision) -> Result<(), String> {
    if !json::is_object(schema) {
        return Err("must be a JSON Schema object".to_owned());
    }
    let fields = json::fields(schema, &["type", "properties", "required"])
        .map_err(|_| "must be a JSON Schema object")?;
    if let Some(name) = fields.duplicate {
        return Err(format!("has {name} twice"));
    }
    let [kind, properties, required] = fields.values;
    if kind.and_then(json::string).as_deref() != Some("object") {
        return Err(r#"must have "type":"object""#.to_owned());
    }
    let properties = properties
        .and_then(|properties| json::entries(properties.get()))
        .ok_or("must have properties, an object")?;
    for (name, property) in &properties {
        check_field(property, revision)
            .map_err(|fault| format!("asks for {}, which {fault}", shown(name)))?;
    }
    match required {
        Some(required) if !is_texts(required) => Err("must have required as a list of names".to_owned()),
        _ => Ok(()),
    }
}

/// One property of a form.
fn check_field(property: &RawValue, revision: Revision) -> Result<(), &'static str> {
    const NAMES: [&str; 16] = [
        "type",
        "title",
        "description",
        "default",
        "minLength",
        "maxLength",
        "format",
        "minimum",
        "maximum",
        "enum",
        "enumNames",
        "oneOf",
        "items",
        "minItems",
        "maxItems",
        "pattern",
    ];
    let fields = json::fields(property.get(), &NAMES).map_err(|_| "must be an object")?;
    if fields.duplicate.is_some() {
        return Err("has a member twice");
    }
    if fields.has_null {
        return Err("has a member that is null; leave it out instead");
    }
    let [
        kind,
        title,
        description,
        default,
        min_length,
        max_length,
        format,
        minimum,
        maximum,
        choices,
        choice_names,
        titled,
        items,
        min_items,
        max_items,
        _,
    ] = fields.values;
    let is = |value: Option<&RawValue>, kind| value.is_none_or(|value| json::kind_of(value) == kind);
    if !is(title, json::Kind::String) || !is(description, json::Kind::String) {
        return Err("must have texts as title and description");
    }
    let numbers = [min_length, max_length, minimum, maximum, min_items, max_items];
    if numbers.into_iter().any(|number| !is(number, json::Kind::Number)) {
        return Err("must have numbers as its bounds");
    }
    let default_is = |right: bool| right.then_some(()).ok_or("has a default of another type");
    match kind.and_then(json::string).as_deref() {
        Some("string") => {
            if format
                .is_some_and(|format| !json::string(format).is_some_and(|name| FORMATS.contains(&&*name)))
            {
                return Err("has a format other than email, uri, date and date-time");
            }
            if [choices, choice_names].into_iter().flatten().any(|texts| !is_texts(texts)) {
                return Err("must have a list of texts to choose from");
            }
            if titled.is_some_and(|choices| !is_titled(choices)) {
                return Err("must have a const and a title, both texts, for each choice");
            }
            default_is(is(default, json::Kind::String))
        }
        Some("number" | "integer") => default_is(is(default, json::Kind::Number)),
        Some("boolean") => default_is(is(default, json::Kind::Bool)),
        Some("array") if !revision.has_elicitation_modes() => {
            Err("is a choice of several, which the host's revision does not have")
        }
        Some("array") => {
            check_items(items)?;
            default_is(default.is_none_or(is_texts))
        }
        _ => Err("is not a string, a number, an integer, a boolean or an array of choices"),
    }
}

/// The choices of which several may be taken.
fn check_items(items: Option<&RawValue>) -> Result<(), &'static str> {
    let fields = items.and_then(|items| json::fields(items.get(), &["type", "enum", "anyOf"]).ok());
    let [kind, choices, titled] = fields.map(|fields| fields.values).unwrap_or_default();
    match (kind.and_then(json::string).as_deref(), choices, titled) {
        (Some("string"), Some(choices), None) if is_texts(choices) => Ok(()),
        (_, None, Some(titled)) if is_titled(titled) => Ok(()),
        _ => Err("must have items of strings with an enum, or with anyOf of const and title"),
    }
}

fn is_texts(list: &RawValue) -> bool {
    let is_text = |element: &&RawValue| json::kind_of(element) == json::Kind::String;
    json::elements(list.get()).is_some_and(|elements| elements.iter().all(is_text))
}

/// Choices that are shown under other names.
fn is_titled(list: &RawValue) -> bool {
    let is_choice = |choice: &&RawValue| {
        json::fields(choice.get(), &["const", "title"]).is_ok_and(|fields| {
            fields
                .values
                .iter()
                .all(|value| value.is_some_and(|text| json::kind_of(text) == json::Kind::String))
        })
    };
    json::elements(list.get()).is_some_and(|choices| choices.iter().all(is_choice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::revision::{LATEST, MODERN};

    fn form(schema: &str) -> ElicitRequest {
        ElicitRequest {
            message: "Say \"a\"".into(),
            requested_schema_json: schema.into(),
            ..ElicitRequest::default()
        }
    }

    fn with(property: &str) -> ElicitRequest {
        form(&format!(r#"{{"type":"object","properties":{{"p":{property}}}}}"#))
    }

    fn page(url: &str) -> ElicitRequest {
        ElicitRequest { mode: "url".into(), url: url.into(), ..form("") }
    }

    fn params(request: &ElicitRequest, revision: Revision) -> String {
        String::from_utf8(spell(request, revision).unwrap().params).unwrap()
    }

    #[test]
    fn each_revision_gets_the_members_that_it_knows() {
        let schema = r#"{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}"#;
        let shown = format!(r#""message":"Say \"a\"","requestedSchema":{schema}}}"#);
        for mode in ["", "form"] {
            let request = ElicitRequest { mode: mode.into(), ..form(&format!(" {schema}\n")) };
            assert_eq!(params(&request, Revision::V2025_06_18), format!("{{{shown}"));
            assert_eq!(params(&request, LATEST), format!(r#"{{"mode":"form",{shown}"#));
            assert_eq!(params(&request, MODERN), format!(r#"{{"mode":"form",{shown}"#));
        }
        let confirm = params(&form(""), MODERN);
        assert!(confirm.ends_with(r#","requestedSchema":{"type":"object","properties":{}}}"#), "{confirm}");
        let page = page("https://a.example");
        let shown = r#"{"mode":"url","message":"Say \"a\"","url":"https://a.example"}"#;
        assert_eq!(params(&page, MODERN), shown);
        assert_eq!(params(&page, LATEST), shown);
        assert!(spell(&page, LATEST).unwrap().wants_id);
        assert!(!spell(&page, MODERN).unwrap().wants_id);
    }

    #[test]
    fn what_the_revision_does_not_have_is_told() {
        let several = with(r#"{"type":"array","items":{"type":"string","enum":["a"]}}"#);
        let page = page("https://a.example");
        let table = [
            (form(""), Revision::V2024_11_05, "2024-11-05"),
            (form(""), Revision::V2025_03_26, "no elicitation"),
            (page, Revision::V2025_06_18, "page"),
            (several, Revision::V2025_06_18, "several"),
        ];
        for (request, revision, word) in table {
            let error = spell(&request, revision).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn fields_of_a_form() {
        for good in [
            r#"{"type":"string"}"#,
            r#"{"type":"string","title":"T","description":"d","minLength":1,"maxLength":9,"default":"x"}"#,
            r#"{"type":"string","format":"date-time"}"#,
            r#"{"type":"string","enum":["a","b"],"default":"a"}"#,
            r#"{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#,
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#,
            r#"{"type":"number","minimum":0.5,"maximum":9,"default":1.5}"#,
            r#"{"type":"integer","default":3}"#,
            r#"{"type":"boolean","default":false}"#,
            r#"{"type":"array","items":{"type":"string","enum":["a"]},"minItems":1,"maxItems":2,"default":["a"]}"#,
            r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
            r#"{"type":"string","x-own":{"deep":[1]}}"#,
        ] {
            let request = with(good);
            assert!(params(&request, MODERN).contains(good), "{good}");
            assert!(spell(&request, LATEST).is_ok(), "{good}");
        }
        for (bad, word) in [
            ("3", "object"),
            ("true", "object"),
            ("{}", "not a string"),
            (r#"{"type":"object","properties":{}}"#, "not a string"),
            (r#"{"type":["string","null"]}"#, "not a string"),
            (r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#, "not a string"),
            (r##"{"$ref":"#/$defs/x"}"##, "not a string"),
            (r#"{"type":"string","type":"number"}"#, "twice"),
            (r#"{"type":"string","default":null}"#, "null"),
            (r#"{"type":"string","title":1}"#, "title"),
            (r#"{"type":"string","minLength":"1"}"#, "bounds"),
            (r#"{"type":"string","format":"password"}"#, "format"),
            (r#"{"type":"string","format":1}"#, "format"),
            (r#"{"type":"string","enum":[1]}"#, "choose"),
            (r#"{"type":"string","enum":"a"}"#, "choose"),
            (r#"{"type":"string","enum":["a"],"enumNames":[1]}"#, "choose"),
            (r#"{"type":"string","oneOf":[{"const":"a"}]}"#, "title"),
            (r#"{"type":"string","default":1}"#, "default"),
            (r#"{"type":"integer","default":"1"}"#, "default"),
            (r#"{"type":"boolean","default":"no"}"#, "default"),
            (r#"{"type":"array"}"#, "items"),
            (r#"{"type":"array","items":{"type":"string"}}"#, "items"),
            (r#"{"type":"array","items":{"type":"number","enum":[1]}}"#, "items"),
            (r#"{"type":"array","items":{"anyOf":[{"const":1,"title":"A"}]}}"#, "items"),
            (r#"{"type":"array","items":{"type":"string","enum":["a"]},"default":"a"}"#, "default"),
        ] {
            let error = spell(&with(bad), MODERN).unwrap_err();
            assert!(error.starts_with("requested_schema_json asks for p, which "), "{error}");
            assert!(error.contains(word), "{bad}: {error}");
        }
    }

    #[test]
    fn a_form_is_a_flat_object() {
        for (bad, word) in [
            ("[]", "JSON Schema object"),
            ("{", "JSON Schema object"),
            ("{}", r#""type":"object""#),
            (r#"{"type":"array","properties":{}}"#, r#""type":"object""#),
            (r#"{"type":"object"}"#, "properties"),
            (r#"{"type":"object","properties":[]}"#, "properties"),
            (r#"{"type":"object","properties":{},"properties":{}}"#, "twice"),
            (r#"{"type":"object","properties":{},"required":"p"}"#, "required"),
            (r#"{"type":"object","properties":{},"required":[1]}"#, "required"),
        ] {
            let error = spell(&form(bad), MODERN).unwrap_err();
            assert!(error.starts_with("requested_schema_json ") && error.contains(word), "{bad}: {error}");
        }
        let deep =
            format!(r#"{{"type":"object","properties":{{}},"x":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        assert!(spell(&form(&deep), MODERN).is_err());
    }

    #[test]
    fn a_page_has_a_whole_url() {
        for good in ["https://a.example/b?c=d#e", "http://localhost:80", "myapp:pay/7", "https://[::1]/"] {
            assert!(spell(&page(good), MODERN).is_ok(), "{good}");
        }
        for bad in [
            "",
            "a.example",
            "/b",
            "https:",
            ":x",
            "1a:b",
            "https://a b",
            "https://a\n",
            "ht tp://a",
            "https://münchen.example",
            "a\u{0}:x",
        ] {
            let error = spell(&page(bad), MODERN).unwrap_err();
            assert!(error.contains("whole URL"), "{bad}: {error}");
        }
        let odd = ElicitRequest { mode: "phone".into(), ..form("") };
        assert!(spell(&odd, MODERN).unwrap_err().contains("form or url, not phone"));
    }
}

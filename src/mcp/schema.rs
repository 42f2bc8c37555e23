//! The JSON Schemas of a tool, as hosts of either era take them.
//!
//! A schema reaches the host as it was written. Only what makes strict hosts refuse the whole
//! tool list is mended: a root that is not of type `object`, a property whose schema is none, a
//! `required` that is not a list of names. Hosts of the handshake era refuse more than modern
//! ones: output schemas whose root is not an object, and properties whose schema is a boolean.

use serde_json::value::RawValue;

use super::header;
use super::revision::Revision;
use crate::jsonrpc::json::{self, Array, Kind, Object};

/// A schema that can be offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// For the modern era: a JSON object.
    modern: String,
    /// For the handshake era, if it is another one: a JSON object of type `object`.
    handshake: Option<String>,
    /// Whether in the handshake era the real schema is that of the only property, `result`.
    pub is_wrapped: bool,
}

impl Schema {
    /// The text for hosts of this revision.
    pub fn as_str(&self, revision: Revision) -> &str {
        match &self.handshake {
            Some(handshake) if !revision.has_any_schema() => handshake,
            _ => &self.modern,
        }
    }

    /// Whether it asks for a string.
    pub fn is_string(&self) -> bool {
        let kind = json::fields(&self.modern, &["type"]).ok().and_then(|fields| fields.values[0]);
        kind.is_some_and(|kind| kind.get() == "\"string\"")
    }
}

/// The schema of a tool's arguments, which every tool has, and what was wrong with it.
pub fn input(json: &str) -> (Schema, Vec<String>) {
    let any = Schema { modern: r#"{"type":"object"}"#.to_owned(), handshake: None, is_wrapped: false };
    if json.trim_ascii().is_empty() {
        return (any, Vec::new());
    }
    let cleaned = json::is_object(json).then(|| header::clean(json)).flatten();
    let (json, mut warnings) = match &cleaned {
        Some((json, warnings)) => (json.as_str(), warnings.clone()),
        None => (json, Vec::new()),
    };
    let (Some(modern), Some(handshake)) =
        (object_schema(json, Revision::V2026_07_28), object_schema(json, Revision::V2025_11_25))
    else {
        return (any, vec!["its input schema is not a JSON object; any arguments are taken".to_owned()]);
    };
    warnings.extend(modern.1.map(str::to_owned));
    let handshake = (handshake.0 != modern.0).then_some(handshake.0);
    (Schema { modern: modern.0, handshake, is_wrapped: false }, warnings)
}

/// The schema of a tool's structured content. One whose root is not an object is wrapped for
/// hosts of the handshake era, as the structured content will be.
///
/// # Errors
/// Says why the schema cannot be offered.
pub fn output(json: &str) -> Result<Schema, &'static str> {
    let json = match json.trim_ascii() {
        "true" => "{}",
        json => json,
    };
    if !json::is_object(json) {
        return Err("its output schema is not a JSON object and was left out");
    }
    let fields = json::fields(json, &["type", "properties"]);
    let is_object = fields.is_ok_and(|fields| match fields.values {
        [Some(kind), _] => kind.get() == "\"object\"",
        [None, properties] => properties.is_some(),
    });
    let modern = json.to_owned();
    if is_object && let Some((handshake, _)) = object_schema(json, Revision::V2025_11_25) {
        let handshake = (handshake != modern).then_some(handshake);
        return Ok(Schema { modern, handshake, is_wrapped: false });
    }
    Ok(Schema { modern, handshake: Some(wrap(json)), is_wrapped: true })
}

/// The text itself if hosts take it, else mended with the reason; `None` if it is not a JSON
/// object.
fn object_schema(json: &str, revision: Revision) -> Option<(String, Option<&'static str>)> {
    if !json::is_object(json) {
        return None;
    }
    let fields = json::fields(json, &["type", "properties", "required"]).ok()?;
    let [kind, properties, required] = fields.values;
    let is_typed = kind.is_some_and(|kind| kind.get() == "\"object\"");
    let is_schema = |schema: &RawValue| match json::kind_of(schema) {
        Kind::Object => true,
        Kind::Bool => revision.has_any_schema(),
        _ => false,
    };
    let has_sound_properties = properties.is_none_or(|properties| {
        json::entries(properties.get()).is_some_and(|all| all.iter().all(|(_, schema)| is_schema(schema)))
    });
    let is_name = |name: &&RawValue| json::kind_of(name) == Kind::String;
    let has_sound_required =
        required.is_none_or(|list| json::elements(list.get()).is_some_and(|all| all.iter().all(is_name)));
    if is_typed && has_sound_properties && has_sound_required && fields.duplicate.is_none() {
        return Some((json.trim_ascii().to_owned(), None));
    }
    let warning = match (is_typed, has_sound_properties) {
        (false, _) => "a schema's root was not of type object and was made so",
        (_, false) => "a property's schema was not an object and was made one",
        _ => "a schema's required was not a list of names and was left out",
    };
    let mut out = Vec::with_capacity(json.len() + 32);
    let mut object = Object::open(&mut out);
    object.text("type", "object");
    for (name, value) in json::entries(json)? {
        match name.as_ref() {
            "type" => {}
            "properties" => write_properties(&mut object, properties),
            "required" if !has_sound_required => {}
            _ => object.raw(&name, value.get()),
        }
    }
    object.close();
    Some((String::from_utf8(out).ok()?, Some(warning)))
}

fn write_properties(schema: &mut Object<'_>, properties: Option<&RawValue>) {
    let Some(entries) = properties.and_then(|properties| json::entries(properties.get())) else { return };
    let mut object = Object::open(schema.member("properties"));
    for (name, value) in entries {
        match value.get() {
            // Nothing is allowed here.
            "false" => object.raw(&name, r#"{"not":{}}"#),
            json if json.starts_with('{') => object.raw(&name, json),
            _ => object.raw(&name, "{}"),
        }
    }
    object.close();
}

/// Where the real schema lies in a wrapped one.
const WRAPPED_AT: &str = "/properties/result";

fn wrap(json: &str) -> String {
    let dialect = json::fields(json, &["$schema"]).ok().and_then(|fields| fields.values[0]);
    let mut out = Vec::with_capacity(json.len() + 128);
    let mut object = Object::open(&mut out);
    // The dialect is the whole document's, so it belongs to the new root.
    object.raw_if("$schema", dialect.map(RawValue::get));
    object.text("type", "object");
    let mut properties = Object::open(object.member("properties"));
    write_moved(properties.member("result"), json, true);
    properties.close();
    let mut required = Array::open(object.member("required"));
    json::write_str(required.element(), "result");
    required.close();
    object.close();
    // What the writers append is text.
    String::from_utf8(out).unwrap_or_default()
}

/// Appends a schema with its references to the document's root changed to where it is now. The
/// depth was checked, so the recursion is bounded.
fn write_moved(out: &mut Vec<u8>, json: &str, is_root: bool) {
    let Some(entries) = json::entries(json) else {
        return match json::elements(json) {
            Some(elements) => {
                let mut array = Array::open(out);
                elements.iter().for_each(|element| write_moved(array.element(), element.get(), false));
                array.close();
            }
            None => json::write_raw(out, json),
        };
    };
    // A schema with an identifier is a document of its own: its references still hold.
    if entries.iter().any(|(name, value)| name == "$id" && json::kind_of(value) == Kind::String) {
        return json::write_raw(out, json);
    }
    let mut object = Object::open(out);
    for (name, value) in entries {
        match (name.as_ref(), json::kind_of(value)) {
            ("$schema", _) if is_root => {}
            ("$ref", Kind::String) => object.text(&name, &moved(&json::string(value).unwrap_or_default())),
            // Values, not schemas.
            ("const" | "enum" | "default" | "examples", _) => object.raw(&name, value.get()),
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Kind::Object,
            ) => {
                let mut schemas = Object::open(object.member(&name));
                for (name, schema) in json::entries(value.get()).unwrap_or_default() {
                    write_moved(schemas.member(&name), schema.get(), false);
                }
                schemas.close();
            }
            _ => write_moved(object.member(&name), value.get(), false),
        }
    }
    object.close();
}

fn moved(reference: &str) -> String {
    match reference.strip_prefix('#') {
        Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
            format!("#{WRAPPED_AT}{pointer}")
        }
        _ => reference.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::revision::{LATEST, MODERN};

    #[test]
    fn good_schemas_are_verbatim() {
        for json in [
            r#"{"type":"object"}"#,
            r#"{ "properties" : {"b":{"type":"integer"},"a":{}}, "required":["b"], "type":"object", "x":true }"#,
            r##"{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object"}}}"##,
        ] {
            let (schema, warnings) = input(&format!("\n{json} "));
            assert_eq!(schema, Schema { modern: json.to_owned(), handshake: None, is_wrapped: false });
            assert!(warnings.is_empty(), "{warnings:?}");
            assert_eq!(output(json).unwrap(), schema);
        }
    }

    #[test]
    fn input_schemas_are_mended() {
        let table = [
            ("", r#"{"type":"object"}"#, false),
            ("not json", r#"{"type":"object"}"#, true),
            ("[]", r#"{"type":"object"}"#, true),
            ("true", r#"{"type":"object"}"#, true),
            ("{}", r#"{"type":"object"}"#, true),
            (
                r#"{"properties":{"z":{},"a":{"type":"string"}}}"#,
                r#"{"type":"object","properties":{"z":{},"a":{"type":"string"}}}"#,
                true,
            ),
            (r#"{"type":["object","null"],"title":"T"}"#, r#"{"type":"object","title":"T"}"#, true),
            (r#"{"type":"string"}"#, r#"{"type":"object"}"#, true),
            (
                r#"{"type":"object","properties":{"a":true,"b":false,"c":7}}"#,
                r#"{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{}}}"#,
                true,
            ),
            (r#"{"type":"object","properties":[],"required":"a","x":1}"#, r#"{"type":"object","x":1}"#, true),
            (r#"{"type":"object","required":["a",1]}"#, r#"{"type":"object"}"#, true),
        ];
        for (json, expected, warns) in table {
            let (schema, warnings) = input(json);
            assert_eq!(schema.as_str(LATEST), expected, "{json}");
            assert_eq!(!warnings.is_empty(), warns, "{json}");
            assert!(!schema.is_wrapped);
            assert!(input(schema.as_str(LATEST)).1.is_empty(), "mended once, it is good: {json}");
        }
        let boolean = r#"{"type":"object","properties":{"a":true}}"#;
        let (schema, warnings) = input(boolean);
        assert_eq!(schema.as_str(MODERN), boolean);
        assert_eq!(schema.as_str(LATEST), r#"{"type":"object","properties":{"a":{}}}"#);
        assert!(warnings.is_empty(), "{warnings:?}");
        let deep = format!("{}{}", "{\"properties\":".repeat(200), "{}".to_owned() + &"}".repeat(200));
        assert_eq!(input(&deep).0.as_str(MODERN), r#"{"type":"object"}"#);
    }

    #[test]
    fn output_schemas_that_are_no_objects_are_wrapped() {
        let wrapped = |inner: &str| {
            format!(r#"{{"type":"object","properties":{{"result":{inner}}},"required":["result"]}}"#)
        };
        let table = [
            (r#"{"type":"string"}"#, wrapped(r#"{"type":"string"}"#)),
            ("{}", wrapped("{}")),
            ("true", wrapped("{}")),
            (
                r##"{"$ref":"#/$defs/N","$defs":{"N":{"items":[{"$ref":"#"},{"$ref":"#/$defs/N"},{"$ref":"#anchor"},{"$ref":"other.json#/a"}]}}}"##,
                wrapped(
                    r##"{"$ref":"#/properties/result/$defs/N","$defs":{"N":{"items":[{"$ref":"#/properties/result"},{"$ref":"#/properties/result/$defs/N"},{"$ref":"#anchor"},{"$ref":"other.json#/a"}]}}}"##,
                ),
            ),
            // Names of properties and values are no keywords; a schema with an id is its own root.
            (
                r##"{"type":"array","items":{"properties":{"$ref":{"$ref":"#/x"},"default":{"$ref":"#/x"}},"default":{"$ref":"#/x"},"not":{"$id":"u:v","$ref":"#/x"}}}"##,
                wrapped(
                    r##"{"type":"array","items":{"properties":{"$ref":{"$ref":"#/properties/result/x"},"default":{"$ref":"#/properties/result/x"}},"default":{"$ref":"#/x"},"not":{"$id":"u:v","$ref":"#/x"}}}"##,
                ),
            ),
            (
                r#"{"$schema":"u:v","type":"integer"}"#,
                r#"{"$schema":"u:v","type":"object","properties":{"result":{"type":"integer"}},"required":["result"]}"#.to_owned(),
            ),
        ];
        for (json, expected) in table {
            let schema = output(json).unwrap();
            assert_eq!((schema.as_str(LATEST), schema.is_wrapped), (expected.as_str(), true), "{json}");
            assert_eq!(schema.as_str(MODERN), if json == "true" { "{}" } else { json });
        }
        let added = output(r#"{"properties":{"a":{}}}"#).unwrap();
        assert_eq!(
            (added.as_str(LATEST), added.is_wrapped),
            (r#"{"type":"object","properties":{"a":{}}}"#, false)
        );
        for bad in ["[]", "3", "nope", "false"] {
            assert!(output(bad).is_err(), "{bad}");
        }
        assert_eq!(added.as_str(MODERN), r#"{"properties":{"a":{}}}"#);
        assert!(output(r#"{"type":"string"}"#).unwrap().is_string());
        assert!(!output("{}").unwrap().is_string());
    }
}

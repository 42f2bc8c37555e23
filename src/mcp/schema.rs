//! The JSON Schemas of a tool, as hosts of the handshake era take them.
//!
//! A schema reaches the host as it was written. Only what makes strict hosts refuse the whole
//! tool list is mended: a root that is not of type `object`, a property whose schema is not an
//! object, a `required` that is not a list of names.

use serde_json::value::RawValue;

use crate::jsonrpc::json::{self, Array, Kind, Object};

/// A schema that can be offered, and what had to be done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// A JSON object of type `object`.
    pub json: String,
    /// Whether the real schema is that of the only property, `result`.
    pub is_wrapped: bool,
    /// For the person, if something was not right.
    pub warning: Option<&'static str>,
}

/// The schema of a tool's arguments; every tool has one.
pub fn input(json: &str) -> Schema {
    let any = |warning| Schema { json: r#"{"type":"object"}"#.to_owned(), is_wrapped: false, warning };
    if json.trim_ascii().is_empty() {
        return any(None);
    }
    match object_schema(json) {
        Some(schema) => schema,
        None => any(Some("its input schema is not a JSON object; any arguments are taken")),
    }
}

/// The schema of a tool's structured content. One whose root is not an object is wrapped, as the
/// structured content will be.
///
/// # Errors
/// Says why the schema cannot be offered.
pub fn output(json: &str) -> Result<Schema, &'static str> {
    let is_always_true = json.trim_ascii() == "true";
    if !is_always_true && !json::is_object(json) {
        return Err("its output schema is not a JSON object and was left out");
    }
    let fields = json::fields(json, &["type", "properties"]);
    let is_object = fields.is_ok_and(|fields| match fields.values {
        [Some(kind), _] => kind.get() == "\"object\"",
        [None, properties] => properties.is_some(),
    });
    if is_object && let Some(schema) = object_schema(json) {
        return Ok(schema);
    }
    let real = if is_always_true { "{}" } else { json };
    Ok(Schema { json: wrap(real), is_wrapped: true, warning: None })
}

/// Whether the schema inside a wrapped one asks for a string.
pub fn wraps_string(schema: &str) -> bool {
    let inner = |json, name| json::fields(json, &[name]).ok().and_then(|fields| fields.values[0]);
    let result = inner(schema, "properties").and_then(|value| inner(value.get(), "result"));
    result.and_then(|value| inner(value.get(), "type")).is_some_and(|kind| kind.get() == "\"string\"")
}

/// The text itself if hosts take it, else mended; `None` if it is not a JSON object.
fn object_schema(json: &str) -> Option<Schema> {
    if !json::is_object(json) {
        return None;
    }
    let fields = json::fields(json, &["type", "properties", "required"]).ok()?;
    let [kind, properties, required] = fields.values;
    let is_typed = kind.is_some_and(|kind| kind.get() == "\"object\"");
    let has_sound_properties = properties.is_none_or(|properties| {
        json::entries(properties.get())
            .is_some_and(|all| all.iter().all(|(_, schema)| json::kind_of(schema) == Kind::Object))
    });
    let is_name = |name: &&RawValue| json::kind_of(name) == Kind::String;
    let has_sound_required =
        required.is_none_or(|list| json::elements(list.get()).is_some_and(|all| all.iter().all(is_name)));
    if is_typed && has_sound_properties && has_sound_required && fields.duplicate.is_none() {
        return Some(Schema { json: json.trim_ascii().to_owned(), is_wrapped: false, warning: None });
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
    Some(Schema { json: String::from_utf8(out).ok()?, is_wrapped: false, warning: Some(warning) })
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

    #[test]
    fn good_schemas_are_verbatim() {
        for json in [
            r#"{"type":"object"}"#,
            r#"{ "properties" : {"b":{"type":"integer"},"a":{}}, "required":["b"], "type":"object", "x":true }"#,
            r##"{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object"}}}"##,
        ] {
            let schema = input(&format!("\n{json} "));
            assert_eq!(schema, Schema { json: json.to_owned(), is_wrapped: false, warning: None });
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
            let schema = input(json);
            assert_eq!(schema.json, expected, "{json}");
            assert_eq!(schema.warning.is_some(), warns, "{json}");
            assert!(!schema.is_wrapped);
            assert_eq!(input(&schema.json).warning, None, "mended once, it is good: {json}");
        }
        let deep = format!("{}{}", "{\"properties\":".repeat(200), "{}".to_owned() + &"}".repeat(200));
        assert_eq!(input(&deep).json, r#"{"type":"object"}"#);
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
            assert_eq!((schema.json, schema.is_wrapped), (expected, true), "{json}");
        }
        let added = output(r#"{"properties":{"a":{}}}"#).unwrap();
        assert_eq!(
            (added.json.as_str(), added.is_wrapped),
            (r#"{"type":"object","properties":{"a":{}}}"#, false)
        );
        for bad in ["[]", "3", "nope", "false"] {
            assert!(output(bad).is_err(), "{bad}");
        }
        assert!(wraps_string(&output(r#"{"type":"string"}"#).unwrap().json));
        assert!(!wraps_string(&output("{}").unwrap().json));
    }
}

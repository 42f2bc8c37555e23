//! `x-mcp-header`: parameters of a tool that hosts repeat in HTTP headers (basic/transports,
//! "Custom Headers from Tool Parameters").
//!
//! Over HTTP a host must drop a whole tool for one annotation that breaks the rules, so such an
//! annotation is left out of the schema, and the tool goes without that header.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::jsonrpc::json::{self, Array, Kind, Object};

/// The annotation's keyword.
const KEYWORD: &str = "x-mcp-header";

/// What an annotation is good for depends on where its schema lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The schema of all arguments.
    Root,
    /// That of one argument, reached through `properties` alone.
    Property,
    /// Under any other keyword: it may or may not apply to a given call.
    Elsewhere,
}

/// An input schema without the annotations that break the rules, and a sentence for each of them;
/// `None` if there is nothing to leave out. The schema is a sound JSON object.
pub fn clean(schema: &str) -> Option<(String, Vec<String>)> {
    // An escaped spelling of the keyword holds a backslash.
    if !schema.contains(KEYWORD) && !schema.contains('\\') {
        return None;
    }
    let mut cleaner = Cleaner { headers: Vec::new(), faults: Vec::new() };
    let mut out = Vec::with_capacity(schema.len());
    cleaner.schema(&mut out, schema, Place::Root, "");
    if cleaner.faults.is_empty() {
        return None;
    }
    Some((String::from_utf8(out).ok()?, cleaner.faults))
}

/// One annotation that keeps the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation<'a> {
    /// The names of the properties that lead to the argument.
    pub path: Vec<Cow<'a, str>>,
    /// The name of its header behind `Mcp-Param-`.
    pub header: Cow<'a, str>,
    /// It is an integer, which may be spelled in more than one way.
    pub is_integer: bool,
}

/// The annotations of an input schema that was [cleaned](clean).
pub fn annotations(schema: &str) -> Vec<Annotation<'_>> {
    let mut found = Vec::new();
    // Most tools have none, and this is asked for at each call.
    if schema.contains(KEYWORD) || schema.contains('\\') {
        collect(schema, &mut Vec::new(), &mut found);
    }
    found
}

/// Looks at a schema that is reached through `properties` alone. Its depth was checked.
fn collect<'a>(schema: &'a str, path: &mut Vec<Cow<'a, str>>, found: &mut Vec<Annotation<'a>>) {
    let Ok(fields) = json::fields(schema, &[KEYWORD, "type", "properties"]) else { return };
    let [header, kind, properties] = fields.values;
    if let Some(header) = header.and_then(json::string).filter(|_| !path.is_empty()) {
        let is_integer = kind.is_some_and(|kind| kind.get() == "\"integer\"");
        found.push(Annotation { path: path.clone(), header, is_integer });
    }
    for (name, schema) in properties.and_then(|all| json::entries(all.get())).unwrap_or_default() {
        path.push(name);
        collect(schema.get(), path, found);
        path.pop();
    }
}

struct Cleaner {
    /// The names that were kept, in lower case.
    headers: Vec<String>,
    faults: Vec<String>,
}

impl Cleaner {
    /// Appends a schema. Its depth was checked, so the recursion is bounded.
    fn schema(&mut self, out: &mut Vec<u8>, schema: &str, place: Place, path: &str) {
        let Some(entries) = json::entries(schema) else { return json::write_raw(out, schema) };
        let mut object = Object::open(out);
        for (name, value) in &entries {
            match (name.as_ref(), json::kind_of(value)) {
                (KEYWORD, _) => match self.judge(value, &entries, place) {
                    Ok(()) => object.raw(name, value.get()),
                    Err(reason) => {
                        let at = if path.is_empty() { "its input schema" } else { path };
                        self.faults
                            .push(format!("the annotation {KEYWORD} of {at} {reason} and was left out"));
                    }
                },
                // Values, in which the keyword is a name like any other.
                ("const" | "default" | "enum" | "examples", _) => object.raw(name, value.get()),
                ("properties", Kind::Object) => {
                    let place = if place == Place::Elsewhere { place } else { Place::Property };
                    self.named(object.member(name), value.get(), place, path);
                }
                ("$defs" | "definitions" | "dependentSchemas" | "patternProperties", Kind::Object) => {
                    self.named(object.member(name), value.get(), Place::Elsewhere, path);
                }
                (_, Kind::Object) => {
                    self.schema(object.member(name), value.get(), Place::Elsewhere, &below(path, name));
                }
                (_, Kind::Array) => {
                    let mut list = Array::open(object.member(name));
                    for element in json::elements(value.get()).unwrap_or_default() {
                        self.schema(list.element(), element.get(), Place::Elsewhere, &below(path, name));
                    }
                    list.close();
                }
                _ => object.raw(name, value.get()),
            }
        }
        object.close();
    }

    /// Appends schemas by the names of what they are for.
    fn named(&mut self, out: &mut Vec<u8>, schemas: &str, place: Place, path: &str) {
        let mut object = Object::open(out);
        for (name, schema) in json::entries(schemas).unwrap_or_default() {
            self.schema(object.member(&name), schema.get(), place, &below(path, &name));
        }
        object.close();
    }

    /// Keeps an annotation, or says why it can't be kept.
    fn judge(
        &mut self,
        value: &RawValue,
        schema: &[(Cow<'_, str>, &RawValue)],
        place: Place,
    ) -> Result<(), &'static str> {
        if place != Place::Property {
            return Err("is not at a property that is reached through properties alone");
        }
        let name = json::string(value).filter(|name| is_token(name)).ok_or("is not the name of a header")?;
        let kind = schema.iter().find(|(name, _)| name == "type").map(|(_, kind)| kind.get());
        if !matches!(kind, Some("\"string\"" | "\"integer\"" | "\"boolean\"")) {
            return Err("is at a property whose type is not string, integer or boolean");
        }
        let name = name.to_ascii_lowercase();
        if self.headers.contains(&name) {
            return Err("names the same header as another property's");
        }
        self.headers.push(name);
        Ok(())
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A token (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property(schema: &str) -> String {
        format!(r#"{{"type":"object","properties":{{"a":{schema}}}}}"#)
    }

    #[test]
    fn good_annotations_stay() {
        for schema in [
            r#"{"type":"string","x-mcp-header":"Region"}"#,
            r#"{"type":"integer","x-mcp-header":"x!#$%&'*+-.^_`|~9"}"#,
            r#"{"type":"boolean","x-mcp-header":"B"}"#,
            r#"{"type":"object","properties":{"b":{"x-mcp-header":"B","type":"string"},"c":{"type":"string","x-mcp-header":"C"}}}"#,
            // The name of a property, and values.
            r#"{"type":"object","properties":{"x-mcp-header":{"type":"string"}}}"#,
            r#"{"default":{"x-mcp-header":1},"const":{"x-mcp-header":1},"enum":[{"x-mcp-header":1}]}"#,
            r#"{"type":"string","pattern":"\\d"}"#,
        ] {
            assert_eq!(clean(&property(schema)), None, "{schema}");
        }
        assert_eq!(clean("{}"), None);
    }

    #[test]
    fn bad_annotations_are_left_out() {
        let table = [
            (r#"{"type":"string","x-mcp-header":""}"#, r#"{"type":"string"}"#),
            (r#"{"type":"string","x-mcp-header":"a b"}"#, r#"{"type":"string"}"#),
            (r#"{"type":"string","x-mcp-header":"a\r\nb"}"#, r#"{"type":"string"}"#),
            (r#"{"type":"string","x-mcp-header":"é"}"#, r#"{"type":"string"}"#),
            (r#"{"type":"string","x-mcp-header":7}"#, r#"{"type":"string"}"#),
            (r#"{"type":"string","x\u002dmcp-header":7}"#, r#"{"type":"string"}"#),
            (r#"{"type":"number","x-mcp-header":"A"}"#, r#"{"type":"number"}"#),
            (r#"{"type":["string","null"],"x-mcp-header":"A"}"#, r#"{"type":["string","null"]}"#),
            (r#"{"x-mcp-header":"A"}"#, "{}"),
            (
                r#"{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#,
                r#"{"type":"array","items":{"type":"string"}}"#,
            ),
            (
                r#"{"anyOf":[{"properties":{"b":{"type":"string","x-mcp-header":"A"}}},true]}"#,
                r#"{"anyOf":[{"properties":{"b":{"type":"string"}}},true]}"#,
            ),
            (
                r#"{"if":{"type":"string","x-mcp-header":"A"},"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}"#,
                r#"{"if":{"type":"string"},"$defs":{"d":{"type":"string"}}}"#,
            ),
        ];
        for (schema, expected) in table {
            let (cleaned, faults) = clean(&property(schema)).unwrap_or_else(|| panic!("{schema}"));
            assert_eq!(cleaned, property(expected), "{schema}");
            assert!(
                faults.iter().all(|fault| fault.contains(" of a ") || fault.contains(" of a.")),
                "{faults:?}"
            );
            assert_eq!(clean(&cleaned), None, "{schema}");
        }
        let root = r#"{"type":"object","x-mcp-header":"A","properties":{}}"#;
        assert_eq!(clean(root).unwrap().0, r#"{"type":"object","properties":{}}"#);
    }

    #[test]
    fn annotations_are_found_with_their_paths() {
        let schema = property(
            r#"{"type":"object","properties":{"b":{"type":"integer","x-mcp-header":"B"}},"items":{"type":"string","x-mcp-header":"C"}},"d":{"type":"string","x-mcp-head\u0065r":"D"},"e":true"#,
        );
        let found = annotations(&schema);
        let paths: Vec<_> =
            found.iter().map(|one| (one.path.join("."), one.header.as_ref(), one.is_integer)).collect();
        assert_eq!(paths, [("a.b".to_owned(), "B", true), ("d".to_owned(), "D", false)]);
        assert!(annotations("{}").is_empty() && annotations(&property("{}")).is_empty());
    }

    #[test]
    fn of_two_equal_names_the_first_stays() {
        let schema = r#"{"properties":{"a":{"type":"string","x-mcp-header":"Name"},"b":{"type":"string","x-mcp-header":"nAME"}}}"#;
        let (cleaned, faults) = clean(schema).unwrap();
        assert_eq!(
            cleaned,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"Name"},"b":{"type":"string"}}}"#
        );
        assert_eq!(faults.len(), 1);
        assert!(faults[0].contains(" of b "), "{faults:?}");
    }
}

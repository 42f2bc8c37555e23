//! What the room says and refuses to do; that it is right, the official suite shows
//! (`tests/json_schema.rs`).

use super::*;
use crate::jsonrpc::json::proof::random;
use crate::limits::{JSON_SCHEMA_FINDINGS_MAX, JSON_SCHEMA_INSTANCE_DEPTH_MAX};

fn compiled(schema: &str) -> Schema {
    Schema::compile(schema).unwrap_or_else(|findings| panic!("{schema}: {findings:?}"))
}

/// All findings, each as a line.
fn said(schema: &str, instance: &str) -> Vec<String> {
    compiled(schema).check(instance).iter().map(Finding::to_string).collect()
}

const ORDER: &str = r##"{
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2, "pattern": "^[A-Z]"},
        "count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10, "multipleOf": 3},
        "unit": {"enum": ["C", "F"]},
        "kind": {"const": {"a": 1}},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "uniqueItems": true},
        "pair": {"prefixItems": [{"type": "string"}, {"type": "number"}], "items": false},
        "place": {"$ref": "#/$defs/place"},
        "value": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "one": {"oneOf": [{"type": "integer"}, {"minimum": 5}]},
        "bits": {"contains": {"const": 1}, "maxContains": 2},
        "not": {"not": {"type": "string"}},
        "closed": {"properties": {"x": true}, "unevaluatedProperties": false},
        "names": {"propertyNames": {"maxLength": 2}}
    },
    "required": ["city"],
    "dependentRequired": {"count": ["unit"]},
    "additionalProperties": false,
    "$defs": {"place": {"type": "object", "required": ["a/b"], "properties": {"a/b": {"type": "boolean"}}}}
}"##;

#[test]
fn sentences_name_the_place_and_the_rule() {
    for (instance, expected) in [
        (r#"[]"#, r#"the value must be an object, but is an array (type)"#),
        (r#"{}"#, r#""city" is missing (required)"#),
        (r#"{"city":5}"#, r#""city" must be a string, but is 5 (type)"#),
        (r#"{"city":"A"}"#, r#""city" must have at least 2 characters, but has 1 (minLength)"#),
        (r#"{"city":"bern"}"#, r#""city" must match the pattern "^[A-Z]" (pattern)"#),
        (
            r#"{"city":"Bern","count":3}"#,
            r#""unit" is missing, but must be there where "count" is (dependentRequired)"#,
        ),
        (r#"{"city":"Bern","unit":"C","count":0}"#, r#""count" must be at least 1, but is 0 (minimum)"#),
        (
            r#"{"city":"Bern","unit":"C","count":12}"#,
            r#""count" must be less than 10, but is 12 (exclusiveMaximum)"#,
        ),
        (
            r#"{"city":"Bern","unit":"C","count":4}"#,
            r#""count" must be a multiple of 3, but is 4 (multipleOf)"#,
        ),
        (
            r#"{"city":"Bern","value":1.5e0}"#,
            "\"value\" fits none of the alternatives: (1) \"value\" must be an integer, but is 1.5e0; (2) \"value\" must be null, but is 1.5e0 (anyOf)",
        ),
        (r#"{"city":"Bern","unit":"K"}"#, r#""unit" must be one of "C", "F" (enum)"#),
        (r#"{"city":"Bern","kind":{"a":2}}"#, r#""kind" must be {"a": 1} (const)"#),
        (r#"{"city":"Bern","tags":["a",null]}"#, r#""tags[1]" must be a string, but is null (type)"#),
        (
            r#"{"city":"Bern","tags":["a","b","c","d"]}"#,
            r#""tags" must have at most 3 elements, but has 4 (maxItems)"#,
        ),
        (
            r#"{"city":"Bern","tags":["a","b","a"]}"#,
            r#""tags" must have no two equal elements, but "tags[0]" and "tags[2]" are (uniqueItems)"#,
        ),
        (r#"{"city":"Bern","pair":["a",1,2]}"#, r#""pair" must have at most 2 elements, but has 3 (items)"#),
        (r#"{"city":"Bern","place":{}}"#, r#""place.a/b" is missing (required)"#),
        (
            r#"{"city":"Bern","value":"x"}"#,
            r#""value" fits none of the alternatives: (1) "value" must be an integer, but is the string "x"; (2) "value" must be null, but is the string "x" (anyOf)"#,
        ),
        (
            r#"{"city":"Bern","one":7}"#,
            r#""one" must fit exactly one of the alternatives, but fits (1) and (2) (oneOf)"#,
        ),
        (
            r#"{"city":"Bern","bits":[0]}"#,
            r#""bits" must have at least 1 elements that fit "contains", but has 0 (contains)"#,
        ),
        (
            r#"{"city":"Bern","bits":[1,1,1]}"#,
            r#""bits" must have at most 2 elements that fit "contains", but has 3 (maxContains)"#,
        ),
        (r#"{"city":"Bern","not":"a"}"#, r#""not" must not fit the schema under "not" (not)"#),
        (
            r#"{"city":"Bern","closed":{"x":1,"y":2}}"#,
            r#""closed.y" is not a known name here (unevaluatedProperties)"#,
        ),
        (
            r#"{"city":"Bern","names":{"abc":2}}"#,
            r#"the name "abc" must have at most 2 characters, but has 3 (maxLength)"#,
        ),
        (
            r#"{"city":"Bern","town":1}"#,
            r#""town" is not a known name here; known are "bits", "city", "closed", "count", "kind", "names", "not", "one", "pair", "place", "tags", "unit", … (additionalProperties)"#,
        ),
    ] {
        assert_eq!(said(ORDER, instance), [expected], "{instance}");
    }
    assert_eq!(
        said(ORDER, r#"{"city":"Bern","count":3,"unit":"C","tags":[],"value":null}"#),
        [] as [&str; 0]
    );
    assert_eq!(said("false", "1"), ["the value is not allowed (false)"]);
    assert_eq!(said("{}", "nope"), ["the value is not JSON"]);
    let all = said(ORDER, r#"{"count":0,"town":1,"tags":[1,2]}"#);
    assert_eq!(all.len(), 6, "{all:?}");
}

#[test]
fn findings_say_where() {
    let schema = compiled(ORDER);
    let findings = schema.check(r#"{"city":"Bern","place":{"a/b":1}}"#);
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(finding.instance, "/place/a~1b");
    assert_eq!(finding.schema, "/$defs/place/properties/a~1b/type");
    assert_eq!(finding.rule, "type");
    let meta = compiled(r#"{"$ref":"http://json-schema.org/draft-07/schema#"}"#);
    let findings = meta.check(r#"{"minLength":-1}"#);
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(
        finding.schema,
        "http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger/minimum"
    );
}

#[test]
fn what_is_wrong_with_a_schema() {
    for (schema, instance, rule, words) in [
        ("nope", "", "", "is not JSON"),
        ("[]", "", "type", "must be a boolean or an object"),
        (r#"{"type":"objekt"}"#, "/type", "anyOf", "\"type\" fits none"),
        (
            r#"{"properties":{"a":{"minLength":"1"}}}"#,
            "/properties/a/minLength",
            "type",
            "\"properties.a.minLength\" must be an integer",
        ),
        (r#"{"items":[{}]}"#, "/items", "type", "\"items\" must be a boolean or an object"),
        (r#"{"properties":{"a":{"required":true}}}"#, "/properties/a/required", "type", "must be an array"),
        (
            r#"{"$schema":"http://json-schema.org/draft-04/schema#"}"#,
            "",
            "$schema",
            "draft-04/schema#\"; only",
        ),
        (r##"{"$ref":"#/$defs/x"}"##, "/$ref", "$ref", "nothing is there"),
        (
            r##"{"properties":{"a":{"$ref":"#x"}}}"##,
            "/properties/a/$ref",
            "$ref",
            "\"properties.a\" refers to \"#x\", but no schema has that anchor",
        ),
        (r#"{"$ref":"https://example.com/a"}"#, "/$ref", "$ref", "nothing is ever fetched"),
        (
            r#"{"$id":"https://example.com/a","items":{"$ref":"b"}}"#,
            "/items/$ref",
            "$ref",
            "\"https://example.com/b\"",
        ),
        (r##"{"$ref":"#/x","x":7}"##, "/x", "", "neither object nor boolean"),
        (
            r#"{"properties":{"a":{"pattern":"(?=a)"}}}"#,
            "/properties/a/pattern",
            "pattern",
            "\"properties.a\" has the pattern \"(?=a)\", which cannot be checked",
        ),
        (r#"{"patternProperties":{"[":{}}}"#, "/patternProperties", "patternProperties", "cannot be checked"),
    ] {
        let findings = Schema::compile(schema).expect_err(schema);
        let [finding] = findings.as_slice() else { panic!("{schema}: {findings:?}") };
        assert_eq!((finding.instance.as_str(), finding.rule), (instance, rule), "{schema}");
        assert!(finding.message.contains(words), "{schema}: {finding}");
    }
    // The same texts in the other draft, where they mean something or nothing.
    for schema in
        [r#"{"items":[{}]}"#, r##"{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}]}"##]
    {
        assert!(Schema::compile_with(schema, Draft::Draft7, &[]).is_ok(), "{schema}");
    }
}

#[test]
fn the_meta_schemas_fit_themselves() {
    for draft in Draft::ALL {
        let reference = format!(r#"{{"$ref":"{}"}}"#, draft.uri());
        let schema = Schema::compile_with(&reference, draft, &[]).unwrap();
        let (_, text, _) = meta::document_of(draft.uri()).unwrap();
        assert_eq!(schema.check(text), []);
        assert!(Schema::compile(text).is_ok());
        assert_ne!(schema.check(r#"{"properties":{"a":{"enum":1}}}"#), []);
    }
}

#[test]
fn time_and_depth_are_bounded() {
    let too_much = ["the value is too large or too deep to be checked against its schema"];
    // A reference to itself.
    assert_eq!(said(r##"{"$ref":"#"}"##, "1"), too_much);
    assert_eq!(said(r##"{"not":{"$ref":"#"}}"##, "1"), too_much);
    // Alternatives in alternatives.
    let levels: Vec<String> = (0..40)
        .map(|level| {
            format!(
                r##""l{level}":{{"anyOf":[{{"$ref":"#/$defs/l{0}"}},{{"$ref":"#/$defs/l{0}"}}]}}"##,
                level + 1
            )
        })
        .collect();
    let schema =
        format!(r##"{{"$ref":"#/$defs/l0","$defs":{{{},"l40":{{"type":"null"}}}}}}"##, levels.join(","));
    assert_eq!(said(&schema, "1"), too_much);
    assert_eq!(said(&schema, "null"), [] as [&str; 0]);
    // One that is as deep as a value may be.
    let tree = r##"{"$ref":"#/$defs/node","$defs":{"node":{"allOf":[{"properties":{"next":{"$ref":"#/$defs/node"}}}]}}}"##;
    let deep =
        |levels: usize, leaf: &str| format!("{}{leaf}{}", r#"{"next":"#.repeat(levels), "}".repeat(levels));
    assert_eq!(said(tree, &deep(JSON_SCHEMA_INSTANCE_DEPTH_MAX, "1")), [] as [&str; 0]);
    assert_eq!(
        said(tree, &deep(JSON_SCHEMA_INSTANCE_DEPTH_MAX + 1, "1")),
        ["the value is nested too deeply to be checked"]
    );
    // Schemas within schemas.
    let nested = format!("{}true{}", r#"{"not":"#.repeat(120), "}".repeat(120));
    assert_eq!(said(&nested, "1"), [] as [&str; 0]);
    assert!(Schema::compile(&format!("{}true{}", r#"{"not":"#.repeat(1000), "}".repeat(1000))).is_err());
    // Many faults.
    let many = format!("[{}1]", "1,".repeat(1000));
    assert_eq!(said(r#"{"items":{"type":"string"}}"#, &many).len(), JSON_SCHEMA_FINDINGS_MAX);
}

#[test]
fn strings_are_read_as_what_they_hold_where_something_else_is_asked_for() {
    let schema = compiled(
        r##"{"properties":{
            "n": {"type":"integer"}, "f": {"type":"number"}, "b": {"type":"boolean"}, "s": {"type":"string"},
            "a": {"type":"array","items":{"type":"integer"}}, "o": {"type":"object","properties":{"x":{"type":"integer"}}},
            "m": {"anyOf":[{"type":"integer"},{"type":"null"}]}, "v": {"anyOf":[{"type":"integer"},{"type":"string"}]},
            "t": {"type":["integer","string"]}, "any": {}
        },"required":[]}"##,
    );
    for (given, taken) in [
        (r#"{"n":"5"}"#, r#"{"n":5}"#),
        (r#"{ "n" : " -5 " , "f":"2.50", "b":"true" }"#, r#"{ "n" : -5 , "f":2.50, "b":true }"#),
        (r#"{"a":"[1, 2]"}"#, r#"{"a":[1, 2]}"#),
        (r#"{"a":"[\"1\",2]"}"#, r#"{"a":[1,2]}"#),
        (r#"{"a":["1","2"]}"#, r#"{"a":[1,2]}"#),
        (r#"{"o":"{\"x\":\"7\"}"}"#, r#"{"o":{"x":7}}"#),
        (r#"{"m":"5"}"#, r#"{"m":5}"#),
        (r#"{"m":"null"}"#, r#"{"m":null}"#),
        // Where a string is right, it stays one.
        (r#"{"s":"5","v":"5","t":"5","any":"[1]"}"#, r#"{"s":"5","v":"5","t":"5","any":"[1]"}"#),
        (r#"{"n":"5","v":"5","any":"5"}"#, r#"{"n":5,"v":"5","any":"5"}"#),
    ] {
        assert_eq!(schema.read_spelled(given).as_deref(), Ok(taken), "{given}");
    }
    for (given, words) in [
        (r#"{"n":"five"}"#, "\"n\" must be an integer, but is the string \"five\""),
        (r#"{"n":"5.5"}"#, "\"n\" must be an integer, but is the string \"5.5\""),
        (r#"{"n":""}"#, "\"n\" must be an integer"),
        (r#"{"a":"[1,true]"}"#, "\"a[1]\" must be an integer, but is true"),
        (r#"{"a":"{}"}"#, "\"a\" must be an array, but is the string \"{}\""),
        (r#"{"n":"\"5\""}"#, "\"n\" must be an integer"),
        (r#"{"b":"True"}"#, "\"b\" must be a boolean"),
        (r#"{"s":5}"#, "\"s\" must be a string, but is 5"),
    ] {
        let findings = schema.read_spelled(given).expect_err(given);
        assert!(findings[0].message.starts_with(words), "{given}: {findings:?}");
    }
    assert!(matches!(schema.read_spelled(r#"{"n":5}"#), Ok(std::borrow::Cow::Borrowed(_))));
}

#[test]
fn where_there_is_nothing_to_check() {
    for (schema, expected) in [
        ("true", true),
        ("{}", true),
        (r#"{"type":"object"}"#, true),
        (r#"{"type":["object","null"],"description":"x","additionalProperties":true}"#, true),
        (r#"{"type":"object","properties":{"a":{"title":"A"}},"required":[]}"#, true),
        (r#"{"type":"object","properties":{"a":{"type":"string"}}}"#, false),
        (r#"{"type":"object","required":["a"]}"#, false),
        (r#"{"type":"object","additionalProperties":false}"#, false),
        (r#"{"type":"array"}"#, false),
        (r#"{"minProperties":1}"#, false),
        ("false", false),
    ] {
        assert_eq!(compiled(schema).takes_any_object(), expected, "{schema}");
    }
}

/// Words that make schemas, nearly schemas, and values.
const WORDS: [&str; 34] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "{",
    "}",
    "1",
    "-0.5",
    "1e9",
    "true",
    "false",
    "null",
    "\"a\"",
    "\"\\u0061\"",
    "\"type\"",
    "\"object\"",
    "\"properties\"",
    "\"items\"",
    "\"$ref\"",
    "\"#\"",
    "\"#/properties/a\"",
    "\"not\"",
    "\"anyOf\"",
    "\"$id\"",
    "\"$defs\"",
    "\"required\"",
    "\"unevaluatedProperties\"",
    "\"$dynamicRef\"",
    "\"pattern\"",
    "\"^a\"",
    "\"if\"",
    "\"minLength\"",
];

#[test]
fn no_text_makes_it_panic() {
    let mut seed = 5;
    let mut text = |length: usize| -> String {
        (0..1 + random(&mut seed, length)).map(|_| WORDS[random(&mut seed, WORDS.len())]).collect()
    };
    for _ in 0..20_000 {
        let schema = text(12);
        if let Ok(schema) = compile::compile(&schema, Draft::Draft2020, &[], false) {
            schema.check(&text(6));
            let _ = schema.read_spelled(&text(6));
        }
        // Those that are schemas are many more with a frame around them.
        let framed =
            format!(r#"{{"properties":{{"a":{schema}}},{}:{}}}"#, text(1), text(8), schema = text(5));
        if let Ok(schema) = compile::compile(&framed, Draft::Draft7, &[], false) {
            let _ = schema.read_spelled(&format!(r#"{{"a":{}}}"#, text(5)));
        }
    }
}

//! Messages of the tool-side wire, as bytes and as JSON, for SDKs that write their protobuf by
//! hand: `sdk/vectors.jsonl`, one JSON object a line.
//!
//! - `message`: its name in `proto/protomcp.proto`
//! - `hex`: its bytes, as the generated code writes them
//! - `json`: its fields that are not the default, by their proto names; bytes as hex, 64-bit
//!   integers as decimal text
//! - `only`: "decode" where no encoder writes such bytes
//! - `error`: true in place of `json` where nobody may read them
//!
//! What a field is comes from the proto file itself; the generated code has to read every line and
//! to write the same bytes again. `PMCP_WRITE_VECTORS=1` writes the file.

use std::collections::BTreeMap;
use std::path::Path;

use pmcp_bridge::wire::protomcp::*;
use prost::Message as _;
use serde_json::{Map, Value, json};

/// A field of a message.
struct Field {
    number: u64,
    name: String,
    kind: String,
    is_repeated: bool,
    in_oneof: bool,
}

/// All messages, each with its fields in the order in which prost writes them.
fn schema() -> BTreeMap<String, Vec<Field>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto/protomcp.proto");
    let mut messages: BTreeMap<String, Vec<Field>> = BTreeMap::new();
    let mut current = String::new();
    let mut in_oneof = false;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let line = line.split("//").next().unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["message", name, ..] => {
                current = name.to_string();
                messages.insert(current.clone(), Vec::new());
            }
            ["oneof", ..] => in_oneof = true,
            ["}"] => in_oneof = false,
            [.., kind, name, "=", number] if number.ends_with(';') => {
                messages.get_mut(&current).unwrap().push(Field {
                    number: number.trim_end_matches(';').parse().unwrap(),
                    name: name.to_string(),
                    kind: kind.to_string(),
                    is_repeated: words[0] == "repeated",
                    in_oneof,
                });
            }
            _ => {}
        }
    }
    for fields in messages.values_mut() {
        // A oneof as a whole stands where its lowest number would.
        let first = fields.iter().filter(|field| field.in_oneof).map(|field| field.number).min();
        fields.sort_by_key(|field| (first.filter(|_| field.in_oneof).unwrap_or(field.number), field.number));
    }
    messages
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The bytes of a message from its JSON.
fn encode(schema: &BTreeMap<String, Vec<Field>>, name: &str, json: &Map<String, Value>) -> Vec<u8> {
    let mut out = Vec::new();
    for field in &schema[name] {
        let Some(value) = json.get(&field.name) else { continue };
        let values = if field.is_repeated { value.as_array().unwrap().clone() } else { vec![value.clone()] };
        for value in values {
            let number = |value: &Value| match value {
                Value::String(text) => text.parse::<i128>().unwrap() as u64,
                Value::Bool(flag) => u64::from(*flag),
                number => number.as_i64().unwrap() as u64,
            };
            let bytes = match field.kind.as_str() {
                "string" => value.as_str().unwrap().as_bytes().to_vec(),
                "bytes" => unhex(value.as_str().unwrap()),
                "bool" | "int32" | "uint32" | "int64" | "uint64" => {
                    varint(&mut out, field.number << 3);
                    varint(&mut out, number(&value));
                    continue;
                }
                message => encode(schema, message, value.as_object().unwrap()),
            };
            varint(&mut out, field.number << 3 | 2);
            varint(&mut out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
        }
    }
    out
}

/// A value for a field that is unlike that of every other field.
fn sample(schema: &BTreeMap<String, Vec<Field>>, field: &Field, turn: u64) -> Value {
    let number = field.number * 3 + turn;
    match field.kind.as_str() {
        "string" => format!("{} {number} ✓", field.name).into(),
        "bytes" => hex(&[0, number as u8, 255]).into(),
        "bool" => true.into(),
        "int32" => (-(number as i64)).into(),
        "uint32" => (number * 1000).into(),
        "int64" => format!("-{}", number * 10_000_000_000).into(),
        "uint64" => format!("{}", number * 10_000_000_000).into(),
        message => full(schema, message, 0).into(),
    }
}

/// A message with every field set; of a oneof, the member in this place.
fn full(schema: &BTreeMap<String, Vec<Field>>, name: &str, member: usize) -> Map<String, Value> {
    let mut json = Map::new();
    let mut members = 0;
    for field in &schema[name] {
        if field.in_oneof {
            members += 1;
            if members - 1 != member {
                continue;
            }
        }
        let value = sample(schema, field, 0);
        let value = if field.is_repeated { json!([value, sample(schema, field, 1)]) } else { value };
        json.insert(field.name.clone(), value);
    }
    json
}

/// What the generated code makes of bytes: the same bytes if they are in order.
fn again(name: &str, bytes: &[u8]) -> Result<Vec<u8>, prost::DecodeError> {
    macro_rules! messages {
        ($($message:ident)*) => {
            match name {
                $(stringify!($message) => $message::decode(bytes).map(|it| it.encode_to_vec()),)*
                other => panic!("{other} is missing in this list"),
            }
        };
    }
    messages! {
        Envelope ReloadRequest ReloadResponse ListToolsRequest SaveState RestoreState ToolListResponse
        ToolDefinition CallToolRequest CallToolResponse ToolError EnableToolsRequest DisableToolsRequest
        SetAllowedRequest SetBlockedRequest GetActiveToolsRequest BatchUpdateRequest ActiveToolsResponse
        ProgressNotification CancelRequest LogMessage CreateTaskResponse TaskStatusRequest
        TaskStatusResponse TaskResultRequest TaskCancelRequest RegisterMiddlewareRequest
        RegisterMiddlewareResponse MiddlewareInterceptRequest MiddlewareInterceptResponse StreamHeader
        StreamChunk RawHeader ListResourcesRequest ResourceDefinition ResourceListResponse
        ListResourceTemplatesRequest ResourceTemplateDefinition ResourceTemplateListResponse
        ReadResourceRequest ResourceContent ReadResourceResponse ResourceChangedNotification
        ListPromptsRequest PromptArgument PromptDefinition PromptListResponse GetPromptRequest
        PromptMessage GetPromptResponse CompletionRequest CompletionResponse SamplingRequest
        SamplingResponse ListRootsRequest RootDef ListRootsResponse ElicitRequest ElicitResponse
        InputRequired InputQuestion InputGiven InputAnswer
    }
}

/// Bytes in another order than any encoder writes, or more of them, and what they mean.
const LENIENT: &[(&str, &str, &str)] = &[
    ("RootDef", "12016e0a0175", r#"{"uri":"u","name":"n"}"#),
    ("RootDef", "0a0161 0a0162", r#"{"uri":"b"}"#),
    // Unknown fields of every wire type, groups in groups among them.
    ("RootDef", "1807 0a0175 2101 02030405060708 2a02ffff 3501020304", r#"{"uri":"u"}"#),
    ("RootDef", "0a0175 1b 0801 1b 1c 1c", r#"{"uri":"u"}"#),
    ("CancelRequest", "0a8180808000 61", r#"{"request_id":"a"}"#),
    ("ReloadResponse", "0802", r#"{"success":true}"#),
    ("ReloadResponse", "088080808010", r#"{"success":true}"#),
    ("RegisterMiddlewareRequest", "10ffffffff0f", r#"{"priority":-1}"#),
    ("CompletionResponse", "10ffffffffffffffffff01 1800", r#"{"total":-1}"#),
    // A message that comes twice is one message.
    ("CallToolResponse", "2a030a0161 2a0312016d", r#"{"error":{"error_code":"a","message":"m"}}"#),
    ("Envelope", "1a030a0161 1a04 1202 7b7d", r#"{"call_tool":{"name":"a","arguments_json":"{}"}}"#),
    ("Envelope", "1a030a0161 1200 720137", r#"{"list_tools":{},"request_id":"7"}"#),
    ("InputAnswer", "0a016b 1200 2200", r#"{"key":"k","roots":{}}"#),
];

/// What nobody may take for a message.
const BROKEN: &[(&str, &str)] = &[
    ("RootDef", "0a"),
    ("RootDef", "0a02"),
    ("RootDef", "0a0261"),
    ("RootDef", "0affffffff0f"),
    ("RootDef", "0affffffffffffffffff01"),
    // More than 64 bits, and a number that does not end.
    ("ReloadResponse", "08ffffffffffffffffff02"),
    ("ReloadResponse", "08ffffffffffffffffffff01"),
    ("ReloadResponse", "08ff"),
    // Known fields of another wire type.
    ("RootDef", "0801"),
    ("RootDef", "0d01020304"),
    ("ReloadResponse", "0a0161"),
    ("ToolListResponse", "0801"),
    // A number that no field can have, wire types that do not exist, groups that do not end.
    ("RootDef", "0201 61"),
    ("RootDef", "1e"),
    ("RootDef", "1b"),
    ("RootDef", "1c"),
    ("RootDef", "1b 24"),
    ("RootDef", "2101"),
    ("RootDef", "3501"),
    ("Envelope", "1a050a0161"),
];

fn vectors() -> String {
    let schema = schema();
    let mut lines = Vec::new();
    let mut written = |name: &str, json: Map<String, Value>| {
        let bytes = encode(&schema, name, &json);
        assert_eq!(hex(&again(name, &bytes).unwrap()), hex(&bytes), "{name}: {json:?}");
        lines.push(json!({"message": name, "hex": hex(&bytes), "json": json}));
    };
    for (name, fields) in &schema {
        written(name, Map::new());
        let members = fields.iter().filter(|field| field.in_oneof).count();
        for member in 0..members.max(1) {
            written(name, full(&schema, name, member));
        }
        // What a oneof or a list holds is written even if it is empty.
        for field in fields.iter().filter(|field| field.in_oneof) {
            written(name, Map::from_iter([(field.name.clone(), json!({}))]));
        }
        for field in fields.iter().filter(|field| field.is_repeated) {
            let nothing = if field.kind == "string" { json!("") } else { json!({}) };
            written(name, Map::from_iter([(field.name.clone(), json!([nothing, nothing]))]));
        }
    }
    for number in
        ["1", "127", "128", "-1", "9007199254740991", "9007199254740993", "-9007199254740993", "4294967296"]
    {
        written("ProgressNotification", Map::from_iter([("progress".to_string(), json!(number))]));
    }
    for (progress, total) in [(i64::MAX, i64::MIN), (i64::from(i32::MAX), i64::from(i32::MIN))] {
        let pair = json!({"progress": progress.to_string(), "total": total.to_string()});
        written("TaskStatusResponse", pair.as_object().unwrap().clone());
    }
    for number in [u64::MAX, 1 << 63, (1 << 53) + 1] {
        written("RawHeader", Map::from_iter([("size".to_string(), json!(number.to_string()))]));
    }
    for number in [i32::MIN, i32::MAX, -1] {
        written("ToolError", Map::from_iter([("rpc_code".to_string(), json!(number))]));
    }
    written("StreamHeader", Map::from_iter([("chunk_size".to_string(), json!(u32::MAX))]));
    for text in ["\u{0}", "é", "漢字", "😀", &"x".repeat(127), &"x".repeat(128), &"é".repeat(300)] {
        written("CancelRequest", Map::from_iter([("request_id".to_string(), json!(text))]));
    }
    for (name, bytes, json) in LENIENT {
        let bytes = unhex(&bytes.replace(' ', ""));
        let json: Value = serde_json::from_str(json).unwrap();
        let expected = encode(&schema, name, json.as_object().unwrap());
        assert_eq!(hex(&again(name, &bytes).unwrap()), hex(&expected), "{name} {}", hex(&bytes));
        lines.push(json!({"message": name, "hex": hex(&bytes), "json": json, "only": "decode"}));
    }
    for (name, bytes) in BROKEN {
        let bytes = unhex(&bytes.replace(' ', ""));
        assert!(again(name, &bytes).is_err(), "{name} {}", hex(&bytes));
        lines.push(json!({"message": name, "hex": hex(&bytes), "error": true}));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_vectors_are_what_the_generated_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/vectors.jsonl");
    let vectors = vectors();
    if std::env::var_os("PMCP_WRITE_VECTORS").is_some() {
        std::fs::write(&path, vectors).unwrap();
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap();
    assert!(there == vectors, "{} is out of date: PMCP_WRITE_VECTORS=1 writes it anew", path.display());
}

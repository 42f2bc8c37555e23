//! Tools that answer at once: each kind of content, errors, schemas.

use pmcp_bridge::sdk::{Arg, Content, Server, ToolResult, json, tool};

use crate::{PNG, WAV};

/// JSON Schema 2020-12 with more in it than the SDK's own builder writes; hosts get it verbatim.
const CONTACT_SCHEMA: &str = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"}
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": false
}"##;

pub(crate) fn add(server: Server) -> Server {
    server
        .tool(
            tool("test_simple_text")
                .description("Answer with a text")
                .read_only_hint(true)
                .handler(|_, _| Ok("This is a simple text response for testing.")),
        )
        .tool(
            tool("test_image_content")
                .description("Answer with a picture")
                .handler(|_, _| Ok(ToolResult::new().image(PNG, "image/png"))),
        )
        .tool(
            tool("test_audio_content")
                .description("Answer with a sound")
                .handler(|_, _| Ok(ToolResult::new().audio(WAV, "audio/wav"))),
        )
        .tool(tool("test_embedded_resource").description("Answer with a resource").handler(|_, _| {
            let text = "This is an embedded resource content.";
            Ok(Content::embedded_text("test://embedded-resource", "text/plain", text))
        }))
        .tool(tool("test_multiple_content_types").description("Answer with several things").handler(
            |_, _| {
                let data = json!({"test": "data", "value": 123}).to_string();
                let resource =
                    Content::embedded_text("test://mixed-content-resource", "application/json", &data);
                Ok(ToolResult::new()
                    .text("Multiple content types test:")
                    .image(PNG, "image/png")
                    .content(resource))
            },
        ))
        .tool(tool("test_error_handling").description("Fail").handler(|_, _| {
            Ok(ToolResult::new().text("This tool intentionally returns an error for testing").error())
        }))
        .tool(
            tool("json_schema_2020_12_tool")
                .description("Take arguments of a schema with everything in it")
                .input_schema(CONTACT_SCHEMA)
                .handler(|_, args| Ok(format!("Got {}", args.value()?))),
        )
        .tool(
            tool("test_custom_header")
                .description("Take an argument that HTTP hosts also send as a header")
                .argument(
                    Arg::new::<String>("value")
                        .description("Comes in the header Mcp-Param-Value as well")
                        .keyword("x-mcp-header", "Value"),
                )
                .handler(|_, args| args.get::<String>("value")),
        )
}

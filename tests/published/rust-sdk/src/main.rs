//! A tool process written with the published Rust SDK as its documentation shows.

use std::collections::HashMap;

use protomcp::completion::{register_completion, CompletionResult};
use protomcp::prompt::{register_prompt, PromptArg, PromptDef, PromptMessage};
use protomcp::resource::{
    register_resource, register_resource_template, ResourceContent, ResourceDef,
    ResourceTemplateDef,
};
use protomcp::{middleware, tool, ArgDef, ToolResult};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    tool("add")
        .description("Adds two numbers")
        .arg(ArgDef::int("a"))
        .arg(ArgDef::int("b"))
        .read_only_hint(true)
        .handler(|_, arguments| {
            let number = |name: &str| arguments[name].as_i64().unwrap_or(0);
            ToolResult::new((number("a") + number("b")).to_string())
        })
        .register();
    tool("echo")
        .description("Gives back its text")
        .arg(ArgDef::string("text"))
        .handler(|_, arguments| ToolResult::new(arguments["text"].as_str().unwrap_or("")))
        .register();
    tool("big")
        .description("Repeats one letter")
        .arg(ArgDef::int("size"))
        .handler(|_, arguments| {
            ToolResult::new("x".repeat(arguments["size"].as_u64().unwrap_or(0) as usize))
        })
        .register();
    tool("fail")
        .description("Fails with everything that an error can say")
        .handler(|_, _| {
            ToolResult::error("There is no user 7", "NOT_FOUND", "List the users first", true)
        })
        .register();
    tool("swap")
        .description("Hides itself")
        .handler(|_, _| {
            let mut result = ToolResult::new("swapped");
            result.disable_tools = vec!["swap".to_string()];
            result
        })
        .register();
    tool("guarded")
        .description("Goes through the middleware")
        .arg(ArgDef::string("word"))
        .handler(|_, arguments| ToolResult::new(arguments["word"].as_str().unwrap_or("")))
        .register();

    middleware("upper", 10, |phase, tool_name, arguments, result, _| {
        let mut answer = HashMap::new();
        if tool_name != "guarded" {
            return answer;
        }
        if phase == "before" && arguments.contains("forbidden") {
            answer.insert("reject".to_string(), "true".to_string());
            answer.insert("reject_reason".to_string(), "that word is forbidden".to_string());
        } else if phase == "before" {
            answer.insert("arguments_json".to_string(), arguments.replace("quiet", "LOUD"));
        } else {
            answer.insert("result_json".to_string(), result.replace("LOUD", "VERY LOUD"));
        }
        answer
    });

    register_resource(ResourceDef {
        uri: "test://static".to_string(),
        name: "static".to_string(),
        description: "A text".to_string(),
        mime_type: "text/plain".to_string(),
        handler: Box::new(|uri| vec![ResourceContent::text(uri, "static text")]),
    });
    register_resource_template(ResourceTemplateDef {
        uri_template: "note://{id}".to_string(),
        name: "note".to_string(),
        description: "One note".to_string(),
        mime_type: "text/plain".to_string(),
        handler: Box::new(|uri| vec![ResourceContent::text(uri, &format!("note {}", &uri[7..]))]),
    });
    register_prompt(PromptDef {
        name: "greet".to_string(),
        description: "Greets".to_string(),
        arguments: vec![PromptArg {
            name: "name".to_string(),
            description: "Whom".to_string(),
            required: true,
        }],
        handler: Box::new(|arguments| {
            vec![PromptMessage {
                role: "user".to_string(),
                content: format!("Greet {}", arguments["name"].as_str().unwrap_or("?")),
            }]
        }),
    });
    register_completion(
        "ref/prompt",
        "greet",
        "name",
        Box::new(|_| CompletionResult {
            values: vec!["Ada".to_string(), "Alan".to_string()],
            total: 2,
            has_more: false,
        }),
    );

    protomcp::run().await;
}

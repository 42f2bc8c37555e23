//! Tools that answer with their questions and are called again: between two calls this process
//! remembers nothing, so that it may be another process that gets the answers.

use std::str::from_utf8;

use pmcp_bridge::sdk::{Elicitation, Field, InputRequired, Sampling, Server, ToolResult, tool};

pub(crate) fn add(server: Server) -> Server {
    server
        .tool(tool("test_input_required_result_elicitation").description("Ask who is there").handler(
            |ctx, _| match ctx.input().elicited("user_name") {
                Some(answer) => Ok(hello(&answer?.get::<String>("name")?)),
                None => Ok(InputRequired::new().elicit("user_name", name()).into()),
            },
        ))
        .tool(tool("test_input_required_result_sampling").description("Ask the host's model").handler(
            |ctx, _| match ctx.input().sampled("capital_question") {
                Some(answer) => Ok(ToolResult::from(answer?.text())),
                None => {
                    let question = Sampling::new().user("What is the capital of France?").max_tokens(100);
                    Ok(InputRequired::new().sample("capital_question", question).into())
                }
            },
        ))
        .tool(tool("test_input_required_result_list_roots").description("Ask for the host's roots").handler(
            |ctx, _| match ctx.input().roots("client_roots") {
                Some(roots) => {
                    let uris: Vec<String> = roots?.into_iter().map(|root| root.uri).collect();
                    Ok(ToolResult::from(uris.join("\n")))
                }
                None => Ok(InputRequired::new().roots("client_roots").into()),
            },
        ))
        .tool(
            tool("test_input_required_result_request_state")
                .description("Remember something while asking")
                .handler(|ctx, _| {
                    let Some(answer) = ctx.input().elicited("confirm") else {
                        return Ok(InputRequired::new()
                            .elicit("confirm", confirm())
                            .state("state-ok")
                            .into());
                    };
                    let state = from_utf8(ctx.input().state())?.to_owned();
                    Ok(ToolResult::from(format!("{state}: {}", answer?.get::<bool>("ok")?)))
                }),
        )
        .tool(
            tool("test_input_required_result_tampered_state")
                .description("Remember something that nobody may change")
                .handler(|ctx, _| match ctx.input().elicited("confirm") {
                    Some(answer) => Ok(ToolResult::from(answer?.get::<bool>("ok")?)),
                    None => Ok(InputRequired::new().elicit("confirm", confirm()).state("untouched").into()),
                }),
        )
        .tool(
            tool("test_input_required_result_multiple_inputs")
                .description("Ask several things at once")
                .handler(|ctx, _| {
                    let input = ctx.input();
                    let (Some(answer), Some(greeting), Some(roots)) =
                        (input.elicited("user_name"), input.sampled("greeting"), input.roots("client_roots"))
                    else {
                        let greeting = Sampling::new().user("Generate a greeting").max_tokens(50);
                        let questions = InputRequired::new()
                            .elicit("user_name", name())
                            .sample("greeting", greeting)
                            .roots("client_roots");
                        return Ok(questions.state("asked").into());
                    };
                    let (name, greeting, roots) = (answer?.get::<String>("name")?, greeting?, roots?);
                    Ok(ToolResult::from(format!("{} {name}, {} roots", greeting.text(), roots.len())))
                }),
        )
        .tool(
            tool("test_input_required_result_multi_round")
                .description("Ask one thing after the other")
                .handler(|ctx, _| {
                    if let Some(answer) = ctx.input().elicited("step1") {
                        let question = Elicitation::form("Step 2: What is your favorite color?")
                            .field(Field::text("color"));
                        let name: String = answer?.get("name")?;
                        return Ok(InputRequired::new().elicit("step2", question).state(name).into());
                    }
                    if let Some(answer) = ctx.input().elicited("step2") {
                        let name = from_utf8(ctx.input().state())?.to_owned();
                        return Ok(ToolResult::from(format!("{name}: {}", answer?.get::<String>("color")?)));
                    }
                    let question = Elicitation::form("Step 1: What is your name?").field(Field::text("name"));
                    Ok(InputRequired::new().elicit("step1", question).state("begun").into())
                }),
        )
}

fn name() -> Elicitation {
    Elicitation::form("What is your name?").field(Field::text("name"))
}

fn confirm() -> Elicitation {
    Elicitation::form("Please confirm").field(Field::boolean("ok"))
}

fn hello(name: &str) -> ToolResult {
    ToolResult::from(format!("Hello, {name}!"))
}

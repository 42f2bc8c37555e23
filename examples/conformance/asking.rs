//! Tools that ask the host and wait for the answer.

use pmcp_bridge::sdk::{Elicitation, Elicited, Field, Sampling, Server, json, tool};

pub(crate) fn add(server: Server) -> Server {
    server
        .tool(
            tool("test_sampling")
                .description("Have the host's model answer")
                .arg::<String>("prompt", "What to ask it")
                .handler(|ctx, args| {
                    let question = Sampling::new().user(args.get::<String>("prompt")?).max_tokens(100);
                    Ok(format!("LLM response: {}", ctx.sample(question)?.text()))
                }),
        )
        .tool(
            tool("test_elicitation")
                .description("Ask the host's user")
                .arg::<String>("message", "What to ask")
                .handler(|ctx, args| {
                    let form = Elicitation::form(args.get::<String>("message")?)
                        .field(Field::text("username").description("User's name"))
                        .field(Field::text("email").description("User's email address"));
                    Ok(format!("User response: {}", told(&ctx.elicit(form)?)))
                }),
        )
        .tool(
            tool("test_elicitation_sep1034_defaults")
                .description("Ask with a form that is filled in already")
                .handler(|ctx, _| {
                    let form = Elicitation::form("Please review what is filled in")
                        .field(Field::text("name").description("User's name").default("John Doe"))
                        .field(Field::integer("age").description("User's age").default(30))
                        .field(Field::number("score").description("User's score").default(95.5))
                        .field(
                            Field::choice("status", ["active", "inactive", "pending"])
                                .description("User's status")
                                .default("active"),
                        )
                        .field(Field::boolean("verified").description("Is it true?").default(true));
                    Ok(format!("Elicitation completed: {}", told(&ctx.elicit(form)?)))
                }),
        )
        .tool(tool("test_elicitation_sep1330_enums").description("Ask for choices of every kind").handler(
            |ctx, _| {
                let plain = ["option1", "option2", "option3"];
                let titled =
                    [("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")];
                let names = json!(["Option One", "Option Two", "Option Three"]);
                let form = Elicitation::form("Please choose")
                    .field(Field::choice("untitledSingle", plain).optional())
                    .field(Field::choice("titledSingle", titled).optional())
                    .field(Field::choice("legacyEnum", plain).keyword("enumNames", names).optional())
                    .field(Field::choices("untitledMulti", plain).optional())
                    .field(Field::choices("titledMulti", titled).optional());
                Ok(format!("Elicitation completed: {}", told(&ctx.elicit(form)?)))
            },
        ))
        .tool(
            tool("test_missing_capability")
                .description("Needs a host with a model")
                .handler(|ctx, _| Ok(ctx.sample("Are you there?")?.text())),
        )
        .tool(tool("test_streaming_elicitation").description("Tell how far it is, then ask").handler(
            |ctx, _| {
                ctx.progress(1, 2, "about to ask");
                let goes_on = ctx.elicit("Shall it go on?")?.accepted();
                Ok(if goes_on { "It went on." } else { "It stopped." })
            },
        ))
        .tool(
            tool("test_input_required_result_capabilities")
                .description("Ask whom the host can ask: its user, or else its model")
                .handler(|ctx, _| match ctx.elicit("What is your name?") {
                    Ok(answer) => Ok(told(&answer)),
                    Err(error) if error.code() == "MISSING_CAPABILITY" => {
                        Ok(ctx.sample(Sampling::new().user("Who are you?").max_tokens(50))?.text())
                    }
                    Err(error) => Err(error),
                }),
        )
}

fn told(answer: &Elicited) -> String {
    format!("action={}, content={}", answer.action.as_str(), answer.content_json)
}

//! What there is beside tools: resources, prompts, completions.

use pmcp_bridge::sdk::{
    Content, Elicitation, Field, InputRequired, Messages, Reference, Server, json, prompt, resource,
    resource_template,
};

use crate::PNG;

pub(crate) fn add(server: Server) -> Server {
    prompts(resources(server))
}

fn resources(server: Server) -> Server {
    server
        .resource(
            resource("test://static-text")
                .name("Static Text Resource")
                .description("A text that never changes")
                .mime_type("text/plain")
                .read(|_| Ok("This is the content of the static text resource.")),
        )
        .resource(
            resource("test://static-binary")
                .name("Static Binary Resource")
                .description("A picture that never changes")
                .mime_type("image/png")
                .read(|_| Ok(PNG)),
        )
        .resource(
            resource("test://watched-resource")
                .name("Watched Resource")
                .description("A text to subscribe to")
                .mime_type("text/plain")
                .read(|_| Ok("Watched resource content")),
        )
        .resource_template(
            resource_template("test://template/{id}/data")
                .name("Resource Template")
                .description("Data by id")
                .mime_type("application/json")
                .read(|_, variables| {
                    let id = &variables["id"];
                    let data = format!("Data for ID: {id}");
                    Ok(json!({"id": id, "templateTest": true, "data": data}).to_string())
                }),
        )
}

fn prompts(server: Server) -> Server {
    server
        .prompt(
            prompt("test_simple_prompt")
                .description("A prompt without arguments")
                .handler(|_, _| Ok("This is a simple prompt for testing.")),
        )
        .prompt(
            prompt("test_prompt_with_arguments")
                .description("A prompt made from two arguments")
                .required_arg("arg1", "The first")
                .required_arg("arg2", "The second")
                .handler(|_, args| {
                    let [first, second] = [args.get::<String>("arg1")?, args.get("arg2")?];
                    Ok(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))
                }),
        )
        .completion(Reference::prompt("test_prompt_with_arguments"), "arg1", |_, completing| {
            Ok(completing.matching(["paris", "park", "party"]))
        })
        .prompt(
            prompt("test_prompt_with_embedded_resource")
                .description("A prompt with a resource in it")
                .required_arg("resourceUri", "Which resource")
                .handler(|_, args| {
                    let uri: String = args.get("resourceUri")?;
                    let text = "Embedded resource content for testing.";
                    Ok(Messages::new()
                        .user(Content::embedded_text(&uri, "text/plain", text))
                        .user("Please process the embedded resource above."))
                }),
        )
        .prompt(prompt("test_prompt_with_image").description("A prompt with a picture in it").handler(
            |_, _| {
                Ok(Messages::new()
                    .user(Content::image(PNG, "image/png"))
                    .user("Please analyze the image above."))
            },
        ))
        .prompt(
            prompt("test_input_required_result_prompt")
                .description("A prompt that asks before it is made")
                .handler(|ctx, _| {
                    let Some(answer) = ctx.input().elicited("user_context") else {
                        let form = Elicitation::form("What context should the prompt use?")
                            .field(Field::text("context"));
                        return Ok(InputRequired::new().elicit("user_context", form).into());
                    };
                    let context: String = answer?.get("context")?;
                    Ok(Messages::from(format!("Answer in the context of {context}.")))
                }),
        )
}

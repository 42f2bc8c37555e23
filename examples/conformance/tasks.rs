//! Tools that take long: tasks for hosts that know such, calls like any other for the rest.

use std::thread::{scope, sleep};
use std::time::Duration;

use pmcp_bridge::sdk::{
    Context, Elicitation, Elicited, Field, InputRequired, Server, ToolError, ToolResult, tool,
};

pub(crate) fn add(server: Server) -> Server {
    server
        .tool(
            tool("greet")
                .description("Greet somebody, which takes no time")
                .arg::<String>("name", "Whom to greet")
                .handler(|_, args| Ok(format!("Hello, {}!", args.get::<String>("name")?))),
        )
        .tool(
            tool("slow_compute")
                .description("Compute for a while")
                .arg::<f64>("seconds", "How long")
                .arg::<Option<String>>("label", "What to call it")
                .task()
                .handler(|ctx, args| {
                    let seconds: f64 = args.get("seconds")?;
                    work(ctx, Duration::try_from_secs_f64(seconds)?)?;
                    Ok(format!("{} took {seconds} s", args.get_or("label", "It".to_owned())?))
                }),
        )
        .tool(
            tool("failing_job")
                .description("Work for a second, in vain; only for hosts that know tasks")
                .task_required()
                .handler(|ctx, _| -> Result<(), ToolError> {
                    work(ctx, Duration::from_secs(1))?;
                    Err(ToolError::new("IN_VAIN", "the job failed, as it was meant to"))
                }),
        )
        .tool(tool("protocol_error_job").description("End with an error of the protocol").task().handler(
            |ctx, _| -> Result<(), ToolError> {
                work(ctx, Duration::from_millis(200))?;
                Err(ToolError::protocol(-32603, "the job could not be done at all"))
            },
        ))
        .tool(
            tool("confirm_delete")
                .description("Delete a file, if the user agrees")
                .arg::<String>("filename", "Which one")
                .task()
                .handler(|ctx, args| {
                    let name: String = args.get("filename")?;
                    let form = Elicitation::form(format!("Delete {name}?")).field(Field::boolean("confirm"));
                    let answer = ctx.elicit(form)?;
                    let agreed = answer.accepted() && answer.get("confirm")?;
                    Ok(format!("{name} was {}", if agreed { "deleted" } else { "kept" }))
                }),
        )
        .tool(tool("multi_input").description("Ask two things at once").task().handler(|ctx, _| {
            let ask = |message: &str| ctx.elicit(Elicitation::form(message).field(Field::text("name")));
            let (first, second) = scope(|threads| {
                let first = threads.spawn(|| ask("Your first name?"));
                (ask("Your second name?"), first.join())
            });
            let name = |answer: Elicited| answer.get_or("name", "nobody".to_owned());
            let second = second.map_err(|_| ToolError::internal("the question was lost"))?;
            Ok(format!("{} and {}", name(second?)?, name(first?)?))
        }))
        .tool(tool("test_tool_with_task").description("Ask who is there, then go on as a task").handler(
            |ctx, _| {
                let Some(answer) = ctx.input().elicited("user_name") else {
                    let form = Elicitation::form("What is your name?").field(Field::text("name"));
                    return Ok(InputRequired::new().elicit("user_name", form).into());
                };
                let name: String = answer?.get("name")?;
                ctx.start_task()?;
                ctx.task_status(format!("looking for {name}"));
                work(ctx, Duration::from_millis(500))?;
                Ok(ToolResult::from(format!("Hello, {name}!")))
            },
        ))
}

/// Works for so long, unless it is cancelled; tells how far it is.
fn work(ctx: &Context, time: Duration) -> Result<(), ToolError> {
    const STEP: Duration = Duration::from_millis(20);
    let steps = time.as_millis().div_ceil(STEP.as_millis()) as i64;
    for step in 0..steps {
        ctx.check_cancelled()?;
        if step % 10 == 0 {
            ctx.progress(step, steps, "");
        }
        sleep(STEP);
    }
    Ok(())
}

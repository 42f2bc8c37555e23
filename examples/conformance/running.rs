//! Tools that say something while they run, and tools that come and go.

use std::thread::sleep;
use std::time::Duration;

use pmcp_bridge::sdk::{Context, LogLevel, Messages, Server, ToolError, prompt, tool};

/// Between two things that a tool says.
const PAUSE: Duration = Duration::from_millis(50);

/// The tool and the prompt that come and go.
const DYNAMIC: &str = "test_dynamic_tool";

pub(crate) fn add(server: Server) -> Server {
    server
        .tool(tool("test_tool_with_progress").description("Tell how far it is").handler(|ctx, _| {
            for (progress, message) in [(0, "Starting"), (50, "Halfway"), (100, "Done")] {
                ctx.progress(progress, 100, message);
                sleep(PAUSE);
            }
            Ok("Told three times.")
        }))
        .tool(tool("test_tool_with_logging").description("Write to the host's log").handler(|ctx, _| {
            for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                ctx.log(LogLevel::Info, text);
                sleep(PAUSE);
            }
            Ok("Logged three times.")
        }))
        .tool(tool("test_logging_tool").description("Log a line, for hosts that want it").handler(
            |ctx, _| {
                ctx.log_data(LogLevel::Info, "conformance", r#"{"said":"something"}"#);
                Ok("Logged.")
            },
        ))
        .tool(
            tool("test_reconnection")
                .description("Take a while; the host may lose its connection meanwhile")
                .handler(|_, _| {
                    sleep(4 * PAUSE);
                    Ok("Still there.")
                }),
        )
        .tool(
            tool("test_trigger_tool_change")
                .description("Show a hidden tool, or hide it again")
                .handler(|ctx, _| switch(ctx)),
        )
        .tool(
            tool("test_trigger_prompt_change").description("Show a hidden prompt, or hide it again").handler(
                |ctx, _| {
                    let prompts = ctx.prompts();
                    if prompts.is_shown(DYNAMIC) {
                        prompts.hide([DYNAMIC]);
                        Ok("It is gone.")
                    } else {
                        prompts.show([DYNAMIC]);
                        Ok("It is there.")
                    }
                },
            ),
        )
        .prompt(
            prompt(DYNAMIC)
                .description("Is there only sometimes")
                .hidden()
                .handler(|_, _| Ok(Messages::new().user("You found me."))),
        )
        .tool(
            tool(DYNAMIC).description("Is there only sometimes").hidden().handler(|_, _| Ok("You found me.")),
        )
}

fn switch(ctx: &Context) -> Result<&'static str, ToolError> {
    if ctx.tools().active()?.iter().any(|name| name == DYNAMIC) {
        ctx.tools().disable([DYNAMIC])?;
        Ok("It is gone.")
    } else {
        ctx.tools().enable([DYNAMIC])?;
        Ok("It is there.")
    }
}

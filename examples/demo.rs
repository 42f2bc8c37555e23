//! A tool file to play with: `pmcp dev examples/demo.rs`, or `make demo` to watch one being used.

#![allow(clippy::disallowed_methods, reason = "the bridge must not sleep; a tool may")]

use std::thread::sleep;
use std::time::Duration;

use pmcp_bridge::sdk::{Error, Server, ToolResult, tool};

fn main() -> Result<(), Error> {
    let greet = tool("greet")
        .description("Greet somebody")
        .arg::<String>("name", "Whom to greet")
        .handler(|_, args| Ok(format!("Hello, {}!", args.get::<String>("name")?)));

    let count = tool("count")
        .description("Count slowly, telling how far it is")
        .arg::<Option<i64>>("to", "Where to stop; 3 if not given")
        .handler(|ctx, args| {
            let to = args.get_or("to", 3)?;
            for number in 1..=to {
                ctx.check_cancelled()?;
                sleep(Duration::from_millis(200));
                ctx.progress(number, to, format!("{number} of {to}"));
            }
            Ok(format!("Counted to {to}."))
        });

    let unlock = tool("unlock")
        .description("Bring the hidden tool into the list")
        .handler(|_, _| Ok(ToolResult::new().text("The secret is out.").enable_tools(["secret"])));

    let secret =
        tool("secret").description("Nobody sees this until it is unlocked").hidden().handler(|_, _| Ok("42"));

    Server::new()
        .tool(greet)
        .tool(count)
        .tool(unlock)
        .tool(secret)
        // A new tool goes here.
        .run()
}

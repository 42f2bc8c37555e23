//! The tool process behind the bridge: one tool that gives back its text.

use pmcp_bridge::sdk::{Error, Server, tool};

fn main() -> Result<(), Error> {
    Server::new()
        .tool(
            tool("echo")
                .description("Gives back its text")
                .arg::<String>("text", "What comes back")
                .handler(|_, arguments| Ok(arguments.get::<String>("text")?)),
        )
        .run()
}

//! The tool process behind the bridge: one tool that gives back its text.

use pmcp_bridge::sdk::{Error, Server, tool};

fn main() -> Result<(), Error> {
    // An argument is the name of one more tool, so that the list can change.
    let more = std::env::args().nth(1).map(|name| tool(format!("more_{name}")).handler(|_, _| Ok("more")));
    let server = Server::new();
    let server = match more {
        Some(more) => server.tool(more),
        None => server,
    };
    server
        .tool(
            tool("echo")
                .description("Gives back its text")
                .arg::<String>("text", "What comes back")
                .handler(|_, arguments| Ok(arguments.get::<String>("text")?)),
        )
        .run()
}

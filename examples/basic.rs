//! The smallest tool file: `pmcp dev examples/basic.rs`.

use pmcp_bridge::sdk::{Error, Server, tool};

fn main() -> Result<(), Error> {
    Server::new()
        .tool(
            tool("add")
                .description("Add two numbers")
                .arg::<f64>("a", "The first number")
                .arg::<f64>("b", "The second number")
                .read_only_hint(true)
                .handler(|_, args| Ok(args.get::<f64>("a")? + args.get::<f64>("b")?)),
        )
        .run()
}

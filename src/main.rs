//! The `pmcp` command.

use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: pmcp_bridge::os::Allocator = pmcp_bridge::os::Allocator;

fn main() -> ExitCode {
    pmcp_bridge::cli::main()
}

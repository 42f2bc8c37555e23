//! Writes the Rust types of `proto/protomcp.proto` to the file named on the command line.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = std::env::args().nth(1).ok_or("usage: generate TARGET.rs")?;
    let proto_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let descriptors = protox::compile(["protomcp.proto"], [&proto_dir])?;
    let out_dir = std::env::temp_dir().join(format!("pmcp-generate-{}", std::process::id()));
    std::fs::create_dir_all(&out_dir)?;
    prost_build::Config::new().out_dir(&out_dir).compile_fds(descriptors)?;
    let code = std::fs::read_to_string(out_dir.join("protomcp.rs"))?;
    std::fs::remove_dir_all(&out_dir)?;
    std::fs::write(target, code)?;
    Ok(())
}

//! tests

/// Wrong command lines, help and version.
mod command_line;
/// What is linked into the bridge.
mod dependencies;
/// What the README shows is what is there.
mod readme;
/// The map in `src/lib.rs` is true.
mod tidy;

//! tests

/// What is linked into the bridge.
mod dependencies;
/// The map in `src/lib.rs` is true.
mod tidy;

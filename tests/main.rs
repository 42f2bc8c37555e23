//! tests

/// The map in `src/lib.rs` is true.
mod tidy;

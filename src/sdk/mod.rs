//! The Rust SDK: what a tool process written in Rust uses.

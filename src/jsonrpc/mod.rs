//! JSON-RPC 2.0 as MCP uses it: lines, messages, errors, and writing JSON.
//!
//! What lives here: how the host's bytes are spelled. What does not: any method or field name of
//! MCP. Imports: level 0 only. No IO.
//!
//! JSON passes through as text. Nothing here builds a tree: an object is looked into one level at
//! a time, and what is inside stays a slice of the message.

pub mod json;
pub mod line;
pub mod message;

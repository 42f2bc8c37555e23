//! JSON-RPC 2.0 as MCP uses it: lines, messages, errors, and writing JSON.

pub mod message;

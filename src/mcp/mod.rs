//! The Model Context Protocol: its methods, fields and revisions, as pure functions.
//!
//! What lives here: everything that holds a method or field name of MCP in quotes. What does not:
//! anything that is remembered between two messages. Imports: `jsonrpc`, `wire`, level 0. No IO.
//!
//! The functions that write append one JSON value (a result, params) or, where they say so, one
//! whole message, compact and without a raw CR or LF. They never write `null`.

pub mod call;
pub mod client;
pub mod complaints;
pub mod completion;
pub mod content;
pub mod declared;
pub mod error;
pub mod header;
pub mod input;
pub mod lifecycle;
pub mod logging;
pub mod mirror;
pub mod notify;
pub mod page;
pub mod prompt;
pub mod request;
pub mod resource;
pub mod result;
pub mod revision;
pub mod schema;
pub mod state;
pub mod task;
pub mod tool;

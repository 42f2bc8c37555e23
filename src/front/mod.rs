//! How a host reaches us: bytes to messages and back.
//!
//! What lives here: who said it, whether they may, and where the answer goes. What does not: descriptors (`os` reads
//! and writes them), and what is remembered between two messages (`bridge`). Pure. Imports: `mcp`,
//! `jsonrpc`, level 0.

pub mod http;
pub mod json_lines;
pub mod oauth;

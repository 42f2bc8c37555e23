//! Streamable HTTP: a connection's bytes to requests, and messages back to responses.
//!
//! What lives here: who may ask at all ([`guard`]). What does not: descriptors (`os`), and what is
//! remembered of a session (`bridge`). Pure.

pub mod guard;

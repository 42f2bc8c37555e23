//! Streamable HTTP: a connection's bytes to requests, and messages back to responses.
//!
//! What lives here: how requests are spelled ([`reader`] cuts a connection's bytes, [`head`] and
//! [`chunked`] read what it finds) and responses ([`response`]), who may ask at all ([`guard`]),
//! and what we ask of another pmcp ([`client`]).
//! What does not: descriptors (`os`), and what is remembered of a session (`bridge`). Pure.

pub mod chunked;
pub mod client;
pub mod guard;
pub mod head;
pub mod ladder;
pub mod reader;
pub mod response;
pub mod server;
pub mod slab;
pub mod stream;
pub mod timers;

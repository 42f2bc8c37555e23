//! `pmcp` offers a script, a device or a database to AI applications: it starts your file as a
//! *tool process*, talks length-prefixed protobuf with it over a unix socket, and the Model
//! Context Protocol with the *host* (the AI application).
//!
//! # The map
//!
//! | layer | rooms | may import |
//! |---|---|---|
//! | 5 | `main`, [`cli`] | everything below |
//! | 4 | [`os`]: descriptors, processes, threads, the clock | everything below |
//! | 3 | [`bridge`]: all that is remembered · [`front`]: how a host's bytes become messages | `bridge`: 2, 1, 0 · `front`: 2, `jsonrpc`, 0 |
//! | 2 | [`mcp`]: the protocol's methods and shapes | `jsonrpc`, `json_schema`, `wire`, 0 |
//! | 1 | [`wire`]: the tool side's bytes · [`jsonrpc`]: the host side's bytes · [`json_schema`]: whether values are as a schema says · [`watch`]: which changes of files count | 0 |
//! | 0 | [`buffer`], [`ids`], [`limits`], [`log`], [`metrics`] | std |
//! | beside | [`sdk`]: what tool authors use | `wire`, 0 |
//!
//! Layers 0 to 3 and the SDK's protocol part do no IO, start no thread and read no clock: bytes
//! and time go in, bytes and decisions come out. Only [`os`] touches the world. A test
//! (`tests/tidy.rs`) keeps this table true.
//!
//! # Where a line belongs
//!
//! 1. It makes a syscall, starts a thread or reads a clock: [`os`] (environment and terminal: [`cli`]).
//! 2. It is about how bytes are spelled: [`wire`] or [`jsonrpc`].
//! 3. It decides which host said it, whether it may, and where the answer goes: [`front`].
//! 4. It holds a method or field name of MCP in quotes: [`mcp`].
//! 5. It remembers something between two messages: [`bridge`].
//!
//! # One call, from end to end
//!
//! [`os`] reads from standard input, [`front::json_lines`] cuts lines (by [`jsonrpc::line`]) and
//! [`mcp::request`] makes them typed requests. [`bridge::Bridge::handle`] decides: it queues the
//! call until the tool process is free and then outputs a frame, made by
//! [`wire::call::call_frame`]. [`os`] writes it to the socket. The answer comes back as
//! [`wire::envelope::Received`], the bridge runs the middleware that is left, and
//! [`mcp::call::write_call_result`] spells the result for the host's revision.
//!
//! # What else happens
//!
//! *A crash*: [`os`] reads what the process still said, reaps it and hands in
//! [`bridge::Input::ToolExited`]; the bridge fails its calls with its last words and plans the
//! restart. *A save*: [`os`] notices, [`watch`] says whether it counts, and
//! [`bridge::Input::Reload`] has the bridge start a new process beside the old one, which is let
//! go when the new one has proven itself. *A question of a tool* (sampling, roots) arrives like an
//! answer; the bridge passes it to the host whose call it belongs to, [`mcp::input`] spells it.
//! *An era*: each message of a host is of the era with a handshake or of the one without
//! ([`mcp::request::Era`]); both live on the same pipe. *A request over HTTP*: [`front::http::guard`]
//! decides by its head who may ask, before anything of its body counts; access tokens are judged by
//! [`front::oauth`].
//!
//! # Words
//!
//! *Host*: the application that talks MCP to us. *Tool process*: the child that holds the tools.
//! *Generation*: one life of it. *Session*: what is remembered about one host. *Call*: one request
//! of a host that needs the tool process. *Ask*: one request of ours to the tool process. *Host
//! request*: one request of ours to a host, for a tool. *Frame*: length and bytes. *Envelope*: the
//! message in a frame. *Payload*: one large field. *Transfer*: a payload arriving in pieces.
//! *Job*: what a worker thread does. *Turn*: one go of the loop. *Handshake*: of a tool process, from
//! its connection to a `ReloadResponse` without a request id, which says that it is complete; of a
//! host, `initialize`. *Principal*: who asks over HTTP, as far as they have proven it.

pub mod buffer;
pub mod limits;
pub mod sdk;
pub mod wire;

#[cfg(feature = "bridge")]
pub mod bridge;
#[cfg(feature = "bridge")]
pub mod cli;
#[cfg(feature = "bridge")]
pub mod front;
#[cfg(feature = "bridge")]
pub mod ids;
#[cfg(feature = "bridge")]
pub mod json_schema;
#[cfg(feature = "bridge")]
pub mod jsonrpc;
#[cfg(feature = "bridge")]
pub mod log;
#[cfg(feature = "bridge")]
pub mod mcp;
#[cfg(feature = "bridge")]
pub mod metrics;
#[cfg(feature = "bridge")]
pub mod os;
#[cfg(feature = "bridge")]
pub mod watch;

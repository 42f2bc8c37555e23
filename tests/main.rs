//! The program as its users meet it: the real binary, real processes, every byte checked from
//! outside. Protocol logic has its own tests beside the code; here the whole is put together.

#![allow(
    clippy::disallowed_methods,
    reason = "tests wait for what nobody announces, and a thread that can't be had may fail a test"
)]

/// What the tests stand on.
mod support;

/// Who may ask over HTTP.
mod access;
/// What either side should never send.
mod bad_input;
/// One tool file, hosts of both eras.
mod both_eras;
/// Tools: the list, calls, results, errors.
mod calls;
/// Cancellation in both directions, and calls that take too long.
mod cancel;
/// The image of `deploy/container`.
mod container;
/// The files below `deploy/`.
mod deploy;
/// `pmcp dev`: a change of the file is a new tool process.
mod dev;
/// `pmcp health`.
mod health;
/// Streamable HTTP: both eras, streams and sessions.
mod http;
/// Clients over HTTP that are slow, greedy, broken or hostile.
mod http_faults;
/// For those who watch over a server: probes, numbers, the access log, signals.
mod http_operation;
/// The JavaScript SDK behind the real bridge.
mod javascript_sdk;
/// JSON Schema: the official test suite, and another validator's opinion.
mod json_schema;
/// How a tool file is started, and built; the doctor.
mod launch;
/// The handshake, ping, and the rules of JSON-RPC.
mod lifecycle;
/// Under load and at rest.
mod load;
/// The middleware chain around a call.
mod middleware;
/// Log messages and progress.
mod notifications;
/// Access tokens of issuers that are not ours.
mod oauth;
/// Official clients.
mod official_clients;
/// For those who watch over it: its log for programs, and the service manager.
mod operation;
/// The life of the tool process: crashes, restarts, and why it could not start.
mod process_life;
/// Prompts, and the completion of their arguments.
mod prompts;
/// Tool processes written with SDKs as they are published.
mod published_sdks;
/// The Python SDK of this tree.
mod python_sdk;
/// What must be refused.
mod refusals;
/// Reloads: proving the new process beside the old one, and the other ways.
mod reload;
/// Resources: lists, reading, subscriptions.
mod resources;
/// What a tool process asks of the host.
mod sampling;
/// The SDK of this tree behind the real bridge.
mod sdk;
/// The bytes that SDKs in other languages are tested with.
mod sdk_vectors;
/// The end: the host goes, a signal comes, a pipe breaks.
mod shutdown;
/// Signatures of access tokens.
mod signatures;
/// TLS.
#[cfg(feature = "tls")]
mod tls;
/// Which tools are offered, and what the host hears of changes.
mod tool_list;
/// Whole conversations, line by line.
mod transcripts;
/// Large results on their way from the tool process.
mod transfers;
/// Which saves restart the tool process, and what is told about it.
mod watch;

/// Wrong command lines, help and version.
mod command_line;
/// What is linked into the bridge.
mod dependencies;
/// What the README shows is what is there.
mod readme;
/// The map in `src/lib.rs` is true.
mod tidy;

//! The Rust SDK: a program that offers tools, resources and prompts to AI applications.
//!
//! Such a program is a *tool process*. It does not speak to the application itself: `pmcp` starts
//! it, speaks the Model Context Protocol with the application, and passes on what concerns the
//! tools. What is left to write is functions. They block if they like; each call runs on a thread.
//!
//! # A first tool
//!
//! In `Cargo.toml`, with the folder that this package is in and without the bridge (two dependencies,
//! prost and serde_json, are left):
//!
//! ```toml
//! [dependencies]
//! pmcp-bridge = { path = "/path/to/this/folder", default-features = false }
//! ```
//!
//! In `main.rs`:
//!
//! ```no_run
//! use pmcp_bridge::sdk::{Error, Server, tool};
//!
//! fn main() -> Result<(), Error> {
//!     Server::new()
//!         .tool(
//!             tool("add")
//!                 .description("Add two numbers")
//!                 .arg::<f64>("a", "The first number")
//!                 .arg::<f64>("b", "The second number")
//!                 .handler(|_, args| Ok(args.get::<f64>("a")? + args.get::<f64>("b")?)),
//!         )
//!         .run()
//! }
//! ```
//!
//! Run it with `pmcp dev src/main.rs` in the folder of the package. Started by hand it says so and
//! ends.
//!
//! # Arguments
//!
//! [`ToolBuilder::arg`] announces an argument with the JSON Schema of its type; an [`Option`] need
//! not be given. [`Arg`] can say more about one: a default, bounds, the values to choose from.
//! [`Args::get`] reads one and says in its error what is wrong with it, so that `?` is all that a
//! handler needs:
//!
//! ```
//! use pmcp_bridge::sdk::{Arg, tool};
//!
//! let forecast = tool("forecast")
//!     .arg::<String>("city", "Which city")
//!     .arg::<Option<Vec<String>>>("details", "What to tell beside the temperature")
//!     .argument(Arg::new::<u32>("days").minimum(1).maximum(14).default(3))
//!     .handler(|_, args| {
//!         let city: String = args.get("city")?;
//!         let details: Vec<String> = args.get_or("details", Vec::new())?;
//!         let days: u32 = args.get_or("days", 3)?;
//!         Ok(format!("{city}: sunny for {days} days, {} details", details.len()))
//!     });
//! # let _ = forecast;
//! ```
//!
//! Types of your own can be arguments too, see [`Argument`]. [`Args::json`] is the text that the
//! application sent, for those who would rather parse it themselves; nothing is parsed before a
//! handler asks.
//!
//! # Results and errors
//!
//! A handler returns whatever becomes a [`ToolResult`]: a text, a number, a [`Content`] block such
//! as a picture, or JSON as structured content. A [`ToolError`] has a code, and a suggestion that
//! helps a model to do better; any other error becomes one by `?`.
//!
//! ```
//! use pmcp_bridge::sdk::{ToolError, ToolResult, json, tool};
//!
//! let find = tool("find")
//!     .arg::<String>("name", "Whom to find")
//!     .output_schema(json!({
//!         "type": "object",
//!         "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
//!     }))
//!     .read_only_hint(true)
//!     .handler(|_, args| match args.get::<String>("name")?.as_str() {
//!         "Ada" => Ok(ToolResult::new().structured(json!({"name": "Ada", "age": 36}))),
//!         name => Err(ToolError::not_found(format!("nobody is called {name}"))
//!             .suggestion("search by the first name alone")),
//!     });
//! # let _ = find;
//! ```
//!
//! A panic is an error too, and the process lives on (unless it was built to abort on panic).
//! What a tool prints appears on the standard error of `pmcp`.
//!
//! # While a call runs
//!
//! The [`Context`] reports [progress](Context::progress) and [log lines](Context::log) and says
//! whether the call was [cancelled](Context::is_cancelled):
//!
//! ```
//! use pmcp_bridge::sdk::{LogLevel, tool};
//!
//! let count = tool("count_lines").arg::<Vec<String>>("files", "What to read").handler(|ctx, args| {
//!     let files: Vec<String> = args.get("files")?;
//!     let mut lines = 0;
//!     for (at, file) in files.iter().enumerate() {
//!         ctx.check_cancelled()?;
//!         ctx.progress(at as i64, files.len() as i64, format!("reading {file}"));
//!         match std::fs::read_to_string(file) {
//!             Ok(text) => lines += text.lines().count(),
//!             Err(error) => ctx.log(LogLevel::Warning, format!("{file}: {error}")),
//!         }
//!     }
//!     Ok(lines)
//! });
//! # let _ = count;
//! ```
//!
//! # Asking the host
//!
//! A handler can ask the person at the host ([`Context::elicit`]), the host's model
//! ([`Context::sample`]) and for the folders that the host works on ([`Context::roots`]). It simply
//! waits for the answer, which every revision of the protocol can give in its own way. A host that
//! can't be asked is an error, which `?` passes on.
//!
//! ```
//! use pmcp_bridge::sdk::{Elicitation, Field, tool};
//!
//! let book = tool("book").arg::<String>("city", "Where to").handler(|ctx, args| {
//!     let city: String = args.get("city")?;
//!     let hint = ctx.sample(format!("In one sentence: what should one see in {city}?"))?.text();
//!     let answer = ctx.elicit(
//!         Elicitation::form(format!("A trip to {city}. {hint}"))
//!             .field(Field::text("day").title("Day of arrival").format("date"))
//!             .field(Field::integer("nights").minimum(1).maximum(30).default(2)),
//!     )?;
//!     if !answer.accepted() {
//!         return Ok("Nothing was booked.".to_owned());
//!     }
//!     let day: String = answer.get("day")?;
//!     Ok(format!("{} nights in {city} from {day}", answer.get_or("nights", 2)?))
//! });
//! # let _ = book;
//! ```
//!
//! A tool, prompt or resource that must not lose anything between question and answer, be it that
//! the process is restarted, answers with [`InputRequired`] instead of waiting.
//!
//! # Work that takes long
//!
//! A tool that says [`ToolBuilder::task`] is run as a task for hosts that know such: they go on,
//! look at it from time to time and fetch the result in the end. Its handler is like any other.
//! [`Context::start_task`] is for a handler that finds out only on the way that it will take long.
//! Hosts that know no tasks wait for the result as ever.
//!
//! # Tools that come and go
//!
//! A [hidden](ToolBuilder::hidden) tool is not offered until it is enabled: by a result
//! ([`ToolResult::enable_tools`]) or on the way to it ([`Context::tools`]). The application learns
//! of the change by itself.
//!
//! ```
//! use pmcp_bridge::sdk::{Server, ToolResult, tool};
//!
//! let server = Server::new()
//!     .tool(
//!         tool("log_in")
//!             .handler(|_, _| Ok(ToolResult::new().text("Welcome.").enable_tools(["send"]))),
//!     )
//!     .tool(tool("send").hidden().handler(|_, _| Ok("sent")))
//!     .tool(tool("lock").handler(|ctx, _| Ok(ctx.tools().set_allowed(["log_in"])?.join(", "))));
//! # let _ = server;
//! ```
//!
//! # Resources, prompts, completions
//!
//! ```
//! use pmcp_bridge::sdk::{Reference, Server, ToolError, prompt, resource, resource_template};
//!
//! let server = Server::new()
//!     .resource(resource("text://about").mime_type("text/plain").read(|_| Ok("A little server.")))
//!     .resource_template(resource_template("note://{id}").read(|_, variables| {
//!         std::fs::read(format!("notes/{}.txt", &variables["id"]))
//!             .map_err(|error| ToolError::not_found(error.to_string()))
//!     }))
//!     .prompt(
//!         prompt("review")
//!             .required_arg("language", "Which language the code is in")
//!             .handler(|_, args| Ok(format!("Review my {} code.", args.get::<String>("language")?))),
//!     )
//!     .completion(Reference::prompt("review"), "language", |_, completing| {
//!         Ok(completing.matching(["Go", "Python", "Rust"]))
//!     });
//! # let _ = server;
//! ```
//!
//! [`Context::resource_changed`] tells applications that subscribed to a resource. A clone of a
//! context may be kept for that by a thread of yours.
//!
//! # From one life to the next
//!
//! When the source changes, or the process dies, a new process takes over. What
//! [`Context::save_state`] saved last is handed to it before its first call; [`generation`] counts
//! the lives.
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use pmcp_bridge::sdk::{Server, tool};
//!
//! static VISITS: AtomicU64 = AtomicU64::new(0);
//!
//! let server = Server::new()
//!     .restore(|state| {
//!         let visits = std::str::from_utf8(state).ok().and_then(|text| text.parse().ok());
//!         VISITS.store(visits.unwrap_or(0), Ordering::Relaxed);
//!     })
//!     .tool(tool("visit").handler(|ctx, _| {
//!         let visits = VISITS.fetch_add(1, Ordering::Relaxed) + 1;
//!         ctx.save_state(visits.to_string())?;
//!         Ok(format!("visit {visits}"))
//!     }));
//! # let _ = server;
//! ```
//!
//! # Middleware
//!
//! A [`middleware()`] sees every call of this process's tools before and after it happens; it may
//! change arguments and results or reject the call.
//!
//! # Threads
//!
//! As many requests run at once as [`Server::concurrency`] says, each on a thread, and the tasks of
//! [`Context::start_task`] beside them; what handlers share must be [`Sync`], as the compiler will
//! say. The program ends when [`Server::run`] returns,
//! which is when the bridge closes the connection; running calls see themselves cancelled.
//!
//! # Beneath
//!
//! [`Context::trace`] is the trace context (W3C) of the host's request, for those who trace.
//! [`peer`] is the protocol without any IO, `serve` the socket and the threads around it. Imports:
//! `wire::{frame, protomcp}` and level 0, so that the SDK needs none of the bridge's dependencies.

pub mod peer;

mod args;
mod completion;
mod content;
mod context;
mod elicitation;
mod error;
mod input;
mod json;
mod lead;
mod listing;
mod log_level;
mod middleware;
mod prompt;
#[cfg(test)]
mod question_tests;
mod resource;
mod result;
mod roots;
mod sampling;
mod serve;
#[cfg(test)]
mod serve_tests;
mod server;
#[cfg(test)]
mod task_tests;
mod tool;
mod tool_list;

pub use serde_json::{Value, json};

/// Which life of the tool process this is: 1 for the first since the bridge was started, and one
/// more with every restart or reload. 0 in a program that was started by hand.
pub fn generation() -> u64 {
    std::env::var("PROTOMCP_GENERATION").ok().and_then(|number| number.parse().ok()).unwrap_or(0)
}

pub use self::args::{Args, Argument};
pub use self::completion::{Completing, Completion, Reference};
pub use self::content::Content;
pub use self::context::Context;
pub use self::elicitation::{Choice, ElicitAction, Elicitation, Elicited, Field};
pub use self::error::{Error, ToolError};
pub use self::input::{Input, InputRequired};
pub use self::json::Json;
pub use self::listing::Listing;
pub use self::log_level::LogLevel;
pub use self::middleware::{AfterCall, BeforeCall, Middleware, middleware};
pub use self::prompt::{Messages, Prompt, PromptBuilder, prompt};
pub use self::resource::{
    Contents, Resource, ResourceBuilder, ResourceTemplate, ResourceTemplateBuilder, Variables, resource,
    resource_template,
};
pub use self::result::ToolResult;
pub use self::roots::Root;
pub use self::sampling::{Sampled, Sampling};
pub use self::server::Server;
pub use self::tool::{Arg, Tool, ToolBuilder, tool};
pub use self::tool_list::{ToolChanges, ToolList};

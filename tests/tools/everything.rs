//! The tool process of the tests: one tool for everything that a tool can do.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a tool may print, sleep and crash; the bridge has to cope"
)]

use std::collections::BTreeMap;
use std::process::exit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pmcp_bridge::sdk::{
    Arg, Content, Contents, Elicitation, Error, Field, LogLevel, Messages, Reference, Sampling, Server,
    ToolChanges, ToolError, ToolResult, json, prompt, resource, resource_template, tool,
};

/// The smallest picture: one black pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
    \0\0\0\nIDATx\xdac`\0\0\0\x02\0\x01\xe5'\xde\xfc\0\0\0\0IEND\xaeB`\x82";

const WAV: &[u8] = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\x80>\0\0\x02\0\x10\0data\0\0\0\0";

/// How many calls of `linger` were cancelled.
static LINGERED: AtomicU32 = AtomicU32::new(0);

const LANGUAGES: [&str; 4] = ["Go", "Python", "Rust", "TypeScript"];

fn main() -> Result<(), Error> {
    let server = Server::new();
    let server = plain(server);
    let server = reporting(server);
    let server = failing(server);
    let server = contents(server);
    let server = asking(server);
    let server = tasks(server);
    let server = tool_list(server);
    beside_tools(server).run()
}

/// Tools that only compute or wait.
fn plain(server: Server) -> Server {
    server
        .tool(
            tool("echo")
                .description("Return the text")
                .title("Echo")
                .arg::<String>("text", "What to return")
                .read_only_hint(true)
                .destructive_hint(false)
                .meta(json!({"origin": "tests"}))
                .handler(|_, args| args.get::<String>("text")),
        )
        .tool(
            tool("add")
                .description("Add two numbers")
                .arg::<f64>("a", "The first number")
                .arg::<f64>("b", "The second number")
                .handler(|_, args| Ok(args.get::<f64>("a")? + args.get::<f64>("b")?)),
        )
        .tool(tool("slow").description("Wait, unless cancelled").arg::<u64>("ms", "How long").handler(
            |ctx, args| {
                let wait = Duration::from_millis(args.get("ms")?);
                let started = Instant::now();
                while started.elapsed() < wait {
                    if ctx.is_cancelled() {
                        eprintln!("slow: cancelled");
                        return Ok("cancelled".to_owned());
                    }
                    sleep(Duration::from_millis(5).min(wait));
                }
                Ok(format!("waited {} ms", wait.as_millis()))
            },
        ))
        .tool(tool("linger").description("Say that it began, then wait until cancelled").handler(|ctx, _| {
            ctx.progress(1, 0, "begun");
            while !ctx.is_cancelled() {
                sleep(Duration::from_millis(5));
            }
            LINGERED.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }))
        .tool(
            tool("lingered")
                .description("Wait until as many were cancelled")
                .arg::<u32>("count", "How many")
                .handler(|_, args| {
                    let count = args.get("count")?;
                    while LINGERED.load(Ordering::SeqCst) < count {
                        sleep(Duration::from_millis(5));
                    }
                    Ok(count)
                }),
        )
        .tool(
            tool("big")
                .description("Return a long text")
                .arg::<usize>("bytes", "How long")
                .handler(|_, args| Ok("x".repeat(args.get("bytes")?))),
        )
}

/// Tools that say something on the way.
fn reporting(server: Server) -> Server {
    server
        .tool(tool("progress").description("Report progress").arg::<i64>("steps", "How often").handler(
            |ctx, args| {
                let steps = args.get("steps")?;
                for step in 1..=steps {
                    ctx.progress(step, steps, format!("step {step}"));
                }
                Ok(steps)
            },
        ))
        .tool(
            tool("log")
                .description("Write to the host's log")
                .argument(Arg::new::<String>("level").one_of(LEVELS.map(LogLevel::as_str)))
                .arg::<String>("text", "What to write")
                .handler(|ctx, args| {
                    let wanted = args.get::<String>("level")?;
                    let level = LEVELS.into_iter().find(|level| level.as_str() == wanted);
                    let level = level.ok_or_else(|| ToolError::invalid_arguments("no such level"))?;
                    ctx.log(level, args.get::<String>("text")?);
                    Ok(())
                }),
        )
        .tool(
            tool("print")
                .description("Print to standard output and standard error")
                .arg::<String>("text", "What to print")
                .handler(|_, args| {
                    let text = args.get::<String>("text")?;
                    println!("out: {text}");
                    eprintln!("err: {text}");
                    Ok("printed")
                }),
        )
        .tool(tool("touch").description("Say that a resource changed").arg::<String>("uri", "Which").handler(
            |ctx, args| {
                ctx.resource_changed(args.get::<String>("uri")?);
                Ok(())
            },
        ))
}

const LEVELS: [LogLevel; 8] = [
    LogLevel::Debug,
    LogLevel::Info,
    LogLevel::Notice,
    LogLevel::Warning,
    LogLevel::Error,
    LogLevel::Critical,
    LogLevel::Alert,
    LogLevel::Emergency,
];

/// Tools that fail, each in its own way.
fn failing(server: Server) -> Server {
    server
        .tool(tool("fail").description("Fail with an error that says everything").handler(
            |_, _| -> Result<(), ToolError> {
                Err(ToolError::new("NOT_FOUND", "there is no such thing")
                    .suggestion("look elsewhere")
                    .retryable(true))
            },
        ))
        .tool(tool("crash").description("End the process").arg::<i32>("code", "The exit status").handler(
            |_, args| -> Result<(), ToolError> {
                let code = args.get("code")?;
                eprintln!("crash: about to exit with {code}");
                exit(code)
            },
        ))
        .tool(
            tool("panic")
                .description("Panic")
                .handler(|_, _| -> Result<(), ToolError> { panic!("this tool panics") }),
        )
}

/// Tools that return other things than text.
fn contents(server: Server) -> Server {
    let person = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    });
    server
        .tool(
            tool("structured")
                .description("Return structured content")
                .output_schema(person)
                .handler(|_, _| Ok(json!({"name": "Ada", "age": 36}))),
        )
        .tool(
            tool("image")
                .description("Return a picture")
                .handler(|_, _| Ok(ToolResult::new().image(PNG, "image/png"))),
        )
        .tool(
            tool("audio")
                .description("Return a sound")
                .handler(|_, _| Ok(ToolResult::new().audio(WAV, "audio/wav"))),
        )
        .tool(tool("link").description("Return a pointer to a resource").handler(|_, _| {
            Ok(Content::resource_link("text://greeting", "greeting").annotations(json!({"priority": 0.5})))
        }))
        .tool(
            tool("embedded")
                .description("Return a resource")
                .handler(|_, _| Ok(Content::embedded_text("text://greeting", "text/plain", "Hello!"))),
        )
}

/// Tools that ask the host.
fn asking(server: Server) -> Server {
    server
        .tool(
            tool("sample")
                .description("Have the host's model answer")
                .arg::<String>("prompt", "What to ask")
                .handler(|ctx, args| {
                    let question = Sampling::new().user(args.get::<String>("prompt")?).max_tokens(100);
                    let answer = ctx.sample(question)?;
                    Ok(format!("{}: {}", answer.model, answer.text()))
                }),
        )
        .tool(tool("roots").description("List the host's roots").handler(|ctx, _| {
            let roots = ctx.roots()?;
            Ok(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join("\n"))
        }))
        .tool(
            tool("order")
                .description("Ask the user for an order")
                .arg::<String>("message", "The question")
                .handler(|ctx, args| {
                    let answer = ctx.elicit(
                        Elicitation::form(args.get::<String>("message")?)
                            .field(Field::text("name").title("Name"))
                            .field(Field::integer("copies").minimum(1).default(1)),
                    )?;
                    if !answer.accepted() {
                        return Ok("nothing was ordered".to_owned());
                    }
                    Ok(format!(
                        "{} copies for {}",
                        answer.get::<i64>("copies")?,
                        answer.get::<String>("name")?
                    ))
                }),
        )
        .tool(tool("interview").description("Ask the host for everything, one after the other").handler(
            |ctx, _| {
                let name: String =
                    ctx.elicit(Elicitation::form("Who are you?").field(Field::text("name")))?.get("name")?;
                let said = ctx.sample(Sampling::new().user(format!("I am {name}")).max_tokens(100))?;
                let roots = ctx.roots()?.len();
                Ok(format!("{name}; {}; {roots} roots", said.text()))
            },
        ))
}

/// Tools that take long.
fn tasks(server: Server) -> Server {
    server
        .tool(tool("job").description("Work for a while").arg::<i64>("steps", "How long").task().handler(
            |ctx, args| {
                let steps = args.get("steps")?;
                for step in 1..=steps {
                    ctx.check_cancelled()?;
                    ctx.progress(step, steps, format!("step {step}"));
                    sleep(Duration::from_millis(50));
                }
                Ok(format!("{steps} steps"))
            },
        ))
        .tool(tool("endless").description("Work until cancelled").task().handler(|ctx, _| {
            while !ctx.is_cancelled() {
                sleep(Duration::from_millis(5));
            }
            LINGERED.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }))
        .tool(tool("commission").description("Ask the user, then work").task().handler(|ctx, _| {
            let answer = ctx.elicit(
                Elicitation::form("How many?")
                    .field(Field::text("name"))
                    .field(Field::integer("copies").minimum(1)),
            )?;
            Ok(format!("{} copies for {}", answer.get::<i64>("copies")?, answer.get::<String>("name")?))
        }))
        .tool(
            tool("task_only")
                .description("Work so long that nobody should wait for it")
                .task_required()
                .handler(|_, _| Ok("done")),
        )
}

/// Tools that change which tools there are.
fn tool_list(server: Server) -> Server {
    server
        .tool(
            tool("unlock")
                .description("Enable the hidden tool, with this call's result")
                .handler(|_, _| Ok(ToolResult::new().text("unlocked").enable_tools(["secret"]))),
        )
        .tool(
            tool("lock")
                .description("Disable the hidden tool, with this call's result")
                .handler(|_, _| Ok(ToolResult::new().text("locked").disable_tools(["secret"]))),
        )
        .tool(tool("secret").description("Hidden at first").hidden().handler(|_, _| Ok("42")))
        .tool(
            tool("tools")
                .description("Change the tool list and return the active tools")
                .argument(
                    Arg::new::<String>("change")
                        .one_of(["active", "enable", "disable", "allow", "block", "batch"]),
                )
                .arg::<Option<Vec<String>>>("names", "Which tools")
                .arg::<Option<BTreeMap<String, Vec<String>>>>("batch", "Lists by kind of change")
                .handler(|ctx, args| {
                    let names = args.get_or::<Vec<String>>("names", Vec::new())?;
                    let mut lists = args.get_or::<BTreeMap<String, Vec<String>>>("batch", BTreeMap::new())?;
                    let mut list = |kind| lists.remove(kind).unwrap_or_default();
                    let active = match args.get::<String>("change")?.as_str() {
                        "active" => ctx.tools().active(),
                        "enable" => ctx.tools().enable(names),
                        "disable" => ctx.tools().disable(names),
                        "allow" => ctx.tools().set_allowed(names),
                        "block" => ctx.tools().set_blocked(names),
                        "batch" => ctx.tools().batch(
                            ToolChanges::new()
                                .enable(list("enable"))
                                .disable(list("disable"))
                                .allow(list("allow"))
                                .block(list("block")),
                        ),
                        other => Err(ToolError::invalid_arguments(format!("no such change: {other}"))),
                    };
                    Ok(active?.join(","))
                }),
        )
}

/// Resources, prompts and completions.
fn beside_tools(server: Server) -> Server {
    server
        .resource(
            resource("text://greeting")
                .name("greeting")
                .description("A text")
                .mime_type("text/plain")
                .read(|_| Ok("Hello!")),
        )
        .resource(resource("blob://pixel").name("pixel").mime_type("image/png").read(|_| Ok(PNG)))
        .resource_template(resource_template("note://{id}").name("note").mime_type("text/plain").read(
            |_, variables| match &variables["id"] {
                "missing" => Err(ToolError::not_found("there is no such note")),
                id => Ok(Contents::from(format!("note {id}"))),
            },
        ))
        .prompt(prompt("hello").description("Say hello").handler(|_, _| Ok("Say hello.")))
        .prompt(
            prompt("review")
                .description("Review a piece of code")
                .required_arg("code", "What to review")
                .arg("language", "Which language it is in")
                .handler(|_, args| {
                    let language = args.get_or("language", "some".to_owned())?;
                    Ok(Messages::new()
                        .user(format!("Review this {language} code:\n{}", args.get::<String>("code")?))
                        .assistant("Gladly."))
                }),
        )
        .completion(Reference::prompt("review"), "language", |_, completing| {
            Ok(completing.matching(LANGUAGES))
        })
        .completion(Reference::resource("note://{id}"), "id", |_, completing| {
            Ok(completing.matching((0..150).map(|id| id.to_string())))
        })
}

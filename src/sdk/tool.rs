//! A tool: what is announced about it, and the function behind it.

use std::fmt;

use super::args::{Args, Argument};
use super::context::Context;
use super::error::ToolError;
use super::json::{Json, object_schema, push_name};
use super::result::ToolResult;
use crate::wire::protomcp::ToolDefinition;

/// Begins a tool. Options come first, [`ToolBuilder::handler`] finishes it.
///
/// ```
/// use pmcp_bridge::sdk::tool;
///
/// let add = tool("add")
///     .description("Add two numbers")
///     .arg::<f64>("a", "The first number")
///     .arg::<f64>("b", "The second number")
///     .handler(|_, args| Ok(args.get::<f64>("a")? + args.get::<f64>("b")?));
/// # let _ = add;
/// ```
pub fn tool(name: impl Into<String>) -> ToolBuilder {
    ToolBuilder {
        definition: ToolDefinition { name: name.into(), ..Default::default() },
        args: Vec::new(),
        input_schema: None,
        hints: Vec::new(),
        hidden: false,
        wrong: None,
    }
}

/// A tool without its handler; made by [`tool`].
#[derive(Clone, Debug)]
#[must_use = "a tool without a handler is not offered"]
pub struct ToolBuilder {
    definition: ToolDefinition,
    args: Vec<Arg>,
    input_schema: Option<Json>,
    hints: Vec<(&'static str, bool)>,
    hidden: bool,
    /// The first thing that is wrong with it, for [`Error::Definition`](super::Error::Definition).
    wrong: Option<String>,
}

/// A finished tool, ready for [`Server::tool`](super::Server::tool).
pub struct Tool {
    pub(crate) definition: ToolDefinition,
    pub(crate) hidden: bool,
    pub(crate) wrong: Option<String>,
    pub(crate) handler: ToolHandler,
}

pub(crate) type ToolHandler = Box<dyn Fn(&Context, &Args<'_>) -> Result<ToolResult, ToolError> + Send + Sync>;

impl ToolBuilder {
    /// What the tool does, for the model.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = description.into();
        self
    }

    /// A name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = title.into();
        self
    }

    /// Adds an argument of type `T`; an [`Option`] makes it an optional one.
    pub fn arg<T: Argument>(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(Arg::new::<T>(name).description(description))
    }

    /// Adds an argument with more to say about it than [`ToolBuilder::arg`] can.
    pub fn argument(mut self, arg: Arg) -> Self {
        self.args.push(arg);
        self
    }

    /// Replaces the schema that is made from the arguments by a JSON Schema object of yours,
    /// which reaches the host as written.
    pub fn input_schema(mut self, schema: impl Into<Json>) -> Self {
        self.input_schema = Some(schema.into());
        self
    }

    /// The JSON Schema of the structured content.
    pub fn output_schema(mut self, schema: impl Into<Json>) -> Self {
        let schema = schema.into();
        if !schema.is_object() {
            self.wrong("its output schema is not a JSON object");
        }
        self.definition.output_schema_json = schema.into_string();
        self
    }

    /// The tool changes nothing (hosts assume `false`).
    pub fn read_only_hint(mut self, hint: bool) -> Self {
        self.definition.read_only_hint = hint;
        self.hint("readOnlyHint", hint)
    }

    /// The tool may destroy something (hosts assume `true`).
    pub fn destructive_hint(mut self, hint: bool) -> Self {
        self.definition.destructive_hint = hint;
        self.hint("destructiveHint", hint)
    }

    /// Calling the tool twice does no more than calling it once (hosts assume `false`).
    pub fn idempotent_hint(mut self, hint: bool) -> Self {
        self.definition.idempotent_hint = hint;
        self.hint("idempotentHint", hint)
    }

    /// The tool deals with the outside world, such as the web (hosts assume `true`).
    pub fn open_world_hint(mut self, hint: bool) -> Self {
        self.definition.open_world_hint = hint;
        self.hint("openWorldHint", hint)
    }

    fn hint(mut self, name: &'static str, value: bool) -> Self {
        self.hints.retain(|(other, _)| *other != name);
        self.hints.push((name, value));
        self
    }

    /// The tool's icons: a JSON array of objects with `src`, `mimeType` and `sizes`.
    pub fn icons(mut self, icons: impl Into<Json>) -> Self {
        let icons = icons.into();
        if !icons.is_array() {
            self.wrong("its icons are not a JSON array");
        }
        self.definition.icons_json = icons.into_string();
        self
    }

    /// The tool's `_meta`, a JSON object.
    pub fn meta(mut self, meta: impl Into<Json>) -> Self {
        let meta = meta.into();
        if !meta.is_object() {
            self.wrong("its meta is not a JSON object");
        }
        self.definition.meta_json = meta.into_string();
        self
    }

    /// Announces that the tool may take long: a host that knows tasks gets one instead of having
    /// to wait. The bridge sees to it; the handler simply runs. (A handler that learns only later
    /// that it will take long can say [`Context::start_task`].)
    pub fn task(mut self) -> Self {
        self.definition.task_support = true;
        self
    }

    /// Announces that the tool takes so long that only hosts which know tasks may call it.
    pub fn task_required(mut self) -> Self {
        self.definition.task_required = true;
        self.task()
    }

    /// Starts the tool disabled: hosts see it once it is enabled (see
    /// [`ToolResult::enable_tools`] and [`Context::tools`]).
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Finishes the tool with the function behind it, which runs on a thread of its own beside
    /// other calls and may block.
    pub fn handler<F, R>(mut self, handler: F) -> Tool
    where
        F: Fn(&Context, &Args<'_>) -> Result<R, ToolError> + Send + Sync + 'static,
        R: Into<ToolResult>,
    {
        let schema = self.input_schema.take().unwrap_or_else(|| {
            object_schema(self.args.iter().map(|arg| (arg.name.as_str(), &arg.schema, arg.required)))
        });
        if !schema.is_object() {
            self.wrong("its input schema is not a JSON object");
        }
        self.definition.input_schema_json = schema.into_string();
        self.definition.annotations_json = self.annotations();
        Tool {
            definition: self.definition,
            hidden: self.hidden,
            wrong: self.wrong,
            handler: Box::new(move |context, args| handler(context, args).map(Into::into)),
        }
    }

    /// The hints that were given, also those that say `false`, which the wire's four booleans
    /// cannot.
    fn annotations(&self) -> String {
        if self.hints.is_empty() {
            return String::new();
        }
        let mut out = String::from("{");
        for (name, value) in &self.hints {
            push_name(&mut out, name);
            out.push_str(if *value { "true" } else { "false" });
        }
        out.push('}');
        out
    }

    fn wrong(&mut self, what: &str) {
        self.wrong.get_or_insert_with(|| what.to_owned());
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("definition", &self.definition).field("hidden", &self.hidden).finish()
    }
}

/// One argument of a tool, in words and as JSON Schema.
///
/// ```
/// use pmcp_bridge::sdk::{Arg, tool};
///
/// let forecast = tool("forecast")
///     .argument(Arg::new::<u32>("days").description("How far ahead").maximum(14).default(3))
///     .argument(Arg::new::<String>("unit").one_of(["celsius", "fahrenheit"]))
///     .handler(|_, args| Ok(args.get_or("days", 3)?));
/// # let _ = forecast;
/// ```
#[derive(Clone, Debug)]
pub struct Arg {
    name: String,
    schema: serde_json::Value,
    required: bool,
}

impl Arg {
    /// An argument of type `T`, required unless `T` is an [`Option`].
    pub fn new<T: Argument>(name: impl Into<String>) -> Self {
        Self { name: name.into(), schema: T::schema(), required: T::absent().is_none() }
    }

    /// What it means, for the model.
    pub fn description(self, description: impl Into<String>) -> Self {
        self.keyword("description", description.into())
    }

    /// The value that stands for an absent one; makes the argument optional. Announced only:
    /// read it with [`Args::get_or`].
    pub fn default(mut self, value: impl Into<serde_json::Value>) -> Self {
        self.required = false;
        self.keyword("default", value)
    }

    /// Makes the argument optional.
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    /// The values that it may have; of a list, those that each entry may have.
    pub fn one_of<V: Into<serde_json::Value>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        let values: Vec<serde_json::Value> = values.into_iter().map(Into::into).collect();
        if let Some(items) = self.schema.get_mut("items").and_then(serde_json::Value::as_object_mut) {
            items.insert("enum".to_owned(), values.into());
            return self;
        }
        self.keyword("enum", values)
    }

    /// The smallest number that it may be.
    pub fn minimum(self, minimum: impl Into<serde_json::Value>) -> Self {
        self.keyword("minimum", minimum)
    }

    /// The largest number that it may be.
    pub fn maximum(self, maximum: impl Into<serde_json::Value>) -> Self {
        self.keyword("maximum", maximum)
    }

    /// Any other keyword of JSON Schema.
    pub fn keyword(mut self, keyword: &str, value: impl Into<serde_json::Value>) -> Self {
        if let Some(schema) = self.schema.as_object_mut() {
            schema.insert(keyword.to_owned(), value.into());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_schema_keeps_the_order_of_the_arguments() {
        let tool = tool("t")
            .arg::<String>("z", "last letter")
            .arg::<Option<i64>>("a", "")
            .argument(Arg::new::<u8>("m").maximum(9).default(1))
            .argument(Arg::new::<String>("o").one_of(["p", "q"]).optional())
            .argument(Arg::new::<Option<Vec<String>>>("l").one_of(["p", "q"]))
            .handler(|_, _| Ok(()));
        let schema = &tool.definition.input_schema_json;
        assert!(schema.find("\"z\"") < schema.find("\"a\""));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(schema).unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "z": {"type": "string", "description": "last letter"},
                    "a": {"type": "integer", "description": ""},
                    "m": {"type": "integer", "minimum": 0, "maximum": 9, "default": 1},
                    "o": {"type": "string", "enum": ["p", "q"]},
                    "l": {"type": "array", "items": {"type": "string", "enum": ["p", "q"]}},
                },
                "required": ["z"],
            })
        );
        assert_eq!(tool.wrong, None);
    }

    #[test]
    fn a_tool_without_arguments_has_a_schema_too() {
        let tool = tool("t").handler(|_, _| Ok(()));
        assert_eq!(tool.definition.input_schema_json, r#"{"type":"object","properties":{}}"#);
        assert_eq!(tool.definition.annotations_json, "");
    }

    #[test]
    fn a_hint_can_say_false() {
        let tool = tool("t").destructive_hint(false).read_only_hint(true).handler(|_, _| Ok(()));
        assert_eq!(tool.definition.annotations_json, r#"{"destructiveHint":false,"readOnlyHint":true}"#);
        assert!(tool.definition.read_only_hint && !tool.definition.destructive_hint);
    }

    #[test]
    fn what_is_not_json_is_said() {
        let tool = tool("t").input_schema("[]").handler(|_, _| Ok(()));
        assert_eq!(tool.wrong.as_deref(), Some("its input schema is not a JSON object"));
    }
}

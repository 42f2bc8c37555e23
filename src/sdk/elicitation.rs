//! Asking the host's user: a form to fill in, a page to visit, or a plain yes or no.

use serde_json::{Map, Value};

use super::args::{Args, Argument};
use super::error::ToolError;
use super::json::{Json, object_schema};
use crate::wire::protomcp;

/// A question for the host's user.
///
/// A form has [fields](Field), which are typed and flat, so that every host can show them. A text
/// alone is a form without fields: the user accepts or declines.
///
/// ```no_run
/// # use pmcp_bridge::sdk::{Context, Elicitation, Field, ToolError};
/// # fn handler(ctx: &Context) -> Result<(), ToolError> {
/// if !ctx.elicit("Delete all 300 files?")?.accepted() {
///     return Err(ToolError::new("DECLINED", "nothing was deleted"));
/// }
/// let answer = ctx.elicit(
///     Elicitation::form("Whom shall we tell?")
///         .field(Field::text("email").title("E-mail").format("email"))
///         .field(Field::choice("size", [("s", "Small"), ("l", "Large")]).default("s"))
///         .field(Field::integer("copies").minimum(1).maximum(9).default(1)),
/// )?;
/// let email: String = answer.get("email")?;
/// let copies: u32 = answer.get_or("copies", 1)?;
/// # let _ = (email, copies);
/// # Ok(())
/// # }
/// ```
///
/// Ask for passwords and the like on a page ([`Elicitation::url`]), never in a form: what is
/// filled in passes through the host.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a question is asked by Context::elicit"]
pub struct Elicitation {
    request: protomcp::ElicitRequest,
    fields: Vec<Field>,
    schema: Option<Json>,
}

impl Elicitation {
    /// A form that says `message` and has no fields yet.
    pub fn form(message: impl Into<String>) -> Self {
        Self::new("form", message.into(), String::new())
    }

    /// A page for the user to visit, and why. It is accepted when the user agrees to visit it;
    /// what happens there, the page has to tell you itself. Hosts know this since revision
    /// 2025-11-25.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new("url", message.into(), url.into())
    }

    fn new(mode: &str, message: String, url: String) -> Self {
        let request = protomcp::ElicitRequest { message, mode: mode.to_owned(), url, ..Default::default() };
        Self { request, fields: Vec::new(), schema: None }
    }

    /// Adds a field.
    pub fn field(mut self, field: Field) -> Self {
        self.fields.push(field);
        self
    }

    /// Replaces the schema that is made from the fields by a JSON Schema object of yours. Its
    /// properties must be flat: texts, numbers, booleans, and lists of choices.
    pub fn schema(mut self, schema: impl Into<Json>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    pub(super) fn into_wire(self) -> protomcp::ElicitRequest {
        let mut request = self.request;
        if request.mode == "form" {
            let fields = self.fields.iter().map(|field| (field.name.as_str(), &field.schema, field.required));
            let schema = self.schema.unwrap_or_else(|| object_schema(fields));
            request.requested_schema_json = schema.into_string();
        }
        request
    }
}

impl From<&str> for Elicitation {
    fn from(message: &str) -> Self {
        Self::form(message)
    }
}

impl From<String> for Elicitation {
    fn from(message: String) -> Self {
        Self::form(message)
    }
}

/// One field of a form. It has to be filled in, unless it is [optional](Field::optional) or has a
/// [default](Field::default).
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    name: String,
    schema: Value,
    required: bool,
}

impl Field {
    fn new(name: impl Into<String>, kind: &str) -> Self {
        let schema = Map::from_iter([("type".to_owned(), kind.into())]);
        Self { name: name.into(), schema: schema.into(), required: true }
    }

    /// A line of text.
    pub fn text(name: impl Into<String>) -> Self {
        Self::new(name, "string")
    }

    /// A number.
    pub fn number(name: impl Into<String>) -> Self {
        Self::new(name, "number")
    }

    /// A whole number.
    pub fn integer(name: impl Into<String>) -> Self {
        Self::new(name, "integer")
    }

    /// Yes or no.
    pub fn boolean(name: impl Into<String>) -> Self {
        Self::new(name, "boolean")
    }

    /// One of several choices; read it as a [`String`]. A choice is a text, or a text with a title
    /// that is shown in its place (see [`Choice`]).
    pub fn choice<C: Into<Choice>>(name: impl Into<String>, choices: impl IntoIterator<Item = C>) -> Self {
        let choices = choices.into_iter().map(Into::into).collect();
        let field = Self::new(name, "string");
        let (keyword, values) = Choice::schema(choices, "oneOf");
        field.keyword(keyword, values)
    }

    /// Any number of several choices; read it as a `Vec<String>`. Hosts know this since revision
    /// 2025-11-25.
    pub fn choices<C: Into<Choice>>(name: impl Into<String>, choices: impl IntoIterator<Item = C>) -> Self {
        let choices = choices.into_iter().map(Into::into).collect();
        let (keyword, values) = Choice::schema(choices, "anyOf");
        let mut items = Map::from_iter([(keyword.to_owned(), values)]);
        if keyword == "enum" {
            items.insert("type".to_owned(), "string".into());
        }
        Self::new(name, "array").keyword("items", items)
    }

    /// A name for people.
    pub fn title(self, title: impl Into<String>) -> Self {
        self.keyword("title", title.into())
    }

    /// What it means.
    pub fn description(self, description: impl Into<String>) -> Self {
        self.keyword("description", description.into())
    }

    /// What it is filled in with at first; makes the field optional. Hosts know this since revision
    /// 2025-11-25, so read the field with [`Elicited::get_or`].
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.required = false;
        self.keyword("default", value)
    }

    /// It may be left empty.
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    /// What kind of text it is: `email`, `uri`, `date` or `date-time`.
    pub fn format(self, format: impl Into<String>) -> Self {
        self.keyword("format", format.into())
    }

    /// The fewest characters of a text.
    pub fn min_length(self, characters: u32) -> Self {
        self.keyword("minLength", characters)
    }

    /// The most characters of a text.
    pub fn max_length(self, characters: u32) -> Self {
        self.keyword("maxLength", characters)
    }

    /// The smallest number that it may be.
    pub fn minimum(self, minimum: impl Into<Value>) -> Self {
        self.keyword("minimum", minimum)
    }

    /// The largest number that it may be.
    pub fn maximum(self, maximum: impl Into<Value>) -> Self {
        self.keyword("maximum", maximum)
    }

    /// The fewest choices.
    pub fn min_items(self, items: u32) -> Self {
        self.keyword("minItems", items)
    }

    /// The most choices.
    pub fn max_items(self, items: u32) -> Self {
        self.keyword("maxItems", items)
    }

    /// Any other keyword of JSON Schema that hosts know in a form.
    pub fn keyword(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        if let Some(schema) = self.schema.as_object_mut() {
            schema.insert(keyword.to_owned(), value.into());
        }
        self
    }
}

/// One of the choices of a [`Field`]: what is answered, and perhaps a title that is shown in its
/// place. Made from a text, or from a pair of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    value: String,
    title: Option<String>,
}

impl Choice {
    /// The keyword and its value; `titled` is the keyword when a choice has a title.
    fn schema(choices: Vec<Self>, titled: &'static str) -> (&'static str, Value) {
        if choices.iter().all(|choice| choice.title.is_none()) {
            return ("enum", choices.into_iter().map(|choice| choice.value).collect());
        }
        let titled_choice = |choice: Self| {
            let title = choice.title.unwrap_or_else(|| choice.value.clone());
            Map::from_iter([("const".to_owned(), choice.value.into()), ("title".to_owned(), title.into())])
        };
        (titled, choices.into_iter().map(titled_choice).collect())
    }
}

impl From<&str> for Choice {
    fn from(value: &str) -> Self {
        Self { value: value.to_owned(), title: None }
    }
}

impl From<String> for Choice {
    fn from(value: String) -> Self {
        Self { value, title: None }
    }
}

impl<V: Into<String>, T: Into<String>> From<(V, T)> for Choice {
    fn from((value, title): (V, T)) -> Self {
        Self { value: value.into(), title: Some(title.into()) }
    }
}

/// What the user did with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElicitAction {
    /// Filled in the form, agreed to visit the page.
    Accept,
    /// Said no.
    Decline,
    /// Went away without a choice.
    Cancel,
}

impl ElicitAction {
    /// The name in the protocol.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }
}

/// What the host's user answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elicited {
    /// What the user did.
    pub action: ElicitAction,
    /// What was filled in: a JSON object, or empty.
    pub content_json: String,
}

impl Elicited {
    pub(super) fn from_wire(response: protomcp::ElicitResponse) -> Result<Self, ToolError> {
        let protomcp::ElicitResponse { action, content_json, error, error_code } = response;
        if !error.is_empty() || !error_code.is_empty() {
            return Err(ToolError::unanswered(error, error_code, "ELICITATION_FAILED"));
        }
        let actions = [ElicitAction::Accept, ElicitAction::Decline, ElicitAction::Cancel];
        let known = actions.into_iter().find(|known| known.as_str() == action);
        let wrong = || ToolError::new("INVALID", format!("an answer can't have the action {action:?}"));
        Ok(Self { action: known.ok_or_else(wrong)?, content_json })
    }

    /// Whether the user accepted.
    pub fn accepted(&self) -> bool {
        self.action == ElicitAction::Accept
    }

    /// One field. A field that is absent is an error, unless `T` is an [`Option`].
    ///
    /// # Errors
    ///
    /// `DECLINED` when the user did not accept, so that `?` is all that a handler needs; `INVALID`
    /// when the field is missing or of another type.
    pub fn get<T: Argument>(&self, name: &str) -> Result<T, ToolError> {
        self.fields()?.get(name)
    }

    /// One field, or `default` when it is absent.
    ///
    /// # Errors
    ///
    /// As [`Elicited::get`].
    pub fn get_or<T: Argument>(&self, name: &str, default: T) -> Result<T, ToolError> {
        self.fields()?.get_or(name, default)
    }

    /// All fields.
    ///
    /// # Errors
    ///
    /// `DECLINED` when the user did not accept.
    pub fn fields(&self) -> Result<Args<'_>, ToolError> {
        let text = match self.action {
            ElicitAction::Accept => return Ok(Args::of_form(&self.content_json)),
            ElicitAction::Decline => "the user declined",
            ElicitAction::Cancel => "the user went away without an answer",
        };
        Err(ToolError::new("DECLINED", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema(elicitation: Elicitation) -> Value {
        serde_json::from_str(&elicitation.into_wire().requested_schema_json).unwrap()
    }

    #[test]
    fn every_kind_of_field_has_the_shape_of_the_specification() {
        let form = Elicitation::form("?")
            .field(Field::text("t").title("T").format("email").min_length(1).max_length(9))
            .field(Field::number("n").description("how much").minimum(0.5).maximum(1))
            .field(Field::integer("i").default(3))
            .field(Field::boolean("b").optional())
            .field(Field::choice("one", ["a", "b"]).default("a"))
            .field(Field::choice("titled", [("a", "A"), ("b", "B")]))
            .field(Field::choices("many", vec!["a".to_owned()]).min_items(1).max_items(1))
            .field(Field::choices("many_titled", [Choice::from("a"), Choice::from(("b", "B"))]));
        let wire = form.clone().into_wire();
        assert!(wire.requested_schema_json.find("\"titled\"") < wire.requested_schema_json.find("\"many\""));
        assert_eq!((wire.mode.as_str(), wire.message.as_str(), wire.url.as_str()), ("form", "?", ""));
        assert_eq!(
            schema(form),
            json!({
                "type": "object",
                "properties": {
                    "t": {"type": "string", "title": "T", "format": "email", "minLength": 1, "maxLength": 9},
                    "n": {"type": "number", "description": "how much", "minimum": 0.5, "maximum": 1},
                    "i": {"type": "integer", "default": 3},
                    "b": {"type": "boolean"},
                    "one": {"type": "string", "enum": ["a", "b"], "default": "a"},
                    "titled": {
                        "type": "string",
                        "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}],
                    },
                    "many": {
                        "type": "array",
                        "items": {"type": "string", "enum": ["a"]},
                        "minItems": 1,
                        "maxItems": 1,
                    },
                    "many_titled": {
                        "type": "array",
                        "items": {"anyOf": [{"const": "a", "title": "a"}, {"const": "b", "title": "B"}]},
                    },
                },
                "required": ["t", "n", "titled", "many", "many_titled"],
            })
        );
    }

    #[test]
    fn a_text_is_a_form_without_fields() {
        assert_eq!(schema("Go on?".into()), json!({"type": "object", "properties": {}}));
        let own = Elicitation::form("?").field(Field::text("lost")).schema(json!({"type": "object"}));
        assert_eq!(schema(own), json!({"type": "object"}));
        let page = Elicitation::url("Sign in", "https://example.com/in").into_wire();
        assert_eq!((page.mode.as_str(), page.url.as_str()), ("url", "https://example.com/in"));
        assert_eq!(page.requested_schema_json, "");
    }

    fn elicited(action: &str, content: &str) -> Result<Elicited, ToolError> {
        let (action, content_json) = (action.to_owned(), content.to_owned());
        Elicited::from_wire(protomcp::ElicitResponse { action, content_json, ..Default::default() })
    }

    #[test]
    fn fields_are_read_by_name_if_the_user_accepted() {
        let answer = elicited("accept", r#"{"email":"a@b","days":["Mon"],"n":2}"#).unwrap();
        assert!(answer.accepted());
        assert_eq!(answer.get::<String>("email").unwrap(), "a@b");
        assert_eq!(answer.get::<Vec<String>>("days").unwrap(), ["Mon"]);
        assert_eq!(answer.get_or("missing", 7).unwrap(), 7);
        let error = answer.get::<bool>("n").unwrap_err();
        assert_eq!((error.code(), error.message()), ("INVALID", "field \"n\" must be true or false, not 2"));
        assert_eq!(answer.get::<bool>("x").unwrap_err().message(), "field \"x\" is missing");
        for action in ["decline", "cancel"] {
            let answer = elicited(action, "").unwrap();
            assert!(!answer.accepted());
            assert_eq!(answer.get::<String>("email").unwrap_err().code(), "DECLINED");
        }
        assert!(elicited("accept", "").unwrap().accepted(), "a form without fields has no content");
        assert_eq!(elicited("", "").unwrap_err().code(), "INVALID");
    }

    #[test]
    fn a_question_without_an_answer_is_an_error_with_its_code() {
        let refused = |error: &str, code: &str| {
            let (error, error_code) = (error.to_owned(), code.to_owned());
            let response = protomcp::ElicitResponse { error, error_code, ..Default::default() };
            Elicited::from_wire(response).unwrap_err().code().to_owned()
        };
        assert_eq!(refused("no", "MISSING_CAPABILITY"), "MISSING_CAPABILITY");
        assert_eq!(refused("no", ""), "ELICITATION_FAILED");
        assert_eq!(refused("", "TIMEOUT"), "TIMEOUT");
    }
}

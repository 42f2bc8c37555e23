//! A call's arguments: JSON text that is looked into only as far as a handler asks.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::error::ToolError;

/// The arguments of a call or of a prompt.
///
/// ```
/// use pmcp_bridge::sdk::{Args, ToolError};
///
/// # fn main() -> Result<(), ToolError> {
/// let args = Args::new(r#"{"city": "Brno", "days": 3}"#);
/// assert_eq!(args.get::<String>("city")?, "Brno");
/// assert_eq!(args.get::<Option<f64>>("latitude")?, None);
/// assert_eq!(args.get_or("days", 7)?, 3);
/// assert_eq!(
///     args.get::<bool>("city").unwrap_err().message(),
///     "argument \"city\" must be true or false, not \"Brno\""
/// );
/// # Ok(())
/// # }
/// ```
pub struct Args<'a> {
    json: &'a str,
    /// What one of them is called, and the code of an error about it.
    noun: &'static str,
    code: &'static str,
    fields: OnceCell<Result<BTreeMap<String, &'a RawValue>, ToolError>>,
}

impl<'a> Args<'a> {
    /// Arguments from the text of a JSON object; the empty text stands for `{}`.
    pub fn new(json: &'a str) -> Self {
        let json = if json.is_empty() { "{}" } else { json };
        Self { json, noun: "argument", code: "INVALID_ARGUMENTS", fields: OnceCell::new() }
    }

    /// What was filled into a form.
    pub(crate) fn of_form(json: &'a str) -> Self {
        Self { noun: "field", code: "INVALID", ..Self::new(json) }
    }

    /// The JSON text as the host wrote it.
    pub fn json(&self) -> &'a str {
        self.json
    }

    /// One argument. An argument that is absent is an error, unless `T` is an [`Option`].
    pub fn get<T: Argument>(&self, name: &str) -> Result<T, ToolError> {
        match self.raw(name)? {
            Some(json) => T::from_json(json).map_err(|expected| self.wrong(name, expected, json)),
            None => T::absent().ok_or_else(|| self.invalid(format!("{} \"{name}\" is missing", self.noun))),
        }
    }

    /// One argument, or `default` when it is absent or `null`.
    pub fn get_or<T: Argument>(&self, name: &str, default: T) -> Result<T, ToolError> {
        match self.raw(name)? {
            None | Some("null") => Ok(default),
            Some(json) => T::from_json(json).map_err(|expected| self.wrong(name, expected, json)),
        }
    }

    /// The JSON text of one argument.
    pub fn raw(&self, name: &str) -> Result<Option<&'a str>, ToolError> {
        let fields = self.fields.get_or_init(|| {
            serde_json::from_str(self.json)
                .map_err(|error| self.invalid(format!("the {}s are not a JSON object: {error}", self.noun)))
        });
        match fields {
            Ok(fields) => Ok(fields.get(name).map(|value| value.get())),
            Err(error) => Err(error.clone()),
        }
    }

    /// All arguments, parsed by a function of yours; with the `serde` crate that is
    /// `args.parse_with(serde_json::from_str::<MyArguments>)`.
    pub fn parse_with<T, E: fmt::Display>(
        &self,
        parse: impl FnOnce(&'a str) -> Result<T, E>,
    ) -> Result<T, ToolError> {
        parse(self.json).map_err(|error| self.invalid(error.to_string()))
    }

    /// All arguments as one JSON value.
    pub fn value(&self) -> Result<Value, ToolError> {
        self.parse_with(serde_json::from_str)
    }

    fn invalid(&self, message: String) -> ToolError {
        ToolError::new(self.code, message)
    }

    /// Names the argument, what it should be, and the beginning of what it is.
    fn wrong(&self, name: &str, expected: String, json: &str) -> ToolError {
        const SHOWN: usize = 60;
        let mut shown: String = json.chars().take(SHOWN).collect();
        if shown.len() < json.len() {
            shown.push('…');
        }
        self.invalid(format!("{} \"{name}\" must be {expected}, not {shown}", self.noun))
    }
}

impl fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.json)
    }
}

/// A type that an argument can have: how it is read and the JSON Schema that announces it.
///
/// Implemented for numbers, `bool`, [`String`], [`Value`], and for [`Vec`], [`Option`] and
/// string-keyed maps of these. Implement it for types of your own:
///
/// ```
/// use pmcp_bridge::sdk::{Argument, Value, json};
///
/// enum Unit { Celsius, Fahrenheit }
///
/// impl Argument for Unit {
///     fn schema() -> Value {
///         json!({"type": "string", "enum": ["celsius", "fahrenheit"]})
///     }
///     fn from_json(json: &str) -> Result<Self, String> {
///         match String::from_json(json)?.as_str() {
///             "celsius" => Ok(Unit::Celsius),
///             "fahrenheit" => Ok(Unit::Fahrenheit),
///             _ => Err("celsius or fahrenheit".to_owned()),
///         }
///     }
/// }
/// ```
pub trait Argument: Sized {
    /// The JSON Schema of one value.
    fn schema() -> Value;

    /// Reads one value from its JSON text.
    ///
    /// # Errors
    ///
    /// What it should have been, as it reads after "must be": `a whole number`.
    fn from_json(json: &str) -> Result<Self, String>;

    /// The value of an argument that is not there; `None` makes the argument a required one.
    fn absent() -> Option<Self> {
        None
    }
}

impl Argument for bool {
    fn schema() -> Value {
        json!({"type": "boolean"})
    }

    fn from_json(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|_| "true or false".to_owned())
    }
}

impl Argument for String {
    fn schema() -> Value {
        json!({"type": "string"})
    }

    fn from_json(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|_| "a text".to_owned())
    }
}

impl Argument for Value {
    fn schema() -> Value {
        json!({})
    }

    fn from_json(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|error| format!("a JSON value ({error})"))
    }
}

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Argument for $type {
            fn schema() -> Value {
                json!({"type": "number"})
            }

            fn from_json(json: &str) -> Result<Self, String> {
                serde_json::from_str(json).map_err(|_| "a number".to_owned())
            }
        }
    )*};
}

floats!(f32, f64);

/// JSON does not tell 3 from 3.0, and some models write the latter.
fn whole_number(json: &str) -> Option<i128> {
    // Above 2^53 a floating point number no longer says which whole number is meant.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if let Ok(number) = serde_json::from_str::<i64>(json) {
        return Some(number.into());
    }
    if let Ok(number) = serde_json::from_str::<u64>(json) {
        return Some(number.into());
    }
    let number = serde_json::from_str::<f64>(json).ok()?;
    (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then_some(number as i128)
}

macro_rules! integers {
    ($($type:ty: $minimum:expr),*) => {$(
        impl Argument for $type {
            fn schema() -> Value {
                let mut schema = json!({"type": "integer"});
                if let Some(minimum) = $minimum {
                    let minimum: u8 = minimum;
                    schema["minimum"] = minimum.into();
                }
                schema
            }

            fn from_json(json: &str) -> Result<Self, String> {
                let number = whole_number(json).ok_or("a whole number")?;
                Self::try_from(number)
                    .map_err(|_| format!("a whole number from {} to {}", Self::MIN, Self::MAX))
            }
        }
    )*};
}

integers!(i8: None, i16: None, i32: None, i64: None, isize: None);
integers!(u8: Some(0), u16: Some(0), u32: Some(0), u64: Some(0), usize: Some(0));

impl<T: Argument> Argument for Option<T> {
    fn schema() -> Value {
        T::schema()
    }

    fn from_json(json: &str) -> Result<Self, String> {
        if json == "null" { Ok(None) } else { T::from_json(json).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Argument> Argument for Vec<T> {
    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }

    fn from_json(json: &str) -> Result<Self, String> {
        let items: Vec<&RawValue> = serde_json::from_str(json).map_err(|_| "a list".to_owned())?;
        let item = |raw: &&RawValue| {
            T::from_json(raw.get()).map_err(|expected| format!("a list of which each is {expected}"))
        };
        items.iter().map(item).collect()
    }
}

impl<T: Argument> Argument for BTreeMap<String, T> {
    fn schema() -> Value {
        json!({"type": "object", "additionalProperties": T::schema()})
    }

    fn from_json(json: &str) -> Result<Self, String> {
        let fields: BTreeMap<String, &RawValue> =
            serde_json::from_str(json).map_err(|_| "an object".to_owned())?;
        let field = |(name, raw): (String, &RawValue)| match T::from_json(raw.get()) {
            Ok(value) => Ok((name, value)),
            Err(expected) => Err(format!("an object of which each field is {expected}")),
        };
        fields.into_iter().map(field).collect()
    }
}

impl Argument for Map<String, Value> {
    fn schema() -> Value {
        json!({"type": "object"})
    }

    fn from_json(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|_| "an object".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error<T: Argument + fmt::Debug>(json: &str, name: &str) -> String {
        Args::new(json).get::<T>(name).unwrap_err().message().to_owned()
    }

    #[test]
    fn values_are_read_by_name() {
        let args =
            Args::new(r#"{"n":3.0,"u":18446744073709551615,"s":"a\nb","l":[1,2],"m":{"x":true},"z":null}"#);
        assert_eq!(args.get::<i32>("n").unwrap(), 3);
        assert_eq!(args.get::<u64>("u").unwrap(), u64::MAX);
        assert_eq!(args.get::<String>("s").unwrap(), "a\nb");
        assert_eq!(args.get::<Vec<u8>>("l").unwrap(), [1, 2]);
        assert!(args.get::<BTreeMap<String, bool>>("m").unwrap()["x"]);
        assert_eq!(args.get::<Option<i32>>("z").unwrap(), None);
        assert_eq!(args.get::<Option<i32>>("missing").unwrap(), None);
        assert_eq!(args.get_or("z", 7).unwrap(), 7);
        assert_eq!(args.get_or("n", 7).unwrap(), 3);
        assert_eq!(args.raw("l").unwrap(), Some("[1,2]"));
    }

    #[test]
    fn errors_name_the_argument_and_what_it_should_be() {
        assert_eq!(error::<f64>("{}", "a"), "argument \"a\" is missing");
        assert_eq!(error::<f64>("", "a"), "argument \"a\" is missing");
        assert_eq!(error::<f64>(r#"{"a":"x"}"#, "a"), "argument \"a\" must be a number, not \"x\"");
        assert_eq!(error::<i64>(r#"{"a":1.5}"#, "a"), "argument \"a\" must be a whole number, not 1.5");
        assert_eq!(
            error::<u8>(r#"{"a":256}"#, "a"),
            "argument \"a\" must be a whole number from 0 to 255, not 256"
        );
        assert_eq!(error::<f64>(r#"{"a":null}"#, "a"), "argument \"a\" must be a number, not null");
        assert_eq!(
            error::<Vec<bool>>(r#"{"a":[true,1]}"#, "a"),
            "argument \"a\" must be a list of which each is true or false, not [true,1]"
        );
        assert!(error::<bool>("[1]", "a").starts_with("the arguments are not a JSON object"));
        assert!(error::<bool>("{", "a").starts_with("the arguments are not a JSON object"));
    }

    #[test]
    fn long_values_are_cut_at_a_character() {
        let json = format!(r#"{{"a":"{}"}}"#, "ř".repeat(500));
        assert!(error::<bool>(&json, "a").len() < 200);
    }
}

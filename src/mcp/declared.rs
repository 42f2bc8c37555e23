//! The optional JSON with which a tool process adorns what it declares: annotations, icons, meta.
//!
//! Strict hosts refuse a whole list for one bad member, so what is not exactly right is left out
//! and its entry goes without it.

use serde_json::value::RawValue;

use crate::jsonrpc::json::{self, Kind};

/// Gives the JSON back, trimmed, if hosts take it.
pub(super) type Check = fn(&str) -> Option<&str>;

/// A `_meta` object, if it is one.
pub(super) fn meta(json: &str) -> Option<&str> {
    json::is_object(json).then(|| json.trim_ascii())
}

/// The annotations of a tool: an object whose hints are booleans and whose title is a text.
pub(super) fn tool_annotations(json: &str) -> Option<&str> {
    let json = meta(json)?;
    let names = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title"];
    let fields = json::fields(json, &names).ok()?;
    let [hints @ .., title] = fields.values;
    let valid = fields.duplicate.is_none()
        && hints.into_iter().all(|hint| is_absent_or(hint, Kind::Bool))
        && is_absent_or(title, Kind::String);
    valid.then_some(json)
}

/// The annotations of a resource: who it is for, how important it is, when it changed.
pub(super) fn resource_annotations(json: &str) -> Option<&str> {
    let json = meta(json)?;
    let fields = json::fields(json, &["audience", "priority", "lastModified"]).ok()?;
    let [audience, priority, last_modified] = fields.values;
    let is_role = |role: &&RawValue| matches!(role.get(), "\"user\"" | "\"assistant\"");
    let valid = fields.duplicate.is_none()
        && audience.is_none_or(|list| json::elements(list.get()).is_some_and(|all| all.iter().all(is_role)))
        && priority.is_none_or(|number| {
            number.get().parse::<f64>().is_ok_and(|number| (0.0..=1.0).contains(&number))
        })
        && last_modified.is_none_or(|time| json::string(time).is_some_and(|time| is_timestamp(&time)));
    valid.then_some(json)
}

/// Icons: an array of objects with a `src`.
pub(super) fn icons(json: &str) -> Option<&str> {
    if json::kind(json) != Some(Kind::Array) {
        return None;
    }
    let is_icon = |icon: &&RawValue| {
        let Ok(fields) = json::fields(icon.get(), &["src", "mimeType", "sizes", "theme"]) else {
            return false;
        };
        let [src, mime_type, sizes, theme] = fields.values;
        let is_text = |size: &&RawValue| json::kind_of(size) == Kind::String;
        fields.duplicate.is_none()
            && src.is_some_and(|src| json::kind_of(src) == Kind::String)
            && is_absent_or(mime_type, Kind::String)
            && sizes.is_none_or(|list| json::elements(list.get()).is_some_and(|all| all.iter().all(is_text)))
            && theme.is_none_or(|theme| matches!(theme.get(), "\"light\"" | "\"dark\""))
    };
    json::elements(json)?.iter().all(is_icon).then(|| json.trim_ascii())
}

/// What to tell the person about the owner of `json` when it is there but was left out.
pub(super) fn complaint(what: &str, json: &str, check: Check) -> Option<String> {
    let is_left_out = !json.is_empty() && check(json).is_none();
    is_left_out.then(|| format!("its {what} are not what the protocol wants and were left out"))
}

pub(super) fn is_absent_or(value: Option<&RawValue>, kind: Kind) -> bool {
    value.is_none_or(|value| json::kind_of(value) == kind)
}

/// A date and time with an offset (RFC 3339), as strict hosts want it.
fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, shape): (&u8, &u8)| if *shape == b'd' { byte.is_ascii_digit() } else { byte == shape };
    if bytes.len() <= shape.len() || !bytes.iter().zip(shape).all(fits) {
        return false;
    }
    let rest = &text[shape.len()..];
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == fraction.len() {
                return false;
            }
            zone
        }
        None => rest,
    };
    let is_offset = |offset: &[u8]| {
        offset.len() == 6 && matches!(offset[0], b'+' | b'-') && offset[1..].iter().zip(b"dd:dd").all(fits)
    };
    rest == "Z" || is_offset(rest.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_of_tools() {
        for good in ["{}", " {\"readOnlyHint\":true}\n", r#"{"title":"t","destructiveHint":false,"x":null}"#]
        {
            assert_eq!(tool_annotations(good), Some(good.trim()), "{good}");
        }
        for bad in
            ["", "[]", "{", "null", r#"{"title":null}"#, r#"{"openWorldHint":"yes"}"#, r#"{"title":1}"#]
        {
            assert_eq!(tool_annotations(bad), None, "{bad}");
        }
    }

    #[test]
    fn annotations_of_resources() {
        for good in [
            "{}",
            r#"{"audience":["user","assistant"],"priority":0.5}"#,
            r#"{"priority":1,"lastModified":"2025-01-12T15:00:58Z"}"#,
            r#"{"lastModified":"2025-01-12T15:00:58.123+02:00"}"#,
        ] {
            assert_eq!(resource_annotations(good), Some(good), "{good}");
        }
        for bad in [
            r#"{"audience":"user"}"#,
            r#"{"audience":["robot"]}"#,
            r#"{"priority":2}"#,
            r#"{"priority":"1"}"#,
            r#"{"priority":null}"#,
            r#"{"lastModified":"yesterday"}"#,
            r#"{"lastModified":"2025-01-12T15:00:58"}"#,
            r#"{"lastModified":"2025-01-12T15:00:58.Z"}"#,
            r#"{"lastModified":1}"#,
        ] {
            assert_eq!(resource_annotations(bad), None, "{bad}");
        }
    }

    #[test]
    fn icons_need_a_source() {
        for good in
            ["[]", r#"[{"src":"https://a/b.png","mimeType":"image/png","sizes":["48x48"],"theme":"dark"}]"#]
        {
            assert_eq!(icons(good), Some(good), "{good}");
        }
        for bad in [
            "",
            "{}",
            "[",
            "[1]",
            "[{}]",
            r#"[{"src":1}]"#,
            r#"[{"src":"a","sizes":"48x48"}]"#,
            r#"[{"src":"a","theme":"blue"}]"#,
            r#"[{"src":"a","mimeType":null}]"#,
        ] {
            assert_eq!(icons(bad), None, "{bad}");
        }
        let text = complaint("icons", "[1]", icons).unwrap();
        assert_eq!(text, "its icons are not what the protocol wants and were left out");
        assert_eq!(complaint("icons", "", icons), None);
    }
}

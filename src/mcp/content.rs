//! Content blocks: what a result or a prompt's message is made of (server/tools, "Tool Result").

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::revision::Revision;
use crate::jsonrpc::json::{self, Array, Fields, FieldsOf, Kind, Object};

/// The members that decide whether a block is one.
const MEMBERS: [&str; 7] = ["type", "text", "data", "mimeType", "resource", "uri", "name"];

/// What a tool process answered, judged.
#[derive(Debug)]
pub enum Content<'a> {
    /// Known blocks with all that they need.
    Blocks(Blocks<'a>),
    /// Anything else: the text of one text block.
    Text(&'a str),
}

/// An array of blocks and what was seen in it.
#[derive(Debug, Default)]
pub struct Blocks<'a> {
    /// The whole array, or nothing.
    json: &'a str,
    count: usize,
    texts: usize,
    /// The text of the last text block, a JSON string.
    text: Option<&'a RawValue>,
    has_audio: bool,
    has_resource_links: bool,
    /// Some member is `null`, which strict hosts refuse.
    has_null: bool,
}

/// The kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Text,
    Image,
    Audio,
    ResourceLink,
    Resource,
}

/// Judges `result_json` in one scan: an array of known blocks passes through as it is, no text at
/// all is an empty array, anything else becomes one text block. That includes blocks of an
/// unknown type or without a member that they need, because hosts refuse whole results for those.
pub fn normalize(result_json: &str) -> Content<'_> {
    let json = result_json.trim_ascii();
    if json.is_empty() {
        return Content::Blocks(Blocks::default());
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    match deserializer.deserialize_seq(BlocksVisitor).and_then(|blocks| deserializer.end().map(|()| blocks)) {
        Ok(blocks) if json::is_shallow(json) => Content::Blocks(Blocks { json, ..blocks }),
        _ => Content::Text(result_json),
    }
}

struct BlocksVisitor;

impl<'de> Visitor<'de> for BlocksVisitor {
    type Value = Blocks<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("content blocks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Blocks::default();
        while let Some(fields) = seq.next_element_seed(FieldsOf(&MEMBERS))? {
            let (block, has_null) = block(&fields).ok_or_else(|| A::Error::custom("not a block"))?;
            blocks.count += 1;
            blocks.has_null |= has_null;
            match block {
                Block::Text => {
                    blocks.texts += 1;
                    blocks.text = fields.values[1];
                }
                Block::Audio => blocks.has_audio = true,
                Block::ResourceLink => blocks.has_resource_links = true,
                Block::Image | Block::Resource => {}
            }
        }
        Ok(blocks)
    }
}

/// What block this is and whether some member of it is `null`; `None` if it is not a block.
fn block(fields: &Fields<'_, 7>) -> Option<(Block, bool)> {
    let [kind, text, data, mime_type, resource, uri, name] = fields.values;
    let is_text = |value: Option<&RawValue>| value.is_some_and(|value| json::kind_of(value) == Kind::String);
    let mut has_null = fields.has_null;
    let (block, is_whole) = match json::string(kind?)?.as_ref() {
        "text" => (Block::Text, is_text(text)),
        "image" => (Block::Image, is_text(data) && is_text(mime_type)),
        "audio" => (Block::Audio, is_text(data) && is_text(mime_type)),
        "resource_link" => (Block::ResourceLink, is_text(uri) && is_text(name)),
        "resource" => {
            let inner = json::fields(resource?.get(), &["uri", "text", "blob"]).ok()?;
            has_null |= inner.has_null;
            let [uri, text, blob] = inner.values;
            (Block::Resource, inner.duplicate.is_none() && is_text(uri) && (is_text(text) || is_text(blob)))
        }
        _ => return None,
    };
    (is_whole && fields.duplicate.is_none()).then_some((block, has_null))
}

impl<'a> Content<'a> {
    /// How many bytes it takes at most, for reservations.
    pub fn written_len(&self) -> usize {
        match self {
            Content::Blocks(blocks) => blocks.json.len() + 2,
            Content::Text(text) => json::string_len(text) + TEXT_BLOCK_EXTRA + 2,
        }
    }

    /// Whether some block holds text for a model to read.
    pub fn has_text(&self) -> bool {
        match self {
            Content::Blocks(blocks) => blocks.texts > 0,
            Content::Text(_) => true,
        }
    }

    /// The text, if it is all that there is.
    pub fn only_text(&self) -> Option<Cow<'a, str>> {
        match self {
            Content::Blocks(blocks) if blocks.count == 1 => blocks.text.and_then(json::string),
            Content::Blocks(_) => None,
            Content::Text(text) => Some(Cow::Borrowed(text)),
        }
    }

    /// Whether a text block contains `text`.
    pub fn says(&self, text: &str) -> bool {
        match self {
            Content::Blocks(blocks) => blocks.each().any(|block| {
                json::fields(block.get(), &["text"])
                    .ok()
                    .and_then(|fields| fields.values[0].and_then(json::string))
                    .is_some_and(|own| own.contains(text))
            }),
            Content::Text(own) => own.contains(text),
        }
    }

    /// Adds the blocks to an array, as far as the revision knows them: others become text.
    pub fn write(&self, array: &mut Array<'_>, revision: Revision) {
        match self {
            Content::Blocks(blocks) if blocks.fits(revision) => array.elements(blocks.inner()),
            Content::Blocks(blocks) => {
                for block in blocks.each() {
                    write_block(array.element(), block, revision);
                }
            }
            Content::Text(text) => write_text_block(array.element(), text),
        }
    }
}

impl<'a> Blocks<'a> {
    /// Whether all of it can be sent as it is.
    fn fits(&self, revision: Revision) -> bool {
        !self.has_null
            && (!self.has_audio || revision.has_audio())
            && (!self.has_resource_links || revision.has_resource_links())
    }

    /// The blocks without the array's brackets.
    fn inner(&self) -> &'a str {
        let inner = self.json.strip_prefix('[').and_then(|json| json.strip_suffix(']'));
        inner.unwrap_or_default().trim_ascii()
    }

    fn each(&self) -> impl Iterator<Item = &'a RawValue> {
        json::elements(self.json).unwrap_or_default().into_iter()
    }
}

/// What a text block takes beside its text.
const TEXT_BLOCK_EXTRA: usize = br#"{"type":"text","text":}"#.len();

/// Appends a text block.
pub fn write_text_block(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(br#"{"type":"text","text":"#);
    json::write_str(out, text);
    out.push(b'}');
}

/// How long a text block is.
pub fn text_block_len(text: &str) -> usize {
    json::string_len(text) + TEXT_BLOCK_EXTRA
}

/// Appends one valid block without its `null`s, or a text that stands for it where the revision
/// does not know its type.
fn write_block(out: &mut Vec<u8>, block: &RawValue, revision: Revision) {
    let Ok(fields) = json::fields(block.get(), &MEMBERS) else { return };
    let text = |index: usize| fields.values[index].and_then(json::string).unwrap_or_default();
    match text(0).as_ref() {
        "audio" if !revision.has_audio() => {
            write_text_block(out, &format!("[audio of type {}, which this host cannot take]", text(3)));
        }
        "resource_link" if !revision.has_resource_links() => {
            write_text_block(out, &format!("{}: {}", text(6), text(5)));
        }
        _ => write_without_nulls(out, block.get()),
    }
}

/// Appends a block; members that are `null`, in it or in what it wraps, are left out.
fn write_without_nulls(out: &mut Vec<u8>, json: &str) {
    let Some(entries) = json::entries(json) else { return json::write_raw(out, json) };
    let mut object = Object::open(out);
    for (name, value) in entries {
        match (json::kind_of(value), name.as_ref()) {
            (Kind::Null, _) => {}
            (Kind::Object, "resource" | "annotations") => {
                write_without_nulls(object.member(&name), value.get());
            }
            _ => object.raw(&name, value.get()),
        }
    }
    object.close();
}

/// Appends the one block of a prompt's message; a bare JSON string is its text, anything else
/// that is not a block is shown as text.
pub fn write_one(out: &mut Vec<u8>, content_json: &str, revision: Revision) {
    let raw: Result<&RawValue, _> = serde_json::from_str(content_json);
    let Ok(raw) = raw else { return write_text_block(out, content_json) };
    let is_block = json::is_shallow(raw.get())
        && json::fields(raw.get(), &MEMBERS).is_ok_and(|fields| block(&fields).is_some());
    match json::string(raw) {
        Some(text) => write_text_block(out, &text),
        None if is_block => write_block(out, raw, revision),
        None => write_text_block(out, content_json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;
    use crate::limits::JSON_DEPTH_MAX;

    fn shown(json: &str, revision: Revision) -> String {
        written(|out| {
            let mut array = Array::open(out);
            normalize(json).write(&mut array, revision);
            array.close();
        })
    }

    const NEW: Revision = Revision::V2025_11_25;

    #[test]
    fn every_known_block_passes_through_as_it_is() {
        for json in [
            "[]",
            r#"[{"type":"text","text":"hi"}]"#,
            r#"[{ "text" : "\u00e9\n" , "type" : "t\u0065xt", "annotations": {"priority": 1}, "x": [[1]] }]"#,
            r#"[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":""}]"#,
            r#"[{"type":"audio","data":"AA==","mimeType":"audio/wav"}]"#,
            r#"[{"type":"resource_link","uri":"a:b","name":"n","size":3}]"#,
            r#"[{"type":"resource","resource":{"uri":"a:b","text":"t"}}]"#,
            r#"[{"type":"resource","resource":{"uri":"a:b","blob":"AA==","mimeType":"x/y"},"_meta":{"k":null}}]"#,
        ] {
            assert_eq!(shown(json, NEW), json);
        }
        assert_eq!(shown("", NEW), "[]");
        assert_eq!(shown(" \n", NEW), "[]");
        assert_eq!(
            shown("\n[ {\"type\":\"text\",\r\n\"text\":\"a\"} ]\n", NEW),
            "[{\"type\":\"text\",  \"text\":\"a\"}]"
        );
        assert_eq!(
            shown(r#"[{"type":"text","text":"\ud800"}]"#, NEW),
            r#"[{"type":"text","text":"\ufffd"}]"#
        );
    }

    #[test]
    fn anything_else_becomes_one_text() {
        let deep = format!(
            r#"[{{"type":"text","text":"","x":{}1{}}}]"#,
            "[".repeat(JSON_DEPTH_MAX),
            "]".repeat(JSON_DEPTH_MAX)
        );
        for text in [
            "hello \"you\"\n",
            "42",
            "null",
            "\"quoted\"",
            "{\"type\":\"text\",\"text\":\"not in an array\"}",
            "[1]",
            "[null]",
            "[[]]",
            "[{}]",
            "[",
            "[]]",
            "[{\"type\":\"text\",\"text\":\"a\"},]",
            "[{\"type\":\"text\",\"text\":\"a\"}] tail",
            r#"[{"type":"text"}]"#,
            r#"[{"type":"text","text":null}]"#,
            r#"[{"type":"text","text":5}]"#,
            r#"[{"type":"text","text":"a","text":"b"}]"#,
            r#"[{"type":"video","data":"","mimeType":""}]"#,
            r#"[{"type":5,"text":"a"}]"#,
            r#"[{"type":"image","data":"AA=="}]"#,
            r#"[{"type":"audio","mimeType":"audio/wav"}]"#,
            r#"[{"type":"resource_link","uri":"a:b"}]"#,
            r#"[{"type":"resource","uri":"a:b"}]"#,
            r#"[{"type":"resource","resource":{"uri":"a:b"}}]"#,
            r#"[{"type":"resource","resource":{"text":"t"}}]"#,
            r#"[{"type":"resource","resource":[]}]"#,
            r#"[{"type":"text","text":"good"},{"type":"text"}]"#,
            &deep,
        ] {
            let expected = written(|out| {
                let mut array = Array::open(out);
                write_text_block(array.element(), text);
                array.close();
            });
            assert_eq!(shown(text, NEW), expected, "{text}");
            assert_eq!(normalize(text).only_text().as_deref(), Some(text));
            assert_eq!(normalize(text).written_len(), expected.len());
        }
    }

    #[test]
    fn nulls_that_strict_hosts_refuse_are_left_out() {
        let json = r#"[{"type":"text","text":"a","annotations":null,"_meta":null},{"type":"resource","resource":{"uri":"u","mimeType":null,"text":"t"},"annotations":{"audience":null,"priority":1},"_meta":{"own":null}}]"#;
        let expected = r#"[{"type":"text","text":"a"},{"type":"resource","resource":{"uri":"u","text":"t"},"annotations":{"priority":1},"_meta":{"own":null}}]"#;
        assert_eq!(shown(json, NEW), expected);
    }

    #[test]
    fn old_revisions_get_text_for_what_they_do_not_know() {
        let json = r#"[{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"text","text":"a"},{"type":"resource_link","uri":"a:b","name":"n"}]"#;
        let audio = r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#;
        let no_audio = r#"{"type":"text","text":"[audio of type audio/wav, which this host cannot take]"}"#;
        let no_link = r#"{"type":"text","text":"n: a:b"}"#;
        let text = r#"{"type":"text","text":"a"}"#;
        let table = [
            (Revision::V2024_11_05, format!("[{no_audio},{text},{no_link}]")),
            (Revision::V2025_03_26, format!("[{audio},{text},{no_link}]")),
            (Revision::V2025_06_18, json.to_owned()),
            (Revision::V2025_11_25, json.to_owned()),
        ];
        for (revision, expected) in table {
            assert_eq!(shown(json, revision), expected, "{revision:?}");
        }
        let only = |block: &str, revision| shown(&format!("[{block}]"), revision);
        assert_eq!(only(audio, Revision::V2024_11_05), format!("[{no_audio}]"));
        let link = r#"{"type":"resource_link","uri":"a:b","name":"n"}"#;
        assert_eq!(only(link, Revision::V2025_03_26), format!("[{no_link}]"));
    }

    #[test]
    fn what_the_texts_say() {
        let json = r#"[{"type":"text","text":"caf\u00e9"},{"type":"image","data":"","mimeType":"text"}]"#;
        assert!(normalize(json).says("café") && !normalize(json).says("tea"));
        assert!(normalize(json).has_text());
        assert_eq!(normalize(json).only_text(), None);
        assert!(!normalize(r#"[{"type":"image","data":"","mimeType":""}]"#).has_text());
        assert!(!normalize("").has_text());
        assert_eq!(
            normalize(r#"[{"type":"text","text":"{\"a\":1}"}]"#).only_text().as_deref(),
            Some("{\"a\":1}")
        );
    }

    #[test]
    fn one_block_of_a_prompt() {
        let one = |json: &str| written(|out| write_one(out, json, Revision::V2025_03_26));
        assert_eq!(one(r#"{"type":"text","text":"a"}"#), r#"{"type":"text","text":"a"}"#);
        assert_eq!(one(" {\"type\":\"text\",\n\"text\":\"a\"}"), r#"{"type":"text","text":"a"}"#);
        assert_eq!(one(r#"{"type":"text","text":"a","annotations":null}"#), r#"{"type":"text","text":"a"}"#);
        assert_eq!(one(r#""bare""#), r#"{"type":"text","text":"bare"}"#);
        assert_eq!(one("plain"), r#"{"type":"text","text":"plain"}"#);
        assert_eq!(one(""), r#"{"type":"text","text":""}"#);
        assert_eq!(one("{\"type\":\"x\"}"), r#"{"type":"text","text":"{\"type\":\"x\"}"}"#);
        assert_eq!(
            one(r#"{"type":"resource_link","uri":"u","name":"n"}"#),
            r#"{"type":"text","text":"n: u"}"#
        );
    }
}

//! What every result has around its own members: its type, a hint for caches, who made it.
//!
//! The handshake era has none of it; its results are their own members alone.

use super::revision::Revision;
use crate::jsonrpc::json::{self, Object};
use crate::jsonrpc::message::RequestId;

/// How results are spelled for one host.
#[derive(Clone, Copy, Debug)]
pub struct Dialect<'a> {
    /// What the host understands.
    pub revision: Revision,
    /// Our name and version, spelled once by
    /// [`ServerInfo::to_json`](super::lifecycle::ServerInfo::to_json); empty to keep them back.
    pub server_json: &'a str,
}

impl Dialect<'static> {
    /// Without our name.
    pub const fn of(revision: Revision) -> Self {
        Self { revision, server_json: "" }
    }
}

/// The key of our name in `_meta`.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The key of a stream's id in `_meta`.
pub(super) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// What a result takes beside its own members, for reservations.
pub(super) fn extra_len(dialect: Dialect<'_>) -> usize {
    if dialect.revision.has_result_type() { 96 + dialect.server_json.len() } else { 0 }
}

/// Opens a result that is complete.
pub(super) fn open<'o>(out: &'o mut Vec<u8>, dialect: Dialect<'_>) -> Object<'o> {
    open_as(out, dialect, "complete")
}

/// Opens a result of another type.
pub(super) fn open_as<'o>(out: &'o mut Vec<u8>, dialect: Dialect<'_>, kind: &str) -> Object<'o> {
    let mut result = Object::open(out);
    if dialect.revision.has_result_type() {
        result.text("resultType", kind);
    }
    result
}

/// Closes a result; `own` is what its maker wants in `_meta`, a sound JSON object.
pub(super) fn close(mut result: Object<'_>, dialect: Dialect<'_>, own: Option<&str>) {
    if !dialect.revision.has_result_type() || dialect.server_json.is_empty() {
        result.raw_if("_meta", own);
        return result.close();
    }
    let mut meta = open_meta(&mut result, own);
    // It was spelled by us, so it needs no look.
    meta.token(SERVER_INFO, dialect.server_json);
    meta.close();
    result.close();
}

/// Closes a result that hosts may keep. They are told not to: what a tool process offers may
/// change with the next file change, and what it answers may be for one person only.
pub(super) fn close_cacheable(mut result: Object<'_>, dialect: Dialect<'_>) {
    if dialect.revision.has_cache_hints() {
        result.number("ttlMs", 0);
        result.text("cacheScope", "private");
    }
    close(result, dialect, None);
}

/// Opens `_meta` with the maker's own members in it, but for our name: that is ours to say.
fn open_meta<'o>(result: &'o mut Object<'_>, own: Option<&str>) -> Object<'o> {
    let out = result.member("_meta");
    let mut meta = Object::open(out);
    for (name, value) in own.and_then(json::entries).unwrap_or_default() {
        if name != SERVER_INFO {
            meta.raw(&name, value.get());
        }
    }
    meta
}

/// Appends a result that only says that all went well: in the handshake era exactly `{}`.
pub fn write_empty(out: &mut Vec<u8>, dialect: Dialect<'_>) {
    close(open(out, dialect), dialect, None);
}

/// Appends the result of `subscriptions/listen`, which ends the stream of the request `id`.
pub fn write_listen_end(out: &mut Vec<u8>, dialect: Dialect<'_>, id: &RequestId) {
    let mut result = open(out, dialect);
    let mut meta = Object::open(result.member("_meta"));
    meta.token(SUBSCRIPTION_ID, id.as_str());
    if !dialect.server_json.is_empty() {
        meta.token(SERVER_INFO, dialect.server_json);
    }
    meta.close();
    result.close();
}

#[cfg(test)]
pub(super) mod proof {
    use super::*;
    use crate::mcp::revision::MODERN;

    /// The modern era's spelling in tests.
    pub(in crate::mcp) const MODERN_DIALECT: Dialect<'static> =
        Dialect { revision: MODERN, server_json: r#"{"name":"s","version":"1"}"# };

    /// What `own`, members with commas behind them, become in a modern result.
    pub(in crate::mcp) fn modern(own: &str) -> String {
        format!(r#"{{"resultType":"complete",{own}{META}}}"#)
    }

    /// The same for what hosts may keep.
    pub(in crate::mcp) fn modern_cacheable(own: &str) -> String {
        modern(&format!(r#"{own}"ttlMs":0,"cacheScope":"private","#))
    }

    const META: &str = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}"#;
}

#[cfg(test)]
mod tests {
    use super::proof::{MODERN_DIALECT, modern, modern_cacheable};
    use super::*;
    use crate::jsonrpc::json::proof::written;
    use crate::mcp::revision::MODERN;

    #[test]
    fn the_handshake_era_has_nothing_around_its_results() {
        for revision in Revision::ALL.into_iter().filter(|revision| !revision.is_modern()) {
            let dialect = Dialect { revision, ..MODERN_DIALECT };
            assert_eq!(written(|out| write_empty(out, dialect)), "{}");
            assert_eq!(written(|out| close_cacheable(open(out, dialect), dialect)), "{}");
            assert_eq!(written(|out| close(open(out, dialect), dialect, Some("{ }"))), r#"{"_meta":{ }}"#);
        }
    }

    #[test]
    fn modern_results_say_their_type_and_who_made_them() {
        assert_eq!(written(|out| write_empty(out, MODERN_DIALECT)), modern(""));
        let text = written(|out| close_cacheable(open(out, MODERN_DIALECT), MODERN_DIALECT));
        assert_eq!(text, modern_cacheable(""));
        let nameless = Dialect::of(MODERN);
        assert_eq!(written(|out| write_empty(out, nameless)), r#"{"resultType":"complete"}"#);
    }

    #[test]
    fn the_makers_meta_stays_but_for_our_name() {
        let ours = r#""io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}"#;
        let table = [
            ("{}", format!("{{{ours}}}")),
            ("{ \"a\" : [1],\n\"b\":null }", format!(r#"{{"a":[1],"b":null,{ours}}}"#)),
            (r#"{"io.modelcontextprotocol\/serverInfo":{"name":"x"},"a":1}"#, format!(r#"{{"a":1,{ours}}}"#)),
        ];
        for (own, expected) in table {
            let text = written(|out| close(open(out, MODERN_DIALECT), MODERN_DIALECT, Some(own)));
            assert_eq!(text, format!(r#"{{"resultType":"complete","_meta":{expected}}}"#));
        }
    }

    #[test]
    fn the_end_of_a_stream_names_it() {
        let raw = serde_json::from_str(r#""\u0061""#).unwrap();
        let id = RequestId::from_token(raw).unwrap();
        assert_eq!(
            written(|out| write_listen_end(out, MODERN_DIALECT, &id)),
            r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"\u0061","io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#
        );
    }
}

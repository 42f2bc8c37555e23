//! Resources and resource templates (server/resources).

use super::declared;
use super::error;
use super::result::{self, Dialect};
use super::revision::Revision;
use crate::jsonrpc::json::{self, Array, Object};
use crate::jsonrpc::message::RpcError;
use crate::wire::protomcp::{
    ReadResourceResponse, ResourceContent, ResourceDefinition, ResourceTemplateDefinition,
};

/// What a list shows of a resource or of a template.
struct Entry<'a> {
    uri_member: &'static str,
    uri: &'a str,
    name: &'a str,
    title: &'a str,
    description: &'a str,
    mime_type: &'a str,
    size: i64,
    annotations: &'a str,
    icons: &'a str,
    meta: &'a str,
}

impl<'a> From<&'a ResourceDefinition> for Entry<'a> {
    fn from(definition: &'a ResourceDefinition) -> Self {
        Self {
            uri_member: "uri",
            uri: &definition.uri,
            name: &definition.name,
            title: &definition.title,
            description: &definition.description,
            mime_type: &definition.mime_type,
            size: definition.size,
            annotations: &definition.annotations_json,
            icons: &definition.icons_json,
            meta: &definition.meta_json,
        }
    }
}

impl<'a> From<&'a ResourceTemplateDefinition> for Entry<'a> {
    fn from(definition: &'a ResourceTemplateDefinition) -> Self {
        Self {
            uri_member: "uriTemplate",
            uri: &definition.uri_template,
            name: &definition.name,
            title: &definition.title,
            description: &definition.description,
            mime_type: &definition.mime_type,
            size: 0,
            annotations: &definition.annotations_json,
            icons: &definition.icons_json,
            meta: &definition.meta_json,
        }
    }
}

impl Entry<'_> {
    fn write(&self, out: &mut Vec<u8>, revision: Revision) {
        let mut object = Object::open(out);
        object.text(self.uri_member, self.uri);
        // A name must be there; the URI is the best one that is left.
        object.text("name", if self.name.is_empty() { self.uri } else { self.name });
        if revision.has_titles() {
            object.text_if("title", self.title);
        }
        object.text_if("description", self.description);
        if revision.has_icons() {
            object.raw_if("icons", declared::icons(self.icons));
        }
        object.text_if("mimeType", self.mime_type);
        if self.size > 0 {
            object.number("size", self.size);
        }
        object.raw_if("annotations", declared::resource_annotations(self.annotations));
        if revision.has_meta() {
            object.raw_if("_meta", declared::meta(self.meta));
        }
        object.close();
    }

    fn warnings(&self) -> impl Iterator<Item = String> {
        let nameless = self.uri.is_empty().then(|| "a resource without a URI was left out".to_owned());
        let checks: [(&str, &str, declared::Check); 3] = [
            ("annotations", self.annotations, declared::resource_annotations),
            ("icons", self.icons, declared::icons),
            ("meta", self.meta, declared::meta),
        ];
        let complaints = checks.map(|(what, json, check)| {
            let complaint = declared::complaint(what, json, check)?;
            Some(format!("the resource \"{}\": {complaint}", self.uri))
        });
        nameless.into_iter().chain(complaints.into_iter().flatten())
    }
}

fn write_list<'a>(
    out: &mut Vec<u8>,
    member: &str,
    entries: impl Iterator<Item = Entry<'a>>,
    dialect: Dialect<'_>,
    next_cursor: Option<&str>,
) {
    let mut result = result::open(out, dialect);
    let mut list = Array::open(result.member(member));
    for entry in entries.filter(|entry| !entry.uri.is_empty()) {
        entry.write(list.element(), dialect.revision);
    }
    list.close();
    if let Some(cursor) = next_cursor {
        result.text("nextCursor", cursor);
    }
    result::close_cacheable(result, dialect);
}

/// Appends the result of `resources/list`.
pub fn write_resources(
    out: &mut Vec<u8>,
    resources: &[ResourceDefinition],
    dialect: Dialect<'_>,
    next_cursor: Option<&str>,
) {
    write_list(out, "resources", resources.iter().map(Entry::from), dialect, next_cursor);
}

/// Appends the result of `resources/templates/list`.
pub fn write_templates(
    out: &mut Vec<u8>,
    templates: &[ResourceTemplateDefinition],
    dialect: Dialect<'_>,
    next_cursor: Option<&str>,
) {
    write_list(out, "resourceTemplates", templates.iter().map(Entry::from), dialect, next_cursor);
}

/// What [`write_resources`] leaves out, for the person.
pub fn warnings(resources: &[ResourceDefinition]) -> Vec<String> {
    resources.iter().flat_map(|resource| Entry::from(resource).warnings().collect::<Vec<_>>()).collect()
}

/// What [`write_templates`] leaves out, for the person.
pub fn template_warnings(templates: &[ResourceTemplateDefinition]) -> Vec<String> {
    templates.iter().flat_map(|template| Entry::from(template).warnings().collect::<Vec<_>>()).collect()
}

/// How published SDKs, whose wire had no field for it, say that there is no such resource.
const NOT_FOUND_TEXT: &str = "Resource not found:";

/// Tells an answer to `resources/read` from a failure.
///
/// # Errors
/// [`error::resource_not_found`] for a resource that does not exist, `-32603` for another failure
/// if the tool process has no other code for it.
pub fn read_answer(
    revision: Revision,
    uri: &str,
    response: ReadResourceResponse,
) -> Result<ReadResourceResponse, RpcError> {
    if let Some(error) = &response.error {
        if error::is_not_found(error) {
            return Err(error::resource_not_found(revision, uri));
        }
        return Err(error::protocol(revision, error)
            .unwrap_or_else(|| error::failed("Reading the resource failed", error)));
    }
    let is_missing = |content: &ResourceContent| {
        content.blob.is_empty()
            && content.text.strip_prefix(NOT_FOUND_TEXT).is_some_and(|rest| rest.trim() == uri.trim())
    };
    match response.contents.as_slice() {
        [content] if is_missing(content) => Err(error::resource_not_found(revision, uri)),
        _ => Ok(response),
    }
}

/// Appends the result of `resources/read`; `uri` stands in for contents that do not name theirs.
pub fn write_read(out: &mut Vec<u8>, dialect: Dialect<'_>, uri: &str, response: &ReadResourceResponse) {
    let len = |content: &ResourceContent| {
        let data = if content.blob.is_empty() {
            json::string_len(&content.text)
        } else {
            json::base64_len(content.blob.len())
        };
        data + json::string_len(uri)
            + 6 * (content.uri.len() + content.mime_type.len())
            + content.meta_json.len()
            + 64
    };
    let contents_len = response.contents.iter().map(len).sum::<usize>();
    out.reserve_exact(contents_len + 64 + result::extra_len(dialect));
    let mut result = result::open(out, dialect);
    let mut list = Array::open(result.member("contents"));
    for content in &response.contents {
        let mut object = Object::open(list.element());
        object.text("uri", if content.uri.is_empty() { uri } else { &content.uri });
        object.text_if("mimeType", &content.mime_type);
        if content.blob.is_empty() {
            object.text("text", &content.text);
        } else {
            json::write_base64(object.member("blob"), &content.blob);
        }
        object.raw_if("_meta", declared::meta(&content.meta_json));
        object.close();
    }
    list.close();
    result::close_cacheable(result, dialect);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::json::proof::written;
    use crate::mcp::result::proof::{MODERN_DIALECT, modern_cacheable};
    use crate::mcp::revision::{LATEST, MODERN};
    use crate::wire::protomcp::ToolError;

    #[test]
    fn lists_by_revision() {
        let full = ResourceDefinition {
            uri: "a:b".into(),
            name: "n".into(),
            description: "d".into(),
            mime_type: "text/plain".into(),
            size: 3,
            title: "T".into(),
            annotations_json: r#"{"priority":1}"#.into(),
            icons_json: r#"[{"src":"i"}]"#.into(),
            meta_json: r#"{"k":1}"#.into(),
        };
        let base = r#""mimeType":"text/plain","size":3,"annotations":{"priority":1}"#;
        let table = [
            (Revision::V2024_11_05, format!(r#"{{"uri":"a:b","name":"n","description":"d",{base}}}"#)),
            (
                Revision::V2025_06_18,
                format!(
                    r#"{{"uri":"a:b","name":"n","title":"T","description":"d",{base},"_meta":{{"k":1}}}}"#
                ),
            ),
            (
                Revision::V2025_11_25,
                format!(
                    r#"{{"uri":"a:b","name":"n","title":"T","description":"d","icons":[{{"src":"i"}}],{base},"_meta":{{"k":1}}}}"#
                ),
            ),
        ];
        for (revision, expected) in table {
            let text =
                written(|out| write_resources(out, std::slice::from_ref(&full), Dialect::of(revision), None));
            assert_eq!(text, format!(r#"{{"resources":[{expected}]}}"#), "{revision:?}");
        }
        assert!(warnings(&[full]).is_empty());
    }

    #[test]
    fn bad_entries_do_not_poison_the_list() {
        let bad = ResourceDefinition {
            uri: "a:b".into(),
            size: -1,
            annotations_json: r#"{"priority":9}"#.into(),
            icons_json: "{}".into(),
            meta_json: "[".into(),
            ..Default::default()
        };
        let resources = [bad, ResourceDefinition { name: "no uri".into(), ..Default::default() }];
        let text =
            written(|out| write_resources(out, &resources, Dialect::of(Revision::V2025_11_25), Some("c")));
        assert_eq!(text, r#"{"resources":[{"uri":"a:b","name":"a:b"}],"nextCursor":"c"}"#);
        assert_eq!(warnings(&resources).len(), 4);

        let templates = [
            ResourceTemplateDefinition {
                uri_template: "a:{x}".into(),
                name: "n".into(),
                title: "T".into(),
                icons_json: "1".into(),
                ..Default::default()
            },
            ResourceTemplateDefinition::default(),
        ];
        let text = written(|out| write_templates(out, &templates, Dialect::of(Revision::V2025_06_18), None));
        assert_eq!(text, r#"{"resourceTemplates":[{"uriTemplate":"a:{x}","name":"n","title":"T"}]}"#);
        assert_eq!(template_warnings(&templates).len(), 2);
        let modern = written(|out| write_templates(out, &[], MODERN_DIALECT, None));
        assert_eq!(modern, modern_cacheable(r#""resourceTemplates":[],"#));
        let modern = written(|out| write_resources(out, &[], MODERN_DIALECT, Some("c")));
        assert_eq!(modern, modern_cacheable(r#""resources":[],"nextCursor":"c","#));
    }

    fn text(text: &str) -> ReadResourceResponse {
        ReadResourceResponse {
            contents: vec![ResourceContent { text: text.into(), ..Default::default() }],
            error: None,
        }
    }

    #[test]
    fn reading_tells_answers_from_failures() {
        for good in ["", "hello", "Resource not found: other:x", "A Resource not found: a:b"] {
            assert_eq!(read_answer(LATEST, "a:b", text(good)), Ok(text(good)), "{good}");
        }
        assert!(read_answer(LATEST, "a:b", ReadResourceResponse::default()).is_ok());
        for missing in ["Resource not found: a:b", "Resource not found:a:b\n"] {
            let error = read_answer(LATEST, "a:b", text(missing)).unwrap_err();
            assert_eq!((error.code, error.data.as_deref()), (-32002, Some(r#"{"uri":"a:b"}"#)), "{missing}");
        }
        let failed = |code: &str| {
            let error = ToolError { error_code: code.into(), message: "m".into(), ..Default::default() };
            read_answer(LATEST, "a:b", ReadResourceResponse { contents: Vec::new(), error: Some(error) })
                .unwrap_err()
        };
        assert_eq!(failed("NOT_FOUND").code, -32002);
        assert_eq!(failed("OTHER").code, -32603);
        for (revision, rpc_code, expected) in
            [(LATEST, -32002, -32002), (MODERN, -32002, -32602), (MODERN, -32042, -32603), (MODERN, 5, 5)]
        {
            let error = Some(ToolError { rpc_code, ..ToolError::default() });
            let response = ReadResourceResponse { contents: Vec::new(), error };
            assert_eq!(read_answer(revision, "a:b", response).unwrap_err().code, expected, "{rpc_code}");
        }
        assert!(failed("OTHER").message.ends_with(": m"));
        let error = read_answer(MODERN, "a:b", text("Resource not found: a:b")).unwrap_err();
        assert_eq!((error.code, error.data.as_deref()), (-32602, Some(r#"{"uri":"a:b"}"#)));
    }

    #[test]
    fn contents_are_text_or_base64() {
        let response = ReadResourceResponse {
            contents: vec![
                ResourceContent { text: "a\nb".into(), mime_type: "text/plain".into(), ..Default::default() },
                ResourceContent {
                    uri: "c:d".into(),
                    blob: vec![1, 2],
                    text: "ignored".into(),
                    meta_json: "{}".into(),
                    ..Default::default()
                },
                ResourceContent { meta_json: "nonsense".into(), ..Default::default() },
            ],
            error: None,
        };
        let shown = written(|out| write_read(out, Dialect::of(LATEST), "a:b", &response));
        assert_eq!(
            shown,
            r#"{"contents":[{"uri":"a:b","mimeType":"text/plain","text":"a\nb"},{"uri":"c:d","blob":"AQI=","_meta":{}},{"uri":"a:b","text":""}]}"#
        );
        let modern = written(|out| write_read(out, MODERN_DIALECT, "a:b", &text("")));
        assert_eq!(modern, modern_cacheable(r#""contents":[{"uri":"a:b","text":""}],"#));
        let mut out = Vec::new();
        let blob = vec![7; 3_000_000];
        let contents = vec![ResourceContent { blob, ..Default::default() }];
        write_read(&mut out, MODERN_DIALECT, "a:b", &ReadResourceResponse { contents, error: None });
        assert!(out.capacity() < out.len() + 512, "{} {}", out.capacity(), out.len());
    }
}

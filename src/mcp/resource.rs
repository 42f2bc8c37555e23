//! Resources and resource templates (server/resources).

use super::declared;
use super::error::{self, NOT_FOUND};
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
        let owner = format!("resource {}", self.uri);
        let nameless = self.uri.is_empty().then(|| "a resource without a URI was left out".to_owned());
        let checks: [(&str, &str, declared::Check); 3] = [
            ("annotations", self.annotations, declared::resource_annotations),
            ("icons", self.icons, declared::icons),
            ("meta", self.meta, declared::meta),
        ];
        let complaints = checks.map(|(what, json, check)| declared::complaint(&owner, what, json, check));
        nameless.into_iter().chain(complaints.into_iter().flatten())
    }
}

fn write_list<'a>(
    out: &mut Vec<u8>,
    member: &str,
    entries: impl Iterator<Item = Entry<'a>>,
    revision: Revision,
    next_cursor: Option<&str>,
) {
    let mut result = Object::open(out);
    let mut list = Array::open(result.member(member));
    for entry in entries.filter(|entry| !entry.uri.is_empty()) {
        entry.write(list.element(), revision);
    }
    list.close();
    if let Some(cursor) = next_cursor {
        result.text("nextCursor", cursor);
    }
    result.close();
}

/// Appends the result of `resources/list`.
pub fn write_resources(
    out: &mut Vec<u8>,
    resources: &[ResourceDefinition],
    revision: Revision,
    next_cursor: Option<&str>,
) {
    write_list(out, "resources", resources.iter().map(Entry::from), revision, next_cursor);
}

/// Appends the result of `resources/templates/list`.
pub fn write_templates(
    out: &mut Vec<u8>,
    templates: &[ResourceTemplateDefinition],
    revision: Revision,
    next_cursor: Option<&str>,
) {
    write_list(out, "resourceTemplates", templates.iter().map(Entry::from), revision, next_cursor);
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
/// `-32002` with the URI for a resource that does not exist, `-32603` for another failure.
pub fn read_answer(uri: &str, response: ReadResourceResponse) -> Result<ReadResourceResponse, RpcError> {
    if let Some(error) = &response.error {
        return Err(match error.error_code.as_str() {
            NOT_FOUND => error::resource_not_found(uri),
            _ => error::failed("Reading the resource failed", error),
        });
    }
    let is_missing = |content: &ResourceContent| {
        content.blob.is_empty()
            && content.text.strip_prefix(NOT_FOUND_TEXT).is_some_and(|rest| rest.trim() == uri.trim())
    };
    match response.contents.as_slice() {
        [content] if is_missing(content) => Err(error::resource_not_found(uri)),
        _ => Ok(response),
    }
}

/// Appends the result of `resources/read`; `uri` stands in for contents that do not name theirs.
pub fn write_read(out: &mut Vec<u8>, uri: &str, response: &ReadResourceResponse) {
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
    out.reserve_exact(response.contents.iter().map(len).sum::<usize>() + 64);
    let mut result = Object::open(out);
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
    result.close();
}

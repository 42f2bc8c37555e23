//! Notifications to a host. Each function appends one whole message.

use super::logging::{self, Level};
use super::request::Filter;
use super::result::SUBSCRIPTION_ID;
use super::revision::Revision;
use super::task;
use crate::jsonrpc::json::{self, Array, Object};
use crate::jsonrpc::message::{RequestId, write_notification};

/// The list of tools is another one. In the modern era `stream` is the `subscriptions/listen` that
/// wants to hear it.
pub fn tools_changed(out: &mut Vec<u8>, stream: Option<&RequestId>) {
    changed(out, "notifications/tools/list_changed", stream);
}

/// The list of resources or of resource templates is another one; `stream` as above.
pub fn resources_changed(out: &mut Vec<u8>, stream: Option<&RequestId>) {
    changed(out, "notifications/resources/list_changed", stream);
}

/// The list of prompts is another one; `stream` as above.
pub fn prompts_changed(out: &mut Vec<u8>, stream: Option<&RequestId>) {
    changed(out, "notifications/prompts/list_changed", stream);
}

fn changed(out: &mut Vec<u8>, method: &str, stream: Option<&RequestId>) {
    write_notification(out, method, |out| {
        let mut params = Object::open(out);
        write_stream(&mut params, stream);
        params.close();
    });
}

/// A resource that the host subscribed to has new content; `stream` as above.
pub fn resource_updated(out: &mut Vec<u8>, uri: &str, stream: Option<&RequestId>) {
    write_notification(out, "notifications/resources/updated", |out| {
        let mut params = Object::open(out);
        params.text("uri", uri);
        write_stream(&mut params, stream);
        params.close();
    });
}

/// The first message on a stream: what of `filter` will be heard there.
pub fn acknowledged(out: &mut Vec<u8>, stream: &RequestId, filter: &Filter) {
    write_notification(out, "notifications/subscriptions/acknowledged", |out| {
        let mut params = Object::open(out);
        let mut heard = Object::open(params.member("notifications"));
        let flags = [
            ("toolsListChanged", filter.tools),
            ("promptsListChanged", filter.prompts),
            ("resourcesListChanged", filter.resources),
        ];
        flags.iter().filter(|(_, is_wanted)| *is_wanted).for_each(|(name, _)| heard.flag(name, true));
        for (name, texts) in [("resourceSubscriptions", &filter.resource_uris), ("taskIds", &filter.task_ids)]
        {
            if !texts.is_empty() {
                let mut list = Array::open(heard.member(name));
                texts.iter().for_each(|text| json::write_str(list.element(), text));
                list.close();
            }
        }
        heard.close();
        write_stream(&mut params, Some(stream));
        params.close();
    });
}

/// Adds the id of the stream that a notification belongs to, spelled as the host spelled it.
pub(super) fn write_stream(params: &mut Object<'_>, stream: Option<&RequestId>) {
    if let Some(stream) = stream {
        let mut meta = Object::open(params.member("_meta"));
        meta.token(SUBSCRIPTION_ID, stream.as_str());
        meta.close();
    }
}

/// Adds which task a notification belongs to, in the revision that has tasks in its core.
fn write_task(params: &mut Object<'_>, related_task: Option<&str>) {
    if let Some(id) = related_task {
        let mut meta = Object::open(params.member("_meta"));
        task::write_related(&mut meta, id);
        meta.close();
    }
}

/// How far a request is (basic/utilities/progress). `token_raw` is the token as the host spelled
/// it; a `total` of 0 and an empty message are left out. `related_task` is the task that it is
/// about, if the revision has tasks in its core; the modern era has no progress of tasks.
pub fn progress(
    out: &mut Vec<u8>,
    revision: Revision,
    token_raw: &str,
    progress: i64,
    total: i64,
    message: &str,
    related_task: Option<&str>,
) {
    write_notification(out, "notifications/progress", |out| {
        let mut params = Object::open(out);
        params.token("progressToken", token_raw);
        params.number("progress", progress);
        if total != 0 {
            params.number("total", total);
        }
        if revision.has_progress_message() {
            params.text_if("message", message);
        }
        write_task(&mut params, related_task);
        params.close();
    });
}

/// A log message; see [`logging::write_log`] for `data_json`; `related_task` as above.
pub fn log(out: &mut Vec<u8>, level: Level, logger: &str, data_json: &str, related_task: Option<&str>) {
    write_notification(out, "notifications/message", |out| {
        let mut params = Object::open(out);
        logging::write_log(&mut params, level, logger, data_json);
        write_task(&mut params, related_task);
        params.close();
    });
}

/// We no longer want the answer to our request `id` (basic/utilities/cancellation); `related_task`
/// as above.
pub fn cancelled_host_request(out: &mut Vec<u8>, id: u64, reason: &str, related_task: Option<&str>) {
    write_notification(out, "notifications/cancelled", |out| {
        let mut params = Object::open(out);
        json::write_number(params.member("requestId"), id);
        params.text_if("reason", reason);
        write_task(&mut params, related_task);
        params.close();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_is_one_message() {
        let table = [
            (
                written(|out| tools_changed(out, None)),
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}"#,
            ),
            (
                written(|out| resources_changed(out, None)),
                r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{}}"#,
            ),
            (
                written(|out| prompts_changed(out, None)),
                r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}"#,
            ),
            (
                written(|out| resource_updated(out, "a:\nb", None)),
                r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:\nb"}}"#,
            ),
            (
                written(|out| log(out, Level::Notice, "db", "slow", None)),
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"notice","logger":"db","data":"slow"}}"#,
            ),
            (
                written(|out| cancelled_host_request(out, 7, "", None)),
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#,
            ),
            (
                written(|out| cancelled_host_request(out, 7, "late", None)),
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"late"}}"#,
            ),
        ];
        for (text, expected) in table {
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn what_is_heard_on_a_stream_names_it() {
        let id = |token: &str| RequestId::from_token(serde_json::from_str(token).unwrap()).unwrap();
        let all = Filter {
            tools: true,
            prompts: true,
            resources: true,
            resource_uris: vec!["a:\"b".into()],
            task_ids: vec!["t".into(), "u".into()],
        };
        let some = Filter { resources: true, ..Filter::default() };
        let table = [
            (
                written(|out| acknowledged(out, &id("5"), &all)),
                r#""notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:\"b"],"taskIds":["t","u"]},"_meta":{"io.modelcontextprotocol/subscriptionId":5}}"#,
            ),
            (
                written(|out| acknowledged(out, &id(r#""5""#), &some)),
                r#""notifications/subscriptions/acknowledged","params":{"notifications":{"resourcesListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":"5"}}"#,
            ),
            (
                written(|out| acknowledged(out, &id("0"), &Filter::default())),
                r#""notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":0}}"#,
            ),
            (
                written(|out| tools_changed(out, Some(&id(r#""\u0061""#)))),
                r#""notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"\u0061"}}"#,
            ),
            (
                written(|out| resource_updated(out, "a:b", Some(&id("-1")))),
                r#""notifications/resources/updated","params":{"uri":"a:b","_meta":{"io.modelcontextprotocol/subscriptionId":-1}}"#,
            ),
        ];
        for (text, expected) in table {
            assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","method":{expected}}}"#));
        }
    }

    #[test]
    fn what_a_task_says_names_it() {
        let id = Some("t");
        let related = r#""_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}"#;
        for text in [
            written(|out| progress(out, Revision::V2025_11_25, "1", 5, 0, "", id)),
            written(|out| log(out, Level::Info, "", "1", id)),
            written(|out| cancelled_host_request(out, 7, "", id)),
        ] {
            assert!(text.ends_with(&format!(",{related}}}}}")), "{text}");
        }
    }

    #[test]
    fn progress_keeps_the_token_and_leaves_out_what_is_unknown() {
        let table = [
            (
                Revision::V2025_11_25,
                "0",
                10,
                "go",
                r#"{"progressToken":0,"progress":5,"total":10,"message":"go"}"#,
            ),
            (Revision::V2024_11_05, "\"\"", 10, "go", r#"{"progressToken":"","progress":5,"total":10}"#),
            (Revision::V2025_03_26, "\"\\u0061\"", 0, "", r#"{"progressToken":"\u0061","progress":5}"#),
        ];
        for (revision, token, total, message, params) in table {
            let text = written(|out| progress(out, revision, token, 5, total, message, None));
            let expected =
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
            assert_eq!(text, expected);
        }
    }
}

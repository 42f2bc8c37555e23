//! Notifications to a host. Each function appends one whole message.

use super::logging::{self, Level};
use super::revision::Revision;
use crate::jsonrpc::json::{self, Object};
use crate::jsonrpc::message::write_notification;

/// The list of tools is another one.
pub fn tools_changed(out: &mut Vec<u8>) {
    changed(out, "notifications/tools/list_changed");
}

/// The list of resources or of resource templates is another one.
pub fn resources_changed(out: &mut Vec<u8>) {
    changed(out, "notifications/resources/list_changed");
}

/// The list of prompts is another one.
pub fn prompts_changed(out: &mut Vec<u8>) {
    changed(out, "notifications/prompts/list_changed");
}

fn changed(out: &mut Vec<u8>, method: &str) {
    write_notification(out, method, |out| out.extend_from_slice(b"{}"));
}

/// A resource that the host subscribed to has new content.
pub fn resource_updated(out: &mut Vec<u8>, uri: &str) {
    write_notification(out, "notifications/resources/updated", |out| {
        let mut params = Object::open(out);
        params.text("uri", uri);
        params.close();
    });
}

/// How far a request is (basic/utilities/progress). `token_raw` is the token as the host spelled
/// it; a `total` of 0 and an empty message are left out.
pub fn progress(
    out: &mut Vec<u8>,
    revision: Revision,
    token_raw: &str,
    progress: i64,
    total: i64,
    message: &str,
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
        params.close();
    });
}

/// A log message; see [`logging::write_log`] for `data_json`.
pub fn log(out: &mut Vec<u8>, level: Level, logger: &str, data_json: &str) {
    write_notification(out, "notifications/message", |out| {
        logging::write_log(out, level, logger, data_json);
    });
}

/// We no longer want the answer to our request `id` (basic/utilities/cancellation).
pub fn cancelled_host_request(out: &mut Vec<u8>, id: u64, reason: &str) {
    write_notification(out, "notifications/cancelled", |out| {
        let mut params = Object::open(out);
        json::write_number(params.member("requestId"), id);
        params.text_if("reason", reason);
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
                written(tools_changed),
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}"#,
            ),
            (
                written(resources_changed),
                r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{}}"#,
            ),
            (
                written(prompts_changed),
                r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{}}"#,
            ),
            (
                written(|out| resource_updated(out, "a:\nb")),
                r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:\nb"}}"#,
            ),
            (
                written(|out| log(out, Level::Notice, "db", "slow")),
                r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"notice","logger":"db","data":"slow"}}"#,
            ),
            (
                written(|out| cancelled_host_request(out, 7, "")),
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#,
            ),
            (
                written(|out| cancelled_host_request(out, 7, "late")),
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"late"}}"#,
            ),
        ];
        for (text, expected) in table {
            assert_eq!(text, expected);
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
            let text = written(|out| progress(out, revision, token, 5, total, message));
            let expected =
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
            assert_eq!(text, expected);
        }
    }
}

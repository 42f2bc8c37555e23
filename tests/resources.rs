//! Resources: lists, reading, subscriptions.

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::*;
use serde_json::{Value, json};

use crate::support::raw_tool::{Trio, tool};

fn trio() -> Trio {
    Trio::with(
        vec![tool("any")],
        |setup| setup,
        |lists| {
            lists.resources = vec![
                ResourceDefinition {
                    uri: "test://a".into(),
                    name: "a".into(),
                    description: "The first".into(),
                    mime_type: "text/plain".into(),
                    size: 12,
                    title: "A".into(),
                    annotations_json: r#"{"priority":0.5}"#.into(),
                    ..ResourceDefinition::default()
                },
                ResourceDefinition {
                    uri: "test://b".into(),
                    name: "b".into(),
                    ..ResourceDefinition::default()
                },
            ];
            lists.templates = vec![ResourceTemplateDefinition {
                uri_template: "note://{id}".into(),
                name: "note".into(),
                description: "One note".into(),
                ..ResourceTemplateDefinition::default()
            }];
        },
    )
}

/// Reads a resource; the other side gives this answer.
#[track_caller]
fn read(trio: &mut Trio, uri: &str, response: ReadResourceResponse) -> Value {
    let id = trio.host.request("resources/read", json!({"uri": uri}));
    let envelope = trio.peer.next();
    let Some(Msg::ReadResourceRequest(request)) = envelope.msg else {
        panic!("{envelope:?}");
    };
    assert_eq!(request.uri, uri);
    trio.peer.send(&envelope.request_id, Msg::ReadResourceResponse(response));
    trio.host.answer(id)
}

#[test]
fn lists_say_what_the_tool_process_said() {
    let mut trio = trio();
    assert_eq!(
        trio.host.ask("resources/list", Value::Null),
        json!({"resources": [
            {
                "uri": "test://a",
                "name": "a",
                "title": "A",
                "description": "The first",
                "mimeType": "text/plain",
                "size": 12,
                "annotations": {"priority": 0.5},
            },
            {"uri": "test://b", "name": "b"},
        ]})
    );
    assert_eq!(
        trio.host.ask("resources/templates/list", json!({})),
        json!({"resourceTemplates": [
            {"uriTemplate": "note://{id}", "name": "note", "description": "One note"},
        ]})
    );
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        let error = trio.host.ask_for_error(method, json!({"cursor": "no such"}));
        assert_eq!(error["code"], -32602, "{method}");
    }
}

#[test]
fn a_long_list_of_resources_comes_in_pages() {
    let mut trio = Trio::with(
        vec![tool("any")],
        |setup| setup,
        |lists| {
            lists.resources = (0..1001)
                .map(|number| ResourceDefinition {
                    uri: format!("test://{number:04}"),
                    name: format!("{number}"),
                    ..ResourceDefinition::default()
                })
                .collect();
        },
    );
    let first = trio.host.ask("resources/list", Value::Null);
    assert_eq!(first["resources"].as_array().unwrap().len(), 1000);
    let second = trio.host.ask("resources/list", json!({"cursor": first["nextCursor"]}));
    assert_eq!(second["resources"], json!([{"uri": "test://1000", "name": "1000"}]));
    assert!(second.get("nextCursor").is_none());
}

#[test]
fn text_and_bytes_are_read() {
    let mut trio = trio();
    let response = ReadResourceResponse {
        contents: vec![
            ResourceContent {
                uri: "test://a".into(),
                mime_type: "text/plain".into(),
                text: "a \"text\"\n".into(),
                ..ResourceContent::default()
            },
            ResourceContent {
                uri: "test://a/bytes".into(),
                blob: vec![0, 1, 254, 255],
                ..ResourceContent::default()
            },
            ResourceContent { uri: "test://a/empty".into(), ..ResourceContent::default() },
        ],
        error: None,
    };
    assert_eq!(
        read(&mut trio, "test://a", response)["result"],
        json!({"contents": [
            {"uri": "test://a", "mimeType": "text/plain", "text": "a \"text\"\n"},
            {"uri": "test://a/bytes", "blob": "AAH+/w=="},
            {"uri": "test://a/empty", "text": ""},
        ]})
    );
}

#[test]
fn what_is_not_found_is_a_protocol_error_that_names_it() {
    let mut trio = trio();
    // As published SDKs say it.
    let response = ReadResourceResponse {
        contents: vec![ResourceContent {
            uri: "test://z".into(),
            mime_type: "text/plain".into(),
            text: "Resource not found: test://z".into(),
            ..ResourceContent::default()
        }],
        error: None,
    };
    let answer = read(&mut trio, "test://z", response);
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    assert_eq!(answer["error"]["data"], json!({"uri": "test://z"}));

    // With the field that says so.
    let response = ReadResourceResponse {
        contents: vec![],
        error: Some(ToolError {
            error_code: "NOT_FOUND".into(),
            message: "nothing there".into(),
            ..ToolError::default()
        }),
    };
    let answer = read(&mut trio, "test://y", response);
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    assert_eq!(answer["error"]["data"], json!({"uri": "test://y"}));

    // A text that only looks like it is a text.
    let response = ReadResourceResponse {
        contents: vec![ResourceContent {
            uri: "test://a".into(),
            text: "Resource not found: is how errors begin".into(),
            ..ResourceContent::default()
        }],
        error: None,
    };
    assert!(read(&mut trio, "test://a", response)["result"].is_object());

    for params in [json!({}), json!({"uri": 7}), json!({"uri": null})] {
        let error = trio.host.ask_for_error("resources/read", params);
        assert_eq!(error["code"], -32602, "{error}");
    }
}

#[test]
fn only_subscribers_hear_of_changes() {
    let mut trio = trio();
    let changed = |uri: &str| Msg::ResourceChanged(ResourceChangedNotification { uri: uri.into() });
    trio.host.ask("resources/subscribe", json!({"uri": "test://a"}));
    trio.peer.send("", changed("test://a"));
    trio.peer.send("", changed("test://b"));
    let params = trio.host.notification("notifications/resources/updated");
    assert_eq!(params, json!({"uri": "test://a"}));
    trio.lives();
    assert!(trio.host.rest().is_empty(), "nobody subscribed to the other one");

    trio.host.ask("resources/unsubscribe", json!({"uri": "test://a"}));
    trio.peer.send("", changed("test://a"));
    trio.lives();
    assert!(trio.host.rest().is_empty());
    assert_eq!(trio.host.ask_for_error("resources/subscribe", json!({}))["code"], -32602);
}

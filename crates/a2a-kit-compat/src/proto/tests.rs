//! Tests of `a2a.v1`: conversions, and types that are shared with 1.0.

use a2a_core::{
    ErrorKind, Message, Part, TaskState,
    v1::{self, part::Content, send_message_response, stream_response::Payload},
    well_known::Struct,
};
use prost_reflect::{DescriptorPool, FieldDescriptor, MessageDescriptor};
use serde_json::{Value, json};

use super::{DESCRIPTOR, Part as LegacyPart, json as view};
use crate::AnyResponse;

fn printed(written: a2a_core::Result<Vec<u8>>) -> Value {
    serde_json::from_slice(&written.unwrap()).unwrap()
}

fn shape(message: &MessageDescriptor) -> Vec<String> {
    let mut fields: Vec<_> = message
        .fields()
        .map(|field| {
            let kind = match field.kind() {
                prost_reflect::Kind::Message(message) if message.is_map_entry() => {
                    shape(&message).join(",")
                }
                prost_reflect::Kind::Message(message) => format!("message {}", message.name()),
                other => format!("{other:?}"),
            };
            format!("{} {} {:?} {kind}", field.number(), field.name(), field.cardinality())
        })
        .collect();
    fields.sort();
    fields
}

/// Messages whose types, and so their JSON, are those of 1.0.
const SHARED: [&str; 12] = [
    "APIKeySecurityScheme",
    "AgentCardSignature",
    "AgentExtension",
    "AgentProvider",
    "ClientCredentialsOAuthFlow",
    "HTTPAuthSecurityScheme",
    "ImplicitOAuthFlow",
    "MutualTlsSecurityScheme",
    "OpenIdConnectSecurityScheme",
    "PasswordOAuthFlow",
    "Security",
    "StringList",
];

#[test]
fn json_of_every_other_message_is_generated() {
    let generated = include_str!(concat!(env!("OUT_DIR"), "/a2a.v1.serde.rs"));
    let pool = DescriptorPool::decode(DESCRIPTOR).unwrap();
    let messages = pool.all_messages().filter(|message| {
        message.full_name().starts_with("a2a.v1.")
            && !message.is_map_entry()
            && !SHARED.contains(&message.name())
    });
    for message in messages {
        for implemented in ["serde::Serialize", "serde::Deserialize<'de>"] {
            let implemented = format!("{implemented} for {} {{", message.name());
            assert!(generated.contains(&implemented), "{implemented}");
        }
    }
}

/// What deployed clients send, and pbjson alone rejects or reads differently.
#[test]
fn documents_are_made_canonical_before_they_are_read() {
    let of_message = |text: &str| format!(r#"{{"message":{text}}}"#);
    for text in [
        of_message(r#"{"messageId":null}"#),
        of_message(r#"{"role":"user"}"#),
        of_message(r#"{"role":null,"content":null}"#),
        of_message(r#"{"content":[{"text":"x","data":null}]}"#),
        of_message(r#"{"content":[{"file":{"fileWithBytes":"aGVs\nbG8="}}]}"#),
        r#"{"configuration":{}}"#.to_owned(),
        r#"{"configuration":{"blocking":null}}"#.to_owned(),
        r#"{"configuration":{"blocking":true,"historyLength":3.0}}"#.to_owned(),
    ] {
        let by_pbjson = serde_json::from_str::<super::SendMessageRequest>(&text).ok();
        let read = view::read_send_request(text.as_bytes()).unwrap();
        assert_ne!(by_pbjson.map(Into::into), Some(read), "{text}");
    }
    for text in [
        r#"{"status":{"state":"completed"}}"#,
        r#"{"status":{"state":"TASK_STATE_CANCELED"}}"#,
        r#"{"status":{"timestamp":"2026-01-02T03:04:05"}}"#,
        r#"{"status":{"timestamp":"yesterday"}}"#,
        r#"{"history":[{"role":"assistant"}]}"#,
        r#"{"artifacts":null}"#,
    ] {
        let by_pbjson = serde_json::from_str::<super::Task>(text).ok();
        let read = view::read_task(text.as_bytes()).unwrap();
        assert_ne!(by_pbjson.map(Into::into), Some(read), "{text}");
    }
    // What pbjson ignores: names of other revisions and implementations.
    let parts = of_message(
        r#"{"parts":[{"file":{"bytes":"aA==","mediaType":"a/b"}},{"file":{"uri":"u"}}]}"#,
    );
    let read = view::read_send_request(parts.as_bytes()).unwrap().message.unwrap().parts;
    assert_eq!(read, [Part::raw(&b"h"[..]).with_media_type("a/b"), Part::url("u")]);
    let text = r#"{"configuration":{"push_notification_config":{"url":"u"}}}"#;
    let read = view::read_send_request(text.as_bytes()).unwrap().configuration.unwrap();
    assert_eq!(read.task_push_notification_config.unwrap().url, "u");
}

#[test]
fn ambiguous_documents_are_rejected() {
    let deep = format!(r#"{{"metadata":{}1{}}}"#, r#"{"a":"#.repeat(130), "}".repeat(130));
    for text in [
        r#"{"message":{"messageId":"a","messageId":"b"}}"#,
        r#"{"message":{"messageId":"a","message_id":"b"}}"#,
        r#"{"message":null,"message":{}}"#,
        r#"{"message":{},"request":{}}"#,
        r#"{"message":{"content":[],"parts":[]}}"#,
        r#"{"message":{"content":[{"text":"x","data":{}}]}}"#,
        r#"{"message":{"content":[null]}}"#,
        r#"{"message":{"role":"nobody"}}"#,
        r#"{"message":{"role":7}}"#,
        r#"{"message":[]}"#,
        r#"{"configuration":{"blocking":"yes"}}"#,
        r#"{"configuration":{"historyLength":2147483648}}"#,
        r#"{"configuration":{"historyLength":0.5}}"#,
        r#"{"metadata":{"a":1e999}}"#,
        r#"{"metadata":[]}"#,
        &deep,
        "[]",
        "null",
    ] {
        assert!(view::read_send_request(text.as_bytes()).is_err(), "{text}");
    }
    // What an extension adds is not read.
    let unknown = r#"{"x":{"state":"odd","role":7,"timestamp":{}},"message":{"x":[null]}}"#;
    view::read_send_request(unknown.as_bytes()).unwrap();
}

#[test]
fn shared_types_are_identical_in_both_packages() {
    let older = DescriptorPool::decode(DESCRIPTOR).unwrap();
    let current = DescriptorPool::decode(a2a_core::DESCRIPTOR).unwrap();
    for name in SHARED {
        let name_now = if name == "Security" { "SecurityRequirement" } else { name };
        let older = older.get_message_by_name(&format!("a2a.v1.{name}")).expect(name);
        let current = current.get_message_by_name(&format!("lf.a2a.v1.{name_now}")).expect(name);
        assert_eq!(shape(&older), shape(&current), "{name}");
    }
    for name in ["TaskState", "Role"] {
        let values = |pool: &DescriptorPool, package: &str| -> Vec<_> {
            let item = pool.get_enum_by_name(&format!("{package}.{name}")).expect(name);
            let spelled = |name: &str| name.replace("CANCELLED", "CANCELED");
            item.values().map(|value| (value.number(), spelled(value.name()))).collect()
        };
        assert_eq!(values(&older, "a2a.v1"), values(&current, "lf.a2a.v1"), "{name}");
    }
}

#[test]
fn only_file_parts_have_names() {
    for (part, expected) in [
        (Part::text("x"), json!({"text": "x"})),
        (
            Part::raw(&b"\xfb\xff"[..]).with_media_type("a/b").with_filename("f"),
            json!({"file": {"fileWithBytes": "+/8=", "mimeType": "a/b", "name": "f"}}),
        ),
        (Part::url("https://x"), json!({"file": {"fileWithUri": "https://x"}})),
        (
            Part::data(json!({"a": 1})).with_metadata(Struct::from([("k", 1)])),
            json!({"data": {"data": {"a": 1}}, "metadata": {"k": 1}}),
        ),
        (
            Part::data(json!([1])),
            json!({"data": {"data": {"value": [1]}}, "metadata": {"data_part_compat": true}}),
        ),
    ] {
        let written = serde_json::to_value(LegacyPart::from(part.clone())).unwrap();
        assert_eq!(written, expected);
        let read: LegacyPart = serde_json::from_value(written).unwrap();
        assert_eq!(Part::from(read), part);
    }
}

#[test]
fn part_has_at_most_one_content() {
    let two = json!({"text": "x", "data": {"data": {}}});
    assert!(serde_json::from_value::<LegacyPart>(two).is_err());
    for none in [json!({}), json!({"file": {}}), json!({"text": null})] {
        let part: LegacyPart = serde_json::from_value(none).unwrap();
        assert_eq!(Part::from(part).content, None);
    }
    let url_safe = json!({"file": {"file_with_bytes": "-_8", "mime_type": "a/b"}});
    let part = Part::from(serde_json::from_value::<LegacyPart>(url_safe).unwrap());
    assert_eq!(part.content, Some(Content::Raw(b"\xfb\xff"[..].into())));
    assert_eq!(part.media_type, "a/b");
}

// covers: R-476
#[test]
fn requests_are_read_leniently() {
    let part = || json!({"text": "hi"});
    for body in [
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [part()]}}),
        json!({"request": {"message_id": "m", "role": "ROLE_USER", "content": [part()]}}),
        json!({"request": {"messageId": "m", "role": 1, "parts": [part()], "metadata": null}}),
        json!({"message": {"messageId": "m", "role": "user", "content": [part()],
            "contextId": null, "unknown": 1}, "configuration": null}),
    ] {
        let read = view::read_send_request(body.to_string().as_bytes()).unwrap();
        let expected = Message {
            message_id: "m".into(),
            role: a2a_core::Role::User.into(),
            parts: vec![Part::text("hi")],
            ..Message::default()
        };
        assert_eq!(read.message, Some(expected), "{body}");
    }
    for (body, kind) in [
        ("{", ErrorKind::ParseError),
        ("[]", ErrorKind::InvalidParams),
        (r#"{"message": 1}"#, ErrorKind::InvalidParams),
        (r#"{"message": {"content": [{"text": 1}]}}"#, ErrorKind::InvalidParams),
    ] {
        let error = view::read_send_request(body.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), kind, "{body}");
    }
}

#[test]
fn send_without_configuration_is_blocking() {
    for (configuration, at_once) in [
        (json!(null), false),
        (json!({}), true),
        (json!({"blocking": true}), false),
        (json!({"blocking": false}), true),
    ] {
        let body = json!({"configuration": configuration}).to_string();
        let read = view::read_send_request(body.as_bytes()).unwrap();
        let read = read.configuration.unwrap_or_default();
        assert_eq!(read.return_immediately, at_once, "{configuration}");
    }
    let read = v1::SendMessageRequest::from(super::SendMessageRequest::default());
    assert!(!read.configuration.unwrap_or_default().return_immediately);
}

#[test]
fn requests_are_written_without_unknown_members() {
    let request = v1::SendMessageRequest {
        message: Some(Message {
            message_id: "m".into(),
            reference_task_ids: vec!["t0".into()],
            ..Message::user("hi")
        }),
        configuration: Some(v1::SendMessageConfiguration {
            task_push_notification_config: Some(v1::TaskPushNotificationConfig {
                id: "c".into(),
                url: "https://x".into(),
                authentication: Some(v1::AuthenticationInfo {
                    scheme: "Bearer".into(),
                    credentials: "s".into(),
                }),
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..Default::default()
    };
    let expected = json!({
        "message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]},
        "configuration": {
            "blocking": true,
            "pushNotification": {
                "id": "c",
                "url": "https://x",
                "authentication": {"schemes": ["Bearer"], "credentials": "s"},
            },
        },
    });
    assert_eq!(printed(view::write_send_request(request)), expected);
}

#[test]
fn canceled_state_is_spelled_cancelled() {
    let task = v1::Task {
        id: "t".into(),
        context_id: "c".into(),
        status: Some(v1::TaskStatus {
            state: TaskState::Canceled.into(),
            message: Some(Message { message_id: "m".into(), ..Message::agent("bye") }),
            timestamp: Some("2026-01-02T03:04:05Z".parse().unwrap()),
        }),
        ..Default::default()
    };
    let expected = json!({
        "id": "t",
        "contextId": "c",
        "status": {
            "state": "TASK_STATE_CANCELLED",
            "message": {"messageId": "m", "role": "ROLE_AGENT", "content": [{"text": "bye"}]},
            "timestamp": "2026-01-02T03:04:05Z",
        },
    });
    let written = printed(view::write_response(AnyResponse::Task(task.clone().into())));
    let timestamp = written["status"]["timestamp"].as_str().unwrap();
    assert!(timestamp.starts_with("2026-01-02T03:04:05"), "{timestamp}");
    assert_eq!(written["status"]["state"], expected["status"]["state"]);
    assert_eq!(written["status"]["message"], expected["status"]["message"]);
    for state in ["TASK_STATE_CANCELLED", "TASK_STATE_CANCELED", "canceled", "cancelled"] {
        let mut spelled = expected.clone();
        spelled["status"]["state"] = state.into();
        let read = view::read_task(spelled.to_string().as_bytes()).unwrap();
        assert_eq!(read, task, "{state}");
    }
}

#[test]
fn last_event_is_marked_final() {
    let update = v1::TaskStatusUpdateEvent { task_id: "t".into(), ..Default::default() };
    let event = v1::StreamResponse { payload: Some(Payload::StatusUpdate(update)) };
    for is_last in [true, false] {
        let written = printed(view::write_event(event.clone(), is_last));
        assert_eq!(written, json!({"statusUpdate": {"taskId": "t", "final": is_last}}));
    }
    for name in ["message", "msg"] {
        let event = json!({name: {"messageId": "m", "role": "ROLE_AGENT"}}).to_string();
        let read = view::read_event(event.as_bytes()).unwrap();
        assert!(matches!(read.payload, Some(Payload::Message(_))), "{name}");
        let read = view::read_send_response(event.as_bytes()).unwrap();
        assert!(matches!(read.payload, Some(send_message_response::Payload::Message(_))), "{name}");
    }
    for nothing in ["{}", r#"{"kind": "task"}"#, "[]", "x"] {
        let error = view::read_event(nothing.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{nothing}");
    }
}

#[test]
fn webhooks_are_read_in_all_documented_formats() {
    let webhook = json!({"id": "c", "url": "https://x"});
    for body in [
        json!({"parent": "tasks/t", "configId": "c", "config": {
            "name": "tasks/t/pushNotificationConfigs/c", "pushNotificationConfig": webhook}}),
        json!({"config_id": "c", "config": {"push_notification_config": {"url": "https://x"}}}),
        json!({"config": {"pushNotificationConfig": webhook}}),
        json!({"config": webhook}),
        json!({"pushNotificationConfig": webhook}),
        webhook.clone(),
    ] {
        let read = view::read_create_config(body.to_string().as_bytes(), "t").unwrap();
        let read = (read.task_id, read.id, read.url);
        assert_eq!(read, ("t".to_owned(), "c".to_owned(), "https://x".to_owned()), "{body}");
    }
    let error = view::read_create_config(b"{}", "t").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
}

#[test]
fn webhook_lists_are_read_from_a_page_or_a_bare_list() {
    let config = json!({
        "name": "tasks/t/pushNotificationConfigs/c",
        "pushNotificationConfig": {"url": "https://x"},
    });
    for body in [json!({"configs": [config]}), json!([config])] {
        let page = view::read_configs(body.to_string().as_bytes()).unwrap();
        assert_eq!(page.configs[0].id, "c", "{body}");
        assert_eq!(page.configs[0].task_id, "t", "{body}");
    }
}

/// The package as text: a line for each method, field and value.
fn outline(pool: &DescriptorPool) -> String {
    let of_package = |name: &str| name.starts_with("a2a.v1.");
    let mut lines = Vec::new();
    for method in pool.services().flat_map(|service| service.methods().collect::<Vec<_>>()) {
        let streams = if method.is_server_streaming() { "stream " } else { "" };
        let (input, output) = (method.input(), method.output());
        lines.push(format!("rpc {} {} {streams}{}", method.name(), input.name(), output.name()));
    }
    for item in pool.all_enums().filter(|item| of_package(item.full_name())) {
        for value in item.values() {
            lines.push(format!("{} {} {}", item.name(), value.number(), value.name()));
        }
    }
    for message in pool.all_messages().filter(|message| of_package(message.full_name())) {
        if !message.is_map_entry() {
            let name = message.name();
            lines.extend(message.fields().map(|field| format!("{name} {}", outline_of(&field))));
        }
    }
    lines.sort();
    lines.join("\n") + "\n"
}

fn outline_of(field: &FieldDescriptor) -> String {
    let kind = match field.kind() {
        prost_reflect::Kind::Message(message) if message.is_map_entry() => {
            let kinds = message.fields().map(|field| match field.kind() {
                prost_reflect::Kind::Message(message) => message.name().to_owned(),
                other => format!("{other:?}"),
            });
            format!("map<{}>", kinds.collect::<Vec<_>>().join(","))
        }
        prost_reflect::Kind::Message(message) => message.name().to_owned(),
        prost_reflect::Kind::Enum(item) => item.name().to_owned(),
        other => format!("{other:?}"),
    };
    let repeated = if field.is_list() { " repeated" } else { "" };
    let oneof = field.containing_oneof().filter(|oneof| !oneof.is_synthetic());
    let oneof = oneof.map(|oneof| format!(" of {}", oneof.name())).unwrap_or_default();
    format!("{:02} {} {} {kind}{repeated}{oneof}", field.number(), field.name(), field.json_name())
}

/// The proto was compared with the descriptors in the SDKs of 0.2.16 and 0.3.26, and only differs
/// from them in the JSON name of `request` in 0.2. The rest is from the draft.
#[test]
fn descriptor_matches_the_older_releases() {
    let pool = DescriptorPool::decode(DESCRIPTOR).unwrap();
    assert_eq!(outline(&pool), include_str!("a2a.v1.txt"));
}

//! Responses, events and cards.

use a2a_core::{
    ErrorKind, Role, TaskState,
    v1::{self, StreamResponse, TaskStatus, stream_response::Payload},
};
use serde_json::{Value, json};

use crate::{
    Dialect as _,
    v1_draft::{V1Draft, read_card},
};

#[test]
fn state_names_and_last_events() {
    for (state, name, is_final_inside, is_final_at_the_end) in [
        (TaskState::Submitted, json!("submitted"), false, false),
        (TaskState::Working, json!("working"), false, false),
        (TaskState::Completed, json!("completed"), true, true),
        (TaskState::Failed, json!("failed"), true, true),
        (TaskState::Canceled, json!("cancelled"), true, true),
        (TaskState::Rejected, json!("rejected"), true, true),
        (TaskState::InputRequired, json!("input-required"), false, true),
        (TaskState::AuthRequired, json!("auth-required"), false, true),
        (TaskState::Unspecified, json!(null), false, false),
    ] {
        let status = TaskStatus { state: state.into(), ..TaskStatus::default() };
        let update = v1::TaskStatusUpdateEvent {
            task_id: "t".into(),
            context_id: "c".into(),
            status: Some(status),
            ..Default::default()
        };
        let event = StreamResponse { payload: Some(Payload::StatusUpdate(update)) };
        for (is_last, is_final) in [(false, is_final_inside), (true, is_final_at_the_end)] {
            let written = V1Draft.write_event(&event, is_last);
            assert_eq!(written["statusUpdate"]["status"]["state"], name, "{state:?}");
            assert_eq!(written["statusUpdate"]["final"], is_final, "{state:?}");
        }
    }
}

#[test]
fn response_without_ids_is_read() {
    let parts = json!([{"text": "x"}]);
    let event = json!({"msg": {"parts": parts}});
    let Some(Payload::Message(message)) = V1Draft.read_event(event).unwrap().payload else {
        panic!("no message")
    };
    assert_eq!(message.role(), Role::Agent);
    assert!(!message.message_id.is_empty());
    for wrong in [json!(null), json!({}), json!({"task": {"id": "t"}}), json!({"message": {}})] {
        let error = V1Draft.read_event(wrong.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{wrong}");
    }
}

#[test]
fn security_schemes_are_read_in_both_formats() {
    let card = |schemes: Value, security: Value| {
        let card = json!({"name": "n", "url": "https://a.b", "supportsExtendedAgentCard": true,
            "additionalInterfaces": [{"url": "https://a.b", "transport": "JSONRPC"},
                {"url": "https://c.d", "transport": "GRPC"}],
            "securitySchemes": schemes, "security": security});
        read_card(&card).unwrap()
    };
    let flow = json!({"tokenUrl": "https://t", "scopes": {"a": "b"}});
    let flat = card(
        json!({
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "http": {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"},
            "oauth": {"type": "oauth2", "flows": {"password": flow, "clientCredentials": flow}},
            "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://o"},
            "tls": {"type": "mutualTLS", "description": "d"},
            "new": {"type": "somethingElse"},
        }),
        json!([{"key": [], "oauth": ["a"]}]),
    );
    let nested = card(
        json!({
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "http": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"clientCredentials": flow}}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://o"}},
            "tls": {"mtlsSecurityScheme": {"description": "d"}},
            "new": {},
        }),
        json!([{"schemes": {"key": {"list": []}, "oauth": {"list": ["a"]}}}]),
    );
    assert_eq!(flat, nested);
    assert!(flat.has_extended_card());
    let interfaces: Vec<_> = flat
        .supported_interfaces
        .iter()
        .map(|i| (&*i.url, &*i.protocol_binding, &*i.protocol_version))
        .collect();
    assert_eq!(interfaces, [("https://a.b", "JSONRPC", "1.0"), ("https://c.d", "GRPC", "1.0")]);
}

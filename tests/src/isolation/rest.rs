//! HTTP+JSON requests in each revision.

use a2a_core::ProtocolVersion::{self, V0_3, V1_0, V1Draft};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::{
    jsonrpc::{current_message, draft_message, object},
    probe::{Probe, Target},
    wire::WireRequest,
};

pub(super) fn request(
    revision: ProtocolVersion,
    probe: Probe,
    target: &Target,
) -> Option<WireRequest> {
    let mut headers = target.headers(probe);
    let prefix = match revision {
        V1_0 if target.tenant.is_empty() => String::new(),
        V1_0 => format!("/{}", target.tenant),
        V1Draft | V0_3 => "/v1".to_owned(),
        _ => return None,
    };
    if revision != V0_3 {
        headers.push(("a2a-version", "1.0".to_owned()));
    }
    let task = format!("/tasks/{}", target.task);
    let configs = format!("{task}/pushNotificationConfigs");
    let config = format!("{configs}/{}", target.config);
    let (method, path) = match probe {
        Probe::Send => (Method::POST, "/message:send".to_owned()),
        Probe::Stream => (Method::POST, "/message:stream".to_owned()),
        Probe::Get => (Method::GET, task),
        Probe::List => (Method::GET, format!("/tasks{}", query(target))),
        Probe::Cancel => (Method::POST, format!("{task}:cancel")),
        Probe::Subscribe | Probe::Resume => (Method::POST, format!("{task}:subscribe")),
        Probe::CreateConfig => (Method::POST, configs),
        Probe::GetConfig => (Method::GET, config),
        Probe::ListConfigs => (Method::GET, configs),
        Probe::DeleteConfig => (Method::DELETE, config),
        Probe::Card if revision == V0_3 => (Method::GET, "/card".to_owned()),
        Probe::Card => (Method::GET, "/extendedAgentCard".to_owned()),
    };
    let body = match probe {
        Probe::Send | Probe::Stream => Some(match revision {
            V1_0 => json!({"message": current_message(target)}),
            V1Draft => {
                json!({"message": draft_message(target), "configuration": {"blocking": true}})
            }
            _ => json!({"message": proto_message(target), "configuration": {"blocking": true}}),
        }),
        Probe::CreateConfig => Some(match revision {
            V1_0 => json!({"id": target.config, "url": target.webhook}),
            _ => json!({
                "parent": format!("tasks/{}", target.task),
                "configId": target.config,
                "config": {
                    "name": format!("tasks/{}/pushNotificationConfigs/{}", target.task, target.config),
                    "pushNotificationConfig": {"id": target.config, "url": target.webhook},
                },
            }),
        }),
        Probe::Cancel | Probe::Subscribe | Probe::Resume => Some(json!({})),
        _ => None,
    };
    let body = body.map_or_else(Bytes::new, |body| {
        headers.push(("content-type", "application/json".to_owned()));
        body.to_string().into()
    });
    Some(WireRequest { method, path: format!("{prefix}{path}"), headers, body, http2: false })
}

fn query(target: &Target) -> String {
    let mut pairs = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in [("contextId", &target.context), ("pageToken", &target.page_token)] {
        if !value.is_empty() {
            pairs.append_pair(name, value);
        }
    }
    if let Some(size) = target.page_size {
        pairs.append_pair("pageSize", &size.to_string());
    }
    let pairs = pairs.finish();
    if pairs.is_empty() { pairs } else { format!("?{pairs}") }
}

/// A message in the format of the 0.3 proto, which has no references.
fn proto_message(target: &Target) -> Value {
    object([
        ("messageId", json!("m")),
        ("role", json!("ROLE_USER")),
        ("content", json!([{"text": target.text}])),
        ("taskId", json!(target.task)),
        ("contextId", json!(target.context)),
    ])
}

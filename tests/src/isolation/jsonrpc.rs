//! JSON-RPC requests in each revision.

use a2a_core::ProtocolVersion::{self, V0_1, V0_2, V0_3, V1_0, V1Draft};
use http::Method;
use serde_json::{Map, Value, json};

use super::{
    probe::{Probe, Target},
    wire::WireRequest,
};

pub(super) fn request(
    revision: ProtocolVersion,
    probe: Probe,
    target: &Target,
) -> Option<WireRequest> {
    let mut headers = vec![("content-type", "application/json".to_owned())];
    headers.extend(target.headers(probe));
    if revision == V0_2 && probe == Probe::Card {
        // The only one that is not a method.
        return Some(WireRequest {
            method: Method::GET,
            path: "/agent/authenticatedExtendedCard".to_owned(),
            headers,
            body: bytes::Bytes::new(),
            http2: false,
        });
    }
    let version = match revision {
        V1_0 => Some("1.0"),
        // As in the examples of the draft.
        V1Draft | V0_3 => Some("0.3"),
        V0_2 => Some("0.2.5"),
        V0_1 => None,
    };
    headers.extend(version.map(|version| ("a2a-version", version.to_owned())));
    let (method, params) = match revision {
        V1_0 => current(probe, target),
        V1Draft => draft(probe, target),
        V0_3 | V0_2 => kind(revision, probe, target)?,
        V0_1 => first(probe, target)?,
    };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    Some(WireRequest {
        method: Method::POST,
        path: "/".to_owned(),
        headers,
        body: body.to_string().into(),
        http2: false,
    })
}

/// An object without empty members.
pub(super) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let members = members.into_iter().filter(|(_, value)| {
        !(value.is_null()
            || value.as_str() == Some("")
            || value.as_array().is_some_and(Vec::is_empty))
    });
    Value::Object(members.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

pub(super) fn references(target: &Target) -> Value {
    if target.reference.is_empty() { Value::Null } else { json!([target.reference]) }
}

pub(super) fn current_message(target: &Target) -> Value {
    object([
        ("messageId", json!("m")),
        ("role", json!("ROLE_USER")),
        ("parts", json!([{"text": target.text}])),
        ("taskId", json!(target.task)),
        ("contextId", json!(target.context)),
        ("referenceTaskIds", references(target)),
    ])
}

fn current(probe: Probe, target: &Target) -> (&'static str, Value) {
    let tenant = || ("tenant", json!(target.tenant));
    let id = || object([tenant(), ("id", json!(target.task))]);
    let config =
        || object([tenant(), ("taskId", json!(target.task)), ("id", json!(target.config))]);
    let send = || object([tenant(), ("message", current_message(target))]);
    match probe {
        Probe::Send => ("SendMessage", send()),
        Probe::Stream => ("SendStreamingMessage", send()),
        Probe::Get => ("GetTask", id()),
        Probe::List => ("ListTasks", list(target, [tenant()])),
        Probe::Cancel => ("CancelTask", id()),
        Probe::Subscribe | Probe::Resume => ("SubscribeToTask", id()),
        Probe::CreateConfig => {
            let mut config = config();
            config["url"] = json!(target.webhook);
            ("CreateTaskPushNotificationConfig", config)
        }
        Probe::GetConfig => ("GetTaskPushNotificationConfig", config()),
        Probe::ListConfigs => {
            ("ListTaskPushNotificationConfigs", object([tenant(), ("taskId", json!(target.task))]))
        }
        Probe::DeleteConfig => ("DeleteTaskPushNotificationConfig", config()),
        Probe::Card => ("GetExtendedAgentCard", object([tenant()])),
    }
}

fn list<const N: usize>(target: &Target, others: [(&str, Value); N]) -> Value {
    let mut list = object([
        ("contextId", json!(target.context)),
        ("pageToken", json!(target.page_token)),
        ("pageSize", json!(target.page_size)),
    ]);
    for (name, value) in others {
        if value != "" {
            list[name] = value;
        }
    }
    list
}

pub(super) fn draft_message(target: &Target) -> Value {
    let mut message = current_message(target);
    message["role"] = json!("user");
    message
}

/// The draft uses resource names.
fn draft(probe: Probe, target: &Target) -> (&'static str, Value) {
    let name = || json!({"name": format!("tasks/{}", target.task)});
    let config = || json!({"name": format!("tasks/{}/pushNotificationConfigs/{}", target.task, target.config)});
    let send = || json!({"message": draft_message(target), "configuration": {"blocking": true}});
    match probe {
        Probe::Send => ("SendMessage", send()),
        Probe::Stream => ("SendStreamingMessage", send()),
        Probe::Get => ("GetTask", name()),
        Probe::List => ("ListTasks", list(target, [])),
        Probe::Cancel => ("CancelTask", name()),
        Probe::Subscribe | Probe::Resume => ("SubscribeToTask", name()),
        Probe::CreateConfig => (
            "SetTaskPushNotificationConfig",
            json!({
                "parent": format!("tasks/{}", target.task),
                "configId": target.config,
                "config": {"pushNotificationConfig": {"id": target.config, "url": target.webhook}},
            }),
        ),
        Probe::GetConfig => ("GetTaskPushNotificationConfig", config()),
        Probe::ListConfigs => {
            ("ListTaskPushNotificationConfig", json!({"parent": format!("tasks/{}", target.task)}))
        }
        Probe::DeleteConfig => ("DeleteTaskPushNotificationConfig", config()),
        Probe::Card => ("GetExtendedAgentCard", json!({})),
    }
}

fn kind(revision: ProtocolVersion, probe: Probe, target: &Target) -> Option<(&'static str, Value)> {
    let id = || json!({"id": target.task});
    let config = || json!({"id": target.task, "pushNotificationConfigId": target.config});
    let send = || {
        let message = object([
            ("kind", json!("message")),
            ("messageId", json!("m")),
            ("role", json!("user")),
            ("parts", json!([{"kind": "text", "text": target.text}])),
            ("taskId", json!(target.task)),
            ("contextId", json!(target.context)),
            ("referenceTaskIds", references(target)),
        ]);
        json!({"message": message})
    };
    Some(match probe {
        Probe::Send => ("message/send", send()),
        Probe::Stream => ("message/stream", send()),
        Probe::Get => ("tasks/get", id()),
        Probe::List => return None,
        Probe::Cancel => ("tasks/cancel", id()),
        Probe::Subscribe | Probe::Resume => ("tasks/resubscribe", id()),
        Probe::CreateConfig => (
            "tasks/pushNotificationConfig/set",
            json!({
                "taskId": target.task,
                "pushNotificationConfig": {"id": target.config, "url": target.webhook},
            }),
        ),
        Probe::GetConfig => ("tasks/pushNotificationConfig/get", config()),
        Probe::ListConfigs => ("tasks/pushNotificationConfig/list", id()),
        Probe::DeleteConfig => ("tasks/pushNotificationConfig/delete", config()),
        Probe::Card if revision == V0_3 => ("agent/getAuthenticatedExtendedCard", json!({})),
        Probe::Card => return None,
    })
}

fn first(probe: Probe, target: &Target) -> Option<(&'static str, Value)> {
    let id = || json!({"id": target.task});
    let send = || {
        object([
            ("id", json!(target.task)),
            ("sessionId", json!(target.context)),
            ("message", json!({"role": "user", "parts": [{"type": "text", "text": target.text}]})),
        ])
    };
    Some(match probe {
        Probe::Send => ("tasks/send", send()),
        Probe::Stream => ("tasks/sendSubscribe", send()),
        Probe::Get => ("tasks/get", id()),
        Probe::Cancel => ("tasks/cancel", id()),
        Probe::Subscribe | Probe::Resume => ("tasks/resubscribe", id()),
        Probe::CreateConfig => (
            "tasks/pushNotification/set",
            json!({"id": target.task, "pushNotificationConfig": {"url": target.webhook}}),
        ),
        Probe::GetConfig => ("tasks/pushNotification/get", id()),
        Probe::List | Probe::ListConfigs | Probe::DeleteConfig | Probe::Card => return None,
    })
}

//! ProtoJSON of these messages, which the official SDKs of 0.3 use over REST: lowerCamelCase
//! members, `TASK_STATE_…`, resource names. pbjson reads and writes it.
//!
//! Reading is lenient: see [`Canonical`]. Errors about requests are
//! [`ParseError`](a2a_core::ErrorKind::ParseError) and
//! [`InvalidParams`](a2a_core::ErrorKind::InvalidParams), those about responses
//! [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).

use std::sync::Arc;

use a2a_core::{
    AgentCard, Error, Result, json,
    v1::{self, ListTaskPushNotificationConfigsResponse},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    CreateConfig, CreateTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigResponse,
    SendMessageRequest, SendMessageResponse, StreamResponse, Task, TaskPushNotificationConfig,
    event_from_v1, lenient::Canonical,
};
use crate::{
    AnyResponse, card,
    common::{json::unreadable, parts::Parts, task::drop_invalid_timestamp},
    v0_3,
};

/// Reads the body of `message:send` and `message:stream`.
///
/// A configuration without `blocking` is non-blocking: SDKs omit false. A request without a
/// configuration is blocking.
pub(crate) fn read_send_request(body: &[u8]) -> Result<v1::SendMessageRequest> {
    let Canonical(request) = json::from_slice(body)?;
    Ok(json::from_value::<SendMessageRequest>(&request)?.into())
}

/// Writes the body of `message:send` and `message:stream`.
pub(crate) fn write_send_request(request: v1::SendMessageRequest) -> Result<Vec<u8>> {
    write(&SendMessageRequest::from(writable(request)))
}

/// Reads the response of `message:send`.
pub(crate) fn read_send_response(body: &[u8]) -> Result<v1::SendMessageResponse> {
    let response = read_response::<SendMessageResponse>(body)?;
    if response.payload.is_none() {
        return Err(without_content(body));
    }
    Ok(response.into())
}

/// Reads an event.
pub(crate) fn read_event(data: &[u8]) -> Result<v1::StreamResponse> {
    let event = read_response::<StreamResponse>(data)?;
    if event.payload.is_none() {
        return Err(without_content(data));
    }
    Ok(event.into())
}

/// Writes an event; `is_last`: whether the stream ends with it.
pub(crate) fn write_event(event: v1::StreamResponse, is_last: bool) -> Result<Vec<u8>> {
    write(&event_from_v1(writable(event), is_last))
}

/// Reads a task.
pub(crate) fn read_task(body: &[u8]) -> Result<v1::Task> {
    Ok(read_response::<Task>(body)?.into())
}

/// Reads a webhook registration: `{config: {pushNotificationConfig}}`, with or without `parent` and
/// `configId`, a bare webhook, or one in `config` or `pushNotificationConfig`. `task_id` is that of
/// the path, and takes precedence.
pub(crate) fn read_create_config(
    body: &[u8],
    task_id: &str,
) -> Result<v1::TaskPushNotificationConfig> {
    let Canonical(Value::Object(mut members)) = json::from_slice(body)? else {
        return Err(Error::invalid_params("", "must be an object"));
    };
    let config = match members.remove("config") {
        Some(config) if config.get("pushNotificationConfig").is_some() => config,
        found => {
            let bare = || members.contains_key("url").then(|| members.clone().into());
            let webhook = found.or_else(bare).or_else(|| members.remove("pushNotificationConfig"));
            json!({"pushNotificationConfig": webhook})
        }
    };
    members.insert("config".into(), config);
    let request: CreateTaskPushNotificationConfigRequest = json::from_value(&members.into())?;
    let config = CreateConfig::from(request).into_v1()?;
    Ok(v1::TaskPushNotificationConfig { task_id: task_id.to_owned(), ..config })
}

/// Writes a webhook registration.
pub(crate) fn write_create_config(config: v1::TaskPushNotificationConfig) -> Result<Vec<u8>> {
    write(&CreateTaskPushNotificationConfigRequest::from(CreateConfig::from_v1(config)))
}

/// Reads a registered webhook.
pub(crate) fn read_config(body: &[u8]) -> Result<v1::TaskPushNotificationConfig> {
    read_response::<TaskPushNotificationConfig>(body)?.into_v1().map_err(unreadable)
}

/// Writes a registered webhook.
pub(crate) fn write_config(config: v1::TaskPushNotificationConfig) -> Result<Vec<u8>> {
    write(&TaskPushNotificationConfig::from(config))
}

/// Reads the webhooks of a task: a page or a bare list.
pub(crate) fn read_configs(body: &[u8]) -> Result<ListTaskPushNotificationConfigsResponse> {
    let Canonical(mut page) = json::response_from_slice(body)?;
    if page.is_array() {
        page = json!({"configs": page});
    }
    let page: ListTaskPushNotificationConfigResponse = from_canonical(&page)?;
    page.into_v1().map_err(unreadable)
}

/// Writes a response.
pub(crate) fn write_response(response: AnyResponse) -> Result<Vec<u8>> {
    match response {
        AnyResponse::Sent(response) => write(&SendMessageResponse::from(writable(response))),
        AnyResponse::Task(task) => write(&Task::from(writable(Arc::unwrap_or_clone(task)))),
        // The specification of 0.3 has no pages.
        AnyResponse::Tasks(page) => {
            write(&writable(page.tasks).into_iter().map(Task::from).collect::<Vec<_>>())
        }
        AnyResponse::Config(config) => write_config(config),
        AnyResponse::Configs(page) => write(&ListTaskPushNotificationConfigResponse::from(page)),
        AnyResponse::Deleted => Ok(b"{}".to_vec()),
        AnyResponse::Card(card) => write(&write_card(&card)),
    }
}

/// Writes a hybrid card: some clients read the JSON format of 0.3, some its ProtoJSON. A card
/// without an interface of 0.3 still gets the members that 0.3 requires.
fn write_card(card: &AgentCard) -> Value {
    let mut hybrid = card::write_hybrid(card);
    if let (Value::Object(members), Value::Object(older)) = (&mut hybrid, v0_3::write_card(card)) {
        for (name, value) in older {
            members.entry(name).or_insert(value);
        }
    }
    hybrid
}

fn read_response<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let Canonical(response) = json::response_from_slice(body)?;
    from_canonical(&response)
}

fn from_canonical<T: DeserializeOwned>(response: &Value) -> Result<T> {
    json::response_from_value(response).map_err(unreadable)
}

#[cold]
fn without_content(body: &[u8]) -> Error {
    let shown = json::quote(&json::response_text(body));
    Error::invalid_response(format!(
        "the response is neither a task, a message nor an update: {shown}"
    ))
}

/// Drops what clients of 0.3 reject and what JSON can't represent.
fn writable<T: Parts>(mut value: T) -> T {
    value.each_status(|status| {
        status.state = status.state().into();
        drop_invalid_timestamp(status);
    });
    value.each_message(|message| {
        message.role = message.role().into();
        message.reference_task_ids.clear();
    });
    value
}

fn write<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(Error::internal)
}

//! ProtoJSON of these messages, which the official SDKs of 0.3 use over REST: lowerCamelCase
//! members, `TASK_STATE_…`, resource names.
//!
//! Reading is lenient: `snake_case`, `request` or `msg` for `message`, `parts` for `content`, and
//! `null` for unset members are accepted.

use a2a_core::{
    Error, Result, json,
    v1::{self, ListTaskPushNotificationConfigsResponse},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    CreateConfig, CreateTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigResponse,
    PushNotificationConfig, SendMessageRequest, SendMessageResponse, StreamResponse, Task,
    TaskPushNotificationConfig, event_from_v1,
};
use crate::common::json::{invalid_response, unreadable};

/// Reads the body of `message:send` and `message:stream`.
///
/// A configuration without `blocking` is non-blocking: SDKs omit false. A request without a
/// configuration is blocking.
///
/// # Errors
///
/// [`ParseError`](a2a_core::ErrorKind::ParseError) and [`InvalidParams`](a2a_core::ErrorKind::InvalidParams).
pub(crate) fn read_send_request(body: &[u8]) -> Result<v1::SendMessageRequest> {
    Ok(read_request::<SendMessageRequest>(body)?.into())
}

/// Writes the body of `message:send` and `message:stream`.
pub(crate) fn write_send_request(request: v1::SendMessageRequest) -> Result<Vec<u8>> {
    write(&SendMessageRequest::from(request))
}

/// Reads the response of `message:send`.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub(crate) fn read_send_response(body: &[u8]) -> Result<v1::SendMessageResponse> {
    let response = read_result::<SendMessageResponse>(body)?;
    if response.payload.is_none() {
        return Err(without_content(body));
    }
    Ok(response.into())
}

/// Writes the response of `message:send`.
pub(crate) fn write_send_response(response: v1::SendMessageResponse) -> Result<Vec<u8>> {
    write(&SendMessageResponse::from(response))
}

/// Reads an event.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub(crate) fn read_event(data: &[u8]) -> Result<v1::StreamResponse> {
    let event = read_result::<StreamResponse>(data)?;
    if event.payload.is_none() {
        return Err(without_content(data));
    }
    Ok(event.into())
}

#[cold]
fn without_content(body: &[u8]) -> Error {
    let shown = json::quote(&json::response_text(body));
    invalid_response(format!("the response is neither a task, a message nor an update: {shown}"))
}

/// Writes an event; `is_last`: whether the stream ends with it.
pub(crate) fn write_event(event: v1::StreamResponse, is_last: bool) -> Result<Vec<u8>> {
    write(&event_from_v1(event, is_last))
}

/// Reads a task.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub(crate) fn read_task(body: &[u8]) -> Result<v1::Task> {
    Ok(read_result::<Task>(body)?.into())
}

/// Writes a task.
pub(crate) fn write_task(task: v1::Task) -> Result<Vec<u8>> {
    write(&Task::from(task))
}

/// Writes a list of tasks, which has no pages in the specification of 0.3.
pub(crate) fn write_tasks(tasks: Vec<v1::Task>) -> Result<Vec<u8>> {
    write(&tasks.into_iter().map(Task::from).collect::<Vec<_>>())
}

/// Reads a webhook registration: `{config: {pushNotificationConfig}}`, with or without `parent` and
/// `configId`, a bare webhook, or one in `config` or `pushNotificationConfig`. `task_id` is that of
/// the path.
///
/// # Errors
///
/// [`ParseError`](a2a_core::ErrorKind::ParseError) and [`InvalidParams`](a2a_core::ErrorKind::InvalidParams).
pub(crate) fn read_create_config(
    body: &[u8],
    task_id: &str,
) -> Result<v1::TaskPushNotificationConfig> {
    /// The members that identify the format.
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Peek {
        config: Option<Box<Self>>,
        #[serde(alias = "push_notification_config")]
        push_notification_config: Option<PushNotificationConfig>,
        #[serde(alias = "config_id")]
        config_id: String,
        url: Option<String>,
    }
    #[derive(Deserialize)]
    struct Wrapped {
        config: PushNotificationConfig,
    }
    let peek: Peek = json::from_slice(body)?;
    let webhook = match &peek.config {
        Some(config) if config.push_notification_config.is_some() => None,
        Some(_) => Some(read_request::<Wrapped>(body)?.config),
        None if peek.url.is_some() => Some(read_request::<PushNotificationConfig>(body)?),
        None => peek.push_notification_config,
    };
    let request = match webhook {
        Some(webhook) => CreateConfig {
            parent: String::new(),
            config_id: peek.config_id,
            config: Some(TaskPushNotificationConfig {
                name: String::new(),
                push_notification_config: Some(webhook),
            }),
        },
        None => read_request::<CreateTaskPushNotificationConfigRequest>(body)?.into(),
    };
    // The task id of the path takes precedence.
    Ok(v1::TaskPushNotificationConfig { task_id: task_id.to_owned(), ..request.into_v1()? })
}

/// Writes a webhook registration.
pub(crate) fn write_create_config(config: v1::TaskPushNotificationConfig) -> Result<Vec<u8>> {
    write(&CreateTaskPushNotificationConfigRequest::from(CreateConfig::from_v1(config)))
}

/// Reads a registered webhook.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub(crate) fn read_config(body: &[u8]) -> Result<v1::TaskPushNotificationConfig> {
    read_result::<TaskPushNotificationConfig>(body)?.into_v1().map_err(unreadable)
}

/// Writes a registered webhook.
pub(crate) fn write_config(config: v1::TaskPushNotificationConfig) -> Result<Vec<u8>> {
    write(&TaskPushNotificationConfig::from(config))
}

/// Reads the webhooks of a task: a page or a bare list.
///
/// # Errors
///
/// [`InvalidAgentResponse`](a2a_core::ErrorKind::InvalidAgentResponse).
pub(crate) fn read_configs(body: &[u8]) -> Result<ListTaskPushNotificationConfigsResponse> {
    let page = if is_array(body) {
        let configs = json::response_from_slice(body)?;
        ListTaskPushNotificationConfigResponse { configs, ..Default::default() }
    } else {
        read_result::<ListTaskPushNotificationConfigResponse>(body)?
    };
    page.into_v1().map_err(unreadable)
}

/// Writes the webhooks of a task.
pub(crate) fn write_configs(page: ListTaskPushNotificationConfigsResponse) -> Result<Vec<u8>> {
    write(&ListTaskPushNotificationConfigResponse::from(page))
}

fn read_request<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let read = json::from_slice(body)?;
    require_object(body)?;
    Ok(read)
}

fn read_result<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let read = json::response_from_slice(body)?;
    require_object(body).map_err(unreadable)?;
    Ok(read)
}

/// Deserializers derived by serde also accept a list of the member values.
fn require_object(body: &[u8]) -> Result<()> {
    if is_array(body) { Err(Error::invalid_params("", "must be an object")) } else { Ok(()) }
}

fn is_array(body: &[u8]) -> bool {
    body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

fn write<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(Error::internal)
}

//! Push notification configs: resource names and webhooks.

use a2a_core::{
    Error, Result,
    v1::{
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        TaskPushNotificationConfig,
    },
};
use serde::Deserialize;
use serde_json::Value;

use crate::common::{
    Format,
    json::{
        Object, object, params_object, read_params, read_result, require, some, take, unreadable,
    },
    member,
    name::{config_name, split, task_name},
};

/// Parameters that get or delete a config.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigParams {
    name: Option<String>,
    task_id: Option<String>,
    config_id: Option<String>,
    id: Option<String>,
}

/// Parameters that list configs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListConfigsParams {
    parent: Option<String>,
    task_id: Option<String>,
    #[serde(default, deserialize_with = "member::int32")]
    page_size: Option<i32>,
    page_token: Option<String>,
}

/// The configs of a task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListConfigsResponse {
    configs: Option<Vec<Value>>,
    next_page_token: Option<String>,
}

/// Reads a config of a response.
pub(super) fn read(config: Value) -> Result<TaskPushNotificationConfig> {
    let read = || {
        let config = params_object(config)?;
        require(&config, "", &["name", "pushNotificationConfig"])?;
        resolve(config)
    };
    read().map_err(unreadable)
}

/// Writes a config.
pub(super) fn write(config: &TaskPushNotificationConfig) -> Value {
    object([
        ("name", config_name(&config.task_id, &config.id).into()),
        ("pushNotificationConfig", Format::Draft.write_webhook(config).into()),
    ])
}

/// Reads the parameters that set a config.
pub(super) fn read_set(params: Value) -> Result<TaskPushNotificationConfig> {
    let config = resolve(params_object(params)?)?;
    if config.task_id.is_empty() {
        return Err(Error::invalid_params("parent", "is required"));
    }
    Ok(config)
}

/// Reads a config in any documented format: in `config`, in `pushNotificationConfig`, or as the
/// object itself.
fn resolve(mut params: Object) -> Result<TaskPushNotificationConfig> {
    let inner = match take(&mut params, &["config", "pushNotificationConfig"]) {
        Some(Value::Object(config)) => resolve(config)?,
        Some(_) => return Err(Error::invalid_params("config", "must be an object")),
        None => Format::Draft.read_webhook(params.clone(), "")?,
    };
    let text = |name: &str| params.get(name).and_then(Value::as_str);
    let named = text("name").map(split);
    let parent = text("parent").map(|parent| split(parent).0);
    let task_id = parent.or(text("taskId")).or(named.map(|(task_id, _)| task_id));
    let id = text("configId").filter(|id| !id.is_empty()).map(str::to_owned);
    let named_id = named.and_then(|(_, id)| id).map(str::to_owned);
    Ok(TaskPushNotificationConfig {
        id: id.or(some(&inner.id)).or(named_id).unwrap_or_default(),
        task_id: task_id.map(str::to_owned).unwrap_or(inner.task_id.clone()),
        ..inner
    })
}

/// Writes the parameters that set a config.
pub(super) fn write_set(config: &TaskPushNotificationConfig) -> Value {
    object([
        ("parent", task_name(&config.task_id).into()),
        ("configId", config.id.as_str().into()),
        ("config", write(config)),
    ])
}

/// Reads the parameters that get or delete a config: the ids of the task and the config.
pub(super) fn read_ids(params: &Value) -> Result<(String, String)> {
    let ConfigParams { name, task_id, config_id, id } = read_params(params)?;
    let named = name.as_deref().map(split);
    let task_id = task_id.or(named.map(|(task_id, _)| task_id.to_owned()));
    let id = config_id.or(id).or(named.and_then(|(_, id)| id).map(str::to_owned));
    task_id
        .zip(id)
        .ok_or_else(|| Error::invalid_params("name", "must name a push notification config"))
}

/// Writes the parameters that get or delete a config.
pub(super) fn write_ids(task_id: &str, id: &str) -> Value {
    object([("name", config_name(task_id, id).into())])
}

/// Reads the parameters that list configs.
pub(super) fn read_list(params: &Value) -> Result<ListTaskPushNotificationConfigsRequest> {
    let params: ListConfigsParams = read_params(params)?;
    let name = params.parent.or(params.task_id);
    let name = name.ok_or_else(|| Error::invalid_params("parent", "is required"))?;
    Ok(ListTaskPushNotificationConfigsRequest {
        task_id: split(&name).0.to_owned(),
        page_size: params.page_size.unwrap_or(0),
        page_token: params.page_token.unwrap_or_default(),
        ..ListTaskPushNotificationConfigsRequest::default()
    })
}

/// Writes the parameters that list configs.
pub(super) fn write_list(request: &ListTaskPushNotificationConfigsRequest) -> Value {
    object([
        ("parent", task_name(&request.task_id).into()),
        ("pageSize", Some(request.page_size).filter(|size| *size != 0).into()),
        ("pageToken", some(&request.page_token).into()),
    ])
}

/// Reads the configs of a task.
pub(super) fn read_page(page: &Value) -> Result<ListTaskPushNotificationConfigsResponse> {
    let page: ListConfigsResponse = read_result(page)?;
    let configs = page.configs.unwrap_or_default().into_iter().map(read);
    Ok(ListTaskPushNotificationConfigsResponse {
        configs: configs.collect::<Result<_>>()?,
        next_page_token: page.next_page_token.unwrap_or_default(),
    })
}

/// Writes the configs of a task.
pub(super) fn write_page(page: &ListTaskPushNotificationConfigsResponse) -> Value {
    object([
        ("configs", page.configs.iter().map(write).collect()),
        ("nextPageToken", page.next_page_token.as_str().into()),
    ])
}

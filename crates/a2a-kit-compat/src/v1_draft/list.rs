//! Lists of tasks.

use a2a_core::{
    Error, Result, Task,
    v1::{self, ListTasksRequest, ListTasksResponse},
    well_known::Timestamp,
};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use crate::common::{
    Format,
    json::{object, read_params, read_result, some, take, write_object},
    member,
};

/// Parameters of `ListTasks`. `metadata` has no equivalent in 1.0.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListTasksParams {
    context_id: Option<String>,
    status: Option<String>,
    #[serde(deserialize_with = "member::int32")]
    page_size: Option<i32>,
    page_token: Option<String>,
    #[serde(deserialize_with = "member::int32")]
    history_length: Option<i32>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[serde(deserialize_with = "millis")]
    last_updated_after: Option<i64>,
    #[serde(deserialize_with = "member::boolean")]
    include_artifacts: Option<bool>,
}

/// Reads a timestamp as milliseconds: a number, a decimal string, or RFC 3339, which clients of
/// later drafts send.
fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "milliseconds since 1970: a number or a decimal string")]
    enum Encoding {
        Number(i64),
        Text(String),
        Unset(()),
    }
    match Encoding::deserialize(from)? {
        Encoding::Number(millis) => Ok(Some(millis)),
        Encoding::Text(text) => match (text.trim().parse(), member::parse_timestamp(&text)) {
            (Ok(millis), _) => Ok(Some(millis)),
            (Err(_), Some(timestamp)) => Ok(Some(timestamp.as_millis())),
            (Err(error), None) => Err(D::Error::custom(error)),
        },
        Encoding::Unset(()) => Ok(None),
    }
}

/// The description of an unknown state.
const UNKNOWN_STATE: &str = "is not a known value: must be submitted, working, completed, failed, \
    canceled, input-required, rejected or auth-required";

/// Reads the parameters of a list.
pub(super) fn read_params_of_list(params: &Value) -> Result<ListTasksRequest> {
    let params: ListTasksParams =
        if params.is_null() { ListTasksParams::default() } else { read_params(params)? };
    let status = match params.status.as_deref() {
        None | Some("") => v1::TaskState::Unspecified,
        Some(name) => v1::TaskState::from_any_name(name)
            .ok_or_else(|| Error::invalid_params("status", UNKNOWN_STATE))?,
    };
    Ok(ListTasksRequest {
        context_id: params.context_id.unwrap_or_default(),
        status: status.into(),
        page_size: params.page_size,
        page_token: params.page_token.unwrap_or_default(),
        // A missing member means no history.
        history_length: Some(params.history_length.unwrap_or(0)),
        status_timestamp_after: params.last_updated_after.map(Timestamp::from_millis),
        include_artifacts: params.include_artifacts,
        ..ListTasksRequest::default()
    })
}

/// Writes the parameters of a list.
pub(super) fn write_params(request: &ListTasksRequest) -> Value {
    object([
        ("contextId", some(&request.context_id).into()),
        ("status", Format::Draft.state_name(request.status()).into()),
        ("pageSize", request.page_size.into()),
        ("pageToken", some(&request.page_token).into()),
        ("historyLength", request.history_length.filter(|length| *length != 0).into()),
        ("lastUpdatedAfter", request.status_timestamp_after.map(Timestamp::as_millis).into()),
        ("includeArtifacts", request.include_artifacts.into()),
    ])
}

/// Reads a page of tasks.
pub(super) fn read(mut page: Value) -> Result<ListTasksResponse> {
    let tasks = match page.as_object_mut().and_then(|page| take(page, &["tasks"])) {
        Some(Value::Array(tasks)) => tasks,
        Some(_) => return Err(Error::invalid_response("tasks is not a list")),
        None => Vec::new(),
    };
    let tasks: Result<Vec<Task>> =
        tasks.into_iter().map(|task| Format::Draft.read_task(task)).collect();
    Ok(ListTasksResponse { tasks: tasks?, ..read_result(&page)? })
}

/// Writes a page of tasks, with all members.
pub(super) fn write(mut page: ListTasksResponse) -> Value {
    let tasks = std::mem::take(&mut page.tasks).into_iter();
    let tasks = tasks.map(|task| Format::Draft.write_task(task)).collect();
    let mut written = write_object(&page);
    written.insert("tasks".into(), tasks);
    written.into()
}

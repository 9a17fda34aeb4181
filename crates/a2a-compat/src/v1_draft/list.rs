//! Lists of tasks.

use a2a_core::{Error, Result, v1, well_known::Timestamp};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::types::{Task, TaskState};
use crate::common::{json::some, member, spelling};

/// Parameters of `ListTasks`. `metadata` has no equivalent in 1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListTasksParams {
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(default, deserialize_with = "member::int32", skip_serializing_if = "Option::is_none")]
    page_size: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_token: Option<String>,
    #[serde(default, deserialize_with = "member::int32", skip_serializing_if = "Option::is_none")]
    history_length: Option<i32>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[serde(default, deserialize_with = "millis", skip_serializing_if = "Option::is_none")]
    last_updated_after: Option<i64>,
    #[serde(
        default,
        deserialize_with = "member::boolean",
        skip_serializing_if = "Option::is_none"
    )]
    include_artifacts: Option<bool>,
}

/// Reads a timestamp as milliseconds: a number, a decimal string, or RFC 3339, which clients of
/// later drafts send.
fn millis<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "milliseconds since 1970: a number or a decimal string")]
    enum Form {
        Number(i64),
        Text(String),
        Unset(()),
    }
    match Form::deserialize(from)? {
        Form::Number(millis) => Ok(Some(millis)),
        Form::Text(text) => match (text.trim().parse(), member::timestamp::parse(&text)) {
            (Ok(millis), _) => Ok(Some(millis)),
            (Err(_), Some(timestamp)) => Ok(Some(timestamp.as_millis())),
            (Err(error), None) => Err(D::Error::custom(error)),
        },
        Form::Unset(()) => Ok(None),
    }
}

/// A page of tasks. All members are always written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListTasksResponse {
    #[serde(default, deserialize_with = "member::or_default")]
    tasks: Vec<Task>,
    #[serde(default, deserialize_with = "member::or_default")]
    total_size: i32,
    #[serde(default, deserialize_with = "member::or_default")]
    page_size: i32,
    #[serde(default, deserialize_with = "member::or_default")]
    next_page_token: String,
}

impl ListTasksParams {
    pub(super) fn into_v1(self) -> Result<v1::ListTasksRequest> {
        let status = match self.status.as_deref() {
            None | Some("") => v1::TaskState::Unspecified,
            Some(name) => spelling::state(name)
                .ok_or_else(|| Error::invalid_params("status", "is not a known state"))?,
        };
        Ok(v1::ListTasksRequest {
            context_id: self.context_id.unwrap_or_default(),
            status: status.into(),
            page_size: self.page_size,
            page_token: self.page_token.unwrap_or_default(),
            // A missing member means no history.
            history_length: Some(self.history_length.unwrap_or(0)),
            status_timestamp_after: self.last_updated_after.map(Timestamp::from_millis),
            include_artifacts: self.include_artifacts,
            ..v1::ListTasksRequest::default()
        })
    }

    pub(super) fn from_v1(request: &v1::ListTasksRequest) -> Self {
        Self {
            context_id: some(&request.context_id),
            status: TaskState(request.status()).name().map(str::to_owned),
            page_size: request.page_size,
            page_token: some(&request.page_token),
            history_length: request.history_length.filter(|length| *length != 0),
            last_updated_after: request.status_timestamp_after.map(Timestamp::as_millis),
            include_artifacts: request.include_artifacts,
        }
    }
}

impl ListTasksResponse {
    pub(super) fn into_v1(self) -> v1::ListTasksResponse {
        v1::ListTasksResponse {
            tasks: self.tasks.into_iter().map(Task::into_v1).collect(),
            next_page_token: self.next_page_token,
            page_size: self.page_size,
            total_size: self.total_size,
        }
    }

    pub(super) fn from_v1(response: &v1::ListTasksResponse) -> Self {
        Self {
            tasks: response.tasks.iter().map(Task::from_v1).collect(),
            next_page_token: response.next_page_token.clone(),
            page_size: response.page_size,
            total_size: response.total_size,
        }
    }
}

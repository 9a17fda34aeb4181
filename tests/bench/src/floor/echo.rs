//! Requests and responses of the echo agent as JSON, by serde.

use a2a_core::{fresh_id, well_known::Timestamp};
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct Rpc<'a> {
    pub(super) id: u64,
    pub(super) method: &'a str,
    #[serde(borrow)]
    pub(super) params: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct Read<'a> {
    pub(super) id: &'a str,
}

#[derive(Deserialize)]
pub(super) struct Send {
    pub(super) message: Said,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    pub(super) message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task_id: Option<String>,
    pub(super) role: String,
    pub(super) parts: Vec<Text>,
}

#[derive(Clone, Deserialize, Serialize)]
pub(super) struct Text {
    pub(super) text: String,
}

#[derive(Serialize)]
pub(super) struct Success<T> {
    pub(super) jsonrpc: &'static str,
    pub(super) id: u64,
    pub(super) result: T,
}

#[derive(Serialize)]
pub(super) struct Wrapped<T> {
    pub(super) task: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Echo {
    pub(super) id: String,
    pub(super) context_id: String,
    pub(super) status: Reached,
    pub(super) artifacts: [Given; 1],
    pub(super) history: Vec<Said>,
}

#[derive(Serialize)]
pub(super) struct Reached {
    pub(super) state: &'static str,
    pub(super) timestamp: Timestamp,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page {
    pub(super) tasks: Vec<Echo>,
    pub(super) next_page_token: &'static str,
    pub(super) page_size: usize,
    pub(super) total_size: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Given {
    pub(super) artifact_id: String,
    pub(super) name: &'static str,
    pub(super) parts: [Text; 1],
}

impl Echo {
    pub(super) fn of(mut message: Said, id: String) -> Self {
        let context_id = fresh_id();
        let text = format!("Echo: {}", message.parts[0].text);
        message.context_id = Some(context_id.clone());
        message.task_id = Some(id.clone());
        Self {
            id,
            context_id,
            status: Reached { state: "TASK_STATE_COMPLETED", timestamp: Timestamp::now() },
            artifacts: [Given { artifact_id: fresh_id(), name: "echo", parts: [Text { text }] }],
            history: vec![message],
        }
    }

    /// The requested task, for any id.
    pub(super) fn known(id: String) -> Self {
        let parts = vec![Text { text: "hello".into() }];
        let (message_id, role) = ("m".into(), "ROLE_USER".into());
        Self::of(Said { message_id, context_id: None, task_id: None, role, parts }, id)
    }
}

pub(super) fn json(answer: &impl Serialize) -> Response {
    ([(CONTENT_TYPE, "application/json")], serde_json::to_vec(answer).unwrap()).into_response()
}

//! The paths beside the bindings: the OpenAPI document, and the demo's authorization.

use axum::{
    Json, Router,
    extract::{Path, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::{StatusCode, header::CONTENT_TYPE};
use serde_json::json;

use crate::demo::Authorizations;

/// The paths that every mode has.
pub(super) fn router() -> Router {
    Router::new().route("/openapi.json", get(openapi))
}

/// The path that lets tasks of the demo's word `auth` go on.
pub(super) fn authorizations(waiting: Authorizations) -> Router {
    Router::new().route("/demo/authorize/{task_id}", post(authorize)).with_state(waiting)
}

async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], a2a_rest::OPENAPI).into_response()
}

async fn authorize(State(waiting): State<Authorizations>, Path(task_id): Path<String>) -> Response {
    if waiting.grant(&task_id) {
        Json(json!({"taskId": task_id, "authorized": true})).into_response()
    } else {
        let body = Json(json!({"error": {"code": 404, "message": "no task waits by this id"}}));
        (StatusCode::NOT_FOUND, body).into_response()
    }
}

//! Paths besides the bindings: the OpenAPI document, and the authorization of waiting tasks.

use std::sync::Arc;

use a2a_core::{Error, ErrorKind, v1::GetTaskRequest};
use a2a_kit_http::{error_body, service_parameters};
use a2a_kit_operations::{Agent, Call, CallContext};
use a2a_kit_script::Script;
use axum::{
    Json, Router,
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::{StatusCode, header::CONTENT_TYPE};
use serde_json::json;
use url::form_urlencoded;

/// The paths of every agent.
pub(super) fn router() -> Router {
    Router::new().route("/openapi.json", get(openapi))
}

/// The endpoint that authorizes waiting tasks of scripted agents, for their owners.
#[derive(Clone)]
pub(super) struct AuthorizeEndpoint {
    pub(super) script: Script,
    /// Returns tasks to their owners only.
    pub(super) agent: Arc<dyn Agent>,
}

impl AuthorizeEndpoint {
    /// The path of the endpoint. The layers that authenticate belong around it.
    pub(super) fn router(self) -> Router {
        Router::new().route("/demo/authorize/{task_id}", post(authorize)).with_state(self)
    }
}

async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], a2a_kit_rest::OPENAPI).into_response()
}

async fn authorize(
    State(endpoint): State<AuthorizeEndpoint>,
    Path(task_id): Path<String>,
    request: Request,
) -> Response {
    let mut context = CallContext::default();
    context.caller = service_parameters::caller(request.extensions());
    let query = request.uri().query().unwrap_or_default();
    let tenant = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "tenant");
    let asked = GetTaskRequest {
        id: task_id.clone(),
        tenant: tenant.map(|(_, tenant)| tenant.into_owned()).unwrap_or_default(),
        history_length: Some(0),
    };
    match endpoint.agent.get_task(Call::from_parts(context, asked)).await {
        Ok(_own) if endpoint.script.authorize(&task_id) => {
            Json(json!({"taskId": task_id, "authorized": true})).into_response()
        }
        Err(error) if error.kind() != ErrorKind::TaskNotFound => rejected(&error),
        // A task of another owner is indistinguishable from one that does not exist.
        Ok(_) | Err(_) => {
            rejected(&Error::new(ErrorKind::TaskNotFound, "no task waits by this id"))
        }
    }
}

fn rejected(error: &Error) -> Response {
    let code = error.kind().codes().http;
    let body = Json(json!({"error": {"code": code, "message": error.message()}}));
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::FORBIDDEN);
    let mut response = (status, body).into_response();
    error_body::write_headers(error, response.headers_mut());
    response
}

//! Writes responses, events and errors in the format of the request.

use a2a_core::{
    Error, ErrorKind, Operation, Result,
    v1::{SendMessageResponse, stream_response::Payload},
};
use a2a_kit_http::{body, content_type, error_body, report};
use a2a_kit_operations::Event;
use axum::body::Body;
use bytes::BytesMut;
use http::{HeaderValue, Response};
use serde_json::{Value, json};

use crate::{
    AnyResponse, Dialect as _,
    common::error_data::name,
    detect::RestShape,
    proto::{Files as _, json as proto_json},
    server::{dispatch::name_revision, stream::is_last},
    v0_3::V0_3,
    v1_draft::{self, PROBLEM_JSON, V1Draft},
};

/// Responds with a result. `as_text`: whether the client expects base64 text in the `bytes` fields
/// of files.
pub(super) fn result(
    shape: RestShape,
    operation: Operation,
    mut response: AnyResponse,
    as_text: bool,
) -> Result<Response<Body>> {
    if as_text && shape == RestShape::V03Proto {
        response.write_text();
    }
    let body = match shape {
        RestShape::Draft => text(&V1Draft.write_response(operation, response))?,
        RestShape::V03Json => match response {
            AnyResponse::Sent(sent) => text(&wrapped(operation, sent))?,
            other => proto_json::write_response(other)?,
        },
        RestShape::V03Proto => proto_json::write_response(response)?,
    };
    Ok(body::respond(200, content_type::JSON, body))
}

/// Responds with an error.
pub(super) fn error(shape: RestShape, error: Error) -> Response<Body> {
    let error = report(error);
    let (status, body, media_type) = match shape {
        RestShape::Draft => {
            let problem = v1_draft::problem(&error);
            (problem.status, problem.body, HeaderValue::from_static(PROBLEM_JSON))
        }
        RestShape::V03Proto | RestShape::V03Json => {
            (v0_3_status(error.kind()), v0_3_body(&error), content_type::JSON)
        }
    };
    let mut response = body::respond(status, media_type, body.to_string());
    error_body::write_headers(&error, response.headers_mut());
    name_revision(shape.revision(), response.headers_mut());
    response
}

/// Writes an item of a stream as the data of an event; `as_text` as for [`result`].
pub(super) fn frame(shape: RestShape, item: &Result<Event>, as_text: bool, out: &mut BytesMut) {
    let data = item.as_ref().map_err(|error| write_error(shape, error)).and_then(|event| {
        write_event(shape, event, as_text).map_err(|error| write_error(shape, &report(error)))
    });
    match data {
        Ok(data) | Err(data) => out.extend_from_slice(&data),
    }
}

fn write_event(shape: RestShape, event: &Event, as_text: bool) -> Result<Vec<u8>> {
    let last = is_last(shape.revision(), event);
    let response = event.response();
    match shape {
        RestShape::V03Proto => {
            let mut response = response.clone();
            if as_text {
                response.write_text();
            }
            proto_json::write_event(response, last)
        }
        RestShape::Draft => text(&V1Draft.write_event(response, last)),
        RestShape::V03Json => {
            let name = match &response.payload {
                Some(Payload::Task(_)) => "task",
                Some(Payload::Message(_)) => "message",
                Some(Payload::StatusUpdate(_)) => "statusUpdate",
                Some(Payload::ArtifactUpdate(_)) => "artifactUpdate",
                None => return Ok(b"{}".to_vec()),
            };
            text(&json!({name: V0_3.write_event(response, last)}))
        }
    }
}

fn write_error(shape: RestShape, error: &Error) -> Vec<u8> {
    let body = match shape {
        RestShape::Draft => v1_draft::problem(error).body,
        RestShape::V03Proto | RestShape::V03Json => v0_3_body(error),
    };
    body.to_string().into_bytes()
}

/// The status of an error in 0.3, which only requires an appropriate one.
fn v0_3_status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::MethodNotFound => 501,
        kind => kind.codes().http,
    }
}

fn v0_3_body(error: &Error) -> Value {
    let object = V0_3.write_error(error);
    let mut body = json!({"code": object.code, "message": object.message, "data": object.data});
    // Some clients only look at `type`.
    if let Some(name) = name(error.kind()) {
        body["type"] = name.into();
    }
    body
}

/// The wrapper around the response of a send in the JSON format of 0.3.
fn wrapped(operation: Operation, sent: SendMessageResponse) -> Value {
    let object = V0_3.write_response(operation, AnyResponse::Sent(sent));
    match object["kind"].as_str() {
        Some("message") => json!({"message": object}),
        _ => json!({"task": object}),
    }
}

fn text(value: &Value) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(Error::internal)
}

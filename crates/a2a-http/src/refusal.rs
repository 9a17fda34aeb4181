//! A refusal in the form of a binding, where the binding itself never gets to write it: by a layer
//! in front, which does not read what the request asks for.

use a2a_core::Error;
use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::json;

use crate::{fault, media};

/// What gRPC encodes in a message, beside all that is not ASCII.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');

/// Answers a request with an error, in the form of the binding that it is for, as far as its head
/// tells: a JSON-RPC answer has no id.
pub fn write(request: &Parts, error: &Error) -> Response {
    let mut response =
        if is_grpc(&request.headers) { grpc(error) } else { json_form(request, error) };
    fault::write_headers(error, response.headers_mut());
    response
}

/// Returns whether a request is one of gRPC.
pub fn is_grpc(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    media_type.is_some_and(|media_type| media_type.starts_with(b"application/grpc"))
}

fn grpc(error: &Error) -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", HeaderValue::from(error.kind().codes().grpc));
    let message = utf8_percent_encode(error.message(), ENCODED).to_string();
    if let Ok(message) = HeaderValue::try_from(message) {
        headers.insert("grpc-message", message);
    }
    response
}

fn json_form(request: &Parts, error: &Error) -> Response {
    let codes = error.kind().codes();
    let (status, body) = if is_jsonrpc(request) {
        let object = json!({
            "code": codes.jsonrpc, "message": error.message(), "data": error.details(),
        });
        (codes.jsonrpc_http, json!({ "jsonrpc": "2.0", "id": null, "error": object }))
    } else {
        let object = json!({
            "code": codes.http,
            "status": codes.status,
            "message": error.message(),
            "details": error.details(),
        });
        (codes.http, json!({ "error": object }))
    };
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN);
    response.headers_mut().insert(header::CONTENT_TYPE, media::JSON);
    response
}

/// JSON-RPC is posted to one address; what is posted over HTTP+JSON goes to a verb of a message
/// or a task, or to the webhooks of a task.
fn is_jsonrpc(request: &Parts) -> bool {
    let path = request.uri.path();
    let of_rest = path.contains(':')
        || path.to_ascii_lowercase().contains("pushnotificationconfigs")
        || path.to_ascii_lowercase().contains("push_notification_configs");
    request.method == Method::POST && !of_rest
}

//! A refusal in the form of a binding, where the binding itself never gets to write it: by a layer
//! in front, which does not read what the request asks for.

use std::{fmt, sync::Arc};

use a2a_core::Error;
use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body::Body as _;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Value, json};

use crate::{fault, media, serve::UNCOUNTED};

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

/// How a binding words an error that takes the place of a response it has made already, in the
/// extensions of that response: the server puts one there where there is no room for the response.
/// Without it, the error has the form of HTTP+JSON or gRPC, as the response has.
#[derive(Clone)]
pub struct Instead(Arc<dyn Fn(Error) -> Response + Send + Sync>);

impl Instead {
    /// Has errors that take the place of this response worded by `write`. A small response is
    /// never replaced.
    pub fn of(response: &mut Response, write: impl Fn(Error) -> Response + Send + Sync + 'static) {
        let small = |upper| upper <= UNCOUNTED as u64;
        if !response.body().size_hint().upper().is_some_and(small) {
            response.extensions_mut().insert(Self(Arc::new(write)));
        }
    }
}

impl fmt::Debug for Instead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instead").finish_non_exhaustive()
    }
}

/// Answers with an error instead of a response that was made already, in the form of its binding.
/// What the response allows browsers stays.
pub fn instead(response: Response, error: Error) -> Response {
    let (parts, _body) = response.into_parts();
    let mut refused = match parts.extensions.get::<Instead>() {
        Some(Instead(write)) => write(error),
        None => {
            let mut refused =
                if is_grpc(&parts.headers) { grpc(&error) } else { rest_form(&error) };
            fault::write_headers(&error, refused.headers_mut());
            refused
        }
    };
    let of_browsers =
        |name: &HeaderName| name.as_str().starts_with("access-control-") || *name == header::VARY;
    let kept = parts.headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
    refused.headers_mut().extend(kept.filter(|(name, _)| of_browsers(name)));
    refused
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
    if !is_jsonrpc(request) {
        return rest_form(error);
    }
    let codes = error.kind().codes();
    let object = json!({
        "code": codes.jsonrpc, "message": error.message(), "data": error.details(),
    });
    json_answer(codes.jsonrpc_http, &json!({ "jsonrpc": "2.0", "id": null, "error": object }))
}

fn rest_form(error: &Error) -> Response {
    let codes = error.kind().codes();
    let object = json!({
        "code": codes.http,
        "status": codes.status,
        "message": error.message(),
        "details": error.details(),
    });
    json_answer(codes.http, &json!({ "error": object }))
}

fn json_answer(status: u16, body: &Value) -> Response {
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

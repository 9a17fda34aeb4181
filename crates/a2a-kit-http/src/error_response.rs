//! Error responses in the format of a binding, for layers that reject a request before it reaches
//! the binding.

use std::sync::Arc;

use a2a_core::Error;
use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header, request::Parts};
use http_body::Body as _;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::json;

use crate::{body, content_type, error_body, read_budget::UNCOUNTED};

/// Characters that `grpc-message` percent-encodes, in addition to non-ASCII.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');

/// Creates an error response in the format of the request's binding, which is derived from the
/// request head. JSON-RPC errors have a null `id`.
pub fn write(request: &Parts, error: &Error) -> Response {
    let mut response =
        if is_grpc(&request.headers) { grpc_error(error) } else { json_error(request, error) };
    error_body::write_headers(error, response.headers_mut());
    response
}

/// Writes the error that replaces a response over the memory budget, in the format of the binding.
/// It is in the extensions of the response. Without it, the error has the format of HTTP+JSON, or
/// of gRPC for a gRPC response.
#[derive(Clone)]
pub struct ErrorRenderer(Arc<dyn Fn(Error) -> Response + Send + Sync>);

impl ErrorRenderer {
    /// Sets what `renderer` returns to create the error that replaces this response. Small responses
    /// are never replaced.
    pub fn of<W>(response: &mut Response, renderer: impl FnOnce() -> W)
    where
        W: Fn(Error) -> Response + Send + Sync + 'static,
    {
        let is_small = |upper| upper <= UNCOUNTED as u64;
        if !response.body().size_hint().upper().is_some_and(is_small) {
            response.extensions_mut().insert(Self(Arc::new(renderer())));
        }
    }
}

a2a_core::debug_fields!(ErrorRenderer(..));

/// Replaces a response with an error in the format of its binding. CORS headers are kept.
pub fn replace_with_error(response: Response, error: Error) -> Response {
    let (parts, _body) = response.into_parts();
    let mut replacement = match parts.extensions.get::<ErrorRenderer>() {
        Some(ErrorRenderer(write)) => write(error),
        None => {
            let mut replacement =
                if is_grpc(&parts.headers) { grpc_error(&error) } else { rest_error(&error) };
            error_body::write_headers(&error, replacement.headers_mut());
            replacement
        }
    };
    let is_cors =
        |name: &HeaderName| name.as_str().starts_with("access-control-") || *name == header::VARY;
    let kept = parts.headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
    replacement.headers_mut().extend(kept.filter(|(name, _)| is_cors(name)));
    replacement
}

/// Returns whether a request or response is gRPC.
pub fn is_grpc(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    media_type.is_some_and(|media_type| media_type.starts_with(b"application/grpc"))
}

fn grpc_error(error: &Error) -> Response {
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

fn json_error(request: &Parts, error: &Error) -> Response {
    if !is_jsonrpc(request) {
        return rest_error(error);
    }
    let codes = error.kind().codes();
    let object = json!({
        "code": codes.jsonrpc, "message": error.message(), "data": error.details(),
    });
    // The request has not reached JSON-RPC, so HTTP says that it failed.
    let response = json!({ "jsonrpc": "2.0", "id": null, "error": object });
    body::respond(codes.http, content_type::JSON, response.to_string())
}

fn rest_error(error: &Error) -> Response {
    let codes = error.kind().codes();
    let object = json!({
        "code": codes.http,
        "status": codes.status,
        "message": error.message(),
        "details": error.details(),
    });
    body::respond(codes.http, content_type::JSON, json!({ "error": object }).to_string())
}

/// Returns whether a request is JSON-RPC: a POST whose path is no HTTP+JSON route, which ends in a
/// custom verb or names push notification configs.
fn is_jsonrpc(request: &Parts) -> bool {
    let path = request.uri.path();
    let is_rest = path.contains(':')
        || path.to_ascii_lowercase().contains("pushnotificationconfigs")
        || path.to_ascii_lowercase().contains("push_notification_configs");
    request.method == Method::POST && !is_rest
}

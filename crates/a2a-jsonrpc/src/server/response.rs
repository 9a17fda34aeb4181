//! Writes responses: results, errors and stream events (spec §9.4, §9.5).

use a2a_core::{Detail, Error, Result};
use a2a_http::{content_type, error_body, pieces, report, sse};
use a2a_operations::Event;
use axum::body::Body;
use bytes::{BufMut as _, BytesMut};
use http::{Response, StatusCode, header::CONTENT_TYPE};
use serde::Serialize;

use super::envelope::Id;

/// Returns the response to `id` up to the value of `result`.
pub(super) fn head(id: &Id) -> Vec<u8> {
    // Most responses fit; larger ones reallocate once or twice.
    let mut head = Vec::with_capacity(1 << 10);
    head.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    head.extend_from_slice(id.as_str().as_bytes());
    head.extend_from_slice(b",\"result\":");
    head
}

/// Completes a unary response that starts with a [`head`] of this many bytes.
pub(super) fn result(body: Vec<u8>, head: usize) -> Response<Body> {
    json(StatusCode::OK, pieces::enveloped(body, head, b"}"))
}

/// Responds with an error, with the HTTP status of its kind.
pub(super) fn error(id: &Id, error: Error) -> Response<Body> {
    let error = report(error);
    let status = StatusCode::from_u16(error.kind().codes().jsonrpc_http);
    let mut body = BytesMut::with_capacity(512);
    write_error(id, &error, &mut body);
    let mut response = json(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body.freeze());
    error_body::write_headers(&error, response.headers_mut());
    response
}

/// Returns a function that writes an item of a stream as the data of an event.
pub(super) fn frame(id: Id) -> impl Fn(&Result<Event>, &mut sse::Buffer) + Send + 'static {
    let head = head(&id);
    move |item, out| match item {
        Ok(event) => {
            out.text().extend_from_slice(&head);
            out.push(event.json());
            out.text().put_u8(b'}');
        }
        Err(error) => write_error(&id, error, out.text()),
    }
}

fn write_error(id: &Id, error: &Error, out: &mut BytesMut) {
    #[derive(Serialize)]
    struct ErrorObject<'a> {
        code: i32,
        message: &'a str,
        data: Vec<Detail>,
    }

    let object = ErrorObject {
        code: error.kind().codes().jsonrpc,
        message: error.message(),
        data: error.details(),
    };
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_str().as_bytes());
    out.extend_from_slice(b",\"error\":");
    // Infallible: strings, numbers and string-keyed maps, written to memory.
    let _ = serde_json::to_writer(out.writer(), &object);
    out.put_u8(b'}');
}

fn json(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type::JSON);
    response
}

//! Writes responses: results, errors and stream events (spec §9.4, §9.5).

use a2a_core::{Detail, Error, Result};
use a2a_kit_http::{body, chunked_body, content_type, error_body, report, sse};
use a2a_kit_operations::Event;
use axum::body::Body;
use bytes::{BufMut, BytesMut};
use http::Response;
use serde::Serialize;

use super::envelope::Id;

/// Writes the response to a request id up to the value of `result` or `error`.
pub fn write_head(out: &mut impl BufMut, id: &str, member: &str) {
    for piece in ["{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"", member, "\":"] {
        out.put_slice(piece.as_bytes());
    }
}

/// Writes the response to a request id with an error object.
pub fn write_error(out: &mut BytesMut, id: &str, object: &impl Serialize) {
    write_head(out, id, "error");
    // Infallible: strings, numbers and string-keyed maps, written to memory.
    let _ = serde_json::to_writer(out.writer(), object);
    out.put_u8(b'}');
}

/// An error object of the current revision.
pub fn error_object(error: &Error) -> impl Serialize {
    #[derive(Serialize)]
    struct ErrorObject<'a> {
        code: i32,
        message: &'a str,
        data: Vec<Detail>,
    }

    ErrorObject {
        code: error.kind().codes().jsonrpc,
        message: error.message(),
        data: error.details(),
    }
}

/// Responds with an error that was reported, as this object, with the HTTP status of its kind.
pub fn error_response(id: &str, error: &Error, object: &impl Serialize) -> Response<Body> {
    let mut body = BytesMut::with_capacity(512);
    write_error(&mut body, id, object);
    let status = error.kind().codes().jsonrpc_http;
    let mut response = body::respond(status, content_type::JSON, body.freeze());
    error_body::write_headers(error, response.headers_mut());
    response
}

/// Completes a unary response that starts with a [head](write_head) of this many bytes.
pub fn result(body: Vec<u8>, head: usize) -> Response<Body> {
    body::respond(200, content_type::JSON, chunked_body::enveloped(body, head, b"}"))
}

/// Responds with an error of the current revision.
pub fn error(id: &str, error: Error) -> Response<Body> {
    let error = report(error);
    error_response(id, &error, &error_object(&error))
}

/// Returns the response to `id` up to the value of `result`.
pub(super) fn head(id: &Id) -> Vec<u8> {
    // Most responses fit; larger ones reallocate once or twice.
    let mut head = Vec::with_capacity(1 << 10);
    write_head(&mut head, id.as_str(), "result");
    head
}

/// Returns a function that writes an item of a stream as the data of an event.
pub(super) fn frame(id: Id) -> impl Fn(&Result<Event>, &mut sse::Buffer) + Send + 'static {
    // Streams live long: without the capacity for a response.
    let head = head(&id).into_boxed_slice();
    move |item, out| match item {
        Ok(event) => {
            out.text().extend_from_slice(&head);
            out.push(event.json());
            out.text().put_u8(b'}');
        }
        Err(error) => write_error(out.text(), id.as_str(), &error_object(error)),
    }
}

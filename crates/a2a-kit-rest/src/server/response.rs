//! Writes responses: results, errors and stream events (spec §11.2, §11.6, §11.7).

use a2a_core::{Detail, Error, Result};
use a2a_kit_http::{body, error_body, report, sse};
use a2a_kit_operations::Event;
use axum::body::Body;
use bytes::{BufMut as _, BytesMut};
use http::{HeaderValue, Response};
use serde::Serialize;

/// Responds with a result.
pub(super) fn result(json: Vec<u8>, media_type: HeaderValue) -> Response<Body> {
    body::respond(200, media_type, json)
}

/// Responds with an error, with the HTTP status of its kind.
pub(super) fn error(error: Error, media_type: HeaderValue) -> Response<Body> {
    let error = report(error);
    let mut body = BytesMut::with_capacity(512);
    write_error(&error, &mut body);
    let mut response = body::respond(error.kind().codes().http, media_type, body.freeze());
    error_body::write_headers(&error, response.headers_mut());
    response
}

/// Writes an item of a stream as the data of an event.
pub(super) fn frame(item: &Result<Event>, out: &mut sse::Buffer) {
    match item {
        Ok(event) => out.push(event.json()),
        Err(error) => write_error(error, out.text()),
    }
}

fn write_error(error: &Error, out: &mut BytesMut) {
    #[derive(Serialize)]
    struct ErrorBody<'a> {
        error: Status<'a>,
    }

    /// `google.rpc.Status` as defined by AIP-193.
    #[derive(Serialize)]
    struct Status<'a> {
        code: u16,
        status: &'static str,
        message: &'a str,
        details: Vec<Detail>,
    }

    let codes = error.kind().codes();
    let status = Status {
        code: codes.http,
        status: codes.status,
        message: error.message(),
        details: error.details(),
    };
    // Infallible: strings, numbers and string-keyed maps, written to memory.
    let _ = serde_json::to_writer(out.writer(), &ErrorBody { error: status });
}

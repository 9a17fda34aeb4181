//! Writing answers: results, errors and the frames of a stream (spec §11.2, §11.6, §11.7).

use a2a_core::{Detail, Error, Result};
use a2a_http::{error_body, report, sse};
use a2a_operations::Event;
use axum::body::Body;
use bytes::{BufMut as _, BytesMut};
use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use serde::Serialize;

/// Answers with a result.
pub(super) fn result(json: Vec<u8>, media_type: HeaderValue) -> Response<Body> {
    answer(StatusCode::OK, json, media_type)
}

/// Answers with an error, under the HTTP status of its kind.
pub(super) fn error(error: Error, media_type: HeaderValue) -> Response<Body> {
    let error = report(error);
    let status = StatusCode::from_u16(error.kind().codes().http);
    let mut body = BytesMut::with_capacity(512);
    write_error(&error, &mut body);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = answer(status, body.freeze(), media_type);
    error_body::write_headers(&error, response.headers_mut());
    response
}

/// Writes an item of a stream as the data of one event.
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

    /// `google.rpc.Status` as AIP-193 has it.
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
    // Strings, numbers and maps of strings into memory: nothing in there can fail.
    let _ = serde_json::to_writer(out.writer(), &ErrorBody { error: status });
}

fn answer(status: StatusCode, body: impl Into<Body>, media_type: HeaderValue) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

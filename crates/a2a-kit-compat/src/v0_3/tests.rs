//! Tests of the JSON format.

mod card;
mod part;
mod request;
mod response;

use a2a_core::{Error, v1};
use serde_json::Value;

use super::V0_3;
use crate::{AnyRequest, Dialect};

fn read(method: &str, params: Value) -> AnyRequest {
    V0_3.read_request(method, params.clone()).unwrap_or_else(|e| panic!("{method} {params}: {e}"))
}

fn rejection(method: &str, params: Value) -> Error {
    V0_3.read_request(method, params.clone()).expect_err(&format!("{method} {params}"))
}

fn sent(params: Value) -> v1::SendMessageRequest {
    match read("message/send", params) {
        AnyRequest::SendMessage(request) => request,
        other => panic!("{other:?}"),
    }
}

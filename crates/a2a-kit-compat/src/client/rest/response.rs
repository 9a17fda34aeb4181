//! Reads responses, events and errors.

use std::sync::Arc;

use a2a_core::{Error, ErrorKind, Operation, Result, json, v1::StreamResponse};
use a2a_kit_http::error_body;
use http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::{
    AnyResponse, Dialect as _, card,
    common::{error_data, event::is_unknown_event, json::unreadable},
    detect::RestShape,
    operation::is_of_webhook,
    proto::{Files as _, json as proto_json},
    v1_draft::{self, V1Draft},
};

/// Reads a response.
///
/// # Errors
///
/// [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse).
pub(super) fn read(shape: RestShape, operation: Operation, body: &[u8]) -> Result<AnyResponse> {
    // The body may be anything, or empty (status 204).
    if operation == Operation::DeleteTaskPushNotificationConfig {
        return Ok(AnyResponse::Deleted);
    }
    if shape == RestShape::Draft {
        return V1Draft.read_response(operation, value(body)?);
    }
    let mut response = match operation {
        Operation::SendMessage => AnyResponse::Sent(proto_json::read_send_response(body)?),
        Operation::GetTask | Operation::CancelTask => {
            AnyResponse::Task(Arc::new(proto_json::read_task(body)?))
        }
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            AnyResponse::Config(proto_json::read_config(body)?)
        }
        Operation::ListTaskPushNotificationConfigs => {
            AnyResponse::Configs(proto_json::read_configs(body)?)
        }
        Operation::GetExtendedAgentCard => AnyResponse::Card(card::read(body).map_err(unreadable)?),
        _ => {
            return Err(Error::invalid_response("the response is of another operation"));
        }
    };
    response.read_text();
    Ok(response)
}

/// Reads an event or an error of a stream; `None` for an event of an unknown type.
///
/// # Errors
///
/// That error; [`InvalidAgentResponse`](ErrorKind::InvalidAgentResponse).
pub(super) fn read_event(shape: RestShape, data: &[u8]) -> Result<Option<StreamResponse>> {
    let event = match shape {
        RestShape::Draft => value(data).and_then(|event| V1Draft.read_event(event)),
        RestShape::V03Proto | RestShape::V03Json => {
            proto_json::read_event(data).map(|mut event| {
                event.read_text();
                event
            })
        }
    };
    event.map(Some).or_else(|error| match document(data) {
        document if document.get("error").is_some() || document["code"].is_number() => {
            Err(named_error(&document)
                .unwrap_or_else(|| error_body::read(StatusCode::OK, &HeaderMap::new(), data)))
        }
        document if is_unknown_event(&document) => Ok(None),
        _ => Err(error),
    })
}

/// The JSON of a body; null if it is malformed.
fn document(body: &[u8]) -> Value {
    serde_json::from_str(&json::response_text(body)).unwrap_or_default()
}

/// Reads an error that has a name in place of a code, as the Java SDK writes it:
/// `{"error": "io.a2a.spec.TaskNotFoundError", "message": …}`.
fn named_error(document: &Value) -> Option<Error> {
    let name = document["error"].as_str()?.rsplit('.').next()?;
    let message = document["message"].as_str().unwrap_or(name);
    Some(Error::new(error_data::named(name)?, message.to_owned()))
}

/// Reads an error in any format: an object with a code, an error of 1.0, a problem document, or
/// only a status and a message.
pub(super) fn read_error(
    operation: Operation,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Error {
    let document = document(body);
    let has_code = document.get("error").is_some() || document["code"].is_number();
    let error = if has_code {
        named_error(&document)
    } else if let (Some(message), None) = (document["message"].as_str(), document.get("detail")) {
        // The Python SDK of 0.3 sends only a message.
        kind_of(operation, status).map(|kind| Error::new(kind, message.to_owned()))
    } else {
        // In a stream, only the document has a status.
        let error_status =
            document["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let error_status = error_status.filter(|_| status.is_success()).unwrap_or(status.as_u16());
        v1_draft::read_problem(error_status, &document)
    };
    match error {
        Some(error) => error_body::read_headers(error, headers),
        None => error_body::read(status, headers, body),
    }
}

/// The kind of error that a status means for an operation, if it comes from the agent and not from
/// a proxy.
fn kind_of(operation: Operation, status: StatusCode) -> Option<ErrorKind> {
    Some(match status.as_u16() {
        404 if operation == Operation::GetExtendedAgentCard => {
            ErrorKind::ExtendedAgentCardNotConfigured
        }
        404 => ErrorKind::TaskNotFound,
        415 => ErrorKind::ContentTypeNotSupported,
        501 if is_of_webhook(operation) => ErrorKind::PushNotificationNotSupported,
        501 => ErrorKind::UnsupportedOperation,
        502 => ErrorKind::InvalidAgentResponse,
        _ => return None,
    })
}

fn value(text: &[u8]) -> Result<Value> {
    json::response_from_slice(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_in_any_format() {
        use ErrorKind::{
            ExtendedAgentCardNotConfigured, Internal, MethodNotFound, PushNotificationNotSupported,
            TaskNotCancelable, TaskNotFound, UnsupportedOperation,
        };
        for (operation, status, body, kind) in [
            (Operation::GetTask, 404, r#"{"code":-32001,"message":"no"}"#, TaskNotFound),
            (Operation::CancelTask, 400, r#"{"code":-32002,"message":"no"}"#, TaskNotCancelable),
            // The Python SDK.
            (Operation::GetTask, 404, r#"{"message":"Task not found"}"#, TaskNotFound),
            (Operation::CancelTask, 409, r#"{"message":"no"}"#, TaskNotCancelable),
            (Operation::SendMessage, 501, r#"{"message":"no"}"#, UnsupportedOperation),
            (
                Operation::GetTaskPushNotificationConfig,
                501,
                r#"{"message":"no"}"#,
                PushNotificationNotSupported,
            ),
            (
                Operation::GetExtendedAgentCard,
                404,
                r#"{"message":"no"}"#,
                ExtendedAgentCardNotConfigured,
            ),
            (Operation::SendMessage, 500, r#"{"message":"unknown exception"}"#, Internal),
            // The Java SDK.
            (
                Operation::GetTask,
                404,
                r#"{"error":"io.a2a.spec.TaskNotFoundError","message":"Task not found"}"#,
                TaskNotFound,
            ),
            // Not an error of this protocol.
            (Operation::GetTask, 404, r#"{"detail":"Not Found"}"#, MethodNotFound),
            (Operation::GetTask, 404, "Not Found", MethodNotFound),
            // 1.0 and its draft.
            (
                Operation::GetTask,
                404,
                r#"{"error":{"code":404,"message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#,
                TaskNotFound,
            ),
            (
                Operation::CancelTask,
                409,
                r#"{"type":"https://a2a-protocol.org/errors/task-not-cancelable","title":"No","status":409,"detail":"no"}"#,
                TaskNotCancelable,
            ),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let error = read_error(operation, status, &HeaderMap::new(), body.as_bytes());
            assert_eq!(error.kind(), kind, "{operation:?} {status} {body}");
        }
    }

    #[test]
    fn stream_item_with_a_code_is_an_error() {
        for shape in [RestShape::V03Proto, RestShape::Draft] {
            for data in [
                r#"{"code":-32001,"message":"no"}"#,
                r#"{"error":"io.a2a.spec.TaskNotFoundError","message":"no"}"#,
            ] {
                let error = read_event(shape, data.as_bytes()).unwrap_err();
                assert_eq!((error.kind(), error.message()), (ErrorKind::TaskNotFound, "no"));
            }
            for data in ["{}", "[]", "", r#"{"task":1}"#] {
                let error = read_event(shape, data.as_bytes()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidAgentResponse, "{shape:?} {data}");
            }
        }
    }
}

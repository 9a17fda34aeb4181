//! gRPC status codes of errors before 1.0.1, some of which differ. The draft specifies them;
//! servers and clients of 0.3 use the same.

use std::error::Error as _;

use a2a_core::{Error, ErrorKind, Operation};
use a2a_kit_grpc::wire;
use bytes::Bytes;
use tonic::{Code, Status};

use crate::{common::error_data, operation::is_of_webhook, v1_draft::grpc_status};

/// Encodes an error with the details of 1.0, which older clients ignore, and with its name as a
/// prefix of the message, as in the SDKs of 0.2 and 0.3.
pub(super) fn encode(error: Error) -> Status {
    let kind = error.kind();
    wire::encode_as(error, code(kind), error_data::name(kind))
}

/// Decodes a failed call: from its details, or else the name of the error, or else the code and the
/// operation.
#[cfg(feature = "client")]
pub(super) fn decode(status: Status, operation: Operation, target: &str) -> Error {
    let named = status
        .message()
        .split_once(':')
        .and_then(|(name, rest)| Some((error_data::named(name.trim())?, rest.trim().to_owned())));
    let is_bare = status.details().is_empty() && status.source().is_none();
    let code = status.code();
    match named {
        Some((kind, message)) if is_bare => {
            Error::new(kind, message).with_source(wire::decode(status, target))
        }
        Some((_, message)) => wire::decode(with_message(&status, message), target),
        None => {
            let error = wire::decode(status, target);
            match kind_for_code(code, operation) {
                Some(kind) if is_bare => {
                    Error::new(kind, error.message().to_owned()).with_source(error)
                }
                _ => error,
            }
        }
    }
}

fn with_message(status: &Status, message: String) -> Status {
    let details = Bytes::copy_from_slice(status.details());
    let metadata = status.metadata().clone();
    Status::with_details_and_metadata(status.code(), message, details, metadata)
}

fn code(kind: ErrorKind) -> Code {
    Code::from(grpc_status(kind))
}

/// The kind of error that a code without details means for an operation.
fn kind_for_code(code: Code, operation: Operation) -> Option<ErrorKind> {
    match (code, operation) {
        (Code::FailedPrecondition, Operation::CancelTask) => Some(ErrorKind::TaskNotCancelable),
        (Code::FailedPrecondition, Operation::GetExtendedAgentCard) => {
            Some(ErrorKind::ExtendedAgentCardNotConfigured)
        }
        (Code::Unimplemented, operation) if is_of_webhook(operation) => {
            Some(ErrorKind::PushNotificationNotSupported)
        }
        (Code::Unimplemented, _) => Some(ErrorKind::UnsupportedOperation),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_match_the_draft() {
        for (kind, expected) in [
            (ErrorKind::TaskNotFound, Code::NotFound),
            (ErrorKind::TaskNotCancelable, Code::FailedPrecondition),
            (ErrorKind::PushNotificationNotSupported, Code::Unimplemented),
            (ErrorKind::UnsupportedOperation, Code::Unimplemented),
            (ErrorKind::ContentTypeNotSupported, Code::InvalidArgument),
            (ErrorKind::InvalidAgentResponse, Code::Internal),
            (ErrorKind::ExtendedAgentCardNotConfigured, Code::FailedPrecondition),
            (ErrorKind::ExtensionSupportRequired, Code::FailedPrecondition),
            (ErrorKind::VersionNotSupported, Code::Unimplemented),
            (ErrorKind::InvalidParams, Code::InvalidArgument),
        ] {
            assert_eq!(code(kind), expected, "{kind:?}");
        }
    }

    #[test]
    fn every_error_kind_round_trips() {
        for kind in ErrorKind::ALL {
            let status = encode(Error::new(kind, "the reason"));
            let named =
                error_data::name(kind).is_some_and(|name| status.message().starts_with(name));
            assert_eq!(named, error_data::name(kind).is_some(), "{status:?}");
            // grpc-go reads the message from the details.
            let message = status.message().as_bytes();
            assert!(status.details().windows(message.len()).any(|part| part == message));
            let decoded = decode(status, Operation::CancelTask, "peer");
            assert_eq!(decoded.kind().codes().reason, kind.codes().reason, "{kind:?}");
            assert_eq!(decoded.message(), "the reason");
        }
    }

    //
    #[test]
    fn error_without_details_is_decoded_by_name_then_by_code_and_operation() {
        use Operation::{
            CancelTask, GetExtendedAgentCard, GetTask, ListTaskPushNotificationConfigs,
        };
        for (operation, code, message, kind, text) in [
            (
                CancelTask,
                Code::Unimplemented,
                "TaskNotCancelableError: it has ended",
                ErrorKind::TaskNotCancelable,
                "it has ended",
            ),
            (GetTask, Code::Unknown, "InternalError: x", ErrorKind::Internal, "x"),
            (GetTask, Code::NotFound, "no: such", ErrorKind::TaskNotFound, "no: such"),
            (CancelTask, Code::FailedPrecondition, "x", ErrorKind::TaskNotCancelable, "x"),
            (
                GetExtendedAgentCard,
                Code::FailedPrecondition,
                "x",
                ErrorKind::ExtendedAgentCardNotConfigured,
                "x",
            ),
            (
                ListTaskPushNotificationConfigs,
                Code::Unimplemented,
                "x",
                ErrorKind::PushNotificationNotSupported,
                "x",
            ),
            (GetTask, Code::Unimplemented, "x", ErrorKind::UnsupportedOperation, "x"),
            (GetTask, Code::FailedPrecondition, "x", ErrorKind::UnsupportedOperation, "x"),
        ] {
            let error = decode(Status::new(code, message), operation, "peer");
            assert_eq!((error.kind(), error.message()), (kind, text), "{operation:?}, {message}");
        }
    }
}

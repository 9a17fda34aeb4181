//! The status codes of errors before 1.0, which had other ones for some.

use a2a_core::{Error, ErrorKind, ProtocolVersion};
use a2a_grpc::wire;
use tonic::{Code, Status};

/// The names that the SDKs of 0.3 put in front of a message: their only detail.
const NAMES: [(&str, ErrorKind); 12] = [
    ("TaskNotFoundError", ErrorKind::TaskNotFound),
    ("TaskNotCancelableError", ErrorKind::TaskNotCancelable),
    ("PushNotificationNotSupportedError", ErrorKind::PushNotificationNotSupported),
    ("UnsupportedOperationError", ErrorKind::UnsupportedOperation),
    ("ContentTypeNotSupportedError", ErrorKind::ContentTypeNotSupported),
    ("InvalidAgentResponseError", ErrorKind::InvalidAgentResponse),
    ("AuthenticatedExtendedCardNotConfiguredError", ErrorKind::ExtendedAgentCardNotConfigured),
    ("JSONParseError", ErrorKind::ParseError),
    ("InvalidRequestError", ErrorKind::InvalidRequest),
    ("MethodNotFoundError", ErrorKind::MethodNotFound),
    ("InvalidParamsError", ErrorKind::InvalidParams),
    ("InternalError", ErrorKind::Internal),
];

/// Encodes an error as a revision does, with the details of 1.0: readers that don't know them
/// pass them over.
pub(super) fn encode(error: Error, revision: ProtocolVersion) -> Status {
    let code = code(error.kind(), revision);
    wire::encode(error, code)
}

/// Decodes a call that failed. Details tell most, then the name of an error, then the code.
pub(super) fn decode(status: Status, target: &str) -> Error {
    let is_bare = status.details().is_empty();
    let error = wire::decode(status, target);
    if !is_bare {
        return error;
    }
    let Some((name, rest)) = error.message().split_once(':') else { return error };
    match NAMES.iter().find(|(known, _)| *known == name.trim()) {
        Some((_, kind)) => Error::new(*kind, rest.trim().to_owned()).with_source(error),
        None => error,
    }
}

fn code(kind: ErrorKind, revision: ProtocolVersion) -> Code {
    let is_draft = revision >= ProtocolVersion::V1Draft;
    match kind {
        ErrorKind::PushNotificationNotSupported
        | ErrorKind::UnsupportedOperation
        | ErrorKind::VersionNotSupported => Code::Unimplemented,
        // Nothing is written about 0.3, so that its SDKs decide.
        ErrorKind::TaskNotCancelable | ErrorKind::ContentTypeNotSupported if !is_draft => {
            Code::Unimplemented
        }
        _ => Code::from(kind.codes().grpc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_revision_has_its_own_codes() {
        for (kind, v0_3, draft) in [
            (ErrorKind::TaskNotFound, Code::NotFound, Code::NotFound),
            (ErrorKind::TaskNotCancelable, Code::Unimplemented, Code::FailedPrecondition),
            (ErrorKind::PushNotificationNotSupported, Code::Unimplemented, Code::Unimplemented),
            (ErrorKind::UnsupportedOperation, Code::Unimplemented, Code::Unimplemented),
            (ErrorKind::ContentTypeNotSupported, Code::Unimplemented, Code::InvalidArgument),
            (ErrorKind::InvalidAgentResponse, Code::Internal, Code::Internal),
            (
                ErrorKind::ExtendedAgentCardNotConfigured,
                Code::FailedPrecondition,
                Code::FailedPrecondition,
            ),
            (
                ErrorKind::ExtensionSupportRequired,
                Code::FailedPrecondition,
                Code::FailedPrecondition,
            ),
            (ErrorKind::VersionNotSupported, Code::Unimplemented, Code::Unimplemented),
            (ErrorKind::InvalidParams, Code::InvalidArgument, Code::InvalidArgument),
        ] {
            assert_eq!(code(kind, ProtocolVersion::V0_3), v0_3, "0.3, {kind:?}");
            assert_eq!(code(kind, ProtocolVersion::V0_2), v0_3, "0.2, {kind:?}");
            assert_eq!(code(kind, ProtocolVersion::V1Draft), draft, "draft, {kind:?}");
        }
    }

    #[test]
    fn every_kind_of_error_survives_either_code() {
        for revision in [ProtocolVersion::V0_3, ProtocolVersion::V1Draft] {
            for kind in ErrorKind::ALL {
                let decoded = decode(encode(Error::new(kind, "the reason"), revision), "peer");
                assert_eq!(decoded.kind().codes().reason, kind.codes().reason, "{kind:?}");
                assert_eq!(decoded.message(), "the reason");
            }
        }
    }

    #[test]
    fn a_name_in_front_of_the_message_tells_more_than_the_code() {
        for (code, message, kind, text) in [
            (
                Code::Unimplemented,
                "TaskNotCancelableError: it has ended",
                ErrorKind::TaskNotCancelable,
                "it has ended",
            ),
            (Code::Unknown, "InternalError: x", ErrorKind::Internal, "x"),
            (Code::NotFound, "no: such", ErrorKind::TaskNotFound, "no: such"),
            (
                Code::Unimplemented,
                "Method not found!",
                ErrorKind::MethodNotFound,
                "Method not found!",
            ),
        ] {
            let error = decode(Status::new(code, message), "peer");
            assert_eq!((error.kind(), error.message()), (kind, text), "{message}");
        }
    }
}

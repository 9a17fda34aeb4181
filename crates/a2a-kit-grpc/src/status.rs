//! Errors as gRPC statuses, in both directions (spec §10.6).

mod decode;
mod encode;

pub(crate) use decode::decode;
pub(crate) use encode::encode;
pub use encode::encode_as;

/// The prefix of type names in `google.protobuf.Any`.
const TYPE_PREFIX: &str = "type.googleapis.com/";
const ERROR_INFO: &str = "google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "google.rpc.BadRequest";
const RETRY_INFO: &str = "google.rpc.RetryInfo";

const RETRY_AFTER: &str = "retry-after";
const CHALLENGE: &str = "www-authenticate";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use a2a_core::{Error, ErrorKind, Violation};
    use prost::Message as _;
    use tonic::Code;
    use tonic_types::pb;

    use super::*;

    #[test]
    fn error_kinds_round_trip() {
        for kind in ErrorKind::ALL {
            let error = Error::new(kind, "the reason").with_metadata("taskId", "t");
            let status = encode(error);
            assert_eq!(i32::from(status.code()), kind.codes().grpc, "{kind:?}");
            let decoded = decode(status);
            // Two kinds have the same reason and code; only HTTP distinguishes them.
            let expected = match kind {
                ErrorKind::UnsupportedMediaType => ErrorKind::ContentTypeNotSupported,
                other => other,
            };
            assert_eq!(decoded.kind(), expected, "{kind:?}");
            assert_eq!(decoded.message(), "the reason");
            assert_eq!(decoded.metadata()["taskId"], "t");
        }
    }

    #[test]
    fn encoding_of_metadata_is_deterministic() {
        let details = || {
            let names = ["taskId", "contextId", "mediaType", "limit", "a", "b", "c", "d"];
            let error = Error::new(ErrorKind::TaskNotFound, "no such task");
            let error = names.iter().fold(error, |error, name| error.with_metadata(*name, "x"));
            encode(error).details().to_vec()
        };
        let first = details();
        for _ in 0..20 {
            assert_eq!(details(), first);
        }
    }

    #[test]
    fn violations_retry_delay_and_challenge_round_trip() {
        let violations = vec![Violation::new("message.parts", "must not be empty")];
        let error = Error::from_violations(violations.clone())
            .with_retry_after(Duration::from_millis(1_500))
            .with_challenge("Bearer realm=\"a\"");
        let status = encode(error);
        assert_eq!(status.metadata().get("retry-after").unwrap(), "2");
        let decoded = decode(status);
        assert_eq!(decoded.violations(), violations);
        assert_eq!(decoded.retry_after(), Some(Duration::from_millis(1_500)));
        assert_eq!(decoded.challenge(), Some("Bearer realm=\"a\""));
    }

    #[test]
    fn errors_of_any_size_fit_into_the_trailers() {
        let violations =
            (0..64).map(|index| Violation::new(format!("parts[{index}]"), "é".repeat(200)));
        let error = Error::from_violations(violations.collect())
            .with_message("ü".repeat(10_000))
            .with_metadata("taskId", "t".repeat(100));
        let status = encode(error);
        let mut headers = http::HeaderMap::new();
        status.add_header(&mut headers).unwrap();
        let size: usize =
            headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        assert!(size < 8 * 1024, "{size}");
        let decoded = decode(status);
        assert_eq!(decoded.kind(), ErrorKind::InvalidParams);
        assert!(!decoded.violations().is_empty());
    }

    #[test]
    fn error_source_is_not_sent() {
        let status = encode(Error::internal("the password is secret"));
        let wire = pb::Status::decode(status.details()).unwrap();
        assert!(!format!("{status:?} {wire:?}").contains("secret"));
        assert!(decode(status).metadata().contains_key("errorId"));
    }

    #[test]
    fn status_without_details_is_decoded_by_code() {
        for (code, kind) in [
            (Code::NotFound, ErrorKind::TaskNotFound),
            (Code::FailedPrecondition, ErrorKind::UnsupportedOperation),
            (Code::Unimplemented, ErrorKind::MethodNotFound),
            (Code::InvalidArgument, ErrorKind::InvalidParams),
            (Code::OutOfRange, ErrorKind::PayloadTooLarge),
            (Code::Unavailable, ErrorKind::Unavailable),
            (Code::Unknown, ErrorKind::Internal),
        ] {
            let error = decode(tonic::Status::new(code, "text"));
            assert_eq!((error.kind(), error.message()), (kind, "text"), "{code:?}");
        }
        assert!(!decode(tonic::Status::new(Code::NotFound, "")).message().is_empty());
    }

    //
    #[test]
    fn reason_takes_precedence_over_code() {
        // 1.0.0 uses UNIMPLEMENTED where 1.0.1 uses FAILED_PRECONDITION.
        let current = encode(Error::new(ErrorKind::PushNotificationNotSupported, "no"));
        let older = tonic::Status::with_details(
            Code::Unimplemented,
            "no",
            current.details().to_vec().into(),
        );
        assert_eq!(decode(older).kind(), ErrorKind::PushNotificationNotSupported);
    }

    #[test]
    fn malformed_details_are_ignored() {
        let broken = tonic::Status::with_details(Code::NotFound, "x", vec![255_u8; 9].into());
        assert_eq!(decode(broken).kind(), ErrorKind::TaskNotFound);
    }
}

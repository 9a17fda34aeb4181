//! Translation of upstream errors for the callers of a gateway.

use std::error::Error as _;

use a2a_core::{Error, ErrorKind};
use a2a_kit_auth::client::CredentialError;
use a2a_kit_http::client::TransportError;

/// Translates an error of the upstream agent for the caller.
///
/// Errors that concern only the gateway and the upstream agent are replaced: credentials, protocol
/// version and address of the upstream agent are not disclosed. Other errors are unchanged,
/// including rejected credentials if `forwards_credentials` is set and the upstream agent rejected
/// them. The original error becomes the source, for the log.
pub(crate) fn translate_error(error: Error, forwards_credentials: bool) -> Error {
    let (kind, message) = match error.kind() {
        ErrorKind::Unauthenticated if is_credential_error(&error) => {
            (ErrorKind::Internal, "gateway has no usable credentials for the upstream agent")
        }
        ErrorKind::Unavailable if is_credential_error(&error) => {
            (ErrorKind::Unavailable, "gateway failed to obtain credentials for the upstream agent")
        }
        ErrorKind::Unauthenticated | ErrorKind::PermissionDenied if forwards_credentials => {
            return error;
        }
        ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => {
            (ErrorKind::Internal, "upstream agent rejected the gateway's credentials")
        }
        ErrorKind::VersionNotSupported => {
            (ErrorKind::Internal, "upstream agent does not support the gateway's protocol version")
        }
        kind @ (ErrorKind::Unavailable | ErrorKind::DeadlineExceeded) => {
            match TransportError::of(&error) {
                Some(transport) => (kind, transport_message(transport)),
                None => return error,
            }
        }
        _ => return error,
    };
    let mut translated = Error::new(kind, message);
    if let Some(delay) = error.retry_after() {
        translated = translated.with_retry_after(delay);
    }
    if let Some(id) = error.metadata().get("errorId") {
        // Correlates the logs of the gateway and of the upstream agent.
        translated = translated.with_metadata("errorId", id);
    }
    translated.with_source(error)
}

/// Returns whether the call was not sent because credentials were missing or not allowed.
fn is_credential_error(error: &Error) -> bool {
    error.source().is_some_and(|source| source.is::<CredentialError>())
}

fn transport_message(error: &TransportError) -> &'static str {
    if error.is_connect() {
        "failed to connect to upstream agent"
    } else if error.is_timeout() {
        "upstream agent timed out"
    } else {
        "connection to upstream agent lost"
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;

    #[test]
    fn gateway_credential_and_version_errors_are_internal_for_callers() {
        for (kind, expected) in [
            (ErrorKind::Unauthenticated, ErrorKind::Internal),
            (ErrorKind::PermissionDenied, ErrorKind::Internal),
            (ErrorKind::VersionNotSupported, ErrorKind::Internal),
        ] {
            let error =
                Error::new(kind, "no").with_challenge("Bearer").with_metadata("errorId", "7");
            let error = translate_error(error, false);
            assert_eq!((error.kind(), error.challenge()), (expected, None), "{kind:?}");
            assert_eq!(error.source().unwrap().to_string(), "no");
            assert_eq!(error.metadata()["errorId"], "7");
        }
    }

    #[test]
    fn upstream_address_is_not_disclosed() {
        for (sent, timed_out, kind) in [
            (false, false, ErrorKind::Unavailable),
            (false, true, ErrorKind::Unavailable),
            (true, false, ErrorKind::Unavailable),
            (true, true, ErrorKind::DeadlineExceeded),
        ] {
            let error = TransportError::new("refused").with_sent(sent).with_timed_out(timed_out);
            let error = translate_error(error.into_error("http://backend.internal:1"), true);
            assert_eq!(error.kind(), kind);
            assert!(
                error.metadata().is_empty() && !error.message().contains("internal"),
                "{error:?}"
            );
        }
    }

    #[test]
    fn gateway_credential_failures_are_not_reported_as_unauthenticated() {
        let (card, interface) =
            ("https://one.internal".parse().unwrap(), "https://two.internal".parse().unwrap());
        let untrusted_origin = Error::from(CredentialError::CrossOrigin { card, interface });
        let unavailable = CredentialError::Unavailable(Arc::new(std::io::Error::other("down")));
        for (error, expected) in
            [(untrusted_origin, ErrorKind::Internal), (unavailable.into(), ErrorKind::Unavailable)]
        {
            let error = translate_error(error, true);
            assert_eq!(error.kind(), expected);
            assert!(!error.message().contains("internal"), "{error}");
            assert!(error.source().unwrap().downcast_ref::<Error>().is_some(), "kept for the log");
        }
    }

    #[test]
    fn errors_of_the_agent_itself_are_forwarded() {
        for kind in ErrorKind::ALL {
            if kind == ErrorKind::VersionNotSupported {
                continue;
            }
            let error = Error::new(kind, "reason").with_retry_after(Duration::from_secs(3));
            let error = translate_error(error.with_metadata("taskId", "t"), true);
            assert_eq!((error.kind(), error.message()), (kind, "reason"));
            assert_eq!(error.metadata()["taskId"], "t");
            assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
        }
    }
}

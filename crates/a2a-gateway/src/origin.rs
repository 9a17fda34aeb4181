//! Whose fault an error is, as the callers of a gateway have to see it.

use std::error::Error as _;

use a2a_auth::client::CredentialError;
use a2a_core::{Error, ErrorKind};
use a2a_http::client::TransportError;

/// Returns an error of the agent behind as callers are to see it.
///
/// What is between the gateway and that agent is not the callers' affair: its credentials, its
/// version, its address. Everything else is passed on as it is, also a refusal of credentials
/// that are `callers`, if it is the agent's. The original stays as the source, for the log.
pub(crate) fn translated(error: Error, callers: bool) -> Error {
    let (kind, message) = match error.kind() {
        ErrorKind::Unauthenticated if is_kept_back(&error) => {
            (ErrorKind::Internal, "the gateway is not set up to authenticate at the upstream agent")
        }
        ErrorKind::Unavailable if is_kept_back(&error) => {
            (ErrorKind::Unavailable, "the gateway can't authenticate at the moment")
        }
        ErrorKind::Unauthenticated | ErrorKind::PermissionDenied if callers => return error,
        ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => {
            (ErrorKind::Internal, "the upstream agent refused the gateway's credentials")
        }
        ErrorKind::VersionNotSupported => {
            (ErrorKind::Internal, "the upstream agent refused the gateway's version")
        }
        kind @ (ErrorKind::Unavailable | ErrorKind::DeadlineExceeded) => {
            match TransportError::of(&error) {
                Some(transport) => (kind, of_transport(transport)),
                None => return error,
            }
        }
        ErrorKind::TaskNotFound
        | ErrorKind::TaskNotCancelable
        | ErrorKind::PushNotificationNotSupported
        | ErrorKind::UnsupportedOperation
        | ErrorKind::ContentTypeNotSupported
        | ErrorKind::InvalidAgentResponse
        | ErrorKind::ExtendedAgentCardNotConfigured
        | ErrorKind::ExtensionSupportRequired
        | ErrorKind::ParseError
        | ErrorKind::InvalidRequest
        | ErrorKind::MethodNotFound
        | ErrorKind::InvalidParams
        | ErrorKind::MethodNotAllowed
        | ErrorKind::UnsupportedMediaType
        | ErrorKind::PayloadTooLarge
        | ErrorKind::Internal
        | ErrorKind::ResourceExhausted => return error,
    };
    let mut translated = Error::new(kind, message);
    if let Some(delay) = error.retry_after() {
        translated = translated.with_retry_after(delay);
    }
    if let Some(id) = error.metadata().get("errorId") {
        // The log of the gateway then leads to the log of the agent.
        translated = translated.with_metadata("errorId", id);
    }
    translated.with_source(error)
}

/// Whether a call was never made, as there was nothing to authenticate with, or nowhere to send it.
fn is_kept_back(error: &Error) -> bool {
    error.source().is_some_and(|source| source.is::<CredentialError>())
}

fn of_transport(error: &TransportError) -> &'static str {
    if error.is_connect() {
        "the upstream agent can't be reached"
    } else if error.is_timeout() {
        "the upstream agent did not answer in time"
    } else {
        "the connection to the upstream agent was lost"
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;

    #[test]
    fn what_concerns_the_gateway_alone_is_not_blamed_on_the_caller() {
        for (kind, seen) in [
            (ErrorKind::Unauthenticated, ErrorKind::Internal),
            (ErrorKind::PermissionDenied, ErrorKind::Internal),
            (ErrorKind::VersionNotSupported, ErrorKind::Internal),
        ] {
            let error =
                Error::new(kind, "no").with_challenge("Bearer").with_metadata("errorId", "7");
            let error = translated(error, false);
            assert_eq!((error.kind(), error.challenge()), (seen, None), "{kind:?}");
            assert_eq!(error.source().unwrap().to_string(), "no");
            assert_eq!(error.metadata()["errorId"], "7");
        }
    }

    #[test]
    fn the_address_of_the_agent_stays_here() {
        for (sent, timed_out, kind) in [
            (false, false, ErrorKind::Unavailable),
            (false, true, ErrorKind::Unavailable),
            (true, false, ErrorKind::Unavailable),
            (true, true, ErrorKind::DeadlineExceeded),
        ] {
            let error = TransportError::new(sent, timed_out, "refused");
            let error = translated(error.into_error("http://inside:1"), true);
            assert_eq!(error.kind(), kind);
            assert!(
                error.metadata().is_empty() && !error.message().contains("inside"),
                "{error:?}"
            );
        }
    }

    #[test]
    fn what_the_gateway_could_not_send_is_no_refusal_of_its_callers() {
        let (card, interface) =
            ("https://one.inside".parse().unwrap(), "https://two.inside".parse().unwrap());
        let elsewhere = Error::from(CredentialError::Elsewhere { card, interface });
        let away = CredentialError::Unavailable(Arc::new(std::io::Error::other("down")));
        for (error, seen) in
            [(elsewhere, ErrorKind::Internal), (away.into(), ErrorKind::Unavailable)]
        {
            let error = translated(error, true);
            assert_eq!(error.kind(), seen);
            assert!(!error.message().contains("inside"), "{error}");
            assert!(error.source().unwrap().downcast_ref::<Error>().is_some(), "it is for the log");
        }
    }

    #[test]
    fn what_the_agent_itself_says_is_passed_on() {
        for kind in ErrorKind::ALL {
            if kind == ErrorKind::VersionNotSupported {
                continue;
            }
            let error = Error::new(kind, "reason").with_retry_after(Duration::from_secs(3));
            let error = translated(error.with_metadata("taskId", "t"), true);
            assert_eq!((error.kind(), error.message()), (kind, "reason"));
            assert_eq!(error.metadata()["taskId"], "t");
            assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
        }
    }
}

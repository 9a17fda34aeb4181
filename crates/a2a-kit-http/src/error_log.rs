//! Logs the causes of errors under an id that the peer receives.

use std::{error::Error as StdError, fmt};

use a2a_core::{Error, ErrorKind, fresh_id};

/// Metadata key of the error id.
const ERROR_ID: &str = "errorId";

/// Logs the details of an error that the peer must not see, and adds the id of the log line to the
/// error (`errorId` in its metadata).
///
/// Every server binding calls it once per error, when it encodes the error. Internal errors are
/// logged at error level, other errors with a source at debug level, and errors about the request
/// content without their message. An error without a source is returned unchanged.
#[must_use]
pub fn report(error: Error) -> Error {
    let internal = error.kind() == ErrorKind::Internal;
    if !internal && error.source().is_none() {
        return error;
    }
    // An error of an upstream agent already has an id.
    let upstream = error.metadata().get(ERROR_ID).cloned();
    let id = fresh_id();
    if internal {
        tracing::error!(
            error.id = id,
            error.upstream = upstream,
            error.kind = ?error.kind(),
            "{error}{}",
            Causes(&error)
        );
    } else if is_about_input(error.kind()) {
        tracing::debug!(
            error.id = id,
            error.upstream = upstream,
            error.kind = ?error.kind(),
            "malformed or invalid request"
        );
    } else {
        tracing::debug!(
            error.id = id,
            error.upstream = upstream,
            error.kind = ?error.kind(),
            "{error}{}",
            Causes(&error)
        );
    }
    error.with_metadata(ERROR_ID, id)
}

/// Returns whether the message of an error may quote the request, which contains message parts and
/// webhook tokens. These must not be logged.
fn is_about_input(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ParseError | ErrorKind::InvalidRequest | ErrorKind::InvalidParams)
}

/// An error, then its sources.
pub(crate) fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (**error).source())
}

/// Formats the source chain of an error, each source after a colon.
pub(crate) struct Causes<'a>(pub(crate) &'a (dyn StdError + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        causes(self.0).skip(1).try_for_each(|cause| write!(f, ": {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_error_exposes_only_its_id() {
        let error = report(Error::internal("secret"));
        assert_eq!(error.message(), "internal error");
        assert_eq!(error.metadata().len(), 1);
        assert!(!error.metadata()["errorId"].is_empty());
        assert_eq!(Causes(&error).to_string(), ": secret");
    }

    #[test]
    fn error_without_a_source_is_unchanged() {
        let error = report(Error::task_not_found("t"));
        assert_eq!(error.metadata().keys().collect::<Vec<_>>(), ["taskId"]);
    }
}

//! Where the inside of an error is written down and its outside gets an id.

use std::{error::Error as StdError, fmt};

use a2a_core::{Error, ErrorKind, fresh_id};

/// Metadata key under which the peer learns the id of a fault.
const ERROR_ID: &str = "errorId";

/// Logs what the peer must not see, and gives the error the id under which the log has it
/// (`errorId` in its metadata).
///
/// Every server binding passes an error through here once, when it encodes it. Internal faults
/// are logged as errors, other errors that have a source at debug level, those about what is in
/// the request without their text; an error without anything to hide comes back unchanged.
#[must_use]
pub fn report(error: Error) -> Error {
    let internal = error.kind() == ErrorKind::Internal;
    if !internal && error.source().is_none() {
        return error;
    }
    // An error that came from the agent behind this one already has an id there.
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
            "a request that can't be read, or breaks rules"
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

/// Returns whether what an error says may quote the request, which has parts of messages and
/// tokens of webhooks in it. The peer is told; the log is not for that.
fn is_about_input(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ParseError | ErrorKind::InvalidRequest | ErrorKind::InvalidParams)
}

/// Writes the causes of an error, each after a colon.
pub(crate) struct Causes<'a>(pub(crate) &'a (dyn StdError + 'static));

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_internal_fault_shows_an_id_and_nothing_else() {
        let error = report(Error::internal("secret"));
        assert_eq!(error.message(), "internal error");
        assert_eq!(error.metadata().len(), 1);
        assert!(!error.metadata()["errorId"].is_empty());
        assert_eq!(Causes(&error).to_string(), ": secret");
    }

    #[test]
    fn an_error_without_a_source_is_not_touched() {
        let error = report(Error::task_not_found("t"));
        assert_eq!(error.metadata().keys().collect::<Vec<_>>(), ["taskId"]);
    }
}

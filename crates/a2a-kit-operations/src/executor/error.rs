//! Why an executor failed.

use std::{error::Error as StdError, fmt};

/// Any error: what executors and closures return. `?` converts errors of every type to it.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// A failure with a message for the caller, and a cause for the log only.
///
/// The task is FAILED with the message. The engine finds it among the sources of the error that an
/// executor returns, so that errors may gain context on the way:
///
/// ```
/// use a2a_kit_operations::{AgentError, AgentExecutor, BoxError, RequestContext, TaskUpdater};
/// use anyhow::Context as _;
///
/// struct Booking;
///
/// fn seat(text: &str) -> anyhow::Result<u8> {
///     // Fails the task with an error id; the text goes to the log.
///     let seat = text.trim().parse().context("not a seat number")?;
///     if seat > 30 {
///         // Fails the task with this message.
///         return Err(AgentError::new("There are only 30 seats").into());
///     }
///     Ok(seat)
/// }
///
/// impl AgentExecutor for Booking {
///     async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
///         let seat = seat(&context.text()).context("no seat")?;
///         updates.complete(format!("Seat {seat} is yours")).await?;
///         Ok(())
///     }
/// }
/// ```
#[derive(Debug)]
pub struct AgentError(Public);

/// The contents of an [`AgentError`], and its source: a boxed `anyhow::Error` hides the type of the
/// error inside, but not of its sources.
#[derive(Debug)]
struct Public {
    message: String,
    cause: Option<BoxError>,
    is_logged: bool,
}

impl AgentError {
    /// Creates an error with a message for the caller.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Public { message: message.into(), cause: None, is_logged: false })
    }

    /// An error that its executor has logged already, in its own words: the engine logs it only at
    /// level `debug`.
    pub fn logged(message: impl Into<String>) -> Self {
        Self(Public { message: message.into(), cause: None, is_logged: true })
    }

    /// Adds a cause for the log.
    #[must_use]
    pub fn with_source(mut self, cause: impl Into<BoxError>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// The message for the caller in an error or its sources, if one is an `AgentError`.
    pub fn message_in(error: &BoxError) -> Option<&str> {
        public_message(error).map(|(message, _)| message)
    }

    /// The message for the caller.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

/// What is for the log, beside the message for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForLog {
    /// A cause, or context.
    More,
    /// The message.
    Message,
    /// Nothing: the executor has logged it.
    Nothing,
}

/// The message for the caller in an error or its sources, and what is for the log.
pub(crate) fn public_message(error: &BoxError) -> Option<(&str, ForLog)> {
    let head: &(dyn StdError + 'static) = &**error;
    let mut next = Some(head);
    while let Some(current) = next {
        let public = current.downcast_ref::<AgentError>().map(|error| &error.0);
        if let Some(public) = public.or_else(|| current.downcast_ref()) {
            let has_more = public.cause.is_some() || head.to_string() != public.message;
            let for_log = match public.is_logged {
                true => ForLog::Nothing,
                false if has_more => ForLog::More,
                false => ForLog::Message,
            };
            return Some((&public.message, for_log));
        }
        next = current.source();
    }
    None
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl StdError for AgentError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("reported to the caller")
    }
}

impl StdError for Public {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.cause.as_ref().map(|cause| &**cause as _)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn message_is_found_through_every_conversion() {
        let error = || AgentError::new("sold out");
        let errors: [(&str, BoxError); 5] = [
            ("boxed", error().into()),
            ("anyhow", anyhow::Error::from(error()).into()),
            ("context", anyhow::Error::from(error()).context("booking").into()),
            (
                "two contexts",
                Err::<(), _>(error()).context("one").context("two").unwrap_err().into(),
            ),
            ("source", std::io::Error::other(error()).into()),
        ];
        for (case, error) in errors {
            assert_eq!(AgentError::message_in(&error), Some("sold out"), "{case}");
        }
    }

    #[test]
    fn texts_of_other_errors_are_not_for_the_caller() {
        let errors: [BoxError; 3] =
            ["text".into(), anyhow::anyhow!("text").into(), std::io::Error::other("text").into()];
        for error in errors {
            assert_eq!(public_message(&error), None, "{error:?}");
        }
    }

    #[test]
    fn cause_and_context_are_for_the_log() {
        let plain: BoxError = AgentError::new("sold out").into();
        assert_eq!(public_message(&plain), Some(("sold out", ForLog::Message)));
        let logged: BoxError = AgentError::logged("sold out").into();
        assert_eq!(public_message(&logged), Some(("sold out", ForLog::Nothing)));
        let caused: BoxError = AgentError::new("sold out").with_source("row locked").into();
        assert_eq!(public_message(&caused), Some(("sold out", ForLog::More)));
        let context = anyhow::Error::from(AgentError::new("sold out")).context("booking");
        assert_eq!(public_message(&context.into()), Some(("sold out", ForLog::More)));
    }
}

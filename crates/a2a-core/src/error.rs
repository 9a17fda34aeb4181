//! The error type of all operations, and its codes on the wire.

mod detail;
mod kind;

use std::{borrow::Cow, collections::BTreeMap, error::Error as StdError, fmt, time::Duration};

pub use detail::{Detail, Violation};
pub use kind::{Codes, ErrorKind};

/// The domain of [`Detail::ErrorInfo`] for errors of the protocol (spec §9.5, §10.6, §11.6).
pub const ERROR_DOMAIN: &str = "a2a-protocol.org";

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type BoxError = Box<dyn StdError + Send + Sync + 'static>;

/// An error with its sources, on one line. A source whose text ends the line already is not repeated.
///
/// ```
/// use a2a_core::{Error, error_chain};
///
/// let error = Error::unavailable("no response").with_source("timed out after 10 s");
/// assert_eq!(error_chain(&error), "no response: timed out after 10 s");
/// assert_eq!(format!("{error:?}"), error_chain(&error));
/// ```
pub fn error_chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// A text that could not be parsed. The message says what is wrong, or what was expected.
#[derive(Clone, PartialEq, Eq)]
pub struct ParseError(Cow<'static, str>);

impl ParseError {
    /// Creates an error with a message.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for ParseError {}

crate::debug_as_chain!(ParseError);

/// Implements `Debug` for errors as [`error_chain`], so that an error that `main` returns is
/// readable.
#[macro_export]
macro_rules! debug_as_chain {
    ($($error:ty),+ $(,)?) => {$(
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&$crate::error_chain(self))
            }
        }
    )+};
}

/// Implements `Debug` by the named fields, for types of which the others can't be printed, or are
/// secret or long: `debug_fields!(Client { url, .. })`, or `debug_fields!(Secret(..))` for none.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_fields {
    ($type:ident $(<$param:ident>)? (..)) => {
        impl $(<$param>)? ::std::fmt::Debug for $type $(<$param>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(concat!(stringify!($type), "(..)"))
            }
        }
    };
    ($type:ident $(<$param:ident>)? { $($field:ident,)+ .. }) => {
        impl $(<$param>)? ::std::fmt::Debug for $type $(<$param>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($field), &self.$field))+
                    .finish_non_exhaustive()
            }
        }
    };
}

/// Why an operation failed: a kind to match on, a message and details for the peer, and a source
/// for logs.
///
/// The source is never sent. The error is one word wide.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    metadata: BTreeMap<String, String>,
    violations: Vec<Violation>,
    retry_after: Option<Duration>,
    challenge: Option<String>,
    source: Option<BoxError>,
}

impl Error {
    /// Creates an error. The peer can read `message`.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            metadata: BTreeMap::new(),
            violations: Vec::new(),
            retry_after: None,
            challenge: None,
            source: None,
        }))
    }

    /// Creates an error for a task that does not exist or belongs to another caller.
    pub fn task_not_found(id: &str) -> Self {
        Self::new(ErrorKind::TaskNotFound, format!("task not found: {id}"))
            .with_metadata("taskId", id)
    }

    /// Creates an error for an invalid member.
    pub fn invalid_params(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self::from_violations(vec![Violation::new(field, description)])
    }

    /// Creates an error for all invalid members of a request.
    pub fn from_violations(violations: Vec<Violation>) -> Self {
        let mut message = String::from("invalid parameters");
        for (index, violation) in violations.iter().take(3).enumerate() {
            message.push_str(if index == 0 { ": " } else { "; " });
            if !violation.field.is_empty() {
                message.push_str(&violation.field);
                message.push(' ');
            }
            message.push_str(&violation.description);
        }
        if violations.len() > 3 {
            message.push_str(&format!("; and {} more", violations.len() - 3));
        }
        let mut error = Self::new(ErrorKind::InvalidParams, message);
        error.0.violations = violations;
        error
    }

    /// Creates an internal error. `source` is logged and not sent.
    pub fn internal(source: impl Into<BoxError>) -> Self {
        Self::new(ErrorKind::Internal, "internal error").with_source(source)
    }

    /// Creates an error for a response of an agent that violates the protocol.
    pub fn invalid_response(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidAgentResponse, message)
    }

    /// Creates an error for an operation that the agent or the state of the task does not allow.
    pub fn unsupported(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::UnsupportedOperation, message)
    }

    /// Creates an error for a transient failure.
    pub fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// Sets the source for logs.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Adds an entry to the metadata of the `ErrorInfo`; keys are camelCase.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets the delay before a retry (`Retry-After`).
    #[must_use]
    pub fn with_retry_after(mut self, delay: Duration) -> Self {
        self.0.retry_after = Some(delay);
        self
    }

    /// Sets the authentication challenge (`WWW-Authenticate`).
    #[must_use]
    pub fn with_challenge(mut self, challenge: impl Into<String>) -> Self {
        self.0.challenge = Some(challenge.into());
        self
    }

    /// Replaces the message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.message = message.into();
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The metadata of the `ErrorInfo`.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.0.metadata
    }

    /// The rule violations of the request.
    pub fn violations(&self) -> &[Violation] {
        &self.0.violations
    }

    /// The delay before a retry, if known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The authentication challenge, if any.
    pub fn challenge(&self) -> Option<&str> {
        self.0.challenge.as_deref()
    }

    /// Returns whether a retry of the same call may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Unavailable | ErrorKind::ResourceExhausted)
    }

    /// The detail objects on the wire: an `ErrorInfo`, and a `BadRequest` if there are violations.
    pub fn details(&self) -> Vec<Detail> {
        let mut details = vec![Detail::ErrorInfo {
            reason: self.0.kind.codes().reason.into(),
            domain: ERROR_DOMAIN.into(),
            metadata: self.0.metadata.clone(),
        }];
        if !self.0.violations.is_empty() {
            details.push(Detail::BadRequest { field_violations: self.0.violations.clone() });
        }
        details
    }

    /// Reconstructs a received error. The kind is determined by the reason of the protocol's
    /// domain, or else it is `fallback`, the kind of the numeric code (spec §10, matching order).
    pub fn from_wire(
        fallback: ErrorKind,
        message: impl Into<Cow<'static, str>>,
        details: Vec<Detail>,
    ) -> Self {
        let mut error = Self::new(fallback, message);
        for detail in details {
            match detail {
                Detail::ErrorInfo { reason, domain, metadata } => {
                    if domain == ERROR_DOMAIN
                        && let Some(kind) = ErrorKind::from_reason(&reason)
                    {
                        error.0.kind = kind.refined_by(fallback);
                    }
                    error.0.metadata.extend(metadata);
                }
                Detail::BadRequest { field_violations } => {
                    error.0.violations.extend(field_violations);
                }
                Detail::Other => {}
            }
        }
        error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

debug_as_chain!(Error);

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

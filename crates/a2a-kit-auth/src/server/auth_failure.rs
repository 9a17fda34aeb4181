//! Authentication and authorization failures, and the errors that the peer gets.

use std::{collections::BTreeSet, time::Duration};

use a2a_core::{Error, ErrorKind};

use super::{Rejection, challenge::Challenges};

/// Why a call was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AuthFailure {
    /// No credentials, or not enough to satisfy the requirements.
    Missing,
    /// The credentials are invalid, for this reason. The peer does not learn it.
    Invalid(&'static str),
    /// The credentials have expired.
    Expired,
    /// The caller is authenticated, but lacks these scopes.
    InsufficientScope(BTreeSet<String>),
    /// Too many failures from the same address; the remaining backoff.
    Throttled(Duration),
    /// The credentials can't be verified at present.
    Unavailable,
    /// Too many verifications in progress.
    Overloaded,
}

impl AuthFailure {
    /// The reason in the audit log.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Missing => "missing credentials",
            Self::Invalid(reason) => reason,
            Self::Expired => "expired credentials",
            Self::InsufficientScope(_) => "insufficient scope",
            Self::Throttled(_) => "too many failed attempts",
            Self::Unavailable => "credential verification unavailable",
            Self::Overloaded => "too many verifications in progress",
        }
    }

    /// The error that the peer gets.
    pub(super) fn error(&self, challenges: &Challenges) -> Error {
        match self {
            Self::Missing => Error::new(
                ErrorKind::Unauthenticated,
                format!("authentication required: {}", challenges.schemes),
            )
            .with_metadata("schemes", challenges.schemes.clone())
            .with_challenge(challenges.missing.clone()),
            Self::Invalid(_) | Self::Expired => {
                Error::new(ErrorKind::Unauthenticated, "invalid credentials")
                    .with_metadata("schemes", challenges.schemes.clone())
                    .with_challenge(challenges.invalid.clone())
            }
            Self::InsufficientScope(scopes) => {
                let list = scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
                Error::new(ErrorKind::PermissionDenied, format!("missing scopes: {list}"))
                    .with_metadata("scope", list)
                    .with_challenge(challenges.insufficient(scopes))
            }
            Self::Throttled(delay) => {
                Error::new(ErrorKind::ResourceExhausted, "too many failed authentication attempts")
                    .with_retry_after(*delay)
            }
            Self::Unavailable => Error::unavailable("credential verification unavailable")
                .with_retry_after(Duration::from_secs(5)),
            Self::Overloaded => {
                Error::new(ErrorKind::ResourceExhausted, "too many authentications in progress")
                    .with_retry_after(Duration::from_secs(1))
            }
        }
    }
}

impl From<Rejection> for AuthFailure {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Invalid(reason) => Self::Invalid(reason),
            Rejection::Unknown => Self::Invalid("unknown subject"),
            Rejection::Expired => Self::Expired,
            Rejection::Unavailable(_) => Self::Unavailable,
            Rejection::Overloaded => Self::Overloaded,
        }
    }
}

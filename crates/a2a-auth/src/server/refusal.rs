//! Why a call is refused, and what the peer learns of it.

use std::{collections::BTreeSet, time::Duration};

use a2a_core::{Error, ErrorKind};

use super::challenge::Challenges;

/// Why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Nothing was presented that would be enough.
    Missing,
    /// What was presented is wrong. Whatever it is that is wrong about it, the answer is the same.
    Invalid,
    /// What was presented was right, and is not any more.
    Expired,
    /// The caller is known, and lacks scopes.
    Scopes(BTreeSet<String>),
    /// Too many tries that came from the same address were wrong.
    Throttled(Duration),
    /// What was presented can't be verified at the moment.
    Unavailable,
    /// Too much is being verified at the moment.
    Overloaded,
}

impl Refusal {
    /// What the audit log calls it.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Missing => "nothing that is enough was presented",
            Self::Invalid => "what was presented is not valid",
            Self::Expired => "what was presented has expired",
            Self::Scopes(_) => "scopes are missing",
            Self::Throttled(_) => "too many tries failed",
            Self::Unavailable => "what was presented can't be verified at the moment",
            Self::Overloaded => "too much is being verified at the moment",
        }
    }

    /// The error that the peer gets.
    pub(super) fn error(&self, challenges: &Challenges) -> Error {
        match self {
            Self::Missing => Error::new(
                ErrorKind::Unauthenticated,
                format!("authentication is needed: {}", challenges.schemes),
            )
            .with_metadata("schemes", challenges.schemes.clone())
            .with_challenge(challenges.missing.clone()),
            Self::Invalid | Self::Expired => {
                Error::new(ErrorKind::Unauthenticated, "the credentials are not valid")
                    .with_metadata("schemes", challenges.schemes.clone())
                    .with_challenge(challenges.invalid.clone())
            }
            Self::Scopes(scopes) => {
                let list = scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
                Error::new(ErrorKind::PermissionDenied, format!("scopes are missing: {list}"))
                    .with_metadata("scope", list)
                    .with_challenge(challenges.insufficient(scopes))
            }
            Self::Throttled(delay) => {
                Error::new(ErrorKind::ResourceExhausted, "too many failed tries to authenticate")
                    .with_retry_after(*delay)
            }
            Self::Unavailable => {
                Error::unavailable("the credentials can't be verified at the moment")
                    .with_retry_after(Duration::from_secs(5))
            }
            Self::Overloaded => Error::new(
                ErrorKind::ResourceExhausted,
                "too many callers authenticate at the moment",
            )
            .with_retry_after(Duration::from_secs(1)),
        }
    }
}

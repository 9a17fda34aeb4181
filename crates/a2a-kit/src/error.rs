//! Why a server could not start.

use std::io;

use a2a_core::Error;

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The listener could not be bound.
    #[error(transparent)]
    Bind(#[from] a2a_kit_http::ServeError),
    /// The listener has no local address.
    #[error("the listener has no local address")]
    Address(#[source] io::Error),
    /// The agent card violates rules of the protocol.
    #[error("the agent card is invalid")]
    Card(#[source] Error),
    /// The agent card has security requirements that nothing enforces.
    #[error("the agent card has security requirements, and nothing enforces them")]
    Unguarded,
    /// The security requirements of the agent card can't be enforced.
    #[cfg(feature = "auth")]
    #[error("the security requirements of the agent card can't be enforced")]
    Guard(#[from] a2a_kit_auth::server::GuardError),
    /// The agent card could not be signed.
    #[error("the agent card could not be signed")]
    Signature(#[source] Error),
}

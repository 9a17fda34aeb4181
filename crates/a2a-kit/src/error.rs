//! Why a server could not start.

use std::io;

use a2a_core::Error;

/// Why a server could not start.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The listener could not be bound.
    #[error(transparent)]
    Bind(#[from] a2a_kit_http::BindError),
    /// The listener has no local address.
    #[error("the listener has no local address")]
    Address(#[source] io::Error),
    /// An agent of [`Agents`](crate::Agents) can't be at its place.
    #[error("the agent can't be served at {place}: {problem}")]
    Mount {
        /// The place.
        place: String,
        /// The reason.
        problem: &'static str,
    },
    /// The public URL is not one of HTTP.
    #[error("invalid public URL {url:?} (expected http:// or https:// and a host)")]
    PublicUrl {
        /// The URL.
        url: String,
    },
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

a2a_core::debug_as_chain!(ServeError);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn error_of_main_is_readable() {
        let bind = a2a_kit_http::bind("agent.example").await.unwrap_err();
        let text = "failed to listen on agent.example: invalid socket address";
        assert_eq!(format!("{bind:?}"), text);
        assert_eq!(format!("{:?}", ServeError::from(bind)), text);
    }
}

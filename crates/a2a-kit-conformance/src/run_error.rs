//! Why a run could not start.

/// Why a run could not start.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The reference of the card is malformed.
    #[error("{0}")]
    Reference(String),
    /// The agent can't be reached.
    #[error("failed to fetch the agent card from {url}: {reason}")]
    Unreachable {
        /// The URL of the card.
        url: String,
        /// Why the fetch failed.
        reason: String,
    },
    /// There is no card.
    #[error("no agent card at {0}")]
    NotFound(String),
    /// The card requires other credentials.
    #[error("access to the agent card at {url} denied (HTTP {status})")]
    Denied {
        /// The URL of the card.
        url: String,
        /// 401 or 403.
        status: u16,
    },
    /// The card has no interface with the bindings and revisions to check.
    #[error("the card has no such interface; it has {0}")]
    NoInterface(String),
    /// The client can't be set up.
    #[error("failed to set up the client: {0}")]
    Setup(String),
}

a2a_core::debug_as_chain!(RunError);

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a node could not connect to its cluster.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
    /// The cluster name is empty, or contains characters other than letters, digits, `-` and `_`.
    #[error("invalid cluster name {0:?}: use letters, digits, '-' and '_'")]
    ClusterName(String),
    /// A credentials or certificate file could not be used.
    #[error("failed to read NATS credentials")]
    Credentials(#[source] BoxError),
    /// The server is unreachable, or rejected the connection.
    #[error("failed to connect to NATS at {url}")]
    Connect {
        /// The server, without credentials.
        url: String,
        /// The cause.
        #[source]
        cause: BoxError,
    },
    /// JetStream is not enabled, or not for this user.
    #[error("failed to create the signal stream on NATS at {url}: enable JetStream memory storage")]
    JetStream {
        /// The server, without credentials.
        url: String,
        /// The cause.
        #[source]
        cause: BoxError,
    },
}

a2a_core::debug_as_chain!(NatsError);

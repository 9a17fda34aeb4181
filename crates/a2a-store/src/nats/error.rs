type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a node could not join its cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
    /// The name has other characters than letters, digits, `-` and `_`, or none.
    #[error("the name of a cluster has letters, digits, '-' and '_', not {0:?}")]
    ClusterName(String),
    /// A file with credentials or certificates can't be used.
    #[error("what authenticates to NATS can't be read")]
    Credentials(#[source] Cause),
    /// The server is not there, or does not let us in.
    #[error("no connection to NATS at {url}")]
    Connect {
        /// Where it was looked for, without what authenticates.
        url: String,
        /// Why.
        #[source]
        cause: Cause,
    },
    /// The server has no JetStream, or not for us.
    #[error("NATS at {url} can't keep signals: JetStream has to be on, with room in memory")]
    JetStream {
        /// Which server.
        url: String,
        /// Why.
        #[source]
        cause: Cause,
    },
}

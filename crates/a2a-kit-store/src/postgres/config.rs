use std::time::Duration;

use derive_setters::Setters;

use crate::SecretKeys;

/// Settings of a node.
#[derive(Clone, Debug, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct PostgresConfig {
    /// The name of the node, which must never be reused. Characters other than letters, digits and
    /// `-_.:` become `-`. Default: a fresh one.
    #[setters(into, strip_option)]
    pub node: Option<String>,
    /// The schema of the tables, created if missing. Default: that of the URL, or `public`.
    #[setters(into, strip_option)]
    pub schema: Option<String>,
    /// Duration of a lease without renewal. Default: 10 s.
    pub lease: Duration,
    /// Duration of a delivery claim without an outcome. Default: 30 s.
    pub push_claim: Duration,
    /// Keys to encrypt the secrets of webhooks. Default: none.
    pub secret_keys: SecretKeys,
    /// Whether nodes signal writes through the database (`NOTIFY`). Default: yes.
    pub notify: bool,
    /// Number of write connections. Default: 2, because the server serializes commits with
    /// notifications, and fewer writers make larger groups. More are useful if signals go through
    /// NATS and the server has more cores.
    pub writers: usize,
    /// Maximum number of other connections. Default: 8.
    pub readers: usize,
    /// How long a call waits for such a connection, including the time to establish it, before it
    /// fails as unavailable. Default: 5 s.
    pub acquire_timeout: Duration,
}

impl Default for PostgresConfig {
    fn default() -> Self {
        Self {
            node: None,
            schema: None,
            lease: Duration::from_secs(10),
            push_claim: Duration::from_secs(30),
            secret_keys: SecretKeys::default(),
            notify: true,
            writers: 2,
            readers: 8,
            acquire_timeout: Duration::from_secs(5),
        }
    }
}

use std::time::Duration;

use crate::SecretKeys;

/// Settings of a node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PostgresConfig {
    /// The name of the node, which must never be reused. Default: a fresh one.
    pub node: Option<String>,
    /// The schema of the tables. Default: that of the URL, or `public`.
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

impl PostgresConfig {
    /// Sets the name of the node. Characters other than letters, digits and `-_.:` become `-`.
    #[must_use]
    pub fn with_node(mut self, node: impl Into<String>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// Sets the schema of the tables; it is created if missing.
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Sets the lease duration.
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets the duration of a delivery claim.
    #[must_use]
    pub fn with_push_claim(mut self, push_claim: Duration) -> Self {
        self.push_claim = push_claim;
        self
    }

    /// Sets the keys to encrypt the secrets of webhooks.
    #[must_use]
    pub fn with_secret_keys(mut self, secret_keys: SecretKeys) -> Self {
        self.secret_keys = secret_keys;
        self
    }

    /// Sets whether nodes signal writes through the database.
    #[must_use]
    pub fn with_notify(mut self, notify: bool) -> Self {
        self.notify = notify;
        self
    }

    /// Sets the number of write connections.
    #[must_use]
    pub fn with_writers(mut self, writers: usize) -> Self {
        self.writers = writers;
        self
    }

    /// Sets the maximum number of other connections.
    #[must_use]
    pub fn with_readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Sets how long a call waits for a connection.
    #[must_use]
    pub fn with_acquire_timeout(mut self, acquire_timeout: Duration) -> Self {
        self.acquire_timeout = acquire_timeout;
        self
    }
}

use std::time::Duration;

use crate::SecretKeys;

/// How a node uses a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PostgresConfig {
    /// The name of the node, unique among all that ever were. Default: a fresh one.
    pub node: Option<String>,
    /// The schema that the tables are in. Default: that of the URL, or `public`.
    pub schema: Option<String>,
    /// How long a task is held without being renewed. Default: 10 s.
    pub lease: Duration,
    /// How long a webhook is claimed while nothing is said of it. Default: 30 s.
    pub push_claim: Duration,
    /// What the secrets of webhooks are sealed with. Default: no keys.
    pub secret_keys: SecretKeys,
    /// Whether nodes tell each other through the database what happens (`NOTIFY`). Default:
    /// they do.
    pub notify: bool,
    /// How many connections write. Default: 2, as commits that notify go one after the other in
    /// the whole server, and fewer writers make bigger groups. More pay off where nodes hear of
    /// each other elsewhere and the server has more cores.
    pub writers: usize,
    /// How many connections there may be for everything else. Default: 8.
    pub readers: usize,
    /// How long a call waits for one of these connections, and for it to be made where it is not
    /// there, before the store counts as unavailable. Default: 5 s.
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
    /// Sets the name of the node. What is not a letter, a digit or one of `-_.:` becomes `-`.
    #[must_use]
    pub fn with_node(mut self, node: impl Into<String>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// Sets the schema that the tables are in; it is made if it is not there.
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Sets how long a task is held without being renewed.
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets how long a webhook is claimed while nothing is said of it.
    #[must_use]
    pub fn with_push_claim(mut self, push_claim: Duration) -> Self {
        self.push_claim = push_claim;
        self
    }

    /// Sets what the secrets of webhooks are sealed with.
    #[must_use]
    pub fn with_secret_keys(mut self, secret_keys: SecretKeys) -> Self {
        self.secret_keys = secret_keys;
        self
    }

    /// Sets whether nodes tell each other through the database what happens.
    #[must_use]
    pub fn with_notify(mut self, notify: bool) -> Self {
        self.notify = notify;
        self
    }

    /// Sets how many connections write.
    #[must_use]
    pub fn with_writers(mut self, writers: usize) -> Self {
        self.writers = writers;
        self
    }

    /// Sets how many connections there may be for everything but writes.
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

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

use super::{
    PostgresConfig, PostgresError,
    address::Address,
    link::Connector,
    migration,
    pool::Pool,
    signal::{Listener, channel},
    usage_cache::Usages,
    writer::{Setup, Writers},
};
use crate::SecretKeys;

/// Stores tasks in a PostgreSQL database (version 12 or newer), shared by many nodes.
///
/// Reconnects by itself. Calls fail while there is no connection.
pub struct PostgresStore {
    pub(super) node: Arc<str>,
    pub(super) lease: Duration,
    pub(super) push_claim: Duration,
    pub(super) keys: SecretKeys,
    /// The notification channel, if notifications are enabled.
    pub(super) channel: Option<String>,
    pub(super) pool: Arc<Pool>,
    /// The connection that renews leases, so that renewals wait for nothing else.
    pub(super) renewals: Pool,
    pub(super) usages: Arc<Usages>,
    pub(super) writers: Writers,
    pub(super) listener: Option<Listener>,
}

impl PostgresStore {
    /// Opens a database as a new node, and creates or migrates its schema.
    ///
    /// # Errors
    ///
    /// See [`PostgresError`]. Errors never contain the password.
    pub async fn connect(url: &str) -> Result<Self, PostgresError> {
        Self::connect_with(url, PostgresConfig::default()).await
    }

    /// Opens a database.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_with(url: &str, config: PostgresConfig) -> Result<Self, PostgresError> {
        let address = Address::parse(url)?;
        let connector = Arc::new(Connector::new(address, config.schema)?);
        migration::migrate(&connector).await?;
        let node: Arc<str> = match config.node {
            Some(node) => named(&node).into(),
            None => Uuid::now_v7().to_string().into(),
        };
        let channel = config.notify.then(|| channel(connector.schema()));
        let listener = match &channel {
            None => None,
            Some(channel) => {
                let (to, node) = (Arc::clone(&connector), Arc::clone(&node));
                let listener = Listener::start(to, channel.clone(), node).await;
                Some(listener.map_err(|error| connector.unreachable(error))?)
            }
        };
        let usages = Arc::<Usages>::default();
        let setup = Setup {
            connector: Arc::clone(&connector),
            node: Arc::clone(&node),
            lease: config.lease,
            channel: channel.clone(),
            usages: Arc::clone(&usages),
        };
        Ok(Self {
            node,
            lease: config.lease,
            push_claim: config.push_claim,
            keys: config.secret_keys,
            channel,
            renewals: Pool::new(Arc::clone(&connector), 1, config.acquire_timeout),
            pool: Arc::new(Pool::new(connector, config.readers, config.acquire_timeout)),
            usages,
            writers: Writers::spawn(&setup, config.writers),
            listener,
        })
    }
}

/// A node name that is safe in a line of a notification.
fn named(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    name.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect()
}

a2a_core::debug_fields!(PostgresStore { node, pool, .. });

//! Fixtures: stores in separate schemas.

use std::sync::atomic::{AtomicU32, Ordering};

use a2a_kit_operations::store::TaskQuery;
use a2a_kit_store::postgres::{PostgresConfig, PostgresStore};
use a2a_test_servers::{Private, Skipped, postgres};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

/// A schema used by one test.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) url: String,
    pub(crate) name: String,
}

impl Schema {
    /// Creates a schema in a database that the tests of this process share.
    pub(crate) async fn new() -> Result<Self, Skipped> {
        static DATABASE: OnceCell<String> = OnceCell::const_new();
        static MADE: AtomicU32 = AtomicU32::new(0);
        let server = postgres().await?;
        let url = DATABASE.get_or_init(|| server.database()).await.clone();
        let name = format!("t{}", MADE.fetch_add(1, Ordering::Relaxed));
        // The application name identifies its stores.
        let parameter = if url.contains('?') { '&' } else { '?' };
        let url = format!("{url}{parameter}application_name={name}");
        Ok(Self { url, name })
    }

    /// The only schema of a database of its own, whose settings may change.
    pub(crate) async fn alone() -> Result<Self, Skipped> {
        Ok(Self { url: postgres().await?.database().await, name: "alone".to_owned() })
    }

    /// The only schema of a server.
    pub(crate) fn of(server: &Private) -> Self {
        Self { url: server.url().to_owned(), name: "alone".to_owned() }
    }

    /// Opens it as another node.
    pub(crate) async fn open(&self) -> PostgresStore {
        self.open_with(PostgresConfig::default()).await
    }

    /// Opens it as another node.
    pub(crate) async fn open_with(&self, config: PostgresConfig) -> PostgresStore {
        PostgresStore::connect_with(&self.url, config.with_schema(&self.name)).await.unwrap()
    }

    /// Connects to the database without a store.
    pub(crate) async fn client(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(&format!("SET search_path = {}", self.name)).await.unwrap();
        client
    }
}

/// A query with a limit and filters.
pub(crate) fn asked(limit: usize, narrow: impl FnOnce(&mut TaskQuery)) -> TaskQuery {
    let mut query = TaskQuery::default();
    query.limit = limit;
    narrow(&mut query);
    query
}

//! Stores in schemas of their own.

use std::sync::atomic::{AtomicU32, Ordering};

use a2a_operations::store::TaskQuery;
use a2a_store::postgres::{PostgresConfig, PostgresStore};
use a2a_test_servers::{Private, Skipped, postgres};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

/// A schema that only one test uses.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) url: String,
    pub(crate) name: String,
}

impl Schema {
    /// A fresh one, in a database that the tests of this process share.
    pub(crate) async fn new() -> Result<Self, Skipped> {
        static DATABASE: OnceCell<String> = OnceCell::const_new();
        static MADE: AtomicU32 = AtomicU32::new(0);
        let server = postgres().await?;
        let url = DATABASE.get_or_init(|| server.database()).await.clone();
        let name = format!("t{}", MADE.fetch_add(1, Ordering::Relaxed));
        // Its stores can be told from others by it.
        let parameter = if url.contains('?') { '&' } else { '?' };
        let url = format!("{url}{parameter}application_name={name}");
        Ok(Self { url, name })
    }

    /// The only one of a server.
    pub(crate) fn of(server: &Private) -> Self {
        Self { url: server.url().to_owned(), name: "alone".to_owned() }
    }

    /// Opens it as one more node.
    pub(crate) async fn open(&self) -> PostgresStore {
        self.open_with(PostgresConfig::default()).await
    }

    /// Opens it as one more node.
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

/// A query for up to a number of tasks, narrowed down.
pub(crate) fn asked(limit: usize, narrow: impl FnOnce(&mut TaskQuery)) -> TaskQuery {
    let mut query = TaskQuery::default();
    query.limit = limit;
    narrow(&mut query);
    query
}

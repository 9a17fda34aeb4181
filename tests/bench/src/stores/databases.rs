//! Databases of the benchmarks: files in a temporary directory, and schemas of a server.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use a2a_kit_store::{
    postgres::{PostgresConfig, PostgresStore},
    sqlite::SqliteStore,
};
use a2a_test_servers::Private;
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

pub(crate) struct Databases {
    folder: TempDir,
    server: Private,
    made: AtomicU32,
}

impl Databases {
    pub(crate) fn new(server: Private) -> Self {
        let folder = TempDir::new().expect("a temporary directory");
        Self { folder, server, made: AtomicU32::new(0) }
    }

    fn fresh(&self) -> String {
        format!("bench{}", self.made.fetch_add(1, Ordering::Relaxed))
    }

    /// The path of a new file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join(self.fresh()).with_extension("db")
    }

    pub(crate) async fn sqlite(&self) -> SqliteStore {
        SqliteStore::open(self.file()).await.expect("a new file can be opened")
    }

    /// A store in a new schema.
    pub(crate) async fn postgres(&self) -> PostgresStore {
        self.postgres_that_notifies(true).await
    }

    /// A store in a new schema, with or without NOTIFY.
    pub(crate) async fn postgres_that_notifies(&self, notify: bool) -> PostgresStore {
        let config = PostgresConfig::default().with_schema(self.fresh()).with_notify(notify);
        PostgresStore::connect_with(self.server.url(), config).await.expect("the server runs")
    }

    /// A connection without a store.
    pub(crate) async fn client(&self) -> Client {
        let connected = tokio_postgres::connect(self.server.url(), NoTls).await;
        let (client, connection) = connected.expect("the server runs");
        tokio::spawn(connection);
        client
    }

    /// A new schema with the tables of a store, and its name.
    pub(crate) async fn schema(&self) -> String {
        let name = self.fresh();
        let tables =
            include_str!("../../../../crates/a2a-kit-store/src/postgres/migrations/V1__tasks.sql");
        let made = format!("CREATE SCHEMA {name}; SET search_path = {name}; {tables}");
        self.client().await.batch_execute(&made).await.expect("the schema is new");
        name
    }

    /// A connection that sees a schema.
    pub(crate) async fn client_of(&self, schema: &str) -> Client {
        let client = self.client().await;
        let path = format!("SET search_path = {schema}");
        client.batch_execute(&path).await.expect("the schema exists");
        client
    }
}

//! Database connections and their prepared statements.

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::Arc,
    task::{Poll, ready},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_postgres::{
    Client, Connection, Row, Socket, Statement,
    types::{ToSql, Type},
};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::task::AbortOnDropHandle;

use super::{
    PostgresError,
    address::Address,
    health::Health,
    link_error::{LinkError, STATEMENT_TIMEOUT},
};

/// The server aborts a transaction that waits for its client, because it holds locks. Ours are
/// single statements, so only failures leave one open.
///
/// Statements are often planned while tables are empty, and the plans are kept. Index scans are
/// therefore forced even if another plan looks cheaper.
///
/// A table that is locked for longer than a few seconds counts as not writable.
const SESSION: &str = "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '5s'; \
    SET jit = off; SET enable_seqscan = off";

/// How long plans are kept: a table that was empty may be large by now.
const REPLAN: Duration = Duration::from_secs(5);

/// The parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];
pub(super) type TypedParams<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

pub(super) struct Connector {
    address: Address,
    tls: MakeRustlsConnect,
    session: String,
    schema: String,
    health: Arc<Health>,
}

type Tls = <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream;

impl Connector {
    pub(super) fn new(address: Address, schema: Option<String>) -> Result<Self, PostgresError> {
        let schema = schema.or_else(|| address.schema.clone()).unwrap_or_else(|| "public".into());
        let session = format!("{SESSION}; SET search_path = {}", quoted(&schema));
        let tls = address.tls()?;
        Ok(Self { address, tls, session, schema, health: Arc::default() })
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    pub(super) fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Host and port, and the database, for messages.
    pub(super) fn place(&self) -> (String, String) {
        (self.address.host(), self.address.database())
    }

    /// The error if the server can't be reached.
    pub(super) fn unreachable(&self, error: LinkError) -> PostgresError {
        let (host, database) = self.place();
        PostgresError::Connect { host, database, source: error.into() }
    }

    /// Connects; the caller has to drive the connection.
    pub(super) async fn open(
        &self,
    ) -> Result<(Client, Connection<Socket, Tls>), tokio_postgres::Error> {
        self.address.config.connect(self.tls.clone()).await
    }

    /// The statements to run first on every connection.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) async fn link(&self) -> Result<Link, LinkError> {
        let generation = self.health.generation();
        let (client, connection) = with_timeout(self.open()).await?;
        let polled = Arc::default();
        let driver = drive(connection, Arc::clone(&self.health), Arc::clone(&polled));
        let driver = tokio::spawn(driver);
        let driver = AbortOnDropHandle::new(driver);
        with_timeout(client.batch_execute(&self.session)).await?;
        Ok(Link {
            client,
            statements: HashMap::new(),
            planned: Instant::now(),
            health: Arc::clone(&self.health),
            generation,
            polled,
            _driver: driver,
        })
    }
}

a2a_core::debug_fields!(Connector { schema, .. });

/// Drives a connection until it is lost. A session that becomes read-only is noticed with the
/// response to its next statement (PostgreSQL 14 and later): what a demoted primary reads is
/// outdated.
///
/// A response is delivered before its poll ends, and what it says about the session is noted with
/// the lock held, so that the next holder of the lock knows it as well.
async fn drive(
    mut connection: Connection<Socket, Tls>,
    health: Arc<Health>,
    polled: Arc<Mutex<()>>,
) {
    let mut was_read_only = is_read_only(&connection);
    let lost = poll_fn(|cx| {
        let _poll = polled.lock();
        let message = connection.poll_message(cx);
        if !was_read_only && is_read_only(&connection) {
            was_read_only = true;
            health.found_read_only();
        }
        match ready!(message) {
            Some(Ok(_)) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Err(error)) => Poll::Ready(Err(error)),
            None => Poll::Ready(Ok(())),
        }
    });
    if let Err(error) = lost.await {
        tracing::debug!(%error, "database connection lost");
    }
}

fn is_read_only(connection: &Connection<Socket, Tls>) -> bool {
    let is_on = |name| connection.parameter(name) == Some("on");
    is_on("default_transaction_read_only") || is_on("in_hot_standby")
}

/// One connection, for one user at a time.
pub(super) struct Link {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    planned: Instant,
    health: Arc<Health>,
    generation: u64,
    /// Held while the connection is polled.
    polled: Arc<Mutex<()>>,
    _driver: AbortOnDropHandle<()>,
}

impl Link {
    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Whether it is closed, or to be replaced.
    pub(super) fn is_closed(&self) -> bool {
        drop(self.polled.lock());
        self.client.is_closed() || self.generation != self.health.generation()
    }

    /// Discards old plans.
    pub(super) async fn refresh(&mut self) -> Result<(), LinkError> {
        if self.planned.elapsed() > REPLAN {
            with_timeout(self.client.batch_execute("DISCARD PLANS")).await?;
            self.planned = Instant::now();
        }
        Ok(())
    }

    /// Runs a statement that is prepared once per connection.
    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, LinkError> {
        self.refresh().await?;
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let statement = with_timeout(self.client.prepare(sql)).await?;
                self.statements.insert(sql, statement.clone());
                statement
            }
        };
        with_timeout(self.client.query(&statement, params)).await
    }

    /// Runs two statements in one transaction.
    pub(super) async fn locked(
        &mut self,
        lock: (&'static str, Params<'_>),
        write: (&'static str, Params<'_>),
    ) -> Result<Vec<Row>, LinkError> {
        with_timeout(self.client.batch_execute("BEGIN")).await?;
        self.query(lock.0, lock.1).await?;
        let rows = self.query(write.0, write.1).await?;
        with_timeout(self.client.batch_execute("COMMIT")).await?;
        Ok(rows)
    }

    /// Runs a statement under locks, and rolls both back.
    pub(super) async fn roll_back(
        &mut self,
        (lock, write): (&'static str, &'static str),
        params: Params<'_>,
    ) -> Result<Vec<Row>, LinkError> {
        with_timeout(self.client.batch_execute("BEGIN")).await?;
        let result = async {
            with_timeout(self.client.batch_execute(lock)).await?;
            with_timeout(self.client.query(write, params)).await
        };
        let result = result.await;
        with_timeout(self.client.batch_execute("ROLLBACK")).await?;
        result
    }

    /// Prepares a statement for the caller to keep.
    pub(super) async fn prepare(&self, sql: &str) -> Result<Statement, LinkError> {
        with_timeout(self.client.prepare(sql)).await
    }

    /// Runs a prepared statement. Concurrent calls are pipelined.
    pub(super) async fn execute(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Vec<Row>, LinkError> {
        with_timeout(self.client.query(statement, params)).await
    }

    /// Runs a statement that is planned for its actual parameters.
    pub(super) async fn query_once(
        &mut self,
        sql: &str,
        params: TypedParams<'_>,
    ) -> Result<Vec<Row>, LinkError> {
        with_timeout(self.client.query_typed(sql, params)).await
    }
}

async fn with_timeout<T>(
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, LinkError> {
    match timeout(STATEMENT_TIMEOUT, work).await {
        Ok(result) => Ok(result?),
        Err(_elapsed) => Err(LinkError::Timeout),
    }
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

//! Connections to the database, and what was prepared on each.

use std::{collections::HashMap, fmt, time::Duration};

use tokio::time::{Instant, timeout};
use tokio_postgres::{Client, Connection, Row, Socket, Statement, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::task::AbortOnDropHandle;

use super::{PostgresError, address::Address, tls};

/// How long a statement may take before its connection is taken for dead. Waiting for a lock is
/// within it, and nothing here waits for one long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A transaction that waits for its client holds locks: the server ends it rather soon. Ours
/// are single statements, so this is for what was cut in two by a fault.
///
/// Statements are often planned when tables are empty, and kept when they are not any more: so
/// indexes are read even where a plan without them looks cheaper.
const SESSION: &str = "SET idle_in_transaction_session_timeout = '5s'; SET jit = off; \
    SET enable_seqscan = off";

/// After how long statements are planned anew: tables that were empty may be large by now.
const REPLAN: Duration = Duration::from_secs(5);

/// The parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Makes connections.
pub(super) struct Connector {
    address: Address,
    tls: MakeRustlsConnect,
    session: String,
    schema: String,
}

type Tls = <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream;

impl Connector {
    pub(super) fn new(address: Address, schema: Option<String>) -> Result<Self, PostgresError> {
        let schema = schema.or_else(|| address.schema.clone()).unwrap_or_else(|| "public".into());
        let session = format!("{SESSION}; SET search_path = {}", quoted(&schema));
        Ok(Self { tls: tls::connector(&address)?, address, session, schema })
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// Host and port, and the database: for messages.
    pub(super) fn place(&self) -> (String, String) {
        (self.address.host(), self.address.database())
    }

    /// Connects, and leaves it to the caller to drive the connection.
    pub(super) async fn open(
        &self,
    ) -> Result<(Client, Connection<Socket, Tls>), tokio_postgres::Error> {
        self.address.config.connect(self.tls.clone()).await
    }

    /// What is to be said first on every connection.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) async fn link(&self) -> Result<Link, LinkError> {
        let (client, connection) = patient(self.open()).await?;
        let driver = AbortOnDropHandle::new(tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the database broke");
            }
        }));
        patient(client.batch_execute(&self.session)).await?;
        Ok(Link { client, statements: HashMap::new(), planned: Instant::now(), _driver: driver })
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, database) = self.place();
        f.debug_struct("Connector")
            .field("host", &host)
            .field("database", &database)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// One connection, used by one at a time.
pub(super) struct Link {
    client: Client,
    statements: HashMap<&'static str, Statement>,
    planned: Instant,
    _driver: AbortOnDropHandle<()>,
}

impl Link {
    pub(super) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Forgets plans that were made long ago.
    pub(super) async fn refresh(&mut self) -> Result<(), LinkError> {
        if self.planned.elapsed() > REPLAN {
            patient(self.client.batch_execute("DISCARD PLANS")).await?;
            self.planned = Instant::now();
        }
        Ok(())
    }

    /// Runs a statement that is prepared once for each connection.
    pub(super) async fn query(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, LinkError> {
        self.refresh().await?;
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let statement = patient(self.client.prepare(sql)).await?;
                self.statements.insert(sql, statement.clone());
                statement
            }
        };
        patient(self.client.query(&statement, params)).await
    }

    /// Runs two statements in one transaction.
    pub(super) async fn locked(
        &mut self,
        lock: (&'static str, Params<'_>),
        write: (&'static str, Params<'_>),
    ) -> Result<Vec<Row>, LinkError> {
        patient(self.client.batch_execute("BEGIN")).await?;
        self.query(lock.0, lock.1).await?;
        let rows = self.query(write.0, write.1).await?;
        patient(self.client.batch_execute("COMMIT")).await?;
        Ok(rows)
    }

    /// Prepares a statement that the caller keeps.
    pub(super) async fn prepare(&self, sql: &str) -> Result<Statement, LinkError> {
        patient(self.client.prepare(sql)).await
    }

    /// Runs such a statement. Several that are run at once go out in one flight.
    pub(super) async fn execute(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Vec<Row>, LinkError> {
        patient(self.client.query(statement, params)).await
    }

    /// Runs a statement that is planned for the very parameters it is given.
    pub(super) async fn query_once(
        &mut self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), tokio_postgres::types::Type)],
    ) -> Result<Vec<Row>, LinkError> {
        patient(self.client.query_typed(sql, params)).await
    }
}

/// Why a connection did not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("the database did not answer in {} s", PATIENCE.as_secs())]
    Silent,
    #[error("no connection of the pool was free within {0:?}")]
    Busy(Duration),
    #[error(transparent)]
    Postgres(#[from] tokio_postgres::Error),
}

impl LinkError {
    /// Whether the server has refused a statement, and nothing of it was done.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Silent | Self::Busy(_) => false,
            Self::Postgres(error) => match error.as_db_error() {
                // A backend that is ended says so too, but then its connection is gone.
                Some(error) => !matches!(
                    error.parsed_severity(),
                    Some(
                        tokio_postgres::error::Severity::Fatal
                            | tokio_postgres::error::Severity::Panic
                    )
                ),
                None => !error.is_closed() && error.code().is_some(),
            },
        }
    }
}

async fn patient<T>(
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, LinkError> {
    match timeout(PATIENCE, work).await {
        Ok(result) => Ok(result?),
        Err(_elapsed) => Err(LinkError::Silent),
    }
}

/// A name as an identifier.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

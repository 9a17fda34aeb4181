//! A connection pool for everything but grouped writes.

use std::{fmt, sync::Arc, time::Duration};

use a2a_kit_operations::{
    metrics::{PoolConnection, PoolWait},
    store::StoreError,
};
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use tokio_postgres::{Row, types::ToSql};

use super::link::{Connector, Link, LinkError, Params};

/// A bounded number of connections, created on demand.
pub(super) struct Pool {
    connector: Arc<Connector>,
    idle: Mutex<Vec<Link>>,
    permits: Semaphore,
    /// How long a call waits for a connection.
    acquire_timeout: Duration,
}

/// A connection checked out of the pool.
struct PooledConnection<'a> {
    link: Link,
    _permit: SemaphorePermit<'a>,
    _counted: PoolConnection,
}

impl<'a> PooledConnection<'a> {
    fn new(link: Link, permit: SemaphorePermit<'a>) -> Self {
        Self { link, _permit: permit, _counted: PoolConnection::count() }
    }
}

impl Pool {
    pub(super) fn new(connector: Arc<Connector>, size: usize, acquire_timeout: Duration) -> Self {
        let permits = Semaphore::new(size.max(1));
        Self { connector, idle: Mutex::new(Vec::new()), permits, acquire_timeout }
    }

    /// Runs a read-only statement; retried once if the connection turns out to be dead.
    pub(super) async fn read(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        match self.run(sql, params).await {
            Err(Failure { error, stale: true }) if !error.is_refusal() => {
                self.run(sql, params).await.map_err(Failure::into_store)
            }
            result => result.map_err(Failure::into_store),
        }
    }

    /// Like [`read`](Self::read), planned for the actual parameters.
    pub(super) async fn read_once(
        &self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), tokio_postgres::types::Type)],
    ) -> Result<Vec<Row>, StoreError> {
        for last in [false, true] {
            let (mut connection, fresh) = self.checkout().await.map_err(Failure::into_store)?;
            match connection.link.query_once(sql, params).await {
                Ok(rows) => {
                    self.check_in(connection);
                    return Ok(rows);
                }
                Err(error) if error.is_refusal() => {
                    self.check_in(connection);
                    return Err(StoreError::failed(error));
                }
                Err(error) if last || fresh => return Err(StoreError::failed(error)),
                Err(_) => {}
            }
        }
        Err(StoreError::failed("the database is unreachable"))
    }

    /// Runs a write, without retries.
    pub(super) async fn write(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.run(sql, params).await.map_err(Failure::into_store)
    }

    /// Runs two statements in one transaction, without retries: the second sees everything
    /// committed by previous holders of the locks that the first takes.
    pub(super) async fn write_locked(
        &self,
        lock: (&'static str, Params<'_>),
        write: (&'static str, Params<'_>),
    ) -> Result<Vec<Row>, StoreError> {
        let (mut connection, _) = self.checkout().await.map_err(Failure::into_store)?;
        // A connection that failed in between is closed, and its transaction aborted.
        let rows = connection.link.locked(lock, write).await.map_err(StoreError::failed)?;
        self.check_in(connection);
        Ok(rows)
    }

    async fn run(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, Failure> {
        let (mut connection, fresh) = self.checkout().await?;
        let result = connection.link.query(sql, params).await;
        match result {
            Ok(rows) => {
                self.check_in(connection);
                Ok(rows)
            }
            Err(error) => {
                if error.is_refusal() {
                    self.check_in(connection);
                }
                Err(Failure { error, stale: !fresh })
            }
        }
    }

    /// Returns a connection, and whether it is new.
    async fn checkout(&self) -> Result<(PooledConnection<'_>, bool), Failure> {
        let wait = PoolWait::begin();
        match timeout(self.acquire_timeout, self.acquire()).await {
            Ok(connection) => {
                wait.end();
                connection
            }
            Err(_elapsed) => {
                tracing::debug!(timeout = ?self.acquire_timeout, "connection pool exhausted");
                Err(Failure { error: LinkError::PoolExhausted(self.acquire_timeout), stale: false })
            }
        }
    }

    async fn acquire(&self) -> Result<(PooledConnection<'_>, bool), Failure> {
        let closed = |_| Failure { error: LinkError::Timeout, stale: false };
        let permit = self.permits.acquire().await.map_err(closed)?;
        while let Some(link) = self.pop() {
            if !link.is_closed() {
                return Ok((PooledConnection::new(link, permit), false));
            }
        }
        let link = self.connector.link().await.map_err(|error| Failure { error, stale: false })?;
        Ok((PooledConnection::new(link, permit), true))
    }

    fn pop(&self) -> Option<Link> {
        self.idle.lock().pop()
    }

    /// Not reached if a statement was cancelled; its connection is then closed.
    fn check_in(&self, connection: PooledConnection<'_>) {
        self.idle.lock().push(connection.link);
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("connector", &self.connector).finish_non_exhaustive()
    }
}

struct Failure {
    error: LinkError,
    /// Whether the connection was used before, so that it may have died since.
    stale: bool,
}

impl Failure {
    fn into_store(self) -> StoreError {
        StoreError::failed(self.error)
    }
}

//! Connections for everything but the grouped writes.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use a2a_operations::{
    metrics::{PoolConnection, PoolWait},
    store::StoreError,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use tokio_postgres::{Row, types::ToSql};

use super::link::{Connector, Link, LinkError, Params};

/// Up to a number of connections, each used by one at a time and made when it is needed.
pub(super) struct Pool {
    connector: Arc<Connector>,
    idle: Mutex<Vec<Link>>,
    permits: Semaphore,
    /// How long a call waits for a connection.
    acquire_timeout: Duration,
}

/// A connection on loan.
struct Loan<'a> {
    link: Link,
    _permit: SemaphorePermit<'a>,
    _counted: PoolConnection,
}

impl<'a> Loan<'a> {
    fn new(link: Link, permit: SemaphorePermit<'a>) -> Self {
        Self { link, _permit: permit, _counted: PoolConnection::count() }
    }
}

impl Pool {
    pub(super) fn new(connector: Arc<Connector>, size: usize, acquire_timeout: Duration) -> Self {
        let permits = Semaphore::new(size.max(1));
        Self { connector, idle: Mutex::new(Vec::new()), permits, acquire_timeout }
    }

    /// Runs a statement that only reads: if the connection turns out to be dead, once more.
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

    /// Like [`read`](Self::read), planned for the very parameters.
    pub(super) async fn read_once(
        &self,
        sql: &str,
        params: &[(&(dyn ToSql + Sync), tokio_postgres::types::Type)],
    ) -> Result<Vec<Row>, StoreError> {
        for last in [false, true] {
            let (mut loan, fresh) = self.loan().await.map_err(Failure::into_store)?;
            match loan.link.query_once(sql, params).await {
                Ok(rows) => {
                    self.give_back(loan);
                    return Ok(rows);
                }
                Err(error) if error.is_refusal() => {
                    self.give_back(loan);
                    return Err(StoreError::failed(error));
                }
                Err(error) if last || fresh => return Err(StoreError::failed(error)),
                Err(_) => {}
            }
        }
        Err(StoreError::failed("the database is not reached"))
    }

    /// Runs a statement that writes, once.
    pub(super) async fn write(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.run(sql, params).await.map_err(Failure::into_store)
    }

    /// Runs two statements in one transaction, once: the second sees all that was done by whoever
    /// held the locks that the first one takes.
    pub(super) async fn write_locked(
        &self,
        lock: (&'static str, Params<'_>),
        write: (&'static str, Params<'_>),
    ) -> Result<Vec<Row>, StoreError> {
        let (mut loan, _) = self.loan().await.map_err(Failure::into_store)?;
        // A connection that failed in between is closed, and with it the transaction.
        let rows = loan.link.locked(lock, write).await.map_err(StoreError::failed)?;
        self.give_back(loan);
        Ok(rows)
    }

    async fn run(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>, Failure> {
        let (mut loan, fresh) = self.loan().await?;
        let result = loan.link.query(sql, params).await;
        match result {
            Ok(rows) => {
                self.give_back(loan);
                Ok(rows)
            }
            Err(error) => {
                if error.is_refusal() {
                    self.give_back(loan);
                }
                Err(Failure { error, stale: !fresh })
            }
        }
    }

    /// Returns a connection, and whether it was made just now.
    async fn loan(&self) -> Result<(Loan<'_>, bool), Failure> {
        let wait = PoolWait::begin();
        match timeout(self.acquire_timeout, self.acquire()).await {
            Ok(loan) => {
                wait.end();
                loan
            }
            Err(_elapsed) => {
                tracing::debug!(timeout = ?self.acquire_timeout, "no database connection was free");
                Err(Failure { error: LinkError::Busy(self.acquire_timeout), stale: false })
            }
        }
    }

    async fn acquire(&self) -> Result<(Loan<'_>, bool), Failure> {
        let closed = |_| Failure { error: LinkError::Silent, stale: false };
        let permit = self.permits.acquire().await.map_err(closed)?;
        while let Some(link) = self.pop() {
            if !link.is_closed() {
                return Ok((Loan::new(link, permit), false));
            }
        }
        let link = self.connector.link().await.map_err(|error| Failure { error, stale: false })?;
        Ok((Loan::new(link, permit), true))
    }

    fn pop(&self) -> Option<Link> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// A statement that was given up in the middle has not got here, and closes its connection.
    fn give_back(&self, loan: Loan<'_>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(loan.link);
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("connector", &self.connector).finish_non_exhaustive()
    }
}

struct Failure {
    error: LinkError,
    /// Whether the connection was used before: it may have died since.
    stale: bool,
}

impl Failure {
    fn into_store(self) -> StoreError {
        StoreError::failed(self.error)
    }
}

//! A connection pool for everything but grouped writes.

use std::{sync::Arc, time::Duration};

use a2a_kit_operations::{
    metrics::{Counted, PoolWait},
    store::StoreError,
};
use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use tokio_postgres::Row;

use super::{
    link::{Connector, Link, Params, TypedParams},
    link_error::LinkError,
};
use crate::{Result, writability::Writability};

/// Locks what a write of a task changes, and adds bytes.
const PROBE: (&str, &str) = (
    "LOCK TABLE tasks, bodies, events, leases, totals IN ROW EXCLUSIVE MODE",
    "INSERT INTO bodies (task, position, snapshot) VALUES (-1, 0, $1)",
);

/// A bounded number of connections, created on demand.
pub(super) struct Pool {
    connector: Arc<Connector>,
    idle: Mutex<Vec<Link>>,
    permits: Semaphore,
    /// How long a call waits for a connection.
    acquire_timeout: Duration,
}

/// What to run over a connection.
#[derive(Clone, Copy)]
enum Work<'a> {
    /// A statement that is prepared once per connection.
    Statement(&'static str, Params<'a>),
    /// A statement that is planned for its actual parameters.
    Once(&'a str, TypedParams<'a>),
    /// Two statements in one transaction.
    Locked { lock: (&'static str, Params<'a>), write: (&'static str, Params<'a>) },
    /// A write of these bytes that is rolled back.
    Probe(&'a Vec<u8>),
}

impl Work<'_> {
    async fn run(self, link: &mut Link) -> Result<Vec<Row>, LinkError> {
        match self {
            Self::Statement(sql, params) => link.query(sql, params).await,
            Self::Once(sql, params) => link.query_once(sql, params).await,
            Self::Locked { lock, write } => link.locked(lock, write).await,
            Self::Probe(body) => link.roll_back(PROBE, &[body]).await,
        }
    }
}

/// Which connection to check out.
#[derive(Clone, Copy)]
enum Checkout {
    /// An idle one, if there is one.
    Any,
    /// A new one: idle ones may have died together.
    New,
}

/// A connection checked out of the pool.
struct PooledConnection<'a> {
    link: Link,
    _permit: SemaphorePermit<'a>,
    _counted: Counted,
}

impl<'a> PooledConnection<'a> {
    fn new(link: Link, permit: SemaphorePermit<'a>) -> Self {
        Self { link, _permit: permit, _counted: Counted::pool_connection() }
    }
}

impl Pool {
    pub(super) fn new(connector: Arc<Connector>, size: usize, acquire_timeout: Duration) -> Self {
        let permits = Semaphore::new(size.max(1));
        Self { connector, idle: Mutex::new(Vec::new()), permits, acquire_timeout }
    }

    /// Runs a read-only statement; retried once if the connection turns out to be dead, or to be
    /// one of a demoted primary, whose response may be outdated.
    pub(super) async fn read(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>> {
        self.run_read(Work::Statement(sql, params)).await
    }

    /// Like [`read`](Self::read), planned for the actual parameters.
    pub(super) async fn read_once(&self, sql: &str, params: TypedParams<'_>) -> Result<Vec<Row>> {
        self.run_read(Work::Once(sql, params)).await
    }

    /// Runs a write; repeated once over a new connection if it was certainly not made.
    pub(super) async fn write(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>> {
        self.run_write(LinkError::is_undone, Work::Statement(sql, params)).await
    }

    /// Runs a write that has the same effect and result if it is made twice; repeated once over a
    /// new connection if the first one is gone.
    pub(super) async fn write_idempotent(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>> {
        self.run_write(LinkError::is_disconnect, Work::Statement(sql, params)).await
    }

    /// Runs two statements in one transaction, repeated like [`write`](Self::write): the second
    /// sees everything committed by previous holders of the locks that the first takes.
    pub(super) async fn write_locked(
        &self,
        lock: (&'static str, Params<'_>),
        write: (&'static str, Params<'_>),
    ) -> Result<Vec<Row>> {
        self.run_write(LinkError::is_undone, Work::Locked { lock, write }).await
    }

    /// Whether writes succeed.
    pub(super) fn writability(&self) -> &Writability {
        &self.connector.health().writability
    }

    /// Makes a write of at least this size, without a lasting effect, to all that a task is written
    /// to.
    pub(super) async fn probe_write(&self, bytes: usize) -> Result<()> {
        let probe = Work::Probe(&incompressible(bytes));
        let mut result = self.run(probe, Checkout::New).await;
        if result.as_ref().is_err_and(|failure| failure.error.is_undone()) {
            result = self.run(probe, Checkout::New).await;
        }
        result.map_err(|failure| StoreError::Unwritable(failure.error.into()))?;
        self.connector.health().written(bytes);
        Ok(())
    }

    async fn run_read(&self, work: Work<'_>) -> Result<Vec<Row>> {
        let mut result = self.run_current(work).await;
        if let Err(Failure { error, stale: true }) = &result
            && !error.is_refusal()
        {
            result = self.run(work, Checkout::Any).await;
        }
        result.map_err(|failure| failure.error.into_store())
    }

    async fn run_write(
        &self,
        can_repeat: fn(&LinkError) -> bool,
        work: Work<'_>,
    ) -> Result<Vec<Row>> {
        let mut result = self.run(work, Checkout::Any).await;
        if result.as_ref().is_err_and(|failure| can_repeat(&failure.error)) {
            result = self.run(work, Checkout::New).await;
        }
        match result {
            Ok(rows) => {
                self.connector.health().written(0);
                Ok(rows)
            }
            Err(Failure { error, .. }) => {
                self.connector.health().failed(&error, 0);
                Err(error.into_write_store())
            }
        }
    }

    async fn run(&self, work: Work<'_>, which: Checkout) -> Result<Vec<Row>, Failure> {
        let (mut connection, fresh) = self.checkout(which).await?;
        let result = work.run(&mut connection.link).await;
        self.returned(connection, fresh, work, result)
    }

    /// Runs read-only work on a connection that is not to be replaced, even afterwards.
    async fn run_current(&self, work: Work<'_>) -> Result<Vec<Row>, Failure> {
        let (mut connection, fresh) = self.checkout(Checkout::Any).await?;
        let result = work.run(&mut connection.link).await;
        if result.is_ok() && !fresh && connection.link.is_closed() {
            drop(connection);
            return self.run(work, Checkout::New).await;
        }
        self.returned(connection, fresh, work, result)
    }

    /// Returns a connection to the pool, unless it is no longer usable.
    fn returned(
        &self,
        connection: PooledConnection<'_>,
        fresh: bool,
        work: Work<'_>,
        result: Result<Vec<Row>, LinkError>,
    ) -> Result<Vec<Row>, Failure> {
        let is_usable = match &result {
            Ok(_) => true,
            // A transaction that failed is still open.
            Err(error) => error.is_refusal() && !matches!(work, Work::Locked { .. }),
        };
        if is_usable {
            // Not reached if a statement was cancelled; its connection is then closed.
            self.idle.lock().push(connection.link);
        }
        result.map_err(|error| {
            if error.is_read_only() {
                self.connector.health().found_read_only();
            }
            Failure { error, stale: !fresh }
        })
    }

    /// Returns a connection, and whether it is new.
    async fn checkout(&self, which: Checkout) -> Result<(PooledConnection<'_>, bool), Failure> {
        let wait = PoolWait::begin();
        match timeout(self.acquire_timeout, self.acquire(which)).await {
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

    async fn acquire(&self, which: Checkout) -> Result<(PooledConnection<'_>, bool), Failure> {
        let closed = |_| Failure { error: LinkError::Timeout, stale: false };
        let permit = self.permits.acquire().await.map_err(closed)?;
        while let Some(link) = self.take_idle() {
            match which {
                Checkout::Any if link.is_closed() => {}
                Checkout::Any => return Ok((PooledConnection::new(link, permit), false)),
                // It makes room for the new one.
                Checkout::New => break,
            }
        }
        let link = self.connector.link().await.map_err(|error| Failure { error, stale: false })?;
        Ok((PooledConnection::new(link, permit), true))
    }

    // Not inlined: the lock would be held while the connection is looked at.
    fn take_idle(&self) -> Option<Link> {
        self.idle.lock().pop()
    }
}

a2a_core::debug_fields!(Pool { connector, .. });

struct Failure {
    error: LinkError,
    /// Whether the connection was used before, so that it may have died since.
    stale: bool,
}

/// Bytes that do not become smaller in the database.
fn incompressible(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        // Xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes
}

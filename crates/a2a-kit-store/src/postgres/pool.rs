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
use tokio_postgres::{Row, types::ToSql};

use super::{
    link::{Connector, Link, Params},
    link_error::LinkError,
};

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
    pub(super) async fn read(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        match self.run_current(sql, params).await {
            Err(Failure { error, stale: true }) if !error.is_refusal() => {
                self.run(sql, params, Checkout::Any).await.map_err(Failure::into_store)
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
            let (mut connection, fresh) =
                self.checkout(Checkout::Any).await.map_err(Failure::into_store)?;
            match connection.link.query_once(sql, params).await {
                Ok(_) if !last && !fresh && connection.link.is_closed() => {}
                Ok(rows) => {
                    self.check_in(connection);
                    return Ok(rows);
                }
                Err(error) if error.is_refusal() => {
                    self.check_in(connection);
                    return Err(error.into_store());
                }
                Err(error) if last || fresh => return Err(error.into_store()),
                Err(_) => {}
            }
        }
        Err(StoreError::failed("the database is unreachable"))
    }

    /// Runs a write; repeated once over a new connection if it was certainly not made.
    pub(super) async fn write(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.write_again_if(LinkError::is_undone, sql, params).await
    }

    /// Runs a write that has the same effect and result if it is made twice; repeated once over a
    /// new connection if the first one is gone.
    pub(super) async fn write_idempotent(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.write_again_if(LinkError::is_disconnect, sql, params).await
    }

    async fn write_again_if(
        &self,
        can_repeat: fn(&LinkError) -> bool,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let mut result = self.run(sql, params, Checkout::Any).await;
        if result.as_ref().is_err_and(|failure| can_repeat(&failure.error)) {
            result = self.run(sql, params, Checkout::New).await;
        }
        self.written(result)
    }

    /// Runs two statements in one transaction, repeated like [`write`](Self::write): the second
    /// sees everything committed by previous holders of the locks that the first takes.
    pub(super) async fn write_locked(
        &self,
        lock: (&'static str, Params<'_>),
        write: (&'static str, Params<'_>),
    ) -> Result<Vec<Row>, StoreError> {
        let mut result = self.run_locked(lock, write, Checkout::Any).await;
        if result.as_ref().is_err_and(|failure| failure.error.is_undone()) {
            result = self.run_locked(lock, write, Checkout::New).await;
        }
        self.written(result)
    }

    /// The size of the write that would show that writes succeed again, if they fail.
    pub(super) fn failing(&self) -> Option<usize> {
        self.connector.health().failing()
    }

    /// Makes a write of at least this size, without a lasting effect, to all that a task is written
    /// to.
    pub(super) async fn probe_write(&self, bytes: usize) -> Result<(), StoreError> {
        let body = incompressible(bytes);
        let probe = async || {
            let (mut connection, _) = self.checkout(Checkout::New).await?;
            let result = connection.link.roll_back(PROBE, &[&body]).await;
            self.returned(connection, false, result)
        };
        let mut result = probe().await;
        if result.as_ref().is_err_and(|failure| failure.error.is_undone()) {
            result = probe().await;
        }
        match result {
            Ok(()) => {
                self.connector.health().written(bytes);
                Ok(())
            }
            Err(failure) => Err(StoreError::Unwritable(failure.error.into())),
        }
    }

    fn written(&self, result: Result<Vec<Row>, Failure>) -> Result<Vec<Row>, StoreError> {
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

    async fn run(
        &self,
        sql: &'static str,
        params: Params<'_>,
        which: Checkout,
    ) -> Result<Vec<Row>, Failure> {
        let (mut connection, fresh) = self.checkout(which).await?;
        let result = connection.link.query(sql, params).await;
        self.returned(connection, !fresh, result)
    }

    /// Runs a read-only statement on a connection that is not to be replaced, even afterwards.
    async fn run_current(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let (mut connection, fresh) = self.checkout(Checkout::Any).await?;
        let result = connection.link.query(sql, params).await;
        if result.is_ok() && !fresh && connection.link.is_closed() {
            drop(connection);
            return self.run(sql, params, Checkout::New).await;
        }
        self.returned(connection, !fresh, result)
    }

    async fn run_locked(
        &self,
        lock: (&'static str, Params<'_>),
        write: (&'static str, Params<'_>),
        which: Checkout,
    ) -> Result<Vec<Row>, Failure> {
        let (mut connection, fresh) = self.checkout(which).await?;
        match connection.link.locked(lock, write).await {
            Ok(rows) => self.returned(connection, !fresh, Ok(rows)),
            // A connection that failed in between is closed, and its transaction aborted.
            Err(error) => {
                self.note(&error);
                Err(Failure { error, stale: !fresh })
            }
        }
    }

    /// Returns a connection to the pool, unless it is no longer usable.
    fn returned<T>(
        &self,
        connection: PooledConnection<'_>,
        stale: bool,
        result: Result<T, LinkError>,
    ) -> Result<T, Failure> {
        match result {
            Ok(done) => {
                self.check_in(connection);
                Ok(done)
            }
            Err(error) => {
                self.note(&error);
                if error.is_refusal() {
                    self.check_in(connection);
                }
                Err(Failure { error, stale })
            }
        }
    }

    fn note(&self, error: &LinkError) {
        if error.is_read_only() {
            self.connector.health().found_read_only();
        }
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
        while let Some(link) = self.pop() {
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

    fn pop(&self) -> Option<Link> {
        self.idle.lock().pop()
    }

    /// Not reached if a statement was cancelled; its connection is then closed.
    fn check_in(&self, connection: PooledConnection<'_>) {
        self.idle.lock().push(connection.link);
    }
}

a2a_core::debug_fields!(Pool { connector, .. });

struct Failure {
    error: LinkError,
    /// Whether the connection was used before, so that it may have died since.
    stale: bool,
}

impl Failure {
    fn into_store(self) -> StoreError {
        self.error.into_store()
    }
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

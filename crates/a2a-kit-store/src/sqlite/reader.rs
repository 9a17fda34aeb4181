use std::sync::Arc;

use a2a_kit_operations::store::StoreError;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::failure::{Failure, Result};

/// A few read connections, each of which sees a consistent snapshot.
#[derive(Debug)]
pub(super) struct Readers {
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    count: u32,
}

impl Readers {
    pub(super) fn new(connections: Vec<Connection>) -> Self {
        let permits = Arc::new(Semaphore::new(connections.len()));
        let count = u32::try_from(connections.len()).unwrap_or(u32::MAX);
        Self { idle: Arc::new(Mutex::new(connections)), permits, count }
    }

    /// Reads on a blocking thread.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_closed| Failure::Closed)?;
        let idle = Arc::clone(&self.idle);
        let done = spawn_blocking(move || (read_pooled(idle, read), permit));
        // The result keeps its permit until it is received, so memory is bounded by the number of
        // connections, however many callers wait.
        let (done, permit) = done.await.map_err(StoreError::failed)?;
        drop(permit);
        Ok(done?)
    }

    /// Waits for reads in progress, and closes the connections.
    pub(super) async fn close(&self) {
        if let Ok(all) = self.permits.acquire_many(self.count).await {
            self.permits.close();
            self.idle.lock().clear();
            drop(all);
        }
    }
}

fn read_pooled<T>(
    idle: Arc<Mutex<Vec<Connection>>>,
    read: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let pooled = PooledConnection::take(idle).ok_or(Failure::Closed)?;
    let transaction = pooled.connection()?.unchecked_transaction()?;
    read(&transaction)
}

/// A connection that returns to the pool even if the read panics.
struct PooledConnection {
    connection: Option<Connection>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl PooledConnection {
    fn take(idle: Arc<Mutex<Vec<Connection>>>) -> Option<Self> {
        let connection = Some(idle.lock().pop()?);
        Some(Self { connection, idle })
    }

    fn connection(&self) -> Result<&Connection> {
        self.connection.as_ref().ok_or(Failure::Closed)
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        self.idle.lock().extend(self.connection.take());
    }
}

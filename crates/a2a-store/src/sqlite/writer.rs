use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use a2a_operations::store::StoreError;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::{
    connection::touch,
    failure::{Failure, IntoStoreError as _, Result},
    lock::DatabaseLock,
};

/// The most writes that wait for the writer; beyond them, callers wait to be among them.
const QUEUE: usize = 1024;

/// The thread that makes all changes.
///
/// It takes what waits, makes one transaction of it, and answers when that is on the disk. While
/// the disk is busy, the next transaction gathers.
#[derive(Debug)]
pub(super) struct Writer {
    orders: mpsc::Sender<Order>,
    transactions: Arc<AtomicU64>,
    unwritable: Arc<AtomicBool>,
}

enum Order {
    Write(Box<dyn Job>),
    Close(oneshot::Sender<()>),
}

/// One write of a transaction.
trait Job: Send {
    /// Makes the changes. It may be asked to make them again after they were rolled back.
    fn run(&mut self, db: &Connection) -> Result<()>;

    /// Tells who asked for it what came of it.
    fn answer(self: Box<Self>, committed: std::result::Result<(), Arc<Failure>>);
}

struct Write<T, F> {
    change: F,
    done: Option<T>,
    answer: oneshot::Sender<std::result::Result<T, StoreError>>,
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T> + Send,
{
    fn run(&mut self, db: &Connection) -> Result<()> {
        self.done = Some((self.change)(db)?);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: std::result::Result<(), Arc<Failure>>) {
        let Self { done, answer, .. } = *self;
        let done = committed.and_then(|()| done.ok_or_else(|| Arc::new(Failure::Closed)));
        // Whoever asked may be gone.
        let _ = answer.send(done.map_err(Arc::into_store_error));
    }
}

impl Writer {
    /// Starts the thread. It owns the lock and gives it back when the last change is on the disk.
    pub(super) fn start(db: Connection, lock: DatabaseLock, group: usize) -> io::Result<Self> {
        let (orders, received) = mpsc::channel(QUEUE);
        let transactions = Arc::<AtomicU64>::default();
        let counter = Arc::clone(&transactions);
        let unwritable = Arc::<AtomicBool>::default();
        let thread = Thread {
            db,
            received,
            group: group.max(1),
            transactions: counter,
            unwritable: Arc::clone(&unwritable),
        };
        thread::Builder::new().name("a2a-sqlite".to_owned()).spawn(move || {
            let closed = thread.work();
            drop(lock);
            if let Some(closed) = closed {
                let _ = closed.send(());
            }
        })?;
        Ok(Self { orders, transactions, unwritable })
    }

    /// Makes a change and waits until it is on the disk. The change may be made more than once,
    /// if it was rolled back.
    ///
    /// # Cancel safety
    ///
    /// A change that waits already is made even if nobody waits for it any more.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        change: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = Write { change, done: None, answer };
        let closed = || StoreError::from(Failure::Closed);
        self.orders.send(Order::Write(Box::new(job))).await.map_err(|_closed| closed())?;
        answered.await.map_err(|_closed| closed())?
    }

    /// Makes the changes that wait, and ends. Later ones fail.
    pub(super) async fn close(&self) {
        let (closed, when_closed) = oneshot::channel();
        if self.orders.send(Order::Close(closed)).await.is_ok() {
            // Without an answer, the thread has ended for another reason.
            let _ = when_closed.await;
        }
    }

    /// Makes sure that writes work: if the last one failed for want of space, another is made.
    pub(super) async fn probe(&self) -> std::result::Result<(), StoreError> {
        if !self.unwritable.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.write(touch).await
    }

    /// How many transactions were made.
    pub(super) fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }
}

struct Thread {
    db: Connection,
    received: mpsc::Receiver<Order>,
    group: usize,
    transactions: Arc<AtomicU64>,
    /// Whether the last write failed because the file can't be written to.
    unwritable: Arc<AtomicBool>,
}

impl Thread {
    /// Works until the store is closed or gone, and returns who waits for that.
    fn work(mut self) -> Option<oneshot::Sender<()>> {
        let mut orders = Vec::with_capacity(self.group);
        let mut closed = None;
        while closed.is_none() && self.received.blocking_recv_many(&mut orders, self.group) > 0 {
            let mut jobs = Vec::with_capacity(orders.len());
            for order in orders.drain(..) {
                match order {
                    Order::Write(job) if closed.is_none() => jobs.push(job),
                    // It is told that the store is closed.
                    Order::Write(_) => {}
                    Order::Close(answer) => closed = Some(answer),
                }
            }
            self.write(jobs);
        }
        let Self { db, received, .. } = self;
        drop(received);
        // The log is only brought into the database, which the next start would do as well.
        let log = db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").err();
        let log = log.or_else(|| db.close().err().map(|(_, error)| error));
        if let Some(error) = log {
            tracing::warn!(%error, "the database was not closed as it should be");
        }
        closed
    }

    fn write(&self, mut jobs: Vec<Box<dyn Job>>) {
        if jobs.is_empty() {
            return;
        }
        match self.transaction(&mut jobs) {
            Ok(()) => jobs.into_iter().for_each(|job| job.answer(Ok(()))),
            // One that can't be made must not take the others with it.
            Err(Fault::Change(_)) if jobs.len() > 1 => {
                for job in jobs {
                    self.write(vec![job]);
                }
            }
            Err(Fault::Change(failure) | Fault::Commit(failure)) => {
                let failure = Arc::new(failure);
                jobs.into_iter().for_each(|job| job.answer(Err(Arc::clone(&failure))));
            }
        }
    }

    /// Makes one transaction of some changes, or none of them.
    fn transaction(&self, jobs: &mut [Box<dyn Job>]) -> std::result::Result<(), Fault> {
        self.execute("BEGIN IMMEDIATE").map_err(Fault::Commit)?;
        let made = jobs.iter_mut().try_for_each(|job| job.run(&self.db)).map_err(Fault::Change);
        let made = made.and_then(|()| self.execute("COMMIT").map_err(Fault::Commit));
        self.transactions.fetch_add(1, Ordering::Relaxed);
        self.note(&made);
        // Some failures have rolled back already.
        if made.is_err() && !self.db.is_autocommit() {
            self.execute("ROLLBACK").map_err(Fault::Commit)?;
        }
        made
    }

    /// Notes whether the file can be written to, and tells operators when that changes.
    fn note(&self, made: &std::result::Result<(), Fault>) {
        let unwritable = match made {
            Ok(()) => false,
            Err(Fault::Change(failure) | Fault::Commit(failure)) => {
                if !failure.is_unwritable() {
                    return;
                }
                if !self.unwritable.load(Ordering::Relaxed) {
                    tracing::error!(error = ?failure, "database is not writable");
                }
                true
            }
        };
        if self.unwritable.swap(unwritable, Ordering::Relaxed) && !unwritable {
            tracing::info!("database is writable again");
        }
    }

    fn execute(&self, statement: &str) -> Result<()> {
        self.db.prepare_cached(statement)?.execute([])?;
        Ok(())
    }
}

enum Fault {
    /// One of the changes could not be made.
    Change(Failure),
    /// The transaction could not be begun or ended.
    Commit(Failure),
}

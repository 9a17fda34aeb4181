use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use a2a_kit_operations::store::StoreError;
use rusqlite::{Connection, ErrorCode};
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};

use super::{
    connection::{remove_probe, write_probe},
    failure::{Failure, IntoStoreError as _, Result},
    lock::{DatabaseLock, Placement},
    transaction::{TaskRows, Transaction},
};
use crate::writability::Writability;

/// Maximum number of queued writes, beyond which callers wait.
const QUEUE: usize = 1024;

/// How long a transaction is open to more writes.
const MAX_WAIT: Duration = Duration::from_millis(2);

/// The write thread.
///
/// Runs the queued writes in one transaction, and those that arrive while it runs, and responds when
/// it is on disk. The next transaction fills up in the meantime.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    orders: mpsc::Sender<Request>,
    thread: thread::Thread,
    /// How many queued writes the thread waits for, if it waits.
    awaited: Arc<AtomicUsize>,
    transactions: Arc<AtomicU64>,
    writability: Arc<Writability>,
    placement: Arc<Placement>,
}

enum Request {
    Write(Box<dyn Job>),
    Close(oneshot::Sender<()>),
}

/// One write of a transaction.
trait Job: Send {
    /// Runs the write. May be called again after a rollback.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()>;

    /// The bytes that it writes, without those of indexes and small rows.
    fn bytes(&self) -> usize;

    /// Responds to the caller.
    fn answer(self: Box<Self>, committed: Result<(), Arc<Failure>>);
}

struct Write<T, F> {
    change: F,
    bytes: usize,
    done: Option<T>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnMut(&mut Transaction<'_>) -> Result<T> + Send,
{
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()> {
        self.done = Some((self.change)(transaction)?);
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn answer(self: Box<Self>, committed: Result<(), Arc<Failure>>) {
        let Self { done, answer, .. } = *self;
        let done = committed.and_then(|()| done.ok_or_else(|| Arc::new(Failure::Closed)));
        // The caller may be gone.
        let _ = answer.send(done.map_err(Arc::into_store_error));
    }
}

impl Writer {
    /// Starts the thread. It owns the lock and releases it after the last write.
    pub(super) fn start(
        db: Connection,
        lock: DatabaseLock,
        placement: Placement,
        group: usize,
    ) -> io::Result<Self> {
        let (orders, received) = mpsc::channel(QUEUE);
        let transactions = Arc::<AtomicU64>::default();
        let counter = Arc::clone(&transactions);
        let (writability, placement) = (Arc::<Writability>::default(), Arc::new(placement));
        let awaited = Arc::<AtomicUsize>::default();
        let queue = Queue {
            received,
            closed: None,
            awaited: Arc::clone(&awaited),
            expected: 1,
            commit: Duration::ZERO,
        };
        let thread = Thread {
            db,
            queue,
            transactions: counter,
            writability: Arc::clone(&writability),
            placement: Arc::clone(&placement),
            rows: TaskRows::new(),
        };
        let thread = thread::Builder::new().name("a2a-sqlite".to_owned()).spawn(move || {
            let closed = thread.work(group.max(1));
            drop(lock);
            if let Some(closed) = closed {
                let _ = closed.send(());
            }
        })?;
        let thread = thread.thread().clone();
        Ok(Self { orders, thread, awaited, transactions, writability, placement })
    }

    /// Queues a write of no more than a few small rows.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        mut change: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_bytes(0, move |transaction| change(transaction.written()?)).await
    }

    /// Queues a write of this size and waits until it is on disk. It may run more than once, after
    /// a rollback.
    ///
    /// # Cancel safety
    ///
    /// A queued write runs even if the future is dropped.
    pub(super) async fn write_bytes<T: Send + 'static>(
        &self,
        bytes: usize,
        change: impl FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job = Write { change, bytes, done: None, answer };
        let closed = || StoreError::from(Failure::Closed);
        self.orders.send(Request::Write(Box::new(job))).await.map_err(|_closed| closed())?;
        let awaited = self.awaited.load(Ordering::Relaxed);
        // A wakeup that is missed costs no more than the pause.
        if awaited > 0
            && self.orders.max_capacity() - self.orders.capacity() >= awaited
            && self.awaited.swap(0, Ordering::Relaxed) > 0
        {
            self.thread.unpark();
        }
        answered.await.map_err(|_closed| closed())?
    }

    /// Runs the queued writes, and ends. Later ones fail.
    pub(super) async fn close(&self) {
        let (closed, when_closed) = oneshot::channel();
        if self.orders.send(Request::Close(closed)).await.is_ok() {
            // Without a response, the thread has ended for another reason.
            let _ = when_closed.await;
        }
    }

    /// Tests that the files are in place, and that writes work: if one has failed, another one of at
    /// least its size is made.
    pub(super) async fn probe(&self) -> Result<(), StoreError> {
        let placement = Arc::clone(&self.placement);
        spawn_blocking(move || placement.check()).await.map_err(StoreError::failed)??;
        let Some(bytes) = self.writability.failing() else { return Ok(()) };
        let writer = self.clone();
        let write = async move {
            writer.write_bytes(bytes, move |write| write_probe(write.db(), bytes)).await?;
            // Not in the same transaction, which would write less.
            writer.write(remove_probe).await
        };
        self.writability.probe(write).await
    }

    pub(super) fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }
}

struct Thread {
    db: Connection,
    queue: Queue,
    transactions: Arc<AtomicU64>,
    writability: Arc<Writability>,
    placement: Arc<Placement>,
    rows: TaskRows,
}

/// The receiving end of the queue.
struct Queue {
    received: mpsc::Receiver<Request>,
    closed: Option<oneshot::Sender<()>>,
    awaited: Arc<AtomicUsize>,
    /// How many writes the next transaction may get: those of the callers of the last one, and what
    /// was queued meanwhile.
    expected: usize,
    /// How long the last commit took.
    commit: Duration,
}

impl Queue {
    /// Waits for a write; `None` when the store is closed or dropped.
    fn receive(&mut self) -> Option<Box<dyn Job>> {
        if self.closed.is_none() {
            match self.received.blocking_recv()? {
                Request::Write(job) => return Some(job),
                Request::Close(answer) => self.closed = Some(answer),
            }
        }
        None
    }

    /// Adds the queued writes to a transaction of no more than `limit`.
    fn take(&mut self, jobs: &mut Vec<Box<dyn Job>>, limit: usize) {
        while self.closed.is_none()
            && jobs.len() < limit
            && let Ok(request) = self.received.try_recv()
        {
            match request {
                Request::Write(job) => jobs.push(job),
                // Dropping later ones reports to their callers that the store is closed.
                Request::Close(answer) => self.closed = Some(answer),
            }
        }
    }

    /// Waits until half of the missing writes of a transaction are queued, but no longer than half
    /// the time of a commit: under load, the callers of the last transaction write again.
    fn pause(&self, missing: usize) {
        let awaited = missing.div_ceil(2);
        self.awaited.store(awaited, Ordering::Relaxed);
        if self.received.len() < awaited {
            thread::park_timeout((self.commit / 2).min(MAX_WAIT));
        }
        self.awaited.store(0, Ordering::Relaxed);
    }
}

impl Thread {
    /// Runs until the store is closed or dropped, and returns the channel of the closer.
    fn work(mut self, group: usize) -> Option<oneshot::Sender<()>> {
        while let Some(job) = self.queue.receive() {
            self.write(vec![job], group);
        }
        let Self { db, queue: Queue { received, closed, .. }, .. } = self;
        drop(received);
        // Only checkpoints the log, which the next start would do as well.
        let log = db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").err();
        let log = log.or_else(|| db.close().err().map(|(_, error)| error));
        if let Some(error) = log {
            tracing::warn!(%error, "failed to close database cleanly");
        }
        closed
    }

    /// Runs writes in one transaction, together with what is queued up to a limit.
    fn write(&mut self, mut jobs: Vec<Box<dyn Job>>, limit: usize) {
        let made = self.transaction(&mut jobs, limit);
        self.queue.expected = jobs.len() + self.queue.received.len();
        match made {
            Ok(()) => jobs.into_iter().for_each(|job| job.answer(Ok(()))),
            // A write that cannot be made must not fail the others.
            Err(TransactionError::Change(_)) if jobs.len() > 1 => {
                for job in jobs {
                    self.write(vec![job], 1);
                }
            }
            Err(TransactionError::Change(failure) | TransactionError::Commit(failure)) => {
                let failure = Arc::new(failure);
                jobs.into_iter().for_each(|job| job.answer(Err(Arc::clone(&failure))));
            }
        }
    }

    /// Runs writes in one transaction, or none of them.
    fn transaction(
        &mut self,
        jobs: &mut Vec<Box<dyn Job>>,
        limit: usize,
    ) -> Result<(), TransactionError> {
        let made = self.begin().and_then(|()| {
            let made = self.run(jobs, limit).map_err(TransactionError::Change);
            let begun = Instant::now();
            let made = made.and_then(|()| self.execute("COMMIT").map_err(TransactionError::Commit));
            self.queue.commit = begun.elapsed();
            self.transactions.fetch_add(1, Ordering::Relaxed);
            if made.is_err() {
                self.rows.clear();
            }
            // Some errors roll back by themselves.
            if made.is_err() && !self.db.is_autocommit() {
                self.execute("ROLLBACK").map_err(TransactionError::Commit)?;
            }
            // What went to a file that is gone is lost.
            made.and_then(|()| self.placement.check().map_err(TransactionError::Commit))
        });
        let bytes = || jobs.iter().map(|job| job.bytes());
        match &made {
            Ok(()) => self.writability.succeeded(bytes().sum()),
            Err(TransactionError::Change(failure)) if !failure.is_unwritable() => {}
            Err(TransactionError::Commit(failure) | TransactionError::Change(failure)) => {
                self.writability.failed(bytes().max().unwrap_or_default(), failure);
            }
        }
        made
    }

    /// Runs writes in the open transaction, adding those that arrive meanwhile, and writes what they
    /// count.
    fn run(&mut self, jobs: &mut Vec<Box<dyn Job>>, limit: usize) -> Result<()> {
        let (begun, expected) = (Instant::now(), self.queue.expected.min(limit));
        let mut transaction = Transaction::new(&self.db, &mut self.rows);
        let mut run = 0;
        loop {
            self.queue.take(jobs, limit);
            if run == jobs.len() {
                break;
            }
            jobs[run..].iter_mut().try_for_each(|job| job.run(&mut transaction))?;
            run = jobs.len();
            if run < expected && begun.elapsed() < MAX_WAIT {
                self.queue.pause(expected - run);
            }
        }
        transaction.write_counts()
    }

    fn begin(&self) -> Result<(), TransactionError> {
        let begun = self.placement.check().and_then(|()| self.execute("BEGIN IMMEDIATE"));
        begun.map_err(|failure| {
            TransactionError::Commit(match failure {
                Failure::Sqlite(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) =>
                {
                    Failure::Locked(error)
                }
                failure => failure,
            })
        })
    }

    fn execute(&self, statement: &str) -> Result<()> {
        self.db.prepare_cached(statement)?.execute([])?;
        Ok(())
    }
}

enum TransactionError {
    /// One of the writes failed.
    Change(Failure),
    /// The transaction could not be started or committed.
    Commit(Failure),
}

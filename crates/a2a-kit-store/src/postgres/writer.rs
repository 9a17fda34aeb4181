//! Write connections, with group commit.
//!
//! All writes that are waiting for a writer go into one statement in its own transaction: one disk
//! sync, one notification, and no locks held while the database waits for this node. Tasks are
//! assigned to writers by id, so that the writes of a task stay in order.

use std::{
    collections::{HashSet, VecDeque},
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
    sync::Arc,
    time::Duration,
};

use a2a_kit_operations::store::{Committed, StoreError};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    commit::{self, CommitRow},
    insert::{self, InsertRow},
    link::{Connector, Link},
    link_error::LinkError,
    session::{Done, Session, Write, Written},
    usage_cache::Usages,
};
use crate::Result;

/// Maximum number of writes of one kind in a statement.
const GROUP: usize = 64;

/// Maximum bytes of a statement, unless a single write is larger.
const GROUP_BYTES: usize = 4 << 20;

/// Maximum number of queued writes per writer, beyond which callers wait.
const QUEUE: usize = 1024;

/// Planning takes several times as long as writing a single task, so it is done once. The right
/// plan is clear: an index lookup per task of a group.
const PLANS: &str = "SET plan_cache_mode = force_generic_plan; \
    SET enable_hashjoin = off; SET enable_mergejoin = off";

const MIN_BACKOFF: Duration = Duration::from_millis(20);
const MAX_BACKOFF: Duration = Duration::from_secs(1);

pub(super) enum WriteRow {
    Insert(InsertRow),
    Commit(CommitRow),
}

struct Job {
    write: Write<WriteRow>,
    answer: oneshot::Sender<Result<Committed>>,
    /// Whether it was attempted once and matched no row.
    was_refused: bool,
    /// Whether it was attempted over a connection that was lost or read-only.
    was_repeated: bool,
    /// Whether that attempt may have succeeded.
    is_uncertain: bool,
}

impl Job {
    fn finish(self, result: Result<Committed>) {
        // The caller may be gone.
        let _ = self.answer.send(result);
    }
}

/// The configuration common to all writers.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) connector: Arc<Connector>,
    pub(super) node: Arc<str>,
    pub(super) lease: Duration,
    pub(super) channel: Option<String>,
    /// Counts what is written.
    pub(super) usages: Arc<Usages>,
}

pub(super) struct Writers {
    queues: Vec<mpsc::Sender<Job>>,
    _tasks: Vec<AbortOnDropHandle<()>>,
}

impl Writers {
    pub(super) fn spawn(setup: &Setup, count: usize) -> Self {
        let start = |_| {
            // A full queue applies backpressure to callers, and with them to executors.
            let (sender, receiver) = mpsc::channel(QUEUE);
            let writer = Writer {
                setup: setup.clone(),
                queue: receiver,
                waiting: VecDeque::new(),
                link: None,
                slot: None,
                is_proven: false,
                backoff: MIN_BACKOFF,
                not_before: None,
            };
            (sender, AbortOnDropHandle::new(tokio::spawn(writer.run())))
        };
        let (queues, tasks) = (0..count.max(1)).map(start).unzip();
        Self { queues, _tasks: tasks }
    }

    pub(super) async fn write(&self, write: Write<WriteRow>) -> Result<Committed> {
        let hash = BuildHasherDefault::<DefaultHasher>::new().hash_one(&*write.task_id);
        let count = u64::try_from(self.queues.len()).unwrap_or(1);
        let index = usize::try_from(hash % count).unwrap_or_default();
        let (answer, answered) = oneshot::channel();
        let job =
            Job { write, answer, was_refused: false, was_repeated: false, is_uncertain: false };
        let gone = || StoreError::failed("the store is closed");
        let queue = self.queues.get(index).ok_or_else(gone)?;
        queue.send(job).await.map_err(|_closed| gone())?;
        answered.await.map_err(StoreError::failed)?
    }
}

struct Writer {
    setup: Setup,
    queue: mpsc::Receiver<Job>,
    waiting: VecDeque<Job>,
    link: Option<(Link, Session)>,
    slot: Option<i64>,
    /// Whether a statement succeeded over the link.
    is_proven: bool,
    backoff: Duration,
    not_before: Option<Instant>,
}

impl Writer {
    async fn run(mut self) {
        while self.wait().await {
            let group = self.take_group();
            self.write(group).await;
        }
    }

    /// Waits for writes; `false` at the end.
    async fn wait(&mut self) -> bool {
        let mut jobs = Vec::new();
        if self.waiting.is_empty() && self.queue.recv_many(&mut jobs, 2 * GROUP).await == 0 {
            return false;
        }
        self.waiting.extend(jobs);
        while self.waiting.len() < 2 * GROUP
            && let Ok(job) = self.queue.try_recv()
        {
            self.waiting.push_back(job);
        }
        true
    }

    /// Takes the writes for the next statements: one per task.
    fn take_group(&mut self) -> Vec<Job> {
        let mut tasks = HashSet::new();
        let (mut group, mut rest) = (Vec::new(), VecDeque::new());
        let (mut inserts, mut commits, mut bytes) = (0, 0, 0);
        for job in self.waiting.drain(..) {
            let count = match job.write.row {
                WriteRow::Insert(_) => &mut inserts,
                WriteRow::Commit(_) => &mut commits,
            };
            let is_new = tasks.insert(Arc::clone(&job.write.task_id));
            let weight = job.write.weight;
            let fits = group.is_empty() || (*count < GROUP && bytes + weight <= GROUP_BYTES);
            if is_new && fits {
                *count += 1;
                bytes += weight;
                group.push(job);
            } else {
                rest.push_back(job);
            }
        }
        self.waiting = rest;
        // A fixed order, so that two nodes writing to the same tasks cannot deadlock.
        group.sort_by(|a, b| a.write.task_id.cmp(&b.write.task_id));
        group
    }

    /// Writes a group. If the database rejects it, each write is repeated alone, so that an invalid
    /// one does not fail the others.
    async fn write(&mut self, group: Vec<Job>) {
        let refused = self.write_once(group, true).await;
        for job in refused {
            self.write_once(vec![job], false).await;
        }
    }

    /// Writes a group with one pipelined statement per kind. Returns the writes to repeat alone.
    async fn write_once(&mut self, group: Vec<Job>, is_first: bool) -> Vec<Job> {
        let (link, session) = match self.link().await {
            Ok(link) => link,
            Err(error) => {
                self.fail(group, error);
                return Vec::new();
            }
        };
        let (mut new, mut known) = (Vec::new(), Vec::new());
        for job in &group {
            match &job.write.row {
                WriteRow::Insert(row) => new.push(row),
                WriteRow::Commit(row) => known.push(row),
            }
        }
        let (inserted, committed) =
            tokio::join!(insert::write(link, session, &new), commit::write(link, session, &known));
        let (inserts, commits): (Vec<_>, Vec<_>) =
            group.into_iter().partition(|job| matches!(job.write.row, WriteRow::Insert(_)));
        let mut refused = Vec::new();
        for (jobs, result) in [(inserts, inserted), (commits, committed)] {
            match result {
                Ok(written) => self.finish(jobs, &written),
                Err(error) if error.is_refusal() => {
                    if is_first && jobs.len() > 1 && !error.needs_operator() {
                        tracing::debug!(%error, "write group rejected");
                        refused.extend(jobs);
                    } else {
                        self.fail(jobs, error);
                    }
                }
                Err(error) => {
                    self.drop_link(&error);
                    let (again, failed) = jobs
                        .into_iter()
                        .partition(|job| !job.was_repeated && error.is_disconnect());
                    self.repeat(again, &error);
                    self.fail(failed, error);
                }
            }
        }
        refused
    }

    /// Drops a connection that is lost or read-only. One that was never of use is not replaced at
    /// once.
    fn drop_link(&mut self, error: &LinkError) {
        if error.is_read_only() {
            self.setup.connector.health().found_read_only();
        }
        if self.link.take().is_some() && !self.is_proven {
            self.back_off();
        }
    }

    fn back_off(&mut self) {
        self.not_before = Some(Instant::now() + self.backoff);
        self.backoff = (self.backoff * 2).min(MAX_BACKOFF);
    }

    /// Queues writes again, for the next connection.
    fn repeat(&mut self, jobs: Vec<Job>, error: &LinkError) {
        for mut job in jobs.into_iter().rev() {
            job.was_repeated = true;
            job.is_uncertain = !error.is_undone();
            self.waiting.push_front(job);
        }
    }

    fn fail(&self, jobs: Vec<Job>, error: LinkError) {
        let Some(bytes) = jobs.iter().map(|job| job.write.weight).max() else { return };
        self.setup.connector.health().failed(&error, bytes);
        let error = Arc::new(error);
        for job in jobs {
            if !error.is_refusal() {
                // It may have been made, and is not counted.
                self.setup.usages.forget(&job.write.owner);
            }
            let cause = Shared(Arc::clone(&error));
            job.finish(Err(error.store_error(cause)));
        }
    }

    /// Completes the writes of a statement.
    fn finish(&mut self, jobs: Vec<Job>, written: &Written) {
        if jobs.is_empty() {
            return;
        }
        (self.is_proven, self.backoff) = (true, MIN_BACKOFF);
        let bytes = jobs.iter().map(|job| job.write.weight).sum();
        self.setup.connector.health().written(bytes);
        for (n, mut job) in (1_i64..).zip(jobs) {
            match written.get(&n) {
                Some(Done::Written { has_pushes, opened }) => {
                    let write = &job.write;
                    self.setup.usages.add(&write.owner, *opened, write.added_bytes);
                    job.finish(Ok(Committed::new(*has_pushes)));
                }
                Some(Done::Claimed { task_id }) => {
                    job.finish(Err(StoreError::Claimed { task_id: task_id.clone() }));
                }
                // A webhook may have been added concurrently; a second attempt tells.
                None if matches!(job.write.row, WriteRow::Commit(_)) && !job.was_refused => {
                    job.was_refused = true;
                    self.waiting.push_front(job);
                }
                None => {
                    let error = if job.is_uncertain {
                        // It may be counted or not.
                        self.setup.usages.forget(&job.write.owner);
                        // Perhaps with the first attempt: the caller has to look.
                        let cause = "the connection was lost, and the write may have been made";
                        StoreError::failed(cause)
                    } else {
                        StoreError::Conflict { task_id: job.write.task_id.to_string() }
                    };
                    job.finish(Err(error));
                }
            }
        }
    }

    /// Returns the connection, reconnecting if necessary.
    async fn link(&mut self) -> Result<(&Link, &Session), LinkError> {
        if let Some((link, _)) = &mut self.link
            && (link.is_closed() || link.refresh().await.is_err())
        {
            self.link = None;
        }
        if self.link.is_none() {
            if let Some(moment) = self.not_before {
                sleep_until(moment).await;
            }
            match self.connect().await {
                Ok(link) => {
                    self.link = Some(link);
                    self.is_proven = false;
                    self.not_before = None;
                }
                Err(error) => {
                    self.back_off();
                    return Err(error);
                }
            }
        }
        match &self.link {
            Some((link, session)) => Ok((link, session)),
            None => Err(LinkError::Timeout),
        }
    }

    async fn connect(&mut self) -> Result<(Link, Session), LinkError> {
        let mut link = self.setup.connector.link().await?;
        link.client().batch_execute(PLANS).await?;
        let slot = match self.slot {
            Some(slot) => slot,
            None => {
                let rows = link.query("SELECT nextval('slots')", &[]).await?;
                let slot = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
                *self.slot.insert(slot)
            }
        };
        let session = Session {
            insert: link.prepare(insert::SQL).await?,
            commit: link.prepare(commit::SQL).await?,
            node: Arc::clone(&self.setup.node),
            lease_millis: millis(self.setup.lease),
            channel: self.setup.channel.clone(),
            slot,
        };
        Ok((link, session))
    }
}

/// A duration for a statement.
pub(super) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 1_000_000)
}

/// An error shared by all writes of a group.
#[derive(Debug, thiserror::Error)]
#[error("a group of writes failed")]
struct Shared(#[source] Arc<LinkError>);

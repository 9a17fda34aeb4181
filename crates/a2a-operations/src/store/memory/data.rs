//! All that is kept, whichever node asks.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use a2a_core::well_known::Timestamp;
use tokio::time::Instant;

use super::{
    claim::Claims,
    command::Commands,
    context::Contexts,
    ended::Ended,
    entry::{Entry, Record, Standing},
    limits::MemoryLimits,
    lock,
    log::Weight,
    member::Members,
    order::{Filter, Ordered, Run},
    outbox::{Dispatch, Outbox},
    schedule::Schedule,
    scope::Scopes,
};
use crate::{
    Event, EventId, Scope,
    store::{
        Claim, Committed, NewTask, PageKey, Replay, Signal, StoreError, StoredTask, Sweep,
        TaskPage, TaskQuery, Transition,
    },
    table::{OwnNames, Slot},
};

/// The most events of a write that other nodes are told with it.
const MAX_TOLD: usize = 16;

#[derive(Debug)]
pub(super) struct Data {
    tasks: OwnNames<Arc<Entry>>,
    contexts: Contexts,
    pub(super) scopes: Scopes,
    ended: Ended,
    pub(super) claims: Claims,
    /// The tasks that wait for their user or for an authorization, by when that began.
    parked: Schedule<Arc<Entry>>,
    /// When leases run out.
    pub(super) leases: Schedule<Arc<Entry>>,
    pub(super) commands: Commands,
    pub(super) dispatch: Dispatch,
    pub(super) members: Members,
    /// How many tasks there are, counting those that are about to be put in.
    pub(super) count: AtomicUsize,
    pub(super) limits: MemoryLimits,
}

// The order of the locks: that of an entry comes first, that of the keys second, all others are
// taken one at a time and held while nothing else is. So a list is made without the locks of its tasks, and a task that
// has moved before it is read is passed over: it stands further ahead now.
impl Data {
    pub(super) fn new(limits: MemoryLimits) -> Self {
        let max_ended = Weight { events: limits.max_ended_events, bytes: limits.max_ended_bytes };
        Self {
            tasks: OwnNames::new(),
            contexts: Contexts::new(),
            scopes: Scopes::new(),
            ended: Ended::new(max_ended),
            claims: Claims::new(limits.max_idempotency_keys, limits.max_idempotency_age),
            parked: Schedule::new(),
            leases: Schedule::new(),
            commands: Commands::new(limits.max_commands),
            dispatch: Dispatch::new(limits.push_claim, limits.max_dead_letters),
            members: Members::default(),
            count: AtomicUsize::new(0),
            limits,
        }
    }

    /// Returns a task of any scope.
    pub(super) fn by_id(&self, task_id: &str) -> Option<Arc<Entry>> {
        self.tasks.at(task_id).get().cloned()
    }

    pub(super) fn find(&self, scope: &Scope, task_id: &str) -> Option<Arc<Entry>> {
        self.by_id(task_id).filter(|entry| entry.scoped().scope == *scope)
    }

    pub(super) fn insert(
        &self,
        node: &Arc<str>,
        scope: &Scope,
        new: NewTask,
    ) -> Result<Committed, StoreError> {
        let NewTask { task, key, events, pushes, webhooks, execution } = new;
        self.reserve().map_err(|full| match self.by_id(&task.id) {
            Some(_) => conflict(&task.id),
            None => full,
        })?;
        let told = self.travelling(&events);
        let entry = Arc::new(Entry::new(self.scopes.acquire(scope), task, events));
        // Nobody gets at the task before it is in every list.
        let mut record = entry.lock();
        if !self.add_webhooks(&entry, webhooks.len()) {
            self.forget_use(scope);
            return Err(StoreError::Full);
        }
        let put =
            || if self.put_in_table(&entry) { Ok(()) } else { Err(conflict(entry.task_id())) };
        let put = match key {
            None => put(),
            Some(key) => match self.claims.under(scope, key, entry.task_id(), put) {
                Ok(put) => put,
                Err(task_id) => Err(StoreError::Claimed { task_id }),
            },
        };
        if let Err(error) = put {
            entry.scoped().webhooks.fetch_sub(webhooks.len(), Ordering::Relaxed);
            self.forget_use(scope);
            return Err(error);
        }
        let standing = record.standing();
        lock(&entry.scoped().order).insert(standing, &entry);
        self.contexts.insert(standing, &entry);
        if let Some(execution) = execution {
            self.hold(&entry, &mut record, node);
            record.record(execution);
        }
        let outbox = (!webhooks.is_empty()).then(Box::<Outbox>::default);
        record.outbox = outbox.map(|mut outbox| {
            webhooks.into_iter().for_each(|webhook| outbox.put(webhook, 0));
            outbox
        });
        let has_pushes = self.push(&entry, &mut record, &pushes);
        self.tell_written(node, &entry, &record, told);
        self.park(&entry, &mut record);
        let shrunk = self.settle(&entry, &mut record);
        drop(record);
        shrunk.shrink();
        Ok(Committed::new(has_pushes))
    }

    pub(super) fn reclaim(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Claim {
        let is_free = |known: &str| known == gone && self.find(scope, gone).is_none();
        self.claims.claim_if(scope, key, fingerprint, task_id, is_free)
    }

    fn put_in_table(&self, entry: &Arc<Entry>) -> bool {
        match self.tasks.at(entry.task_id()).slot() {
            Slot::Occupied(_) => false,
            Slot::Vacant(slot) => {
                slot.insert(Arc::clone(entry));
                true
            }
        }
    }

    pub(super) fn commit(
        &self,
        node: &Arc<str>,
        scope: &Scope,
        transition: Transition,
    ) -> Result<Committed, StoreError> {
        let Transition { task_id, version, epoch, events, snapshot, pushes, hold, answers } =
            transition;
        let entry = self.find(scope, &task_id).ok_or_else(|| conflict(&task_id))?;
        let told = self.travelling(&events);
        let mut record = entry.lock();
        let before = record.standing();
        let has_status = snapshot.is_some();
        if record.commit(version, epoch, events, snapshot).is_err() {
            return Err(conflict(&task_id));
        }
        let now = record.standing();
        if now != before {
            self.move_to(before, now, &entry);
        }
        for (command_id, answer) in answers {
            self.answer_of(&mut record, &command_id, answer);
        }
        self.keep_hold(&mut record, hold);
        let has_pushes = self.push(&entry, &mut record, &pushes);
        self.tell_written(node, &entry, &record, told);
        if has_status {
            self.park(&entry, &mut record);
        }
        let shrunk = self.settle(&entry, &mut record);
        drop(record);
        shrunk.shrink();
        Ok(Committed::new(has_pushes))
    }

    /// The events of a write that other nodes are told, if there are any.
    fn travelling(&self, events: &[Event]) -> Vec<Event> {
        let travel = self.members.are_many() && events.len() <= MAX_TOLD;
        if travel { events.to_vec() } else { Vec::new() }
    }

    /// Tells other nodes of a write.
    pub(super) fn tell_written(
        &self,
        node: &str,
        entry: &Entry,
        record: &Record,
        events: Vec<Event>,
    ) {
        if self.members.are_many() {
            let (task_id, last_event) = (entry.task_id().into(), record.last_event());
            self.members.tell_others(node, &Signal::Written { task_id, last_event, events });
        }
    }

    fn move_to(&self, before: Standing, now: Standing, entry: &Arc<Entry>) {
        {
            let mut order = lock(&entry.scoped().order);
            order.remove(before, entry);
            order.insert(now, entry);
        }
        self.contexts.move_to(before, now, entry);
    }

    /// Notes since when a task waits, if its new status is that it does.
    fn park(&self, entry: &Arc<Entry>, record: &mut Record) {
        if let Some(turn) = record.parked.take() {
            self.parked.remove(*turn);
        }
        if record.standing().state.is_interrupted() {
            record.parked = Some(Box::new(self.parked.put(Instant::now(), Arc::clone(entry))));
        }
    }

    /// Keeps the log of a task in its bounds, and returns the tasks of which less is kept
    /// because this one has ended.
    fn settle(&self, entry: &Arc<Entry>, record: &mut Record) -> Shrunk {
        let MemoryLimits { max_log_events: events, max_log_bytes: bytes, .. } = self.limits;
        record.trim(entry, Weight { events, bytes });
        record.account(entry);
        let ended = record.end(entry);
        Shrunk(ended.map_or_else(Vec::new, |log| self.ended.push(entry, log)))
    }

    /// Makes room for one more task.
    fn reserve(&self) -> Result<(), StoreError> {
        if self.count.fetch_add(1, Ordering::Relaxed) < self.limits.max_tasks {
            return Ok(());
        }
        while let Some(entry) = self.ended.pop() {
            if self.remove(&entry) {
                return Ok(());
            }
        }
        self.count.fetch_sub(1, Ordering::Relaxed);
        Err(StoreError::Full)
    }

    /// Removes a task that has ended, or waits and is held by nobody, with its webhooks.
    fn remove(&self, entry: &Arc<Entry>) -> bool {
        let scoped = entry.scoped();
        let mut record = entry.lock();
        let standing = record.standing();
        if !record.remove() {
            return false;
        }
        if let Slot::Occupied(slot) = self.tasks.at(entry.task_id()).slot() {
            slot.remove();
        }
        lock(&scoped.order).remove(standing, entry);
        self.contexts.remove(standing, entry);
        if let Some(turn) = record.parked.take() {
            self.parked.remove(*turn);
        }
        record.account(entry);
        self.forget_lease(&mut record);
        self.forget_outbox(entry, &mut record);
        self.forget_use(&scoped.scope);
        true
    }

    /// Notes that a task that was reserved or stored is not there any more.
    fn forget_use(&self, scope: &Scope) {
        self.scopes.release(scope);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn read(
        &self,
        scope: &Scope,
        task_id: &str,
    ) -> Result<Option<StoredTask>, StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(None) };
        entry.lock().stored(&entry)
    }

    /// Returns a task, and its events behind a position.
    pub(super) fn load(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<(StoredTask, Replay)>, StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(None) };
        let mut record = entry.lock();
        let Some(stored) = record.stored(&entry)? else { return Ok(None) };
        Ok(record.replay(after).map(|replay| (stored, replay)))
    }

    /// Forgets tasks that ended long ago, and old idempotency keys.
    pub(super) fn sweep(&self, sweep: Sweep) -> usize {
        let Sweep { tasks, parked, claims, limit } = sweep;
        self.claims.sweep(claims, limit);
        let mut swept = 0;
        while let Some(age) = tasks
            && swept < limit
            && let Some(entry) = self.ended.pop_older(age)
        {
            swept += usize::from(self.remove(&entry));
        }
        let latest = parked.and_then(|age| Instant::now().checked_sub(age));
        if let Some(latest) = latest {
            let due = self.parked.due(latest, limit.saturating_sub(swept));
            swept += due.iter().filter(|entry| self.remove(entry)).count();
        }
        swept
    }

    pub(super) fn page(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        let filter =
            Filter { state: query.state, since_millis: query.since.map(Timestamp::as_millis) };
        let mut page = TaskPage {
            total: self.ordered(scope, query, |order| order.count(filter)).unwrap_or_default(),
            ..TaskPage::default()
        };
        let mut after = query.after.clone();
        let mut bytes = 0_usize;
        loop {
            let wanted = query.limit - page.tasks.len();
            let run = self.ordered(scope, query, |order| order.run(filter, after.as_ref(), wanted));
            let Run { keys, has_more } = run.unwrap_or_default();
            if let Some(last) = keys.last() {
                let task_id = last.entry.task_id().to_owned();
                after = Some(PageKey { millis: last.millis, task_id });
            }
            for key in &keys {
                let mut record = key.entry.lock();
                let standing = record.standing();
                let moved = standing.millis != key.millis
                    || query.state.is_some_and(|state| state != standing.state);
                if moved || record.is_gone() {
                    continue;
                }
                let task = record.task(&key.entry)?;
                if let Some(most) = query.max_bytes {
                    bytes = bytes.saturating_add(query.shown.len(&task));
                    if bytes > most && !page.tasks.is_empty() {
                        page.has_more = true;
                        return Ok(page);
                    }
                }
                page.tasks.push(task);
            }
            page.has_more = has_more;
            if page.tasks.len() == query.limit || !has_more {
                return Ok(page);
            }
        }
    }

    /// Lets somebody look at the set of tasks that a query is about, unless it is empty.
    fn ordered<T>(
        &self,
        scope: &Scope,
        query: &TaskQuery,
        read: impl FnOnce(&Ordered) -> T,
    ) -> Option<T> {
        match &query.context_id {
            Some(context_id) => self.contexts.read(scope, context_id, read),
            None => Some(read(&lock(&self.scopes.find(scope)?.order))),
        }
    }
}

/// Ended tasks whose log is not kept any more.
struct Shrunk(Vec<Arc<Entry>>);

impl Shrunk {
    /// Lets go of what is not kept; no lock may be held.
    fn shrink(self) {
        for entry in &self.0 {
            let mut record = entry.lock();
            record.drop_log(entry);
            record.account(entry);
        }
    }
}

pub(super) fn conflict(task_id: &str) -> StoreError {
    StoreError::Conflict { task_id: task_id.to_owned() }
}

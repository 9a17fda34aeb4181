//! The data of the store.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use a2a_core::well_known::Timestamp;
use async_trait::async_trait;
use parking_lot::MutexGuard;
use tokio::time::Instant;

use super::{
    MemoryStore,
    entry::{Entry, Index, Outbox, Record},
    limits::MemoryLimits,
    log::Weight,
    status_index::{Filter, StatusKey},
};
use crate::{
    EventId, Scope, metrics,
    store::{
        Claim, Committed, JournalUpdate, LeaseUpdate, NewTask, PageKey, Replay, StoreError,
        StoredTask, Sweep, TaskPage, TaskQuery, TaskStore, Transition, Usage,
    },
};

#[async_trait]
impl TaskStore for MemoryStore {
    async fn insert(&self, scope: &Scope, new: NewTask) -> Result<Committed, StoreError> {
        let NewTask { task, key, events, pushes, webhooks, checkpoint, journal } = new;
        self.reserve().map_err(|full| match self.by_id(&task.id) {
            Some(_) => conflict(&task.id),
            None => full,
        })?;
        let entry = Arc::new(Entry::new(self.scopes.acquire(scope), task, events));
        // Keeps readers out until the task is in every index.
        let mut record = entry.lock();
        if !self.add_webhooks(&entry, webhooks.len()) {
            self.release_slot(scope);
            return Err(StoreError::Full);
        }
        let put =
            || if self.insert_entry(&entry) { Ok(()) } else { Err(conflict(entry.task_id())) };
        let put = match key {
            None => put(),
            Some(key) => match self.idempotency_keys.with_key(scope, key, entry.task_id(), put) {
                Ok(put) => put,
                Err(task_id) => Err(StoreError::Claimed { task_id }),
            },
        };
        if let Err(error) = put {
            entry.scoped.webhooks.fetch_sub(webhooks.len(), Ordering::Relaxed);
            self.release_slot(scope);
            return Err(error);
        }
        record.update_journal(JournalUpdate::Replace(journal));
        self.index(&entry, &record);
        if let Some(checkpoint) = checkpoint {
            self.grant_lease(&mut record);
            record.set_checkpoint(checkpoint);
        }
        let outbox = (!webhooks.is_empty()).then(Box::<Outbox>::default);
        record.outbox = outbox.map(|mut outbox| {
            webhooks.into_iter().for_each(|webhook| outbox.put(webhook, 0, 0));
            outbox
        });
        let has_pushes = self.push(&entry, &mut record, &pushes);
        self.park(&entry, &mut record, Duration::ZERO);
        self.save_insert(&entry, &mut record, &pushes);
        self.finish_write(&entry, record, Duration::ZERO);
        Ok(Committed::new(has_pushes))
    }

    async fn commit(&self, scope: &Scope, transition: Transition) -> Result<Committed, StoreError> {
        let Transition {
            task_id,
            version,
            epoch,
            events,
            snapshot,
            pushes,
            lease,
            journal,
            answers,
        } = transition;
        let entry = self.find(scope, &task_id).ok_or_else(|| conflict(&task_id))?;
        let mut record = entry.lock();
        let before = record.status_key;
        let last = record.last_event;
        let has_status = snapshot.is_some();
        if !record.commit(version, epoch, events, snapshot) {
            return Err(conflict(&task_id));
        }
        let now = record.status_key;
        if now != before {
            self.move_to(before, now, &entry);
        }
        for (command_id, answer) in answers {
            self.answer_in(&mut record, &command_id, answer);
        }
        let has_lease = lease != LeaseUpdate::Keep || journal != JournalUpdate::Keep;
        self.update_lease(&mut record, lease);
        record.update_journal(journal);
        let has_pushes = self.push(&entry, &mut record, &pushes);
        if has_status {
            self.park(&entry, &mut record, Duration::ZERO);
            self.save_task(&entry, &mut record);
        }
        self.save_events(&entry, &record, last.get(), &pushes);
        if has_lease {
            self.save_lease(&entry, &record);
        }
        self.finish_write(&entry, record, Duration::ZERO);
        Ok(Committed::new(has_pushes))
    }

    async fn get(&self, scope: &Scope, task_id: &str) -> Result<Option<StoredTask>, StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(None) };
        entry.lock().stored(&entry)
    }

    async fn load(
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

    async fn replay(
        &self,
        scope: &Scope,
        task_id: &str,
        after: EventId,
    ) -> Result<Option<Replay>, StoreError> {
        Ok(self.find(scope, task_id).and_then(|entry| entry.lock().replay(after)))
    }

    async fn list(&self, scope: &Scope, query: &TaskQuery) -> Result<TaskPage, StoreError> {
        let filter =
            Filter { state: query.state, since_millis: query.since.map(Timestamp::as_millis) };
        let mut page = TaskPage {
            total: self.with_index(scope, query, |index| index.count(filter)).unwrap_or_default(),
            ..TaskPage::default()
        };
        let mut after = query.after.clone();
        let mut bytes = 0_usize;
        loop {
            let wanted = query.limit - page.tasks.len();
            let slice =
                self.with_index(scope, query, |index| index.slice(filter, after.as_ref(), wanted));
            let (keys, has_more) = slice.unwrap_or_default();
            if let Some(last) = keys.last() {
                let task_id = last.entry.task_id().to_owned();
                after = Some(PageKey { millis: last.millis, task_id });
            }
            for key in &keys {
                let mut record = key.entry.lock();
                let status_key = record.status_key;
                let moved = status_key.millis != key.millis
                    || query.state.is_some_and(|state| state != status_key.state);
                if moved || record.gone {
                    continue;
                }
                let task = record.task(&key.entry)?;
                if let Some(most) = query.max_bytes {
                    bytes = bytes.saturating_add(query.view.len(&task));
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

    async fn usage(&self, owner: &str) -> Result<Usage, StoreError> {
        Ok(self.scopes.usage(owner))
    }

    async fn open_tasks(&self, owner: &str) -> Result<usize, StoreError> {
        Ok(self.scopes.usage(owner).open_tasks)
    }

    async fn claim_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        Ok(self.idempotency_keys.claim(scope, key, fingerprint, task_id, |_| false))
    }

    async fn take_over_key(
        &self,
        scope: &Scope,
        key: &str,
        fingerprint: u64,
        gone: &str,
        task_id: &str,
    ) -> Result<Claim, StoreError> {
        let is_free = |known: &str| known == gone && self.find(scope, gone).is_none();
        Ok(self.idempotency_keys.claim(scope, key, fingerprint, task_id, is_free))
    }

    async fn release_key(&self, scope: &Scope, key: &str, task_id: &str) -> Result<(), StoreError> {
        self.idempotency_keys.release_key(scope, key, task_id);
        Ok(())
    }

    async fn sweep(&self, sweep: Sweep) -> Result<Vec<Arc<str>>, StoreError> {
        let Sweep { tasks, parked, claims, limit } = sweep;
        metrics::store_size("memory", self.scopes.bytes());
        self.idempotency_keys.sweep(claims, limit);
        let mut swept = Vec::new();
        let mut remove = |entry: &Arc<Entry>| {
            if self.remove(entry) {
                swept.push(entry.task_id().into());
            }
            swept.len()
        };
        let mut count = 0;
        while let Some(age) = tasks
            && count < limit
            && let Some(entry) = self.retention.pop_older(age)
        {
            count = remove(&entry);
        }
        let latest = parked.and_then(|age| Instant::now().checked_sub(age));
        if let Some(latest) = latest {
            for entry in self.parked.due(latest, limit.saturating_sub(count)) {
                remove(&entry);
            }
        }
        Ok(swept)
    }

    async fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(&self) {}
}

// Lock order: an entry first, then the idempotency keys. All others are taken one at a time, with
// no other lock held. A list is therefore built without the locks of its tasks, and skips a task
// that moved before it is read: the task is now further ahead.
impl MemoryStore {
    /// Adds a task to the lists.
    pub(super) fn index(&self, entry: &Arc<Entry>, record: &Record) {
        let status_key = record.status_key;
        entry.scoped.index.lock().insert(status_key, entry);
        self.contexts.insert(status_key, entry);
    }

    pub(super) fn insert_entry(&self, entry: &Arc<Entry>) -> bool {
        let mut place = self.tasks.at(entry.task_id());
        Arc::ptr_eq(place.get_or_insert_with(|| Arc::clone(entry)), entry)
    }

    fn move_to(&self, before: StatusKey, now: StatusKey, entry: &Arc<Entry>) {
        {
            let mut index = entry.scoped.index.lock();
            index.remove(before, entry);
            index.insert(now, entry);
        }
        self.contexts.move_to(before, now, entry);
    }

    /// Tracks when a task started to wait for user input or authorization.
    pub(super) fn park(&self, entry: &Arc<Entry>, record: &mut Record, age: Duration) {
        if let Some(timer) = record.parked.take() {
            self.parked.remove(*timer);
        }
        if record.status_key.state.is_interrupted() {
            let now = Instant::now();
            let since = now.checked_sub(age).unwrap_or(now);
            record.parked = Some(Box::new(self.parked.put(since, Arc::clone(entry))));
        }
    }

    /// Applies the log limits to a task whose status has the given age, and drops the logs of the ended
    /// tasks that have to make room.
    pub(super) fn finish_write(
        &self,
        entry: &Arc<Entry>,
        mut record: MutexGuard<'_, Record>,
        age: Duration,
    ) {
        let MemoryLimits { max_log_events: events, max_log_bytes: bytes, .. } = self.limits;
        record.trim(entry, Weight { events, bytes });
        self.save_trim(entry, &mut record);
        record.update_usage(entry);
        let ended = record.pack_if_ended(entry);
        drop(record);
        let evicted = ended.map_or_else(Vec::new, |log| self.retention.push(entry, log, age));
        for entry in evicted {
            let mut record = entry.lock();
            record.drop_log(&entry);
            record.update_usage(&entry);
        }
    }

    /// Reserves capacity for one more task.
    fn reserve(&self) -> Result<(), StoreError> {
        if self.count.fetch_add(1, Ordering::Relaxed) < self.limits.max_tasks {
            return Ok(());
        }
        while let Some(entry) = self.retention.pop() {
            if self.remove(&entry) {
                return Ok(());
            }
        }
        self.count.fetch_sub(1, Ordering::Relaxed);
        Err(StoreError::Full)
    }

    /// Removes a task and its webhooks, if it has ended, or is waiting without a lease.
    fn remove(&self, entry: &Arc<Entry>) -> bool {
        let scoped = &entry.scoped;
        let mut record = entry.lock();
        let status_key = record.status_key;
        if !record.remove() {
            return false;
        }
        self.tasks.at(entry.task_id()).remove();
        scoped.index.lock().remove(status_key, entry);
        self.contexts.remove(status_key, entry);
        if let Some(timer) = record.parked.take() {
            self.parked.remove(*timer);
        }
        record.update_usage(entry);
        self.save_removal(entry, &record);
        self.remove_lease(&mut record);
        self.remove_outbox(entry, &mut record);
        self.release_slot(&scoped.scope);
        true
    }

    /// Releases the capacity of a task.
    fn release_slot(&self, scope: &Scope) {
        self.scopes.release(scope);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Reads the index that a query selects, unless it is empty.
    fn with_index<T>(
        &self,
        scope: &Scope,
        query: &TaskQuery,
        read: impl FnOnce(&Index) -> T,
    ) -> Option<T> {
        match &query.context_id {
            Some(context_id) => self.contexts.read(scope, context_id, read),
            None => Some(read(&self.scopes.find(scope)?.index.lock())),
        }
    }
}

pub(super) fn conflict(task_id: &str) -> StoreError {
    StoreError::Conflict { task_id: task_id.to_owned() }
}

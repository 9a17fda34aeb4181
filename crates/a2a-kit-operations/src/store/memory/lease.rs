//! Leases and commands.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::Instant;

use super::{
    MemoryStore,
    entry::{Entry, Lease, Record},
    timer_queue::TimerKey,
};
use crate::{
    Scope,
    store::{Acquired, Command, LeaseStore, LeaseUpdate, Orphan, Signals, StoreError},
};

#[async_trait]
impl LeaseStore for MemoryStore {
    fn node(&self) -> &str {
        &self.node
    }

    fn lease(&self) -> Option<Duration> {
        None
    }

    async fn acquire(&self, scope: &Scope, task_id: &str) -> Result<Option<Acquired>, StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(None) };
        let mut record = entry.lock();
        let held = record.lease.as_ref().and_then(|lease| lease.node.as_ref());
        if held.is_some_and(|holder| *holder != self.node) {
            return Ok(record.stored(&entry)?.map(Acquired::Elsewhere));
        }
        let granted = self.grant_again(&entry, &mut record)?;
        Ok(granted.map(|orphan| match orphan.checkpoint.is_empty() {
            true => Acquired::Here(orphan.stored),
            false => Acquired::Reacquired(orphan),
        }))
    }

    async fn renew(&self, held: &[(Arc<str>, u64)]) -> Result<Vec<Arc<str>>, StoreError> {
        let is_lost = |(task_id, epoch): &&(Arc<str>, u64)| {
            let Some(entry) = self.by_id(task_id) else { return true };
            let mut record = entry.lock();
            let is_held = record.is_leased(*epoch);
            if is_held {
                self.grant_lease(&mut record);
            }
            !is_held
        };
        Ok(held.iter().filter(is_lost).map(|(task_id, _)| Arc::clone(task_id)).collect())
    }

    async fn release(&self, task_id: &str, epoch: u64) -> Result<bool, StoreError> {
        let Some(entry) = self.by_id(task_id) else { return Ok(true) };
        let mut record = entry.lock();
        if !record.is_leased(epoch) {
            return Ok(true);
        }
        if record.lease.as_ref().is_some_and(|lease| !lease.commands.is_empty()) {
            return Ok(false);
        }
        self.clear_lease(&mut record);
        self.save_lease(&entry, &record);
        Ok(true)
    }

    async fn abandon(&self, task_id: &str, epoch: u64) -> Result<(), StoreError> {
        let Some(entry) = self.by_id(task_id) else { return Ok(()) };
        let mut record = entry.lock();
        if record.is_leased(epoch)
            && let Some(lease) = &mut record.lease
        {
            let timer = self.orphans.put(Instant::now(), Arc::clone(&entry));
            if let Some(before) = lease.orphaned.replace(timer) {
                self.orphans.remove(before);
            }
        }
        Ok(())
    }

    async fn take_over(&self, limit: usize) -> Result<Vec<Orphan>, StoreError> {
        let due = self.orphans.due(Instant::now(), limit);
        due.iter().filter_map(|entry| self.take_over_task(entry).transpose()).collect()
    }

    async fn post_command(
        &self,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(false) };
        let mut record = entry.lock();
        let held = record.lease.as_mut().filter(|lease| lease.node.is_some());
        let Some(lease) = held else { return Ok(false) };
        if self.commands.post(&command.id, &entry)? {
            lease.commands.push_back(command);
        }
        Ok(true)
    }

    async fn commands(&self, task_id: &str) -> Result<Vec<Command>, StoreError> {
        let Some(entry) = self.by_id(task_id) else { return Ok(Vec::new()) };
        let record = entry.lock();
        Ok(record.lease.iter().flat_map(|lease| lease.commands.iter().cloned()).collect())
    }

    async fn answer_command(&self, command_id: &str, answer: Bytes) -> Result<(), StoreError> {
        if let Some(entry) = self.commands.entry(command_id) {
            self.answer_in(&mut entry.lock(), command_id, answer);
        }
        Ok(())
    }

    async fn read_answer(&self, command_id: &str) -> Result<Option<Bytes>, StoreError> {
        Ok(self.commands.read(command_id))
    }

    async fn delete_answer(&self, command_id: &str) -> Result<(), StoreError> {
        self.commands.delete_answer(command_id);
        Ok(())
    }

    fn signals(&self) -> Option<Signals> {
        None
    }
}

impl MemoryStore {
    /// Grants a lease to this process.
    pub(super) fn grant_lease<'a>(&self, record: &'a mut Record) -> &'a Lease {
        let lease = record.lease.get_or_insert_default();
        lease.node = Some(Arc::clone(&self.node));
        if let Some(timer) = lease.orphaned.take() {
            self.orphans.remove(timer);
        }
        lease
    }

    /// Applies the lease update of a transition.
    pub(super) fn update_lease(&self, record: &mut Record, lease: LeaseUpdate) {
        match lease {
            LeaseUpdate::Keep => {}
            LeaseUpdate::Checkpoint(checkpoint) => record.set_checkpoint(checkpoint),
            LeaseUpdate::Release => self.clear_lease(record),
        }
    }

    fn clear_lease(&self, record: &mut Record) {
        let Some(lease) = &mut record.lease else { return };
        if let Some(timer) = lease.orphaned.take() {
            self.orphans.remove(timer);
        }
        let commands = std::mem::take(&mut lease.commands);
        record.lease =
            (!commands.is_empty()).then(|| Box::new(Lease { commands, ..Lease::default() }));
    }

    /// Takes over a task, unless that was done in the meantime.
    fn take_over_task(&self, entry: &Entry) -> Result<Option<Orphan>, StoreError> {
        let mut record = entry.lock();
        let orphaned = record.lease.as_ref().filter(|lease| lease.orphaned.is_some());
        match orphaned {
            Some(_) => self.grant_again(entry, &mut record),
            None => Ok(None),
        }
    }

    /// Grants a lease to this process under a new epoch; `None` if the task was removed.
    fn grant_again(
        &self,
        entry: &Entry,
        record: &mut Record,
    ) -> Result<Option<Orphan>, StoreError> {
        if record.gone {
            return Ok(None);
        }
        let lease = self.grant_lease(record);
        let (checkpoint, checkpoint_epoch) = (lease.checkpoint.clone(), lease.checkpoint_epoch);
        record.epoch += 1;
        self.save_lease(entry, record);
        let scope = entry.scoped.scope.clone();
        let stored = record.stored(entry)?;
        Ok(stored.map(|stored| Orphan { scope, stored, checkpoint, checkpoint_epoch }))
    }

    /// Answers a pending command of a task.
    pub(super) fn answer_in(&self, record: &mut Record, command_id: &str, answer: Bytes) {
        let Some(lease) = &mut record.lease else { return };
        let at = lease.commands.iter().position(|command| *command.id == *command_id);
        let Some(command) = at.and_then(|at| lease.commands.remove(at)) else { return };
        if lease.node.is_none() && lease.commands.is_empty() {
            record.lease = None;
        }
        self.commands.answer(&command.id, answer);
    }

    /// Removes the lease of a removed task.
    pub(super) fn remove_lease(&self, record: &mut Record) {
        if let Some(lease) = record.lease.take() {
            lease.orphaned.iter().for_each(|timer| self.orphans.remove(*timer));
            lease.commands.iter().for_each(|command| self.commands.remove(&command.id));
        }
    }
}

impl Lease {
    /// The lease of an earlier process.
    pub(super) fn orphaned(timer: TimerKey, checkpoint: Bytes, checkpoint_epoch: u64) -> Self {
        let node = Some("an earlier process".into());
        Self { node, orphaned: Some(timer), checkpoint, checkpoint_epoch, ..Self::default() }
    }

    pub(super) fn checkpoint(&self) -> (&[u8], u64) {
        (&self.checkpoint, self.checkpoint_epoch)
    }
}

impl Record {
    /// Whether the task is leased under an epoch.
    fn is_leased(&self, epoch: u64) -> bool {
        let is_held = self.lease.as_ref().is_some_and(|lease| lease.node.is_some());
        is_held && self.epoch == epoch && !self.gone
    }

    /// Stores a checkpoint of the lease holder.
    pub(super) fn set_checkpoint(&mut self, checkpoint: Bytes) {
        let epoch = self.epoch;
        if let Some(lease) = self.lease.as_mut().filter(|lease| lease.node.is_some()) {
            lease.checkpoint = checkpoint;
            lease.checkpoint_epoch = epoch;
        }
    }
}

//! Leases and commands.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;

use super::{
    data::Data,
    entry::{Entry, Record},
    timer_queue::TimerKey,
};
use crate::{
    Scope,
    store::{Acquired, Command, LeaseUpdate, Orphan, Signal, StoreError},
};

/// The lease on a task, its checkpoint, and the pending commands.
#[derive(Debug, Default)]
pub(super) struct Lease {
    /// The holder, if the task is leased.
    pub(super) node: Option<Arc<str>>,
    /// When the lease expires, if it does.
    until: Option<TimerKey>,
    /// Whether the holder has given up the lease, so that it may take the task over too.
    is_abandoned: bool,
    checkpoint: Bytes,
    checkpoint_epoch: u64,
    commands: VecDeque<Command>,
}

impl Data {
    /// How long leases last, if there are several nodes.
    pub(super) fn lease(&self) -> Option<Duration> {
        self.mailboxes.is_shared().then_some(self.limits.lease)
    }

    /// Acquires the lease on a task.
    pub(super) fn acquire(
        &self,
        node: &Arc<str>,
        scope: &Scope,
        task_id: &str,
    ) -> Result<Option<Acquired>, StoreError> {
        let Some(entry) = self.find(scope, task_id) else { return Ok(None) };
        let mut record = entry.lock();
        let held = record.lease.as_ref().and_then(|lease| lease.node.as_ref());
        let is_free = held.is_none_or(|holder| holder == node);
        if is_free && !record.is_gone() {
            self.grant_lease(&entry, &mut record, node);
            record.begin_epoch();
            self.save_lease(&entry, &record);
            self.signal_written(node, &entry, &record, Vec::new());
        }
        let Some(stored) = record.stored(&entry)? else { return Ok(None) };
        if !is_free {
            return Ok(Some(Acquired::Elsewhere(stored)));
        }
        let checkpointed = record.lease.as_ref().filter(|lease| !lease.checkpoint.is_empty());
        Ok(Some(match checkpointed {
            None => Acquired::Here(stored),
            Some(lease) => {
                let (checkpoint, checkpoint_epoch) =
                    (lease.checkpoint.clone(), lease.checkpoint_epoch);
                Acquired::Reacquired(Orphan {
                    scope: scope.clone(),
                    stored,
                    checkpoint,
                    checkpoint_epoch,
                })
            }
        }))
    }

    /// Grants a lease to a node.
    pub(super) fn grant_lease(&self, entry: &Arc<Entry>, record: &mut Record, node: &Arc<str>) {
        let lease = record.lease.get_or_insert_default();
        lease.node = Some(Arc::clone(node));
        lease.is_abandoned = false;
        if let Some(timer) = lease.until.take() {
            self.leases.remove(timer);
        }
        if let Some(lasts) = self.lease() {
            lease.until = Some(self.leases.put(Instant::now() + lasts, Arc::clone(entry)));
        }
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
        if let Some(timer) = lease.until.take() {
            self.leases.remove(timer);
        }
        let commands = std::mem::take(&mut lease.commands);
        record.lease =
            (!commands.is_empty()).then(|| Box::new(Lease { commands, ..Lease::default() }));
    }

    pub(super) fn renew(&self, held: &[(Arc<str>, u64)]) -> Vec<Arc<str>> {
        let is_lost = |(task_id, epoch): &&(Arc<str>, u64)| {
            let Some(entry) = self.by_id(task_id) else { return true };
            let mut record = entry.lock();
            let Some(node) = record.holder(*epoch) else { return true };
            self.grant_lease(&entry, &mut record, &node);
            false
        };
        held.iter().filter(is_lost).map(|(task_id, _)| Arc::clone(task_id)).collect()
    }

    pub(super) fn release(&self, node: &Arc<str>, task_id: &str, epoch: u64) -> bool {
        let Some(entry) = self.by_id(task_id) else { return true };
        let mut record = entry.lock();
        if record.holder(epoch).is_none() {
            return true;
        }
        if record.lease.as_ref().is_some_and(|lease| !lease.commands.is_empty()) {
            return false;
        }
        self.clear_lease(&mut record);
        self.save_lease(&entry, &record);
        self.signal_written(node, &entry, &record, Vec::new());
        true
    }

    pub(super) fn abandon(&self, node: &Arc<str>, task_id: &str, epoch: u64) {
        let Some(entry) = self.by_id(task_id) else { return };
        let mut record = entry.lock();
        if record.holder(epoch).is_none() {
            return;
        }
        if let Some(lease) = &mut record.lease {
            lease.is_abandoned = true;
            let timer = self.leases.put(Instant::now(), Arc::clone(&entry));
            if let Some(before) = lease.until.replace(timer) {
                self.leases.remove(before);
            }
        }
        drop(record);
        self.mailboxes.broadcast(node, &Signal::Abandoned);
    }

    pub(super) fn take_over(
        &self,
        node: &Arc<str>,
        limit: usize,
    ) -> Result<Vec<Orphan>, StoreError> {
        let now = Instant::now();
        let mut orphans = Vec::new();
        loop {
            let due = self.leases.due(now, limit - orphans.len());
            if due.is_empty() {
                return Ok(orphans);
            }
            for entry in due {
                orphans.extend(self.take_over_task(node, &entry, now)?);
            }
        }
    }

    /// Takes over a task, unless its lease was renewed or taken over in the meantime.
    fn take_over_task(
        &self,
        node: &Arc<str>,
        entry: &Arc<Entry>,
        now: Instant,
    ) -> Result<Option<Orphan>, StoreError> {
        let mut record = entry.lock();
        let Some(lease) = &record.lease else { return Ok(None) };
        if lease.until.is_none_or(|(until, _)| until > now) {
            return Ok(None);
        }
        if lease.node.as_ref() == Some(node) && !lease.is_abandoned {
            // The node is late to renew it, or does not know of it.
            self.grant_lease(entry, &mut record, node);
            record.lease.iter_mut().for_each(|lease| lease.is_abandoned = true);
            return Ok(None);
        }
        let (checkpoint, checkpoint_epoch) = (lease.checkpoint.clone(), lease.checkpoint_epoch);
        self.grant_lease(entry, &mut record, node);
        record.begin_epoch();
        self.save_lease(entry, &record);
        self.signal_written(node, entry, &record, Vec::new());
        let scope = entry.scoped().scope.clone();
        let stored = record.stored(entry)?;
        Ok(stored.map(|stored| Orphan { scope, stored, checkpoint, checkpoint_epoch }))
    }

    pub(super) fn post_command(
        &self,
        node: &Arc<str>,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        use super::command::Posted;

        let Some(entry) = self.find(scope, task_id) else { return Ok(false) };
        let mut record = entry.lock();
        let Some(lease) = &mut record.lease else { return Ok(false) };
        let Some(holder) = lease.node.clone() else { return Ok(false) };
        match self.commands.post(&command.id, &entry, node) {
            Posted::Full => return Err(StoreError::Full),
            Posted::Known => {}
            Posted::New => lease.commands.push_back(command),
        }
        drop(record);
        self.mailboxes.send_to(&holder, &Signal::Posted { task_id: task_id.into() });
        Ok(true)
    }

    pub(super) fn commands(&self, task_id: &str) -> Vec<Command> {
        let Some(entry) = self.by_id(task_id) else { return Vec::new() };
        let record = entry.lock();
        record.lease.iter().flat_map(|lease| lease.commands.iter().cloned()).collect()
    }

    pub(super) fn answer_command(&self, command_id: &str, answer: Bytes) {
        if let Some(entry) = self.commands.entry(command_id) {
            self.answer_in(&mut entry.lock(), command_id, answer);
        }
    }

    /// Answers a pending command of a task.
    pub(super) fn answer_in(&self, record: &mut Record, command_id: &str, answer: Bytes) {
        let Some(lease) = &mut record.lease else { return };
        let at = lease.commands.iter().position(|command| *command.id == *command_id);
        let Some(command) = at.and_then(|at| lease.commands.remove(at)) else { return };
        if lease.node.is_none() && lease.commands.is_empty() {
            record.lease = None;
        }
        if let Some(from) = self.commands.answer(&command.id, answer) {
            self.mailboxes.send_to(&from, &Signal::Answered { command_id: command.id });
        }
    }

    /// Removes the lease of a removed task.
    pub(super) fn remove_lease(&self, record: &mut Record) {
        if let Some(lease) = record.lease.take() {
            lease.until.iter().for_each(|timer| self.leases.remove(*timer));
            lease.commands.iter().for_each(|command| self.commands.remove(&command.id));
        }
    }
}

impl Lease {
    /// An expired lease of an earlier process.
    pub(super) fn orphaned(until: TimerKey, checkpoint: Bytes, checkpoint_epoch: u64) -> Self {
        let node = Some("an earlier process".into());
        Self { node, until: Some(until), checkpoint, checkpoint_epoch, ..Self::default() }
    }

    pub(super) fn checkpoint(&self) -> (&Bytes, u64) {
        (&self.checkpoint, self.checkpoint_epoch)
    }
}

impl Record {
    /// The node that holds the lease under an epoch.
    fn holder(&self, epoch: u64) -> Option<Arc<str>> {
        let lease = self.lease.as_ref().filter(|_| self.epoch() == epoch && !self.is_gone())?;
        lease.node.clone()
    }

    /// Stores a checkpoint of the lease holder.
    pub(super) fn set_checkpoint(&mut self, checkpoint: Bytes) {
        let epoch = self.epoch();
        if let Some(lease) = self.lease.as_mut().filter(|lease| lease.node.is_some()) {
            lease.checkpoint = checkpoint;
            lease.checkpoint_epoch = epoch;
        }
    }
}

//! Who works on which task.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use tokio::time::Instant;

use super::{
    data::Data,
    entry::{Entry, Record},
    schedule::Turn,
};
use crate::{
    Scope,
    store::{Acquired, Command, Hold, Orphan, Signal, StoreError},
};

/// The hold of a node on a task, and the commands that wait for it.
#[derive(Debug, Default)]
pub(super) struct Lease {
    /// The node, if one holds the task.
    pub(super) node: Option<Arc<str>>,
    /// When the lease runs out, if it does.
    until: Option<Turn>,
    execution: Bytes,
    recorded: u64,
    commands: VecDeque<Command>,
}

impl Data {
    /// Reaches for a task.
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
            self.hold(&entry, &mut record, node);
            record.begin_epoch();
            self.tell_written(node, &entry, &record, Vec::new());
        }
        let Some(stored) = record.stored(&entry)? else { return Ok(None) };
        if !is_free {
            return Ok(Some(Acquired::Elsewhere(stored)));
        }
        let recorded = record.lease.as_ref().filter(|lease| !lease.execution.is_empty());
        Ok(Some(match recorded {
            None => Acquired::Here(stored),
            Some(lease) => {
                let (execution, recorded) = (lease.execution.clone(), lease.recorded);
                Acquired::Again(Orphan { scope: scope.clone(), stored, execution, recorded })
            }
        }))
    }

    /// Lets a node hold a task, from now on.
    pub(super) fn hold(&self, entry: &Arc<Entry>, record: &mut Record, node: &Arc<str>) {
        let lease = record.lease.get_or_insert_default();
        lease.node = Some(Arc::clone(node));
        if let Some(turn) = lease.until.take() {
            self.leases.remove(turn);
        }
        if self.members.are_many() {
            let until = Instant::now() + self.limits.lease;
            lease.until = Some(self.leases.put(until, Arc::clone(entry)));
        }
    }

    /// Does what a transition says of the hold.
    pub(super) fn keep_hold(&self, record: &mut Record, hold: Hold) {
        match hold {
            Hold::Keep => {}
            Hold::Record(execution) => record.record(execution),
            Hold::Release => self.let_go(record),
        }
    }

    fn let_go(&self, record: &mut Record) {
        let Some(lease) = &mut record.lease else { return };
        if let Some(turn) = lease.until.take() {
            self.leases.remove(turn);
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
            self.hold(&entry, &mut record, &node);
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
        self.let_go(&mut record);
        self.tell_written(node, &entry, &record, Vec::new());
        true
    }

    pub(super) fn abandon(&self, node: &Arc<str>, task_id: &str, epoch: u64) {
        let Some(entry) = self.by_id(task_id) else { return };
        let mut record = entry.lock();
        if record.holder(epoch).is_none() {
            return;
        }
        if let Some(lease) = &mut record.lease {
            let turn = self.leases.put(Instant::now(), Arc::clone(&entry));
            if let Some(before) = lease.until.replace(turn) {
                self.leases.remove(before);
            }
        }
        drop(record);
        self.members.tell_others(node, &Signal::Abandoned);
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

    /// Takes over a task, unless somebody else just did or its node came back.
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
        let (execution, recorded) = (lease.execution.clone(), lease.recorded);
        self.hold(entry, &mut record, node);
        record.begin_epoch();
        self.tell_written(node, entry, &record, Vec::new());
        let scope = entry.scoped().scope.clone();
        let stored = record.stored(entry)?;
        Ok(stored.map(|stored| Orphan { scope, stored, execution, recorded }))
    }

    pub(super) fn post(
        &self,
        node: &Arc<str>,
        scope: &Scope,
        task_id: &str,
        command: Command,
    ) -> Result<bool, StoreError> {
        use super::command::Post;

        let Some(entry) = self.find(scope, task_id) else { return Ok(false) };
        let mut record = entry.lock();
        let Some(lease) = &mut record.lease else { return Ok(false) };
        let Some(holder) = lease.node.clone() else { return Ok(false) };
        match self.commands.post(&command.id, &entry, node) {
            Post::Full => return Err(StoreError::Full),
            Post::Known => {}
            Post::New => lease.commands.push_back(command),
        }
        drop(record);
        self.members.tell(&holder, &Signal::Posted { task_id: task_id.into() });
        Ok(true)
    }

    pub(super) fn commands(&self, task_id: &str) -> Vec<Command> {
        let Some(entry) = self.by_id(task_id) else { return Vec::new() };
        let record = entry.lock();
        record.lease.iter().flat_map(|lease| lease.commands.iter().cloned()).collect()
    }

    pub(super) fn answer(&self, command_id: &str, answer: Bytes) {
        if let Some(entry) = self.commands.entry(command_id) {
            self.answer_of(&mut entry.lock(), command_id, answer);
        }
    }

    /// Answers a command of a task, if it still waits.
    pub(super) fn answer_of(&self, record: &mut Record, command_id: &str, answer: Bytes) {
        let Some(lease) = &mut record.lease else { return };
        let at = lease.commands.iter().position(|command| *command.id == *command_id);
        let Some(command) = at.and_then(|at| lease.commands.remove(at)) else { return };
        if lease.node.is_none() && lease.commands.is_empty() {
            record.lease = None;
        }
        if let Some(from) = self.commands.answer(&command.id, answer) {
            self.members.tell(&from, &Signal::Answered { command_id: command.id });
        }
    }

    /// Forgets who holds a task that is gone.
    pub(super) fn forget_lease(&self, record: &mut Record) {
        if let Some(lease) = record.lease.take() {
            lease.until.iter().for_each(|turn| self.leases.remove(*turn));
            lease.commands.iter().for_each(|command| self.commands.forget(&command.id));
        }
    }
}

impl Record {
    /// The node that holds the task under an epoch.
    fn holder(&self, epoch: u64) -> Option<Arc<str>> {
        let lease = self.lease.as_ref().filter(|_| self.epoch() == epoch && !self.is_gone())?;
        lease.node.clone()
    }

    /// Notes what the node that holds the task works on.
    pub(super) fn record(&mut self, execution: Bytes) {
        let epoch = self.epoch();
        if let Some(lease) = self.lease.as_mut().filter(|lease| lease.node.is_some()) {
            lease.execution = execution;
            lease.recorded = epoch;
        }
    }
}

//! The entries of one scope.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use a2a_core::ProtocolVersion;
use tokio::{sync::watch, time::Instant};

/// Memory overhead of an entry without its strings: map and order nodes, allocation headers.
const ENTRY_BYTES: usize = 256;

/// Identifies the message of a send, by which its task can be found.
#[derive(Clone, Debug)]
pub(crate) struct MessageKey {
    pub(crate) context_id: String,
    pub(crate) message_id: String,
}

/// A send whose task is not known yet.
#[derive(Debug)]
pub(super) struct PendingSend {
    pub(super) key: MessageKey,
    /// Dropped when the send has finished or its task is known; `None` if the client disconnected.
    pub(super) in_progress: Option<watch::Sender<()>>,
}

impl PendingSend {
    pub(super) fn bytes(&self) -> usize {
        self.key.context_id.len() + self.key.message_id.len()
    }
}

/// Entries by the id that the client uses.
#[derive(Debug, Default)]
pub(super) struct ScopeEntries {
    entries: HashMap<Arc<str>, Entry>,
    /// Ids in insertion order.
    order: BTreeMap<u64, Arc<str>>,
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) revision: ProtocolVersion,
    pub(super) target: Target,
    /// When the task was found to have ended.
    pub(super) ended: Option<Instant>,
}

/// What the id of an entry refers to.
#[derive(Debug)]
pub(super) enum Target {
    /// A task, by its id at the agent.
    Task(Box<str>),
    /// A send whose task is not known yet.
    Send(PendingSend),
}

impl ScopeEntries {
    pub(super) fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Entry> {
        self.entries.get_mut(id)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn insert(&mut self, id: &str, entry: Entry) {
        self.remove(id);
        let id: Arc<str> = id.into();
        self.bytes += size(&id, &entry);
        self.order.insert(entry.number, Arc::clone(&id));
        self.entries.insert(id, entry);
    }

    pub(super) fn remove(&mut self, id: &str) {
        if let Some((id, entry)) = self.entries.remove_entry(id) {
            self.bytes -= size(&id, &entry);
            self.order.remove(&entry.number);
        }
    }

    pub(super) fn remove_oldest(&mut self) {
        if let Some((_, id)) = self.order.pop_first() {
            self.remove(&id);
        }
    }

    /// Removes the entries of tasks that ended before a point in time.
    pub(super) fn remove_ended(&mut self, before: Instant) {
        let Self { entries, order, bytes } = self;
        entries.retain(|id, entry| {
            let is_kept = entry.ended.is_none_or(|ended| ended > before);
            if !is_kept {
                *bytes -= size(id, entry);
                order.remove(&entry.number);
            }
            is_kept
        });
        if entries.len() < entries.capacity() / 4 {
            entries.shrink_to_fit();
        }
    }
}

fn size(id: &str, entry: &Entry) -> usize {
    let target = match &entry.target {
        Target::Task(task_id) => task_id.len(),
        Target::Send(send) => send.bytes(),
    };
    ENTRY_BYTES + id.len() + target
}

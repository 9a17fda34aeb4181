//! What is remembered for one scope.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use a2a_core::ProtocolVersion;
use tokio::time::Instant;

use super::claim::PendingSend;

/// What an entry takes beside its texts: its places in the map and in the order, and the headers
/// of what they point to.
const ENTRY_BYTES: usize = 256;

/// The entries of one scope, by the id that the client uses.
#[derive(Debug, Default)]
pub(super) struct Share {
    known: HashMap<Arc<str>, Entry>,
    /// Their ids in the order in which they came.
    order: BTreeMap<u64, Arc<str>>,
    bytes: usize,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) revision: ProtocolVersion,
    pub(super) target: Target,
    /// When the task was seen to have ended.
    pub(super) ended: Option<Instant>,
}

/// What the id of an entry stands for.
#[derive(Debug)]
pub(super) enum Target {
    /// A task, by its id here.
    Task(Box<str>),
    /// A send whose task is not known yet.
    Send(PendingSend),
}

impl Share {
    pub(super) fn get(&self, id: &str) -> Option<&Entry> {
        self.known.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Entry> {
        self.known.get_mut(id)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn insert(&mut self, id: &str, entry: Entry) {
        self.remove(id);
        let id: Arc<str> = id.into();
        self.bytes += cost(&id, &entry);
        self.order.insert(entry.number, Arc::clone(&id));
        self.known.insert(id, entry);
    }

    pub(super) fn remove(&mut self, id: &str) {
        if let Some((id, entry)) = self.known.remove_entry(id) {
            self.bytes -= cost(&id, &entry);
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
        let Self { known, order, bytes } = self;
        known.retain(|id, entry| {
            let stays = entry.ended.is_none_or(|ended| ended > before);
            if !stays {
                *bytes -= cost(id, entry);
                order.remove(&entry.number);
            }
            stays
        });
        if known.len() < known.capacity() / 4 {
            known.shrink_to_fit();
        }
    }
}

fn cost(id: &str, entry: &Entry) -> usize {
    let target = match &entry.target {
        Target::Task(task_id) => task_id.len(),
        Target::Send(send) => send.bytes(),
    };
    ENTRY_BYTES + id.len() + target
}

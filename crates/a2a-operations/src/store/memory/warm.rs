//! The ended tasks that are kept at hand.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use super::{entry::Entry, lock};

/// The most ended tasks that are kept at hand.
const MAX_WARM: usize = 1_024;

/// Tasks that ended or were asked for lately; all others that have ended are packed.
#[derive(Debug, Default)]
pub(super) struct Warm(Mutex<VecDeque<Arc<Entry>>>);

impl Warm {
    /// Adds a task, and returns one that is to be packed instead.
    pub(super) fn push(&self, entry: &Arc<Entry>) -> Option<Arc<Entry>> {
        let mut queue = lock(&self.0);
        queue.push_back(Arc::clone(entry));
        if queue.len() > MAX_WARM { queue.pop_front() } else { None }
    }
}

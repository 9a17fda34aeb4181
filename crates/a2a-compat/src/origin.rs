//! In which revision a task was made, and the names that clients of 0.1 gave to theirs.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use a2a_core::ProtocolVersion;
use a2a_operations::Scope;

/// The most tasks that are remembered; the oldest are forgotten first, and then answered in the
/// revision that the request itself shows.
const MAX_TASKS: usize = 100_000;

/// Remembers which tasks were made in an older revision. Clones share what they remember.
#[derive(Clone, Debug, Default)]
pub struct Origins(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// By scope and the id that the client uses.
    known: HashMap<(Scope, String), Origin>,
    /// In the order in which they came.
    order: VecDeque<(Scope, String)>,
}

/// Where a task comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The revision in which it was made.
    pub revision: ProtocolVersion,
    /// Its id here. In 0.1 the client chose another one.
    pub task_id: String,
}

impl Origins {
    /// Finds where a task comes from, by the id that the client uses.
    pub fn find(&self, scope: &Scope, id: &str) -> Option<Origin> {
        self.lock().known.get(&(scope.clone(), id.to_owned())).cloned()
    }

    /// Remembers a task that was made in an older revision.
    pub fn remember(&self, scope: &Scope, id: &str, revision: ProtocolVersion, task_id: &str) {
        let mut inner = self.lock();
        let key = (scope.clone(), id.to_owned());
        let origin = Origin { revision, task_id: task_id.to_owned() };
        if inner.known.insert(key.clone(), origin).is_none() {
            inner.order.push_back(key);
            if inner.order.len() > MAX_TASKS
                && let Some(oldest) = inner.order.pop_front()
            {
                inner.known.remove(&oldest);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_tasks_are_forgotten_beyond_the_bound() {
        let origins = Origins::default();
        let scope = Scope::default();
        for index in 0..=MAX_TASKS {
            origins.remember(&scope, &index.to_string(), ProtocolVersion::V0_1, "t");
        }
        assert_eq!(origins.find(&scope, "0"), None);
        assert!(origins.find(&scope, "1").is_some());
        assert_eq!(origins.lock().known.len(), MAX_TASKS);
        let other = Scope { owner: "ann".into(), ..Scope::default() };
        assert_eq!(origins.find(&other, "1"), None);
    }
}

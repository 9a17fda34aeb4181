//! What each caller holds now.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Task,
    Stream,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Task => "running tasks",
            Self::Stream => "open streams",
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    tasks: usize,
    streams: usize,
}

impl Counts {
    fn of(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Task => &mut self.tasks,
            Kind::Stream => &mut self.streams,
        }
    }
}

/// The counts of all callers that hold anything; what they hold bounds how many those are.
#[derive(Clone, Debug, Default)]
pub(super) struct Held(Arc<Mutex<HashMap<Arc<str>, Counts>>>);

impl Held {
    /// Takes one for a caller; `None` where it has `most`.
    pub(super) fn take(&self, caller: &str, kind: Kind, most: usize) -> Option<Share> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let caller: Arc<str> = caller.into();
        let counts = held.entry(Arc::clone(&caller)).or_default();
        if *counts.of(kind) >= most {
            // Whoever has that many has an entry of before.
            return None;
        }
        *counts.of(kind) += 1;
        drop(held);
        Some(Share { of: self.clone(), caller, kind })
    }

    pub(super) fn callers(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// What a caller holds, until dropped.
#[derive(Debug)]
pub(super) struct Share {
    of: Held,
    caller: Arc<str>,
    kind: Kind,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = held.get_mut(&self.caller) {
            *counts.of(self.kind) -= 1;
            if counts.tasks == 0 && counts.streams == 0 {
                held.remove(&self.caller);
            }
        }
    }
}

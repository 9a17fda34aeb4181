//! Permits in use, by caller.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

/// What a permit counts.
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

/// The counts of all callers with permits.
#[derive(Clone, Debug, Default)]
pub(super) struct Permits(Arc<Mutex<HashMap<Arc<str>, Counts>>>);

impl Permits {
    /// Takes a permit for a caller; `None` if it has `most`.
    pub(super) fn take(&self, caller: &str, kind: Kind, most: usize) -> Option<Permit> {
        let mut counts_by_caller = self.0.lock();
        let caller: Arc<str> = caller.into();
        let counts = counts_by_caller.entry(Arc::clone(&caller)).or_default();
        if *counts.of(kind) >= most {
            // A caller at its limit already has an entry.
            return None;
        }
        *counts.of(kind) += 1;
        drop(counts_by_caller);
        Some(Permit { of: self.clone(), caller, kind })
    }

    pub(super) fn callers(&self) -> usize {
        self.0.lock().len()
    }
}

/// A permit of a caller, released when dropped.
#[derive(Debug)]
pub(super) struct Permit {
    of: Permits,
    caller: Arc<str>,
    kind: Kind,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts_by_caller = self.of.0.lock();
        if let Some(counts) = counts_by_caller.get_mut(&self.caller) {
            *counts.of(self.kind) -= 1;
            if counts.tasks == 0 && counts.streams == 0 {
                counts_by_caller.remove(&self.caller);
            }
        }
    }
}

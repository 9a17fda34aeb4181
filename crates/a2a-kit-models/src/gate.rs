//! How many calls of a provider are in progress, and when the next may begin.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use a2a_kit_operations::{Slot, Slots};
use tokio::time::{Instant, sleep_until};

use crate::ModelInfo;

/// The calls of a server of a provider, for all agents of this process.
#[derive(Debug)]
pub(crate) struct Gate {
    slots: Slots,
    /// No call begins before. The lock is held for a copy.
    opens: Mutex<Instant>,
}

/// A provider with its server.
type Key = (String, (String, u16));

/// The gates in use.
static GATES: Mutex<Option<HashMap<Key, Weak<Gate>>>> = Mutex::new(None);

impl Gate {
    /// The gate of a model. A model in this process has its own.
    pub(crate) fn of(model: &ModelInfo) -> Arc<Self> {
        let new = || Arc::new(Self { slots: Slots::new(1), opens: Mutex::new(Instant::now()) });
        let Some(server) = model.server.clone() else { return new() };
        let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
        let gates = gates.get_or_insert_default();
        gates.retain(|_, gate| gate.strong_count() > 0);
        let gate = gates.entry((model.provider.clone(), server)).or_default();
        gate.upgrade().unwrap_or_else(|| {
            let new = new();
            *gate = Arc::downgrade(&new);
            new
        })
    }

    /// Waits until a call may begin: fewer than `concurrency` are in progress, and the provider
    /// wants no wait. The call holds the slot until it has ended.
    pub(crate) async fn enter(&self, caller: &str, concurrency: usize) -> Slot {
        let slot = self.slots.within(concurrency).acquire(caller).await;
        loop {
            let opens = *self.opens.lock().unwrap_or_else(PoisonError::into_inner);
            if opens <= Instant::now() {
                return slot;
            }
            sleep_until(opens).await;
        }
    }

    /// Lets no call begin for a time, of at most a day.
    pub(crate) fn close(&self, time: Duration) {
        let mut opens = self.opens.lock().unwrap_or_else(PoisonError::into_inner);
        *opens = (*opens).max(Instant::now() + time.min(Duration::from_secs(86_400)));
    }
}

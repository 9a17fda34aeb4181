//! Fair scheduling of commands among callers.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use a2a_kit_operations::metrics::Counted;
use tokio::sync::oneshot;

/// Slots for concurrent commands. A free slot goes to the caller with the fewest, and among those
/// to the one that has waited longest. The last slots are reserved for callers with none, so that
/// no caller can take all.
#[derive(Clone, Debug)]
pub(crate) struct Slots(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    /// Number of slots reserved for callers with none.
    reserved: usize,
    callers: HashMap<Arc<str>, Caller>,
    next: u64,
}

#[derive(Debug, Default)]
struct Caller {
    held: usize,
    /// Waiters by number, oldest first.
    waiting: VecDeque<(u64, oneshot::Sender<Slot>)>,
}

/// A slot, released when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Slots,
    caller: Arc<str>,
    _counted: Counted,
}

impl Slots {
    /// Creates slots. With `reserve`, a quarter is reserved for callers with none; a single caller
    /// would leave these unused.
    pub(crate) fn new(number: usize, reserve: bool) -> Self {
        let reserved = if reserve && number > 1 { (number / 4).max(1) } else { 0 };
        let state = State { free: number, reserved, callers: HashMap::new(), next: 0 };
        Self(Arc::new(Mutex::new(state)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn acquire(&self, caller: &str) -> Slot {
        let caller: Arc<str> = caller.into();
        let _counted = Counted::command("waiting");
        loop {
            let (sender, slot) = oneshot::channel();
            {
                let mut state = self.lock();
                let number = state.next;
                state.next += 1;
                let waiting = &mut state.callers.entry(Arc::clone(&caller)).or_default().waiting;
                waiting.push_back((number, sender));
            }
            self.hand_out();
            // The sender is used before it is dropped.
            if let Ok(slot) = slot.await {
                return slot;
            }
        }
    }

    fn hand_out(&self) {
        while let Some((caller, sender)) = self.lock().next() {
            // A slot whose waiter is gone is released.
            let counted = Counted::command("running");
            let slot = Slot { slots: self.clone(), caller, _counted: counted };
            let _given_back = sender.send(slot);
        }
    }
}

impl State {
    /// Grants a slot to the next caller.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<Slot>)> {
        if self.free == 0 {
            return None;
        }
        self.callers.retain(|_, caller| {
            caller.waiting.retain(|(_, sender)| !sender.is_closed());
            caller.held > 0 || !caller.waiting.is_empty()
        });
        let is_open = self.free > self.reserved;
        let (_, name) = self
            .callers
            .iter()
            .filter(|(_, caller)| is_open || caller.held == 0)
            .filter_map(|(name, caller)| {
                let (number, _) = caller.waiting.front()?;
                Some(((caller.held, *number), Arc::clone(name)))
            })
            .min_by_key(|(turn, _)| *turn)?;
        let caller = self.callers.get_mut(&name)?;
        let (_, sender) = caller.waiting.pop_front()?;
        caller.held += 1;
        self.free -= 1;
        Some((name, sender))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        {
            let mut state = self.slots.lock();
            state.free += 1;
            if let Some(caller) = state.callers.get_mut(&self.caller) {
                caller.held -= 1;
                if caller.held == 0 && caller.waiting.is_empty() {
                    state.callers.remove(&self.caller);
                }
            }
        }
        self.slots.hand_out();
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::Pin, task::Poll};

    use futures_util::poll;

    use super::*;

    type Waiting = Pin<Box<dyn Future<Output = Slot>>>;

    fn acquire(slots: &Slots, caller: &'static str) -> Waiting {
        let slots = slots.clone();
        Box::pin(async move { slots.acquire(caller).await })
    }

    async fn take(waiting: &mut Waiting) -> Option<Slot> {
        match poll!(waiting) {
            Poll::Ready(slot) => Some(slot),
            Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn caller_at_its_share_does_not_delay_the_first_command_of_another() {
        let slots = Slots::new(8, true);
        let mut ann: Vec<_> = (0..100).map(|_| acquire(&slots, "ann")).collect();
        let mut held = Vec::new();
        for waiting in &mut ann {
            held.extend(take(waiting).await);
        }
        assert_eq!(held.len(), 6);
        let bob = take(&mut acquire(&slots, "bob")).await;
        assert!(bob.is_some());
        // Free slots go to the caller that holds the fewest.
        let mut more = acquire(&slots, "bob");
        assert!(take(&mut more).await.is_none());
        held.truncate(3);
        assert!(take(&mut more).await.is_some());
    }

    #[tokio::test]
    async fn free_slots_go_to_the_caller_that_holds_the_fewest() {
        let slots = Slots::new(2, false);
        let first = slots.acquire("ann").await;
        let second = slots.acquire("ann").await;
        let mut third = acquire(&slots, "ann");
        let mut bob = acquire(&slots, "bob");
        assert!(take(&mut third).await.is_none() && take(&mut bob).await.is_none());
        drop(first);
        let bobs = take(&mut bob).await;
        assert!(bobs.is_some() && take(&mut third).await.is_none());
        drop(second);
        assert!(take(&mut third).await.is_some());
    }

    #[tokio::test]
    async fn slots_of_those_that_stopped_waiting_are_given_to_others() {
        let slots = Slots::new(1, true);
        let held = slots.acquire("ann").await;
        let mut gone = acquire(&slots, "bob");
        assert!(take(&mut gone).await.is_none());
        let mut stays = acquire(&slots, "ann");
        assert!(take(&mut stays).await.is_none());
        drop(gone);
        drop(held);
        drop(take(&mut stays).await.unwrap());
        assert!(slots.lock().callers.is_empty() && slots.lock().free == 1);
    }
}

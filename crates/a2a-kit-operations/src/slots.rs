//! Fair scheduling among callers.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// Slots for concurrent work, shared fairly by callers. A free slot goes to the caller with the
/// fewest, and among those to the one that has waited longest.
///
/// Cheap to clone: clones share the slots.
///
/// ```
/// use a2a_kit_operations::Slots;
///
/// # async fn example() {
/// let slots = Slots::new(4);
/// let slot = slots.acquire("ann").await;
/// // Work.
/// drop(slot);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Slots {
    state: Arc<Mutex<State>>,
    number: usize,
    /// Number of slots reserved for callers with none.
    reserved: usize,
}

#[derive(Debug, Default)]
struct State {
    held: usize,
    /// The highest limit of a waiter so far: with as many held, none gets a slot.
    limit: usize,
    callers: HashMap<Arc<str>, Caller>,
    next: u64,
}

#[derive(Debug, Default)]
struct Caller {
    held: usize,
    /// Oldest first.
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    /// How many slots may be held before the waiter gets one, and before it gets one beyond its
    /// caller's first.
    limits: (usize, usize),
    sender: oneshot::Sender<Slot>,
}

/// A slot, released when dropped.
#[derive(Debug)]
#[must_use]
pub struct Slot {
    state: Arc<Mutex<State>>,
    caller: Arc<str>,
}

impl Slots {
    /// Creates a number of slots, at least one. A single caller may take all.
    pub fn new(number: usize) -> Self {
        Self { state: Arc::default(), number: number.max(1), reserved: 0 }
    }

    /// Reserves a quarter of the slots, at least one, for callers with none, so that no caller can
    /// take all. Without effect on a single slot.
    #[must_use]
    pub fn with_reserve(mut self) -> Self {
        self.reserved = if self.number > 1 { (self.number / 4).max(1) } else { 0 };
        self
    }

    /// The same slots, of which only a number, at least one, may be held when one is acquired
    /// through this value.
    #[must_use]
    pub fn within(&self, number: usize) -> Self {
        Self { state: Arc::clone(&self.state), ..Self::new(number) }
    }

    /// Waits for a slot.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up the place in the queue.
    pub async fn acquire(&self, caller: &str) -> Slot {
        let caller: Arc<str> = caller.into();
        let limits = (self.number, self.number - self.reserved);
        loop {
            let (sender, slot) = oneshot::channel();
            {
                let mut state = lock(&self.state);
                let number = state.next;
                state.next += 1;
                state.limit = state.limit.max(self.number);
                let waiting = &mut state.callers.entry(Arc::clone(&caller)).or_default().waiting;
                waiting.push_back(Waiter { number, limits, sender });
            }
            hand_out(&self.state);
            // The sender is used before it is dropped.
            if let Ok(slot) = slot.await {
                return slot;
            }
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hand_out(state: &Arc<Mutex<State>>) {
    loop {
        let Some((caller, sender)) = lock(state).next() else { return };
        // A slot whose waiter is gone is released.
        let _given_back = sender.send(Slot { state: Arc::clone(state), caller });
    }
}

impl State {
    /// Grants a slot to the next caller.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<Slot>)> {
        if self.held >= self.limit {
            return None;
        }
        self.callers.retain(|_, caller| {
            caller.waiting.retain(|waiter| !waiter.sender.is_closed());
            caller.held > 0 || !caller.waiting.is_empty()
        });
        let (_, name) = self
            .callers
            .iter()
            .filter_map(|(name, caller)| {
                let waiter = caller.waiting.front()?;
                let (first, further) = waiter.limits;
                let limit = if caller.held == 0 { first } else { further };
                let turn = (caller.held, waiter.number);
                (self.held < limit).then(|| (turn, Arc::clone(name)))
            })
            .min_by_key(|(turn, _)| *turn)?;
        let caller = self.callers.get_mut(&name)?;
        let waiter = caller.waiting.pop_front()?;
        caller.held += 1;
        self.held += 1;
        Some((name, waiter.sender))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        {
            let mut state = lock(&self.state);
            state.held -= 1;
            if let Some(caller) = state.callers.get_mut(&self.caller) {
                caller.held -= 1;
                if caller.held == 0 && caller.waiting.is_empty() {
                    state.callers.remove(&self.caller);
                }
            }
        }
        hand_out(&self.state);
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
    async fn caller_at_its_share_does_not_delay_the_first_slot_of_another() {
        let slots = Slots::new(8).with_reserve();
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
        let slots = Slots::new(2);
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
        let slots = Slots::new(1).with_reserve();
        let held = slots.acquire("ann").await;
        let mut gone = acquire(&slots, "bob");
        assert!(take(&mut gone).await.is_none());
        let mut stays = acquire(&slots, "ann");
        assert!(take(&mut stays).await.is_none());
        drop(gone);
        drop(held);
        drop(take(&mut stays).await.unwrap());
        assert!(lock(&slots.state).callers.is_empty() && lock(&slots.state).held == 0);
    }

    #[tokio::test]
    async fn lower_limit_waits_while_as_many_are_held_through_others() {
        let slots = Slots::new(2);
        let narrow = slots.within(1);
        let held = slots.acquire("ann").await;
        let mut waits = acquire(&narrow, "bob");
        assert!(take(&mut waits).await.is_none());
        let second = slots.acquire("ann").await;
        drop(held);
        assert!(take(&mut waits).await.is_none(), "one is still held");
        drop(second);
        assert!(take(&mut waits).await.is_some());
    }
}

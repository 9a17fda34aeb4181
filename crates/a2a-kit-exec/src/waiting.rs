//! Commands that wait for an answer.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

/// The commands that wait for an answer. They hold no slot, but a process each, so
/// they are bounded by themselves, per caller and in all. Beyond a bound, the one that has waited
/// longest has to end: of the caller, or of the caller with the most.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// Maximum number of commands.
    max: usize,
    /// Maximum number of commands of one caller.
    max_per_caller: usize,
    /// How long each may wait.
    timeout: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// By number, oldest first.
    commands: BTreeMap<u64, WaitingCommand>,
    next: u64,
}

#[derive(Debug)]
struct WaitingCommand {
    caller: Arc<str>,
    /// Dropped to end the command; `None` if it has its answer.
    keep: Option<oneshot::Sender<()>>,
}

/// Removes a command from those that wait when dropped.
#[derive(Debug)]
pub(crate) struct WaitingGuard {
    waiting: Waiting,
    number: u64,
}

impl Waiting {
    /// With `has_callers`, each gets a quarter, at least one; a single caller gets all.
    pub(crate) fn new(max: u16, has_callers: bool, timeout: Duration) -> Self {
        let max = usize::from(max);
        let max_per_caller = if has_callers { (max / 4).max(1) } else { max };
        Self { max, max_per_caller, timeout, state: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a command. The future is ready when the command has to end.
    pub(crate) fn enter(&self, caller: &str) -> (WaitingGuard, impl Future<Output = ()> + use<>) {
        let (keep, kept) = oneshot::channel();
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.commands.insert(number, WaitingCommand { caller: caller.into(), keep: Some(keep) });
        let of_caller = |command: &WaitingCommand| &*command.caller == caller;
        while state.commands.values().filter(|command| of_caller(command)).count()
            > self.max_per_caller
            && state.evict(of_caller)
        {}
        while state.commands.len() > self.max && state.evict(|_| true) {}
        drop(state);
        let timeout = self.timeout;
        let expiry = async move {
            let _is_evicted = tokio::time::timeout(timeout, kept).await;
        };
        (WaitingGuard { waiting: self.clone(), number }, expiry)
    }
}

impl State {
    /// Ends the oldest command that has no answer yet, of the caller with the most; `false` if there
    /// is none.
    fn evict(&mut self, is_candidate: impl Fn(&WaitingCommand) -> bool) -> bool {
        let count = |caller: &str| {
            self.commands.values().filter(|command| &*command.caller == caller).count()
        };
        let oldest = self
            .commands
            .iter()
            .filter(|(_, command)| command.keep.is_some() && is_candidate(command))
            .min_by_key(|(number, command)| (std::cmp::Reverse(count(&command.caller)), **number))
            .map(|(number, _)| *number);
        oldest.is_some_and(|number| self.commands.remove(&number).is_some())
    }
}

impl WaitingGuard {
    /// The command has its answer: it stays counted until it has a slot again.
    pub(crate) fn answered(&self) {
        if let Some(command) = self.waiting.lock().commands.get_mut(&self.number) {
            command.keep = None;
        }
    }
}

impl Drop for WaitingGuard {
    fn drop(&mut self) {
        self.waiting.lock().commands.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn waiting(max: u16, has_callers: bool) -> Waiting {
        Waiting::new(max, has_callers, Duration::from_secs(30))
    }

    #[tokio::test]
    async fn caller_over_its_share_loses_its_oldest_command() {
        let waiting = waiting(8, true);
        let mut anns: Vec<_> = (0..3).map(|_| waiting.enter("ann")).collect();
        let bob = waiting.enter("bob");
        let ended: Vec<_> =
            anns.drain(..).map(|(_guard, end)| end.now_or_never().is_some()).collect();
        assert_eq!(ended, [true, false, false]);
        assert!(bob.1.now_or_never().is_none());
    }

    #[tokio::test]
    async fn at_the_limit_the_caller_with_the_most_loses_its_oldest_command() {
        let waiting = waiting(4, false);
        let bob = waiting.enter("bob");
        let anns = [waiting.enter("ann"), waiting.enter("ann"), waiting.enter("ann")];
        // It has its answer.
        anns[0].0.answered();
        let cat = waiting.enter("cat");
        let [(_first, _), (_second, second), (_third, third)] = anns;
        assert!(second.now_or_never().is_some());
        assert!(third.now_or_never().is_none());
        assert!(bob.1.now_or_never().is_none() && cat.1.now_or_never().is_none());
        drop((bob.0, cat.0, _first, _second, _third));
        assert!(waiting.lock().commands.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn command_beyond_the_limit_or_out_of_time_has_to_end() {
        let none = waiting(0, true);
        assert!(none.enter("ann").1.now_or_never().is_some());
        let (_guard, end) = waiting(1, true).enter("ann");
        let start = tokio::time::Instant::now();
        end.await;
        assert_eq!(start.elapsed().as_secs(), 30);
    }
}

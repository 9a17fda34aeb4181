//! A store whose answers come late, or are lost.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use a2a_kit_operations::{
    Store, intercept_store,
    store::{LeaseStore, PushStore, StoreError, TaskStore},
};
use tokio::sync::watch;

/// A store that reads and writes at once, and answers later.
#[derive(Debug)]
pub(super) struct LateStore {
    store: Arc<dyn Store>,
    /// Holds the answers of reads: what they return is from before.
    pub(super) reads: Hold,
    /// Holds the answers of writes: others see what was written already.
    pub(super) writes: Hold,
    /// The number of writes whose answer will be lost.
    pub(super) lost_writes: AtomicUsize,
}

/// Holds answers until they are released.
#[derive(Debug)]
pub(super) struct Hold(watch::Sender<Answers>);

#[derive(Debug, Default)]
struct Answers {
    is_closed: bool,
    /// The number of answers that were held so far.
    count: usize,
    /// The newest answer, if it was released before the others.
    released: Option<usize>,
}

impl Hold {
    fn open() -> Self {
        Self(watch::Sender::default())
    }

    /// Holds all answers from now on.
    pub(super) fn close(&self) {
        self.0.send_modify(|answers| *answers = Answers { is_closed: true, ..Answers::default() });
    }

    /// Lets all answers through.
    pub(super) fn release(&self) {
        self.0.send_modify(|answers| answers.is_closed = false);
    }

    /// Lets the newest answer through, and all later ones, before the others.
    pub(super) fn release_newest(&self) {
        self.0.send_modify(|answers| answers.released = Some(answers.count));
    }

    /// Waits until this many answers have been held.
    pub(super) async fn holds(&self, count: usize) {
        let _ = self.0.subscribe().wait_for(|answers| answers.count >= count).await;
    }

    async fn pass(&self) {
        let mut number = 0;
        self.0.send_modify(|answers| {
            answers.count += 1;
            number = answers.count;
        });
        let passes = |answers: &Answers| {
            !answers.is_closed || answers.released.is_some_and(|released| released <= number)
        };
        let _ = self.0.subscribe().wait_for(passes).await;
    }
}

impl LateStore {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let (reads, writes) = (Hold::open(), Hold::open());
        Self { store, reads, writes, lost_writes: AtomicUsize::new(0) }
    }

    async fn answer<T>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = call.await;
        match method {
            "get" | "load" => self.reads.pass().await,
            "insert" | "commit" | "post_command" => {
                self.writes.pass().await;
                let less = |count: usize| count.checked_sub(1);
                let lost = &self.lost_writes;
                if lost.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
                    return Err(StoreError::failed("the answer was lost"));
                }
            }
            _ => {}
        }
        answer
    }
}

impl TaskStore for LateStore {
    intercept_store!(answer, TaskStore: this => this.store);
}

impl LeaseStore for LateStore {
    intercept_store!(answer, LeaseStore: this => this.store);
}

impl PushStore for LateStore {
    intercept_store!(answer, PushStore: this => this.store);
}

//! Verifications in progress, each credential once at a time.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use a2a_kit_operations::Caller;
use tokio::sync::watch;

use super::{Attempt, Rejection, verification_queue::VerificationQueue};

type Verdict = Result<Caller, Rejection>;
type Sender = watch::Sender<Option<Verdict>>;
type Receiver = watch::Receiver<Option<Verdict>>;
type Pending = Mutex<HashMap<[u8; 32], Sender>>;

/// Verifications in progress by the digest of their credential, in the order of a queue.
///
/// Requests with the same credential share one verification. That of a credential which was verified
/// before continues when its requests end, as its verdict is cached; others end with them while they
/// wait.
pub(super) struct PendingVerifications {
    queue: VerificationQueue,
    pending: Arc<Pending>,
}

impl PendingVerifications {
    pub(super) fn new(max_running: usize, max_waiting: usize) -> Self {
        let queue = VerificationQueue::new(max_running, max_waiting);
        Self { queue, pending: Arc::default() }
    }

    /// Starts the verification of a credential, or joins the one in progress.
    pub(super) fn join<F>(
        &self,
        digest: [u8; 32],
        attempt: Attempt,
        verification: F,
    ) -> impl Future<Output = Verdict> + Send + use<F>
    where
        F: Future<Output = Verdict> + Send + 'static,
    {
        let (mut verdict, new) = self.verdict_of(digest);
        if let Some(sender) = new {
            let entry = Entry { pending: Arc::clone(&self.pending), digest };
            // Ends by itself: the queue and the verification have time limits. A runtime that shuts
            // down drops it here, and the entry with it, so the lock must not be held.
            tokio::spawn(run(self.queue.clone(), attempt, verification, sender, entry));
        }
        async move {
            let verdict = verdict.wait_for(Option::is_some).await;
            verdict.ok().and_then(|verdict| verdict.clone()).unwrap_or(Err(Rejection::Overloaded))
        }
    }

    /// The verdict to wait for, and its sender if the verification has yet to start.
    fn verdict_of(&self, digest: [u8; 32]) -> (Receiver, Option<Sender>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = pending.get(&digest) {
            return (sender.subscribe(), None);
        }
        let (sender, verdict) = watch::channel(None);
        pending.insert(digest, sender.clone());
        (verdict, Some(sender))
    }
}

async fn run(
    queue: VerificationQueue,
    attempt: Attempt,
    verification: impl Future<Output = Verdict>,
    sender: Sender,
    entry: Entry,
) {
    let abandoned = async {
        match attempt {
            Attempt::Request { was_verified: false, .. } => sender.closed().await,
            Attempt::Request { was_verified: true, .. } | Attempt::Stream => {
                std::future::pending::<()>().await;
            }
        }
    };
    let turn = tokio::select! {
        biased;
        turn = queue.enter(attempt) => turn,
        () = abandoned => return,
    };
    let verdict = match turn {
        Err(full) => Err(full),
        Ok(turn) => {
            let verdict = verification.await;
            if verdict.is_ok() {
                turn.verified();
            }
            verdict
        }
    };
    drop(entry);
    sender.send_replace(Some(verdict));
}

/// An entry of the map, which it removes when dropped.
struct Entry {
    pending: Arc<Pending>,
    digest: [u8; 32],
}

impl Drop for Entry {
    fn drop(&mut self) {
        // A panic can't leave the map half changed.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.digest);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use tokio::task::yield_now;

    use super::*;

    const UNKNOWN_CLIENT: Attempt = Attempt::Request { client: None, was_verified: false };

    #[tokio::test]
    async fn requests_with_the_same_credential_share_one_verification() {
        let verifications = PendingVerifications::new(1, 1);
        let asked = Arc::<AtomicUsize>::default();
        let verify = || {
            let asked = Arc::clone(&asked);
            verifications.join([0; 32], UNKNOWN_CLIENT, async move {
                asked.fetch_add(1, Ordering::SeqCst);
                yield_now().await;
                Ok(Caller::authenticated("ann"))
            })
        };
        let all: Vec<_> = (0..100).map(|_| verify()).collect();
        for one in all {
            assert_eq!(one.await.unwrap().subject(), Some("ann"));
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        verify().await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 2, "verdicts are cached elsewhere");
    }

    #[test]
    fn runtime_that_shuts_down_leaves_no_entry_and_no_lock() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let handle = runtime.handle().clone();
        drop(runtime);
        let (sender, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let _entered = handle.enter();
            let verifications = PendingVerifications::new(1, 1);
            drop(verifications.join([0; 32], UNKNOWN_CLIENT, pending()));
            sender.send(verifications.pending.lock().unwrap().len())
        });
        assert_eq!(ended.recv_timeout(std::time::Duration::from_secs(10)), Ok(0));
    }

    #[tokio::test]
    async fn abandoned_and_failed_verifications_leave_no_entry() {
        let verifications = PendingVerifications::new(1, 1);
        let running = verifications.join([0; 32], UNKNOWN_CLIENT, pending());
        yield_now().await;
        drop(verifications.join([1; 32], UNKNOWN_CLIENT, pending()));
        drop(verifications.join([2; 32], UNKNOWN_CLIENT, async { panic!("a test") }));
        let digests = || verifications.pending.lock().unwrap().keys().copied().collect::<Vec<_>>();
        while digests().len() > 1 {
            yield_now().await;
        }
        assert_eq!(digests(), [[0; 32]]);
        drop(running);
    }
}

//! Secrets that are kept until they end, and obtained once for all who wait for them.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use tokio::time::Instant;

use super::{CredentialError, Secret};

/// The most secrets that are kept. The one that was used least lately makes room.
pub(super) const CAPACITY: usize = 256;
/// How long after a renewal a further refusal stands: it is not the age of the secret.
const STANDS: Duration = Duration::from_secs(30);
/// How long after a failure a secret that is still good is not renewed again.
const PAUSE: Duration = Duration::from_secs(10);

/// Secrets by a key. Clones share them.
pub(super) struct Cache<K>(Arc<Mutex<Kept<K>>>);

struct Kept<K> {
    slots: HashMap<K, Slot>,
    /// Counts uses, so that the least recent is known.
    uses: u64,
}

#[derive(Default)]
struct Slot {
    secret: Option<Secret>,
    flight: Option<Flight>,
    used: u64,
    /// When it was renewed because it had been refused.
    renewed: Option<Instant>,
    failed: Option<Instant>,
}

enum Boarded {
    Here(Secret),
    Flight {
        flight: Obtained,
        /// What can be used if that fails.
        good: Option<Secret>,
        is_ours: bool,
    },
}

/// A secret that is being obtained, with the use that began it as its number.
#[derive(Clone)]
struct Flight {
    number: u64,
    secret: Obtained,
}

pub(super) type Obtaining = BoxFuture<'static, Result<Secret, CredentialError>>;
type Obtained = Shared<Obtaining>;

impl<K: Clone + Eq + Hash + Send + 'static> Cache<K> {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Kept { slots: HashMap::new(), uses: 0 })))
    }

    /// Returns the secret of a key, from `obtain` where there is none that is good. A secret that
    /// was refused is obtained again, once in a while.
    ///
    /// Nobody owns what is being obtained: whoever waits drives it, and where all go away it
    /// stands still until the next one comes. What had stood still may fail for that alone, so
    /// the failure of what others began is tried again once.
    pub(super) async fn get(
        &self,
        key: &K,
        is_refused: impl Fn(&Secret) -> bool,
        obtain: impl Fn(Option<Secret>) -> Obtaining,
    ) -> Result<Secret, CredentialError> {
        let mut is_again = false;
        loop {
            let (flight, good, is_ours) = match self.board(key, &is_refused, &obtain) {
                Boarded::Here(secret) => return Ok(secret),
                Boarded::Flight { flight, good, is_ours } => (flight, good, is_ours),
            };
            match (flight.await, good) {
                (Ok(secret), _) => return Ok(secret),
                (Err(error), Some(good)) => {
                    tracing::warn!(%error, "a secret that ends soon could not be renewed");
                    return Ok(good);
                }
                (Err(_), None) if !is_ours && !is_again => is_again = true,
                (Err(error), None) => return Err(error),
            }
        }
    }

    /// Finds the secret, or what obtains it.
    fn board(
        &self,
        key: &K,
        is_refused: &impl Fn(&Secret) -> bool,
        obtain: &impl Fn(Option<Secret>) -> Obtaining,
    ) -> Boarded {
        let mut kept = lock(&self.0);
        let (number, evicted) = kept.take_use(key);
        let slot = kept.slots.entry(key.clone()).or_default();
        slot.used = number;
        let good = slot.secret.clone().filter(|one| !one.is_expired() && !is_refused(one));
        if let Some(secret) = good.as_ref().filter(|secret| !slot.is_to_be_renewed(secret)) {
            return Boarded::Here(secret.clone());
        }
        if good.is_none()
            && let Some(secret) = slot.secret.as_ref().filter(|one| !one.is_expired())
            && slot.flight.is_none()
        {
            // It was refused.
            if within(slot.renewed, STANDS) {
                return Boarded::Here(secret.clone());
            }
            slot.renewed = Some(Instant::now());
        }
        let is_ours = slot.flight.is_none();
        let previous = slot.secret.clone();
        let flight =
            slot.flight.get_or_insert_with(|| self.flight(key.clone(), number, obtain(previous)));
        let boarded = Boarded::Flight { flight: flight.secret.clone(), good, is_ours };
        drop(kept);
        // What it holds is somebody else's code, and not for under a lock.
        drop(evicted);
        boarded
    }

    fn flight(&self, key: K, number: u64, obtaining: Obtaining) -> Flight {
        let kept = Arc::downgrade(&self.0);
        let secret = async move {
            let result =
                AssertUnwindSafe(obtaining).catch_unwind().await.unwrap_or_else(|_panic| {
                    Err(CredentialError::source_failed("the source of the secret panicked"))
                });
            land(&kept, &key, number, &result);
            result
        };
        Flight { number, secret: secret.boxed().shared() }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        lock(&self.0).slots.len()
    }
}

/// Keeps what came, unless another flight has taken the place.
fn land<K: Eq + Hash>(
    kept: &Weak<Mutex<Kept<K>>>,
    key: &K,
    number: u64,
    result: &Result<Secret, CredentialError>,
) {
    let Some(kept) = kept.upgrade() else { return };
    let mut kept = lock(&kept);
    let Some(slot) = kept.slots.get_mut(key) else { return };
    if slot.flight.as_ref().is_none_or(|flight| flight.number != number) {
        return;
    }
    slot.flight = None;
    match result {
        Ok(secret) => {
            slot.secret = Some(secret.clone());
            slot.failed = None;
        }
        Err(_) => slot.failed = Some(Instant::now()),
    }
}

impl<K: Clone + Eq + Hash> Kept<K> {
    /// Counts a use, and makes room for a key that is not here.
    fn take_use(&mut self, key: &K) -> (u64, Option<Slot>) {
        self.uses += 1;
        if self.slots.contains_key(key) || self.slots.len() < CAPACITY {
            return (self.uses, None);
        }
        let oldest = self.slots.iter().min_by_key(|(_, slot)| (slot.flight.is_some(), slot.used));
        let oldest = oldest.map(|(key, _)| key.clone());
        (self.uses, oldest.and_then(|key| self.slots.remove(&key)))
    }
}

impl Slot {
    /// Returns whether a secret that is still good is to be renewed, by whoever asks.
    fn is_to_be_renewed(&self, secret: &Secret) -> bool {
        secret.is_due() && self.flight.is_none() && !within(self.failed, PAUSE)
    }
}

fn within(time: Option<Instant>, span: Duration) -> bool {
    time.is_some_and(|time| time.elapsed() < span)
}

fn lock<K>(kept: &Mutex<Kept<K>>) -> MutexGuard<'_, Kept<K>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for Cache<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cache(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::{sync::Semaphore, time::advance};

    use super::*;

    /// Issues `1`, `2`, `3`…, each good for a time, when it is let.
    #[derive(Clone)]
    struct Issuer {
        issued: Arc<AtomicUsize>,
        gate: Arc<Semaphore>,
        seconds: u64,
    }

    impl Issuer {
        fn new(permits: usize, seconds: u64) -> Self {
            let gate = Arc::new(Semaphore::new(permits));
            Self { issued: Arc::default(), gate, seconds }
        }

        fn obtain(&self) -> Obtaining {
            let issuer = self.clone();
            async move {
                issuer.gate.acquire().await.unwrap().forget();
                let number = issuer.issued.fetch_add(1, Ordering::Relaxed) + 1;
                Ok(Secret::new(number.to_string()).valid_for(Duration::from_secs(issuer.seconds)))
            }
            .boxed()
        }

        fn issued(&self) -> usize {
            self.issued.load(Ordering::Relaxed)
        }
    }

    async fn get(cache: &Cache<u32>, issuer: &Issuer) -> String {
        let secret = cache.get(&1, |_| false, |_| issuer.obtain()).await;
        secret.unwrap().expose().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_is_obtained_once_for_all_and_goes_on_when_the_first_one_leaves() {
        let (cache, issuer) = (Cache::new(), Issuer::new(0, 600));
        let mut first = Box::pin(get(&cache, &issuer));
        assert!(futures_util::poll!(&mut first).is_pending());
        let others: Vec<_> = (0..20).map(|_| get(&cache, &issuer)).collect();
        drop(first);
        issuer.gate.add_permits(100);
        assert!(futures_util::future::join_all(others).await.iter().all(|secret| secret == "1"));
        assert_eq!(issuer.issued(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_is_renewed_ahead_by_one_while_others_use_it() {
        let (cache, issuer) = (Cache::new(), Issuer::new(1, 600));
        assert_eq!(get(&cache, &issuer).await, "1");
        advance(Duration::from_secs(545)).await;
        let mut one = Box::pin(get(&cache, &issuer));
        assert!(futures_util::poll!(&mut one).is_pending());
        assert_eq!(get(&cache, &issuer).await, "1", "it is good until the new one is there");
        issuer.gate.add_permits(1);
        assert_eq!(one.await, "2");
        assert_eq!(get(&cache, &issuer).await, "2");
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_that_can_not_be_renewed_is_used_to_its_end() {
        let (cache, issuer) = (Cache::new(), Issuer::new(1, 600));
        assert_eq!(get(&cache, &issuer).await, "1");
        let tries = Arc::new(AtomicUsize::new(0));
        let fail = || {
            let tries = Arc::clone(&tries);
            move |_| -> Obtaining {
                tries.fetch_add(1, Ordering::Relaxed);
                async { Err(CredentialError::denied("down")) }.boxed()
            }
        };
        advance(Duration::from_secs(545)).await;
        for _ in 0..10 {
            assert_eq!(cache.get(&1, |_| false, fail()).await.unwrap().expose(), "1");
        }
        assert_eq!(tries.load(Ordering::Relaxed), 1, "a failure is not tried again at once");
        advance(Duration::from_secs(60)).await;
        cache.get(&1, |_| false, fail()).await.unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_secret_is_obtained_again_and_the_next_refusal_stands() {
        let (cache, issuer) = (Cache::new(), Issuer::new(100, 600));
        let refused = async |value: &str| {
            let secret = cache.get(&1, |one| one.expose() == value, |_| issuer.obtain()).await;
            secret.unwrap().expose().to_owned()
        };
        assert_eq!(get(&cache, &issuer).await, "1");
        assert_eq!(refused("1").await, "2");
        assert_eq!(refused("1").await, "2", "it was renewed for somebody else already");
        assert_eq!(refused("2").await, "2");
        advance(STANDS).await;
        assert_eq!(refused("2").await, "3");
    }

    #[tokio::test(start_paused = true)]
    async fn what_stood_still_and_failed_is_tried_again() {
        let (cache, issuer) = (Cache::new(), Issuer::new(1, 600));
        let late = |_| -> Obtaining {
            async {
                tokio::time::sleep(Duration::from_secs(10)).await;
                Err(CredentialError::unavailable("no answer in time"))
            }
            .boxed()
        };
        let mut first = Box::pin(cache.get(&1, |_| false, late));
        assert!(futures_util::poll!(&mut first).is_pending());
        drop(first);
        advance(Duration::from_secs(3600)).await;
        assert_eq!(get(&cache, &issuer).await, "1");
        cache.get(&2, |_| false, late).await.unwrap_err();
    }

    #[tokio::test]
    async fn what_panics_is_an_error_and_can_be_tried_again() {
        let (cache, issuer) = (Cache::new(), Issuer::new(1, 600));
        let panics = |_| -> Obtaining { async { panic!("in the source") }.boxed() };
        let error = cache.get(&1, |_| false, panics).await.unwrap_err();
        assert!(matches!(error, CredentialError::Source(_)), "{error}");
        assert_eq!(get(&cache, &issuer).await, "1");
    }

    #[tokio::test]
    async fn no_more_is_kept_than_fits_and_the_least_used_goes() {
        let (cache, issuer) = (Cache::new(), Issuer::new(10_000, 600));
        for key in 0..u32::try_from(CAPACITY).unwrap() * 3 {
            cache.get(&1, |_| false, |_| issuer.obtain()).await.unwrap();
            cache.get(&key, |_| false, |_| issuer.obtain()).await.unwrap();
            assert!(cache.len() <= CAPACITY);
        }
        let before = issuer.issued();
        get(&cache, &issuer).await;
        assert_eq!(issuer.issued(), before, "what is used is kept");
    }
}

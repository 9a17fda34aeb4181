//! A cache of secrets, which are obtained once for all waiting requests.

use std::{
    collections::HashMap,
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

/// Maximum number of cached secrets. The least recently used one is evicted.
pub(super) const CAPACITY: usize = 256;
/// After a rejected secret was renewed, further rejections within this time are final: the age of
/// the secret can't be the cause.
const REJECTION_INTERVAL: Duration = Duration::from_secs(30);
/// Time between attempts to renew a secret that is still valid.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// A cache of secrets by key. Clones share it.
pub(super) struct SecretCache<K>(Arc<Mutex<Entries<K>>>);

struct Entries<K> {
    by_key: HashMap<K, Entry>,
    /// Counts uses, to find the least recently used entry.
    uses: u64,
}

#[derive(Default)]
struct Entry {
    secret: Option<Secret>,
    in_flight: Option<InFlight>,
    used: u64,
    /// When it was last renewed because of a rejection.
    renewed: Option<Instant>,
    failed: Option<Instant>,
}

enum Lookup {
    Hit(Secret),
    InFlight {
        in_flight: Obtained,
        /// The fallback if it fails.
        usable: Option<Secret>,
        /// Whether this lookup started it.
        is_ours: bool,
    },
}

/// A secret that is being obtained, numbered by the use that started it.
#[derive(Clone)]
struct InFlight {
    number: u64,
    secret: Obtained,
}

pub(super) type Obtaining = BoxFuture<'static, Result<Secret, CredentialError>>;
type Obtained = Shared<Obtaining>;

impl<K: Clone + Eq + Hash + Send + 'static> SecretCache<K> {
    /// Returns the secret of a key, from `obtain` if none is cached. A rejected secret is renewed,
    /// at most once per interval.
    ///
    /// The future that obtains a secret is polled by all waiting requests, and suspended while
    /// there are none. As it may fail because it was suspended, a failure of a future that another
    /// request started is retried once.
    pub(super) async fn get(
        &self,
        key: &K,
        is_rejected: impl Fn(&Secret) -> bool,
        obtain: impl Fn(Option<Secret>) -> Obtaining,
    ) -> Result<Secret, CredentialError> {
        let mut is_retry = false;
        loop {
            let (in_flight, usable, is_ours) = match self.look_up(key, &is_rejected, &obtain) {
                Lookup::Hit(secret) => return Ok(secret),
                Lookup::InFlight { in_flight, usable, is_ours } => (in_flight, usable, is_ours),
            };
            match (in_flight.await, usable) {
                (Ok(secret), _) => return Ok(secret),
                (Err(error), Some(usable)) => {
                    tracing::warn!(%error, "secret renewal failed, using the current one");
                    return Ok(usable);
                }
                (Err(_), None) if !is_ours && !is_retry => is_retry = true,
                (Err(error), None) => return Err(error),
            }
        }
    }

    /// Returns the cached secret, or the future that obtains one.
    fn look_up(
        &self,
        key: &K,
        is_rejected: &impl Fn(&Secret) -> bool,
        obtain: &impl Fn(Option<Secret>) -> Obtaining,
    ) -> Lookup {
        let mut entries = lock(&self.0);
        let (number, evicted) = entries.record_use(key);
        let entry = entries.by_key.entry(key.clone()).or_default();
        entry.used = number;
        let usable = entry.secret.clone().filter(|one| !one.is_expired() && !is_rejected(one));
        if let Some(secret) = usable.as_ref().filter(|secret| !entry.needs_renewal(secret)) {
            return Lookup::Hit(secret.clone());
        }
        if usable.is_none()
            && let Some(secret) = entry.secret.as_ref().filter(|one| !one.is_expired())
            && entry.in_flight.is_none()
        {
            // The secret was rejected.
            if within(entry.renewed, REJECTION_INTERVAL) {
                return Lookup::Hit(secret.clone());
            }
            entry.renewed = Some(Instant::now());
        }
        let is_ours = entry.in_flight.is_none();
        let previous = entry.secret.clone();
        let in_flight = entry
            .in_flight
            .get_or_insert_with(|| self.in_flight(key.clone(), number, obtain(previous)));
        let lookup = Lookup::InFlight { in_flight: in_flight.secret.clone(), usable, is_ours };
        drop(entries);
        // Dropping it may run code of a source, which must not happen under the lock.
        drop(evicted);
        lookup
    }

    fn in_flight(&self, key: K, number: u64, obtaining: Obtaining) -> InFlight {
        let entries = Arc::downgrade(&self.0);
        let secret = async move {
            let result =
                AssertUnwindSafe(obtaining).catch_unwind().await.unwrap_or_else(|_panic| {
                    Err(CredentialError::source_failed("credential source panicked"))
                });
            store(&entries, &key, number, &result);
            result
        };
        InFlight { number, secret: secret.boxed().shared() }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        lock(&self.0).by_key.len()
    }
}

/// Stores the result, unless another future has replaced this one.
fn store<K: Eq + Hash>(
    entries: &Weak<Mutex<Entries<K>>>,
    key: &K,
    number: u64,
    result: &Result<Secret, CredentialError>,
) {
    let Some(entries) = entries.upgrade() else { return };
    let mut entries = lock(&entries);
    let Some(entry) = entries.by_key.get_mut(key) else { return };
    if entry.in_flight.as_ref().is_none_or(|in_flight| in_flight.number != number) {
        return;
    }
    entry.in_flight = None;
    match result {
        Ok(secret) => {
            entry.secret = Some(secret.clone());
            entry.failed = None;
        }
        Err(_) => entry.failed = Some(Instant::now()),
    }
}

impl<K: Clone + Eq + Hash> Entries<K> {
    /// Counts a use, and evicts an entry if a new key would exceed the capacity.
    fn record_use(&mut self, key: &K) -> (u64, Option<Entry>) {
        self.uses += 1;
        if self.by_key.contains_key(key) || self.by_key.len() < CAPACITY {
            return (self.uses, None);
        }
        let oldest =
            self.by_key.iter().min_by_key(|(_, entry)| (entry.in_flight.is_some(), entry.used));
        let oldest = oldest.map(|(key, _)| key.clone());
        (self.uses, oldest.and_then(|key| self.by_key.remove(&key)))
    }
}

impl Entry {
    /// Returns whether this request should renew a secret that is still valid.
    fn needs_renewal(&self, secret: &Secret) -> bool {
        secret.is_due() && self.in_flight.is_none() && !within(self.failed, RETRY_INTERVAL)
    }
}

fn within(time: Option<Instant>, span: Duration) -> bool {
    time.is_some_and(|time| time.elapsed() < span)
}

fn lock<K>(entries: &Mutex<Entries<K>>) -> MutexGuard<'_, Entries<K>> {
    entries.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K> Default for SecretCache<K> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Entries { by_key: HashMap::new(), uses: 0 })))
    }
}

impl<K> Clone for SecretCache<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

a2a_core::debug_fields!(SecretCache<K>(..));

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::{sync::Semaphore, time::advance};

    use super::*;

    /// Issues `1`, `2`, `3`…, each valid for some time, when the gate permits.
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

    async fn get(cache: &SecretCache<u32>, issuer: &Issuer) -> String {
        let secret = cache.get(&1, |_| false, |_| issuer.obtain()).await;
        secret.unwrap().expose().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_requests_share_one_fetch_that_survives_cancellation() {
        let (cache, issuer) = (SecretCache::default(), Issuer::new(0, 600));
        let mut first = Box::pin(get(&cache, &issuer));
        assert!(futures_util::poll!(&mut first).is_pending());
        let others: Vec<_> = (0..20).map(|_| get(&cache, &issuer)).collect();
        drop(first);
        issuer.gate.add_permits(100);
        assert!(futures_util::future::join_all(others).await.iter().all(|secret| secret == "1"));
        assert_eq!(issuer.issued(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn one_request_renews_ahead_while_others_use_the_current_secret() {
        let (cache, issuer) = (SecretCache::default(), Issuer::new(1, 600));
        assert_eq!(get(&cache, &issuer).await, "1");
        advance(Duration::from_secs(545)).await;
        let mut one = Box::pin(get(&cache, &issuer));
        assert!(futures_util::poll!(&mut one).is_pending());
        assert_eq!(get(&cache, &issuer).await, "1", "valid until it is replaced");
        issuer.gate.add_permits(1);
        assert_eq!(one.await, "2");
        assert_eq!(get(&cache, &issuer).await, "2");
    }

    #[tokio::test(start_paused = true)]
    async fn secret_that_cannot_be_renewed_is_used_until_it_expires() {
        let (cache, issuer) = (SecretCache::default(), Issuer::new(1, 600));
        assert_eq!(get(&cache, &issuer).await, "1");
        let attempts = Arc::new(AtomicUsize::new(0));
        let fail = || {
            let attempts = Arc::clone(&attempts);
            move |_| -> Obtaining {
                attempts.fetch_add(1, Ordering::Relaxed);
                async { Err(CredentialError::denied("down")) }.boxed()
            }
        };
        advance(Duration::from_secs(545)).await;
        for _ in 0..10 {
            assert_eq!(cache.get(&1, |_| false, fail()).await.unwrap().expose(), "1");
        }
        assert_eq!(attempts.load(Ordering::Relaxed), 1, "not retried immediately");
        advance(Duration::from_secs(60)).await;
        cache.get(&1, |_| false, fail()).await.unwrap_err();
    }

    #[tokio::test(start_paused = true)]
    async fn rejected_secret_is_renewed_once_per_interval() {
        let (cache, issuer) = (SecretCache::default(), Issuer::new(100, 600));
        let rejected = async |value: &str| {
            let secret = cache.get(&1, |one| one.expose() == value, |_| issuer.obtain()).await;
            secret.unwrap().expose().to_owned()
        };
        assert_eq!(get(&cache, &issuer).await, "1");
        assert_eq!(rejected("1").await, "2");
        assert_eq!(rejected("1").await, "2", "already renewed for another request");
        assert_eq!(rejected("2").await, "2");
        advance(REJECTION_INTERVAL).await;
        assert_eq!(rejected("2").await, "3");
    }

    #[tokio::test(start_paused = true)]
    async fn failure_of_a_suspended_fetch_is_retried() {
        let (cache, issuer) = (SecretCache::default(), Issuer::new(1, 600));
        let late = |_| -> Obtaining {
            async {
                tokio::time::sleep(Duration::from_secs(10)).await;
                Err(CredentialError::unavailable("timed out"))
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
    async fn panicking_source_is_an_error_and_can_be_retried() {
        let (cache, issuer) = (SecretCache::default(), Issuer::new(1, 600));
        let panics = |_| -> Obtaining { async { panic!("in the source") }.boxed() };
        let error = cache.get(&1, |_| false, panics).await.unwrap_err();
        assert!(matches!(error, CredentialError::Source(_)), "{error}");
        assert_eq!(get(&cache, &issuer).await, "1");
    }

    #[tokio::test]
    async fn cache_evicts_the_least_recently_used_secret() {
        let (cache, issuer) = (SecretCache::default(), Issuer::new(10_000, 600));
        for key in 0..u32::try_from(CAPACITY).unwrap() * 3 {
            cache.get(&1, |_| false, |_| issuer.obtain()).await.unwrap();
            cache.get(&key, |_| false, |_| issuer.obtain()).await.unwrap();
            assert!(cache.len() <= CAPACITY);
        }
        let before = issuer.issued();
        get(&cache, &issuer).await;
        assert_eq!(issuer.issued(), before, "what is used is entries");
    }
}

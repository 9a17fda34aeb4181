use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use a2a_kit_http::{client::HttpClient, tls::ClientTls};
use async_trait::async_trait;
use bytes::Bytes;
use derive_setters::Setters;
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::{Instant, timeout},
};

use super::{Algorithm, Jwk, JwkSet, KeySource, MissingKey};
use crate::fetch;

/// Published keys, which are fetched on first use and cached for 10 min. An unknown key id causes
/// an earlier fetch, so that keys can be rotated at any time.
///
/// Known keys are returned without waiting for such a fetch, and keys older than 10 min after at most
/// 100 ms of it. Unknown ids cause at most one fetch
/// every 5 s ([`with_unknown_key_interval`](Self::with_unknown_key_interval)), and the same unknown
/// id at most one every 30 s ([`with_retry_interval`](Self::with_retry_interval)): forged ids delay
/// a rotation by at most 5 s.
///
/// If a fetch fails, the cached keys are used for up to a day.
#[derive(Setters)]
#[setters(prefix = "with_", generate = false)]
pub struct RemoteKeys {
    fetch: Fetch,
    /// Sets the minimum interval between fetches after a failed one, and for the same unknown key
    /// id. Default: 30 s.
    #[setters(generate)]
    retry_interval: Duration,
    /// Sets the minimum interval between fetches for unknown key ids. Default: 5 s.
    #[setters(generate)]
    unknown_key_interval: Duration,
    cached: Arc<RwLock<CachedKeys>>,
    /// Held during a fetch, so that others wait for its result.
    fetch_log: Arc<Mutex<FetchLog>>,
}

type Fetch = Arc<dyn Fn() -> Fetching + Send + Sync>;
type FetchError = Box<dyn std::error::Error + Send + Sync>;
type Fetching = Pin<Box<dyn Future<Output = Result<Bytes, FetchError>> + Send>>;

#[derive(Default)]
struct CachedKeys {
    keys: JwkSet,
    /// When the fetch started.
    fetched: Option<Instant>,
}

/// When keys were fetched, successfully or not.
#[derive(Default)]
struct FetchLog {
    /// Because the cached keys were stale.
    refreshed: Option<Instant>,
    /// Because of an unknown id.
    missed: Option<Instant>,
    /// Ids that were unknown after a fetch.
    unknown: HashMap<String, Instant>,
}

/// Age at which cached keys are refreshed.
const MAX_AGE: Duration = Duration::from_secs(600);
/// Age up to which cached keys are used if the refresh fails.
const MAX_STALE_AGE: Duration = Duration::from_secs(24 * 3600);
/// Minimum interval between fetches after a failed one, and for the same unknown id.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// Minimum interval between fetches for unknown ids.
const UNKNOWN_KEY_INTERVAL: Duration = Duration::from_secs(5);
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the refresh of cached keys is awaited before they are used.
const REFRESH_WAIT: Duration = Duration::from_millis(100);
/// Maximum number of tracked unknown ids, and their maximum length in bytes.
const MAX_UNKNOWN: usize = 1_000;
const MAX_ID_BYTES: usize = 1 << 10;

impl RemoteKeys {
    /// Keys at a URL, such as `https://agent.example/.well-known/jwks.json`. The URL has to come
    /// from a trusted source, never from a token.
    ///
    /// # Errors
    ///
    /// Fails if the TLS configuration is invalid.
    pub fn at(url: impl Into<String>) -> Result<Self, fetch::SetupError> {
        Self::at_with_tls(url, ClientTls::new())
    }

    /// Like [`at`](Self::at), with trust anchors other than the platform's or with a client
    /// certificate.
    ///
    /// # Errors
    ///
    /// Fails if the TLS configuration is invalid.
    pub fn at_with_tls(url: impl Into<String>, tls: ClientTls) -> Result<Self, fetch::SetupError> {
        Ok(Self::fetched_by(fetch::client(tls)?, url.into().into()))
    }

    /// Keys at a URL, which a client fetches.
    pub(crate) fn fetched_by(client: HttpClient, url: Arc<str>) -> Self {
        Self::with(move || fetch::document(client.clone(), Arc::clone(&url)))
    }

    /// Keys that a function fetches, as the JSON of a JWK set. It runs in a separate task, with a
    /// timeout of 30 s.
    pub fn with<F>(fetch: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Bytes, FetchError>> + Send + 'static,
    {
        Self {
            fetch: Arc::new(move || Box::pin(fetch())),
            retry_interval: RETRY_INTERVAL,
            unknown_key_interval: UNKNOWN_KEY_INTERVAL,
            cached: Arc::default(),
            fetch_log: Arc::default(),
        }
    }

    /// Looks up keys, and fetches them first if they are stale or the id is unknown.
    async fn find<T>(
        &self,
        id: Option<&str>,
        find: impl Fn(&JwkSet) -> Option<T>,
    ) -> Result<T, MissingKey> {
        if let (Some(found), true) = self.look_up(MAX_AGE, &find) {
            return Ok(found);
        }
        let (Some(stale), true) = self.look_up(MAX_STALE_AGE, &find) else {
            return self.find_after_fetch(id, &find).await;
        };
        let refreshed = timeout(REFRESH_WAIT, self.find_after_fetch(id, &find)).await;
        refreshed.unwrap_or(Ok(stale))
    }

    async fn find_after_fetch<T>(
        &self,
        id: Option<&str>,
        find: &impl Fn(&JwkSet) -> Option<T>,
    ) -> Result<T, MissingKey> {
        let fetch_log = Arc::clone(&self.fetch_log).lock_owned().await;
        // Another caller may have fetched them meanwhile.
        let may_fetch = match (self.look_up(MAX_AGE, find), id) {
            ((Some(found), true), _) => return Ok(found),
            ((None, true), None) => return Err(MissingKey::Unknown),
            ((None, true), Some(id)) => {
                if id.len() > MAX_ID_BYTES || fetch_log.has_missed(id, self.retry_interval) {
                    return Err(MissingKey::Unknown);
                }
                has_elapsed(fetch_log.missed, self.unknown_key_interval)
            }
            ((_, false), _) => has_elapsed(fetch_log.refreshed, self.retry_interval),
        };
        let failure = match may_fetch {
            true => match self.refresh(fetch_log, id).await {
                Ok(()) => return self.look_up(MAX_AGE, find).0.ok_or(MissingKey::Unknown),
                Err(error) => Some(error),
            },
            false => None,
        };
        match self.look_up(MAX_STALE_AGE, find) {
            (Some(found), true) => {
                tracing::warn!(error = ?failure, "JWKS fetch failed, using cached keys");
                Ok(found)
            }
            // Not `Unknown`: the key may have been published since the last fetch.
            _ => Err(MissingKey::Unavailable(failure)),
        }
    }

    /// Looks up cached keys, and returns whether they are younger than `age`.
    fn look_up<T>(&self, age: Duration, find: impl Fn(&JwkSet) -> Option<T>) -> (Option<T>, bool) {
        let cached = self.cached.read().unwrap_or_else(PoisonError::into_inner);
        (find(&cached.keys), cached.is_within(age))
    }

    /// Fetches the keys in a separate task, which survives cancellation of the caller.
    async fn refresh(
        &self,
        mut fetch_log: OwnedMutexGuard<FetchLog>,
        id: Option<&str>,
    ) -> Result<(), FetchError> {
        let (fetch, cached) = (Arc::clone(&self.fetch), Arc::clone(&self.cached));
        let interval = self.retry_interval;
        let id = id.map(str::to_owned);
        let fetching = tokio::spawn(async move {
            let started = Instant::now();
            let was_fresh = {
                let cached = cached.read().unwrap_or_else(PoisonError::into_inner);
                cached.is_within(MAX_AGE)
            };
            let fetched = read(fetch()).await;
            let now = Instant::now();
            if was_fresh {
                fetch_log.missed = Some(now);
            } else {
                fetch_log.refreshed = Some(now);
            }
            let keys = fetched?;
            if let Some(id) = id
                && keys.find(&id).is_none()
            {
                fetch_log.record_missed(id, now, interval);
            }
            // A panic can't leave it half changed.
            let mut cached = cached.write().unwrap_or_else(PoisonError::into_inner);
            *cached = CachedKeys { keys, fetched: Some(started) };
            Ok(())
        });
        fetching.await?
    }
}

async fn read(fetching: Fetching) -> Result<JwkSet, FetchError> {
    let document = timeout(FETCH_TIMEOUT, fetching).await??;
    Ok(serde_json::from_slice(&document)?)
}

fn has_elapsed(last: Option<Instant>, interval: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= interval)
}

impl CachedKeys {
    fn is_within(&self, age: Duration) -> bool {
        self.fetched.is_some_and(|fetched| fetched.elapsed() < age)
    }
}

impl FetchLog {
    fn has_missed(&self, id: &str, interval: Duration) -> bool {
        self.unknown.get(id).is_some_and(|missed| missed.elapsed() < interval)
    }

    fn record_missed(&mut self, id: String, now: Instant, interval: Duration) {
        self.unknown.retain(|_, missed| now.duration_since(*missed) < interval);
        if self.unknown.len() < MAX_UNKNOWN && id.len() <= MAX_ID_BYTES {
            self.unknown.insert(id, now);
        }
    }
}

#[async_trait]
impl KeySource for RemoteKeys {
    async fn key(&self, id: &str) -> Result<Jwk, MissingKey> {
        self.find(Some(id), |keys| keys.find(id).cloned()).await
    }

    async fn keys_for(&self, algorithm: Algorithm) -> Result<Vec<Jwk>, MissingKey> {
        let found = |keys: &JwkSet| {
            let keys: Vec<_> = keys.supporting(algorithm).cloned().collect();
            (!keys.is_empty()).then_some(keys)
        };
        self.find(None, found).await
    }

    fn has(&self, key: &Jwk) -> Option<bool> {
        let (found, is_fresh) = self.look_up(MAX_AGE, |keys| keys.has(key));
        found.filter(|_| is_fresh)
    }
}

a2a_core::debug_fields!(RemoteKeys(..));

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex as StdMutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    };

    use tokio::time::advance;

    use super::*;
    use crate::jose::{Algorithm, SigningKey};

    #[derive(Default)]
    struct Publisher {
        keys: StdMutex<Option<JwkSet>>,
        fetches: AtomicUsize,
    }

    impl Publisher {
        fn publish(&self, keys: &[&SigningKey]) {
            let keys = keys.iter().map(|key| key.public().clone()).collect();
            *self.keys.lock().unwrap() = Some(keys);
        }

        fn fetches(&self) -> usize {
            self.fetches.load(Ordering::Relaxed)
        }
    }

    fn remote(publisher: &Arc<Publisher>) -> RemoteKeys {
        let publisher = Arc::clone(publisher);
        RemoteKeys::with(move || {
            publisher.fetches.fetch_add(1, Ordering::Relaxed);
            let keys = publisher.keys.lock().unwrap().as_ref().map(JwkSet::json);
            async move { keys.ok_or_else(|| "down".into()) }
        })
    }

    fn key() -> SigningKey {
        SigningKey::generate(Algorithm::EdDsa).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn old_keys_are_used_while_the_issuer_does_not_answer() {
        let (one, is_silent) = (key(), Arc::<AtomicBool>::default());
        let (jwks, silent) = (one.public().clone(), Arc::clone(&is_silent));
        let remote = RemoteKeys::with(move || {
            let keys: JwkSet = [jwks.clone()].into_iter().collect();
            let is_silent = silent.load(Ordering::Relaxed);
            async move { if is_silent { std::future::pending().await } else { Ok(keys.json()) } }
        });
        remote.key(one.public().id()).await.unwrap();
        is_silent.store(true, Ordering::Relaxed);
        advance(MAX_AGE).await;
        let started = Instant::now();
        for _ in 0..3 {
            assert_eq!(&remote.key(one.public().id()).await.unwrap(), one.public());
        }
        assert!(started.elapsed() <= 3 * REFRESH_WAIT, "{:?}", started.elapsed());
        advance(MAX_STALE_AGE).await;
        let missing = remote.key(one.public().id()).await;
        assert!(matches!(missing, Err(MissingKey::Unavailable(_))));
    }

    //
    #[tokio::test(start_paused = true)]
    async fn keys_are_cached_and_a_new_key_is_found_immediately() {
        let (publisher, one, two) = (Arc::<Publisher>::default(), key(), key());
        let remote = remote(&publisher);
        publisher.publish(&[&one]);
        for _ in 0..3 {
            assert_eq!(&remote.key(one.public().id()).await.unwrap(), one.public());
        }
        assert_eq!(publisher.fetches(), 1);
        advance(RETRY_INTERVAL).await;
        publisher.publish(&[&two, &one]);
        assert_eq!(&remote.key(two.public().id()).await.unwrap(), two.public());
        assert_eq!(publisher.fetches(), 2);
        advance(MAX_AGE).await;
        publisher.publish(&[&two]);
        assert!(matches!(remote.key(one.public().id()).await, Err(MissingKey::Unknown)));
    }

    #[tokio::test(start_paused = true)]
    async fn unknown_ids_cause_one_fetch_per_interval() {
        let (publisher, one) = (Arc::<Publisher>::default(), key());
        let remote = remote(&publisher);
        publisher.publish(&[&one]);
        assert!(matches!(remote.key("x").await, Err(MissingKey::Unknown)));
        assert!(matches!(remote.key("0").await, Err(MissingKey::Unknown)));
        for number in 1..100 {
            let missing = remote.key(&number.to_string()).await;
            assert!(matches!(missing, Err(MissingKey::Unavailable(None))));
        }
        assert_eq!(publisher.fetches(), 2);
        remote.key(one.public().id()).await.unwrap();
        // Neither a repeated unknown id nor one that is too long causes a fetch.
        let long = "x".repeat(MAX_ID_BYTES + 1);
        for _ in 0..4 {
            advance(UNKNOWN_KEY_INTERVAL).await;
            assert!(matches!(remote.key("x").await, Err(MissingKey::Unknown)));
            assert!(matches!(remote.key(&long).await, Err(MissingKey::Unknown)));
        }
        assert_eq!(publisher.fetches(), 2);
        advance(RETRY_INTERVAL).await;
        assert!(matches!(remote.key("x").await, Err(MissingKey::Unknown)));
        assert_eq!(publisher.fetches(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn rotation_is_found_within_the_interval_despite_unknown_ids() {
        let (publisher, one, two) = (Arc::<Publisher>::default(), key(), key());
        let remote = remote(&publisher);
        publisher.publish(&[&one]);
        remote.key(one.public().id()).await.unwrap();
        assert!(remote.key("made up").await.is_err());
        publisher.publish(&[&one, &two]);
        let published = Instant::now();
        for number in 0.. {
            if remote.key(two.public().id()).await.is_ok() {
                break;
            }
            assert!(remote.key(&format!("made up {number}")).await.is_err());
            advance(Duration::from_millis(100)).await;
        }
        assert!(published.elapsed() <= UNKNOWN_KEY_INTERVAL, "{:?}", published.elapsed());
        assert_eq!(publisher.fetches(), 3);
    }

    /// Fetches that complete when the gate permits.
    fn gated(publisher: &Arc<Publisher>, gate: &Arc<tokio::sync::Semaphore>) -> RemoteKeys {
        let (publisher, gate) = (Arc::clone(publisher), Arc::clone(gate));
        RemoteKeys::with(move || {
            publisher.fetches.fetch_add(1, Ordering::Relaxed);
            let (publisher, gate) = (Arc::clone(&publisher), Arc::clone(&gate));
            async move {
                gate.acquire().await?.forget();
                let keys = publisher.keys.lock().unwrap().as_ref().map(JwkSet::json);
                keys.ok_or_else(|| "down".into())
            }
        })
    }

    #[tokio::test(start_paused = true)]
    async fn known_key_does_not_wait_for_the_fetch_of_an_unknown_one() {
        let (publisher, one) = (Arc::<Publisher>::default(), key());
        let gate = Arc::new(tokio::sync::Semaphore::new(1));
        let remote = Arc::new(gated(&publisher, &gate));
        publisher.publish(&[&one]);
        remote.key(one.public().id()).await.unwrap();
        let unknown = Arc::clone(&remote);
        let unknown = tokio::spawn(async move { unknown.key("made up").await });
        while publisher.fetches() < 2 {
            tokio::task::yield_now().await;
        }
        // The fetch hangs: waiting for it would advance the paused clock.
        let started = Instant::now();
        remote.key(one.public().id()).await.unwrap();
        assert_eq!(remote.keys_for(Algorithm::EdDsa).await.unwrap().len(), 1);
        assert_eq!((started.elapsed(), unknown.is_finished()), (Duration::ZERO, false));
        gate.add_permits(1);
        assert!(matches!(unknown.await.unwrap(), Err(MissingKey::Unknown)));
    }

    #[tokio::test(start_paused = true)]
    async fn fetch_survives_cancellation_of_its_caller() {
        let (publisher, one, two) = (Arc::<Publisher>::default(), key(), key());
        let gate = Arc::new(tokio::sync::Semaphore::new(1));
        let remote = gated(&publisher, &gate);
        publisher.publish(&[&one]);
        remote.key(one.public().id()).await.unwrap();
        publisher.publish(&[&one, &two]);
        timeout(Duration::from_millis(1), remote.key("made up")).await.unwrap_err();
        gate.add_permits(1);
        remote.key(two.public().id()).await.unwrap();
        assert_eq!(publisher.fetches(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn cached_keys_are_used_while_the_refresh_fails() {
        let (publisher, one) = (Arc::<Publisher>::default(), key());
        let remote = remote(&publisher);
        let id = one.public().id();
        assert!(matches!(remote.key(id).await, Err(MissingKey::Unavailable(Some(_)))));
        assert!(matches!(remote.key(id).await, Err(MissingKey::Unavailable(None))));
        advance(RETRY_INTERVAL).await;
        publisher.publish(&[&one]);
        remote.key(id).await.unwrap();
        *publisher.keys.lock().unwrap() = None;
        advance(MAX_AGE).await;
        remote.key(id).await.unwrap();
        advance(MAX_STALE_AGE).await;
        assert!(remote.key(id).await.is_err());
    }
}

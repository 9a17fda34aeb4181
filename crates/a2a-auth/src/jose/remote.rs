use std::{
    collections::HashMap,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use a2a_http::tls::ClientTls;
use async_trait::async_trait;
use bytes::Bytes;
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::{Instant, timeout},
};

use super::{Algorithm, Jwk, JwkSet};
use crate::fetch;

/// Where the public keys of somebody are found.
#[async_trait]
pub trait KeySource: fmt::Debug + Send + Sync + 'static {
    /// Returns the key with an id.
    async fn key(&self, id: &str) -> Result<Jwk, MissingKey>;

    /// Returns the keys that verify signatures of an algorithm, for tokens that do not name
    /// their key.
    async fn keys_for(&self, algorithm: Algorithm) -> Result<Vec<Jwk>, MissingKey>;
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MissingKey {
    /// There is no key with this id.
    #[error("the key is unknown")]
    Unknown,
    /// The keys can't be asked for at the moment.
    #[error("the keys can't be read")]
    Unavailable(#[source] Option<Box<dyn std::error::Error + Send + Sync>>),
}

/// Keys that are published elsewhere: fetched when they are needed, kept for 10 min, and fetched
/// again early for a key id that is not among them, so that keys can be rotated at any time.
///
/// Known keys are returned without waiting for a fetch that is made for an unknown id. Unknown ids
/// cause at most one fetch every 5 s ([`with_unknown_key_pause`](Self::with_unknown_key_pause)),
/// and an id that turned out to be unknown causes none for 30 s
/// ([`with_pause`](Self::with_pause)): made-up ids delay a rotation by 5 s at most.
///
/// When the keys can't be fetched, the last ones are used for a day.
pub struct RemoteKeys {
    fetch: Fetch,
    pause: Duration,
    unknown_key_pause: Duration,
    kept: Arc<RwLock<Kept>>,
    /// Held while the keys are fetched: others wait for the same answer in place of asking too.
    pacing: Arc<Mutex<Pacing>>,
}

type Fetch = Arc<dyn Fn() -> Fetching + Send + Sync>;
type FetchError = Box<dyn std::error::Error + Send + Sync>;
type Fetching = Pin<Box<dyn Future<Output = Result<Bytes, FetchError>> + Send>>;

#[derive(Default)]
struct Kept {
    keys: JwkSet,
    /// When they were asked for.
    fetched: Option<Instant>,
}

/// When keys were asked for, whatever the answer was.
#[derive(Default)]
struct Pacing {
    /// Because none were fresh.
    refreshed: Option<Instant>,
    /// Because of an id that was not among the fresh ones.
    missed: Option<Instant>,
    /// Ids that were not among keys that were fetched for them.
    unknown: HashMap<String, Instant>,
}

/// How long keys are used before they are fetched again.
const FRESH: Duration = Duration::from_secs(600);
/// How long keys are used when they can't be fetched again.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// The time between two requests for keys that are not fresh, when the first failed, and between
/// two for the same unknown id.
const PAUSE: Duration = Duration::from_secs(30);
/// The time between two requests for unknown ids.
const UNKNOWN_KEY_PAUSE: Duration = Duration::from_secs(5);
/// The time that a request may take.
const MAX_FETCH_TIME: Duration = Duration::from_secs(30);
/// Most unknown ids that are remembered, and the longest of them in bytes.
const MAX_UNKNOWN: usize = 1_000;
const MAX_ID_BYTES: usize = 1 << 10;

impl RemoteKeys {
    /// Keys at an address, as `https://agent.example/.well-known/jwks.json`. The address has to
    /// come from whoever is trusted to name it, never from a token.
    ///
    /// # Errors
    ///
    /// Fails where TLS can't be set up.
    pub fn at(url: impl Into<String>) -> Result<Self, fetch::SetupError> {
        Self::at_with_tls(url, ClientTls::new())
    }

    /// The same where other certificates are believed than those that the platform trusts, or one
    /// is shown.
    ///
    /// # Errors
    ///
    /// Fails where TLS can't be set up.
    pub fn at_with_tls(url: impl Into<String>, tls: ClientTls) -> Result<Self, fetch::SetupError> {
        let client = fetch::client(tls)?;
        let url: Arc<str> = url.into().into();
        Ok(Self::with(move || fetch::document(client.clone(), Arc::clone(&url))))
    }

    /// Keys that are fetched by a function, as the JSON of a JWK set. It runs in a task of its own,
    /// for 30 s at most.
    pub fn with<F>(fetch: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Bytes, FetchError>> + Send + 'static,
    {
        Self {
            fetch: Arc::new(move || Box::pin(fetch())),
            pause: PAUSE,
            unknown_key_pause: UNKNOWN_KEY_PAUSE,
            kept: Arc::default(),
            pacing: Arc::default(),
        }
    }

    /// Sets the time between two requests after one that failed, and between two for the same
    /// unknown key id. Default: 30 s.
    #[must_use]
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Sets the time between two requests for unknown key ids. Default: 5 s.
    #[must_use]
    pub fn with_unknown_key_pause(mut self, pause: Duration) -> Self {
        self.unknown_key_pause = pause;
        self
    }

    /// Returns what is found among the keys, which are fetched first where that is needed: where
    /// they are not fresh, or nothing is found for an id.
    async fn find<T>(
        &self,
        id: Option<&str>,
        find: impl Fn(&JwkSet) -> Option<T>,
    ) -> Result<T, MissingKey> {
        if let (Some(found), true) = self.look_up(FRESH, &find) {
            return Ok(found);
        }
        let pacing = Arc::clone(&self.pacing).lock_owned().await;
        // They may have been fetched while this waited.
        let may_fetch = match (self.look_up(FRESH, &find), id) {
            ((Some(found), true), _) => return Ok(found),
            ((None, true), None) => return Err(MissingKey::Unknown),
            ((None, true), Some(id)) => {
                if id.len() > MAX_ID_BYTES || pacing.has_missed(id, self.pause) {
                    return Err(MissingKey::Unknown);
                }
                is_over(pacing.missed, self.unknown_key_pause)
            }
            ((_, false), _) => is_over(pacing.refreshed, self.pause),
        };
        let failure = match may_fetch {
            true => match self.refresh(pacing, id).await {
                Ok(()) => return self.look_up(FRESH, &find).0.ok_or(MissingKey::Unknown),
                Err(error) => Some(error),
            },
            false => None,
        };
        match self.look_up(STALE, &find) {
            (Some(found), true) => {
                tracing::warn!(error = ?failure, "JWKS fetch failed, using the last keys");
                Ok(found)
            }
            // A key that was published a moment ago may be among those that can't be fetched yet.
            _ => Err(MissingKey::Unavailable(failure)),
        }
    }

    /// Returns what is found among the keys, and whether they are younger than `age`.
    fn look_up<T>(&self, age: Duration, find: impl Fn(&JwkSet) -> Option<T>) -> (Option<T>, bool) {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        (find(&kept.keys), kept.is_within(age))
    }

    /// Fetches the keys in a task of its own: a caller that goes away while it waits must not keep
    /// others from them.
    async fn refresh(
        &self,
        mut pacing: OwnedMutexGuard<Pacing>,
        id: Option<&str>,
    ) -> Result<(), FetchError> {
        let (fetch, kept, pause) = (Arc::clone(&self.fetch), Arc::clone(&self.kept), self.pause);
        let id = id.map(str::to_owned);
        let fetching = tokio::spawn(async move {
            let started = Instant::now();
            let was_fresh = {
                let kept = kept.read().unwrap_or_else(PoisonError::into_inner);
                kept.is_within(FRESH)
            };
            let fetched = read(fetch()).await;
            let now = Instant::now();
            if was_fresh {
                pacing.missed = Some(now);
            } else {
                pacing.refreshed = Some(now);
            }
            let keys = fetched?;
            if let Some(id) = id
                && keys.find(&id).is_none()
            {
                pacing.note_missed(id, now, pause);
            }
            // No panic can leave it half changed.
            let mut kept = kept.write().unwrap_or_else(PoisonError::into_inner);
            *kept = Kept { keys, fetched: Some(started) };
            Ok(())
        });
        fetching.await?
    }
}

async fn read(fetching: Fetching) -> Result<JwkSet, FetchError> {
    let document = timeout(MAX_FETCH_TIME, fetching).await??;
    Ok(serde_json::from_slice(&document)?)
}

fn is_over(last: Option<Instant>, pause: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= pause)
}

impl Kept {
    fn is_within(&self, age: Duration) -> bool {
        self.fetched.is_some_and(|fetched| fetched.elapsed() < age)
    }
}

impl Pacing {
    fn has_missed(&self, id: &str, pause: Duration) -> bool {
        self.unknown.get(id).is_some_and(|missed| missed.elapsed() < pause)
    }

    fn note_missed(&mut self, id: String, now: Instant, pause: Duration) {
        self.unknown.retain(|_, missed| now.duration_since(*missed) < pause);
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
}

impl fmt::Debug for RemoteKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteKeys")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Mutex as StdMutex,
        atomic::{AtomicUsize, Ordering},
    };

    use tokio::time::advance;

    use super::*;
    use crate::jose::{Algorithm, SigningKey};

    #[derive(Default)]
    struct Publisher {
        keys: StdMutex<Option<JwkSet>>,
        asked: AtomicUsize,
    }

    impl Publisher {
        fn publish(&self, keys: &[&SigningKey]) {
            let keys = keys.iter().map(|key| key.public().clone()).collect();
            *self.keys.lock().unwrap() = Some(keys);
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }
    }

    fn remote(publisher: &Arc<Publisher>) -> RemoteKeys {
        let publisher = Arc::clone(publisher);
        RemoteKeys::with(move || {
            publisher.asked.fetch_add(1, Ordering::Relaxed);
            let keys = publisher.keys.lock().unwrap().as_ref().map(JwkSet::json);
            async move { keys.ok_or_else(|| "down".into()) }
        })
    }

    fn key() -> SigningKey {
        SigningKey::generate(Algorithm::EdDsa).unwrap()
    }

    //
    #[tokio::test(start_paused = true)]
    async fn keys_are_kept_and_a_new_one_is_found_at_once() {
        let (publisher, one, two) = (Arc::<Publisher>::default(), key(), key());
        let remote = remote(&publisher);
        publisher.publish(&[&one]);
        for _ in 0..3 {
            assert_eq!(&remote.key(one.public().id()).await.unwrap(), one.public());
        }
        assert_eq!(publisher.asked(), 1);
        advance(PAUSE).await;
        publisher.publish(&[&two, &one]);
        assert_eq!(&remote.key(two.public().id()).await.unwrap(), two.public());
        assert_eq!(publisher.asked(), 2);
        advance(FRESH).await;
        publisher.publish(&[&two]);
        assert!(matches!(remote.key(one.public().id()).await, Err(MissingKey::Unknown)));
    }

    #[tokio::test(start_paused = true)]
    async fn unknown_ids_cause_one_fetch_per_pause() {
        let (publisher, one) = (Arc::<Publisher>::default(), key());
        let remote = remote(&publisher);
        publisher.publish(&[&one]);
        assert!(matches!(remote.key("x").await, Err(MissingKey::Unknown)));
        assert!(matches!(remote.key("0").await, Err(MissingKey::Unknown)));
        for number in 1..100 {
            let missing = remote.key(&number.to_string()).await;
            assert!(matches!(missing, Err(MissingKey::Unavailable(None))));
        }
        assert_eq!(publisher.asked(), 2);
        remote.key(one.public().id()).await.unwrap();
        // An id that is too long for one, and the same id again, are known to be unknown.
        let long = "x".repeat(MAX_ID_BYTES + 1);
        for _ in 0..4 {
            advance(UNKNOWN_KEY_PAUSE).await;
            assert!(matches!(remote.key("x").await, Err(MissingKey::Unknown)));
            assert!(matches!(remote.key(&long).await, Err(MissingKey::Unknown)));
        }
        assert_eq!(publisher.asked(), 2);
        advance(PAUSE).await;
        assert!(matches!(remote.key("x").await, Err(MissingKey::Unknown)));
        assert_eq!(publisher.asked(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn rotation_is_noticed_within_the_pause_during_a_flood_of_unknown_ids() {
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
        assert!(published.elapsed() <= UNKNOWN_KEY_PAUSE, "{:?}", published.elapsed());
        assert_eq!(publisher.asked(), 3);
    }

    /// Fetches that answer when they are told to.
    fn gated(publisher: &Arc<Publisher>, gate: &Arc<tokio::sync::Semaphore>) -> RemoteKeys {
        let (publisher, gate) = (Arc::clone(publisher), Arc::clone(gate));
        RemoteKeys::with(move || {
            publisher.asked.fetch_add(1, Ordering::Relaxed);
            let (publisher, gate) = (Arc::clone(&publisher), Arc::clone(&gate));
            async move {
                gate.acquire().await?.forget();
                let keys = publisher.keys.lock().unwrap().as_ref().map(JwkSet::json);
                keys.ok_or_else(|| "down".into())
            }
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_known_key_does_not_wait_for_the_fetch_of_an_unknown_one() {
        let (publisher, one) = (Arc::<Publisher>::default(), key());
        let gate = Arc::new(tokio::sync::Semaphore::new(1));
        let remote = Arc::new(gated(&publisher, &gate));
        publisher.publish(&[&one]);
        remote.key(one.public().id()).await.unwrap();
        let unknown = Arc::clone(&remote);
        let unknown = tokio::spawn(async move { unknown.key("made up").await });
        while publisher.asked() < 2 {
            tokio::task::yield_now().await;
        }
        // The fetch hangs: nothing but the clock of the runtime could end a wait for it.
        let started = Instant::now();
        remote.key(one.public().id()).await.unwrap();
        assert_eq!(remote.keys_for(Algorithm::EdDsa).await.unwrap().len(), 1);
        assert_eq!((started.elapsed(), unknown.is_finished()), (Duration::ZERO, false));
        gate.add_permits(1);
        assert!(matches!(unknown.await.unwrap(), Err(MissingKey::Unknown)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_goes_on_when_the_caller_that_caused_it_hangs_up() {
        let (publisher, one, two) = (Arc::<Publisher>::default(), key(), key());
        let gate = Arc::new(tokio::sync::Semaphore::new(1));
        let remote = gated(&publisher, &gate);
        publisher.publish(&[&one]);
        remote.key(one.public().id()).await.unwrap();
        publisher.publish(&[&one, &two]);
        timeout(Duration::from_millis(1), remote.key("made up")).await.unwrap_err();
        gate.add_permits(1);
        remote.key(two.public().id()).await.unwrap();
        assert_eq!(publisher.asked(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_keys_are_used_while_there_are_no_newer_ones() {
        let (publisher, one) = (Arc::<Publisher>::default(), key());
        let remote = remote(&publisher);
        let id = one.public().id();
        assert!(matches!(remote.key(id).await, Err(MissingKey::Unavailable(Some(_)))));
        assert!(matches!(remote.key(id).await, Err(MissingKey::Unavailable(None))));
        advance(PAUSE).await;
        publisher.publish(&[&one]);
        remote.key(id).await.unwrap();
        *publisher.keys.lock().unwrap() = None;
        advance(FRESH).await;
        remote.key(id).await.unwrap();
        advance(STALE).await;
        assert!(remote.key(id).await.is_err());
    }
}

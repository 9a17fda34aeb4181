use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use a2a_http::tls::ClientTls;
use async_trait::async_trait;
use bytes::Bytes;
use tokio::{sync::Mutex, time::Instant};

use super::{Jwk, JwkSet};
use crate::fetch;

/// Where the public keys of somebody are found.
#[async_trait]
pub trait KeySource: fmt::Debug + Send + Sync + 'static {
    /// Returns the key with an id.
    async fn key(&self, id: &str) -> Result<Jwk, MissingKey>;
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

/// Keys that are published elsewhere: fetched when they are needed, kept for a while, and
/// fetched again early for a key that is not among them, so that keys can be exchanged at any
/// time. Whoever makes up ids of keys causes no more than a request every 30 s.
///
/// When they can't be fetched, the last ones are used for a day.
pub struct RemoteKeys {
    fetch: Fetch,
    pause: Duration,
    kept: Mutex<Kept>,
}

type Fetch = Box<dyn Fn() -> Fetching + Send + Sync>;
type Fetching =
    Pin<Box<dyn Future<Output = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>> + Send>>;

#[derive(Default)]
struct Kept {
    keys: JwkSet,
    /// When they were fetched.
    fetched: Option<Instant>,
    /// When it was last tried, whatever came of it.
    tried: Option<Instant>,
}

/// How long keys are used before they are fetched again.
const FRESH: Duration = Duration::from_secs(600);
/// How long keys are used when they can't be fetched again.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// The time between two requests, when the first failed or missed a key.
const PAUSE: Duration = Duration::from_secs(30);

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

    /// Keys that are fetched by a function, as the JSON of a JWK set.
    pub fn with<F>(fetch: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>>
            + Send
            + 'static,
    {
        Self { fetch: Box::new(move || Box::pin(fetch())), pause: PAUSE, kept: Mutex::default() }
    }

    /// Sets the time between two requests, when the first failed or missed a key. Default: 30 s.
    #[must_use]
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    async fn refresh(&self, kept: &mut Kept) -> Result<(), MissingKey> {
        let now = Instant::now();
        // Before the request: a caller that goes away while it waits does not undo the pause.
        kept.tried = Some(now);
        let unavailable = |error| MissingKey::Unavailable(Some(error));
        let document = (self.fetch)().await.map_err(unavailable)?;
        kept.keys = serde_json::from_slice(&document).map_err(|error| unavailable(error.into()))?;
        kept.fetched = Some(now);
        Ok(())
    }
}

impl Kept {
    fn is_within(&self, age: Duration) -> bool {
        self.fetched.is_some_and(|fetched| fetched.elapsed() < age)
    }

    fn may_try(&self, pause: Duration) -> bool {
        self.tried.is_none_or(|tried| tried.elapsed() >= pause)
    }
}

#[async_trait]
impl KeySource for RemoteKeys {
    async fn key(&self, id: &str) -> Result<Jwk, MissingKey> {
        // Held across the request: others wait for the same answer in place of asking too.
        let mut kept = self.kept.lock().await;
        let known = kept.keys.find(id).cloned();
        if let Some(key) = &known
            && kept.is_within(FRESH)
        {
            return Ok(key.clone());
        }
        let mut failure = None;
        if kept.may_try(self.pause) {
            match self.refresh(&mut kept).await {
                Ok(()) => return kept.keys.find(id).cloned().ok_or(MissingKey::Unknown),
                Err(error) => failure = Some(error),
            }
        }
        match known {
            Some(key) if kept.is_within(STALE) => {
                tracing::warn!(error = ?failure, "keys are used that could not be fetched again");
                Ok(key)
            }
            // A key that was made known a moment ago may be among those we may not ask for yet.
            _ => Err(failure.unwrap_or(MissingKey::Unavailable(None))),
        }
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
    async fn made_up_ids_do_not_flood_the_publisher() {
        let (publisher, one) = (Arc::<Publisher>::default(), key());
        let remote = remote(&publisher);
        publisher.publish(&[&one]);
        assert!(matches!(remote.key("x").await, Err(MissingKey::Unknown)));
        for number in 0..100 {
            let missing = remote.key(&number.to_string()).await;
            assert!(matches!(missing, Err(MissingKey::Unavailable(None))));
        }
        assert_eq!(publisher.asked(), 1);
        remote.key(one.public().id()).await.unwrap();
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

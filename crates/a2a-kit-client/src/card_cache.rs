//! HTTP cache for agent cards (RFC 9111).

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use a2a_core::host;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use tokio::time::Instant;

use crate::{
    Document,
    card_cache_directory::{CacheDirectory, StoredCard, seconds},
};

/// An HTTP cache for agent cards, shared by all clones.
///
/// It stores responses to unauthenticated requests, for the freshness lifetime given by
/// `Cache-Control` and `Expires`, at most a day. Stale cards are revalidated with `If-None-Match` and
/// `If-Modified-Since`. The 256 most recently used cards are kept in memory. A
/// [directory](Self::with_directory) also keeps them for other processes.
///
/// A card decides where calls go, so one that anyone on the network path could have changed is not
/// kept: over plaintext from another machine it is not stored, and from this machine only in memory.
#[derive(Clone, Debug, Default)]
pub struct CardCache {
    entries: Arc<Mutex<HashMap<Uri, Entry>>>,
    default_lifetime: Duration,
    directory: Option<CacheDirectory>,
    always_revalidates: bool,
}

/// Maximum freshness lifetime: a day.
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// Maximum number of cached cards.
const CAPACITY: usize = 256;

#[derive(Clone, Debug)]
struct Entry {
    document: Document,
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
    fresh_until: Instant,
    /// The freshness lifetime at the last response.
    lifetime: Duration,
    last_used: Instant,
}

impl Entry {
    /// The entry of a file; `None` if its content is not a card.
    fn of_file(stored: &StoredCard) -> Option<Self> {
        let now = Instant::now();
        let value = |text: &Option<String>| HeaderValue::try_from(text.as_deref()?).ok();
        Some(Self {
            document: Document::read(stored.json.clone().into()).ok()?,
            etag: value(&stored.etag),
            last_modified: value(&stored.last_modified),
            fresh_until: now + stored.fresh_for(SystemTime::now()).min(MAX_LIFETIME),
            lifetime: Duration::from_secs(stored.lifetime).min(MAX_LIFETIME),
            last_used: now,
        })
    }
}

/// The result of a cache lookup.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// A fresh card.
    Fresh(Document),
    /// A stale card, and the conditional headers to revalidate it with.
    Stale(Document, Vec<(HeaderName, HeaderValue)>),
    /// No card.
    Absent,
}

impl CardCache {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the freshness lifetime of responses that specify none. Default: 0.
    #[must_use]
    pub fn with_default_lifetime(mut self, lifetime: Duration) -> Self {
        self.default_lifetime = lifetime;
        self
    }

    /// Also keeps the cards in files of this directory, which is created if needed and must be for
    /// this purpose only. Processes may share it. It holds up to 256 files and 16 MiB.
    #[must_use]
    pub fn with_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(CacheDirectory::new(path.into()));
        self
    }

    /// Revalidates cards on every use, even while they are fresh: for agents that often change, such
    /// as those in development.
    #[must_use]
    pub fn with_revalidation(mut self) -> Self {
        self.always_revalidates = true;
        self
    }

    /// Removes all cards from memory.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Removes the card of a URL, as in [`CardReference::Url`](crate::CardReference::Url), from
    /// memory.
    pub fn remove(&self, url: &Uri) {
        self.lock().remove(url);
    }

    /// Finds a card in memory, or else in the directory.
    pub(crate) async fn look_up(&self, url: &Uri) -> Lookup {
        let lookup = self.look_up_in_memory(url);
        let (Some(directory), Lookup::Absent) = (self.directory(url), &lookup) else {
            return lookup;
        };
        let entry = directory.read(url).await.and_then(|stored| Entry::of_file(&stored));
        match entry {
            Some(entry) => {
                self.insert(url, entry);
                self.look_up_in_memory(url)
            }
            None => lookup,
        }
    }

    fn look_up_in_memory(&self, url: &Uri) -> Lookup {
        let now = Instant::now();
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(url) else { return Lookup::Absent };
        entry.last_used = now;
        if now < entry.fresh_until && !self.always_revalidates {
            return Lookup::Fresh(entry.document.clone());
        }
        let etag = entry.etag.clone().map(|etag| (header::IF_NONE_MATCH, etag));
        let modified = entry.last_modified.clone().map(|date| (header::IF_MODIFIED_SINCE, date));
        let conditions: Vec<_> = etag.into_iter().chain(modified).collect();
        if conditions.is_empty() {
            return Lookup::Absent;
        }
        Lookup::Stale(entry.document.clone(), conditions)
    }

    /// Stores a response, if it may be stored.
    pub(crate) async fn store(&self, url: &Uri, headers: &HeaderMap, document: &Document) {
        let freshness = Freshness::read(headers, SystemTime::now());
        if !freshness.may_store || !(is_encrypted(url) || url.host().is_some_and(host::is_loopback))
        {
            return self.forget(url).await;
        }
        let now = Instant::now();
        let lifetime = freshness.lifetime.unwrap_or(self.default_lifetime).min(MAX_LIFETIME);
        let entry = Entry {
            document: document.clone(),
            etag: headers.get(header::ETAG).cloned(),
            last_modified: headers.get(header::LAST_MODIFIED).cloned(),
            fresh_until: now + lifetime,
            lifetime,
            last_used: now,
        };
        self.keep(url, &entry).await;
        self.insert(url, entry);
    }

    /// Refreshes a card after a successful revalidation (304). A response that specifies no lifetime
    /// keeps the stored one (RFC 9111 §4.3.4).
    pub(crate) async fn refresh(&self, url: &Uri, headers: &HeaderMap) {
        let freshness = Freshness::read(headers, SystemTime::now());
        if !freshness.may_store {
            return self.forget(url).await;
        }
        let refreshed = {
            let mut entries = self.lock();
            let Some(entry) = entries.get_mut(url) else { return };
            entry.lifetime = freshness.lifetime.unwrap_or(entry.lifetime).min(MAX_LIFETIME);
            entry.fresh_until = Instant::now() + entry.lifetime;
            if let Some(etag) = headers.get(header::ETAG) {
                entry.etag = Some(etag.clone());
            }
            if let Some(date) = headers.get(header::LAST_MODIFIED) {
                entry.last_modified = Some(date.clone());
            }
            entry.clone()
        };
        self.keep(url, &refreshed).await;
    }

    fn insert(&self, url: &Uri, entry: Entry) {
        let mut entries = self.lock();
        if entries.len() >= CAPACITY && !entries.contains_key(url) {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.last_used);
            if let Some(oldest) = oldest.map(|(url, _)| url.clone()) {
                entries.remove(&oldest);
            }
        }
        entries.insert(url.clone(), entry);
    }

    /// Writes a card to the directory.
    async fn keep(&self, url: &Uri, entry: &Entry) {
        let Some(directory) = self.directory(url) else { return };
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned).ok();
        // JSON is UTF-8; other documents have been rejected.
        let Ok(json) = std::str::from_utf8(&entry.document.json) else { return };
        let stored = StoredCard {
            url: url.to_string(),
            json: json.to_owned(),
            etag: entry.etag.as_ref().and_then(text),
            last_modified: entry.last_modified.as_ref().and_then(text),
            received_at: seconds(SystemTime::now()),
            lifetime: entry.lifetime.as_secs(),
        };
        directory.write(url, stored).await;
    }

    /// The directory, for cards that it may keep.
    fn directory(&self, url: &Uri) -> Option<&CacheDirectory> {
        self.directory.as_ref().filter(|_| is_encrypted(url))
    }

    async fn forget(&self, url: &Uri) {
        self.remove(url);
        if let Some(directory) = &self.directory {
            directory.remove(url).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uri, Entry>> {
        // No holder of the lock can leave the map in an inconsistent state.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_encrypted(url: &Uri) -> bool {
    url.scheme_str() == Some("https")
}

/// The freshness of a response.
#[derive(Debug, PartialEq, Eq)]
struct Freshness {
    may_store: bool,
    lifetime: Option<Duration>,
}

impl Freshness {
    fn read(headers: &HeaderMap, now: SystemTime) -> Self {
        let mut freshness = Self { may_store: true, lifetime: None };
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
        let mut no_cache = false;
        for line in headers.get_all(header::CACHE_CONTROL) {
            for directive in text(line).split(',') {
                let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
                match name.trim().to_ascii_lowercase().as_str() {
                    "no-store" => freshness.may_store = false,
                    "no-cache" => no_cache = true,
                    "max-age" => {
                        // An invalid value counts as stale (RFC 9111 §4.2.1).
                        let seconds = value.trim().trim_matches('"').parse().unwrap_or(0);
                        freshness.lifetime = Some(Duration::from_secs(seconds));
                    }
                    _ => {}
                }
            }
        }
        if headers.get_all(header::VARY).iter().any(|line| text(line).contains('*')) {
            no_cache = true;
        }
        if freshness.lifetime.is_none()
            && let Some(expires) = headers.get(header::EXPIRES)
        {
            let date = |value: &HeaderValue| httpdate::parse_http_date(&text(value)).ok();
            let sent = headers.get(header::DATE).and_then(date).unwrap_or(now);
            let left = date(expires).and_then(|expires| expires.duration_since(sent).ok());
            freshness.lifetime = Some(left.unwrap_or_default());
        }
        if let Some(age) = headers.get(header::AGE)
            && let Ok(seconds) = text(age).trim().parse()
        {
            let age = Duration::from_secs(seconds);
            freshness.lifetime = freshness.lifetime.map(|lifetime| lifetime.saturating_sub(age));
        }
        if no_cache {
            freshness.lifetime = Some(Duration::ZERO);
        }
        freshness
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn url(path: &str) -> Uri {
        format!("https://a.example/{path}").parse().unwrap()
    }

    // covers: R-358
    #[test]
    fn response_headers_determine_freshness_lifetime() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let later = httpdate::fmt_http_date(now + Duration::from_secs(50));
        for (lines, lifetime) in [
            (vec![("cache-control", "public, max-age=60")], Some(60)),
            (vec![("cache-control", "Max-Age=\"60\"")], Some(60)),
            (vec![("cache-control", "max-age=60"), ("age", "20")], Some(40)),
            (vec![("cache-control", "max-age=60"), ("age", "90")], Some(0)),
            (vec![("cache-control", "max-age=60"), ("cache-control", "no-cache")], Some(0)),
            (vec![("cache-control", "max-age=soon")], Some(0)),
            (vec![("cache-control", "max-age=60"), ("expires", "0")], Some(60)),
            (vec![("expires", later.as_str())], Some(50)),
            (vec![("expires", "0")], Some(0)),
            (vec![("etag", "\"1\"")], None),
        ] {
            let read = Freshness::read(&headers(&lines), now);
            assert!(read.may_store, "{lines:?}");
            assert_eq!(read.lifetime, lifetime.map(Duration::from_secs), "{lines:?}");
        }
        assert!(!Freshness::read(&headers(&[("cache-control", "no-store")]), now).may_store);
    }

    #[tokio::test(start_paused = true)]
    async fn card_is_fresh_for_its_lifetime_and_then_revalidated() {
        let cache = CardCache::new();
        let card = Document::for_tests("a");
        let response = headers(&[
            ("cache-control", "max-age=60"),
            ("etag", "\"1\""),
            ("last-modified", "Tue, 14 Nov 2023 22:13:20 GMT"),
        ]);
        cache.store(&url("a"), &response, &card).await;
        tokio::time::advance(Duration::from_secs(59)).await;
        assert!(matches!(cache.look_up(&url("a")).await, Lookup::Fresh(_)));
        tokio::time::advance(Duration::from_secs(2)).await;
        let Lookup::Stale(_, conditions) = cache.look_up(&url("a")).await else {
            panic!("not stale")
        };
        let names: Vec<_> = conditions.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["if-none-match", "if-modified-since"]);
        cache.refresh(&url("a"), &headers(&[("cache-control", "max-age=5")])).await;
        assert!(matches!(cache.look_up(&url("a")).await, Lookup::Fresh(_)));
        cache.store(&url("a"), &headers(&[("cache-control", "no-store")]), &card).await;
        assert!(matches!(cache.look_up(&url("a")).await, Lookup::Absent));
    }

    // covers: R-360
    #[tokio::test(start_paused = true)]
    async fn least_recently_used_card_is_evicted() {
        let cache = CardCache::new().with_default_lifetime(Duration::from_secs(3600));
        for number in 0..=CAPACITY {
            tokio::time::advance(Duration::from_millis(1)).await;
            let name = number.to_string();
            cache.store(&url(&name), &HeaderMap::new(), &Document::for_tests(&name)).await;
            assert!(matches!(cache.look_up(&url("0")).await, Lookup::Fresh(_)), "{number}");
        }
        assert_eq!(cache.lock().len(), CAPACITY);
        assert!(matches!(cache.look_up(&url("1")).await, Lookup::Absent));
    }

    #[tokio::test]
    async fn directory_keeps_cards_for_other_processes() {
        let folder = tempfile::tempdir().unwrap();
        let cache = || CardCache::new().with_directory(folder.path());
        let json = r#"{"name": "A"}"#;
        let card = Document::read(json.into()).unwrap();
        let response = headers(&[("cache-control", "max-age=60"), ("etag", "\"1\"")]);
        cache().store(&url("a"), &response, &card).await;
        let Lookup::Fresh(found) = cache().look_up(&url("a")).await else { panic!("not fresh") };
        assert_eq!((found.card.name.as_str(), found.json.as_ref()), ("A", json.as_bytes()));
        let revalidating = cache().with_revalidation();
        let Lookup::Stale(_, conditions) = revalidating.look_up(&url("a")).await else {
            panic!("not revalidated")
        };
        assert_eq!(conditions[0].1, "\"1\"");
        cache().store(&url("a"), &headers(&[("cache-control", "no-store")]), &card).await;
        assert!(matches!(cache().look_up(&url("a")).await, Lookup::Absent));
    }

    #[tokio::test(start_paused = true)]
    async fn revalidation_without_a_lifetime_keeps_the_stored_one() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CardCache::new().with_directory(folder.path());
        let card = Document::read(r#"{"name": "A"}"#.into()).unwrap();
        let response = headers(&[("cache-control", "max-age=60"), ("etag", "\"1\"")]);
        cache.store(&url("a"), &response, &card).await;
        tokio::time::advance(Duration::from_secs(61)).await;
        for cache in [cache, CardCache::new().with_directory(folder.path()).with_revalidation()] {
            assert!(matches!(cache.look_up(&url("a")).await, Lookup::Stale(..)));
            cache.refresh(&url("a"), &headers(&[("etag", "\"1\"")])).await;
            let other = CardCache::new().with_directory(folder.path());
            assert!(matches!(other.look_up(&url("a")).await, Lookup::Fresh(_)));
        }
    }

    #[tokio::test]
    async fn revalidated_card_is_fresh_for_other_processes() {
        let folder = tempfile::tempdir().unwrap();
        let cache = || CardCache::new().with_directory(folder.path());
        let card = Document::read(r#"{"name": "A"}"#.into()).unwrap();
        cache().store(&url("a"), &headers(&[("etag", "\"1\"")]), &card).await;
        let one = cache();
        assert!(matches!(one.look_up(&url("a")).await, Lookup::Stale(..)));
        one.refresh(&url("a"), &headers(&[("cache-control", "max-age=60")])).await;
        assert!(matches!(cache().look_up(&url("a")).await, Lookup::Fresh(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn lifetime_is_at_most_a_day_in_memory_and_in_the_directory() {
        let folder = tempfile::tempdir().unwrap();
        let cache = || CardCache::new().with_directory(folder.path());
        let card = Document::read(r#"{"name": "A"}"#.into()).unwrap();
        let year = headers(&[("cache-control", "max-age=31536000"), ("etag", "\"1\"")]);
        let one = cache();
        one.store(&url("a"), &year, &card).await;
        let lifetime = |cache: &CardCache| {
            let entries = cache.lock();
            entries[&url("a")].fresh_until.saturating_duration_since(Instant::now())
        };
        let other = cache();
        assert!(matches!(other.look_up(&url("a")).await, Lookup::Fresh(_)));
        for cache in [&one, &other] {
            assert!(lifetime(cache) <= Duration::from_secs(24 * 3600), "{:?}", lifetime(cache));
        }
        one.refresh(&url("a"), &year).await;
        assert!(lifetime(&one) <= Duration::from_secs(24 * 3600), "{:?}", lifetime(&one));
    }

    #[tokio::test]
    async fn card_over_plaintext_is_not_kept_for_other_processes_nor_from_another_machine() {
        let folder = tempfile::tempdir().unwrap();
        let card = Document::read(r#"{"name": "A"}"#.into()).unwrap();
        let response = headers(&[("cache-control", "max-age=60"), ("etag", "\"1\"")]);
        for (address, in_memory, in_directory) in [
            ("https://a.example/card", true, true),
            ("http://a.example/card", false, false),
            ("http://127.0.0.1:1/card", true, false),
            ("http://localhost:1/card", true, false),
        ] {
            let address: Uri = address.parse().unwrap();
            let cache = || CardCache::new().with_directory(folder.path());
            let one = cache();
            one.store(&address, &response, &card).await;
            let is_kept = |lookup| matches!(lookup, Lookup::Fresh(_));
            assert_eq!(is_kept(one.look_up(&address).await), in_memory, "{address}");
            assert_eq!(is_kept(cache().look_up(&address).await), in_directory, "{address}");
        }
        // A file of an earlier release is not used either.
        let address: Uri = "http://a.example/card".parse().unwrap();
        let stored = StoredCard {
            url: address.to_string(),
            json: r#"{"name": "A"}"#.to_owned(),
            etag: Some("\"1\"".to_owned()),
            last_modified: None,
            received_at: seconds(SystemTime::now()),
            lifetime: 60,
        };
        CacheDirectory::new(folder.path().to_owned()).write(&address, stored).await;
        let cache = CardCache::new().with_directory(folder.path());
        assert!(matches!(cache.look_up(&address).await, Lookup::Absent));
    }
}

//! HTTP cache for agent cards (RFC 9111).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use tokio::time::Instant;

use crate::Document;

/// An HTTP cache for agent cards, shared by all clones.
///
/// It stores responses to unauthenticated requests, for the freshness lifetime given by
/// `Cache-Control` and `Expires`. Stale cards are revalidated with `If-None-Match` and
/// `If-Modified-Since`. The 256 most recently used cards are kept.
#[derive(Clone, Debug, Default)]
pub struct CardCache {
    entries: Arc<Mutex<HashMap<Uri, Entry>>>,
    default_lifetime: Duration,
}

/// Maximum number of cached cards.
const CAPACITY: usize = 256;

#[derive(Clone, Debug)]
struct Entry {
    document: Document,
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
    fresh_until: Instant,
    last_used: Instant,
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

    /// Removes all cards.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Removes the card of a URL, as in [`CardReference::Url`](crate::CardReference::Url).
    pub fn remove(&self, url: &Uri) {
        self.lock().remove(url);
    }

    pub(crate) fn look_up(&self, url: &Uri) -> Lookup {
        let now = Instant::now();
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(url) else { return Lookup::Absent };
        entry.last_used = now;
        if now < entry.fresh_until {
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
    pub(crate) fn store(&self, url: &Uri, headers: &HeaderMap, document: &Document) {
        let freshness = Freshness::read(headers, SystemTime::now());
        let mut entries = self.lock();
        if !freshness.may_store {
            entries.remove(url);
            return;
        }
        let now = Instant::now();
        if entries.len() >= CAPACITY && !entries.contains_key(url) {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.last_used);
            if let Some(oldest) = oldest.map(|(url, _)| url.clone()) {
                entries.remove(&oldest);
            }
        }
        let lifetime = freshness.lifetime.unwrap_or(self.default_lifetime);
        // The lifetime is limited to a year, so that the sum can't overflow.
        let lifetime = lifetime.min(Duration::from_secs(365 * 24 * 3600));
        let entry = Entry {
            document: document.clone(),
            etag: headers.get(header::ETAG).cloned(),
            last_modified: headers.get(header::LAST_MODIFIED).cloned(),
            fresh_until: now + lifetime,
            last_used: now,
        };
        entries.insert(url.clone(), entry);
    }

    /// Refreshes a card after a successful revalidation (304).
    pub(crate) fn refresh(&self, url: &Uri, headers: &HeaderMap) {
        let freshness = Freshness::read(headers, SystemTime::now());
        let mut entries = self.lock();
        if !freshness.may_store {
            entries.remove(url);
        } else if let Some(entry) = entries.get_mut(url) {
            let lifetime = freshness.lifetime.unwrap_or(self.default_lifetime);
            entry.fresh_until = Instant::now() + lifetime.min(Duration::from_secs(365 * 24 * 3600));
            if let Some(etag) = headers.get(header::ETAG) {
                entry.etag = Some(etag.clone());
            }
            if let Some(date) = headers.get(header::LAST_MODIFIED) {
                entry.last_modified = Some(date.clone());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uri, Entry>> {
        // No holder of the lock can leave the map in an inconsistent state.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

    //
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
        cache.store(&url("a"), &response, &card);
        tokio::time::advance(Duration::from_secs(59)).await;
        assert!(matches!(cache.look_up(&url("a")), Lookup::Fresh(_)));
        tokio::time::advance(Duration::from_secs(2)).await;
        let Lookup::Stale(_, conditions) = cache.look_up(&url("a")) else { panic!("not stale") };
        let names: Vec<_> = conditions.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["if-none-match", "if-modified-since"]);
        cache.refresh(&url("a"), &headers(&[("cache-control", "max-age=5")]));
        assert!(matches!(cache.look_up(&url("a")), Lookup::Fresh(_)));
        cache.store(&url("a"), &headers(&[("cache-control", "no-store")]), &card);
        assert!(matches!(cache.look_up(&url("a")), Lookup::Absent));
    }

    //
    #[tokio::test(start_paused = true)]
    async fn least_recently_used_card_is_evicted() {
        let cache = CardCache::new().with_default_lifetime(Duration::from_secs(3600));
        for number in 0..=CAPACITY {
            tokio::time::advance(Duration::from_millis(1)).await;
            let name = number.to_string();
            cache.store(&url(&name), &HeaderMap::new(), &Document::for_tests(&name));
            assert!(matches!(cache.look_up(&url("0")), Lookup::Fresh(_)), "{number}");
        }
        assert_eq!(cache.lock().len(), CAPACITY);
        assert!(matches!(cache.look_up(&url("1")), Lookup::Absent));
    }
}

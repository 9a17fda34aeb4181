//! How a card is served: its media type and the headers for caches.

use std::sync::{Arc, Mutex, PoisonError};

use a2a_kit_http::{
    client::{ClientSettings, HttpClient, WireObserver, WirePart},
    content_type,
};
use a2a_kit_lint::{
    Findings,
    network::{ETAG_IGNORED, MEDIA_TYPE, MISSING_CACHE_CONTROL, MISSING_ETAG},
    quote,
};
use bytes::Bytes;
use http::{
    HeaderMap, Request, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, EXPIRES, IF_NONE_MATCH, LAST_MODIFIED},
};

/// Observes the responses while a card is fetched, and keeps the last one.
#[derive(Debug, Default)]
pub(super) struct CardResponses {
    last: Mutex<Exchange>,
    next: Option<Arc<dyn WireObserver>>,
}

#[derive(Clone, Debug, Default)]
struct Exchange {
    url: String,
    headers: HeaderMap,
}

impl CardResponses {
    /// Creates an observer that also calls another one.
    pub(super) fn before(next: Option<Arc<dyn WireObserver>>) -> Self {
        Self { next, ..Self::default() }
    }

    /// Checks the last response.
    pub(super) async fn check(&self, settings: ClientSettings, findings: &mut Findings) {
        let card = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = |name| card.headers.get(name).and_then(|value| value.to_str().ok());
        if !content_type::is_json(&card.headers) {
            let media_type = text(CONTENT_TYPE).unwrap_or_default();
            let message = format!("Content-Type is {}", quote(media_type));
            findings.add(&MEDIA_TYPE, "", message);
        }
        if text(CACHE_CONTROL).is_none() && text(EXPIRES).is_none() {
            findings.add(&MISSING_CACHE_CONTROL, "", format!("no Cache-Control at {}", card.url));
        }
        let Some(etag) = text(ETAG) else {
            if text(LAST_MODIFIED).is_none() {
                findings.add(&MISSING_ETAG, "", format!("no ETag at {}", card.url));
            }
            return;
        };
        if status(settings, &card.url, etag).await == Some(StatusCode::OK) {
            let message = format!("200 in response to If-None-Match: {}", quote(etag));
            findings.add(&ETAG_IGNORED, "", message);
        }
    }
}

/// The status of a conditional request; `None` if it failed, which other rules report.
async fn status(settings: ClientSettings, url: &str, etag: &str) -> Option<StatusCode> {
    let request = Request::get(url).header(IF_NONE_MATCH, etag).body(Bytes::new()).ok()?;
    let response = HttpClient::new(settings).ok()?.send(request).await.ok()?;
    Some(response.status())
}

impl WireObserver for CardResponses {
    fn observe(&self, exchange: u64, part: WirePart<'_>) {
        if let Some(next) = &self.next {
            next.observe(exchange, part);
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match part {
            WirePart::Request { url, .. } => url.clone_into(&mut last.url),
            WirePart::Response { headers, .. } => last.headers.clone_from(headers),
            _ => {}
        }
    }
}

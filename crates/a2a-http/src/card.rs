//! The agent card at its well-known address (spec §8.2, §8.6).

use std::time::{Duration, SystemTime};

use a2a_core::{AgentCard, Error, Result};
use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED},
};
use tower_http::cors::{Any, CorsLayer};

use crate::media;

/// Where every agent shows its card.
pub const WELL_KNOWN_PATH: &str = "/.well-known/agent-card.json";

/// How long a card may be kept by those who fetch it.
const MAX_AGE: Duration = Duration::from_secs(300);

/// Serves a card at [`WELL_KNOWN_PATH`], to every origin.
///
/// # Errors
///
/// [`Internal`](a2a_core::ErrorKind::Internal) where the card has no JSON form.
pub fn router(card: AgentCard) -> Result<Router> {
    Ok(CardDocument::new(&card)?.into_router())
}

/// A card as the bytes and headers that are served, made once.
#[derive(Clone, Debug)]
pub struct CardDocument {
    json: Bytes,
    etag: HeaderValue,
    cache_control: HeaderValue,
    last_modified: SystemTime,
}

impl CardDocument {
    /// Prepares a card that may be kept for 5 minutes and was changed now.
    ///
    /// # Errors
    ///
    /// [`Internal`](a2a_core::ErrorKind::Internal) where the card has no JSON form.
    pub fn new(card: &AgentCard) -> Result<Self> {
        let json = serde_json::to_vec(card).map_err(Error::internal)?;
        Ok(Self::from_json(json))
    }

    /// Prepares a card that is JSON already.
    pub fn from_json(json: impl Into<Bytes>) -> Self {
        let json = json.into();
        let etag = etag(&json);
        let document = Self {
            json,
            etag,
            cache_control: HeaderValue::from_static("public"),
            last_modified: SystemTime::now(),
        };
        document.with_max_age(MAX_AGE)
    }

    /// Sets how long the card may be kept by those who fetch it.
    #[must_use]
    pub fn with_max_age(mut self, age: Duration) -> Self {
        let text = format!("public, max-age={}", age.as_secs());
        if let Ok(value) = HeaderValue::try_from(text) {
            self.cache_control = value;
        }
        self
    }

    /// Sets when the card was last changed.
    #[must_use]
    pub fn with_last_modified(mut self, time: SystemTime) -> Self {
        self.last_modified = time;
        self
    }

    /// The card as JSON.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// Answers a GET with these headers: with the card, or with 304 where the caller has it.
    pub fn respond(&self, headers: &HeaderMap) -> Response<Body> {
        let unchanged = self.is_known(headers);
        let body = if unchanged { Body::empty() } else { Body::from(self.json.clone()) };
        let mut response = Response::new(body);
        if unchanged {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            response.headers_mut().insert(CONTENT_TYPE, media::JSON);
        }
        let headers = response.headers_mut();
        headers.insert(ETAG, self.etag.clone());
        headers.insert(CACHE_CONTROL, self.cache_control.clone());
        if let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(self.last_modified)) {
            headers.insert(LAST_MODIFIED, date);
        }
        response
    }

    /// Serves the card at [`WELL_KNOWN_PATH`].
    pub fn into_router(self) -> Router {
        self.into_router_at(WELL_KNOWN_PATH)
    }

    /// Serves the card at `path`, to every origin: GET and HEAD.
    pub fn into_router_at(self, path: &str) -> Router {
        let cors = CorsLayer::new()
            .allow_origin(Any)
            .allow_methods([http::Method::GET, http::Method::HEAD])
            .allow_headers(Any)
            .expose_headers([ETAG, LAST_MODIFIED]);
        let answer = async move |headers: HeaderMap| self.respond(&headers);
        Router::new().route(path, get(answer).layer(cors))
    }

    /// Returns whether the caller has this version of the card (RFC 9110 §13.2.2).
    fn is_known(&self, headers: &HeaderMap) -> bool {
        if headers.contains_key(IF_NONE_MATCH) {
            return headers
                .get_all(IF_NONE_MATCH)
                .iter()
                .filter_map(|line| line.to_str().ok())
                .flat_map(|line| line.split(','))
                .map(|tag| tag.trim().trim_start_matches("W/"))
                .any(|tag| tag == "*" || tag.as_bytes() == self.etag.as_bytes());
        }
        let Some(since) = headers.get(IF_MODIFIED_SINCE) else { return false };
        let since = since.to_str().ok().and_then(|text| httpdate::parse_http_date(text).ok());
        // A date on the wire has no fractions of a second.
        since.is_some_and(|since| self.last_modified < since + Duration::from_secs(1))
    }
}

/// A strong tag from the content: the same on every node that serves the same card.
fn etag(json: &[u8]) -> HeaderValue {
    let digest = ring::digest::digest(&ring::digest::SHA256, json);
    let mut tag = String::from("\"");
    for byte in &digest.as_ref()[..16] {
        tag.push_str(&format!("{byte:02x}"));
    }
    tag.push('"');
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"card\""))
}

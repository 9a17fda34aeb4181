//! Serves the agent card at its well-known path (spec §8.2, §8.6).

use std::time::{Duration, SystemTime};

use a2a_core::{AgentCard, Error, Result};
use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use derive_setters::Setters;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED},
};
use tower_http::cors::{Any, CorsLayer};

use crate::content_type;

/// Path of the agent card on every agent.
pub const WELL_KNOWN_PATH: &str = "/.well-known/agent-card.json";

/// Default `max-age` of a card.
const MAX_AGE: Duration = Duration::from_secs(300);

/// Serves a card at [`WELL_KNOWN_PATH`], readable from every origin.
///
/// # Errors
///
/// [`Internal`](a2a_core::ErrorKind::Internal) if the card cannot be serialized.
pub fn router(card: AgentCard) -> Result<Router> {
    Ok(CardDocument::new(&card)?.into_router())
}

/// A serialized card with its response headers.
#[doc(hidden)]
#[derive(Clone, Debug, Setters)]
#[setters(generate = false)]
pub struct CardDocument {
    json: Bytes,
    etag: HeaderValue,
    cache_control: HeaderValue,
    /// Sets `Last-Modified`.
    #[setters(generate, rename = "with_last_modified")]
    last_modified: SystemTime,
    /// Omits the CORS layer, which allows every origin to read the card, so that an outer layer
    /// can set the policy.
    #[setters(generate, bool)]
    without_cors: bool,
}

impl CardDocument {
    /// Serializes a card, with a `max-age` of 5 minutes and the current time as `Last-Modified`.
    ///
    /// # Errors
    ///
    /// [`Internal`](a2a_core::ErrorKind::Internal) if the card cannot be serialized.
    pub fn new(card: &AgentCard) -> Result<Self> {
        let json = serde_json::to_vec(card).map_err(Error::internal)?;
        Ok(Self::from_json(json))
    }

    /// Creates a document from a card in JSON.
    pub fn from_json(json: impl Into<Bytes>) -> Self {
        let json = json.into();
        let etag = etag(&json);
        let document = Self {
            json,
            etag,
            cache_control: HeaderValue::from_static("public"),
            last_modified: SystemTime::now(),
            without_cors: false,
        };
        document.with_max_age(MAX_AGE)
    }

    /// Sets the `max-age` for caches.
    #[must_use]
    pub fn with_max_age(mut self, age: Duration) -> Self {
        let text = format!("public, max-age={}", age.as_secs());
        if let Ok(value) = HeaderValue::try_from(text) {
            self.cache_control = value;
        }
        self
    }

    /// Returns the card as JSON.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// Responds to a GET with these headers: with the card, or 304 if the cached copy is current.
    pub fn respond(&self, headers: &HeaderMap) -> Response<Body> {
        let unchanged = self.is_not_modified(headers);
        let body = if unchanged { Body::empty() } else { Body::from(self.json.clone()) };
        let mut response = Response::new(body);
        if unchanged {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            response.headers_mut().insert(CONTENT_TYPE, content_type::JSON);
        }
        let headers = response.headers_mut();
        headers.insert(ETAG, self.etag.clone());
        headers.insert(CACHE_CONTROL, self.cache_control.clone());
        if let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(self.last_modified)) {
            headers.insert(LAST_MODIFIED, date);
        }
        response
    }

    /// Returns a router that serves the card at [`WELL_KNOWN_PATH`].
    pub fn into_router(self) -> Router {
        self.into_router_at(WELL_KNOWN_PATH)
    }

    /// Returns a router that serves GET and HEAD at `path`, also with a slash after it, which some
    /// clients add to every URL.
    pub fn into_router_at(self, path: &str) -> Router {
        let cors = CorsLayer::new()
            .allow_origin(Any)
            .allow_methods([http::Method::GET, http::Method::HEAD])
            .allow_headers(Any)
            .expose_headers([ETAG, LAST_MODIFIED]);
        let without_cors = self.without_cors;
        let route = get(async move |headers: HeaderMap| self.respond(&headers));
        let route = if without_cors { route } else { route.layer(cors) };
        Router::new().route(path, route.clone()).route(&format!("{path}/"), route)
    }

    /// Evaluates the preconditions of a request (RFC 9110 §13.2.2).
    fn is_not_modified(&self, headers: &HeaderMap) -> bool {
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
        // HTTP dates have no fractions of a second.
        since.is_some_and(|since| self.last_modified < since + Duration::from_secs(1))
    }
}

/// Returns a strong entity tag from a hash of the content: nodes with the same card agree on it.
fn etag(json: &[u8]) -> HeaderValue {
    let digest = ring::digest::digest(&ring::digest::SHA256, json);
    let mut tag = String::from("\"");
    for byte in &digest.as_ref()[..16] {
        tag.push_str(&format!("{byte:02x}"));
    }
    tag.push('"');
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("\"card\""))
}

#[cfg(test)]
mod tests {
    use http::{Method, Request, header};
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn send(
        method: Method,
        lines: &[(&'static str, &str)],
    ) -> (StatusCode, HeaderMap, Bytes) {
        let changed = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let document = CardDocument::new(&AgentCard::new("Echo", "Says what it hears")).unwrap();
        // Half a second, which `Last-Modified` cannot represent.
        let document = document.with_last_modified(changed + Duration::from_millis(500));
        let mut request = Request::builder().method(method).uri(WELL_KNOWN_PATH);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = document.into_router().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        (head.status, head.headers, body.collect().await.unwrap().to_bytes())
    }

    #[tokio::test]
    async fn card_is_readable_from_every_origin() {
        let (status, headers, body) = send(Method::GET, &[("origin", "https://a.example")]).await;
        assert_eq!(status, 200);
        assert_eq!(headers[CONTENT_TYPE], "application/json");
        assert_eq!(headers[CACHE_CONTROL], "public, max-age=300");
        assert_eq!(headers[LAST_MODIFIED], "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], "*");
        let card: AgentCard = a2a_core::json::from_slice(&body).unwrap();
        assert_eq!(card.name, "Echo");
        let etag = headers[ETAG].to_str().unwrap();
        assert!(etag.len() == 34 && etag.starts_with('"') && etag.ends_with('"'), "{etag}");

        let (status, head, nothing) = send(Method::HEAD, &[]).await;
        assert_eq!((status, nothing.len()), (StatusCode::OK, 0));
        assert_eq!(head[ETAG], headers[ETAG]);
        assert_eq!(head[header::CONTENT_LENGTH], body.len().to_string().as_str());
    }

    #[tokio::test]
    async fn matching_precondition_returns_not_modified() {
        let (_, headers, _) = send(Method::GET, &[]).await;
        let etag = headers[ETAG].to_str().unwrap();
        let weak = format!("\"other\", W/{etag}");
        for (name, value, known) in [
            ("if-none-match", etag, true),
            ("if-none-match", &weak, true),
            ("if-none-match", "*", true),
            ("if-none-match", "\"other\"", false),
            ("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT", true),
            ("if-modified-since", "Sun, 06 Nov 1994 08:49:36 GMT", false),
            ("if-modified-since", "Sat, 06 Nov 2094 08:49:36 GMT", true),
            ("if-modified-since", "yesterday", false),
        ] {
            let (status, headers, body) = send(Method::GET, &[(name, value)]).await;
            let expected = if known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
            assert_eq!(status, expected, "{name}: {value}");
            assert_eq!(body.is_empty(), known, "{name}: {value}");
            assert!(headers.contains_key(ETAG) && headers.contains_key(CACHE_CONTROL));
        }
        let both = [
            ("if-none-match", "\"other\""),
            ("if-modified-since", "Sat, 06 Nov 2094 08:49:36 GMT"),
        ];
        assert_eq!(send(Method::GET, &both).await.0, 200, "If-None-Match takes precedence");
    }

    #[tokio::test]
    async fn other_methods_return_method_not_allowed() {
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let (status, headers, _) = send(method, &[]).await;
            assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
            assert_eq!(headers[header::ALLOW], "GET,HEAD");
        }
        let preflight = [("origin", "https://a.example"), ("access-control-request-method", "GET")];
        let (status, headers, _) = send(Method::OPTIONS, &preflight).await;
        assert_eq!(status, 200);
        assert_eq!(headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], "*");
    }

    #[test]
    fn etag_changes_only_with_the_card() {
        let tag = |name: &str| CardDocument::new(&AgentCard::new(name, "x")).unwrap().etag;
        assert_eq!(tag("a"), tag("a"));
        assert_ne!(tag("a"), tag("b"));
    }
}

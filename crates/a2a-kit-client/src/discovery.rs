//! Discovery of agent cards.

use std::{path::PathBuf, sync::Arc};

use a2a_core::{
    AgentCard, Error, ErrorKind,
    json::{quote, response_text},
};
use a2a_kit_auth::client::Origin;
use a2a_kit_http::{
    client::{ClientSettings, HttpClient},
    content_type, error_body, service_parameters, uri,
};
use a2a_kit_operations::CallContext;
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, LOCATION, WWW_AUTHENTICATE},
};

use crate::{
    CardCache, CardReference, CatalogLocation, DiscoveryError, Document, SignaturePolicy,
    card_cache::Lookup, card_reference::WELL_KNOWN, catalog::CatalogEntry,
};

/// Fetches agent cards, with an HTTP cache.
#[derive(Clone, Debug)]
pub struct Discovery {
    http: HttpClient,
    cache: Option<CardCache>,
    signatures: SignaturePolicy,
    max_bytes: usize,
}

/// The well-known path of agent cards before 0.3.
const LEGACY_PATH: &str = "/.well-known/agent.json";

/// The legacy URL of a card at the well-known path.
fn legacy_url(url: &Uri) -> Option<Uri> {
    let place = url.path().strip_suffix(WELL_KNOWN)?;
    uri::with_path(url, &format!("{place}{LEGACY_PATH}")).ok()
}

/// The well-known URL below the path of an agent, unless the URL is that of a document.
fn well_known_below(url: &Uri) -> Option<Uri> {
    let path = url.path().trim_end_matches('/');
    if path.is_empty() || path.ends_with(".json") || url.query().is_some() {
        return None;
    }
    uri::with_path(url, &format!("{path}{WELL_KNOWN}")).ok()
}

/// The maximum size of a card, in bytes.
pub(crate) const MAX_CARD_BYTES: usize = 1 << 20;

impl Discovery {
    /// Creates a discovery client with the timeouts and headers of `settings`. It accepts cards of
    /// up to 1 MiB.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError::Setup`] if the settings are unusable.
    pub fn new(settings: ClientSettings) -> Result<Self, DiscoveryError> {
        HttpClient::new(settings).map(Self::with_http).map_err(DiscoveryError::Setup)
    }

    /// Creates a discovery client that shares the connections of an HTTP client.
    pub fn with_http(http: HttpClient) -> Self {
        let max_bytes = http.settings().max_response_bytes.min(MAX_CARD_BYTES);
        let http = http.with_max_response_bytes(max_bytes);
        let signatures = SignaturePolicy::Off;
        Self { http, cache: Some(CardCache::new()), signatures, max_bytes }
    }

    /// Sets a shared cache; `None` disables caching.
    #[must_use]
    pub fn with_cache(mut self, cache: impl Into<Option<CardCache>>) -> Self {
        self.cache = cache.into();
        self
    }

    /// Sets how signatures of cards are verified. Default: not at all.
    ///
    /// They are verified on every fetch, as a key may have expired since the card was cached.
    #[must_use]
    pub fn with_signatures(mut self, policy: SignaturePolicy) -> Self {
        self.signatures = policy;
        self
    }

    /// Fetches and validates a card.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`], with every violation if the card is invalid.
    pub async fn discover(&self, reference: &str) -> Result<Arc<AgentCard>, DiscoveryError> {
        self.fetch(&reference.parse()?).await?.valid()
    }

    /// Fetches a card without validating it beyond its schema, and its signatures as configured.
    ///
    /// Falls back from the well-known path to the well-known path of versions before 0.3. At a URL
    /// with a path, the card is that document or at the well-known path below it, which is tried
    /// first if the last segment has no dot.
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] if there is no card.
    pub async fn fetch(&self, reference: &CardReference) -> Result<Document, DiscoveryError> {
        self.signatures.apply(self.fetch_unverified(reference).await?).await
    }

    /// Replaces a reference to an entry of a catalog by the reference in that entry, for
    /// applications that need the origin of the card before they fetch it. Other references, and
    /// entries that contain the card, are returned unchanged. For the reference that a server names,
    /// set its origin with [`ClientBuilder::card_origin`](crate::ClientBuilder::card_origin).
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] if there is no such catalog or entry.
    pub async fn resolve(&self, reference: CardReference) -> Result<CardReference, DiscoveryError> {
        let CardReference::Catalog { catalog, name } = &reference else { return Ok(reference) };
        match self.catalog_entry(catalog, name).await? {
            CatalogEntry::Reference(found) => Ok(found),
            CatalogEntry::Card(_) => Ok(reference),
        }
    }

    pub(crate) async fn catalog_entry(
        &self,
        catalog: &CatalogLocation,
        name: &str,
    ) -> Result<CatalogEntry, DiscoveryError> {
        let json = match catalog {
            CatalogLocation::File(path) => self.read_bytes(path.clone()).await?,
            CatalogLocation::Url(url) => {
                let response = self.send(url, HeaderMap::new()).await?;
                self.check(url, &response)?;
                response.into_body()
            }
        };
        catalog.find(&json, name)
    }

    /// The client for an entry of a catalog: one at another origin does not get the headers that
    /// the application has set.
    fn for_entry(&self, catalog: &CatalogLocation, found: &CardReference) -> Self {
        let mut discovery = self.clone();
        if let (CatalogLocation::Url(catalog), CardReference::Url(found)) = (catalog, found)
            && Origin::of(catalog) != Origin::of(found)
        {
            discovery.http = discovery.http.with_headers(HeaderMap::new());
        }
        discovery
    }

    async fn fetch_unverified(
        &self,
        reference: &CardReference,
    ) -> Result<Document, DiscoveryError> {
        match reference {
            CardReference::Catalog { catalog, name } => {
                match self.catalog_entry(catalog, name).await? {
                    CatalogEntry::Card(document) => Ok(*document),
                    // It is not another catalog.
                    CatalogEntry::Reference(found) => {
                        let discovery = self.for_entry(catalog, &found);
                        Box::pin(discovery.fetch_unverified(&found)).await
                    }
                }
            }
            CardReference::File(path) => card(self.read_bytes(path.clone()).await?),
            CardReference::Url(url) => {
                use DiscoveryError::{Denied, NotACard, NotFound, Status, WebPage};
                let Some(below) = well_known_below(url) else {
                    return self.get_or_legacy(url).await;
                };
                // A name without a dot is rather that of an agent than of a document.
                let is_document = url.path().rsplit('/').next().is_some_and(|it| it.contains('.'));
                let (first, second) = if is_document { (url, &below) } else { (&below, url) };
                let failed = match self.get_or_legacy(first).await {
                    // The server is there, but this is not a card.
                    Err(
                        error @ (Denied { .. }
                        | NotACard(_)
                        | NotFound(_)
                        | Status { .. }
                        | WebPage(_)),
                    ) => error,
                    result => return result,
                };
                let other = match self.get_or_legacy(second).await {
                    Err(error) => error,
                    document => return document,
                };
                // The error is that of the given URL.
                Err(match if is_document { (failed, other) } else { (other, failed) } {
                    (Status { .. }, NotFound(_)) => NotFound(url.clone()),
                    (of_url, _) => of_url,
                })
            }
        }
    }

    async fn get_or_legacy(&self, url: &Uri) -> Result<Document, DiscoveryError> {
        match (self.get(url).await, legacy_url(url)) {
            (Err(DiscoveryError::NotFound(missing)), Some(legacy)) => {
                match self.get(&legacy).await {
                    Ok(document) => Ok(Document { is_at_legacy_path: true, ..document }),
                    // The error names the requested URL.
                    Err(DiscoveryError::NotFound(_)) => Err(DiscoveryError::NotFound(missing)),
                    Err(error) => Err(error),
                }
            }
            (result, _) => result,
        }
    }

    async fn read_bytes(&self, path: PathBuf) -> Result<Bytes, DiscoveryError> {
        let file = |source| DiscoveryError::File { path: path.clone(), source };
        let length = tokio::fs::metadata(&path).await.map_err(file)?.len();
        if usize::try_from(length).map_or(true, |length| length > self.max_bytes) {
            return Err(DiscoveryError::TooLarge { limit: self.max_bytes });
        }
        Ok(tokio::fs::read(&path).await.map_err(file)?.into())
    }

    /// Returns whether requests carry a credential. Responses to them are not cached.
    fn is_authenticated(&self) -> bool {
        let settings = self.http.settings();
        let is_secret = |name: &HeaderName, value: &HeaderValue| {
            value.is_sensitive() || *name == AUTHORIZATION || *name == COOKIE
        };
        settings.headers.iter().any(|(name, value)| is_secret(name, value))
    }

    async fn get(&self, url: &Uri) -> Result<Document, DiscoveryError> {
        let cache = self.cache.as_ref().filter(|_| !self.is_authenticated());
        let lookup = match cache {
            Some(cache) => cache.look_up(url).await,
            None => Lookup::Absent,
        };
        let (cached, conditions) = match lookup {
            Lookup::Fresh(document) => return Ok(document),
            Lookup::Stale(document, conditions) => (Some(document), conditions),
            Lookup::Absent => (None, Vec::new()),
        };
        let response = self.send(url, HeaderMap::from_iter(conditions)).await?;
        if let (StatusCode::NOT_MODIFIED, Some(document)) = (response.status(), cached) {
            if let Some(cache) = cache {
                cache.refresh(url, response.headers()).await;
            }
            return Ok(document);
        }
        self.check(url, &response)?;
        let (head, body) = response.into_parts();
        if is_html(&head.headers) {
            return Err(DiscoveryError::WebPage(url.clone()));
        }
        let document = card(body)?;
        if let Some(cache) = cache {
            cache.store(url, &head.headers, &document).await;
        }
        Ok(document)
    }

    /// Requests a document.
    async fn send(
        &self,
        url: &Uri,
        mut headers: HeaderMap,
    ) -> Result<Response<Bytes>, DiscoveryError> {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        service_parameters::write(&CallContext::default(), &mut headers);
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = url.clone();
        *request.headers_mut() = headers;
        self.http.send(request).await.map_err(|error| match error.kind() {
            ErrorKind::InvalidAgentResponse => DiscoveryError::TooLarge { limit: self.max_bytes },
            _ => DiscoveryError::Unreachable { url: url.clone(), source: error },
        })
    }

    /// Checks that a response has a document.
    fn check(&self, url: &Uri, response: &Response<Bytes>) -> Result<(), DiscoveryError> {
        let header = |name: HeaderName| {
            let line = response.headers().get(name)?;
            line.to_str().ok().map(str::to_owned)
        };
        let status = response.status();
        match status {
            _ if status.is_success() => {
                content_type::require_identity(response.headers()).map_err(DiscoveryError::NotACard)
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => Err(DiscoveryError::NotFound(url.clone())),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(DiscoveryError::Denied {
                url: url.clone(),
                status: status.as_u16(),
                challenge: header(WWW_AUTHENTICATE),
                is_authenticated: self.is_authenticated(),
            }),
            _ => Err(DiscoveryError::Status {
                url: url.clone(),
                status: status.as_u16(),
                location: header(LOCATION).filter(|_| status.is_redirection()).map(Into::into),
                reason: error_body::said(status, response.headers(), response.body()),
            }),
        }
    }
}

/// Reads a card.
///
/// # Errors
///
/// [`DiscoveryError::NotACard`] also for a document that has nothing of a card.
fn card(json: Bytes) -> Result<Document, DiscoveryError> {
    let document = Document::read(json)?;
    let card = &document.card;
    if card.name.is_empty() && card.supported_interfaces.is_empty() {
        let shown = quote(&response_text(&document.json));
        let message = format!("name and supportedInterfaces are missing: {shown}");
        return Err(DiscoveryError::NotACard(Error::new(ErrorKind::InvalidAgentResponse, message)));
    }
    Ok(document)
}

/// Returns whether a response is a web page.
fn is_html(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|line| line.to_str().ok());
    let essence = content_type.and_then(|line| line.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("text/html"))
}

/// Fetches and validates the card at `reference`, with default settings.
///
/// # Errors
///
/// [`DiscoveryError`].
pub async fn discover(reference: &str) -> Result<Arc<AgentCard>, DiscoveryError> {
    Discovery::new(ClientSettings::default())?.discover(reference).await
}

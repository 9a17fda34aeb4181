//! Fetching the card of an agent with the settings of its client.

use a2a_kit_auth::client::Origin;
use a2a_kit_http::client::{ClientSettings, HttpClient};
use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};

use crate::{
    CardReference, CatalogLocation, ClientBuilder, Discovery, DiscoveryError, Document,
    catalog::CatalogEntry,
};

impl ClientBuilder {
    /// Fetches the card at `reference` without validating it, for applications that inspect or
    /// change it before [`build`](Self::build). Sets [`card_origin`](Self::card_origin): the origin of
    /// the card or, for an entry of a catalog on a server, that of the catalog.
    ///
    /// The request has no credentials. If the server rejects it with a challenge for which the
    /// [`credentials`](Self::credentials) have a source, it is retried once with that credential.
    /// A card at another origin than that of its catalog gets neither a credential nor the
    /// [headers for cards](Self::card_header) and the client certificate, unless that origin is
    /// [trusted](Self::trusted_origin).
    ///
    /// # Errors
    ///
    /// [`DiscoveryError`] if there is no card.
    pub async fn fetch_card(&mut self, reference: &str) -> Result<Document, DiscoveryError> {
        let mut reference = reference.parse()?;
        let mut http = self.http_client().map_err(DiscoveryError::Setup)?;
        self.http = Some(http.clone());
        let mut catalog_origin = None;
        if let CardReference::Catalog { catalog, name } = &reference {
            // Credentials for the agent are not sent to its catalog.
            let http = http.clone().with_headers(HeaderMap::new());
            let discovery = Discovery::with_http(http.with_request_timeout(self.timeouts.request));
            if let CatalogLocation::Url(url) = catalog {
                catalog_origin = Origin::of(url);
                self.card_origin.clone_from(&catalog_origin);
            }
            match discovery.catalog_entry(catalog, name).await? {
                CatalogEntry::Reference(found) => reference = found,
                CatalogEntry::Card(document) => return self.signatures.apply(*document).await,
            }
        }
        let mut is_trusted = true;
        if let CardReference::Url(url) = &reference {
            let origin = Origin::of(url);
            let named_by = catalog_origin.or_else(|| self.named_by.clone());
            self.card_origin = named_by.or_else(|| origin.clone());
            let trusted = self.trusted_origins();
            is_trusted =
                origin.is_some_and(|one| trusted.iter().any(|other| other.is_equivalent(&one)));
        }
        if !is_trusted && self.settings.tls.has_identity() {
            let tls = self.settings.tls.clone().without_identity();
            let anonymous = self.connection_settings().with_tls(tls);
            http = HttpClient::new(anonymous).map_err(DiscoveryError::Setup)?;
        }
        let card_headers = if is_trusted { self.card_headers.clone() } else { HeaderMap::new() };
        let fetch = async |headers: HeaderMap| {
            let http = http.clone().with_headers(headers);
            Discovery::with_http(http.with_request_timeout(self.timeouts.request))
                .with_cache(self.cache.clone())
                .with_signatures(self.signatures.clone())
                .fetch(&reference)
                .await
        };
        let denied = match fetch(card_headers.clone()).await {
            Err(error) if is_trusted => error,
            document => return document,
        };
        match self.card_authorization(&denied).await? {
            None => Err(denied),
            Some(authorization) => {
                let mut headers = card_headers;
                headers.insert(AUTHORIZATION, authorization);
                fetch(headers).await
            }
        }
    }

    /// The authorization that the server of the card asks for, if the credentials have a source
    /// for it.
    async fn card_authorization(
        &self,
        error: &DiscoveryError,
    ) -> Result<Option<HeaderValue>, DiscoveryError> {
        let DiscoveryError::Denied { challenge: Some(challenge), .. } = error else {
            return Ok(None);
        };
        let (Some(credentials), Some(origin)) = (&self.credentials, &self.card_origin) else {
            return Ok(None);
        };
        let credential = credentials.for_challenge(challenge, origin).await;
        let credential = credential.map_err(DiscoveryError::Credentials)?;
        let value = credential.as_ref().and_then(|credential| credential.authorization());
        let Some(mut value) = value.and_then(|value| HeaderValue::try_from(value).ok()) else {
            return Ok(None);
        };
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// The HTTP client that fetched the card, or a new one.
    pub(crate) fn http_client(&self) -> a2a_core::Result<HttpClient> {
        match &self.http {
            Some(http) => Ok(http.clone()),
            None => HttpClient::new(self.connection_settings()),
        }
    }

    fn connection_settings(&self) -> ClientSettings {
        let settings = self.settings.clone().with_connect_timeout(self.timeouts.connect);
        settings.with_idle_timeout(self.timeouts.idle)
    }
}

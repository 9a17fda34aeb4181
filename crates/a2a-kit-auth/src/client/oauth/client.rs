//! OAuth clients.

use std::sync::Arc;

use a2a_core::{ParseError, v1::security_scheme::Scheme};
use a2a_kit_http::{client::HttpClient, tls::ClientTls};
use derive_setters::Setters;
use http::Uri;

use super::{
    Endpoints,
    endpoints::{flow, secure},
    provider_metadata,
};
use crate::{
    client::{CredentialError, CredentialRequest, Origin, static_credentials::uses_bearer_token},
    fetch::{self, OPENID_CONFIGURATION},
};

/// An OAuth client: its id, its secret if it has one, and the authorization servers that it trusts
/// with them.
///
/// A malicious card could name any authorization server. So a server that a card names has to be
/// [trusted](Self::with_trusted); alternatively, configure the [endpoints](Self::with_endpoints) or
/// the [issuer](Self::with_issuer), which override those of cards.
#[derive(Clone, Setters)]
#[setters(prefix = "with_", generate = false)]
#[must_use]
pub struct OAuthClient {
    pub(super) id: String,
    pub(super) secret: Option<Arc<str>>,
    /// Sends the secret in the body of requests, for servers that don't accept it in
    /// `Authorization`.
    #[setters(generate, bool)]
    pub(super) secret_in_body: bool,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) parameters: Vec<(&'static str, String)>,
    pub(super) http: HttpClient,
    trusted: Vec<Origin>,
    /// Trusts every authorization server that a card names, for a card that the user vouches for,
    /// for example by a login at its agent. If the card combines servers, so that a user signs in at
    /// one and another receives the code or the tokens, the receiver has to be
    /// [trusted](Self::with_trusted) by name; with device codes, both.
    #[setters(generate, bool, rename = "with_trusted_cards")]
    pub(super) trusts_cards: bool,
    /// Sets the endpoints, in place of those in cards.
    #[setters(generate, strip_option)]
    endpoints: Option<Endpoints>,
    issuer: Option<String>,
}

impl OAuthClient {
    /// Creates a public client, which has no secret (RFC 6749 §2.1).
    ///
    /// # Errors
    ///
    /// [`CredentialError::Unavailable`] if the TLS configuration is invalid.
    pub fn public(id: impl Into<String>) -> Result<Self, CredentialError> {
        Self::new(id.into(), None)
    }

    /// Creates a confidential client, which has a secret.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Unavailable`] if the TLS configuration is invalid.
    pub fn confidential(
        id: impl Into<String>,
        secret: impl Into<Arc<str>>,
    ) -> Result<Self, CredentialError> {
        Self::new(id.into(), Some(secret.into()))
    }

    fn new(id: String, secret: Option<Arc<str>>) -> Result<Self, CredentialError> {
        Ok(Self {
            id,
            secret,
            secret_in_body: false,
            scopes: None,
            parameters: Vec::new(),
            http: http(ClientTls::new())?,
            trusted: Vec::new(),
            trusts_cards: false,
            endpoints: None,
            issuer: None,
        })
    }

    /// Sets the TLS configuration for authorization servers: trust anchors, and the client
    /// certificate for mutual TLS (RFC 8705). Default: the platform's trust store, no client
    /// certificate. For agents, see
    /// [`ClientSettings::tls`](a2a_kit_http::client::ClientSettings::tls).
    ///
    /// # Errors
    ///
    /// [`CredentialError::Unavailable`] if the TLS configuration is invalid.
    pub fn with_tls(mut self, tls: ClientTls) -> Result<Self, CredentialError> {
        self.http = http(tls)?;
        Ok(self)
    }

    /// Trusts an authorization server, such as `https://login.example`, if a card names it.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the text is not an origin.
    pub fn with_trusted(mut self, origin: &str) -> Result<Self, ParseError> {
        self.trusted.push(origin.parse()?);
        Ok(self)
    }

    /// Sets the issuer, in place of the endpoints in cards. Its OpenID Connect metadata is fetched.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Insecure`].
    pub fn with_issuer(mut self, issuer: &str) -> Result<Self, CredentialError> {
        secure("issuer", issuer)?;
        self.issuer = Some(issuer.to_owned());
        Ok(self)
    }

    /// Requests these scopes in place of those that cards require.
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item: Into<String>>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the resource indicator: the URI of the service that the token is for (RFC 8707).
    pub fn with_resource(mut self, resource: impl Into<String>) -> Self {
        self.parameters.push(("resource", resource.into()));
        self
    }

    /// Sets the audience: the authorization server's name of the service that the token is for.
    pub fn with_audience(mut self, audience: impl Into<String>) -> Self {
        self.parameters.push(("audience", audience.into()));
        self
    }

    /// Returns whether the endpoints are configured rather than taken from cards.
    pub(super) fn is_configured(&self) -> bool {
        self.endpoints.is_some() || self.issuer.is_some()
    }

    /// Returns whether tokens for a scheme can be obtained: by configuration, by OpenID Connect, or
    /// by a flow that `is_usable`.
    pub(super) fn supports(
        &self,
        scheme: &Scheme,
        is_usable: impl FnOnce(&a2a_core::v1::o_auth_flows::Flow) -> bool,
    ) -> bool {
        if self.is_configured() {
            return uses_bearer_token(scheme);
        }
        matches!(scheme, Scheme::OpenIdConnectSecurityScheme(_))
            || flow(scheme).is_some_and(is_usable)
    }

    /// Returns the endpoints for a request: the configured ones, or those of the scheme, with
    /// OpenID Connect from the metadata of its provider.
    ///
    /// # Errors
    ///
    /// [`CredentialError`] if they are unknown, insecure or untrusted.
    pub async fn endpoints(
        &self,
        request: &CredentialRequest,
    ) -> Result<Endpoints, CredentialError> {
        if let Some(endpoints) = &self.endpoints {
            return Ok(endpoints.clone());
        }
        if let Some(issuer) = &self.issuer {
            let address = format!("{}{OPENID_CONFIGURATION}", issuer.trim_end_matches('/'));
            return provider_metadata::read(&self.http, &secure("issuer", &address)?).await;
        }
        match &request.scheme {
            Scheme::Oauth2SecurityScheme(scheme) => {
                let endpoints = Endpoints::of_scheme(scheme)?;
                for (what, url) in endpoints.all() {
                    self.trust(what, url)?;
                }
                Ok(endpoints)
            }
            Scheme::OpenIdConnectSecurityScheme(scheme) => {
                let what = "OpenID Connect URL";
                let address = secure(what, &scheme.open_id_connect_url)?;
                self.trust(what, &address)?;
                provider_metadata::read(&self.http, &address).await
            }
            Scheme::ApiKeySecurityScheme(_)
            | Scheme::HttpAuthSecurityScheme(_)
            | Scheme::MtlsSecurityScheme(_) => Err(CredentialError::Missing("token URL")),
        }
    }

    fn trust(&self, what: &'static str, url: &Uri) -> Result<(), CredentialError> {
        let insecure = || CredentialError::Insecure { what, url: url.to_string() };
        let origin = Origin::of(url).ok_or_else(insecure)?;
        if self.trusts_cards || self.is_trusted(&origin) {
            return Ok(());
        }
        Err(CredentialError::Untrusted { what, origin })
    }

    pub(super) fn is_trusted(&self, origin: &Origin) -> bool {
        self.trusted.iter().any(|trusted| trusted.is_equivalent(origin))
    }

    /// The `scope` parameter; empty for none.
    pub(super) fn scope(&self, request: &CredentialRequest) -> String {
        self.scopes.as_ref().unwrap_or(&request.scopes).join(" ")
    }
}

fn http(tls: ClientTls) -> Result<HttpClient, CredentialError> {
    fetch::direct_client(tls).map_err(CredentialError::unavailable)
}

a2a_core::debug_fields!(OAuthClient { id, .. });

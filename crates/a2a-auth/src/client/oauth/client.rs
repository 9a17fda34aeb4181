//! What an application is at an authorization server.

use std::{fmt, sync::Arc};

use a2a_core::v1::security_scheme::Scheme;
use a2a_http::{client::HttpClient, tls::ClientTls};

use super::{
    AuthorizationRequest, Endpoints,
    endpoints::{flow, secure},
    metadata,
};
use crate::{
    client::{CredentialError, Demand, Origin, UnknownOrigin, fixed::takes_bearer},
    fetch,
};

/// What an application is at an authorization server: its id, its secret if it can keep one, and
/// which servers it trusts with that.
///
/// A card says where tokens come from, and whoever writes it could say anything. So a server that
/// is found through a card has to be [named](Self::with_trusted); the alternative is to
/// [say](Self::with_endpoints) where tokens come from, or [who issues](Self::with_issuer) them,
/// whatever cards say.
#[derive(Clone)]
#[must_use]
pub struct OAuthClient {
    pub(super) id: String,
    pub(super) secret: Option<Arc<str>>,
    pub(super) secret_in_body: bool,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) parameters: Vec<(&'static str, String)>,
    pub(super) http: HttpClient,
    trusted: Vec<Origin>,
    endpoints: Option<Endpoints>,
    issuer: Option<String>,
}

impl OAuthClient {
    /// Creates a client without a secret, as those that run where users can look into them.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Unavailable`] where TLS can't be set up.
    pub fn public(id: impl Into<String>) -> Result<Self, CredentialError> {
        Self::new(id.into(), None)
    }

    /// Creates a client with a secret.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Unavailable`] where TLS can't be set up.
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
            endpoints: None,
            issuer: None,
        })
    }

    /// Sets whose certificates are believed at authorization servers, and the certificate to show
    /// them: roots of one's own, and mutual TLS (RFC 8705). Default: what the platform trusts,
    /// and none. It is what [`ClientSettings::tls`](a2a_http::client::ClientSettings::tls) is for
    /// agents.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Unavailable`] where TLS can't be set up.
    pub fn with_tls(mut self, tls: ClientTls) -> Result<Self, CredentialError> {
        self.http = http(tls)?;
        Ok(self)
    }

    /// Trusts an authorization server, as `https://login.example`, where a card names it.
    ///
    /// # Errors
    ///
    /// [`UnknownOrigin`] where the text names none.
    pub fn with_trusted(mut self, origin: &str) -> Result<Self, UnknownOrigin> {
        self.trusted.push(origin.parse()?);
        Ok(self)
    }

    /// Says where tokens come from, in place of what cards say.
    pub fn with_endpoints(mut self, endpoints: Endpoints) -> Self {
        self.endpoints = Some(endpoints);
        self
    }

    /// Says who issues tokens, in place of what cards say: its OpenID Connect metadata is read.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Insecure`].
    pub fn with_issuer(mut self, issuer: &str) -> Result<Self, CredentialError> {
        secure("issuer", issuer)?;
        self.issuer = Some(issuer.to_owned());
        Ok(self)
    }

    /// Asks for these scopes in place of those that cards require.
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item: Into<String>>) -> Self {
        self.scopes = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Says which service the token is for, by its URI (RFC 8707).
    pub fn with_resource(mut self, resource: impl Into<String>) -> Self {
        self.parameters.push(("resource", resource.into()));
        self
    }

    /// Says which service the token is for, by the name that the authorization server has for it.
    pub fn with_audience(mut self, audience: impl Into<String>) -> Self {
        self.parameters.push(("audience", audience.into()));
        self
    }

    /// Sends the secret in the body of requests, for servers that don't take it in
    /// `Authorization`.
    pub fn with_secret_in_body(mut self) -> Self {
        self.secret_in_body = true;
        self
    }

    /// Begins to ask a user for authorization, by a code that comes back with a redirect
    /// (RFC 6749 §4.1, with PKCE). For applications with a page of their own at `redirect_uri`;
    /// others have [`AuthorizationCode`](super::AuthorizationCode).
    ///
    /// # Errors
    ///
    /// [`CredentialError`] where the authorization server is not known or not trusted.
    pub async fn begin_authorization(
        &self,
        demand: &Demand,
        redirect_uri: &str,
    ) -> Result<AuthorizationRequest, CredentialError> {
        let endpoints = self.endpoints(demand).await?;
        AuthorizationRequest::new(self, endpoints, demand, redirect_uri)
    }

    /// Returns whether it is known where tokens come from, whatever a card says.
    pub(super) fn is_configured(&self) -> bool {
        self.endpoints.is_some() || self.issuer.is_some()
    }

    /// Returns whether a scheme is met by a token that comes from somewhere that is known: by
    /// settings, by OpenID Connect, or by a flow that `is_usable`.
    pub(super) fn can_meet(
        &self,
        scheme: &Scheme,
        is_usable: impl FnOnce(&a2a_core::v1::o_auth_flows::Flow) -> bool,
    ) -> bool {
        if self.is_configured() {
            return takes_bearer(scheme);
        }
        matches!(scheme, Scheme::OpenIdConnectSecurityScheme(_))
            || flow(scheme).is_some_and(is_usable)
    }

    /// Finds out where tokens for a demand come from.
    pub(super) async fn endpoints(&self, demand: &Demand) -> Result<Endpoints, CredentialError> {
        if let Some(endpoints) = &self.endpoints {
            return Ok(endpoints.clone());
        }
        if let Some(issuer) = &self.issuer {
            let address = format!("{}{}", issuer.trim_end_matches('/'), metadata::WELL_KNOWN);
            return metadata::read(&self.http, &secure("issuer", &address)?).await;
        }
        match &demand.scheme {
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
                metadata::read(&self.http, &address).await
            }
            Scheme::ApiKeySecurityScheme(_)
            | Scheme::HttpAuthSecurityScheme(_)
            | Scheme::MtlsSecurityScheme(_) => Err(CredentialError::Missing("the token URL")),
        }
    }

    fn trust(&self, what: &'static str, url: &url::Url) -> Result<(), CredentialError> {
        let insecure = || CredentialError::Insecure { what, url: url.to_string() };
        let origin = Origin::of(url).ok_or_else(insecure)?;
        if self.trusted.contains(&origin) {
            return Ok(());
        }
        Err(CredentialError::Untrusted { what, origin })
    }

    /// The scopes to ask for, as they are sent; empty for none.
    pub(super) fn scope(&self, demand: &Demand) -> String {
        self.scopes.as_ref().unwrap_or(&demand.scopes).join(" ")
    }
}

fn http(tls: ClientTls) -> Result<HttpClient, CredentialError> {
    fetch::direct_client(tls).map_err(CredentialError::unavailable)
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient").field("id", &self.id).finish_non_exhaustive()
    }
}

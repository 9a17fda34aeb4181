//! The authorization code grant.

use std::{sync::Arc, time::Duration};

use a2a_core::v1::{o_auth_flows::Flow, security_scheme::Scheme};
use async_trait::async_trait;
use derive_setters::Setters;
use subtle::ConstantTimeEq as _;

use super::{Endpoints, OAuthClient, loopback_redirect::LoopbackRedirect, pkce};
use crate::client::{CredentialError, CredentialRequest, CredentialSource, Secret};

/// An authorization request in progress: the user opens [`url`](Self::url) and is redirected to
/// the redirect URI, from which [`finish`](Self::finish) obtains the token.
pub struct AuthorizationRequest {
    client: OAuthClient,
    endpoints: Endpoints,
    url: String,
    redirect_uri: String,
    state: String,
    verifier: String,
}

impl OAuthClient {
    /// Starts an authorization code grant (RFC 6749 §4.1, with PKCE), for applications that serve
    /// `redirect_uri` themselves. Others use [`AuthorizationCode`](super::AuthorizationCode).
    ///
    /// # Errors
    ///
    /// [`CredentialError`] if the authorization server is unknown or untrusted.
    pub async fn begin_authorization(
        &self,
        request: &CredentialRequest,
        redirect_uri: &str,
    ) -> Result<AuthorizationRequest, CredentialError> {
        let endpoints = self.endpoints(request).await?;
        AuthorizationRequest::new(self, endpoints, request, redirect_uri)
    }
}

impl AuthorizationRequest {
    pub(super) fn new(
        client: &OAuthClient,
        endpoints: Endpoints,
        request: &CredentialRequest,
        redirect_uri: &str,
    ) -> Result<Self, CredentialError> {
        let missing = CredentialError::Missing("authorization URL");
        let endpoint = endpoints.authorization.as_ref().ok_or(missing)?;
        client.check_mix_up(&endpoints, endpoint, false)?;
        let (state, verifier) = (pkce::random()?, pkce::random()?);
        let scope = client.scope(request);
        let challenge = pkce::challenge(&verifier);
        let parameters = [
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", redirect_uri),
            ("scope", &scope),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters.into_iter().filter(|(_, value)| !value.is_empty()))
            .extend_pairs(&client.parameters)
            .finish();
        let separator = if endpoint.query().is_some() { '&' } else { '?' };
        let url = format!("{endpoint}{separator}{query}");
        Ok(Self {
            client: client.clone(),
            endpoints,
            url,
            redirect_uri: redirect_uri.to_owned(),
            state,
            verifier,
        })
    }

    /// The URL for the user to open.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns whether a redirect belongs to this request, even if the user denied it.
    fn is_answered_by(&self, redirected: &str) -> bool {
        matches!(self.code(redirected), Ok(_) | Err(CredentialError::Denied { .. }))
    }

    /// Obtains the token with the URL that the user was redirected to.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Redirect`] if the URL does not belong to this request, which may be an
    /// attack; [`CredentialError::Denied`] if the user or the server denied it.
    pub async fn finish(self, redirected: &str) -> Result<Secret, CredentialError> {
        self.exchange(redirected).await
    }

    async fn exchange(&self, redirected: &str) -> Result<Secret, CredentialError> {
        let code = self.code(redirected)?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", &self.verifier),
        ];
        self.client.token(&self.endpoints.token, &form).await
    }

    fn code(&self, redirected: &str) -> Result<String, CredentialError> {
        let invalid = CredentialError::Redirect;
        let (url, _fragment) = redirected.split_once('#').unwrap_or((redirected, ""));
        let (url, query) = url.split_once('?').unwrap_or((url, ""));
        // Applications may have a scheme of their own, without a host.
        if !url.contains(':') {
            return Err(invalid("not a URL"));
        }
        let values = |wanted: &'static str| {
            let pairs = form_urlencoded::parse(query.as_bytes());
            pairs.filter(move |(name, _)| name == wanted).map(|(_, value)| value.into_owned())
        };
        // A duplicate parameter counts as missing.
        let parameter = |wanted| values(wanted).next().filter(|_| values(wanted).count() == 1);
        let state = parameter("state").unwrap_or_default();
        if !bool::from(state.as_bytes().ct_eq(self.state.as_bytes())) {
            return Err(invalid("state does not match"));
        }
        if values("iss").count() > 1 {
            return Err(invalid("issuer does not match"));
        }
        self.client.check_issuer(&self.endpoints, parameter("iss").as_deref())?;
        if let Some(error) = parameter("error") {
            let error: String = error.chars().filter(|char| !char.is_control()).take(80).collect();
            return Err(CredentialError::denied(&error));
        }
        parameter("code").filter(|code| !code.is_empty()).ok_or(invalid("code is missing"))
    }
}

a2a_core::debug_fields!(AuthorizationRequest { client, redirect_uri, .. });

/// Obtains tokens for a user who authorizes the application in a local browser (RFC 6749 §4.1 with
/// PKCE, RFC 8252), with a redirect to a port of the loopback interface.
#[derive(Clone, Setters)]
#[setters(prefix = "with_", generate = false)]
pub struct AuthorizationCode {
    client: OAuthClient,
    open: Arc<dyn Fn(&str) + Send + Sync>,
    /// Sets the port of the redirect, for authorization servers that require a registered one.
    /// Default: any free port.
    #[setters(generate)]
    port: u16,
    /// Sets how long to wait for the user. Default: 5 min.
    #[setters(generate)]
    timeout: Duration,
}

impl AuthorizationCode {
    /// Creates a source for a client. `open` receives the URL for the user, to start a browser or
    /// to display it.
    pub fn new(client: OAuthClient, open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { client, open: Arc::new(open), port: 0, timeout: Duration::from_secs(300) }
    }

    async fn authorize(
        &self,
        endpoints: Endpoints,
        request: &CredentialRequest,
    ) -> Result<Secret, CredentialError> {
        let redirect = LoopbackRedirect::bind(self.port).await?;
        let authorization =
            AuthorizationRequest::new(&self.client, endpoints, request, &redirect.address)?;
        let url = authorization.url().to_owned();
        let authorization = Arc::new(authorization);
        let expected = Arc::clone(&authorization);
        let redirected = redirect.wait(move |redirected| expected.is_answered_by(redirected));
        (self.open)(&url);
        let redirected = tokio::time::timeout(self.timeout, redirected)
            .await
            .ok()
            .ok_or(CredentialError::TimedOut)??;
        authorization.exchange(&redirected).await
    }
}

#[async_trait]
impl CredentialSource for AuthorizationCode {
    fn supports(&self, scheme: &Scheme) -> bool {
        self.client.supports(scheme, |flow| matches!(flow, Flow::AuthorizationCode(_)))
    }

    async fn obtain(
        &self,
        request: &CredentialRequest,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        let endpoints = self.client.endpoints(request).await?;
        if let Some(secret) = self.client.refresh_if_possible(&endpoints, previous).await? {
            return Ok(secret);
        }
        self.authorize(endpoints, request).await
    }
}

a2a_core::debug_fields!(AuthorizationCode { client, .. });

//! Tokens for a user with a browser.

use std::{fmt, sync::Arc, time::Duration};

use a2a_core::v1::{o_auth_flows::Flow, security_scheme::Scheme};
use async_trait::async_trait;
use subtle::ConstantTimeEq as _;
use url::Url;

use super::{Endpoints, OAuthClient, pkce, redirect::LoopbackRedirect};
use crate::client::{CredentialError, CredentialSource, Demand, Secret};

/// An authorization that a user is asked for: sent to [`url`](Self::url), they come back to the
/// redirect address, and [`finish`](Self::finish) gets the token.
pub struct AuthorizationRequest {
    client: OAuthClient,
    endpoints: Endpoints,
    url: Url,
    redirect_uri: String,
    state: String,
    verifier: String,
}

impl AuthorizationRequest {
    pub(super) fn new(
        client: &OAuthClient,
        endpoints: Endpoints,
        demand: &Demand,
        redirect_uri: &str,
    ) -> Result<Self, CredentialError> {
        let missing = CredentialError::Missing("the authorization URL");
        let mut url = endpoints.authorization.clone().ok_or(missing)?;
        let (state, verifier) = (pkce::random()?, pkce::random()?);
        let scope = client.scope(demand);
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
        url.query_pairs_mut()
            .extend_pairs(parameters.into_iter().filter(|(_, value)| !value.is_empty()))
            .extend_pairs(&client.parameters);
        Ok(Self {
            client: client.clone(),
            endpoints,
            url,
            redirect_uri: redirect_uri.to_owned(),
            state,
            verifier,
        })
    }

    /// Where the user is sent.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Returns whether a redirect belongs to this request, whatever the user said.
    fn is_answered_by(&self, redirected: &str) -> bool {
        matches!(self.code(redirected), Ok(_) | Err(CredentialError::Denied { .. }))
    }

    /// Gets the token, with the address that the user came back to.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Redirect`] where it does not belong to this request, which an attacker
    /// can bring about; [`CredentialError::Denied`] where the user or the server said no.
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
        let refused = CredentialError::Redirect;
        let url = Url::parse(redirected).ok().ok_or(refused("it is no URL"))?;
        // Of a parameter that comes twice, neither is believed.
        let parameter = |wanted: &str| {
            let mut values = url.query_pairs().filter(|(name, _)| name == wanted);
            let value = values.next().map(|(_, value)| value.into_owned());
            if values.next().is_some() { None } else { value }
        };
        let state = parameter("state").unwrap_or_default();
        if !bool::from(state.as_bytes().ct_eq(self.state.as_bytes())) {
            return Err(refused("its state is another one"));
        }
        if let (Some(said), Some(known)) = (parameter("iss"), &self.endpoints.issuer)
            && said != *known
        {
            return Err(refused("it comes from another issuer"));
        }
        if let Some(error) = parameter("error") {
            let error: String = error.chars().filter(|char| !char.is_control()).take(80).collect();
            return Err(CredentialError::denied(&error));
        }
        parameter("code").filter(|code| !code.is_empty()).ok_or(refused("it has no code"))
    }
}

impl fmt::Debug for AuthorizationRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationRequest")
            .field("client", &self.client)
            .field("redirect_uri", &self.redirect_uri)
            .finish_non_exhaustive()
    }
}

/// Tokens for a user who authorizes the application in a browser on this machine (RFC 6749 §4.1
/// with PKCE, RFC 8252): the user is sent to the authorization server and comes back to a port
/// of the loopback interface.
#[derive(Clone)]
pub struct AuthorizationCode {
    client: OAuthClient,
    open: Arc<dyn Fn(&str) + Send + Sync>,
    port: u16,
    patience: Duration,
}

impl AuthorizationCode {
    /// Creates a source of tokens for a client; `open` is given the address that the user is to
    /// open: it may start a browser, or show it.
    pub fn new(client: OAuthClient, open: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { client, open: Arc::new(open), port: 0, patience: Duration::from_secs(300) }
    }

    /// Sets the port that the user comes back to, for authorization servers that want to know it
    /// before. Default: any that is free.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets how long the user has. Default: 5 min.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    async fn authorize(
        &self,
        endpoints: Endpoints,
        demand: &Demand,
    ) -> Result<Secret, CredentialError> {
        let redirect = LoopbackRedirect::bind(self.port).await?;
        let request =
            AuthorizationRequest::new(&self.client, endpoints, demand, redirect.address())?;
        let url = request.url().to_owned();
        let request = Arc::new(request);
        let expected = Arc::clone(&request);
        let coming = redirect.wait(move |redirected| expected.is_answered_by(redirected));
        (self.open)(&url);
        let redirected = tokio::time::timeout(self.patience, coming)
            .await
            .ok()
            .ok_or(CredentialError::TimedOut)??;
        request.exchange(&redirected).await
    }
}

#[async_trait]
impl CredentialSource for AuthorizationCode {
    fn can_meet(&self, scheme: &Scheme) -> bool {
        self.client.can_meet(scheme, |flow| matches!(flow, Flow::AuthorizationCode(_)))
    }

    async fn obtain(
        &self,
        demand: &Demand,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        let endpoints = self.client.endpoints(demand).await?;
        if let Some(secret) = self.client.refresh_if_possible(&endpoints, previous).await? {
            return Ok(secret);
        }
        self.authorize(endpoints, demand).await
    }
}

impl fmt::Debug for AuthorizationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationCode").field("client", &self.client).finish_non_exhaustive()
    }
}

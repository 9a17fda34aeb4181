//! Stored tokens as credentials of calls: which ones an agent gets, and how they are refreshed.

use std::{error::Error, fmt, sync::Arc};

use a2a_core::{AgentCard, v1::security_scheme::Scheme};
use a2a_kit_client::credentials::{
    ClientCredentials, CredentialError, CredentialRequest, CredentialSource, Credentials,
    Endpoints, Origin, RefreshToken, Secret,
};
use async_trait::async_trait;

use super::{Flow, StoredToken, TokenStore, client};
use crate::{failure::Failure, settings::Settings};

/// Provides the stored token for one scheme of one agent, and refreshes it when it has expired or
/// was rejected.
#[derive(Clone)]
struct StoredTokenSource {
    store: TokenStore,
    card: Origin,
    scheme: String,
    settings: Arc<Settings>,
}

/// Why a stored token is not sent.
#[derive(Debug, thiserror::Error)]
enum Unsent {
    #[error("the stored token for scheme {0:?} has expired and can't be refreshed")]
    Expired(String),
    #[error("no token is stored for scheme {0:?}")]
    Missing(String),
    #[error("the stored token for scheme {0:?} is not for {1}")]
    OtherHost(String, Origin),
    #[error("{0}")]
    Store(String),
}

/// Returns whether an error of a call means that no credential was sent.
pub(crate) fn is_unsent(error: &(dyn Error + 'static)) -> bool {
    let mut error = Some(error);
    while let Some(cause) = error {
        if let Some(CredentialError::Source(source)) = cause.downcast_ref() {
            return source.is::<Unsent>();
        }
        error = cause.source();
    }
    false
}

/// Returns whether a scheme is one that tokens are obtained for.
fn uses_token(scheme: &Scheme) -> bool {
    match scheme {
        Scheme::Oauth2SecurityScheme(_) | Scheme::OpenIdConnectSecurityScheme(_) => true,
        Scheme::HttpAuthSecurityScheme(http) => http.scheme.eq_ignore_ascii_case("bearer"),
        Scheme::ApiKeySecurityScheme(_) | Scheme::MtlsSecurityScheme(_) => false,
    }
}

#[async_trait]
impl CredentialSource for StoredTokenSource {
    fn supports(&self, scheme: &Scheme) -> bool {
        uses_token(scheme)
    }

    async fn obtain(
        &self,
        request: &CredentialRequest,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        // Not cancelled with the call: a refresh token that was used once and not replaced in the
        // store would be lost.
        let (source, request, previous) = (self.clone(), request.clone(), previous.cloned());
        let obtaining =
            tokio::spawn(async move { source.obtain_stored(&request, previous.as_ref()).await });
        obtaining.await.map_err(CredentialError::source_failed)?
    }
}

impl StoredTokenSource {
    async fn obtain_stored(
        &self,
        request: &CredentialRequest,
        previous: Option<&Secret>,
    ) -> Result<Secret, CredentialError> {
        let token = self.find(self.store.read(), request)?;
        if let Some(secret) = self.usable(&token, previous) {
            return Ok(secret);
        }
        let locked = self.store.lock().await.map_err(|failure| store_failed(&failure))?;
        // Another process may have refreshed it meanwhile.
        let token = self.find(self.store.read(), request)?;
        if let Some(secret) = self.usable(&token, previous) {
            return Ok(secret);
        }
        let secret = self.renew(&token, request).await?;
        self.settings.redaction.add(secret.expose());
        if let Err(failure) = locked.insert(token.with_secret(&secret)) {
            self.settings.output.warning(&format!("the refreshed token is not stored: {failure}"));
        }
        Ok(secret)
    }

    fn find(
        &self,
        tokens: Result<Vec<StoredToken>, Failure>,
        request: &CredentialRequest,
    ) -> Result<StoredToken, CredentialError> {
        let mut tokens = tokens.map_err(|failure| store_failed(&failure))?.into_iter();
        let token = tokens.find(|token| token.is_for(&self.card, &self.scheme));
        let missing = || CredentialError::source_failed(Unsent::Missing(self.scheme.clone()));
        let token = token.ok_or_else(missing)?;
        if !token.may_be_sent_to(&request.origin) {
            let unsent = Unsent::OtherHost(self.scheme.clone(), request.origin.clone());
            return Err(CredentialError::source_failed(unsent));
        }
        Ok(token)
    }

    /// Returns the secret of a token that neither has expired nor was rejected.
    fn usable(&self, token: &StoredToken, previous: Option<&Secret>) -> Option<Secret> {
        let is_previous = previous.is_some_and(|secret| secret.expose() == token.access_token);
        if is_previous || !token.is_usable() {
            return None;
        }
        self.settings.redaction.add(&token.access_token);
        Some(token.secret())
    }

    /// Obtains a new token with the refresh token, or with the secret of the client.
    async fn renew(
        &self,
        token: &StoredToken,
        request: &CredentialRequest,
    ) -> Result<Secret, CredentialError> {
        let expired = || CredentialError::source_failed(Unsent::Expired(self.scheme.clone()));
        if !token.is_renewable() {
            return Err(expired());
        }
        let secret = match &token.client_secret {
            None => None,
            Some(secret) => {
                let secret = secret.read(&self.settings);
                Some(secret.map_err(|failure| store_failed(&failure))?)
            }
        };
        let mut endpoints = Endpoints::new(&token.token_url)?;
        if let Some(url) = &token.refresh_url {
            endpoints = endpoints.with_refresh(url)?;
        }
        let client = client(&self.settings, &token.client_id, secret)?
            .with_endpoints(endpoints)
            .with_scopes(&token.scopes);
        match &token.refresh_token {
            Some(refresh) => {
                let granted = Secret::new("").with_refresh_token(refresh.as_str());
                RefreshToken::new(client, granted).obtain(request, None).await
            }
            None if token.flow == Flow::ClientCredentials => {
                ClientCredentials::new(client).obtain(request, None).await
            }
            None => Err(expired()),
        }
    }
}

fn store_failed(failure: &Failure) -> CredentialError {
    CredentialError::source_failed(Unsent::Store(failure.message().to_owned()))
}

impl fmt::Debug for StoredTokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredTokenSource").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// The stored tokens for an agent.
#[derive(Debug)]
pub(crate) struct StoredCredentials {
    pub(crate) credentials: Credentials,
    pub(crate) tokens: Vec<StoredToken>,
}

/// Returns the stored tokens for the schemes that a card declares; `None` if there are none.
///
/// `origin` is the origin of the card. The store is not read if the card declares no scheme that
/// tokens are obtained for.
/// Errors: a failure that names the store, if it is unreadable or malformed.
pub(crate) fn for_card(
    card: &AgentCard,
    origin: &Origin,
    settings: &Settings,
) -> Result<Option<StoredCredentials>, Failure> {
    let uses_token = |name: &str| {
        let scheme = card.security_schemes.get(name).and_then(|scheme| scheme.scheme.as_ref());
        scheme.is_some_and(uses_token)
    };
    if !card.security_schemes.keys().any(|name| uses_token(name)) {
        return Ok(None);
    }
    let store = TokenStore::of_user()?;
    let mut tokens = store.read()?;
    tokens.retain(|token| uses_token(&token.scheme) && token.is_for(origin, &token.scheme));
    if tokens.is_empty() {
        return Ok(None);
    }
    store.warn_if_exposed(settings.output);
    let settings = Arc::new(settings.clone());
    let mut credentials = Credentials::new();
    for token in &tokens {
        for host in &token.hosts {
            credentials = credentials
                .with_trusted_origin(&host.to_string())
                .map_err(|error| Failure::internal(error.to_string()))?;
        }
        let (card, scheme) = (token.card.0.clone(), token.scheme.clone());
        let (store, settings) = (store.clone(), Arc::clone(&settings));
        let source = StoredTokenSource { store, card, scheme, settings };
        credentials = credentials.with_named(&token.scheme, source);
    }
    Ok(Some(StoredCredentials { credentials, tokens }))
}

//! Selection of the stored tokens for an agent.

use a2a_core::AgentCard;
use a2a_kit_client::credentials::{Credentials, Origin};

use super::{
    StoredToken, TokenStore,
    source::{StoredTokenSource, uses_token},
};
use crate::{failure::Failure, output::Output, settings::Settings};

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
///
/// # Errors
///
/// A failure that names the store, if it is unreadable or malformed.
pub(crate) fn for_card(
    card: &AgentCard,
    origin: &Origin,
    settings: &Settings,
    output: Output,
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
    store.warn_if_exposed(output);
    let mut credentials = Credentials::new();
    for token in &tokens {
        for host in &token.hosts {
            credentials = credentials
                .with_origin(&host.to_string())
                .map_err(|error| Failure::internal(error.to_string()))?;
        }
        let source = StoredTokenSource::new(store.clone(), token, settings, output);
        credentials = credentials.with_named(&token.scheme, source);
    }
    Ok(Some(StoredCredentials { credentials, tokens }))
}

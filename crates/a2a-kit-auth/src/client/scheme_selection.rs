//! Selection among the alternatives of a card's security requirements.

use std::{collections::HashSet, sync::Arc};

use a2a_core::v1::{AgentCard, SecurityRequirement, SecurityScheme, security_scheme::Scheme};
use a2a_kit_operations::CredentialLocation;
use http::{
    HeaderName, HeaderValue,
    header::{
        ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE,
        EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
    },
};

use super::{CredentialError, CredentialRequest, Origin, source::RegisteredSource};

/// Selects schemes for one interface.
pub(super) struct SchemeSelector<'a> {
    pub(super) sources: &'a [RegisteredSource],
    pub(super) has_certificate: bool,
    /// gRPC has no query parameters.
    pub(super) has_query: bool,
    pub(super) origin: &'a Origin,
}

/// A scheme and its source.
#[derive(Clone, Debug)]
pub(super) struct SelectedScheme {
    pub(super) request: CredentialRequest,
    pub(super) source: RegisteredSource,
    pub(super) place: CredentialLocation,
    /// The text before the secret, such as `Bearer `.
    pub(super) prefix: String,
}

impl SchemeSelector<'_> {
    /// Selects the first alternative whose schemes are all supported. An empty alternative is the
    /// last resort, so that available credentials are used.
    ///
    /// A card that declares schemes but requires none may still need one, for example for its
    /// extended card (spec §3.1.11): the first supported one by name is used.
    pub(super) fn select(&self, card: &AgentCard) -> Result<Vec<SelectedScheme>, CredentialError> {
        if card.security_requirements.is_empty() {
            let mut names: Vec<_> = card.security_schemes.keys().collect();
            names.sort();
            let selected = names.into_iter().find_map(|name| self.scheme(card, name, &[]).ok());
            return Ok(selected.flatten().into_iter().collect());
        }
        let mut reasons = Vec::new();
        let mut is_optional = false;
        for alternative in &card.security_requirements {
            if alternative.schemes.is_empty() {
                is_optional = true;
                continue;
            }
            match self.alternative(card, alternative) {
                Ok(selected) => return Ok(selected),
                Err(reason) => reasons.push(reason),
            }
        }
        if is_optional { Ok(Vec::new()) } else { Err(CredentialError::Unsatisfied(reasons)) }
    }

    /// Selects the first scheme by name for every source, whatever the card requires. Two sources
    /// are not sent in the same place; the first one is.
    pub(super) fn select_every_source(&self, card: &AgentCard) -> Vec<SelectedScheme> {
        let undeclared;
        let card = if card.security_schemes.is_empty() {
            undeclared = AgentCard::default()
                .with_security_scheme("basic", SecurityScheme::basic())
                .with_security_scheme("bearer", SecurityScheme::bearer())
                .with_security_scheme("key", SecurityScheme::api_key_header("X-API-Key"));
            &undeclared
        } else {
            card
        };
        let mut names: Vec<_> = card.security_schemes.keys().collect();
        names.sort();
        let mut places = HashSet::new();
        let mut selected = Vec::new();
        for source in self.sources {
            let selector = SchemeSelector { sources: std::slice::from_ref(source), ..*self };
            let mut schemes =
                names.iter().filter_map(|name| selector.scheme(card, name, &[]).ok().flatten());
            if let Some(scheme) = schemes.next()
                && places.insert(scheme.place.clone())
            {
                selected.push(scheme);
            }
        }
        selected
    }

    fn alternative(
        &self,
        card: &AgentCard,
        alternative: &SecurityRequirement,
    ) -> Result<Vec<SelectedScheme>, String> {
        let mut schemes: Vec<_> = alternative.schemes.iter().collect();
        schemes.sort_by_key(|(name, _)| *name);
        let mut selected = Vec::new();
        let mut places = HashSet::new();
        for (name, scopes) in schemes {
            let Some(scheme) = self.scheme(card, name, &scopes.list)? else { continue };
            if !places.insert(scheme.place.clone()) {
                let reason = format!("{name:?} is sent in the same place as another scheme");
                return Err(reason);
            }
            selected.push(scheme);
        }
        Ok(selected)
    }

    /// Finds the source for a scheme; `None` if the client certificate satisfies it.
    fn scheme(
        &self,
        card: &AgentCard,
        name: &str,
        scopes: &[String],
    ) -> Result<Option<SelectedScheme>, String> {
        let declared = card.security_schemes.get(name);
        let Some(SecurityScheme { scheme: Some(scheme) }) = declared else {
            return Err(format!("{name:?} is not declared in the card"));
        };
        let Some((place, prefix)) = self.place(scheme).map_err(|why| format!("{name:?}: {why}"))?
        else {
            return Ok(None);
        };
        let named = self.sources.iter().filter(|source| source.name.as_deref() == Some(name));
        let others = self.sources.iter().filter(|source| source.name.is_none());
        let source = named.chain(others).find(|source| source.source.supports(scheme));
        let source = source.ok_or_else(|| format!("{name:?} ({})", kind(scheme)))?.clone();
        let request = CredentialRequest {
            origin: self.origin.clone(),
            name: name.to_owned(),
            scheme: scheme.clone(),
            scopes: scopes.to_vec(),
        };
        Ok(Some(SelectedScheme { request, source, place, prefix }))
    }

    fn place(&self, scheme: &Scheme) -> Result<Option<(CredentialLocation, String)>, String> {
        Ok(Some(match scheme {
            Scheme::ApiKeySecurityScheme(key) => {
                (self.place_of_key(&key.location, &key.name)?, String::new())
            }
            Scheme::HttpAuthSecurityScheme(http) => {
                // Scheme names are tokens, as header names are.
                if HeaderName::try_from(&http.scheme).is_err() {
                    return Err(format!("invalid HTTP authentication scheme {:?}", http.scheme));
                }
                (CredentialLocation::Authorization, format!("{} ", normalized(&http.scheme)))
            }
            Scheme::Oauth2SecurityScheme(_) | Scheme::OpenIdConnectSecurityScheme(_) => {
                (CredentialLocation::Authorization, "Bearer ".to_owned())
            }
            Scheme::MtlsSecurityScheme(_) if self.has_certificate => return Ok(None),
            Scheme::MtlsSecurityScheme(_) => return Err("no client certificate".to_owned()),
        }))
    }

    fn place_of_key(&self, location: &str, name: &str) -> Result<CredentialLocation, String> {
        let invalid = || format!("invalid API key name {name:?} in {location:?}");
        match location.to_ascii_lowercase().as_str() {
            "header" => {
                let header = HeaderName::try_from(name).ok().ok_or_else(invalid)?;
                if header == AUTHORIZATION {
                    return Ok(CredentialLocation::Authorization);
                }
                let is_binary = !self.has_query && header.as_str().ends_with("-bin");
                if is_binary || is_reserved(&header) {
                    return Err(invalid());
                }
                Ok(CredentialLocation::Header(header.as_str().into()))
            }
            // Cookie names are case-sensitive tokens.
            "cookie" if HeaderName::try_from(name).is_ok() => {
                Ok(CredentialLocation::Cookie(name.into()))
            }
            "query" if !self.has_query => Err("gRPC has no query parameters".to_owned()),
            "query" if !name.is_empty() => Ok(CredentialLocation::Query(name.into())),
            _ => Err(invalid()),
        }
    }
}

impl SelectedScheme {
    /// Returns the secret as it is sent, and its place.
    ///
    /// # Errors
    ///
    /// [`CredentialError::InvalidCharacters`] if the secret is not valid in its place.
    pub(super) fn encode(
        &self,
        secret: &Arc<str>,
    ) -> Result<(CredentialLocation, Arc<str>), CredentialError> {
        let value: Arc<str> = if self.prefix.is_empty() {
            Arc::clone(secret)
        } else {
            format!("{}{secret}", self.prefix).into()
        };
        let is_valid = !secret.is_empty()
            && match &self.place {
                CredentialLocation::Authorization | CredentialLocation::Header(_) => {
                    HeaderValue::try_from(&*value).is_ok()
                }
                CredentialLocation::Cookie(_) => value.bytes().all(is_cookie_octet),
                CredentialLocation::Query(_) => true,
            };
        if is_valid {
            Ok((self.place.clone(), value))
        } else {
            Err(CredentialError::InvalidCharacters("secret"))
        }
    }
}

/// RFC 6265 §4.1.1.
fn is_cookie_octet(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\')
}

/// Returns whether a header has another meaning, so that it can't carry an API key.
fn is_reserved(name: &HeaderName) -> bool {
    let reserved = [
        ACCEPT,
        CONNECTION,
        CONTENT_ENCODING,
        CONTENT_LENGTH,
        CONTENT_TYPE,
        COOKIE,
        EXPECT,
        HOST,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
        USER_AGENT,
    ];
    let name = (name, name.as_str());
    reserved.contains(name.0)
        || matches!(name.1, "idempotency-key" | "keep-alive" | "last-event-id")
        || ["a2a-", "grpc-", "proxy-"].iter().any(|prefix| name.1.starts_with(prefix))
}

/// Scheme names are case-insensitive (RFC 9110), but not to all servers.
fn normalized(scheme: &str) -> &str {
    match scheme {
        _ if scheme.eq_ignore_ascii_case("bearer") => "Bearer",
        _ if scheme.eq_ignore_ascii_case("basic") => "Basic",
        _ => scheme,
    }
}

fn kind(scheme: &Scheme) -> &'static str {
    match scheme {
        Scheme::ApiKeySecurityScheme(_) => "API key",
        Scheme::HttpAuthSecurityScheme(_) => "HTTP authentication",
        Scheme::Oauth2SecurityScheme(_) => "OAuth 2.0",
        Scheme::OpenIdConnectSecurityScheme(_) => "OpenID Connect",
        Scheme::MtlsSecurityScheme(_) => "mutual TLS",
    }
}

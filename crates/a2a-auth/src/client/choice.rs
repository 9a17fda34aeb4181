//! The choice among a card's alternatives, and where its secrets go.

use std::{collections::HashSet, sync::Arc};

use a2a_core::v1::{AgentCard, SecurityRequirement, SecurityScheme, security_scheme::Scheme};
use a2a_operations::Place;
use http::{
    HeaderName, HeaderValue,
    header::{
        ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE,
        EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
    },
};

use super::{CredentialError, Demand, Origin, credentials::Held};

/// What an application has to meet schemes with, at one interface.
pub(super) struct Means<'a> {
    pub(super) sources: &'a [Held],
    pub(super) has_certificate: bool,
    /// gRPC has no query.
    pub(super) has_query: bool,
    pub(super) origin: &'a Origin,
}

/// A scheme with what meets it.
#[derive(Clone, Debug)]
pub(super) struct Met {
    pub(super) demand: Demand,
    pub(super) held: Held,
    pub(super) place: Place,
    /// What stands in front of the secret, as `Bearer `.
    pub(super) prefix: String,
}

impl Means<'_> {
    /// Returns how the first alternative is met of which every scheme can be met. One that asks
    /// for nothing is the last resort: whoever has credentials wants to be known.
    ///
    /// A card that declares schemes and requires none of them may still ask for one, as for its
    /// extended card (spec §3.1.11): the first by name that can be met is used.
    pub(super) fn choose(&self, card: &AgentCard) -> Result<Vec<Met>, CredentialError> {
        if card.security_requirements.is_empty() {
            let mut names: Vec<_> = card.security_schemes.keys().collect();
            names.sort();
            let met = names.into_iter().find_map(|name| self.scheme(card, name, &[]).ok());
            return Ok(met.flatten().into_iter().collect());
        }
        let mut unmet = Vec::new();
        let mut is_optional = false;
        for alternative in &card.security_requirements {
            if alternative.schemes.is_empty() {
                is_optional = true;
                continue;
            }
            match self.alternative(card, alternative) {
                Ok(met) => return Ok(met),
                Err(why) => unmet.push(why),
            }
        }
        if is_optional { Ok(Vec::new()) } else { Err(CredentialError::Unmet(unmet)) }
    }

    fn alternative(
        &self,
        card: &AgentCard,
        alternative: &SecurityRequirement,
    ) -> Result<Vec<Met>, String> {
        let mut schemes: Vec<_> = alternative.schemes.iter().collect();
        schemes.sort_by_key(|(name, _)| *name);
        let mut met = Vec::new();
        let mut taken = HashSet::new();
        for (name, scopes) in schemes {
            let Some(one) = self.scheme(card, name, &scopes.list)? else { continue };
            if !taken.insert(one.place.clone()) {
                return Err(format!("{name:?} goes to the same place as another scheme"));
            }
            met.push(one);
        }
        Ok(met)
    }

    /// Finds what meets a scheme: `None` where that is the certificate of the connection.
    fn scheme(
        &self,
        card: &AgentCard,
        name: &str,
        scopes: &[String],
    ) -> Result<Option<Met>, String> {
        let declared = card.security_schemes.get(name);
        let Some(SecurityScheme { scheme: Some(scheme) }) = declared else {
            return Err(format!("{name:?}, which the card does not declare"));
        };
        let Some((place, prefix)) = self.place(scheme).map_err(|why| format!("{name:?}: {why}"))?
        else {
            return Ok(None);
        };
        let named = self.sources.iter().filter(|held| held.name.as_deref() == Some(name));
        let others = self.sources.iter().filter(|held| held.name.is_none());
        let held = named.chain(others).find(|held| held.source.can_meet(scheme));
        let held = held.ok_or_else(|| format!("{name:?}, {}", kind(scheme)))?.clone();
        let demand = Demand {
            origin: self.origin.clone(),
            name: name.to_owned(),
            scheme: scheme.clone(),
            scopes: scopes.to_vec(),
        };
        Ok(Some(Met { demand, held, place, prefix }))
    }

    fn place(&self, scheme: &Scheme) -> Result<Option<(Place, String)>, String> {
        Ok(Some(match scheme {
            Scheme::ApiKeySecurityScheme(key) => {
                (self.place_of_key(&key.location, &key.name)?, String::new())
            }
            Scheme::HttpAuthSecurityScheme(http) => {
                // The names of schemes are tokens, as those of headers are.
                if HeaderName::try_from(&http.scheme).is_err() {
                    return Err(format!("{:?} names no scheme of HTTP", http.scheme));
                }
                (Place::Authorization, format!("{} ", spelled(&http.scheme)))
            }
            Scheme::Oauth2SecurityScheme(_) | Scheme::OpenIdConnectSecurityScheme(_) => {
                (Place::Authorization, "Bearer ".to_owned())
            }
            Scheme::MtlsSecurityScheme(_) if self.has_certificate => return Ok(None),
            Scheme::MtlsSecurityScheme(_) => return Err("no client certificate".to_owned()),
        }))
    }

    fn place_of_key(&self, location: &str, name: &str) -> Result<Place, String> {
        let unfit = || format!("{name:?} can't be the name of a key in {location:?}");
        match location.to_ascii_lowercase().as_str() {
            "header" => {
                let header = HeaderName::try_from(name).ok().ok_or_else(unfit)?;
                if header == AUTHORIZATION {
                    return Ok(Place::Authorization);
                }
                let is_binary = !self.has_query && header.as_str().ends_with("-bin");
                if is_binary || is_reserved(&header) {
                    return Err(unfit());
                }
                Ok(Place::Header(header.as_str().into()))
            }
            // The names of cookies are tokens, as those of headers are, but for their case.
            "cookie" if HeaderName::try_from(name).is_ok() => Ok(Place::Cookie(name.into())),
            "query" if !self.has_query => Err("gRPC has no query".to_owned()),
            "query" if !name.is_empty() => Ok(Place::Query(name.into())),
            _ => Err(unfit()),
        }
    }
}

impl Met {
    /// Returns what goes with the request.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Unfit`] where the secret can't stand in its place.
    pub(super) fn placed(&self, secret: &Arc<str>) -> Result<(Place, Arc<str>), CredentialError> {
        let unfit = || CredentialError::Unfit("the secret");
        let value: Arc<str> = if self.prefix.is_empty() {
            Arc::clone(secret)
        } else {
            format!("{}{secret}", self.prefix).into()
        };
        let is_fit = !secret.is_empty()
            && match &self.place {
                Place::Authorization | Place::Header(_) => HeaderValue::try_from(&*value).is_ok(),
                Place::Cookie(_) => value.bytes().all(is_cookie_octet),
                Place::Query(_) => true,
            };
        if is_fit { Ok((self.place.clone(), value)) } else { Err(unfit()) }
    }
}

/// RFC 6265 §4.1.1.
fn is_cookie_octet(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\')
}

/// The headers that mean something else already: a card can't make keys of them.
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

/// Cards write names of schemes in any case; servers are not all as patient as RFC 9110.
fn spelled(scheme: &str) -> &str {
    match scheme {
        _ if scheme.eq_ignore_ascii_case("bearer") => "Bearer",
        _ if scheme.eq_ignore_ascii_case("basic") => "Basic",
        _ => scheme,
    }
}

fn kind(scheme: &Scheme) -> &'static str {
    match scheme {
        Scheme::ApiKeySecurityScheme(_) => "an API key",
        Scheme::HttpAuthSecurityScheme(_) => "authentication over HTTP",
        Scheme::Oauth2SecurityScheme(_) => "OAuth 2.0",
        Scheme::OpenIdConnectSecurityScheme(_) => "OpenID Connect",
        Scheme::MtlsSecurityScheme(_) => "mutual TLS",
    }
}

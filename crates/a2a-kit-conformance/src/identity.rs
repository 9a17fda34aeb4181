//! A caller: credentials, and where they are placed.

use a2a_core::{AgentCard, v1::security_scheme::Scheme};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue};

/// A credential for the agent under test.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// A bearer token.
    Bearer(String),
    /// An API key, sent where the card declares it, else in `X-API-Key`.
    ApiKey(String),
    /// User and password, separated by a colon.
    Basic(String),
    /// Any header.
    Header(HeaderName, HeaderValue),
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bearer(_) => "Bearer(…)",
            Self::ApiKey(_) => "ApiKey(…)",
            Self::Basic(_) => "Basic(…)",
            Self::Header(..) => "Header(…)",
        })
    }
}

/// A caller: credentials, and where they are placed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Identity {
    headers: HeaderMap,
    query: Vec<(String, String)>,
}

impl Identity {
    /// Places credentials as the card says.
    pub(crate) fn new(credentials: &[Credential], card: &AgentCard) -> Self {
        let mut identity = Self::default();
        for credential in credentials {
            match credential {
                Credential::Bearer(token) => {
                    identity.insert("authorization", &format!("Bearer {token}"));
                }
                Credential::Basic(pair) => {
                    identity.insert("authorization", &format!("Basic {}", STANDARD.encode(pair)));
                }
                Credential::ApiKey(key) => identity.api_key(key, card),
                Credential::Header(name, value) => {
                    identity.headers.insert(name.clone(), value.clone());
                }
            }
        }
        identity
    }

    fn api_key(&mut self, key: &str, card: &AgentCard) {
        let declared = card.security_schemes.values().find_map(|scheme| match &scheme.scheme {
            Some(Scheme::ApiKeySecurityScheme(declared)) => Some(declared),
            _ => None,
        });
        let name = declared.map_or("X-API-Key", |declared| declared.name.as_str());
        match declared.map_or("header", |declared| declared.location.as_str()) {
            "query" => self.query.push((name.to_owned(), key.to_owned())),
            "cookie" => self.insert("cookie", &format!("{name}={key}")),
            _ => self.insert(name, key),
        }
    }

    fn insert(&mut self, name: &str, value: &str) {
        if let (Ok(name), Ok(mut value)) =
            (HeaderName::try_from(name), HeaderValue::try_from(value))
        {
            value.set_sensitive(true);
            self.headers.insert(name, value);
        }
    }

    pub(crate) fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    /// Adds credentials that belong into the query.
    pub(crate) fn in_query(&self, url: String) -> String {
        if self.query.is_empty() {
            return url;
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.query);
        let separator = if url.contains('?') { '&' } else { '?' };
        format!("{url}{separator}{}", query.finish())
    }
}

/// The secrets in credentials, for redaction.
pub(crate) fn secrets(credentials: &[Credential]) -> Vec<String> {
    let mut secrets = Vec::new();
    for credential in credentials {
        match credential {
            Credential::Bearer(secret) | Credential::ApiKey(secret) => secrets.push(secret.clone()),
            Credential::Basic(pair) => {
                secrets.push(STANDARD.encode(pair));
                secrets.extend(pair.split_once(':').map(|(_, password)| password.to_owned()));
            }
            Credential::Header(_, value) => {
                secrets.extend(value.to_str().ok().map(str::to_owned));
            }
        }
    }
    secrets.retain(|secret| secret.len() >= 4);
    secrets
}

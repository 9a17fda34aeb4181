//! A stored token.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use a2a_core::well_known::Timestamp;
use a2a_kit_client::credentials::{Origin, Secret};
use clap::ValueEnum;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::ClientSecret;

/// A token, the agent and the scheme that it was made for, and what is needed to refresh it.
#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StoredToken {
    /// The origin of the agent's card.
    pub(crate) card: StoredOrigin,
    /// The name of the security scheme in the card.
    pub(crate) scheme: String,
    /// The only origins that the token is sent to.
    pub(crate) hosts: Vec<StoredOrigin>,
    pub(crate) flow: Flow,
    pub(crate) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<ClientSecret>,
    pub(crate) scopes: Vec<String>,
    pub(crate) token_url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_url: Option<String>,
    pub(crate) access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// `None` if the authorization server named no lifetime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
}

/// The OAuth flow that a token was obtained with.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Flow {
    Device,
    ClientCredentials,
    AuthCode,
}

/// A token that can be refreshed counts as expired this long before it expires, so that it does not
/// expire on the way.
const MARGIN: Duration = Duration::from_secs(10);

impl Flow {
    /// The name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::ClientCredentials => "client-credentials",
            Self::AuthCode => "auth-code",
        }
    }
}

impl StoredToken {
    /// Returns whether the token is for a scheme of the agent with this card.
    pub(crate) fn is_for(&self, card: &Origin, scheme: &str) -> bool {
        self.card.0.is_equivalent(card) && self.scheme == scheme
    }

    /// Returns whether the token may be sent to an origin.
    pub(crate) fn may_be_sent_to(&self, origin: &Origin) -> bool {
        origin.is_secure() && self.hosts.iter().any(|host| host.0.is_equivalent(origin))
    }

    /// Returns whether a new token can be obtained without the user.
    pub(crate) fn is_renewable(&self) -> bool {
        self.refresh_token.is_some()
            || (self.flow == Flow::ClientCredentials && self.client_secret.is_some())
    }

    /// Returns whether the token has expired.
    pub(crate) fn is_expired(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// Returns whether the token should be sent rather than renewed first.
    pub(super) fn is_usable(&self) -> bool {
        let margin = if self.is_renewable() { MARGIN } else { Duration::ZERO };
        self.left().is_none_or(|left| left > margin)
    }

    /// The time until the token expires.
    fn left(&self) -> Option<Duration> {
        let expiry = SystemTime::try_from(self.expires_at?).ok()?;
        Some(expiry.duration_since(SystemTime::now()).unwrap_or_default())
    }

    /// Returns the secret to send.
    pub(super) fn secret(&self) -> Secret {
        let secret = Secret::new(self.access_token.as_str());
        match self.left() {
            Some(left) => secret.valid_for(left),
            None => secret,
        }
    }

    /// Returns a token with a new secret.
    #[must_use]
    pub(crate) fn with_secret(self, secret: &Secret) -> Self {
        let expiry = secret.expires_in().map(|left| Timestamp::from(SystemTime::now() + left));
        Self {
            access_token: secret.expose().to_owned(),
            refresh_token: secret.refresh_token().map(str::to_owned),
            // Lifetimes are whole seconds.
            expires_at: expiry.map(|expiry| Timestamp { nanos: 0, ..expiry }),
            ..self
        }
    }
}

impl fmt::Debug for StoredToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredToken")
            .field("card", &self.card)
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

/// An origin that is stored as text, such as `https://agent.example:443`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredOrigin(pub(crate) Origin);

impl fmt::Display for StoredOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for StoredOrigin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StoredOrigin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

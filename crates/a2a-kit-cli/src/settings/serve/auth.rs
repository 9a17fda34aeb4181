//! The section `[auth]`, with a table for each caller or issuer.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    section::section,
    types::{Duration, NonEmpty, Secret},
};

section! {
    /// Authentication
    auth: Auth {
        /// Bearer token that callers need. Flags are visible in the process list: prefer the
        /// variable or the settings file
        require_bearer: Secret, "--require-bearer <TOKEN>";
        /// API key that callers need; the same applies
        require_api_key: Secret, "--require-api-key <KEY>";
        /// Location of API keys. Proxies may log the query
        api_key_in: ApiKeyLocation = "header", "--api-key-in <LOCATION>" advanced;
        /// Name of the header, query parameter or cookie with the API key
        api_key_name: String = "X-API-Key", "--api-key-name <NAME>" advanced;
        /// Realm of WWW-Authenticate challenges
        realm: String = "a2a", "--realm <REALM>" advanced;
        /// Also accept unauthenticated callers; they share one owner. Beyond the loopback with a
        /// warning, and not with production
        anonymous: bool = false, "--anonymous";
        /// Failed authentications per address before the backoff starts
        failures_allowed: u32 = 10, "--auth-failures-allowed" advanced;
        /// First backoff of an address; each further failure doubles it
        backoff_min: Duration = "1s", "--auth-backoff-min" advanced;
        /// Max backoff of an address
        backoff_max: Duration = "5m", "--auth-backoff-max" advanced;
        /// Bearer token for the extended card of an agent without authentication
        extended_card_token: Secret, "--extended-card-token <TOKEN>";
        /// A caller with an API key
        api_key: Vec<ApiKey> = [];
        /// A caller with a bearer token
        bearer: Vec<Bearer> = [];
        /// A caller with a password (HTTP Basic)
        basic: Vec<Basic> = [];
        /// An issuer of JWTs with a known key set
        jwt: Vec<Jwt> = [];
        /// An issuer of JWTs with OpenID Connect discovery
        oidc: Vec<Oidc> = [];
        /// An issuer of tokens with an introspection endpoint
        introspection: Vec<Introspection> = [];
        /// A caller with a client certificate, or any
        mtls: Vec<Mtls> = [];
    }
}

/// The location of API keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ApiKeyLocation {
    Header,
    Query,
    Cookie,
}

impl ApiKeyLocation {
    /// The word of the agent card.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Query => "query",
            Self::Cookie => "cookie",
        }
    }
}

/// A caller with an API key.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiKey {
    /// Name of the caller
    pub(crate) caller: NonEmpty,
    /// API key; exactly one of key and sha256 is required
    pub(crate) key: Option<Secret>,
    /// SHA-256 of the API key, in hexadecimal
    pub(crate) sha256: Option<String>,
    /// Scopes of the caller, for requirements of the card
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// The only tenants that the caller may use [default: all]
    #[serde(default)]
    pub(crate) tenants: Vec<String>,
}

/// A caller with a bearer token.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bearer {
    /// Name of the caller
    pub(crate) caller: NonEmpty,
    /// Bearer token; exactly one of token and sha256 is required
    pub(crate) token: Option<Secret>,
    /// SHA-256 of the token, in hexadecimal
    pub(crate) sha256: Option<String>,
    /// Scopes of the caller, for requirements of the card
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// The only tenants that the caller may use [default: all]
    #[serde(default)]
    pub(crate) tenants: Vec<String>,
}

/// A caller with a password.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Basic {
    /// User name, and the name of the caller
    pub(crate) user: NonEmpty,
    /// Argon2 hash of the password, as written by `a2a auth hash-password <file>`
    pub(crate) password_hash: Secret,
    /// Scopes of the caller, for requirements of the card
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// The only tenants that the caller may use [default: all]
    #[serde(default)]
    pub(crate) tenants: Vec<String>,
}

/// An issuer of JWTs with a known key set.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Jwt {
    /// Issuer of the tokens; callers are named `issuer#subject`
    pub(crate) issuer: NonEmpty,
    /// Accepted audiences
    #[serde(default)]
    pub(crate) audiences: Vec<String>,
    /// Clients (`client_id`) whose tokens are accepted without an audience, as AWS Cognito issues
    /// them; audiences or client_ids are required
    #[serde(default)]
    pub(crate) client_ids: Vec<String>,
    /// URL of the key set; exactly one of jwks_url and jwks_file is required
    pub(crate) jwks_url: Option<String>,
    /// File with the key set
    pub(crate) jwks_file: Option<PathBuf>,
    /// Scopes that callers need
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// Claims that executors can read [default: sub, scope, scp, exp and act]
    #[serde(default)]
    pub(crate) claims: Vec<String>,
    /// Tolerance for clock skew [default: 60s]
    pub(crate) leeway: Option<Duration>,
    /// Name of the security scheme in the card
    pub(crate) scheme: Option<String>,
}

/// An issuer of JWTs with OpenID Connect discovery.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Oidc {
    /// URL of the OpenID Connect configuration; callers are named `issuer#subject`
    pub(crate) url: NonEmpty,
    /// Accepted audiences
    #[serde(default)]
    pub(crate) audiences: Vec<String>,
    /// Clients (`client_id`) whose tokens are accepted without an audience, as AWS Cognito issues
    /// them; audiences or client_ids are required
    #[serde(default)]
    pub(crate) client_ids: Vec<String>,
    /// Scopes that callers need
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// Claims that executors can read [default: sub, scope, scp, exp and act]
    #[serde(default)]
    pub(crate) claims: Vec<String>,
    /// Tolerance for clock skew [default: 60s]
    pub(crate) leeway: Option<Duration>,
    /// Name of the security scheme in the card
    pub(crate) scheme: Option<String>,
}

/// An issuer of tokens with an introspection endpoint (RFC 7662).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Introspection {
    /// Issuer of the tokens; callers are named `issuer#subject`
    pub(crate) issuer: NonEmpty,
    /// URL of the introspection endpoint
    pub(crate) url: NonEmpty,
    /// Client id of this server
    pub(crate) client_id: NonEmpty,
    /// Client secret of this server
    pub(crate) client_secret: Secret,
    /// Accepted audiences [default: all]
    #[serde(default)]
    pub(crate) audiences: Vec<String>,
    /// Scopes that callers need
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// Claims that executors can read [default: sub, scope, scp, exp and act]
    #[serde(default)]
    pub(crate) claims: Vec<String>,
    /// Lifetime of cached responses, in which a revoked token remains valid; a quarter longer on open
    /// streams, and while the endpoint is slow or unavailable [default: 60s]
    pub(crate) lifetime: Option<Duration>,
    /// Name of the security scheme in the card
    pub(crate) scheme: Option<String>,
}

/// A caller with a client certificate, or all with one that `tls.client_ca_file` trusts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mtls {
    /// Name of the caller, with exactly one of fingerprint, uri, dns and subject
    pub(crate) caller: Option<NonEmpty>,
    /// SHA-256 fingerprint of the certificate
    pub(crate) fingerprint: Option<String>,
    /// URI in the certificate
    pub(crate) uri: Option<String>,
    /// DNS name in the certificate
    pub(crate) dns: Option<String>,
    /// Subject of the certificate
    pub(crate) subject: Option<String>,
    /// Accept every trusted certificate; callers are named `x509#` and URI or subject
    #[serde(default)]
    pub(crate) any: bool,
    /// Scopes of the caller, for requirements of the card
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// The only tenants that the caller may use [default: all]
    #[serde(default)]
    pub(crate) tenants: Vec<String>,
}

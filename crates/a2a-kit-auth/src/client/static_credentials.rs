//! Static credentials.

use a2a_core::v1::security_scheme::Scheme;
use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::{CredentialError, CredentialRequest, CredentialSource, Secret};

/// An API key, sent in the header, query parameter or cookie that the card names.
#[derive(Clone, Debug)]
pub struct ApiKey(Secret);

impl ApiKey {
    /// Creates a source from a key.
    pub fn new(key: impl Into<Secret>) -> Self {
        Self(key.into())
    }
}

/// A user name and a password (RFC 7617).
#[derive(Clone, Debug)]
pub struct Basic(Secret);

impl Basic {
    /// Creates a source from a user name and a password.
    ///
    /// # Errors
    ///
    /// [`CredentialError::InvalidCharacters`] for a colon in the user name, or a control character
    /// in either.
    pub fn new(user: &str, password: &str) -> Result<Self, CredentialError> {
        if user.contains(':') || user.contains(char::is_control) {
            return Err(CredentialError::InvalidCharacters("user name"));
        }
        if password.contains(char::is_control) {
            return Err(CredentialError::InvalidCharacters("password"));
        }
        Ok(Self(Secret::new(BASE64_STANDARD.encode(format!("{user}:{password}")))))
    }
}

/// A static token, for bearer authentication, any OAuth 2.0 flow and OpenID Connect.
#[derive(Clone, Debug)]
pub struct Bearer(Secret);

impl Bearer {
    /// Creates a source from a token.
    pub fn new(token: impl Into<Secret>) -> Self {
        Self(token.into())
    }
}

/// Returns whether a scheme uses a bearer token.
pub(super) fn uses_bearer_token(scheme: &Scheme) -> bool {
    match scheme {
        Scheme::HttpAuthSecurityScheme(http) => http.scheme.eq_ignore_ascii_case("bearer"),
        Scheme::Oauth2SecurityScheme(_) | Scheme::OpenIdConnectSecurityScheme(_) => true,
        Scheme::ApiKeySecurityScheme(_) | Scheme::MtlsSecurityScheme(_) => false,
    }
}

macro_rules! static_source {
    ($source:ident, $supports:expr) => {
        #[async_trait]
        impl CredentialSource for $source {
            fn supports(&self, scheme: &Scheme) -> bool {
                let supports: fn(&Scheme) -> bool = $supports;
                supports(scheme)
            }

            async fn obtain(
                &self,
                _: &CredentialRequest,
                _: Option<&Secret>,
            ) -> Result<Secret, CredentialError> {
                Ok(self.0.clone())
            }
        }
    };
}

static_source!(ApiKey, |scheme| matches!(scheme, Scheme::ApiKeySecurityScheme(_)));
static_source!(Basic, |scheme| matches!(
    scheme,
    Scheme::HttpAuthSecurityScheme(http) if http.scheme.eq_ignore_ascii_case("basic")
));
static_source!(Bearer, uses_bearer_token);

//! Secrets that the application has at hand.

use std::fmt;

use a2a_core::v1::security_scheme::Scheme;
use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::{CredentialError, CredentialSource, Demand, Secret};

/// An API key, which goes where the card says: a header, the query or a cookie.
#[derive(Clone)]
pub struct ApiKey(Secret);

impl ApiKey {
    /// Creates a source of one key.
    pub fn new(key: impl Into<Secret>) -> Self {
        Self(key.into())
    }
}

/// A user with a password (RFC 7617).
#[derive(Clone)]
pub struct Basic(Secret);

impl Basic {
    /// Creates a source of one pair.
    ///
    /// # Errors
    ///
    /// [`CredentialError::Unfit`] where the user has a colon in it, or one of them a control
    /// character.
    pub fn new(user: &str, password: &str) -> Result<Self, CredentialError> {
        if user.contains(':') || user.contains(char::is_control) {
            return Err(CredentialError::Unfit("the user"));
        }
        if password.contains(char::is_control) {
            return Err(CredentialError::Unfit("the password"));
        }
        Ok(Self(Secret::new(BASE64_STANDARD.encode(format!("{user}:{password}")))))
    }
}

/// A token that the application got by itself: for bearer authentication, OAuth 2.0 of any flow,
/// and OpenID Connect.
#[derive(Clone)]
pub struct Bearer(Secret);

impl Bearer {
    /// Creates a source of one token.
    pub fn new(token: impl Into<Secret>) -> Self {
        Self(token.into())
    }
}

/// Returns whether a scheme is met by a bearer token.
pub(super) fn takes_bearer(scheme: &Scheme) -> bool {
    match scheme {
        Scheme::HttpAuthSecurityScheme(http) => http.scheme.eq_ignore_ascii_case("bearer"),
        Scheme::Oauth2SecurityScheme(_) | Scheme::OpenIdConnectSecurityScheme(_) => true,
        Scheme::ApiKeySecurityScheme(_) | Scheme::MtlsSecurityScheme(_) => false,
    }
}

macro_rules! fixed {
    ($source:ident, $name:literal, $can_meet:expr) => {
        #[async_trait]
        impl CredentialSource for $source {
            fn can_meet(&self, scheme: &Scheme) -> bool {
                let can_meet: fn(&Scheme) -> bool = $can_meet;
                can_meet(scheme)
            }

            async fn obtain(
                &self,
                _: &Demand,
                _: Option<&Secret>,
            ) -> Result<Secret, CredentialError> {
                Ok(self.0.clone())
            }
        }

        impl fmt::Debug for $source {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($name, "(..)"))
            }
        }
    };
}

fixed!(ApiKey, "ApiKey", |scheme| matches!(scheme, Scheme::ApiKeySecurityScheme(_)));
fixed!(Basic, "Basic", |scheme| matches!(
    scheme,
    Scheme::HttpAuthSecurityScheme(http) if http.scheme.eq_ignore_ascii_case("basic")
));
fixed!(Bearer, "Bearer", takes_bearer);

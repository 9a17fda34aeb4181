//! Security schemes, as the settings declare them.

use std::{fmt::Display, sync::Arc};

use a2a_core::v1::{HttpAuthSecurityScheme, security_scheme::Scheme};
use a2a_kit_auth::server::SchemeVerifier;

use crate::failure::Failure;

/// A security scheme, as the settings declare it, and its verifier.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) scheme: Scheme,
    /// The required scopes.
    pub(super) scopes: Vec<String>,
    pub(super) verifier: Arc<dyn SchemeVerifier>,
    /// The flag or settings table that configures it, for messages.
    pub(super) source: String,
}

impl Declared {
    pub(super) fn new(
        name: &str,
        scheme: Scheme,
        verifier: impl SchemeVerifier + 'static,
        source: &str,
    ) -> Self {
        let (verifier, scopes) = (Arc::new(verifier), Vec::new());
        Self { name: name.into(), scheme, scopes, verifier, source: source.into() }
    }
}

/// A failure for a table of the settings file, such as `auth.api_key[0]`.
pub(super) fn invalid(table: &str, index: usize, error: impl Display) -> Failure {
    Failure::usage(format!("auth.{table}[{index}]: {error}"))
}

pub(super) fn http(scheme: &str, format: &str) -> Scheme {
    Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
        scheme: scheme.into(),
        bearer_format: format.into(),
        ..HttpAuthSecurityScheme::default()
    })
}

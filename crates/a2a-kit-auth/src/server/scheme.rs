//! Security schemes of the card, with their verifiers.

use std::sync::Arc;

use a2a_core::v1::{SecurityScheme, security_scheme::Scheme};

use super::{
    SchemeVerifier,
    request_credentials::{CredentialLocation, header_name},
};

/// A scheme, the location of its credential, and its verifier.
#[derive(Debug)]
pub(super) struct EnforcedScheme {
    pub(super) name: Arc<str>,
    pub(super) location: CredentialLocation,
    /// Schemes that identify users come first: where a requirement has several schemes, the first
    /// determines the subject.
    pub(super) rank: u8,
    pub(super) verifier: Arc<dyn SchemeVerifier>,
}

/// Returns the location of a scheme's credential, and its rank.
///
/// # Errors
///
/// The reason that the scheme can't be enforced.
pub(super) fn location(scheme: &SecurityScheme) -> Result<(CredentialLocation, u8), &'static str> {
    match scheme.scheme.as_ref().ok_or("empty scheme")? {
        Scheme::OpenIdConnectSecurityScheme(_) => Ok((CredentialLocation::Bearer, 0)),
        Scheme::Oauth2SecurityScheme(_) => Ok((CredentialLocation::Bearer, 1)),
        Scheme::HttpAuthSecurityScheme(http) if http.scheme.eq_ignore_ascii_case("bearer") => {
            Ok((CredentialLocation::Bearer, 2))
        }
        Scheme::HttpAuthSecurityScheme(http) if http.scheme.eq_ignore_ascii_case("basic") => {
            Ok((CredentialLocation::Basic, 3))
        }
        Scheme::HttpAuthSecurityScheme(_) => {
            Err("unsupported HTTP authentication scheme (expected Basic or Bearer)")
        }
        Scheme::ApiKeySecurityScheme(key) => {
            if key.name.is_empty() {
                return Err("name of the API key is missing");
            }
            let location = match key.location.as_str() {
                "header" => {
                    CredentialLocation::Header(header_name(&key.name).ok_or("invalid header name")?)
                }
                "query" => CredentialLocation::Query(key.name.clone()),
                "cookie" => CredentialLocation::Cookie(key.name.clone()),
                _ => return Err("location of the API key must be header, query or cookie"),
            };
            if location == CredentialLocation::Header("authorization".into()) {
                return Err("header Authorization is not allowed for an API key");
            }
            Ok((location, 4))
        }
        Scheme::MtlsSecurityScheme(_) => Ok((CredentialLocation::Certificate, 5)),
    }
}

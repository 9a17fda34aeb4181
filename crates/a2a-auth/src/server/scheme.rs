//! A scheme of the card, as the server enforces it.

use std::sync::Arc;

use a2a_core::v1::{SecurityScheme, security_scheme::Scheme};

use super::{
    Verifier,
    presented::{Place, header_name},
};

/// A scheme, where its callers present what, and who verifies it.
#[derive(Debug)]
pub(super) struct Enforced {
    pub(super) name: Arc<str>,
    pub(super) place: Place,
    /// The schemes that say most about a person come first: they name the caller where a
    /// requirement asks for several.
    pub(super) rank: u8,
    pub(super) verifier: Arc<dyn Verifier>,
}

/// Returns where callers of a scheme present what, and its rank.
///
/// # Errors
///
/// What of it can't be enforced.
pub(super) fn place(scheme: &SecurityScheme) -> Result<(Place, u8), &'static str> {
    match scheme.scheme.as_ref().ok_or("it is empty")? {
        Scheme::OpenIdConnectSecurityScheme(_) => Ok((Place::Bearer, 0)),
        Scheme::Oauth2SecurityScheme(_) => Ok((Place::Bearer, 1)),
        Scheme::HttpAuthSecurityScheme(http) if http.scheme.eq_ignore_ascii_case("bearer") => {
            Ok((Place::Bearer, 2))
        }
        Scheme::HttpAuthSecurityScheme(http) if http.scheme.eq_ignore_ascii_case("basic") => {
            Ok((Place::Basic, 3))
        }
        Scheme::HttpAuthSecurityScheme(_) => {
            Err("of the schemes of HTTP, Basic and Bearer can be enforced")
        }
        Scheme::ApiKeySecurityScheme(key) => {
            if key.name.is_empty() {
                return Err("it does not say what the key is called");
            }
            let place = match key.location.as_str() {
                "header" => Place::Header(header_name(&key.name).ok_or("no header is called so")?),
                "query" => Place::Query(key.name.clone()),
                "cookie" => Place::Cookie(key.name.clone()),
                _ => return Err("the key has to be in header, query or cookie"),
            };
            if place == Place::Header("authorization".into()) {
                return Err("a key in Authorization would be read as another scheme");
            }
            Ok((place, 4))
        }
        Scheme::MtlsSecurityScheme(_) => Ok((Place::Certificate, 5)),
    }
}

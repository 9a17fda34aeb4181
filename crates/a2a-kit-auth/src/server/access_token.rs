//! Distinguishing access tokens from other JWTs of their issuer.

use super::{Rejection, TokenClaims};
use crate::jose::TokenHeader;

/// Claims that only other tokens have: the hashes of an ID token (OpenID Connect Core §3.3.2.11), and
/// the events of a logout or security event token (RFC 8417).
const FOREIGN_CLAIMS: [&str; 4] = ["at_hash", "c_hash", "s_hash", "events"];
/// Claims with the kind of a token, and its values for other tokens, in lower case.
const KIND_CLAIMS: [(&str, &[&str]); 2] =
    [("typ", &["id", "refresh", "offline", "logout"]), ("token_use", &["id"])];

/// Checks that a token is an access token: an issuer signs others with the same key, for the same
/// audience (RFC 8725 §2.8).
///
/// A type with a `+` has to be that of an access token, `at+jwt` (RFC 9068 §4) or one that ends in
/// `-at+jwt`. Without a type, with `JWT`, and with other words, the claims decide.
pub(super) fn check(header: &TokenHeader, claims: &TokenClaims) -> Result<(), Rejection> {
    let token_type = header.token_type.as_deref().unwrap_or_default().to_ascii_lowercase();
    let token_type = token_type.strip_prefix("application/").unwrap_or(&token_type);
    let is_other_type =
        token_type.contains('+') && token_type != "at+jwt" && !token_type.ends_with("-at+jwt");
    let is_other_kind = KIND_CLAIMS.iter().any(|(name, others)| {
        claims.text(name).is_some_and(|kind| others.contains(&&*kind.to_ascii_lowercase()))
    });
    if is_other_type
        || is_other_kind
        || FOREIGN_CLAIMS.iter().any(|name| claims.0.contains_key(*name))
    {
        return Err(Rejection::Invalid("not an access token"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::jose::Algorithm;

    #[test]
    fn only_access_tokens_are_accepted() {
        for (token_type, claims, is_accepted) in [
            (None, json!({}), true),
            (Some("JWT"), json!({}), true),
            (Some("jwt"), json!({"typ": "Bearer", "nonce": "n", "token_use": "access"}), true),
            (Some("at+jwt"), json!({}), true),
            (Some("application/AT+JWT"), json!({}), true),
            (Some("application/okta-internal-at+jwt"), json!({}), true),
            (Some("vendor"), json!({}), true),
            (Some("logout+jwt"), json!({}), false),
            (Some("application/Logout+JWT"), json!({}), false),
            (Some("secevent+jwt"), json!({}), false),
            (Some("dpop+jwt"), json!({}), false),
            (Some("token-introspection+jwt"), json!({}), false),
            (Some("oauth-authz-req+jwt"), json!({}), false),
            (Some("not+at+jwt"), json!({}), false),
            (Some("dc+sd-jwt"), json!({}), false),
            (Some("JWT"), json!({"at_hash": "x"}), false),
            (None, json!({"c_hash": "x"}), false),
            (Some("JWT"), json!({"typ": "ID"}), false),
            (Some("JWT"), json!({"typ": "Refresh"}), false),
            (Some("JWT"), json!({"typ": "Logout"}), false),
            (Some("JWT"), json!({"token_use": "id"}), false),
            (Some("JWT"), json!({"events": {}}), false),
        ] {
            let header = TokenHeader {
                algorithm: Algorithm::EdDsa,
                key_id: None,
                token_type: token_type.map(str::to_owned),
            };
            let Value::Object(members) = claims.clone() else { panic!("no object") };
            let checked = check(&header, &TokenClaims(members));
            assert_eq!(checked.is_ok(), is_accepted, "{token_type:?} {claims}");
        }
    }
}

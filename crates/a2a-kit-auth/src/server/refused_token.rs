//! Why a token was refused, in the log: what it claims of itself, so that it can be compared with the
//! settings.

use a2a_kit_operations::LogLimit;
use serde_json::Value;

use super::{RequestCredential, auth_failure::AuthFailure};
use crate::{jose::SignedToken, unique_names::object};

/// Maximum length of a claim in the log, in characters.
const MAX_CLAIM: usize = 128;

/// Logs a refused token, at most one a second. Its claims are unverified, and are no secrets.
pub(super) fn log(failure: &AuthFailure, credential: &RequestCredential) {
    static LIMIT: LogLimit = LogLimit::new();
    let RequestCredential::Bearer(text) = credential else { return };
    if !matches!(failure, AuthFailure::Invalid(_) | AuthFailure::Expired) {
        return;
    }
    let Ok(token) = SignedToken::parse(text) else { return };
    let Some(omitted) = LIMIT.admit() else { return };
    let claims = object(token.unverified_payload()).unwrap_or_default();
    let claim = |name: &str| claims.get(name).map(shown);
    tracing::info!(
        reason = failure.reason(),
        token.issuer = claim("iss"),
        token.audience = claim("aud"),
        token.client_id = claim("client_id"),
        token.key_id = token.header().key_id.as_deref().map(shortened),
        omitted,
        "token refused"
    );
}

/// A claim as the log shows it: a string without the quotes of JSON, which the log adds.
fn shown(claim: &Value) -> String {
    claim.as_str().map_or_else(|| shortened(&claim.to_string()), shortened)
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_CLAIM).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_are_shown_without_quotes_of_their_own() {
        assert_eq!(shown(&json!("https://issuer.example")), "https://issuer.example");
        assert_eq!(shown(&json!(["a", "b"])), r#"["a","b"]"#);
        assert_eq!(shown(&json!("x".repeat(1_000))).len(), MAX_CLAIM);
    }
}

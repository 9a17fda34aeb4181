//! The claims of a token, or of an introspection response.

use std::time::{Duration, SystemTime};

use a2a_core::well_known::Struct;
use serde_json::{Map, Value};

use super::Rejection;

/// The claims of a verified token.
#[derive(Clone)]
pub struct TokenClaims(pub(super) Map<String, Value>);

impl TokenClaims {
    /// Returns a claim that is a non-empty string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// The scopes in `scope` (RFC 8693 §4.2) and `scp`, each a space-separated string or an array.
    pub fn scopes(&self) -> Vec<&str> {
        let claims = ["scope", "scp"].into_iter().filter_map(|name| self.0.get(name));
        claims.flat_map(texts).flat_map(str::split_whitespace).collect()
    }

    /// Returns the claims with these names.
    pub(super) fn selected(&self, names: &[String]) -> Struct {
        let named = self.0.iter().filter(|(name, _)| names.contains(name));
        named.map(|(name, claim)| (name.clone(), claim.clone())).collect()
    }

    /// Returns whether `aud` contains an audience.
    pub(super) fn is_for(&self, audience: &str) -> bool {
        self.0.get("aud").is_some_and(|claim| texts(claim).contains(&audience))
    }

    /// Returns a time claim, given in seconds since the Unix epoch.
    pub(super) fn time(&self, name: &str) -> Result<Option<SystemTime>, Rejection> {
        let Some(claim) = self.0.get(name) else { return Ok(None) };
        let since = claim.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let time = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
        time.map(Some).ok_or(Rejection::Invalid("malformed time claim"))
    }
}

a2a_core::debug_fields!(TokenClaims(..));

fn texts(claim: &Value) -> Vec<&str> {
    match claim {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

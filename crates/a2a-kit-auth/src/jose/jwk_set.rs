use std::collections::HashSet;

use async_trait::async_trait;
#[cfg(feature = "server")]
use axum::{Router, response::IntoResponse as _, routing::get};
use bytes::Bytes;
#[cfg(feature = "server")]
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Algorithm, Jwk, KeySource, MissingKey};

/// Public keys as a JWK set (RFC 7517 §5).
///
/// Invalid and unsupported keys are ignored when a set is parsed. The number of keys is bounded
/// only by the length of the document, which is 1 MiB if it is fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct JwkSet {
    #[serde(deserialize_with = "usable")]
    keys: Vec<Jwk>,
}

/// The path at which an agent publishes its keys.
pub const JWKS_PATH: &str = "/.well-known/jwks.json";

impl JwkSet {
    /// The keys.
    pub fn keys(&self) -> &[Jwk] {
        &self.keys
    }

    /// Returns the key with an id.
    pub fn find(&self, id: &str) -> Option<&Jwk> {
        self.keys.iter().find(|key| key.id() == id)
    }

    /// Returns the keys that verify signatures of an algorithm.
    pub fn supporting(&self, algorithm: Algorithm) -> impl Iterator<Item = &Jwk> {
        self.keys.iter().filter(move |key| key.supports(algorithm))
    }

    /// Serializes the set as JSON.
    pub fn json(&self) -> Bytes {
        // Serialization can't fail; the fallback is the empty set, which trusts no key.
        serde_json::to_vec(self).map_or_else(|_| Bytes::from_static(br#"{"keys":[]}"#), Bytes::from)
    }
}

#[cfg(feature = "server")]
impl JwkSet {
    /// Serves the keys at [`JWKS_PATH`], without authentication.
    pub fn router(&self) -> Router {
        let document = self.json();
        let response = async move || {
            // As long as `RemoteKeys` caches them.
            let headers = [
                (CONTENT_TYPE, "application/jwk-set+json"),
                (CACHE_CONTROL, "public, max-age=600"),
            ];
            (headers, document).into_response()
        };
        Router::new().route(JWKS_PATH, get(response))
    }
}

impl FromIterator<Jwk> for JwkSet {
    /// Of keys with the same id, the first one is kept.
    fn from_iter<I: IntoIterator<Item = Jwk>>(keys: I) -> Self {
        let mut ids = HashSet::new();
        Self { keys: keys.into_iter().filter(|key| ids.insert(key.id().to_owned())).collect() }
    }
}

/// Ignores invalid and unsupported keys.
fn usable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Jwk>, D::Error> {
    let keys = Vec::<Value>::deserialize(deserializer)?;
    let keys = keys.into_iter().filter_map(|key| Jwk::deserialize(key).ok());
    Ok(keys.collect::<JwkSet>().keys)
}

#[async_trait]
impl KeySource for JwkSet {
    async fn key(&self, id: &str) -> Result<Jwk, MissingKey> {
        self.find(id).cloned().ok_or(MissingKey::Unknown)
    }

    async fn keys_for(&self, algorithm: Algorithm) -> Result<Vec<Jwk>, MissingKey> {
        Ok(self.supporting(algorithm).cloned().collect())
    }

    fn has(&self, key: &Jwk) -> Option<bool> {
        Some(self.find(key.id()) == Some(key))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_of_150_keys_are_parsed() {
        let keys: Vec<_> = (0..150)
            .map(|_| crate::jose::SigningKey::generate(Algorithm::EdDsa).unwrap().public().clone())
            .collect();
        let written = keys.iter().cloned().collect::<JwkSet>().json();
        let set: JwkSet = serde_json::from_slice(&written).unwrap();
        assert_eq!(set.keys(), keys);
        assert_eq!(set.find(keys[149].id()), Some(&keys[149]));
    }

    #[test]
    fn invalid_keys_of_a_set_are_ignored() {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let set: JwkSet = serde_json::from_value(json!({
            "keys": [
                {"kty": "oct", "kid": "secret", "k": "AAAA"},
                {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "a", "d": "private"},
                "nonsense",
                {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "a"},
                {"kty": "new", "kid": "b"},
            ],
            "more": true,
        }))
        .unwrap();
        assert_eq!(set.keys().len(), 1);
        assert!(set.find("a").is_some() && set.find("secret").is_none());
        let written: Value = serde_json::from_slice(&set.json()).unwrap();
        let key = json!({
            "kty": "OKP", "crv": "Ed25519", "x": x, "kid": "a", "alg": "EdDSA", "use": "sig",
        });
        assert_eq!(written, json!({ "keys": [key] }));
    }
}

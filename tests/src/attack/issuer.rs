//! A token issuer, with valid and invalid tokens.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    hmac,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::{Value, json};

/// The issuer that the server trusts.
#[derive(Debug)]
pub struct Issuer {
    key: EcdsaKeyPair,
    random: SystemRandom,
}

impl Default for Issuer {
    fn default() -> Self {
        let random = SystemRandom::new();
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        Self { key: key.expect("a key"), random }
    }
}

impl Issuer {
    /// Its `iss`.
    pub const NAME: &'static str = "https://issuer.test";
    /// Its `aud`.
    pub const AUDIENCE: &'static str = "https://agent.test";
    /// Its key id.
    pub const KEY: &'static str = "key-1";

    /// Its public key.
    pub fn jwk(&self) -> Value {
        let point = self.key.public_key().as_ref();
        json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": Self::KEY,
            "x": URL_SAFE_NO_PAD.encode(&point[1..33]),
            "y": URL_SAFE_NO_PAD.encode(&point[33..65]),
        })
    }

    /// Its JWK set.
    pub fn jwks(&self) -> Value {
        json!({"keys": [self.jwk()]})
    }

    /// The claims of a valid token.
    pub fn claims(subject: &str) -> Value {
        let now = now();
        json!({
            "iss": Self::NAME, "aud": Self::AUDIENCE, "sub": subject,
            "iat": now, "nbf": now - 10, "exp": now + 3_600,
        })
    }

    /// A valid token.
    pub fn token(&self, subject: &str) -> String {
        self.signed(&Self::header(), &Self::claims(subject))
    }

    /// The header of a valid token.
    pub fn header() -> Value {
        json!({"alg": "ES256", "typ": "JWT", "kid": Self::KEY})
    }

    /// A token with any header and claims, signed with its key.
    pub fn signed(&self, header: &Value, claims: &Value) -> String {
        let text = unsigned(header, claims);
        let signature = self.key.sign(&self.random, text.as_bytes()).expect("a signature");
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// A token with the text of its claims.
    pub fn signed_text(&self, header: &Value, claims: &str) -> String {
        let header = URL_SAFE_NO_PAD.encode(header.to_string());
        let text = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims));
        let signature = self.key.sign(&self.random, text.as_bytes()).expect("a signature");
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// A token signed with the public key.
    pub fn with_public_key(&self, claims: &Value) -> String {
        let header = json!({"alg": "HS256", "typ": "JWT", "kid": Self::KEY});
        let text = unsigned(&header, claims);
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.key.public_key().as_ref());
        let signature = hmac::sign(&key, text.as_bytes());
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// A token without signature and the preceding dot.
pub(super) fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

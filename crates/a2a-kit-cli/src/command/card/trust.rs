//! Trusted keys of card signatures.

use std::error::Error;

use a2a_kit_auth::{
    card::{JwsCardVerifier, TrustStore},
    jose::{Jwk, JwkSet, RemoteKeys, SigningKey},
};
use clap::{Args, ValueHint};
use serde_json::Value;

use crate::{
    failure::{Failure, chain},
    settings::Settings,
};

/// Trusted keys and hosts.
#[derive(Args, Debug)]
#[command(next_help_heading = "Trust")]
pub(crate) struct Trust {
    /// Trusted keys: a file with a key set (JWKS) or one key (JWK or PEM), or the URL of a key set;
    /// repeatable
    #[arg(long, value_name = "FILE|URL", value_hint = ValueHint::FilePath, visible_alias = "key")]
    jwks: Vec<String>,
    /// Host whose published keys are trusted if a signature refers to them (`jku`); repeatable
    #[arg(long, value_name = "HOST")]
    trust_jku: Vec<String>,
    /// ID or thumbprint of a revoked key; repeatable
    #[arg(long, value_name = "ID")]
    revoked: Vec<String>,
    /// Accept signatures without empty members, as some SDKs create them
    #[arg(long)]
    without_empty: bool,
}

impl Trust {
    /// Returns whether there are trusted keys or hosts.
    pub(super) fn is_some(&self) -> bool {
        !self.jwks.is_empty() || !self.trust_jku.is_empty()
    }

    /// Creates the verifier.
    pub(super) fn verifier(&self, settings: &Settings) -> Result<JwsCardVerifier, Failure> {
        let mut store = TrustStore::new()
            .with_tls(settings.tls.clone().without_identity())
            .map_err(|error| Failure::internal(error.to_string()))?;
        for place in &self.jwks {
            store = match keys(place, settings)? {
                Keys::Url(keys) => store.with_source(keys),
                Keys::File(keys) => store.with_keys(&keys),
            };
        }
        for host in &self.trust_jku {
            let trusted = store.with_host(host);
            store = trusted.map_err(|error| failure("--trust-jku", host, &error))?;
        }
        for key in &self.revoked {
            store = store.revoke(key);
        }
        let verifier = JwsCardVerifier::new(store);
        Ok(if self.without_empty { verifier.with_form_without_empty() } else { verifier })
    }
}

/// Public keys, from where `--jwks` says.
pub(crate) enum Keys {
    File(JwkSet),
    Url(RemoteKeys),
}

/// Reads the keys in a file, or prepares to fetch those at a URL.
pub(crate) fn keys(place: &str, settings: &Settings) -> Result<Keys, Failure> {
    if !place.starts_with("https://") && !place.starts_with("http://") {
        return read(place).map(Keys::File);
    }
    let keys = RemoteKeys::at_with_tls(place, settings.tls.clone().without_identity());
    keys.map(Keys::Url).map_err(|error| failure("--jwks", place, &error))
}

/// Reads trusted keys from a file.
fn read(path: &str) -> Result<JwkSet, Failure> {
    let failure = |error: &dyn Error| failure("--jwks", path, error);
    let text = std::fs::read_to_string(path).map_err(|error| failure(&error))?;
    if text.contains("-----BEGIN ") {
        let key = SigningKey::from_pem(&text).map_err(|error| failure(&error))?;
        return Ok(JwkSet::from_iter([key.public().clone()]));
    }
    let json: Value = serde_json::from_str(&text).map_err(|error| failure(&error))?;
    if json.get("keys").is_none() {
        let key: Jwk = serde_json::from_value(json).map_err(|error| failure(&error))?;
        return Ok(JwkSet::from_iter([key]));
    }
    let keys: JwkSet = serde_json::from_value(json).map_err(|error| failure(&error))?;
    if keys.keys().is_empty() {
        return Err(Failure::usage(format!("--jwks {path}: no usable key"))
            .with_hint("supported are P-256, Ed25519 and RSA keys for signatures"));
    }
    Ok(keys)
}

fn failure(flag: &str, value: &str, error: &dyn Error) -> Failure {
    Failure::usage(format!("{flag} {value}: {}", chain(error)))
}

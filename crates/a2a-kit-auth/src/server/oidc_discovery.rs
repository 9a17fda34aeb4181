//! OpenID Connect discovery of an issuer's keys (Discovery 1.0 §4).

use std::{error::Error as StdError, sync::Arc};

use a2a_kit_http::{client::HttpClient, tls::ClientTls, uri};
use bytes::Bytes;
use serde::Deserialize;

use crate::{
    fetch::{self, OPENID_CONFIGURATION, SetupError},
    jose::RemoteKeys,
};

#[derive(Deserialize)]
struct Configuration {
    issuer: String,
    jwks_uri: String,
}

/// Returns the issuer of a discovery document, and its keys.
pub(super) fn discover(url: &str, tls: ClientTls) -> Result<(String, RemoteKeys), SetupError> {
    secure(url)?;
    let issuer: Arc<str> = url
        .strip_suffix(OPENID_CONFIGURATION)
        .ok_or_else(|| SetupError::NotWellKnown(url.to_owned()))?
        .into();
    let client = fetch::client(tls)?;
    let (url, named) = (Arc::<str>::from(url), issuer.to_string());
    // Both documents are fetched each time, as either may change.
    let keys =
        RemoteKeys::with(move || keys(client.clone(), Arc::clone(&url), Arc::clone(&issuer)));
    Ok((named, keys))
}

async fn keys(
    client: HttpClient,
    url: Arc<str>,
    issuer: Arc<str>,
) -> Result<Bytes, Box<dyn StdError + Send + Sync>> {
    let document = fetch::document(client.clone(), url).await?;
    let configuration: Configuration = serde_json::from_slice(&document)?;
    // An issuer with a trailing slash is a different one (§4.3).
    if configuration.issuer != *issuer {
        return Err(format!("discovery document has issuer {:?}", configuration.issuer).into());
    }
    secure(&configuration.jwks_uri)?;
    fetch::document(client, configuration.jwks_uri.into()).await
}

/// Checks that a URL is protected in transit.
pub(super) fn secure(address: &str) -> Result<(), SetupError> {
    match uri::parse(address) {
        Ok(url) if fetch::is_secure(&url) => Ok(()),
        _ => Err(SetupError::Insecure(address.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_must_be_https_or_loopback() {
        for address in
            ["https://a.example", "http://127.0.0.1:8", "http://[::1]/", "http://localhost"]
        {
            assert!(secure(address).is_ok(), "{address}");
        }
        for address in [
            "http://a.example",
            "http://10.0.0.1",
            "ftp://localhost",
            "localhost",
            "",
            "http://localhost@a.example",
            "http://localhost\\@a.example",
            "http://127.0.0.1.a.example",
            "http:/localhost",
        ] {
            assert!(secure(address).is_err(), "{address}");
        }
    }

    #[test]
    fn issuer_is_derived_from_the_discovery_url() {
        let discover = |url| discover(url, ClientTls::new());
        let (issuer, _) =
            discover("https://a.example/realm/.well-known/openid-configuration").unwrap();
        assert_eq!(issuer, "https://a.example/realm");
        let other = discover("https://a.example/.well-known/oauth-authorization-server");
        assert!(matches!(other, Err(SetupError::NotWellKnown(_))));
    }
}

//! Where an issuer says that its keys are (OpenID Connect Discovery 1.0 §4).

use std::{error::Error as StdError, sync::Arc};

use a2a_core::host;
use a2a_http::{client::HttpClient, tls::ClientTls};
use bytes::Bytes;
use serde::Deserialize;
use url::Url;

use crate::{
    fetch::{self, SetupError},
    jose::RemoteKeys,
};

/// Where an issuer describes itself, below its own name.
const WELL_KNOWN: &str = "/.well-known/openid-configuration";

/// Why an issuer or an authorization server can't be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// The address is none, or one to which a secret must not be sent.
    #[error("it has to be an address of https, or one of http on this machine: {0:?}")]
    Insecure(String),
    /// The address does not end as the standard says, so that the issuer's name can't be found.
    #[error("it has to end in /.well-known/openid-configuration: {0:?}")]
    NotWellKnown(String),
    /// Connections over TLS can't be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

#[derive(Deserialize)]
struct Configuration {
    issuer: String,
    jwks_uri: String,
}

/// An issuer that describes itself at an address: its name, and its keys.
pub(super) fn discover(url: &str, tls: ClientTls) -> Result<(String, RemoteKeys), AddressError> {
    secure(url)?;
    let issuer: Arc<str> = url
        .strip_suffix(WELL_KNOWN)
        .ok_or_else(|| AddressError::NotWellKnown(url.to_owned()))?
        .into();
    let client = fetch::client(tls)?;
    let (url, named) = (Arc::<str>::from(url), issuer.to_string());
    // Both documents are read each time, as either may change.
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
    // Some write the name of the same issuer with a slash behind it, which tokens then have too:
    // that is another name (§4.3).
    if configuration.issuer != *issuer {
        return Err(format!("the document is of the issuer {:?}", configuration.issuer).into());
    }
    secure(&configuration.jwks_uri)?;
    fetch::document(client, configuration.jwks_uri.into()).await
}

/// Checks that nobody on the way can read or change what is fetched.
pub(super) fn secure(address: &str) -> Result<(), AddressError> {
    let insecure = || AddressError::Insecure(address.to_owned());
    let url = Url::parse(address).map_err(|_error| insecure())?;
    match url.scheme() {
        "https" => Ok(()),
        "http" if url.host_str().is_some_and(host::is_loopback) => Ok(()),
        _ => Err(insecure()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_tls_or_from_this_machine() {
        for address in
            ["https://a.example", "http://127.0.0.1:8", "http://[::1]/", "http://localhost"]
        {
            assert!(secure(address).is_ok(), "{address}");
        }
        for address in ["http://a.example", "http://10.0.0.1", "ftp://localhost", "localhost", ""] {
            assert!(secure(address).is_err(), "{address}");
        }
    }

    #[test]
    fn the_issuer_is_what_stands_in_front_of_the_well_known_path() {
        let discover = |url| discover(url, ClientTls::new());
        let (issuer, _) =
            discover("https://a.example/realm/.well-known/openid-configuration").unwrap();
        assert_eq!(issuer, "https://a.example/realm");
        let other = discover("https://a.example/.well-known/oauth-authorization-server");
        assert!(matches!(other, Err(AddressError::NotWellKnown(_))));
    }
}

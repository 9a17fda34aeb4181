//! What an OpenID Connect provider publishes about itself.

use a2a_http::client::HttpClient;
use serde::Deserialize;
use url::Url;

use super::{Endpoints, endpoints::secure};
use crate::{client::CredentialError, fetch};

/// Where an issuer publishes it, behind its own address.
pub(super) const WELL_KNOWN: &str = "/.well-known/openid-configuration";

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    token_endpoint: Option<String>,
    authorization_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
}

/// Reads the metadata at an address (OpenID Connect Discovery 1.0). The issuer that it names has
/// to be the one that is asked, or it could speak for others.
pub(super) async fn read(http: &HttpClient, address: &Url) -> Result<Endpoints, CredentialError> {
    let document = fetch::document(http.clone(), address.as_str().into()).await;
    let document = document.map_err(CredentialError::unavailable)?;
    let metadata: Metadata = serde_json::from_slice(&document).map_err(|error| {
        CredentialError::Answer(format!("the metadata of OpenID Connect can't be read: {error}"))
    })?;
    if address.as_str().strip_suffix(WELL_KNOWN) != Some(metadata.issuer.trim_end_matches('/')) {
        return Err(CredentialError::Answer("its metadata is another issuer's".to_owned()));
    }
    let token = metadata.token_endpoint.ok_or(CredentialError::Missing("the token URL"))?;
    let url = |what, url: Option<String>| url.map(|url| secure(what, &url)).transpose();
    Ok(Endpoints {
        token: secure("token URL", &token)?,
        authorization: url("authorization URL", metadata.authorization_endpoint)?,
        device_authorization: url(
            "device authorization URL",
            metadata.device_authorization_endpoint,
        )?,
        refresh: None,
        issuer: Some(metadata.issuer),
    })
}

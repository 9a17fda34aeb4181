//! OpenID Connect provider metadata.

use a2a_kit_http::client::HttpClient;
use http::Uri;
use serde::Deserialize;

use super::{Endpoints, endpoints::secure};
use crate::{
    client::CredentialError,
    fetch::{self, OPENID_CONFIGURATION},
};

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    token_endpoint: Option<String>,
    authorization_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Fetches the metadata at a URL (OpenID Connect Discovery 1.0). Its issuer has to match the URL,
/// so that one issuer can't impersonate another.
pub(super) async fn read(http: &HttpClient, address: &Uri) -> Result<Endpoints, CredentialError> {
    let address = address.to_string();
    let document = fetch::document(http.clone(), address.as_str().into()).await;
    let document = document.map_err(CredentialError::unavailable)?;
    let metadata: Metadata = serde_json::from_slice(&document).map_err(|error| {
        CredentialError::InvalidResponse(format!("malformed OpenID Connect metadata: {error}"))
    })?;
    if address.strip_suffix(OPENID_CONFIGURATION) != Some(metadata.issuer.trim_end_matches('/')) {
        let reason = "issuer of the OpenID Connect metadata does not match".to_owned();
        return Err(CredentialError::InvalidResponse(reason));
    }
    let token = metadata.token_endpoint.ok_or(CredentialError::Missing("token URL"))?;
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
        announces_issuer: metadata.authorization_response_iss_parameter_supported,
    })
}

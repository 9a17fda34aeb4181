//! HTTP clients for published documents and authorization servers.

use std::{sync::Arc, time::Duration};

use a2a_core::host;
use a2a_kit_http::{
    client::{ClientSettings, HttpClient},
    redaction::basic_forms,
    tls::ClientTls,
    uri,
};
use bytes::Bytes;
use http::{
    HeaderValue, Request, Response, Uri,
    header::{ACCEPT, CONTENT_TYPE},
    request,
};

/// The path of the metadata of an OpenID Connect provider, appended to its issuer.
pub(crate) const OPENID_CONFIGURATION: &str = "/.well-known/openid-configuration";

/// Maximum length of a response body, in bytes.
const MAX_LENGTH: usize = 1 << 20;

/// Why keys, an issuer or a trusted host can't be set up.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The TLS configuration is invalid.
    #[error("failed to set up TLS")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The URL is malformed, or plaintext to a remote host.
    #[error("URL {0:?} must be https, or http with a loopback host")]
    Insecure(String),
    /// Not the URL of a discovery document, so that the issuer can't be derived.
    #[error("URL {0:?} must end in /.well-known/openid-configuration")]
    NotWellKnown(String),
    /// Not a host.
    #[error("invalid host {0:?} (expected keys.example or keys.example:8443)")]
    Host(String),
}

a2a_core::debug_as_chain!(SetupError);

/// A client that uses the proxies of the environment, and follows no redirects.
pub(crate) fn client(tls: ClientTls) -> Result<HttpClient, SetupError> {
    new(settings().with_tls(tls).with_proxy_from_environment(true))
}

/// A client without proxies, which must not see plaintext requests to the loopback interface.
pub(crate) fn direct_client(tls: ClientTls) -> Result<HttpClient, SetupError> {
    new(settings().with_tls(tls))
}

fn settings() -> ClientSettings {
    ClientSettings::default()
        .with_request_timeout(Duration::from_secs(10))
        .with_max_response_bytes(MAX_LENGTH)
        .with_max_redirects(0)
}

fn new(settings: ClientSettings) -> Result<HttpClient, SetupError> {
    HttpClient::new(settings).map_err(|error| SetupError::Tls(error.into()))
}

/// Returns whether a URL is protected in transit: https, or http with a loopback host.
pub(crate) fn is_secure(url: &Uri) -> bool {
    match url.scheme_str() {
        Some("https") => url.host().is_some(),
        Some("http") => url.host().is_some_and(host::is_loopback),
        _ => false,
    }
}

/// Starts the request that posts a form, and asks for JSON.
pub(crate) fn post_form(url: &Uri) -> request::Builder {
    Request::post(url)
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(ACCEPT, "application/json")
}

/// The `Authorization` of a client. Its id and secret are form-encoded before they are base64-encoded
/// (RFC 6749 §2.3.1), which is always valid in a header.
pub(crate) fn basic(id: &str, secret: &str) -> Option<HeaderValue> {
    let [_, encoded] = basic_forms(id, secret);
    let mut value = HeaderValue::try_from(format!("Basic {encoded}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Fetches a document.
pub(crate) async fn document(
    client: HttpClient,
    url: Arc<str>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    let response = client.send(Request::get(uri::parse(&url)?).body(Bytes::new())?).await?;
    successful(response)
}

/// Returns the body of a successful response.
pub(crate) fn successful(
    response: Response<Bytes>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    match response.status() {
        status if status.is_success() => Ok(response.into_body()),
        status => Err(format!("status {status}").into()),
    }
}

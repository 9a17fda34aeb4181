//! Documents that others publish, and answers of authorization servers.

use std::{sync::Arc, time::Duration};

use a2a_http::{
    client::{ClientSettings, HttpClient},
    tls::ClientTls,
};
use bytes::Bytes;
use http::{Request, Response};
use url::Url;

/// No document is longer, in bytes.
const MAX_LENGTH: usize = 1 << 20;

/// Connections over TLS can't be set up.
#[derive(Debug, thiserror::Error)]
#[error("connections over TLS can't be set up")]
pub struct SetupError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// A client that goes through the proxies that the environment names, and follows no redirects.
pub(crate) fn client(tls: ClientTls) -> Result<HttpClient, SetupError> {
    new(settings().with_tls(tls).with_proxy_from_environment(true))
}

/// The same past the proxies: what goes in clear to this machine must not be read by them.
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
    HttpClient::new(settings).map_err(|error| SetupError(error.into()))
}

/// Reads the document at an address.
pub(crate) async fn document(
    client: HttpClient,
    url: Arc<str>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    let url = Url::parse(&url)?;
    let response = client.send(Request::get(url.as_str()).body(Bytes::new())?).await?;
    successful(response)
}

/// The body of an answer, if that is a good one.
pub(crate) fn successful(
    response: Response<Bytes>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    match response.status() {
        status if status.is_success() => Ok(response.into_body()),
        status => Err(format!("it answered with {status}").into()),
    }
}

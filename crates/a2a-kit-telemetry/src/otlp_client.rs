//! The HTTP client of the OTLP exporter.

use std::{error::Error, fmt, time::Duration};

use a2a_kit_tls::ClientTls;
use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::{Builder, Runtime};

/// Maximum length of a collector's response, in bytes.
const MAX_RESPONSE: usize = 64 << 10;

/// An HTTP client with a separate runtime, driven by the exporter's thread. A collector that hangs
/// only blocks that thread, and spans can be exported while the program's runtime shuts down.
pub(crate) struct OtlpClient {
    runtime: Option<Runtime>,
    client: reqwest::Client,
}

impl OtlpClient {
    pub(crate) fn new(
        timeout: Duration,
        tls: &ClientTls,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.http_config()?)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
            .build()?;
        Ok(Self { runtime: Some(runtime), client })
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        // The URL may contain secrets.
        let mut response =
            self.client.execute(request).await.map_err(reqwest::Error::without_url)?;
        let mut builder = Response::builder().status(response.status());
        if let Some(headers) = builder.headers_mut() {
            headers.clone_from(response.headers());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            if body.len() + chunk.len() > MAX_RESPONSE {
                return Err("collector response too long".into());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(builder.body(body.into())?)
    }
}

#[async_trait]
impl HttpClient for OtlpClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        match &self.runtime {
            // On the exporter's thread, blocking is fine.
            Some(runtime) => runtime.block_on(self.send(request)),
            None => Err("exporter is shut down".into()),
        }
    }
}

impl Drop for OtlpClient {
    fn drop(&mut self) {
        // A runtime that is dropped within another runtime must not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for OtlpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtlpClient")
    }
}

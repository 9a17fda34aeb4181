//! The HTTP client of the OTLP exporter.

use std::{
    error::Error,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use a2a_core::error_chain;
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
    /// What is exported: `traces`, `metrics` or `logs`.
    signal: &'static str,
    /// Whether the last export failed.
    is_failing: AtomicBool,
}

impl OtlpClient {
    pub(crate) fn new(
        signal: &'static str,
        timeout: Duration,
        tls: &ClientTls,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.http_config()?)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
            .build()?;
        Ok(Self { runtime: Some(runtime), client, signal, is_failing: AtomicBool::new(false) })
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

    /// Sends a request, blocking the thread of the exporter.
    pub(crate) fn export(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let Some(runtime) = &self.runtime else { return Err("exporter is shut down".into()) };
        let result = runtime.block_on(self.send(request));
        let problem = match &result {
            Err(error) => Some(error_chain(&**error)),
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("HTTP status {}", response.status().as_u16())),
        };
        let signal = self.signal;
        if problem.is_some() {
            metrics::counter!("a2a_otlp_failures_total", "signal" => signal).increment(1);
        }
        // Once per change: an exporter repeats this every second.
        match (problem, self.is_failing.load(Ordering::Relaxed)) {
            (Some(error), false) => {
                self.is_failing.store(true, Ordering::Relaxed);
                tracing::warn!(signal, error, "collector can't be reached, telemetry is lost");
            }
            (None, true) => {
                self.is_failing.store(false, Ordering::Relaxed);
                tracing::info!(signal, "collector can be reached again");
            }
            _ => {}
        }
        result
    }
}

#[async_trait]
impl HttpClient for OtlpClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.export(request)
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

a2a_core::debug_fields!(OtlpClient { signal, .. });

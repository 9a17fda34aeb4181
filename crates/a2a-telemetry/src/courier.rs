//! Brings what was exported to the collector, apart from everything that serves.

use std::{error::Error, fmt, time::Duration};

use a2a_tls::ClientTls;
use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use tokio::runtime::{Builder, Runtime};

/// What is read of a collector's answer, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// An HTTP client with a runtime of its own, which the exporter's thread drives. So a collector
/// that hangs keeps nobody but that thread waiting, and spans can be sent while the program's
/// runtime goes down.
pub(crate) struct Courier {
    runtime: Option<Runtime>,
    client: reqwest::Client,
}

impl Courier {
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
        // The address may carry what is not for the log.
        let mut response =
            self.client.execute(request).await.map_err(reqwest::Error::without_url)?;
        let mut answer = Response::builder().status(response.status());
        if let Some(headers) = answer.headers_mut() {
            headers.clone_from(response.headers());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err("the collector's answer is too long".into());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(answer.body(body.into())?)
    }
}

#[async_trait]
impl HttpClient for Courier {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        match &self.runtime {
            // This is the exporter's own thread, which has nothing else to do.
            Some(runtime) => runtime.block_on(self.send(request)),
            None => Err("the exporter is shut down".into()),
        }
    }
}

impl Drop for Courier {
    fn drop(&mut self) {
        // Dropped in the middle of another runtime, a runtime must not wait for its threads.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Courier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Courier")
    }
}

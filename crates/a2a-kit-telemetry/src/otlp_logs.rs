//! Export of the log by OTLP.

use std::time::Duration;

use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_otlp::{LogExporter, Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::logs::{BatchConfigBuilder, BatchLogProcessor, SdkLoggerProvider};
use tracing::Subscriber;
use tracing_subscriber::{Layer, registry::LookupSpan};

use crate::{
    InitError, Otlp,
    otlp::{TIMEOUT, resource},
    otlp_client::OtlpClient,
};

/// Maximum number of pending lines; further ones are dropped.
const MAX_QUEUED: usize = 4_096;

/// Exports lines of the log to a collector, in batches from a separate thread.
#[derive(Clone, Debug)]
pub(crate) struct OtlpLogs {
    provider: SdkLoggerProvider,
}

impl OtlpLogs {
    pub(crate) fn new(otlp: &Otlp) -> Result<Self, InitError> {
        let client = OtlpClient::new("logs", TIMEOUT, &otlp.tls).map_err(InitError::Otlp)?;
        let mut exporter = LogExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary);
        if let Some(url) = otlp.url("logs") {
            exporter = exporter.with_endpoint(url);
        }
        if !otlp.headers.is_empty() {
            exporter = exporter.with_headers(otlp.headers.clone());
        }
        let batches = BatchConfigBuilder::default().with_max_queue_size(MAX_QUEUED).build();
        let exporter = exporter.build().map_err(|error| InitError::OtlpSettings(error.into()))?;
        let processor = BatchLogProcessor::builder(exporter).with_batch_config(batches).build();
        let provider = SdkLoggerProvider::builder()
            .with_log_processor(processor)
            .with_resource(resource(otlp.service_name.clone()))
            .build();
        Ok(Self { provider })
    }

    pub(crate) fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        OpenTelemetryTracingBridge::new(&self.provider)
    }

    /// Exports pending lines, blocking for at most `within`.
    pub(crate) fn shut_down(&self, within: Duration) {
        // The client has named the reason.
        let _failed = self.provider.shutdown_with_timeout(within);
    }
}

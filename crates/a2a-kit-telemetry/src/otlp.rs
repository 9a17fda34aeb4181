//! Export of spans and of the log by OTLP over HTTP with protobuf.

use std::{collections::HashMap, time::Duration};

use a2a_kit_tls::ClientTls;
use derive_setters::Setters;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{LogExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    logs::{BatchConfigBuilder, BatchLogProcessor, SdkLoggerProvider},
    trace::{Sampler, SdkTracerProvider, SpanLimits},
};
use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

use crate::{InitError, audit::AUDIT, otlp_client::OtlpClient, span_queue::SpanQueue};

/// Timeout of exporting a batch.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of attributes, and of events, of a span.
const MAX_ATTRIBUTES: u32 = 64;

/// Maximum number of pending lines of the log; further ones are dropped.
const MAX_QUEUED_LINES: usize = 4_096;

/// The default service name.
const SERVICE: &str = "a2a";

/// The collector of spans. Values that are not set here come from the standard variables:
/// `OTEL_EXPORTER_OTLP_*`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and
/// `OTEL_TRACES_SAMPLER`.
#[derive(Clone, Default, Setters)]
#[non_exhaustive]
#[setters(prefix = "with_")]
pub struct Otlp {
    /// The URL of the collector, for example `http://localhost:4318`. The path `/v1/traces` is
    /// appended unless present.
    #[setters(skip)]
    pub endpoint: Option<String>,
    /// Additional request headers, which often contain secrets.
    pub headers: HashMap<String, String>,
    /// The service name.
    #[setters(into, strip_option)]
    pub service_name: Option<String>,
    /// The ratio of sampled traces, from 0 to 1, for traces that start here. Others follow the
    /// decision of their parent.
    #[setters(strip_option)]
    pub sample_ratio: Option<f64>,
    /// Whether metrics are exported too, every 60 s or `OTEL_METRIC_EXPORT_INTERVAL`, if they are
    /// [recorded](crate::Config::metrics).
    pub metrics: bool,
    /// Whether the lines of the log are exported too.
    pub logs: bool,
    /// The TLS configuration: trust anchors and client certificate.
    pub tls: ClientTls,
}

impl Otlp {
    /// Creates the configuration for a collector at a URL.
    pub fn to(endpoint: impl Into<String>) -> Self {
        Self { endpoint: Some(endpoint.into()), ..Self::default() }
    }

    /// Returns a configuration if `OTEL_EXPORTER_OTLP_ENDPOINT` or
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set, unless `OTEL_SDK_DISABLED` or
    /// `OTEL_TRACES_EXPORTER` disable the export. Metrics and logs are exported too with
    /// `OTEL_METRICS_EXPORTER=otlp` and `OTEL_LOGS_EXPORTER=otlp`.
    pub fn from_environment() -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_off = variable("OTEL_SDK_DISABLED")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || variable("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        let endpoint = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
            .or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
        // The exporter reads the endpoint itself, by different rules for each variable.
        let exports = |name| variable(name).is_some_and(|value| value == "otlp");
        endpoint.filter(|_| !is_off).map(|_| Self {
            metrics: exports("OTEL_METRICS_EXPORTER"),
            logs: exports("OTEL_LOGS_EXPORTER"),
            ..Self::default()
        })
    }

    fn exporter<B: WithExportConfig + WithHttpConfig>(
        &self,
        signal: &'static str,
        exporter: B,
    ) -> Result<B, InitError> {
        let client = OtlpClient::new(signal, TIMEOUT, &self.tls).map_err(InitError::Otlp)?;
        let mut exporter = exporter.with_http_client(client).with_protocol(Protocol::HttpBinary);
        if let Some(url) = self.url(signal) {
            exporter = exporter.with_endpoint(url);
        }
        if !self.headers.is_empty() {
            exporter = exporter.with_headers(self.headers.clone());
        }
        Ok(exporter)
    }

    /// Starts to export lines of the log in batches, from a separate thread.
    pub(crate) fn log_provider(&self) -> Result<SdkLoggerProvider, InitError> {
        let exporter = self.exporter("logs", LogExporter::builder().with_http())?.build();
        let exporter = exporter.map_err(|error| InitError::OtlpSettings(error.into()))?;
        let batches = BatchConfigBuilder::default().with_max_queue_size(MAX_QUEUED_LINES).build();
        let processor = BatchLogProcessor::builder(exporter).with_batch_config(batches).build();
        let resource = resource(self.service_name.clone());
        Ok(SdkLoggerProvider::builder()
            .with_log_processor(processor)
            .with_resource(resource)
            .build())
    }

    /// The URL of a signal; `None` if only the standard variables have one.
    pub(crate) fn url(&self, signal: &str) -> Option<String> {
        let endpoint = self.endpoint.as_ref()?.trim_end_matches('/');
        let base = endpoint.strip_suffix("/v1/traces").unwrap_or(endpoint);
        Some(format!("{base}/v1/{signal}"))
    }
}

// URL and headers may contain secrets.
a2a_core::debug_fields!(Otlp { service_name, sample_ratio, .. });

/// Exports spans to a collector, in batches from a separate thread, with at most 4,096 pending. If
/// the collector is unreachable, spans are dropped, and counted.
#[derive(Clone, Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Starts the exporter.
    ///
    /// # Errors
    ///
    /// [`InitError`] for an invalid configuration. An unreachable collector is only logged.
    pub fn new(otlp: Otlp) -> Result<Self, InitError> {
        let exporter = otlp.exporter("traces", SpanExporter::builder().with_http())?.build();
        let exporter = exporter.map_err(|error| InitError::OtlpSettings(error.into()))?;
        let mut provider = SdkTracerProvider::builder()
            .with_span_processor(SpanQueue::new(exporter))
            .with_resource(resource(otlp.service_name))
            .with_span_limits(SpanLimits {
                max_events_per_span: MAX_ATTRIBUTES,
                max_attributes_per_span: MAX_ATTRIBUTES,
                ..SpanLimits::default()
            });
        if let Some(ratio) = otlp.sample_ratio {
            if !(0.0..=1.0).contains(&ratio) {
                return Err(InitError::SampleRatio(ratio));
            }
            let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(ratio)));
            provider = provider.with_sampler(sampler);
        }
        Ok(Self { provider: provider.build() })
    }

    /// Returns the layer that converts `tracing` spans from level `info` to OpenTelemetry spans.
    /// Events become span events, except for security events.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let filter = Targets::new()
            .with_default(LevelFilter::INFO)
            .with_target(AUDIT, LevelFilter::OFF)
            .with_targets(
                ["h2", "hyper", "hyper_util", "opentelemetry", "reqwest", "tonic"]
                    .map(|name| (name, LevelFilter::OFF)),
            );
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("a2a"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_level(false)
            .with_target(false)
            .with_filter(filter)
    }

    /// Exports pending spans, blocking until done or failed.
    pub fn flush(&self) {
        if let Err(error) = self.provider.force_flush() {
            tracing::debug!(%error, "span export failed");
        }
    }

    /// Exports pending spans, blocking for at most `within`. Later spans are discarded.
    pub fn shut_down(&self, within: Duration) {
        if let Err(error) = self.provider.shutdown_with_timeout(within) {
            tracing::debug!(%error, "span export failed at shutdown");
        }
    }
}

pub(crate) fn resource(service_name: Option<String>) -> Resource {
    // The builder reads the name from the environment if it is set there.
    let named = std::env::var_os("OTEL_SERVICE_NAME").is_some()
        || std::env::var("OTEL_RESOURCE_ATTRIBUTES")
            .is_ok_and(|text| text.contains("service.name="));
    let builder = Resource::builder();
    match service_name {
        Some(name) => builder.with_service_name(name).build(),
        None if named => builder.build(),
        None => builder.with_service_name(SERVICE).build(),
    }
}

//! Spans, sent to a collector by OTLP over HTTP with protobuf.

use std::{collections::HashMap, fmt, time::Duration};

use a2a_tls::ClientTls;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, SpanLimits},
};
use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

use crate::{audit::AUDIT, courier::Courier};

/// Spans that wait to be sent; more are dropped, and serving goes on.
const MAX_QUEUED: usize = 4_096;
/// Spans that are sent at once.
const MAX_BATCH: usize = 512;
/// How long spans wait for others.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// How long the collector may take for a batch.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most attributes, and the most events, of a span.
const MAX_ATTRIBUTES: u32 = 64;

/// What a program is called that does not say.
const SERVICE: &str = "a2a";

/// Where spans are sent to. The standard variables `OTEL_EXPORTER_OTLP_*` hold for what is not
/// set here, `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` for what the spans say of their
/// origin, and `OTEL_TRACES_SAMPLER` for which of them are sent.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Otlp {
    /// The address of the collector, `http://localhost:4318` for example: the path `/v1/traces`
    /// is added unless it is there.
    pub endpoint: Option<String>,
    /// What the collector wants to see in requests. Secrets often are among them.
    pub headers: HashMap<String, String>,
    /// What this program is called.
    pub service_name: Option<String>,
    /// The part of the traces that begin here which is sent, from 0 to 1. Traces that began
    /// elsewhere are sent if their beginning was.
    pub sample: Option<f64>,
    /// Whose certificates are believed at the collector, and the one to show there.
    pub tls: ClientTls,
}

impl Otlp {
    /// Creates the settings for a collector at an address.
    pub fn to(endpoint: impl Into<String>) -> Self {
        Self { endpoint: Some(endpoint.into()), ..Self::default() }
    }

    /// Reads whether the standard variables name a collector: `OTEL_EXPORTER_OTLP_ENDPOINT` or
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, unless `OTEL_SDK_DISABLED` or
    /// `OTEL_TRACES_EXPORTER` say that there is none.
    pub fn from_environment() -> Option<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_off = variable("OTEL_SDK_DISABLED")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || variable("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        let endpoint = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
            .or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
        // The exporter reads the address itself, by rules of its own for each variable.
        endpoint.filter(|_| !is_off).map(|_| Self::default())
    }

    /// Sets what this program is called.
    #[must_use]
    pub fn with_service_name(mut self, name: impl Into<String>) -> Self {
        self.service_name = Some(name.into());
        self
    }

    /// Sets what the collector wants to see in requests.
    #[must_use]
    pub fn with_headers(mut self, headers: HashMap<String, String>) -> Self {
        self.headers = headers;
        self
    }

    /// Sets the part of the traces that is sent.
    #[must_use]
    pub fn with_sample(mut self, part: f64) -> Self {
        self.sample = Some(part);
        self
    }

    /// Sets whose certificates are believed at the collector, and the one to show there. Default:
    /// what the platform trusts, and none.
    #[must_use]
    pub fn with_tls(mut self, tls: ClientTls) -> Self {
        self.tls = tls;
        self
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Address and headers may carry secrets.
        f.debug_struct("Otlp")
            .field("service_name", &self.service_name)
            .field("sample", &self.sample)
            .finish_non_exhaustive()
    }
}

/// Spans can't be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtlpError {
    /// The client that would send them can't be made.
    #[error("spans can't be sent")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The settings or the standard variables don't fit.
    #[error("the settings for OTLP can't be used")]
    Settings(#[from] ExporterBuildError),
    /// The part of the traces is not from 0 to 1.
    #[error("the part of the traces to send must be from 0 to 1, and is {0}")]
    Sample(f64),
}

/// Spans on their way to a collector: in batches, from a thread of their own, at most 4,096 of
/// them waiting. A collector that is away costs spans and nothing else.
#[derive(Clone, Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Begins to send spans.
    ///
    /// # Errors
    ///
    /// The settings can't be used. Whether a collector is there shows in the log.
    pub fn new(otlp: Otlp) -> Result<Self, OtlpError> {
        let courier = Courier::new(TIMEOUT, &otlp.tls).map_err(OtlpError::Client)?;
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(courier)
            .with_protocol(Protocol::HttpBinary);
        if let Some(endpoint) = &otlp.endpoint {
            exporter = exporter.with_endpoint(traces_url(endpoint));
        }
        if !otlp.headers.is_empty() {
            exporter = exporter.with_headers(otlp.headers);
        }
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_QUEUED)
            .with_max_export_batch_size(MAX_BATCH)
            .with_scheduled_delay(BATCH_DELAY)
            .build();
        let processor =
            BatchSpanProcessor::builder(exporter.build()?).with_batch_config(batches).build();
        let mut provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_resource(resource(otlp.service_name))
            .with_span_limits(SpanLimits {
                max_events_per_span: MAX_ATTRIBUTES,
                max_attributes_per_span: MAX_ATTRIBUTES,
                ..SpanLimits::default()
            });
        if let Some(part) = otlp.sample {
            if !(0.0..=1.0).contains(&part) {
                return Err(OtlpError::Sample(part));
            }
            let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(part)));
            provider = provider.with_sampler(sampler);
        }
        Ok(Self { provider: provider.build() })
    }

    /// The layer that makes OpenTelemetry spans of `tracing` spans, from level `info` on. Events
    /// become events of their span; those of the audit log do not.
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

    /// Sends what waits. Blocks this thread until that is done, or has failed.
    pub fn flush(&self) {
        if let Err(error) = self.provider.force_flush() {
            tracing::debug!(%error, "spans could not be sent");
        }
    }

    /// Sends what waits, and nothing more. Blocks this thread for `within` at most.
    pub fn shut_down(&self, within: Duration) {
        if let Err(error) = self.provider.shutdown_with_timeout(within) {
            tracing::debug!(%error, "the last spans could not be sent");
        }
    }
}

fn resource(service_name: Option<String>) -> Resource {
    // Without a name of its own, the builder has that of the environment.
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

fn traces_url(endpoint: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    if endpoint.ends_with("/v1/traces") {
        endpoint.to_owned()
    } else {
        format!("{endpoint}/v1/traces")
    }
}

//! Export of the metrics by OTLP: what `/metrics` shows, pushed at an interval.

use std::{
    sync::mpsc::{self, RecvTimeoutError, SyncSender},
    thread::{self, JoinHandle},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, header::CONTENT_TYPE};
use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::{InstrumentationScope, KeyValue},
    metrics::v1::{ResourceMetrics, ScopeMetrics},
    resource::v1::Resource,
};
use prost::Message as _;

use crate::{
    InitError, Otlp, Prometheus,
    otlp::{TIMEOUT, resource},
    otlp_client::OtlpClient,
    prometheus_text::{self, attribute},
};

/// Interval of exports, unless `OTEL_METRIC_EXPORT_INTERVAL` is set.
const INTERVAL: Duration = Duration::from_secs(60);

/// Pushes the metrics of a recorder from a separate thread.
#[derive(Debug)]
pub(crate) struct OtlpMetrics {
    stop: SyncSender<()>,
    thread: Option<JoinHandle<()>>,
}

impl OtlpMetrics {
    pub(crate) fn start(otlp: &Otlp, prometheus: Prometheus) -> Result<Self, InitError> {
        let client = OtlpClient::new("metrics", TIMEOUT, &otlp.tls).map_err(InitError::Otlp)?;
        let request = request(otlp)?;
        let resource = resource(otlp.service_name.clone());
        let attributes: Vec<_> = resource
            .iter()
            .map(|(key, value)| attribute(key.as_str(), &value.to_string()))
            .collect();
        let variable = std::env::var("OTEL_METRIC_EXPORT_INTERVAL").ok();
        let interval = variable.and_then(|millis| millis.parse().ok()).map(Duration::from_millis);
        let interval = interval.filter(|interval| !interval.is_zero()).unwrap_or(INTERVAL);
        let (stop, stopped) = mpsc::sync_channel(0);
        let begun = SystemTime::now();
        let run = move || {
            loop {
                let is_over = stopped.recv_timeout(interval) != Err(RecvTimeoutError::Timeout);
                let metrics = prometheus_text::parse(&prometheus.render(), begun);
                let mut request = request.clone();
                *request.body_mut() = encode(attributes.clone(), metrics);
                // The client has named the reason.
                let _failed = client.export(request);
                if is_over {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("a2a-otlp-metrics".to_owned()).spawn(run);
        let thread = thread.map_err(|error| InitError::Otlp(error.into()))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Exports a last time, blocking for at most the timeout of an export.
    pub(crate) fn shut_down(mut self) {
        drop(self.stop);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The request of an export, without its body.
fn request(otlp: &Otlp) -> Result<Request<Bytes>, InitError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let url = otlp
        .url("metrics")
        .or_else(|| variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"))
        .or_else(|| {
            let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT")?;
            Some(format!("{}/v1/metrics", base.trim_end_matches('/')))
        });
    let mut request =
        Request::post(url.unwrap_or_else(|| "http://localhost:4318/v1/metrics".into()))
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Bytes::new())
            .map_err(|error| InitError::Otlp(error.into()))?;
    let from_variables = variable("OTEL_EXPORTER_OTLP_METRICS_HEADERS")
        .or_else(|| variable("OTEL_EXPORTER_OTLP_HEADERS"))
        .unwrap_or_default();
    let pairs = from_variables.split(',').filter_map(|pair| pair.split_once('='));
    let given = otlp.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in pairs.chain(given) {
        if let (Ok(name), Ok(mut value)) =
            (name.trim().parse::<HeaderName>(), value.trim().parse::<HeaderValue>())
        {
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
    }
    Ok(request)
}

fn encode(
    attributes: Vec<KeyValue>,
    metrics: Vec<opentelemetry_proto::tonic::metrics::v1::Metric>,
) -> Bytes {
    let scope = InstrumentationScope { name: "a2a".to_owned(), ..InstrumentationScope::default() };
    let scope = ScopeMetrics { scope: Some(scope), metrics, ..ScopeMetrics::default() };
    let resource = Resource { attributes, ..Resource::default() };
    let all = ResourceMetrics {
        resource: Some(resource),
        scope_metrics: vec![scope],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![all] }.encode_to_vec().into()
}

//! Initialization for programs without their own subscriber.

use std::{io, time::Duration};

use axum::Router;
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use tracing::{
    dispatcher::{self, Dispatch},
    level_filters::LevelFilter,
};
use tracing_subscriber::{
    Layer, Registry,
    filter::{FilterExt as _, filter_fn},
    fmt::{self, format, writer::BoxMakeWriter},
    layer::SubscriberExt as _,
};

use crate::{
    AUDIT, Audit, AuditLog, Config, Format, InitError, Otlp, Prometheus, Traces,
    json::{OneLine, TracedJson},
    line_writer::LineWriter,
    otlp_metrics::OtlpMetrics,
    propagation, quiet,
    text::TextLog,
};

/// Timeout of exporting pending spans at shutdown.
const SPAN_FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Keeps logs, traces and metrics running. Dropping it flushes pending output, which may block for
/// some seconds; [`shutdown`](Self::shutdown) does not block.
#[derive(Debug)]
#[must_use = "dropping it stops the export of spans"]
pub struct TelemetryGuard {
    traces: Option<Traces>,
    metrics: Option<OtlpMetrics>,
    logs: Option<SdkLoggerProvider>,
    prometheus: Option<Prometheus>,
    audit: Option<AuditLog>,
    log: Option<LineWriter>,
}

/// Starts logging to standard error and everything else that is configured, for the whole process.
///
/// # Errors
///
/// [`InitError`]; nothing is installed then, except for metrics.
pub fn init(config: Config) -> Result<TelemetryGuard, InitError> {
    let audit = match &config.audit {
        Audit::Log => None,
        Audit::Stderr => Some(AuditLog::to_stderr()),
        Audit::File(path) => Some(AuditLog::to_file(path)),
    };
    let audit = audit.transpose().map_err(InitError::Audit)?;
    // The audit log replaces these lines of the log.
    let without_audit = audit.as_ref().map(|_| format!("{},{AUDIT}=off", config.filter));
    let filter = without_audit.unwrap_or_else(|| config.filter.clone());
    let shows_spans = config.shows_spans;
    // Without a hint, the level of the filter would not spare the events below it.
    let spans = filter_fn(move |of| shows_spans || of.is_event());
    let filter = quiet(&filter)?.and(spans.with_max_level_hint(LevelFilter::TRACE));
    let prometheus = config.metrics.then(Prometheus::install).transpose()?;
    let logs = config.otlp.as_ref().filter(|otlp| otlp.logs).map(Otlp::log_provider).transpose()?;
    let metrics = match (&config.otlp, &prometheus) {
        (Some(otlp), Some(prometheus)) if otlp.metrics => {
            Some(OtlpMetrics::start(otlp, prometheus.clone())?)
        }
        _ => None,
    };
    let traces = config.otlp.map(Traces::new).transpose()?;

    let json = TracedJson::default();
    let start = || {
        LineWriter::start("a2a-log", io::stderr(), |count| {
            tracing::warn!(count, "log lines dropped, standard error is blocked");
            None
        })
    };
    let lines = config.is_buffered.then(start).transpose().map_err(InitError::Log)?;
    let writer = match lines.clone() {
        Some(lines) => BoxMakeWriter::new(move || lines.clone()),
        None => BoxMakeWriter::new(io::stderr),
    };
    let log = fmt::layer().with_writer(writer).with_ansi(false);
    let text = OneLine(format().with_ansi(false));
    let log: Box<dyn Layer<Registry> + Send + Sync> = match config.format {
        Format::Text if !shows_spans => {
            TextLog { lines: lines.clone() }.with_filter(filter).boxed()
        }
        Format::Text => log.event_format(text).with_filter(filter).boxed(),
        Format::Json => log.json().event_format(OneLine(json.clone())).with_filter(filter).boxed(),
    };
    let mut layers = vec![log];
    layers.extend(traces.as_ref().map(|traces| traces.layer().boxed()));
    if let Some(logs) = &logs {
        let filter = quiet(&config.filter)?;
        layers.push(OpenTelemetryTracingBridge::new(logs).with_filter(filter).boxed());
    }
    layers.extend(audit.as_ref().map(|audit| audit.layer().boxed()));
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(layers));
    json.introduce(&dispatch);
    dispatcher::set_global_default(dispatch).map_err(InitError::Subscriber)?;
    if traces.is_some() {
        propagation::install();
    }
    Ok(TelemetryGuard { traces, metrics, logs, prometheus, audit, log: lines })
}

impl TelemetryGuard {
    /// Serves the metrics at `/metrics`, without authentication; `None` if they are disabled. Serve it
    /// on a listener of its own, unless everyone who reaches the agent may read them.
    pub fn metrics_router(&self) -> Option<Router> {
        self.prometheus.as_ref().map(Prometheus::router)
    }

    /// Flushes pending output, for some seconds at most.
    pub async fn shutdown(self) {
        // The task is only cancelled if the runtime shuts down.
        let _dropped = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

impl Drop for TelemetryGuard {
    fn drop(&mut self) {
        if let Some(traces) = self.traces.take() {
            traces.shut_down(SPAN_FLUSH_TIMEOUT);
        }
        if let Some(metrics) = self.metrics.take() {
            metrics.shut_down();
        }
        if let Some(logs) = self.logs.take() {
            // The client has logged the reason.
            let _failed = logs.shutdown_with_timeout(SPAN_FLUSH_TIMEOUT);
        }
        if let Some(audit) = self.audit.take() {
            audit.shut_down();
        }
        if let Some(log) = self.log.take() {
            log.shut_down();
        }
    }
}

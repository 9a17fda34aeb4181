//! One call for a program that has no subscriber of its own.

use std::{io, time::Duration};

use axum::Router;
use tracing::dispatcher::{self, Dispatch, SetGlobalDefaultError};
use tracing_subscriber::{
    Layer, Registry,
    filter::{FilterExt as _, filter_fn},
    fmt::{self, writer::BoxMakeWriter},
    layer::SubscriberExt as _,
};

use crate::{
    AUDIT, Audit, AuditLog, Config, FilterError, Format, OtlpError, Prometheus, PrometheusError,
    Traces, json::TracedJson, line_writer::LineWriter, propagation, quiet,
};

/// How long the last spans may take.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// What a program wants to tell can't be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InitError {
    /// The filter of the log can't be read.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// Spans can't be sent.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
    /// Metrics can't be kept.
    #[error(transparent)]
    Metrics(#[from] PrometheusError),
    /// No thread can be started that writes the log.
    #[error("the log can't be written")]
    Log(#[source] io::Error),
    /// The audit log can't be written.
    #[error("the audit log can't be written")]
    Audit(#[source] io::Error),
    /// The process has a subscriber already.
    #[error("this process has a log already")]
    Subscriber(#[source] SetGlobalDefaultError),
}

/// What keeps logs, traces and metrics going. When it is dropped, what waits is written, which
/// may block for some seconds; [`shutdown`](Self::shutdown) does not.
#[derive(Debug)]
#[must_use = "when it is dropped, spans are sent no more"]
pub struct Guard {
    traces: Option<Traces>,
    prometheus: Option<Prometheus>,
    audit: Option<AuditLog>,
    log: Option<LineWriter>,
}

/// Starts to log to standard error and whatever else is configured, for the whole process.
///
/// # Errors
///
/// Something of it can't be used; nothing is installed then, but metrics.
pub fn init(config: Config) -> Result<Guard, InitError> {
    let (filter, audit) = match &config.audit {
        Audit::Log => (config.filter.clone(), None),
        // What is written there need not be in the log too.
        Audit::Stderr => (without_audit(&config), Some(AuditLog::to_stderr())),
        Audit::File(path) => (without_audit(&config), Some(AuditLog::to_file(path))),
    };
    let audit = audit.transpose().map_err(InitError::Audit)?;
    let shows_spans = config.shows_spans;
    let filter = quiet(&filter)?.and(filter_fn(move |of| shows_spans || of.is_event()));
    let traces = config.otlp.map(Traces::new).transpose()?;
    let prometheus = config.metrics.then(Prometheus::install).transpose()?;

    let json = TracedJson::default();
    let lines =
        config.is_buffered.then(|| LineWriter::start("a2a-log", io::stderr(), report_dropped));
    let lines = lines.transpose().map_err(InitError::Log)?;
    let log = fmt::layer().with_writer(log_writer(lines.clone())).with_ansi(false);
    let log: Box<dyn Layer<Registry> + Send + Sync> = match config.format {
        Format::Text => log.with_filter(filter).boxed(),
        Format::Json => log.json().event_format(json.clone()).with_filter(filter).boxed(),
    };
    let mut layers = vec![log];
    layers.extend(traces.as_ref().map(|traces| traces.layer().boxed()));
    layers.extend(audit.as_ref().map(|audit| audit.layer().boxed()));
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(layers));
    json.introduce(&dispatch);
    dispatcher::set_global_default(dispatch).map_err(InitError::Subscriber)?;
    if traces.is_some() {
        propagation::install();
    }
    Ok(Guard { traces, prometheus, audit, log: lines })
}

fn log_writer(lines: Option<LineWriter>) -> BoxMakeWriter {
    match lines {
        Some(lines) => BoxMakeWriter::new(move || lines.clone()),
        None => BoxMakeWriter::new(io::stderr),
    }
}

fn report_dropped(count: u64) -> Option<String> {
    tracing::warn!(count, "lines of the log were dropped, as standard error takes no more");
    None
}

fn without_audit(config: &Config) -> String {
    format!("{},{AUDIT}=off", config.filter)
}

impl Guard {
    /// Serves the metrics at `/metrics`, to whoever asks; `None` where none are kept.
    pub fn metrics_router(&self) -> Option<Router> {
        self.prometheus.as_ref().map(Prometheus::router)
    }

    /// Writes and sends what waits, for some seconds at most.
    pub async fn shutdown(self) {
        // Only a runtime that goes down drops it before it is done.
        let _dropped = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(traces) = self.traces.take() {
            traces.shut_down(LAST_SPANS);
        }
        if let Some(audit) = self.audit.take() {
            audit.shut_down();
        }
        if let Some(log) = self.log.take() {
            log.shut_down();
        }
    }
}

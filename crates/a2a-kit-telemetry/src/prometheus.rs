//! Metrics in the Prometheus format.

use std::{
    sync::mpsc::{self, RecvTimeoutError, SyncSender},
    thread,
    time::Duration,
};

use axum::{Router, routing::get};
use http::header::CONTENT_TYPE;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::{InitError, process};

/// Buckets of duration histograms, in seconds.
const SECONDS: [f64; 14] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// Further buckets of executions, as models work for minutes: 5, 15 and 60 min.
const MINUTES: [f64; 3] = [300.0, 900.0, 3_600.0];

/// Interval of recorder upkeep, which bounds memory when nothing scrapes.
const UPKEEP: Duration = Duration::from_secs(5);

/// The metrics of this process.
#[derive(Clone, Debug)]
pub struct Prometheus {
    handle: PrometheusHandle,
    /// Ends the thread when the last clone is dropped.
    _upkeep: SyncSender<()>,
}

impl Prometheus {
    /// Installs the metrics recorder of this process.
    ///
    /// # Errors
    ///
    /// If a recorder is already installed, or the thread can't be started.
    pub fn install() -> Result<Self, InitError> {
        let handle = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
            .and_then(|builder| {
                let execution = Matcher::Full("a2a_execution_duration_seconds".to_owned());
                builder.set_buckets_for_metric(execution, &[&SECONDS[..], &MINUTES[..]].concat())
            })
            .and_then(PrometheusBuilder::install_recorder)
            .map_err(|error| InitError::Recorder(error.into()))?;
        a2a_kit_operations::metrics::describe();
        process::describe();
        for name in ["a2a_audit_dropped_total", "a2a_log_dropped_total", "a2a_spans_dropped_total"]
        {
            metrics::counter!(name).increment(0);
        }
        let (sender, receiver) = mpsc::sync_channel(0);
        let kept = handle.clone();
        thread::Builder::new()
            .name("a2a-metrics".to_owned())
            .spawn(move || {
                // On this thread the global recorder is current, also if another is where it was
                // installed.
                a2a_kit_operations::metrics::keep_handles();
                while receiver.recv_timeout(UPKEEP) == Err(RecvTimeoutError::Timeout) {
                    kept.run_upkeep();
                }
            })
            .map_err(InitError::Upkeep)?;
        Ok(Self { handle, _upkeep: sender })
    }

    /// Renders the metrics in the Prometheus text format.
    pub fn render(&self) -> String {
        process::sample();
        self.handle.render()
    }

    /// Serves the metrics at `/metrics` without authentication: the application has to restrict
    /// access by address or layers.
    pub fn router(&self) -> Router {
        let metrics = self.clone();
        let render = async move || {
            let text = metrics.render();
            ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
        };
        Router::new().route("/metrics", get(render))
    }
}

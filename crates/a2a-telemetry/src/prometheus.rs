//! Metrics, as Prometheus reads them.

use std::{
    sync::mpsc::{self, RecvTimeoutError, SyncSender},
    thread,
    time::Duration,
};

use axum::{Router, routing::get};
use http::header::CONTENT_TYPE;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// Bounds of the histograms of times, in seconds.
const SECONDS: [f64; 14] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// How often what was recorded is put together, so that it does not pile up unread.
const UPKEEP: Duration = Duration::from_secs(5);

/// Metrics can't be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrometheusError {
    /// Something in this process keeps them already.
    #[error("metrics are recorded already in this process")]
    Recorder(#[source] BuildError),
    /// No thread can be started.
    #[error("the thread that looks after the metrics can't be started")]
    Thread(#[source] std::io::Error),
}

/// The metrics of this process.
#[derive(Clone, Debug)]
pub struct Prometheus {
    handle: PrometheusHandle,
    /// Ends the thread with the last of us.
    _upkeep: SyncSender<()>,
}

impl Prometheus {
    /// Begins to keep the metrics of this process.
    ///
    /// # Errors
    ///
    /// Something else does so already, or no thread can be started.
    pub fn install() -> Result<Self, PrometheusError> {
        let handle = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
            .and_then(PrometheusBuilder::install_recorder)
            .map_err(PrometheusError::Recorder)?;
        a2a_operations::metrics::describe();
        let (sender, receiver) = mpsc::sync_channel(0);
        let kept = handle.clone();
        thread::Builder::new()
            .name("a2a-metrics".to_owned())
            .spawn(move || {
                while receiver.recv_timeout(UPKEEP) == Err(RecvTimeoutError::Timeout) {
                    kept.run_upkeep();
                }
            })
            .map_err(PrometheusError::Thread)?;
        Ok(Self { handle, _upkeep: sender })
    }

    /// The metrics as they are now, in the text format of Prometheus.
    pub fn render(&self) -> String {
        self.handle.render()
    }

    /// Serves them at `/metrics`, to whoever asks: it is for the caller to choose an address or
    /// layers that let nobody else.
    pub fn router(&self) -> Router {
        let metrics = self.clone();
        let render = async move || {
            let text = metrics.render();
            ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
        };
        Router::new().route("/metrics", get(render))
    }
}

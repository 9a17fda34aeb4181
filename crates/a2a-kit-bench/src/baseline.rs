//! Comparison with an earlier report.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Amount, Load, Operation, Summary};

/// An earlier report, which the results of a run are compared with.
#[derive(Debug, Deserialize)]
pub struct Baseline {
    settings: BenchSettings,
    results: Vec<BaselineResult>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BaselineResult {
    binding: String,
    version: String,
    requests_per_second: f64,
    latency_micros: Latency,
}

#[derive(Debug, Deserialize)]
struct Latency {
    p50: f64,
    p99: f64,
}

/// A figure that became worse than the limit.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Regression {
    /// The binding of the interface.
    pub binding: String,
    /// The protocol version of the interface.
    pub version: String,
    /// `requestsPerSecond`, or `p50` or `p99` of the latency.
    pub metric: &'static str,
    /// The figure of the baseline: requests per second, or microseconds.
    pub baseline: f64,
    /// The figure of the run.
    pub measured: f64,
    /// How much worse it is, in percent of the baseline.
    pub percent: f64,
}

impl fmt::Display for Regression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { binding, version, metric, baseline, measured, percent } = self;
        write!(
            f,
            "{binding} {version} {metric} {measured:.1} is {percent:.1} % worse than {baseline:.1}"
        )
    }
}

/// Why a report is no baseline of a run.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// It is not a report.
    #[error(transparent)]
    Malformed(#[from] serde_json::Error),
    /// Its settings differ from those of the run.
    #[error("other settings: {baseline} instead of {run}")]
    OtherSettings {
        /// The settings of the report, as JSON.
        baseline: String,
        /// The settings of the run, as JSON.
        run: String,
    },
}

a2a_core::debug_as_chain!(BaselineError);

impl Baseline {
    /// Reads a report: a JSON object with the member `settings`, as [`BenchSettings`] are
    /// serialized, and `results`, an array with the [JSON](Summary::json) of summaries. `a2a bench -o
    /// json` prints one.
    ///
    /// # Errors
    ///
    /// [`BaselineError`] if it is malformed, or if its settings are not `settings`.
    pub fn read(json: &str, settings: &BenchSettings) -> Result<Self, BaselineError> {
        let baseline: Self = serde_json::from_str(json)?;
        if baseline.settings == *settings {
            return Ok(baseline);
        }
        let show = |settings| serde_json::to_string(settings).unwrap_or_default();
        let (baseline, run) = (show(&baseline.settings), show(settings));
        Err(BaselineError::OtherSettings { baseline, run })
    }

    /// Returns the figures that are worse than the baseline by more than `limit` percent. An
    /// interface that the baseline does not have is not compared.
    pub fn compare(&self, summaries: &[Summary], limit: f64) -> Vec<Regression> {
        let mut regressions = Vec::new();
        for summary in summaries {
            let is_same = |one: &&BaselineResult| {
                one.binding == summary.binding && one.version == summary.version
            };
            let Some(old) = self.results.iter().find(is_same) else { continue };
            let mut check = |metric, baseline: f64, measured: f64, percent: f64| {
                if percent > limit {
                    let (binding, version) = (summary.binding.clone(), summary.version.clone());
                    regressions.push(Regression {
                        binding,
                        version,
                        metric,
                        baseline,
                        measured,
                        percent,
                    });
                }
            };
            let (before, now) = (old.requests_per_second, summary.requests_per_second());
            // In an open loop, the rate is given.
            if self.settings.rate.is_none() && before > 0.0 {
                check("requestsPerSecond", before, now, 100.0 * (before - now) / before);
            }
            for (metric, before, quantile) in
                [("p50", old.latency_micros.p50, 0.5), ("p99", old.latency_micros.p99, 0.99)]
            {
                #[expect(clippy::cast_precision_loss, reason = "latencies are below an hour")]
                let now = summary.latency.value_at_quantile(quantile) as f64;
                if before > 0.0 {
                    check(metric, before, now, 100.0 * (now - before) / before);
                }
            }
        }
        regressions
    }
}

/// The settings of a run, which its baseline has to share.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BenchSettings {
    operation: Operation,
    /// `None` if `duration_seconds` limits the run.
    requests: Option<u64>,
    duration_seconds: Option<f64>,
    concurrency: usize,
    /// Requests per second; `None` for a closed loop.
    rate: Option<f64>,
    warmup: u64,
    payload_bytes: usize,
}

impl BenchSettings {
    /// The settings of a load of an operation, whose messages have texts of `payload` bytes.
    pub fn new(operation: Operation, payload: usize, load: &Load) -> Self {
        let (requests, duration) = match load.amount {
            Amount::Requests(requests) => (Some(requests), None),
            Amount::Duration(duration) => (None, Some(duration.as_secs_f64())),
        };
        Self {
            operation,
            requests,
            duration_seconds: duration,
            concurrency: load.concurrency,
            rate: load.rate,
            warmup: load.warmup,
            payload_bytes: payload,
        }
    }
}

//! Comparison with an earlier report.

use std::{fmt, path::Path};

use serde::{Deserialize, Serialize};

use super::{Operation, Summary};
use crate::failure::Failure;

/// An earlier report, as JSON.
#[derive(Debug, Deserialize)]
pub(crate) struct Baseline {
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
pub(crate) struct Regression {
    binding: String,
    version: String,
    metric: &'static str,
    baseline: f64,
    measured: f64,
    /// How much worse it is, in percent of the baseline.
    percent: f64,
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

impl Baseline {
    /// Reads a report of `a2a bench -o json` with the same settings.
    ///
    /// # Errors
    ///
    /// A usage failure if it is unreadable, or if its settings differ.
    pub(crate) fn read(path: &Path, settings: &BenchSettings) -> Result<Self, Failure> {
        let place = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("--baseline {place}: {error}")))?;
        let baseline: Self = serde_json::from_str(&text)
            .map_err(|error| Failure::usage(format!("--baseline {place}: {error}")))?;
        if baseline.settings != *settings {
            let show = |settings| serde_json::to_string(settings).unwrap_or_default();
            return Err(Failure::usage(format!(
                "--baseline {place}: other settings: {} instead of {}",
                show(&baseline.settings),
                show(settings)
            ))
            .with_hint("measure the baseline again with the flags of this run"));
        }
        Ok(baseline)
    }

    /// Returns the figures that are worse than the baseline by more than `limit` percent. An
    /// interface that the baseline does not have is not compared.
    pub(crate) fn compare(&self, summaries: &[Summary], limit: f64) -> Vec<Regression> {
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
pub(crate) struct BenchSettings {
    pub(crate) operation: Operation,
    /// `None` if `duration_seconds` limits the run.
    pub(crate) requests: Option<u64>,
    pub(crate) duration_seconds: Option<f64>,
    pub(crate) concurrency: usize,
    /// Requests per second; `None` for a closed loop.
    pub(crate) rate: Option<f64>,
    pub(crate) warmup: u64,
    pub(crate) payload_bytes: usize,
}

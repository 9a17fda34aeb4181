//! The report of a run.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Summary, baseline::Regression};
use crate::output::Text;

/// The settings of a run, which its baseline has to share.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BenchSettings {
    pub(crate) operation: String,
    /// `None` if `duration_seconds` limits the run.
    pub(crate) requests: Option<u64>,
    pub(crate) duration_seconds: Option<f64>,
    pub(crate) concurrency: usize,
    /// Requests per second; `None` for a closed loop.
    pub(crate) rate: Option<f64>,
    pub(crate) warmup: u64,
    pub(crate) payload_bytes: usize,
}

/// The report of a run.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) settings: BenchSettings,
    pub(crate) summaries: Vec<Summary>,
    pub(crate) is_interrupted: bool,
    /// The highest error rate that is allowed, in percent.
    pub(crate) max_errors: f64,
    pub(crate) regressions: Vec<Regression>,
}

impl Report {
    /// Returns whether the error rates and the regressions are within the limits.
    pub(crate) fn is_good(&self) -> bool {
        let is_good = |summary: &Summary| summary.error_percent() <= self.max_errors;
        self.regressions.is_empty() && self.summaries.iter().all(is_good)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "tool": {"name": "a2a", "version": env!("CARGO_PKG_VERSION")},
            "settings": self.settings,
            "interrupted": self.is_interrupted,
            "passed": self.is_good(),
            "results": self.summaries.iter().map(Summary::json).collect::<Vec<_>>(),
            "regressions": self.regressions,
        })
    }

    pub(crate) fn text(&self) -> Text {
        let mut text = Text::new();
        for summary in &self.summaries {
            let label = format!("{} {}", summary.binding, summary.version);
            text.line(label.trim_end(), &summary.line());
        }
        for regression in &self.regressions {
            text.line("Regression", &regression.to_string());
        }
        if self.is_interrupted {
            text.line("Interrupted", "yes");
        }
        text.line("Passed", if self.is_good() { "yes" } else { "no" });
        text
    }
}

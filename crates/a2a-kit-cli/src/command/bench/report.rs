//! The report of a run.

use a2a_kit_bench::{BenchSettings, Regression, Summary};
use serde_json::{Value, json};

use crate::output::Text;

/// The report of a run.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) settings: BenchSettings,
    pub(super) summaries: Vec<Summary>,
    pub(super) is_interrupted: bool,
    /// The highest error rate that is allowed, in percent.
    pub(super) max_errors: f64,
    pub(super) regressions: Vec<Regression>,
}

impl Report {
    /// Returns whether the run came to its end, with error rates and regressions within the limits.
    pub(super) fn is_good(&self) -> bool {
        let is_good = |summary: &Summary| summary.error_percent() <= self.max_errors;
        let is_within = self.regressions.is_empty() && self.summaries.iter().all(is_good);
        !self.is_interrupted && is_within
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "tool": {"name": "a2a", "version": env!("CARGO_PKG_VERSION")},
            "settings": self.settings,
            "interrupted": self.is_interrupted,
            "passed": self.is_good(),
            "results": self.summaries.iter().map(Summary::json).collect::<Vec<_>>(),
            "regressions": self.regressions,
        })
    }

    pub(super) fn write(&self, text: &mut Text) {
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
        text.yes_or_no("Passed", self.is_good());
    }
}

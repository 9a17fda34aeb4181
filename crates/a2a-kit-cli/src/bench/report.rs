//! The report of a run.

use serde_json::{Value, json};

use super::{BenchSettings, Summary, baseline::Regression};
use crate::output::Text;

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
    /// Returns whether the run came to its end, with error rates and regressions within the limits.
    pub(crate) fn is_good(&self) -> bool {
        let is_good = |summary: &Summary| summary.error_percent() <= self.max_errors;
        let is_within = self.regressions.is_empty() && self.summaries.iter().all(is_good);
        !self.is_interrupted && is_within
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

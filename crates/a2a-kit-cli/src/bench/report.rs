//! What a run prints: its progress, and its report.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    Shards, Summary,
    baseline::{BenchSettings, Regression},
};
use crate::output::{Output, Text};

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

    pub(crate) fn write(&self, text: &mut Text) {
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

const INTERVAL: Duration = Duration::from_millis(500);

/// Prints the progress of a run to stderr if it is a terminal, on one line that is overwritten.
#[derive(Debug)]
pub(crate) struct Progress {
    label: String,
    shards: Arc<Shards>,
    output: Output,
}

impl Progress {
    pub(crate) fn new(label: &str, shards: &Arc<Shards>, output: Output) -> Self {
        Self { label: label.to_owned(), shards: Arc::clone(shards), output }
    }

    /// Runs a load and prints its progress meanwhile.
    pub(crate) async fn during(self, run: impl Future<Output = ()>) {
        if !self.output.shows_progress() {
            return run.await;
        }
        let begin = Instant::now();
        let mut ticks = tokio::time::interval(INTERVAL);
        tokio::pin!(run);
        loop {
            tokio::select! {
                () = &mut run => break,
                _ = ticks.tick() => {
                    let (requests, errors) = self.shards.counts();
                    let seconds = begin.elapsed().as_secs();
                    let label = &self.label;
                    self.output.progress(&format!(
                        "{label}: {requests} requests, {errors} failed, {seconds} s"
                    ));
                }
            }
        }
        self.output.progress("");
    }
}

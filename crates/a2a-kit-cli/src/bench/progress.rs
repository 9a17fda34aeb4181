//! Progress on a terminal.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::Shards;
use crate::output::Output;

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

//! The settings of a run.

use serde::{Deserialize, Serialize};

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

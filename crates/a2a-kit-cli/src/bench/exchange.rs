//! One request and its outcome.

use std::future::Future;

use tokio::time::Instant;

/// What is called.
pub(crate) trait Exchange: Send + Sync + 'static {
    /// Makes one request on behalf of a worker.
    fn perform(&self, worker: usize) -> impl Future<Output = Outcome> + Send;
}

/// The outcome of a request.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The code of the error, if it failed.
    pub(crate) error: Option<&'static str>,
    /// When the first event of a stream arrived.
    pub(crate) first_event: Option<Instant>,
}

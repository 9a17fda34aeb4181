//! Work that outlives its caller for a while.

use std::{future::Future, time::Duration};

use a2a_core::{Error, Result};
use tokio::sync::oneshot;

/// How long the answer to a message is awaited after its caller has gone.
const GRACE: Duration = Duration::from_secs(30);

/// Runs work whose result has to be recorded, for up to 30 s after its caller has gone.
///
/// # Errors
///
/// `Unavailable` if the process is stopping.
pub(crate) async fn run<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let (mut sender, receiver) = oneshot::channel();
    tokio::spawn(async move {
        let mut work = std::pin::pin!(work);
        let done = tokio::select! {
            done = &mut work => Some(done),
            () = sender.closed() => tokio::time::timeout(GRACE, work).await.ok(),
        };
        if let Some(done) = done {
            // Nobody waits for it if the caller has gone.
            let _ = sender.send(done);
        }
    });
    receiver.await.map_err(|_stopping| Error::unavailable("the gateway is stopping"))
}

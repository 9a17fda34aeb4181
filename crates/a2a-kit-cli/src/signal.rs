//! The signals that a server handles.

use std::future::Future;

/// Makes writes beyond the file size limit (`ulimit -f`) fail instead of ending the process.
/// With a handler, child processes start with the default action; ignored, it would be ignored
/// in them too.
pub(crate) fn survive_file_size_limit() {
    #[cfg(unix)]
    {
        use rustix::process::Signal;
        use tokio::signal::unix::{SignalKind, signal};
        // The handler stays when its receiver is dropped.
        if let Err(error) = signal(SignalKind::from_raw(Signal::XFSZ.as_raw())) {
            tracing::warn!(%error, "SIGXFSZ is not handled");
        }
    }
}

/// Completes when the process is asked to stop: by SIGINT, or SIGTERM where there is one. Signals
/// are handled from the call on, not only once the future is polled.
pub(crate) fn received() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let handlers = {
        use tokio::signal::unix::{SignalKind, signal};
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    };
    async move {
        #[cfg(unix)]
        if let (Ok(mut interrupt), Ok(mut terminate)) = handlers {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
        // Without a handler, the signal ends the process without a drain.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

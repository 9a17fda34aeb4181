//! The signals that a server handles.

/// Has writes beyond the limit of file sizes (`ulimit -f`) fail instead of ending the process.
/// With a handler, child processes start with the default action; ignored, it would be ignored
/// in them too.
pub(crate) fn survive_file_size_limit() {
    #[cfg(unix)]
    {
        use rustix::process::Signal;
        use tokio::signal::unix::{SignalKind, signal};
        // The handler stays when what it tells is dropped.
        if let Err(error) = signal(SignalKind::from_raw(Signal::XFSZ.as_raw())) {
            tracing::warn!(%error, "SIGXFSZ is not handled");
        }
    }
}

/// Waits until the process is asked to stop: SIGINT, or SIGTERM where there is one.
pub(crate) async fn received() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Without a handler the signal still ends the process, only less politely.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

//! Signals other than those that stop a server.

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

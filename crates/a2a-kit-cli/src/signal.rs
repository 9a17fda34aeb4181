//! Signals: of stopping at a terminal, and those that would end the process needlessly.

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
            tracing::warn!(%error, "failed to install signal handler");
        }
    }
}

/// Signals that stop a command with a terminal. Once created, they no longer end the process.
#[derive(Debug)]
pub(crate) struct StopSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
}

impl StopSignals {
    /// Listens for signals.
    /// Errors: the error of the system, which then does not deliver them.
    pub(crate) fn listen() -> std::io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }
        #[cfg(windows)]
        Ok(Self { interrupt: tokio::signal::windows::ctrl_c()? })
    }

    /// Waits for the next signal, and returns whether it is Ctrl-C.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe.
    pub(crate) async fn next(&mut self) -> bool {
        #[cfg(unix)]
        {
            tokio::select! {
                _ = self.interrupt.recv() => true,
                _ = self.terminate.recv() => false,
            }
        }
        #[cfg(windows)]
        {
            self.interrupt.recv().await;
            true
        }
    }
}

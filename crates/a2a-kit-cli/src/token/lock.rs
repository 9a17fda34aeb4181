//! The lock of the token store.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
    time::Duration,
};

use tokio::time::Instant;

/// An exclusive lock on a file, released when it is dropped.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

/// How long to wait for another process, which may be refreshing a token.
const TIMEOUT: Duration = Duration::from_secs(30);
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

impl FileLock {
    /// Locks a file, which is created if it is missing.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::TimedOut`] if another process holds the lock for too long.
    pub(super) async fn acquire(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        let end = Instant::now() + TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() >= end => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        format!("locked by another process for {} s", TIMEOUT.as_secs()),
                    ));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(RETRY_INTERVAL).await,
            }
        }
    }
}

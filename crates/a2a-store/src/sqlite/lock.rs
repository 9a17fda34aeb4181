use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// The right of one process to a file. The system takes it back when the process ends, however
/// it ends.
///
/// It is a lock on a file of its own, because those of SQLite come and go with transactions.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

/// Why a file could not be locked.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another process has it; this is what it wrote about itself.
    Taken(String),
    Io(io::Error),
}

impl FileLock {
    pub(super) fn acquire(database: &Path) -> Result<Self, LockError> {
        let path = beside(database);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(LockError::Io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Taken(fs::read_to_string(&path).unwrap_or_default()));
            }
            Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
        // For whoever is refused; the lock holds without it.
        let said = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        said.map_err(LockError::Io)?;
        Ok(Self { _file: file })
    }
}

/// The file stays when the lock goes: one that was removed could be locked twice.
fn beside(database: &Path) -> PathBuf {
    let mut path = OsString::from(database);
    path.push(".lock");
    path.into()
}

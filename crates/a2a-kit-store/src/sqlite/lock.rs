use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};

/// How long a lock may be taken before it counts as held by another process. A child that was just
/// started holds the locks of its parent until it executes its program.
const TIMEOUT: Duration = Duration::from_millis(250);
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Exclusive access of one process to a database. The operating system releases the locks when the
/// process ends.
///
/// There are two locks, because each covers what the other does not:
///
/// - one on the database file, which holds under every name of it, including hard links. It is a
///   `flock`, which Linux keeps apart from the `fcntl` locks of SQLite. Other systems do not, so
///   there a file with several names is rejected instead.
/// - one on a file next to it, which locks the name. It keeps another process from using the
///   write-ahead log of this one after the database was moved, and tells which process it is.
#[derive(Debug)]
pub(super) struct DatabaseLock {
    // Dropped in this order: the file may be reopened in this process once it is closed.
    _companion: File,
    _database: File,
    _held: OpenFile,
}

/// Why a database could not be locked.
#[derive(Debug)]
pub(super) enum LockError {
    /// Locked by another process, described by this text.
    Taken(String),
    /// The file has several names, which cannot be locked together on this system.
    #[cfg_attr(
        any(target_os = "linux", not(unix)),
        expect(dead_code, reason = "one lock covers all names, or names are not counted")
    )]
    Linked,
    Io(io::Error),
}

impl DatabaseLock {
    /// Locks a database, creating the file if it is missing. Blocks for up to [`TIMEOUT`] if it is
    /// locked.
    pub(super) fn acquire(database: &Path) -> Result<Self, LockError> {
        let begun = Instant::now();
        loop {
            match Self::try_acquire(database) {
                Err(LockError::Taken(_)) if begun.elapsed() < TIMEOUT => {
                    thread::sleep(RETRY_INTERVAL);
                }
                result => return result,
            }
        }
    }

    fn try_acquire(database: &Path) -> Result<Self, LockError> {
        let path = lock_path(database);
        let taken = || {
            let holder = fs::read_to_string(&path).ok().filter(|holder| !holder.is_empty());
            LockError::Taken(holder.unwrap_or_else(|| "unknown".to_owned()))
        };
        let mut files = files();
        // Checked before the file is opened: closing it would drop the locks that SQLite holds on
        // it for other connections of this process (POSIX advisory locks).
        if fs::metadata(database).is_ok_and(|data| files.contains(&identity(database, &data))) {
            return Err(taken());
        }
        let file = open(database)?;
        let data = file.metadata().map_err(LockError::Io)?;
        lock_database(&file, &data, taken)?;
        let mut companion = open(&path)?;
        lock(&companion, taken)?;
        // For the error message of other processes; the lock works without it.
        let written =
            companion.set_len(0).and_then(|()| write!(companion, "{}", std::process::id()));
        written.map_err(LockError::Io)?;
        files.push(identity(database, &data));
        let held = OpenFile(identity(database, &data));
        Ok(Self { _companion: companion, _database: file, _held: held })
    }
}

/// Opens a file with mode 0600.
fn open(path: &Path) -> Result<File, LockError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(LockError::Io)
}

fn lock(file: &File, taken: impl FnOnce() -> LockError) -> Result<(), LockError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => taken(),
        TryLockError::Error(error) => LockError::Io(error),
    })
}

#[cfg(target_os = "linux")]
fn lock_database(
    file: &File,
    _data: &fs::Metadata,
    taken: impl FnOnce() -> LockError,
) -> Result<(), LockError> {
    lock(file, taken)
}

#[cfg(not(target_os = "linux"))]
fn lock_database(
    _file: &File,
    data: &fs::Metadata,
    _taken: impl FnOnce() -> LockError,
) -> Result<(), LockError> {
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(data) > 1 {
        return Err(LockError::Linked);
    }
    let _ = data;
    Ok(())
}

/// Identifies a file independently of its name.
#[cfg(unix)]
pub(super) type Identity = (u64, u64);
#[cfg(not(unix))]
pub(super) type Identity = PathBuf;

#[cfg(unix)]
pub(super) fn identity(_path: &Path, data: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (data.dev(), data.ino())
}

#[cfg(not(unix))]
pub(super) fn identity(path: &Path, _data: &fs::Metadata) -> Identity {
    path.to_owned()
}

/// The databases that this process has open.
static FILES: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

fn files() -> MutexGuard<'static, Vec<Identity>> {
    FILES.lock()
}

#[derive(Debug)]
struct OpenFile(Identity);

impl Drop for OpenFile {
    fn drop(&mut self) {
        files().retain(|file| *file != self.0);
    }
}

/// The file is never removed: a removed file could be locked twice.
fn lock_path(database: &Path) -> PathBuf {
    let mut path = OsString::from(database);
    path.push(".lock");
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_that_is_released_soon_is_awaited_and_another_one_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a2a.db");
        let (inherited, held) = (File::create(&path).unwrap(), Duration::from_millis(50));
        inherited.lock().unwrap();
        let child = thread::spawn(move || {
            thread::sleep(held);
            drop(inherited);
        });
        let lock = DatabaseLock::acquire(&path).unwrap();
        child.join().unwrap();
        assert!(matches!(DatabaseLock::acquire(&path), Err(LockError::Taken(_))));
        drop(lock);
        DatabaseLock::acquire(&path).unwrap();
    }
}

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};

use super::{
    failure::{self, Failure},
    open_error::{OpenError, unusable},
};

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

impl DatabaseLock {
    /// Locks a database, creating the file if it is missing. Blocks for up to [`TIMEOUT`] if it is
    /// locked.
    pub(super) fn acquire(database: &Path) -> Result<Self, OpenError> {
        let begun = Instant::now();
        loop {
            match Self::try_acquire(database) {
                Err(OpenError::InUse { .. }) if begun.elapsed() < TIMEOUT => {
                    thread::sleep(RETRY_INTERVAL);
                }
                result => return result,
            }
        }
    }

    fn try_acquire(database: &Path) -> Result<Self, OpenError> {
        let path = lock_path(database);
        let taken = || {
            let holder = fs::read_to_string(&path).ok().filter(|holder| !holder.is_empty());
            let holder = holder.unwrap_or_else(|| "unknown".to_owned());
            OpenError::InUse { path: database.to_owned(), holder }
        };
        let mut files = files();
        // Checked before the file is opened: closing it would drop the locks that SQLite holds on
        // it for other connections of this process (POSIX advisory locks).
        if fs::metadata(database).is_ok_and(|data| files.contains(&identity(database, &data))) {
            return Err(taken());
        }
        let failed = |error| unusable(database, error);
        let file = open(database).map_err(failed)?;
        let data = file.metadata().map_err(failed)?;
        #[cfg(target_os = "linux")]
        if !lock(&file).map_err(failed)? {
            return Err(taken());
        }
        #[cfg(all(unix, not(target_os = "linux")))]
        if std::os::unix::fs::MetadataExt::nlink(&data) > 1 {
            return Err(OpenError::Linked { path: database.to_owned() });
        }
        let mut companion = open(&path).map_err(failed)?;
        if !lock(&companion).map_err(failed)? {
            return Err(taken());
        }
        // For the error message of other processes; the lock works without it.
        let written =
            companion.set_len(0).and_then(|()| write!(companion, "{}", std::process::id()));
        written.map_err(failed)?;
        files.push(identity(database, &data));
        let held = OpenFile(identity(database, &data));
        Ok(Self { _companion: companion, _database: file, _held: held })
    }
}

/// Opens a file with mode 0600.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Locks a file; `false` if another process has it locked.
fn lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Identifies a file independently of its name.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = PathBuf;

#[cfg(unix)]
fn identity(_path: &Path, data: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (data.dev(), data.ino())
}

#[cfg(not(unix))]
fn identity(path: &Path, _data: &fs::Metadata) -> Identity {
    path.to_owned()
}

/// The files to which writes go. After one of them was moved, removed or replaced, a write that
/// succeeds is lost when the process ends.
#[derive(Debug)]
pub(super) struct Placement(Vec<(PathBuf, Identity)>);

impl Placement {
    /// Records the files of an open database: itself under the path as given, which may be a link,
    /// and its write-ahead log.
    pub(super) fn record(given: &Path, resolved: &Path) -> io::Result<Self> {
        let mut log = resolved.as_os_str().to_owned();
        log.push("-wal");
        let paths = [std::path::absolute(given)?, PathBuf::from(log)];
        let file = |path: PathBuf| {
            let identity = identity(&path, &fs::metadata(&path)?);
            Ok((path, identity))
        };
        Ok(Self(paths.into_iter().map(file).collect::<io::Result<_>>()?))
    }

    pub(super) fn check(&self) -> failure::Result<()> {
        let is_gone = |(path, opened): &&(PathBuf, Identity)| {
            !fs::metadata(path).is_ok_and(|data| identity(path, &data) == *opened)
        };
        match self.0.iter().find(is_gone) {
            Some((path, _)) => Err(Failure::Moved { path: path.clone() }),
            None => Ok(()),
        }
    }
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
        assert!(matches!(DatabaseLock::acquire(&path), Err(OpenError::InUse { .. })));
        drop(lock);
        DatabaseLock::acquire(&path).unwrap();
    }
}

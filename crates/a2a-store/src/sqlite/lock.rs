use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The right of one process to a database. The system takes it back when the process ends,
/// however it ends.
///
/// Two locks, because each covers what the other does not:
///
/// - one on the database file itself, which holds for every name of it: a hard link is the same
///   file. It is a `flock`, which Linux keeps apart from the `fcntl` locks of SQLite. Other
///   systems don't, so there a file with several names is refused instead.
/// - one on a file beside it, which holds for the name. It keeps a second process from using the
///   write-ahead log of this one after the database was moved away, and tells who has it.
#[derive(Debug)]
pub(super) struct DatabaseLock {
    // Dropped in this order: the file may be opened again in this process once it is closed.
    _beside: File,
    _database: File,
    _held: Held,
}

/// Why a database could not be locked.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another process has it; this is what it wrote about itself.
    Taken(String),
    /// The file has several names, which can't be locked together here.
    #[cfg_attr(
        any(target_os = "linux", not(unix)),
        expect(dead_code, reason = "one lock covers all names, or names are not counted")
    )]
    Linked,
    Io(io::Error),
}

impl DatabaseLock {
    /// Locks a database, and makes the file if it is not there.
    pub(super) fn acquire(database: &Path) -> Result<Self, LockError> {
        let path = beside(database);
        let taken = || {
            let holder = fs::read_to_string(&path).ok().filter(|holder| !holder.is_empty());
            LockError::Taken(holder.unwrap_or_else(|| "unknown".to_owned()))
        };
        let mut files = files();
        // Looked up before it is opened: closing a file drops the locks that SQLite holds on it
        // for other connections of this process (POSIX advisory locks).
        if fs::metadata(database).is_ok_and(|data| files.contains(&identity(database, &data))) {
            return Err(taken());
        }
        let file = open(database)?;
        let data = file.metadata().map_err(LockError::Io)?;
        lock_database(&file, &data, taken)?;
        let mut beside = open(&path)?;
        lock(&beside, taken)?;
        // For whoever is refused; the lock holds without it.
        let said = beside.set_len(0).and_then(|()| write!(beside, "{}", std::process::id()));
        said.map_err(LockError::Io)?;
        files.push(identity(database, &data));
        let held = Held(identity(database, &data));
        Ok(Self { _beside: beside, _database: file, _held: held })
    }
}

/// A file that is readable and writable for its owner only.
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

/// What a file is known by, whatever its name.
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

/// The databases that this process has open.
static FILES: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

fn files() -> MutexGuard<'static, Vec<Identity>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Held(Identity);

impl Drop for Held {
    fn drop(&mut self) {
        files().retain(|file| *file != self.0);
    }
}

/// The file stays when the lock goes: removed, it could be locked twice.
fn beside(database: &Path) -> PathBuf {
    let mut path = OsString::from(database);
    path.push(".lock");
    path.into()
}

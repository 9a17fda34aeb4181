//! The file with the tokens.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::StoredToken;
use crate::{failure::Failure, output::Output, settings::Directories};

/// The file with the tokens: `credentials.json` in the directory of the user's configuration.
///
/// It is replaced atomically, so readers need no lock.
#[derive(Clone, Debug)]
pub(crate) struct TokenStore {
    pub(crate) path: PathBuf,
}

/// The store while other processes can't change it.
#[derive(Debug)]
pub(crate) struct LockedStore<'a> {
    store: &'a TokenStore,
    /// Locked until it is dropped.
    _lock: File,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Contents<T> {
    version: u32,
    tokens: Vec<T>,
}

/// The format of the file, of any version.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

const VERSION: u32 = 1;
const NAME: &str = "credentials.json";
/// Maximum size of the file, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Maximum number of tokens.
const MAX_TOKENS: usize = 256;

impl TokenStore {
    /// The store of the user.
    /// Errors: a failure if the user has no home directory.
    pub(crate) fn of_user() -> Result<Self, Failure> {
        let directory = Directories::of_process().config.ok_or_else(|| {
            Failure::internal("no directory for stored tokens: the home directory is unknown")
                .with_hint("set XDG_CONFIG_HOME to an absolute path")
        })?;
        Ok(Self { path: directory.join(NAME) })
    }

    /// Reads all tokens; a missing file has none.
    /// Errors: a failure that names the file, if it is unreadable or malformed.
    pub(crate) fn read(&self) -> Result<Vec<StoredToken>, Failure> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(Vec::new()),
                    _ => Err(self.failed("read", &error)),
                };
            }
        };
        let mut json = Vec::new();
        let limit = u64::try_from(MAX_BYTES + 1).unwrap_or(u64::MAX);
        file.take(limit).read_to_end(&mut json).map_err(|error| self.failed("read", &error))?;
        if json.len() > MAX_BYTES {
            return Err(self.malformed(&format!("larger than {MAX_BYTES} bytes")));
        }
        // The text of a parse error could contain a token.
        let place = |error: serde_json::Error| {
            self.malformed(&format!("line {}, column {}", error.line(), error.column()))
        };
        let Version { version } = serde_json::from_slice(&json).map_err(place)?;
        if version != VERSION {
            return Err(self.malformed(&format!("version {version}, expected {VERSION}")));
        }
        let contents: Contents<StoredToken> = serde_json::from_slice(&json).map_err(place)?;
        Ok(contents.tokens)
    }

    /// Warns if other users can read the file.
    pub(crate) fn warn_if_exposed(&self, output: Output) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let Ok(metadata) = fs::metadata(&self.path) else { return };
            let mode = metadata.permissions().mode() & 0o777;
            if mode & 0o077 != 0 {
                let path = self.path.display();
                output.warning(&format!(
                    "other users can access the tokens in {path} (mode {mode:04o}): chmod 600 {path}"
                ));
            }
        }
        #[cfg(not(unix))]
        let _ = output;
    }

    /// Locks the store against changes of other processes.
    /// Errors: a failure if the file can't be created, or is locked for too long.
    pub(crate) async fn lock(&self) -> Result<LockedStore<'_>, Failure> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(directory)
            .map_err(|error| self.failed("create the directory of", &error))?;
        let lock = locked(&self.path.with_extension("lock")).await;
        let lock = lock.map_err(|error| self.failed("lock", &error))?;
        Ok(LockedStore { store: self, _lock: lock })
    }

    fn failed(&self, action: &str, error: &io::Error) -> Failure {
        Failure::internal(format!("failed to {action} {}: {error}", self.path.display()))
    }

    fn malformed(&self, reason: &str) -> Failure {
        Failure::internal(format!("malformed token store {}: {reason}", self.path.display()))
            .with_hint("repair or remove the file, then log in again with `a2a auth login`")
    }
}

impl LockedStore<'_> {
    /// Adds a token, which replaces the one for the same agent and scheme.
    /// Errors: a failure if the file can't be written. It is unchanged then.
    pub(crate) fn insert(&self, token: StoredToken) -> Result<(), Failure> {
        let mut tokens = self.store.read()?;
        tokens.retain(|other| !other.is_for(&token.card.0, &token.scheme));
        if tokens.len() >= MAX_TOKENS {
            let path = self.store.path.display();
            return Err(Failure::internal(format!("{path} has {MAX_TOKENS} tokens already"))
                .with_hint("remove tokens with `a2a auth logout`"));
        }
        tokens.push(token);
        self.write(&tokens)
    }

    /// Replaces all tokens.
    /// Errors: a failure if the file can't be written. It is unchanged then.
    pub(crate) fn write(&self, tokens: &[StoredToken]) -> Result<(), Failure> {
        let contents = Contents { version: VERSION, tokens: tokens.iter().collect() };
        let mut json = serde_json::to_vec_pretty(&contents)
            .map_err(|error| Failure::internal(format!("failed to encode tokens: {error}")))?;
        json.push(b'\n');
        if json.len() > MAX_BYTES {
            let path = self.store.path.display();
            return Err(Failure::internal(format!("{path} would exceed {MAX_BYTES} bytes"))
                .with_hint("remove tokens with `a2a auth logout`"));
        }
        self.replace(&json).map_err(|error| self.store.failed("write", &error))
    }

    fn replace(&self, json: &[u8]) -> io::Result<()> {
        let path = &self.store.path;
        let directory = path.parent().unwrap_or(Path::new("."));
        // Temporary files have mode 0600.
        let mut file = tempfile::Builder::new().prefix(NAME).tempfile_in(directory)?;
        file.write_all(json)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// How long to wait for another process, which may be refreshing a token.
const TIMEOUT: Duration = Duration::from_secs(30);
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Locks a file against other processes. It is created if it is missing.
/// Errors: [`io::ErrorKind::TimedOut`] if another process holds the lock for too long.
async fn locked(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    let end = Instant::now() + TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
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

//! A directory with cached agent cards, shared by processes.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use http::Uri;
use serde::{Deserialize, Serialize};

/// A directory with one file for each card.
///
/// A file is replaced by renaming a complete one, so readers never see half of it. Files that can't
/// be read count as absent. The directory holds nothing else: surplus files of any name are
/// removed, the oldest first.
#[derive(Clone, Debug)]
pub(crate) struct CacheDirectory {
    path: PathBuf,
}

/// A cached response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredCard {
    /// The URL, because the name of the file is only a hash of it.
    pub(crate) url: String,
    /// The card as received.
    pub(crate) json: String,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
    /// When the response was received or revalidated, in seconds since 1970.
    pub(crate) received_at: u64,
    /// The freshness lifetime from then on, in seconds.
    pub(crate) lifetime: u64,
}

/// Maximum number of files.
const MAX_FILES: usize = 256;
/// Maximum size of all files together, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum size of one file, in bytes: a card of the maximum size, with escapes.
const MAX_FILE_BYTES: u64 = 4 << 20;

impl StoredCard {
    /// How long the card is still fresh. A clock that was set back makes it stale.
    pub(crate) fn fresh_for(&self, now: SystemTime) -> Duration {
        match seconds(now).checked_sub(self.received_at) {
            Some(age) => Duration::from_secs(self.lifetime.saturating_sub(age)),
            None => Duration::ZERO,
        }
    }
}

/// Seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl CacheDirectory {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Reads the card of a URL; `None` if it is absent or unreadable.
    pub(crate) async fn read(&self, url: &Uri) -> Option<StoredCard> {
        let (path, url) = (self.file(url), url.to_string());
        let read = move || {
            let mut bytes = Vec::new();
            fs::File::open(path)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
            let stored: StoredCard = serde_json::from_slice(&bytes)?;
            Ok(Some(stored).filter(|stored| stored.url == url))
        };
        run(read).await.flatten()
    }

    /// Writes a card, and removes the oldest files if there are too many.
    pub(crate) async fn write(&self, url: &Uri, stored: StoredCard) {
        let (directory, path) = (self.path.clone(), self.file(url));
        run(move || {
            create(&directory)?;
            replace(&directory, &path, &serde_json::to_vec(&stored)?)?;
            prune(&directory)
        })
        .await;
    }

    /// Removes the card of a URL.
    pub(crate) async fn remove(&self, url: &Uri) {
        let path = self.file(url);
        run(move || fs::remove_file(path)).await;
    }

    fn file(&self, url: &Uri) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        url.to_string().hash(&mut hasher);
        self.path.join(format!("{:016x}.json", hasher.finish()))
    }
}

/// Runs file operations without blocking the runtime. A cache is optional, so errors are ignored.
async fn run<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Some(value),
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => None,
        Ok(Err(error)) => {
            tracing::debug!(%error, "card cache unavailable");
            None
        }
        Err(_) => None,
    }
}

fn create(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(directory)
}

/// Writes a file completely, and then renames it.
fn replace(directory: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = directory.join(format!("{}-{number}.tmp", std::process::id()));
    let written = fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The error that led here counts.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Removes the oldest files until the limits are met.
fn prune(directory: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // Another process may have removed it.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_file() {
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((modified, metadata.len(), entry.path()));
        }
    }
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, length, _)| length).sum();
    let mut count = files.len();
    for (_, length, path) in files {
        if count <= MAX_FILES && bytes <= MAX_BYTES {
            break;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        count -= 1;
        bytes = bytes.saturating_sub(length);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(path: &str) -> Uri {
        format!("https://a.example/{path}").parse().unwrap()
    }

    fn stored(url: &Uri, json: &str) -> StoredCard {
        StoredCard {
            url: url.to_string(),
            json: json.to_owned(),
            etag: Some("\"1\"".to_owned()),
            last_modified: None,
            received_at: 1_000,
            lifetime: 60,
        }
    }

    #[test]
    fn card_ages_by_the_clock_of_the_system() {
        let card = stored(&url("a"), "{}");
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        for (now, fresh_for) in [(1_000, 60), (1_059, 1), (1_060, 0), (9_999, 0), (999, 0)] {
            assert_eq!(card.fresh_for(at(now)), Duration::from_secs(fresh_for), "at {now}");
        }
    }

    #[tokio::test]
    async fn corrupt_file_and_file_of_another_url_count_as_absent() {
        let folder = tempfile::tempdir().unwrap();
        let directory = CacheDirectory::new(folder.path().join("cards"));
        assert_eq!(directory.read(&url("a")).await, None);
        let card = stored(&url("a"), "{}");
        directory.write(&url("a"), card.clone()).await;
        assert_eq!(directory.read(&url("a")).await, Some(card));
        let text = fs::read(directory.file(&url("a"))).unwrap();
        fs::write(directory.file(&url("a")), &text[..text.len() / 2]).unwrap();
        assert_eq!(directory.read(&url("a")).await, None);
        directory.write(&url("a"), stored(&url("b"), "{}")).await;
        assert_eq!(directory.read(&url("a")).await, None);
        directory.remove(&url("a")).await;
        assert_eq!(fs::read_dir(&directory.path).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn number_and_size_of_files_are_limited() {
        let folder = tempfile::tempdir().unwrap();
        let directory = CacheDirectory::new(folder.path().to_owned());
        for number in 0..MAX_FILES + 10 {
            fs::write(folder.path().join(format!("{number}.json")), "x").unwrap();
        }
        directory.write(&url("a"), stored(&url("a"), "{}")).await;
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), MAX_FILES);
        let large = "x".repeat(1 << 20);
        for number in 0..20 {
            let url = url(&number.to_string());
            directory.write(&url, stored(&url, &large)).await;
        }
        let files = fs::read_dir(folder.path()).unwrap();
        let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes <= MAX_BYTES, "{bytes}");
        assert!(directory.read(&url("19")).await.is_some());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn directory_is_private_to_its_user() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let directory = CacheDirectory::new(folder.path().join("a/b"));
        directory.write(&url("a"), stored(&url("a"), "{}")).await;
        let mode = fs::metadata(&directory.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}

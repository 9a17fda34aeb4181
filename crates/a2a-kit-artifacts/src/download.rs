//! Writing the artifacts of a task into a directory.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use a2a_core::Task;
use serde::Serialize;
use tempfile::{NamedTempFile, TempPath};

use crate::{
    Fetcher, SaveError,
    plan::{PlannedFile, Source, plan},
};

/// Default maximum size of all files, in bytes.
const MAX_BYTES: u64 = 100 << 20;

/// How and where artifacts are saved.
#[derive(Debug)]
pub struct Download {
    directory: PathBuf,
    overwrite: bool,
    max_bytes: u64,
    fetcher: Option<Fetcher>,
}

/// The files of a download, and the URLs that were not fetched.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Downloaded {
    /// The files.
    pub saved: Vec<SavedFile>,
    /// The URLs.
    pub skipped: Vec<SkippedUrl>,
}

/// A part, or joined chunks, that are a file now.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SavedFile {
    /// The id of the artifact.
    pub artifact_id: String,
    /// The index in its artifact of the first part.
    pub part: usize,
    /// The path of the file.
    pub path: String,
    /// The media type; empty if it is unknown.
    pub media_type: String,
    /// The size, in bytes.
    pub bytes: u64,
}

/// A URL that was not fetched.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct SkippedUrl {
    /// The URL.
    pub url: String,
}

/// A complete file under a temporary name, which is removed unless it gets its own.
struct Staged {
    content: TempPath,
    path: PathBuf,
    saved: SavedFile,
}

impl Download {
    /// Creates the directory if it is missing.
    ///
    /// # Errors
    ///
    /// [`SaveError::Directory`] if it can't be created.
    pub fn into(directory: &Path) -> Result<Self, SaveError> {
        let path = directory.to_owned();
        match fs::create_dir_all(directory) {
            Ok(()) => {
                Ok(Self { directory: path, overwrite: false, max_bytes: MAX_BYTES, fetcher: None })
            }
            Err(error) => Err(SaveError::Directory { path, error }),
        }
    }

    /// Sets whether existing files are replaced. Default: false.
    #[must_use]
    pub fn with_overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    /// Sets the maximum size of all files, in bytes. Default: 100 MiB.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// Fetches the files that artifacts refer to by URL. Without it, they are only listed.
    #[must_use]
    pub fn with_fetcher(self, fetcher: impl Into<Option<Fetcher>>) -> Self {
        Self { fetcher: fetcher.into(), ..self }
    }

    /// Saves the artifacts of a task: all, or those whose id or name is `selected`.
    ///
    /// All files are complete before the first gets its name.
    ///
    /// # Errors
    ///
    /// [`SaveError`] with the file or URL. Unless renaming fails, nothing has been saved.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future removes incomplete files.
    pub async fn save(&self, task: &Task, selected: &[String]) -> Result<Downloaded, SaveError> {
        let files = plan(task, selected)?;
        if !self.overwrite {
            self.check_absent(&files)?;
        }
        let mut report = Downloaded::default();
        let mut staged = Vec::new();
        let mut remaining = self.max_bytes;
        for file in files {
            let path = self.directory.join(&file.path);
            let mut content =
                new_file(&self.directory).map_err(|error| unwritable(&path, error))?;
            let mut media_type = file.media_type;
            let bytes = match (file.source, &self.fetcher) {
                (Source::Inline(bytes), _) => {
                    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                    if length > remaining {
                        return Err(SaveError::TooLarge(self.max_bytes));
                    }
                    content.write_all(&bytes).map_err(|error| unwritable(&path, error))?;
                    length
                }
                (Source::Url(url), Some(fetcher)) => {
                    let fetched = fetcher.fetch(&url, remaining, content.as_file_mut()).await;
                    let (length, received) =
                        fetched.map_err(|error| SaveError::Fetch { url, error })?;
                    if media_type.is_empty() {
                        media_type = received.unwrap_or_default();
                    }
                    length
                }
                (Source::Url(url), None) => {
                    report.skipped.push(SkippedUrl { url });
                    continue;
                }
            };
            remaining -= bytes;
            let (artifact_id, part) = (file.artifact_id, file.part);
            let saved = SavedFile {
                artifact_id,
                part,
                path: path.display().to_string(),
                media_type,
                bytes,
            };
            staged.push(Staged { content: content.into_temp_path(), path, saved });
        }
        for file in staged {
            report.saved.push(self.persist(file)?);
        }
        Ok(report)
    }

    fn check_absent(&self, files: &[PlannedFile]) -> Result<(), SaveError> {
        for file in files {
            let is_skipped = matches!(file.source, Source::Url(_)) && self.fetcher.is_none();
            let path = self.directory.join(&file.path);
            // A dangling symbolic link exists too.
            if !is_skipped && path.symlink_metadata().is_ok() {
                return Err(SaveError::Exists(path));
            }
        }
        Ok(())
    }

    fn persist(&self, file: Staged) -> Result<SavedFile, SaveError> {
        let Staged { content, path, saved } = file;
        let result =
            if self.overwrite { content.persist(&path) } else { content.persist_noclobber(&path) };
        match result {
            Ok(()) => Ok(saved),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(SaveError::Exists(path))
            }
            Err(error) => Err(unwritable(&path, error.error)),
        }
    }
}

/// Creates a temporary file in a directory, to be renamed when it is complete. Its permissions are those
/// of any new file.
fn new_file(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".a2a-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The umask applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}

fn unwritable(path: &Path, error: io::Error) -> SaveError {
    SaveError::Write { path: path.to_owned(), error }
}

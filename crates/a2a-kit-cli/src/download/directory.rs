//! Writing the artifacts of a task into a directory.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use a2a_core::Task;
use tempfile::{NamedTempFile, TempPath};

use super::{
    fetch::Fetcher,
    plan::{PlannedFile, Source, plan},
    report::{Report, Saved, Skipped},
};
use crate::failure::Failure;

/// Default maximum size of all files, in bytes.
const MAX_BYTES: u64 = 100 << 20;

/// How and where artifacts are saved.
#[derive(Debug)]
pub(crate) struct Download {
    directory: PathBuf,
    /// Whether existing files are replaced.
    pub(crate) overwrite: bool,
    /// Maximum size of all files, in bytes.
    pub(crate) max_bytes: u64,
    /// What fetches URLs. Without it, they are only listed.
    pub(crate) fetcher: Option<Fetcher>,
}

/// A complete file under a temporary name, which is removed unless it gets its own.
struct Staged {
    content: TempPath,
    path: PathBuf,
    saved: Saved,
}

impl Download {
    /// Creates the directory if it is missing.
    pub(crate) fn into(directory: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(directory).map_err(|error| {
            Failure::usage(format!("failed to create {}: {error}", directory.display()))
        })?;
        let directory = directory.to_owned();
        Ok(Self { directory, overwrite: false, max_bytes: MAX_BYTES, fetcher: None })
    }

    /// Saves the artifacts of a task: all, or those whose id or name is `selected`.
    ///
    /// All files are complete before the first gets its name.
    /// Errors: a failure that names the file or URL. Unless renaming fails, nothing has been saved.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future removes incomplete files.
    pub(crate) async fn save(&self, task: &Task, selected: &[String]) -> Result<Report, Failure> {
        let files = plan(task, selected)?;
        if !self.overwrite {
            self.check_absent(&files)?;
        }
        let mut report = Report::default();
        let mut staged = Vec::new();
        let mut remaining = self.max_bytes;
        for file in files {
            let path = self.directory.join(&file.path);
            let mut content =
                new_file(&self.directory).map_err(|error| unwritable(&path, &error))?;
            let mut media_type = file.media_type;
            let bytes = match (file.source, &self.fetcher) {
                (Source::Inline(bytes), _) => {
                    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                    if length > remaining {
                        return Err(self.too_large());
                    }
                    content.write_all(&bytes).map_err(|error| unwritable(&path, &error))?;
                    length
                }
                (Source::Url(url), Some(fetcher)) => {
                    let (length, received) =
                        fetcher.fetch(&url, remaining, content.as_file_mut()).await?;
                    if media_type.is_empty() {
                        media_type = received.unwrap_or_default();
                    }
                    length
                }
                (Source::Url(url), None) => {
                    report.skipped.push(Skipped { url });
                    continue;
                }
            };
            remaining -= bytes;
            let (artifact_id, part) = (file.artifact_id, file.part);
            let saved =
                Saved { artifact_id, part, path: path.display().to_string(), media_type, bytes };
            staged.push(Staged { content: content.into_temp_path(), path, saved });
        }
        for file in staged {
            report.saved.push(self.persist(file)?);
        }
        Ok(report)
    }

    fn check_absent(&self, files: &[PlannedFile]) -> Result<(), Failure> {
        for file in files {
            let is_skipped = matches!(file.source, Source::Url(_)) && self.fetcher.is_none();
            let path = self.directory.join(&file.path);
            // A dangling symbolic link exists too.
            if !is_skipped && path.symlink_metadata().is_ok() {
                return Err(exists(&path));
            }
        }
        Ok(())
    }

    fn persist(&self, file: Staged) -> Result<Saved, Failure> {
        let Staged { content, path, saved } = file;
        let result =
            if self.overwrite { content.persist(&path) } else { content.persist_noclobber(&path) };
        match result {
            Ok(()) => Ok(saved),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            Err(error) => Err(unwritable(&path, &error.error)),
        }
    }

    fn too_large(&self) -> Failure {
        Failure::usage(format!("the artifacts exceed --max-bytes ({})", self.max_bytes))
            .with_hint("raise --max-bytes, or select artifacts with --artifact")
    }
}

/// Creates a temporary file in a directory, to be renamed when it is complete. Its permissions are those
/// of any new file.
pub(crate) fn new_file(directory: &Path) -> io::Result<NamedTempFile> {
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

fn exists(path: &Path) -> Failure {
    Failure::usage(format!("{} already exists", path.display()))
        .with_hint("use --overwrite, or another directory with --out")
}

/// The failure to write a file.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::internal(format!("failed to write {}: {error}", path.display()))
}

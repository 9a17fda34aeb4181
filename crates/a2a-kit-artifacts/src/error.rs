//! Why artifacts were not saved.

use std::{io, path::PathBuf};

use http::StatusCode;

/// Maximum number of files of a task.
pub(crate) const MAX_FILES: usize = 10_000;

/// Why artifacts were not saved.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The task has no artifact with a selected id or name.
    #[error("task {task} has no artifact {name:?}")]
    NoArtifact {
        /// The id of the task.
        task: String,
        /// The id or name.
        name: String,
    },
    /// The task has too many parts.
    #[error("task {task} has {count} files (maximum: {MAX_FILES})")]
    TooManyFiles {
        /// The id of the task.
        task: String,
        /// The number of its files.
        count: usize,
    },
    /// There is a file of that name.
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    /// The files have more than this number of bytes together.
    #[error("the artifacts exceed {0} bytes")]
    TooLarge(u64),
    /// The directory can't be created.
    #[error("failed to create {}: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file can't be written.
    #[error("failed to write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file can't be fetched.
    #[error("failed to fetch {url}: {error}")]
    Fetch {
        /// Its URL.
        url: String,
        /// Why.
        error: FetchError,
    },
}

a2a_core::debug_as_chain!(SaveError);

/// Why a file was not fetched.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The URL is malformed, or must not be called.
    #[error("{0}")]
    Refused(String),
    /// The server can't be reached, or the connection was lost.
    #[error("{}", a2a_core::error_chain(.0))]
    Unreachable(a2a_core::Error),
    /// The server responded with an error.
    #[error("status {0}")]
    Status(StatusCode),
    /// The file is larger than what is left of the limit.
    #[error("exceeds the maximum size")]
    TooLarge,
    /// The bytes can't be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

a2a_core::debug_as_chain!(FetchError);

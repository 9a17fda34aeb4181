//! Why a file could not be opened.

use std::{
    io,
    path::{Path, PathBuf},
};

use rusqlite::ErrorCode;

/// Why a file could not be opened as a store.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory of the file does not exist.
    #[error("the directory of {} does not exist", path.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
    },
    /// The file or its directory is not writable.
    #[error("{} is not writable", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another process has the file open.
    #[error("{} is in use by another process ({holder})", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
        /// The process id, if known.
        holder: String,
    },
    /// The file has several names, which this system cannot lock together.
    #[error("{} has other hard links, under which another process could open it", path.display())]
    Linked {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a database, or belongs to another program.
    #[error("{} is not a task store", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file was written by a newer version of this program.
    #[error(
        "{} has schema version {found}, but this program supports at most {known}: upgrade the \
         program",
        path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The schema version of the file.
        found: i64,
        /// The newest supported version.
        known: i64,
    },
    /// The file could not be opened for another reason.
    #[error("failed to open {}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

a2a_core::debug_as_chain!(OpenError);

pub(super) fn unusable(path: &Path, error: io::Error) -> OpenError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => OpenError::NoDirectory { path },
        _ => OpenError::NotWritable { path, source: error.into() },
    }
}

pub(super) fn not_a_store(
    path: &Path,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> OpenError {
    OpenError::NotAStore { path: path.to_owned(), source: cause.into() }
}

pub(super) fn refused(path: &Path, error: rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => not_a_store(path, error),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            OpenError::NotWritable { path: path.to_owned(), source: error.into() }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            OpenError::InUse { path: path.to_owned(), holder: "unknown".to_owned() }
        }
        _ => OpenError::Failed { path: path.to_owned(), source: error.into() },
    }
}

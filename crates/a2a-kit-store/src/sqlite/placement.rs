//! Whether the files of a database are still where they were opened.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    failure::{Failure, Result},
    lock::{Identity, identity},
};

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

    pub(super) fn check(&self) -> Result<()> {
        let is_gone = |(path, opened): &&(PathBuf, Identity)| {
            !fs::metadata(path).is_ok_and(|data| identity(path, &data) == *opened)
        };
        match self.0.iter().find(is_gone) {
            Some((path, _)) => Err(Failure::Moved { path: path.clone() }),
            None => Ok(()),
        }
    }
}

//! A file of JSON lines.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::Serialize;

use crate::failure::Failure;

/// A file that gets one JSON document a line.
///
/// Lines are written as they come, without a queue: they go no further than the memory of the
/// system, and none is lost when this process ends.
#[derive(Debug)]
pub(super) struct Lines {
    file: Mutex<File>,
    failed: AtomicBool,
}

impl Lines {
    /// Opens a file to write behind what is in it. A new one is for its owner only.
    ///
    /// # Errors
    ///
    /// A usage failure.
    pub(super) fn append_to(path: &Path) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| {
            Failure::usage(format!("can't write to {}: {error}", path.display()))
        })?;
        Ok(Self { file: Mutex::new(file), failed: AtomicBool::new(false) })
    }

    /// Writes a line. That it could not be written is logged once; the traffic goes on.
    pub(super) fn write(&self, document: &impl Serialize) {
        let written = serde_json::to_vec(document).map_err(Into::into).and_then(|mut line| {
            line.push(b'\n');
            self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
        });
        if let Err(error) = written
            && !self.failed.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(%error, "the record has gaps from here on");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_behind_those_that_are_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record.jsonl");
        for number in 1..=2 {
            Lines::append_to(&path).unwrap().write(&serde_json::json!({ "call": number }));
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"call\":1}\n{\"call\":2}\n");
        let failure = Lines::append_to(directory.path()).unwrap_err();
        assert_eq!(failure.code().exit(), 2);
    }
}

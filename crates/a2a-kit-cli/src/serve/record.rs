//! A JSON Lines file.

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

/// A JSON Lines file.
///
/// Lines are written immediately, without a buffer in this process, and not synced to disk.
#[derive(Debug)]
pub(super) struct Lines {
    file: Mutex<File>,
    failed: AtomicBool,
}

impl Lines {
    /// Opens a file to append to. A new one is readable by its owner only.
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

    /// Appends a line. The first failure is logged; requests are served regardless.
    pub(super) fn write(&self, document: &impl Serialize) {
        let written = serde_json::to_vec(document).map_err(Into::into).and_then(|mut line| {
            line.push(b'\n');
            self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
        });
        if let Err(error) = written
            && !self.failed.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(%error, "failed to write the traffic record");
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
        assert_eq!(failure.code.exit(), 2);
    }
}

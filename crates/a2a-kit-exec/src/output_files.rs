//! The files that a command leaves in its output directory, as artifacts.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use a2a_core::{Artifact, Part, media_type};

/// Maximum number of files of one command.
const MAX_FILES: usize = 100;
/// Maximum bytes of all files of one command.
const MAX_BYTES: u64 = 64 << 20;

/// Why the files of a command are not sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputFilesError {
    #[error("failed to read the output files of the command")]
    Read(#[from] io::Error),
    /// Its message is for the caller.
    #[error("The command wrote more than {MAX_FILES} output files")]
    TooMany,
    /// Its message is for the caller.
    #[error("The command wrote output files of more than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
}

/// Reads the regular files in a directory, ordered by name, each as an artifact of that name.
/// Symbolic links and subdirectories are ignored.
pub(crate) fn read(directory: &Path) -> Result<Vec<Artifact>, OutputFilesError> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            if paths.len() == MAX_FILES {
                return Err(OutputFilesError::TooMany);
            }
            paths.push(entry.path());
        }
    }
    paths.sort_unstable();
    let mut remaining = MAX_BYTES;
    paths.iter().map(|path| artifact(path, &mut remaining)).collect()
}

fn artifact(path: &Path, remaining: &mut u64) -> Result<Artifact, OutputFilesError> {
    let mut content = Vec::new();
    let read = File::open(path)?.take(*remaining + 1).read_to_end(&mut content)?;
    let read = u64::try_from(read).unwrap_or(u64::MAX);
    *remaining = remaining.checked_sub(read).ok_or(OutputFilesError::TooLarge)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let media_type = media_type::guess(Some(&name), &content);
    Ok(Artifact::new(name.clone(), Part::file(name, media_type, content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_files_are_artifacts_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("b.json"), "{}").unwrap();
        fs::write(folder.path().join("a.txt"), "hello").unwrap();
        fs::create_dir(folder.path().join("c")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("d")).unwrap();
        let artifacts = read(folder.path()).unwrap();
        let described: Vec<_> = artifacts
            .iter()
            .map(|artifact| (&*artifact.name, &*artifact.parts[0].media_type))
            .collect();
        assert_eq!(described, [("a.txt", "text/plain"), ("b.json", "application/json")]);
        assert_eq!(artifacts[0].parts[0].as_raw().unwrap(), &b"hello"[..]);
    }

    #[test]
    fn too_many_files_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FILES {
            fs::write(folder.path().join(number.to_string()), "").unwrap();
        }
        assert!(matches!(read(folder.path()), Err(OutputFilesError::TooMany)));
    }

    #[test]
    fn files_that_are_too_large_together_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            File::create(folder.path().join(name)).unwrap().set_len(MAX_BYTES / 2 + 1).unwrap();
        }
        assert!(matches!(read(folder.path()), Err(OutputFilesError::TooLarge)));
    }
}

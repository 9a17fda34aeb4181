//! A home directory with settings files, and a working directory.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::command;

/// A home directory with settings files, and a working directory.
#[derive(Debug)]
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(home.agents()).unwrap();
        fs::create_dir_all(home.working()).unwrap();
        home
    }

    pub fn config(&self) -> PathBuf {
        self.folder.path().join("config/a2a-cli")
    }

    pub fn agents(&self) -> PathBuf {
        self.config().join("agents")
    }

    pub fn cache(&self) -> PathBuf {
        self.folder.path().join("cache/a2a-cli")
    }

    /// The working directory, below the one with the `.env` of the project.
    pub fn working(&self) -> PathBuf {
        self.project().join("below")
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Writes a file that only its owner can read.
    pub fn write(&self, path: impl AsRef<Path>, text: &str) -> String {
        let path = self.folder.path().join(path);
        fs::write(&path, text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        path.display().to_string()
    }

    /// The binary with this home, in the working directory.
    pub fn command(&self) -> Command {
        let mut command = command();
        command
            // Files above the working directory are read up to the home directory.
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.folder.path().join("config"))
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .current_dir(self.working());
        command
    }
}

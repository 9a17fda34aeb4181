use std::fs;

use tempfile::TempDir;

use crate::{Authority, Identity};

/// An authority, and a temporary directory for its files.
#[derive(Debug)]
pub struct Folder {
    authority: Authority,
    directory: TempDir,
}

impl Folder {
    /// Creates an authority, whose certificate is in `root.pem`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let directory = tempfile::tempdir().expect("there is room for a folder");
        let folder = Self { authority: Authority::new(name), directory };
        folder.write("root.pem", folder.authority.root());
        folder
    }

    /// Returns the authority.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Issues a certificate [for this machine](Authority::for_this_machine), and writes it.
    pub fn issue(&self, name: &str) -> Identity {
        let identity = self.authority.for_this_machine(name);
        self.keep(name, &identity);
        identity
    }

    /// Writes a certificate to `{name}.crt`, and its key to `{name}.key`.
    pub fn keep(&self, name: &str, identity: &Identity) {
        identity.write(self.directory.path(), name);
    }

    /// Writes a text to a file, and returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("the file is written");
        path
    }

    /// Returns the path of a file in the directory.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        let path = self.directory.path().join(name);
        path.into_os_string().into_string().expect("temporary folders have names in UTF-8")
    }
}

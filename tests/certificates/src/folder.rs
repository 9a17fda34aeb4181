use std::fs;

use tempfile::TempDir;

use crate::{Authority, Identity};

/// An authority, and a folder for what it issues, which goes when this is dropped.
#[derive(Debug)]
pub struct Folder {
    authority: Authority,
    directory: TempDir,
}

impl Folder {
    /// Makes an authority, whose certificate is in `root.pem`.
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

    /// Issues a certificate [for this machine](Authority::for_this_machine), and keeps it.
    pub fn issue(&self, name: &str) -> Identity {
        let identity = self.authority.for_this_machine(name);
        self.keep(name, &identity);
        identity
    }

    /// Keeps a certificate in `{name}.crt`, and its key in `{name}.key`.
    pub fn keep(&self, name: &str, identity: &Identity) {
        identity.write(self.directory.path(), name);
    }

    /// Keeps a text in a file, and returns where that is.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("the file is written");
        path
    }

    /// Returns where the file of this name is or would be, as settings and arguments say it.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        let path = self.directory.path().join(name);
        path.into_os_string().into_string().expect("temporary folders have names in UTF-8")
    }
}

//! `a2a man`: manual pages, for packages.

use std::{fs, path::PathBuf};

use clap::{Args, ValueHint};

use crate::failure::Failure;

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Directory for the pages; created if it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: PathBuf,
}

impl Man {
    /// Writes a page for each command.
    ///
    /// # Errors
    ///
    /// A failure that names the directory.
    pub(super) fn run(&self, tree: clap::Command) -> Result<(), Failure> {
        fs::create_dir_all(&self.directory)
            .and_then(|()| clap_mangen::generate_to(tree, &self.directory))
            .map_err(|error| {
                Failure::internal(format!(
                    "failed to write man pages to {}: {error}",
                    self.directory.display()
                ))
            })
    }
}

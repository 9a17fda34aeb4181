//! `a2a completion` and `a2a man`: what shells and packages get from the command tree.

use std::{fs, path::PathBuf};

use clap::{Args, ValueHint};
use clap_complete::Shell;

use crate::{failure::Failure, output::Output};

#[derive(Args, Debug)]
pub(crate) struct Completion {
    /// Shell to print the script for
    shell: Shell,
}

impl Completion {
    pub(super) fn run(&self, mut tree: clap::Command, output: Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut tree, "a2a", &mut script);
        output.write(&script)
    }
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Directory for the pages; created if it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: PathBuf,
}

impl Man {
    /// Writes a page for each command.
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

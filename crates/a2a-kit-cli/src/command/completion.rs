//! `a2a completion`: a script that completes commands and flags.

use clap::Args;
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

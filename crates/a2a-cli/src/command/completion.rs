//! `a2a completion`: a script that completes commands and flags.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Cli;
use crate::{failure::Failure, output::Output};

#[derive(Args, Debug)]
pub(crate) struct Completion {
    /// Shell to print the script for
    shell: Shell,
}

impl Completion {
    pub(super) fn run(&self, output: Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "a2a", &mut script);
        output.write(&script)
    }
}

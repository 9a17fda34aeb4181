//! `a2a completion`: a script that completes commands and flags.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Cli;
use crate::{failure::Failure, output::Output, settings::serve::with_flags};

#[derive(Args, Debug)]
pub(crate) struct Completion {
    /// Shell to print the script for
    shell: Shell,
}

impl Completion {
    pub(super) fn run(&self, output: Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut with_flags(Cli::command()), "a2a", &mut script);
        output.write(&script)
    }
}

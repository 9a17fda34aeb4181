//! The flags of `a2a serve` for an agent made of a command.

use std::time::Duration;

use a2a_operations::rate::Rate;
use clap::{Args, ValueEnum};

use crate::{exec::StderrPolicy, settings::value};

const EXEC: &str = "Commands of --exec";

/// How a command is run.
#[derive(Args, Debug)]
#[command(next_help_heading = EXEC)]
pub(crate) struct Exec {
    /// Commands that run at a time
    #[arg(long, default_value_t = 16, value_name = "N")]
    pub(crate) concurrency: u16,
    /// Time that a command may take
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) exec_timeout: Option<Duration>,
    /// Stream what a command writes, cut at this delimiter; \n and \t are understood
    #[arg(long, value_name = "DELIMITER", conflicts_with = "io")]
    pub(crate) chunk: Option<String>,
    /// Speak JSON lines with a command
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) io: Option<Io>,
    /// Environment variable that commands inherit, besides PATH, HOME, the locale and the like;
    /// repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) exec_env: Vec<String>,
    /// Send the last 4 KiB of stderr to the caller if a command fails
    #[arg(long)]
    pub(crate) exec_expose_stderr: bool,
    /// Most bytes of stderr that are logged for one command
    #[arg(long, default_value = "64KiB", value_name = "BYTES", value_parser = value::bytes,
          hide_short_help = true)]
    pub(crate) exec_log_bytes: usize,
    /// Most lines of stderr that are logged, all commands together
    #[arg(long, default_value = "100/s", value_name = "RATE", hide_short_help = true)]
    pub(crate) exec_log_rate: Rate,
}

/// What is spoken with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// The message in, events out, each on one line.
    Jsonl,
}

impl Exec {
    /// What is done with the stderr of commands.
    pub(crate) fn stderr(&self) -> StderrPolicy {
        StderrPolicy::new(self.exec_log_bytes, self.exec_log_rate, self.exec_expose_stderr)
    }
}

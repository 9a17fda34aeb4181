//! Measures speed and memory, each figure against a limit or a floor of the same run.
//!
//! What is measured, and how, is in `tests/bench`.

mod micro;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use clap::ValueEnum;

use crate::{Result, workspace};

/// What `cargo xtask bench` takes.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    report: Report,
}

/// What there is beside the report.
#[derive(Debug, clap::Subcommand)]
enum What {
    /// Instructions of small pieces, against the checked-in baseline
    Micro(micro::Args),
    /// What SQLite and PostgreSQL write, and how quick they are
    Stores(Stores),
}

/// The report: `a2a serve` against bare handlers of axum and tonic, on Linux.
#[derive(Debug, clap::Args)]
struct Report {
    /// Rounds, of which the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure only this part; repeatable. docs/benchmarks.md is not rewritten then
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
    /// Measure the servers of other SDKs too, which are downloaded and built
    #[arg(long)]
    peers: bool,
    /// Another build of a2a, to measure beside this one
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,
    /// Measure this build of a2a in place of building it
    #[arg(long, value_name = "BINARY")]
    binary: Option<PathBuf>,
}

/// Parts of the report.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Part {
    /// SendMessage and streams on every binding
    Throughput,
    /// Many stored tasks: GetTask, ListTasks, memory, latency while there are more
    Tasks,
    /// Idle streams, many subscribers of one task, bursts
    Streams,
    /// Latency at 5,000 requests/s
    Latency,
    /// Time and memory at start
    Start,
    /// SQLite and PostgreSQL
    Durable,
    /// What authentication, the log, metrics and older revisions cost
    Cost,
}

#[derive(Debug, clap::Args)]
struct Stores {
    /// List among 1,000,000 tasks in place of 50,000; takes minutes, and some GB of disk
    #[arg(long)]
    full: bool,
    /// Measure only this; repeatable
    #[arg(long, value_enum, value_name = "FIGURE")]
    only: Vec<Figure>,
}

/// Figures of the stores.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Figure {
    /// Bytes that a stream of small chunks makes the databases write.
    Written,
    /// Time of a page among many tasks, against one among few.
    Pages,
    /// Transitions in a second, against a bare loop.
    Rates,
    /// Whole tasks in a second.
    Tasks,
}

pub(crate) fn run(args: &Args) -> Result {
    let status = match &args.what {
        Some(What::Micro(args)) => return micro::run(args),
        Some(What::Stores(stores)) => {
            let mut command = Command::new(build(&["a2a-bench"])?.join("bench"));
            command.arg("stores");
            if stores.full {
                command.arg("--full");
            }
            for figure in stores.only.iter().filter_map(Figure::to_possible_value) {
                command.args(["--only", figure.get_name()]);
            }
            command.current_dir(workspace::root()).status()?
        }
        None => report(&args.report)?.current_dir(workspace::root()).status()?,
    };
    if status.success() { Ok(()) } else { Err("a limit was not kept, see above".into()) }
}

/// The command that measures the report.
fn report(report: &Report) -> Result<Command> {
    let target = workspace::root().join("target/bench");
    let binary = match &report.binary {
        Some(binary) => existing("--binary", binary)?,
        None => build(&["a2a-cli"])?.join("a2a"),
    };
    let mut command = Command::new(build(&["a2a-bench"])?.join("bench"));
    command.arg("--binary").arg(binary);
    command.arg("--target").arg(target);
    command.arg("--docs").arg(workspace::root().join("docs"));
    command.args(["--rounds", &report.rounds.to_string()]);
    for part in report.only.iter().filter_map(Part::to_possible_value) {
        command.args(["--only", part.get_name()]);
    }
    if report.peers {
        command.arg("--peers");
    }
    if let Some(other) = &report.against {
        command.arg("--against").arg(existing("--against", other)?);
    }
    Ok(command)
}

fn existing(flag: &str, binary: &Path) -> Result<PathBuf> {
    Ok(binary.canonicalize().map_err(|error| format!("{flag} {}: {error}", binary.display()))?)
}

/// Builds packages with optimizations, each alone, so that none has the features of another, and
/// returns the folder that they are in.
fn build(packages: &[&str]) -> Result<PathBuf> {
    for package in packages {
        let status = workspace::cargo().args(["build", "--release", "-p", package]).status()?;
        if !status.success() {
            return Err(format!("{package} does not build").into());
        }
    }
    Ok(workspace::root().join("target/release"))
}

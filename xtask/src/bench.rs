//! Measures speed and memory, each relative to a limit or to a floor of the same run.
//!
//! The measurements are in `tests/bench`.

mod micro;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use clap::ValueEnum;

use crate::{Result, workspace};

/// The arguments of `cargo xtask bench`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    report: Report,
}

/// The benchmarks other than the report.
#[derive(Debug, clap::Subcommand)]
enum What {
    /// Instruction counts of small operations, relative to the checked-in baseline
    Micro(micro::Args),
    /// Instructions of a request to `a2a serve`, relative to bare axum and tonic handlers
    Instructions(Instructions),
    /// Write volume and speed of SQLite and PostgreSQL
    Stores(Stores),
}

/// The report: `a2a serve` relative to bare axum and tonic handlers, on Linux.
#[derive(Debug, clap::Args)]
struct Report {
    /// Number of rounds; the median is reported
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure only this part, without rewriting docs/benchmarks.md; repeatable
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
    /// Also download, build and measure the servers of other SDKs
    #[arg(long)]
    peers: bool,
    /// Another build of a2a to compare with
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,
    /// Measure this build of a2a instead of building it
    #[arg(long, value_name = "BINARY")]
    binary: Option<PathBuf>,
}

/// Parts of the report.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Part {
    /// SendMessage and streams on every binding
    Throughput,
    /// Many stored tasks: GetTask, ListTasks, memory, latency under creation of tasks
    Tasks,
    /// Idle streams, many subscribers of one task, bursts
    Streams,
    /// Latency at 5,000 requests/s
    Latency,
    /// Startup time and memory
    Start,
    /// SQLite and PostgreSQL
    Durable,
    /// Cost of authentication, the log, metrics and older revisions
    Cost,
}

#[derive(Debug, clap::Args)]
struct Instructions {
    /// Count those of this build of a2a instead of building it
    #[arg(long, value_name = "BINARY")]
    binary: Option<PathBuf>,
    /// Count only what has this text in its name, such as gRPC
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Write callgrind's profiles of a2a to this directory
    #[arg(long, value_name = "DIR")]
    profiles: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Stores {
    /// List among 1,000,000 tasks instead of 50,000; takes minutes and several GB of disk
    #[arg(long)]
    full: bool,
    /// Measure only this; repeatable
    #[arg(long, value_enum, value_name = "FIGURE")]
    only: Vec<Figure>,
}

/// Figures of the stores.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Figure {
    /// Bytes written by the databases for a stream of small chunks.
    Written,
    /// Time of a page among many tasks, relative to few.
    Pages,
    /// Transitions per second, relative to a bare loop.
    Rates,
    /// Complete tasks per second.
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
        Some(What::Instructions(args)) => {
            micro::require_valgrind()?;
            let mut command = Command::new(build(&["a2a-bench"])?.join("bench"));
            command.arg("instructions").arg(test_agent(args.binary.as_deref())?);
            if let Some(only) = &args.only {
                command.arg("--only").arg(only);
            }
            if let Some(profiles) = &args.profiles {
                command.arg("--profiles").arg(existing("--profiles", profiles)?);
            }
            command.current_dir(workspace::root()).status()?
        }
        None => report(&args.report)?.current_dir(workspace::root()).status()?,
    };
    if status.success() { Ok(()) } else { Err("a limit was exceeded, see above".into()) }
}

/// The command of the report.
fn report(report: &Report) -> Result<Command> {
    let target = workspace::root().join("target/bench");
    let binary = test_agent(report.binary.as_deref())?;
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

/// The build of a2a to measure.
fn test_agent(binary: Option<&Path>) -> Result<PathBuf> {
    match binary {
        Some(binary) => existing("--binary", binary),
        None => Ok(build(&["a2a-test-agent"])?.join("a2a-test-agent")),
    }
}

fn existing(flag: &str, binary: &Path) -> Result<PathBuf> {
    Ok(binary.canonicalize().map_err(|error| format!("{flag} {}: {error}", binary.display()))?)
}

/// Builds packages as they are packaged, separately to avoid feature unification, and returns
/// their directory.
fn build(packages: &[&str]) -> Result<PathBuf> {
    for package in packages {
        let status =
            workspace::cargo().args(["build", "--profile", "dist", "-p", package]).status()?;
        if !status.success() {
            return Err(format!("failed to build {package}").into());
        }
    }
    Ok(workspace::root().join("target/dist"))
}

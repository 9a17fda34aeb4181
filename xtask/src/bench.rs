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
    /// Measure only this, without rewriting docs/benchmarks.md: a part (throughput, started, tasks,
    /// streams, latency, start, durable, cost or instructions), or rows by their id or its first
    /// words, such as send.grpc.64 or release; repeatable
    #[arg(long, value_name = "PART|ROW")]
    only: Vec<String>,
    /// Rewrite docs/benchmarks.md with the rows of --only and of the runs before
    #[arg(long)]
    page: bool,
    /// Also download, build and measure the servers of other SDKs
    #[arg(long)]
    peers: bool,
    /// Another build of a2a to compare with
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,
    /// Measure this build of a2a instead of building it
    #[arg(long, value_name = "BINARY")]
    binary: Option<PathBuf>,
    /// Measure this build with the profile release instead of building it
    #[arg(long, value_name = "BINARY")]
    release: Option<PathBuf>,
}

impl Report {
    /// Whether to build with the profile release: unless builds are given, or no row shows it.
    fn builds_release(&self) -> bool {
        let shows = |only: &String| only == "throughput" || only.starts_with("release");
        self.binary.is_none() && (self.only.is_empty() || self.only.iter().any(shows))
    }
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
            let mut command = Command::new(build("a2a-bench")?.join("bench"));
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
            let mut command = Command::new(build("a2a-bench")?.join("bench"));
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
    let binary = test_agent(report.binary.as_deref())?;
    let mut command = Command::new(build("a2a-bench")?.join("bench"));
    command.arg("--binary").arg(binary);
    match &report.release {
        Some(release) => {
            command.arg("--release").arg(existing("--release", release)?);
        }
        None if report.builds_release() => {
            command
                .arg("--release")
                .arg(build_with("release", "a2a-test-agent")?.join("a2a-test-agent"));
        }
        None => {}
    }
    command.arg("--root").arg(workspace::root());
    command.args(["--rounds", &report.rounds.to_string()]);
    command.args(report.only.iter().flat_map(|only| ["--only", only]));
    for (flag, is_given) in [("--peers", report.peers), ("--page", report.page)] {
        command.args(is_given.then_some(flag));
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
        None => Ok(build("a2a-test-agent")?.join("a2a-test-agent")),
    }
}

fn existing(flag: &str, binary: &Path) -> Result<PathBuf> {
    Ok(binary.canonicalize().map_err(|error| format!("{flag} {}: {error}", binary.display()))?)
}

/// Builds a package as it is packaged, and returns the directory of its programs.
fn build(package: &str) -> Result<PathBuf> {
    build_with("dist", package)
}

/// Builds a package alone, to avoid feature unification, and returns the directory of its programs.
fn build_with(profile: &str, package: &str) -> Result<PathBuf> {
    let arguments = ["build", "--profile", profile, "-p", package];
    let status = workspace::cargo().args(arguments).status()?;
    match status.success() {
        true => Ok(workspace::root().join("target").join(profile)),
        false => Err(format!("failed to build {package}").into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn release_profile_is_built_only_for_rows_that_show_it() {
        for (line, is_built) in [
            ("bench", true),
            ("bench --only cost --only throughput", true),
            ("bench --only release.grpc", true),
            ("bench --only send.grpc.64", false),
            ("bench --binary a2a", false),
        ] {
            let line = Line::parse_from(line.split(' '));
            assert_eq!(line.args.report.builds_release(), is_built);
        }
    }
}

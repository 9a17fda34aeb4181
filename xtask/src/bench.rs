//! Measures what is promised in figures, each against a limit or a floor of the same run.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::{Result, workspace};

/// What `cargo xtask bench` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

/// What there is to measure.
#[derive(Debug, clap::Subcommand)]
enum What {
    /// SQLite and PostgreSQL, which has to be installed
    Stores(Stores),
    /// `a2a serve` against bare handlers of axum and tonic, on Linux
    Wire(Wire),
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

#[derive(Debug, clap::Args)]
struct Wire {
    /// Rounds, of which the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure only cases with this in their name, such as grpc or streams; repeatable
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Another build of a2a, to measure beside this one
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result {
    let mut command = workspace::cargo();
    command.arg("bench");
    match &args.what {
        What::Stores(stores) => {
            command.args(["-p", "a2a-store", "--features", "postgres,sqlite"]);
            command.args(["--bench", "stores", "--"]);
            if stores.full {
                command.arg("--full");
            }
            for figure in stores.only.iter().filter_map(Figure::to_possible_value) {
                command.args(["--only", figure.get_name()]);
            }
        }
        What::Wire(wire) => {
            command.args(["-p", "a2a-cli", "--bench", "wire", "--"]);
            command.args(["--rounds", &wire.rounds.to_string()]);
            for text in &wire.only {
                command.args(["--only", text]);
            }
            if let Some(other) = &wire.against {
                // The bench runs in the folder of its crate.
                let other = other.canonicalize();
                let other = other.map_err(|error| format!("--against can't be used: {error}"))?;
                command.arg("--against").arg(other);
            }
        }
    }
    if command.status()?.success() { Ok(()) } else { Err("a limit was not kept, see above".into()) }
}

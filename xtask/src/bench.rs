//! Measures what is promised in figures, each against a limit or a floor of the same run.

use clap::ValueEnum;

use crate::{Result, workspace};

/// What `cargo xtask bench` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to measure
    #[arg(value_enum)]
    what: What,
    /// List among 1,000,000 tasks in place of 50,000; takes minutes, and some GB of disk
    #[arg(long)]
    full: bool,
    /// Measure only this; repeatable
    #[arg(long, value_enum, value_name = "FIGURE")]
    only: Vec<Figure>,
}

/// What there is to measure.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// SQLite and PostgreSQL, which has to be installed.
    Stores,
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
    let mut command = workspace::cargo();
    match args.what {
        What::Stores => {
            command.args(["bench", "-p", "a2a-store", "--features", "postgres,sqlite"]);
            command.args(["--bench", "stores", "--"]);
        }
    }
    if args.full {
        command.arg("--full");
    }
    for figure in args.only.iter().filter_map(Figure::to_possible_value) {
        command.args(["--only", figure.get_name()]);
    }
    if command.status()?.success() { Ok(()) } else { Err("a limit was not kept, see above".into()) }
}

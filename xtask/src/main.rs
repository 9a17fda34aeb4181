//! The project's own tasks: `cargo xtask <verb>`, one file per verb.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks there")]

mod attack;
mod bench;
mod chaos;
mod ci;
mod coverage;
mod fuzz;
mod interop;
mod schema;
mod soak;
mod test;
mod tidy;
mod workspace;

use std::{error::Error, process::ExitCode};

use clap::{Parser, Subcommand};

/// What a task gives, or why it did not work.
type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// The project's own tasks.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run what continuous integration runs: format, tidy, schemas, coverage, lints, docs, tests
    Ci,
    /// Run every test of the workspace; the last line is `N passed, N failed`
    Test(test::Args),
    /// Write the JSON Schema and the OpenAPI document that are made from the proto
    Schema(schema::Args),
    /// Write which requirement has which test to docs/spec-coverage.md
    Coverage(coverage::Args),
    /// Check what no compiler checks: arrows between crates, links, stray paths
    Tidy,
    /// Keep tasks in flight at an agent of many nodes, kill nodes, and print what was lost
    Chaos(chaos::Args),
    /// Keep a server busy for a long time, and print whether anything of it grows
    Soak(soak::Args),
    /// Attack a server, and print what it did
    Attack(attack::Args),
    /// Measure the stores against limits and floors, and print the figures
    Bench(bench::Args),
    /// Feed what reads from peers with what a fuzzer makes up, and print what broke
    Fuzz(fuzz::Args),
    /// Call the official SDKs and be called by them, and print the matrix
    Interop(interop::Args),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().verb {
        Verb::Ci => ci::run(),
        Verb::Test(args) => return test::run(&args),
        Verb::Schema(args) => schema::run(&args),
        Verb::Coverage(args) => coverage::run(&args),
        Verb::Tidy => tidy::run(),
        Verb::Chaos(args) => chaos::run(&args),
        Verb::Soak(args) => soak::run(&args),
        Verb::Attack(args) => attack::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Fuzz(args) => fuzz::run(&args),
        Verb::Interop(args) => interop::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

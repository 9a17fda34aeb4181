//! The project's own tasks: `cargo xtask <verb>`, one file per verb.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod advisories;
mod api;
mod attack;
mod bench;
mod book;
mod chaos;
mod ci;
mod compliance;
mod coverage;
mod dist;
mod fuzz;
mod interop;
mod models;
mod msrv;
mod mutants;
mod package;
mod process;
mod proto;
mod schema;
mod soak;
mod test;
mod tidy;
mod weight;
mod workspace;

use std::{error::Error, process::ExitCode};

use clap::{Parser, Subcommand};

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
    /// Run the checks of continuous integration, the cheap ones first
    Ci,
    /// Run all tests of the workspace; the last line is `N passed, N failed`
    Test(test::Args),
    /// Generate the JSON Schema and the OpenAPI document from the proto
    Schema(schema::Args),
    /// Compare a proto with the one in the repository, and list what to write by hand
    Proto(proto::Args),
    /// Generate docs/development/spec-coverage.md: requirements of the specification and their tests
    Coverage(coverage::Args),
    /// Test the requirements of the CLI specification, and write a report
    Compliance(compliance::Args),
    /// Generate docs/api: the public API of the library crates
    Api(api::Args),
    /// Write manual pages and completion scripts, for packages, to target/dist
    Dist,
    /// Check the structure of the workspace: layers, import cycles, code map, links, stray paths
    Tidy,
    /// Pack the published crates, and build and test the packages outside of the workspace
    Package(package::Args),
    /// Check `rust-version` of the published crates against their dependencies and old toolchains
    Msrv,
    /// Let nodes, links and servers of clusters fail under load, and print figures that should be zero
    Chaos(chaos::Args),
    /// Load a server for a long time, and report growth of memory, descriptors, threads or tasks
    Soak(soak::Args),
    /// Run `a2a conformance` on agents with one fault each, and report faults that it misses
    Mutants(mutants::Args),
    /// Check Cargo.lock against a copy of the RustSec advisory database, as a maintainer before a release
    Advisories(advisories::Args),
    /// Attack a server with hostile requests, and report failures
    Attack(attack::Args),
    /// Measure server, stores or instructions, and compare them with floors and limits
    Bench(bench::Args),
    /// Build the book from docs, or check everything in it
    Book(book::Args),
    /// Fuzz the parsers of peer input, and report crashes
    Fuzz(fuzz::Args),
    /// Test interoperability with the official SDKs, and print the matrix
    Interop(interop::Args),
    /// Run `a2a serve --model` against a mock of the model providers, and print the matrix
    Models(models::Args),
    /// Count the crates of dependency trees, and measure a clean build and the start of the server
    Weight(weight::Args),
}

fn main() -> ExitCode {
    if let Some(code) = api::as_rustdoc() {
        return code;
    }
    let done = match Arguments::parse().verb {
        Verb::Ci => ci::run(),
        Verb::Test(args) => return test::run(&args),
        Verb::Schema(args) => schema::run(&args),
        Verb::Proto(args) => return proto::run(&args),
        Verb::Coverage(args) => coverage::run(&args),
        Verb::Compliance(args) => compliance::run(&args),
        Verb::Api(args) => api::run(&args),
        Verb::Dist => dist::run(),
        Verb::Tidy => tidy::run(),
        Verb::Package(args) => package::run(&args),
        Verb::Msrv => msrv::run(),
        Verb::Chaos(args) => chaos::run(&args),
        Verb::Soak(args) => soak::run(&args),
        Verb::Mutants(args) => mutants::run(&args),
        Verb::Advisories(args) => advisories::run(&args),
        Verb::Attack(args) => attack::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Book(args) => book::run(&args),
        Verb::Fuzz(args) => fuzz::run(&args),
        Verb::Weight(args) => weight::run(&args),
        Verb::Interop(args) => interop::run(args),
        Verb::Models(args) => models::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

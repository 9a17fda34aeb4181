//! Measures `a2a serve` relative to a floor (axum and tonic handlers with the same responses and no
//! engine), to the least that an honest engine does, and to the servers of other SDKs, in the same
//! run.
//!
//! ```sh
//! cargo xtask bench                       # every row, three rounds
//! cargo xtask bench --peers               # with the servers of other SDKs
//! cargo xtask bench --only throughput     # one part, or some rows; repeatable
//! cargo xtask bench --against <binary>    # compare with another build of a2a
//! cargo xtask bench instructions          # instructions of a request
//! ```
//!
//! The server has one core, and the load generator another one. Each round starts every server anew
//! and runs each case on all of them in sequence; ratios are computed per round, and the median is
//! reported. Every response is checked. The exit code is 1 if a limit is exceeded.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures, and panics on errors"
)]

mod chart;
mod console;
mod cores;
mod cost;
mod floor;
mod grpc;
mod http1;
mod instructions;
mod latency;
mod load;
mod page;
mod peers;
mod readme;
mod report;
mod request;
mod rows;
mod selection;
mod server;
mod started;
mod state;
mod stores;
mod streams;
mod tasks;
mod throughput;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;

use floor::{durable, minimum};
use peers::PEERS;
use report::Results;
use rows::Part;
use selection::Selection;
use server::{A2A, Program, RELEASE};
use started::Started;
use state::State;

/// A result with an error message.
type Result<T, E = String> = std::result::Result<T, E>;

/// The command line.
#[derive(Debug, Parser)]
struct Arguments {
    /// The build of a2a to measure
    #[arg(long)]
    binary: PathBuf,
    /// The same with the build profile `release`
    #[arg(long)]
    release: Option<PathBuf>,
    /// Another build of a2a to compare with
    #[arg(long)]
    against: Option<PathBuf>,
    /// Number of rounds; the median is reported
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure only this part, or the rows with this id or its first words
    #[arg(long)]
    only: Vec<String>,
    /// Also measure the servers of other SDKs
    #[arg(long)]
    peers: bool,
    /// Write the page even if only some rows were measured
    #[arg(long)]
    page: bool,
    /// Directory of the workspace, for builds, results and the documentation
    #[arg(long)]
    root: PathBuf,
}

/// Measures one server, without others running.
type Measure = fn(&mut Program, usize, &mut Results) -> Result<()>;

/// The parts that measure one server after the other.
const ALONE: [(Part, Measure); 4] = [
    (Part::Tasks, tasks::measure),
    (Part::Streams, streams::measure),
    (Part::Latency, latency::measure),
    (Part::Start, latency::start),
];

/// Runs what the command line asks for.
pub fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some(floor::COMMAND) => {
            floor::serve();
            return ExitCode::SUCCESS;
        }
        Some(durable::COMMAND) => {
            durable::serve(Path::new(&words.next().expect("the path of a database")));
            return ExitCode::SUCCESS;
        }
        Some(stores::COMMAND) => return stores::main(words),
        Some(instructions::COMMAND) => return exit_code(instructions::main(words)),
        _ => {}
    }
    exit_code(run(Arguments::parse()))
}

/// Serves the honest minimum until the process is killed.
pub fn serve_minimum() -> ExitCode {
    minimum::serve();
    ExitCode::SUCCESS
}

/// The exit code for whether all limits are met.
fn exit_code(is_met: Result<bool>) -> ExitCode {
    match is_met {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the measurements, and returns whether all limits are met.
fn run(arguments: Arguments) -> Result<bool> {
    let selection = Selection::parse(arguments.only)?;
    let target = arguments.root.join("target/bench");
    let bench = ["--profile".into(), "bench".into()];
    let a2a = |name: &str, binary: &Path| Program::a2a(name, binary, &bench);
    let mut programs = vec![Program::floor(), a2a(A2A, &arguments.binary)];
    if let Some(other) = &arguments.against {
        programs.push(a2a(&other.display().to_string(), other).rival());
    }
    if arguments.peers {
        for peer in &PEERS {
            println!("building {}", peer.name);
            let command = peer.prepare(&target.join("peers"))?;
            programs.push(Program::new(peer.name, command).rival());
        }
    }
    let mut beside = vec![Program::minimum()];
    beside.extend(arguments.release.iter().map(|binary| a2a(RELEASE, binary)));
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (binary, folder) = (arguments.binary.as_path(), folder.path());
    let mut results = Results::only(selection.cases());
    if selection.has_part(Part::Instructions) {
        instructions::measure(programs.iter_mut().chain(&mut beside), &mut results)?;
    }
    for round in 1..=arguments.rounds as usize {
        println!("\nround {round} of {}", arguments.rounds);
        if selection.has_part(Part::Throughput) {
            let servers: Vec<_> =
                programs.iter_mut().chain(&mut beside).map(Program::start).collect();
            let started = Started::start(binary, folder, round);
            throughput::measure(&servers, &started, round, &mut results)?;
        }
        if selection.has_part(Part::Started) {
            started::measure(binary, folder, round, &mut results)?;
        }
        for (part, measure) in ALONE.into_iter().filter(|(part, _)| selection.has_part(*part)) {
            for program in &mut programs {
                match measure(program, round, &mut results) {
                    Err(error) if program.is_rival => println!("FAILED: {part:?}: {error}"),
                    measured => measured?,
                }
            }
        }
        if selection.has_part(Part::Durable) {
            stores::durable(round, &mut results)?;
        }
        if selection.has_part(Part::Cost) {
            cost::measure(binary, folder, round, &mut results)?;
        }
    }
    let rows: Vec<_> = selection.rows().collect();
    let state = State::new(results, &rows, &programs[2..]);
    let run = state.results.clone();
    let path = target.join("results.json");
    let state = match State::read(&path).filter(|_| !selection.is_whole()) {
        Some(before) => before.with(state),
        None => state,
    };
    state.write(&path)?;
    console::print(&run, &rows, &state);
    if selection.is_whole() || arguments.page {
        let kept = arguments.root.join("tests/bench/results");
        state.write(&kept.join(state::file_name(&state.machine)))?;
        page::write(&arguments.root, &state::all(&kept)?)?;
    }
    Ok(rows.iter().all(|row| state.is_met(row)))
}

//! Measures `a2a serve` relative to a floor (axum and tonic handlers with the same responses and no
//! engine) and to the servers of other SDKs, in the same run.
//!
//! ```sh
//! cargo xtask bench                       # every row, three rounds
//! cargo xtask bench --peers               # with the servers of other SDKs
//! cargo xtask bench --only throughput     # one part; repeatable
//! cargo xtask bench --against <binary>    # compare with another build of a2a
//! cargo xtask bench instructions          # instructions of a request
//! ```
//!
//! The server has one core, and the load generator another one. Each round starts every server anew
//! and runs each case on all of them in sequence; ratios to the floor are computed per round, and
//! the median is reported. Every response is checked. The exit code is 1 if a limit is exceeded.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures, and panics on errors"
)]

mod chart;
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
mod report;
mod request;
mod server;
mod stores;
mod streams;
mod tasks;
mod throughput;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, ValueEnum};

use peers::PEERS;
use report::Results;
use server::{A2A, Program};

/// A result with an error message.
type Result<T, E = String> = std::result::Result<T, E>;

/// The command line.
#[derive(Debug, Parser)]
struct Arguments {
    /// The build of a2a to measure
    #[arg(long)]
    binary: PathBuf,
    /// Another build of a2a to compare with
    #[arg(long)]
    against: Option<PathBuf>,
    /// Number of rounds; the median is reported
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure only this part
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Also measure the servers of other SDKs
    #[arg(long)]
    peers: bool,
    /// Directory for builds and output
    #[arg(long)]
    target: PathBuf,
    /// Directory of the documentation, for the page and the chart
    #[arg(long)]
    docs: Option<PathBuf>,
}

/// The parts of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
    /// Cost of authentication, logs, metrics and older revisions
    Cost,
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

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some(floor::COMMAND) => {
            floor::serve();
            return ExitCode::SUCCESS;
        }
        Some(stores::COMMAND) => return stores::main(words),
        Some(instructions::COMMAND) => return exit_code(instructions::measure(words)),
        _ => {}
    }
    exit_code(run(&Arguments::parse()))
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
fn run(arguments: &Arguments) -> Result<bool> {
    let wants = |part: Part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut programs = programs(arguments)?;
    let rivals: Vec<_> = programs[2..].iter().map(|program| program.name.clone()).collect();
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut results = Results::default();
    for round in 1..=arguments.rounds as usize {
        println!("\nround {round} of {}", arguments.rounds);
        if wants(Part::Throughput) {
            let servers: Vec<_> = programs.iter_mut().map(Program::start).collect();
            throughput::measure(&servers, round, &mut results)?;
        }
        for (part, measure) in ALONE.into_iter().filter(|(part, _)| wants(*part)) {
            for program in &mut programs {
                match measure(program, round, &mut results) {
                    Err(error) if program.is_rival => println!("FAILED: {part:?}: {error}"),
                    measured => measured?,
                }
            }
        }
        if wants(Part::Durable) {
            stores::durable(round, &mut results)?;
        }
        if wants(Part::Cost) {
            cost::measure(&arguments.binary, folder.path(), round, &mut results)?;
        }
    }
    let is_whole = arguments.only.is_empty();
    let is_met = results.print(&rivals, is_whole);
    let page = page::Page::new(&results, &programs);
    page.write_json(&arguments.target)?;
    if let Some(docs) = arguments.docs.as_deref().filter(|_| is_whole) {
        page.write_docs(docs)?;
    }
    Ok(is_met)
}

/// The floor, ours, and the rivals.
fn programs(arguments: &Arguments) -> Result<Vec<Program>> {
    let a2a = |name: &str, binary: &Path| {
        Program::a2a(name, binary, &["--profile".into(), "bench".into()])
    };
    let mut programs = vec![Program::floor(), a2a(A2A, &arguments.binary)];
    if let Some(other) = &arguments.against {
        programs.push(a2a(&other.display().to_string(), other).rival());
    }
    if arguments.peers {
        for peer in &PEERS {
            println!("building {}", peer.name);
            let command = peer.prepare(&arguments.target.join("peers"))?;
            programs.push(Program::new(peer.name, command).rival());
        }
    }
    Ok(programs)
}

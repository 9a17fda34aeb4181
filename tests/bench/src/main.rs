//! Measures `a2a serve` against a floor, handlers of axum and tonic that answer the same without
//! an engine, and against the servers of other SDKs, all in the same run.
//!
//! ```sh
//! cargo xtask bench                       # every row, three rounds
//! cargo xtask bench --peers               # beside the servers of other SDKs
//! cargo xtask bench --only throughput     # one part; repeatable
//! cargo xtask bench --against <binary>    # beside another build of a2a
//! ```
//!
//! A server has one core, and the load another one. In each round every server is started anew,
//! and every case goes over all of them back to back; a ratio to the floor is taken inside the
//! round, and the median of the rounds counts. Every response is checked. The exit code is 1 if a
//! limit is not kept.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures, and stops where something does not work"
)]

mod chart;
mod cores;
mod cost;
mod floor;
mod grpc;
mod http1;
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

/// What failed, for a person.
type Result<T, E = String> = std::result::Result<T, E>;

/// What the command line asks for.
#[derive(Debug, Parser)]
struct Arguments {
    /// The build of a2a to measure
    #[arg(long)]
    binary: PathBuf,
    /// Another build of a2a, to measure beside it
    #[arg(long)]
    against: Option<PathBuf>,
    /// Rounds, of which the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure only this part
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Measure the servers of other SDKs too
    #[arg(long)]
    peers: bool,
    /// Folder for what is built and written
    #[arg(long)]
    target: PathBuf,
    /// Folder of the documentation, in which the page and the chart are rewritten
    #[arg(long)]
    docs: Option<PathBuf>,
}

/// The parts of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
    /// What authentication, logs, metrics and older revisions cost
    Cost,
}

/// Measures one server, which has the machine to itself.
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
        _ => {}
    }
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures, and says whether every limit is kept.
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

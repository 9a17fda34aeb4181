//! Keeps tasks in flight on a cluster, kills and stops its nodes, stalls its links, fails its
//! database over, and prints figures that should all be zero. Run by `cargo xtask chaos`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test tool prints, and exits on errors"
)]

mod cluster;
mod drill;
mod run;
mod steps;
mod topology;

use std::{path::PathBuf, process::ExitCode};

use serde::Deserialize;

use drill::Drill;
use topology::Topology;

/// The configuration from `cargo xtask chaos`, as JSON.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Plan {
    pub(crate) topologies: Vec<Topology>,
    /// The only drills, if not all.
    pub(crate) drills: Vec<Drill>,
    /// Tasks in flight at any time, apart from those with a journal.
    pub(crate) tasks: usize,
    /// The time of all topologies.
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    /// The program `a2a`.
    pub(crate) binary: PathBuf,
    /// This program, which is also an agent.
    pub(crate) steps: PathBuf,
    /// The directory of logs, files and journals.
    pub(crate) folder: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let plan = words.next().unwrap_or_default();
    if plan == "serve" {
        return match steps::serve(words).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let mut plan: Plan = match serde_json::from_str(&plan) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("error: run `cargo xtask chaos`: {error}");
            return ExitCode::FAILURE;
        }
    };
    let drills = plan.drills.clone();
    plan.topologies.retain(|topology| !topology.drills(&drills).is_empty());
    if plan.topologies.is_empty() {
        eprintln!("error: none of the topologies has one of these drills");
        return ExitCode::FAILURE;
    }
    println!("seed {}; logs and journals in {}", plan.seed, plan.folder.display());
    let mut is_clean = true;
    for topology in &plan.topologies {
        match run::run(*topology, &plan).await {
            Ok(tally) => {
                println!("{}:\n{tally}\n", topology.name());
                is_clean &= tally.is_clean();
            }
            Err(error) => {
                eprintln!("error: {}: {error}", topology.name());
                is_clean = false;
            }
        }
    }
    if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

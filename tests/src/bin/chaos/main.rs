//! Keeps tasks in flight on a cluster, kills and stops its nodes, and prints lost tasks and
//! events. Run by `cargo xtask chaos`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test tool prints, and exits on errors"
)]

mod cluster;

use std::{process::ExitCode, time::Duration};

use a2a_tests::chaos::{Behavior, Load};
use serde::Deserialize;
use tokio::time::{Instant, sleep, timeout};

use cluster::Cluster;

/// The configuration from `cargo xtask chaos`, as JSON.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Plan {
    /// The store: `postgres`, `nats` (with PostgreSQL), or `sqlite`.
    pub(crate) store: String,
    pub(crate) nodes: usize,
    pub(crate) tasks: usize,
    pub(crate) seconds: u64,
    pub(crate) kill_every_seconds: u64,
    /// The program `a2a`.
    pub(crate) binary: std::path::PathBuf,
    /// The directory of the logs.
    pub(crate) folder: std::path::PathBuf,
}

/// Interval of progress lines.
const PROGRESS: Duration = Duration::from_secs(5);
/// Timeout for the last tasks to end.
const LAST: Duration = Duration::from_secs(400);
/// Webhooks reject every 31st delivery.
const BEHAVIOR: Behavior = Behavior::Reject(31);

#[tokio::main]
async fn main() -> ExitCode {
    let plan = std::env::args().nth(1).unwrap_or_default();
    let plan: Plan = match serde_json::from_str(&plan) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("error: run `cargo xtask chaos`: {error}");
            return ExitCode::FAILURE;
        }
    };
    match run(&plan).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(plan: &Plan) -> Result<bool, String> {
    let mut cluster = Cluster::start(plan).await?;
    let seed = u64::from(std::process::id());
    println!("{cluster}; seed {seed}; logs in {}", plan.folder.display());
    let load = Load::new(cluster.urls(), seed, BEHAVIOR).await;
    let working = tokio::spawn({
        let (load, tasks) = (load.clone(), plan.tasks);
        async move { load.run(tasks).await }
    });
    let start = Instant::now();
    let end = start + Duration::from_secs(plan.seconds);
    let mut told = start;
    let mut disrupted = start;
    while Instant::now() < end {
        sleep(Duration::from_millis(200)).await;
        if disrupted.elapsed() >= Duration::from_secs(plan.kill_every_seconds) {
            disrupted = Instant::now();
            println!("{:>4} s  {}", start.elapsed().as_secs(), cluster.disrupt());
        }
        cluster.recover()?;
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            print_progress(&load, start);
        }
    }
    load.stop();
    println!("{:>4} s  no more tasks or outages", start.elapsed().as_secs());
    let last = Instant::now() + LAST;
    let mut working = working;
    loop {
        cluster.recover()?;
        if timeout(PROGRESS, &mut working).await.is_ok() {
            break;
        }
        print_progress(&load, start);
        if Instant::now() > last {
            return Err("timeout waiting for the last tasks".into());
        }
    }
    print_progress(&load, start);
    let tally = load.tally();
    println!("{tally}, {}", cluster.disruptions());
    Ok(tally.is_clean())
}

fn print_progress(load: &Load, start: Instant) {
    let tally = load.tally();
    println!("{:>4} s  {}", start.elapsed().as_secs(), tally.progress());
    for detail in tally.take_details() {
        println!("        ! {detail}");
    }
}

//! Keeps tasks in flight at an agent of many nodes, kills and stops the nodes, and says what was
//! lost: `cargo xtask chaos` builds it and runs it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a tool of the tests talks, and ends where it can't go on"
)]

mod cluster;

use std::{process::ExitCode, time::Duration};

use a2a_tests::chaos::{Load, Manners};
use serde::Deserialize;
use tokio::time::{Instant, sleep, timeout};

use cluster::Cluster;

/// What `cargo xtask chaos` asks for, as one document of JSON.
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
    /// Where logs go.
    pub(crate) folder: std::path::PathBuf,
}

/// How often it is said how far things are.
const PROGRESS: Duration = Duration::from_secs(5);
/// How long the last tasks may take to end.
const LAST: Duration = Duration::from_secs(400);
/// One webhook delivery of so many is refused.
const MANNERS: Manners = Manners::Refuse(31);

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
    let load = Load::new(cluster.urls(), seed, MANNERS).await;
    let working = tokio::spawn({
        let (load, tasks) = (load.clone(), plan.tasks);
        async move { load.run(tasks).await }
    });
    let start = Instant::now();
    let end = start + Duration::from_secs(plan.seconds);
    let mut told = start;
    let mut struck = start;
    while Instant::now() < end {
        sleep(Duration::from_millis(200)).await;
        if struck.elapsed() >= Duration::from_secs(plan.kill_every_seconds) {
            struck = Instant::now();
            println!("{:>4} s  {}", start.elapsed().as_secs(), cluster.strike());
        }
        cluster.mend()?;
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            tell(&load, start);
        }
    }
    load.stop();
    println!("{:>4} s  no more tasks are begun, nodes stay", start.elapsed().as_secs());
    let last = Instant::now() + LAST;
    let mut working = working;
    loop {
        cluster.mend()?;
        if timeout(PROGRESS, &mut working).await.is_ok() {
            break;
        }
        tell(&load, start);
        if Instant::now() > last {
            return Err("the last tasks did not end".into());
        }
    }
    tell(&load, start);
    let tally = load.tally();
    println!("{tally}, {}", cluster.strikes());
    Ok(tally.is_clean())
}

fn tell(load: &Load, start: Instant) {
    let tally = load.tally();
    println!("{:>4} s  {}", start.elapsed().as_secs(), tally.progress());
    for words in tally.take_words() {
        println!("        ! {words}");
    }
}

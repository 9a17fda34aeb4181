//! Runs a mixed load against a server for a long time, and detects growth of its resources. Run by
//! `cargo xtask soak`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test tool prints, and exits on errors"
)]

mod load;
mod sample;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use a2a_tests::chaos::{Behavior, Hooks, Node};
use serde::Deserialize;
use tokio::time::{Instant, MissedTickBehavior, interval};

use load::Load;
use sample::{Sample, Trend};

/// The configuration from `cargo xtask soak`, as JSON.
#[derive(Debug, Deserialize)]
struct Plan {
    /// The stores, in sequence: `memory`, `sqlite`.
    stores: Vec<String>,
    /// Duration per store.
    seconds: u64,
    /// Concurrent callers.
    callers: usize,
    /// The program `a2a`.
    binary: PathBuf,
    /// The directory of logs and databases.
    folder: PathBuf,
}

/// Interval of samples.
const PERIOD: Duration = Duration::from_secs(5);
/// Samples per printed line.
const LOOKS_A_LINE: usize = 6;
/// Retention of ended tasks, without which the store would grow.
const RETENTION: &str = "20s";

#[tokio::main]
async fn main() -> ExitCode {
    let _there_already = rustls::crypto::ring::default_provider().install_default();
    let plan = std::env::args().nth(1).unwrap_or_default();
    let plan: Plan = match serde_json::from_str(&plan) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("error: run `cargo xtask soak`: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut is_flat = true;
    for store in &plan.stores {
        match run(&plan, store).await {
            Ok(flat) => is_flat &= flat,
            Err(error) => {
                eprintln!("error: {store}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if is_flat { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run(plan: &Plan, store: &str) -> Result<bool, String> {
    let place = match store {
        "memory" => store.to_owned(),
        "sqlite" => plan.folder.join("soak.db").display().to_string(),
        other => return Err(format!("unknown store {other}, expected memory or sqlite")),
    };
    let arguments = ["--store", &place, "--retention", RETENTION, "--allow-webhook", "127.0.0.1"];
    let node = Node::start(&plan.binary, &arguments, &plan.folder.join(format!("{store}.log")))?;
    let process = node.id().ok_or("the server is not running")?;
    let hooks = Hooks::start(Behavior::Reject(31)).await;
    let load = Load::new(&node.url(), hooks.url("soak"))?;
    let callers: Vec<_> =
        (0..plan.callers).map(|number| tokio::spawn(load.clone().call(number as u64))).collect();

    println!("{store}: {} callers for {} s", plan.callers, plan.seconds);
    let start = Instant::now();
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut samples = Vec::new();
    while start.elapsed() < Duration::from_secs(plan.seconds) {
        ticks.tick().await;
        hooks.forget("soak");
        let sample = Sample::take(process, &node.url(), start.elapsed()).await?;
        if samples.len() % LOOKS_A_LINE == 0 {
            println!("{:>5} s  {sample}, {}", start.elapsed().as_secs(), load.tally());
        }
        samples.push(sample);
    }
    callers.iter().for_each(tokio::task::JoinHandle::abort);
    let trends = Trend::of(&samples);
    for trend in &trends {
        println!("{store}: {trend}");
    }
    let failed = load.failures();
    for failure in &failed {
        println!("{store}: ! {failure}");
    }
    println!("{store}: {}", load.tally());
    Ok(failed.is_empty() && trends.iter().all(Trend::is_flat))
}

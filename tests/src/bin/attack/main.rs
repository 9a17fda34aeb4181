//! Attacks `a2a serve` and prints its reactions. Run by `cargo xtask attack`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test tool prints")]

use std::{path::PathBuf, process::ExitCode};

use a2a_tests::attack::{Group, Started, run};
use serde::Deserialize;

/// The configuration from `cargo xtask attack`, as JSON.
#[derive(Debug, Deserialize)]
struct Plan {
    /// The program `a2a`.
    binary: PathBuf,
    /// Groups to run; empty for all.
    groups: Vec<String>,
    /// Part of the names of attacks to run.
    only: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let plan = std::env::args().nth(1).unwrap_or_default();
    let plan: Plan = match serde_json::from_str(&plan) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("error: run `cargo xtask attack`: {error}");
            return ExitCode::FAILURE;
        }
    };
    let all = Group::all();
    // A group named twice runs twice: memory that is retained each time is a leak.
    let named = plan.groups.iter().filter_map(|name| all.iter().find(|group| group.name == name));
    let mut groups: Vec<_> = named.cloned().collect();
    if plan.groups.is_empty() {
        groups = all;
    }
    for group in &mut groups {
        let wanted =
            |name: &str| plan.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
        group.attacks.retain(|attack| wanted(attack.name));
    }
    let started = match Started::start(&plan.binary).await {
        Ok(started) => started,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("a2a serve at {}, {}", started.env.address, started.manner);
    let outcome = run(&started.env, &groups, |line| println!("{line}")).await;
    if !outcome.failed.is_empty() {
        println!("\nlast lines of the server log:\n{}\n", started.last_lines());
        outcome.failed.iter().for_each(|failed| println!("failed: {failed}"));
    }
    println!("{} attacks, {} failed", outcome.attacks, outcome.failed.len());
    if outcome.failed.is_empty() && outcome.attacks > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

//! Runs `a2a serve --model` against a mock of the model providers, and prints a matrix. Run by
//! `cargo xtask models`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test tool prints")]

use std::process::ExitCode;

use a2a_tests::models::{Cell, PROVIDERS, Plan, ROWS, name, run};

#[tokio::main]
async fn main() -> ExitCode {
    let plan = std::env::args().nth(1).unwrap_or_default();
    if plan == "--list" {
        for provider in &PROVIDERS {
            ROWS.iter().for_each(|row| println!("{}", name(provider, row)));
        }
        return ExitCode::SUCCESS;
    }
    let plan: Plan = match serde_json::from_str(&plan) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("error: run `cargo xtask models`: {error}");
            return ExitCode::FAILURE;
        }
    };
    let columns = run(&plan).await;
    print!("{:18}", "");
    columns.iter().for_each(|(provider, _)| print!("{:16}", provider.name));
    println!();
    let (mut passed, mut failures) = (0, Vec::new());
    for (index, row) in ROWS.iter().enumerate() {
        print!("{:18}", row.name);
        for (provider, cells) in &columns {
            let word = match &cells[index] {
                Cell::Passed => {
                    passed += 1;
                    "ok"
                }
                Cell::Failed(reason) => {
                    failures.push(format!("{}: {reason}", name(provider, row)));
                    "FAILED"
                }
                Cell::Omitted => "-",
                Cell::NotServed => "not served yet",
            };
            print!("{word:16}");
        }
        println!();
    }
    failures.iter().for_each(|failure| println!("failed: {failure}"));
    println!("{passed} passed, {} failed", failures.len());
    if failures.is_empty() && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

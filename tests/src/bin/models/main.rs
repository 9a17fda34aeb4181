//! Runs `a2a serve --model` against a mock of the model providers, and prints a matrix. Run by
//! `cargo xtask models`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test tool prints")]

use std::process::ExitCode;

use a2a_tests::models::{Cell, POINTS, PROVIDERS, Plan, ROWS, Successor, crash_name, name, run};

#[tokio::main]
async fn main() -> ExitCode {
    let plan = std::env::args().nth(1).unwrap_or_default();
    if plan == "--list" {
        for provider in &PROVIDERS {
            ROWS.iter().for_each(|row| println!("{}", name(provider, row)));
        }
        for successor in Successor::ALL {
            POINTS.iter().for_each(|point| println!("{}", crash_name(successor, point)));
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
    let report = run(&plan).await;
    let mut tally = Tally::default();
    let columns: Vec<_> = report.matrix.iter().map(|(one, cells)| (one.name, cells)).collect();
    tally.print(&ROWS.map(|row| row.name), &columns);
    println!();
    let columns: Vec<_> = report.crashes.iter().map(|(one, cells)| (one.name(), cells)).collect();
    tally.print(&POINTS.map(|point| point.name), &columns);
    println!();
    tally.failures.iter().for_each(|failure| println!("failed: {failure}"));
    println!("completed calls repeated after kill: {}", report.repeated);
    println!("{} passed, {} failed", tally.passed, tally.failures.len());
    let is_passed = tally.failures.is_empty() && tally.passed > 0 && report.repeated == 0;
    if is_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failures: Vec<String>,
}

impl Tally {
    /// Prints a table with the names of its rows and columns, and counts its cells.
    fn print(&mut self, rows: &[&str], columns: &[(&str, &Vec<Cell>)]) {
        print!("{:24}", "");
        columns.iter().for_each(|(name, _)| print!("{name:16}"));
        println!();
        for (index, row) in rows.iter().enumerate() {
            print!("{row:24}");
            for (column, cells) in columns {
                let word = match &cells[index] {
                    Cell::Passed => {
                        self.passed += 1;
                        "ok"
                    }
                    Cell::Failed(reason) => {
                        self.failures.push(format!("{column}/{row}: {reason}"));
                        "FAILED"
                    }
                    Cell::Omitted => "-",
                    Cell::NotServed => "not served yet",
                };
                print!("{word:16}");
            }
            println!();
        }
    }
}

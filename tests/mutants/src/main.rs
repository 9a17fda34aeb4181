//! Serves a mutant, or the faultless agent, until standard input ends.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

use std::{env, process::ExitCode};

use a2a_kit_operations::BoxError;
use a2a_test_mutants::{MUTANTS, find, start};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, stdin};

const USAGE: &str = "usage: mutant NAME\n       mutant none     (the faultless agent)\n       mutant --table  (all mutants, as JSON)";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--table"] => {
            println!("{}", table());
            Ok(())
        }
        ["none"] => serve("none").await,
        [name] if find(name).is_some() => serve(name).await,
        [name] => Err(format!("unknown mutant {name:?}, see mutant --table").into()),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(name: &str) -> Result<(), BoxError> {
    let running = start(find(name)).await?;
    println!("listening on {}", running.url());
    // Standard input ends with the process that started this one, however that ends.
    let mut byte = [0; 64];
    while stdin().read(&mut byte).await? > 0 {}
    Ok(())
}

/// The table of mutants.
fn table() -> serde_json::Value {
    MUTANTS
        .iter()
        .map(|mutant| {
            json!({
                "name": mutant.name,
                "requirement": mutant.requirement,
                "also": mutant.also,
                "interfaces": mutant
                    .fault
                    .interfaces()
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>(),
            })
        })
        .collect()
}

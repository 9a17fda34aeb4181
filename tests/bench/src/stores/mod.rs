//! What the stores write, how long a page of a list takes, and how many transitions and tasks
//! they do in a second: each against a limit, or a floor that is measured in the same run.
//!
//! ```sh
//! cargo xtask bench stores                    # pages among 50,000 tasks
//! cargo xtask bench stores --full             # among 1,000,000
//! cargo xtask bench stores --only written     # or pages, rates, tasks
//! ```
//!
//! The exit code is 1 if a limit is not kept. PostgreSQL is started from what is installed: what a
//! server writes can only be counted where nobody else writes.

mod floor;
mod pages;
mod place;
mod rates;
mod tasks;
mod verdict;
mod written;

use std::process::ExitCode;

use a2a_test_servers::Private;

use crate::{Result, cores, report::Results};

use place::Place;
use verdict::Verdict;

/// The argument with which this program measures the stores alone.
pub(crate) const COMMAND: &str = "stores";

/// What the command line asks for.
struct Ask {
    full: bool,
    only: Vec<String>,
}

impl Ask {
    fn new(mut words: impl Iterator<Item = String>) -> Self {
        let mut ask = Self { full: false, only: Vec::new() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--full" => ask.full = true,
                "--only" => ask.only.extend(words.next()),
                _ => panic!("unknown argument {word}"),
            }
        }
        ask
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(figures(&Ask::new(words)))
}

/// Measures the transitions per second of SQLite and PostgreSQL for the report.
pub(crate) fn durable(round: usize, results: &mut Results) -> Result<()> {
    // Store and database share all cores, as they do for the floor.
    cores::stay_on_any();
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let server = Private::postgres(&[]).await.map_err(|error| error.to_string())?;
        rates::report(&Place::new(server), round, results).await;
        Ok(())
    })
}

async fn figures(ask: &Ask) -> ExitCode {
    let Ok(server) = Private::postgres(&[]).await else { return ExitCode::FAILURE };
    let place = Place::new(server);
    let mut verdict = Verdict::default();
    if ask.wants("written") {
        written::run(&place, &mut verdict).await;
    }
    if ask.wants("pages") {
        pages::run(&place, if ask.full { 1_000_000 } else { 50_000 }, &mut verdict).await;
    }
    if ask.wants("rates") {
        rates::run(&place).await;
    }
    if ask.wants("tasks") {
        tasks::run(&place).await;
    }
    verdict.end()
}

//! Write volume, list latency, and transitions and tasks per second of the stores, relative to a
//! limit or to a floor of the same run.
//!
//! ```sh
//! cargo xtask bench stores                    # pages among 50,000 tasks
//! cargo xtask bench stores --full             # among 1,000,000
//! cargo xtask bench stores --only written     # or pages, rates, tasks
//! ```
//!
//! The exit code is 1 if a limit is exceeded. A private PostgreSQL is started, since its write
//! volume can only be measured without other clients.

mod databases;
mod floor;
mod pages;
mod rates;
mod tasks;
mod verdict;
mod write_volume;

use std::process::ExitCode;

use a2a_test_servers::Private;

use crate::{Result, cores, report::Results};

use databases::Databases;
use verdict::Verdict;

/// The argument that measures only the stores.
pub(crate) const COMMAND: &str = "stores";

/// The command line.
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
        rates::report(&Databases::new(server), round, results).await;
        Ok(())
    })
}

async fn figures(ask: &Ask) -> ExitCode {
    let Ok(server) = Private::postgres(&[]).await else { return ExitCode::FAILURE };
    let databases = Databases::new(server);
    let mut verdict = Verdict::default();
    if ask.wants("written") {
        write_volume::run(&databases, &mut verdict).await;
    }
    if ask.wants("pages") {
        pages::run(&databases, if ask.full { 1_000_000 } else { 50_000 }, &mut verdict).await;
    }
    if ask.wants("rates") {
        rates::run(&databases).await;
    }
    if ask.wants("tasks") {
        tasks::run(&databases).await;
    }
    verdict.end()
}

//! What the stores write, how long a page of a list takes, and how many transitions and tasks
//! they do in a second: each against a limit, or a floor that is measured in the same run.
//!
//! ```sh
//! cargo xtask bench stores                    # pages among 50,000 tasks
//! cargo xtask bench stores --full             # among 1,000,000
//! cargo xtask bench stores --only written     # or pages, rates, tasks
//! ```
//!
//! It ends with an error if a limit was not kept. It stands here and not in a package of its own,
//! as it needs nothing that the tests of this crate don't need. PostgreSQL is started from what
//! is installed: what a server writes can only be counted where nobody else writes.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench talks on standard output, and stops where something does not work"
)]

mod floor;
mod pages;
mod place;
mod rates;
mod tasks;
mod verdict;
mod written;

use std::process::ExitCode;

use a2a_test_servers::Private;

use place::Place;
use verdict::Verdict;

/// What the command line asks for.
struct Ask {
    full: bool,
    only: Vec<String>,
}

impl Ask {
    fn new() -> Self {
        let mut ask = Self { full: false, only: Vec::new() };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--full" => ask.full = true,
                "--only" => ask.only.extend(words.next()),
                // Cargo says so to every bench.
                "--bench" => {}
                _ => println!("{word} is not known"),
            }
        }
        ask
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let ask = Ask::new();
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

//! `a2a serve --model` against a mock of the model providers: a row for each behaviour, a column for
//! each provider. Then against a provider that follows a script: a row for each point of a run at
//! which the server is killed.

mod aimock;
mod bench;
mod chat;
mod crash;
mod expect;
#[path = "../../../crates/a2a-kit-models/tests/fake/mod.rs"]
mod fake;
mod process;
mod row;

use std::{path::PathBuf, time::Duration};

use futures_util::future::{BoxFuture, join_all};
use serde::Deserialize;

pub use self::crash::{POINTS, Point, Successor, name as crash_name};
use self::{
    bench::{Bench, Seen},
    expect::Result,
};

/// Timeout of a check.
const LIMIT: Duration = Duration::from_secs(60);

/// What to run.
#[derive(Clone, Debug, Deserialize)]
pub struct Plan {
    /// The program `a2a`.
    pub binary: PathBuf,
    /// The script of the mock.
    pub mock: PathBuf,
    /// The directory of logs and stores.
    pub folder: PathBuf,
    /// Parts of the names of the checks to run; empty for all.
    pub only: Vec<String>,
}

impl Plan {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|text| name.contains(text))
    }
}

/// A provider: a column.
#[derive(Clone, Copy, Debug)]
pub struct Provider {
    /// The name in `--model`.
    pub name: &'static str,
    /// The path of its API at the mock; `None` for a provider that the command can't serve yet.
    path: Option<&'static str>,
}

/// The columns.
pub const PROVIDERS: [Provider; 6] = [
    Provider { name: "openai", path: Some("/v1") },
    Provider { name: "openai-chat", path: Some("/v1") },
    Provider { name: "anthropic", path: Some("") },
    Provider { name: "gemini", path: Some("/v1beta") },
    Provider { name: "ollama", path: Some("/v1") },
    Provider { name: "openrouter", path: Some("/api/v1") },
];

type Check = for<'a> fn(&'a Bench) -> BoxFuture<'a, Result>;

/// A behaviour: a row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub name: &'static str,
    check: Check,
}

/// The rows.
pub const ROWS: [Row; 9] = [
    Row { name: "send", check: |bench| Box::pin(row::send(bench)) },
    Row { name: "first before last", check: |bench| Box::pin(row::first_before_last(bench)) },
    Row { name: "cancel", check: |bench| Box::pin(row::cancel(bench)) },
    Row { name: "memory", check: |bench| Box::pin(row::memory(bench)) },
    Row { name: "kill -9 in mid-answer", check: |bench| Box::pin(row::kill(bench)) },
    Row { name: "usage", check: |bench| Box::pin(row::usage(bench)) },
    Row { name: "rate limit", check: |bench| Box::pin(row::rate_limit(bench)) },
    Row { name: "cut", check: |bench| Box::pin(row::cut(bench)) },
    Row { name: "wrong key", check: |bench| Box::pin(row::wrong_key(bench)) },
];

/// A cell of the matrix.
#[derive(Clone, Debug)]
pub enum Cell {
    Passed,
    Failed(String),
    /// Not asked for.
    Omitted,
    /// The command can't serve this provider.
    NotServed,
}

impl Cell {
    fn of(result: std::result::Result<Result, tokio::time::error::Elapsed>) -> Self {
        match result {
            Ok(Ok(())) => Self::Passed,
            Ok(Err(error)) => Self::Failed(error.to_string()),
            Err(_elapsed) => Self::Failed(format!("no end after {LIMIT:?}")),
        }
    }
}

/// The results.
#[derive(Clone, Debug)]
pub struct Report {
    /// For each provider, a cell for each of [`ROWS`].
    pub matrix: Vec<(Provider, Vec<Cell>)>,
    /// For each successor, a cell for each of [`POINTS`].
    pub crashes: Vec<(Successor, Vec<Cell>)>,
    /// The number of completed calls that were repeated after a kill.
    pub repeated: usize,
}

/// Runs the matrix, all columns at the same time, then the crashes. Each column has a mock and a
/// server of its own, so that what the mock counts is of one check.
pub async fn run(plan: &Plan) -> Report {
    let columns = PROVIDERS.map(|provider| tokio::spawn(column(plan.clone(), provider)));
    let columns = join_all(columns).await.into_iter();
    let matrix = columns
        .map(|column| column.expect("checks are run within a timeout of their own"))
        .collect();
    let (crashes, repeated) = crash::run(plan).await;
    Report { matrix, crashes, repeated }
}

/// The name of a check.
pub fn name(provider: &Provider, row: &Row) -> String {
    format!("{}/{}", provider.name, row.name)
}

async fn column(plan: Plan, provider: Provider) -> (Provider, Vec<Cell>) {
    let Some(path) = provider.path else { return (provider, vec![Cell::NotServed; ROWS.len()]) };
    let is_wanted = |row: &Row| plan.wants(&name(&provider, row));
    if !ROWS.iter().any(is_wanted) {
        return (provider, vec![Cell::Omitted; ROWS.len()]);
    }
    let bench = match Bench::start(&plan, provider, path).await {
        Ok(bench) => bench,
        Err(error) => {
            let failed = |row| match is_wanted(row) {
                true => Cell::Failed(error.to_string()),
                false => Cell::Omitted,
            };
            return (provider, ROWS.iter().map(failed).collect());
        }
    };
    let mut cells = Vec::new();
    for row in &ROWS {
        cells.push(match is_wanted(row) {
            false => Cell::Omitted,
            true => Cell::of(tokio::time::timeout(LIMIT, (row.check)(&bench)).await),
        });
    }
    (provider, cells)
}

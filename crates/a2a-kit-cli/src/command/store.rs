//! `a2a store`: what operators do with the store of a server.

use std::io::{self, BufRead as _, IsTerminal as _};

use a2a_core::well_known::Timestamp;
use a2a_kit_operations::store::{DeadLetter, DeadLetterQuery};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::{
    failure::Failure,
    output::{Output, Text},
    serve::OpenStore,
    settings::{Environment, serve::store_location},
};

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// List, redeliver or purge the events that webhooks never took
    #[command(subcommand)]
    DeadLetters(DeadLetters),
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetters {
    /// List dead letters, newest first
    List(List),
    /// Deliver dead letters again
    ///
    /// Each webhook resumes at the first of its chosen events, so later events may reach it a
    /// second time. Servers that share a PostgreSQL store deliver within seconds, one with a
    /// file when it is started again.
    Redeliver(Chosen),
    /// Delete dead letters
    Purge(Purge),
}

/// Which store, and which letters of it.
#[derive(Args, Debug)]
pub(crate) struct Chosen {
    /// Store with the letters: the path of a file, or postgres://user@host/database. Its server may
    /// run; only to redeliver or purge letters of a file it must be stopped. The variable is
    /// A2ACLI_SERVE_STORE_LOCATION
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Only letters of this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only letters of webhooks with this id
    #[arg(long, value_name = "ID")]
    config_id: Option<String>,
    /// Only letters of tasks of this owner
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// Only letters of tasks of this tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Only letters older than this time, as RFC 3339
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    chosen: Chosen,
    /// Most letters to list
    #[arg(long, default_value_t = 100, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    limit: u16,
}

#[derive(Args, Debug)]
pub(crate) struct Purge {
    #[command(flatten)]
    chosen: Chosen,
    /// Delete without asking
    #[arg(long, short)]
    yes: bool,
}

impl StoreCommand {
    pub(super) async fn run(
        self,
        environment: &Environment,
        output: Output,
    ) -> Result<(), Failure> {
        let Self::DeadLetters(command) = self;
        match command {
            DeadLetters::List(list) => list.run(environment, output).await,
            DeadLetters::Redeliver(chosen) => chosen.redeliver(environment, output).await,
            DeadLetters::Purge(purge) => purge.run(environment, output).await,
        }
    }
}

impl Chosen {
    fn query(&self) -> Result<DeadLetterQuery, Failure> {
        let before = self.before.as_deref().map(str::parse::<Timestamp>).transpose();
        let mut query = DeadLetterQuery::default();
        query.before = before.map_err(|error| {
            Failure::usage(format!("--before: {error}"))
                .with_hint("for example 2026-01-31T12:00:00Z")
        })?;
        query.task_id.clone_from(&self.task);
        query.config_id.clone_from(&self.config_id);
        query.owner.clone_from(&self.owner);
        query.tenant.clone_from(&self.tenant);
        Ok(query)
    }

    fn location(&self, environment: &Environment) -> Result<Option<String>, Failure> {
        match &self.store {
            Some(location) => Ok(Some(location.clone())),
            None => store_location(environment),
        }
    }

    async fn redeliver(self, environment: &Environment, output: Output) -> Result<(), Failure> {
        let query = self.query()?;
        let store = OpenStore::open(self.location(environment)?.as_deref()).await?;
        let done = store.run(async |store| store.redeliver(&query).await).await?;
        output.result(&json!({ "queued": done.queued, "lost": done.lost }), |text| {
            text.line("Queued", &done.queued.to_string());
            text.line("Lost", &done.lost.to_string());
        })?;
        if done.lost > 0 {
            output.note("lost letters stay: their task, webhook or event is gone");
        }
        Ok(())
    }
}

impl List {
    async fn run(self, environment: &Environment, output: Output) -> Result<(), Failure> {
        let mut query = self.chosen.query()?;
        query.limit = self.limit.into();
        let location = self.chosen.location(environment)?;
        let letters = OpenStore::dead_letters(location.as_deref(), &query).await?;
        let documents: Vec<_> = letters.iter().map(document).collect();
        output.result(&json!({ "deadLetters": documents }), |text| write(text, &letters))
    }
}

impl Purge {
    async fn run(self, environment: &Environment, output: Output) -> Result<(), Failure> {
        let query = self.chosen.query()?;
        if !self.yes && !io::stdin().is_terminal() {
            return Err(Failure::usage("purge deletes dead letters for good")
                .with_hint("confirm with --yes"));
        }
        let store = OpenStore::open(self.chosen.location(environment)?.as_deref()).await?;
        let purge = async |store: &dyn a2a_kit_operations::Store| {
            if !self.yes {
                let letters = store.dead_letters(&query).await?.len();
                output.diagnostic(&format!("Delete {letters} dead letters? [y/N]"));
                let mut answer = String::new();
                let answered = io::stdin().lock().read_line(&mut answer).is_ok();
                if !answered || !matches!(answer.trim(), "y" | "Y" | "yes") {
                    return Ok(0);
                }
            }
            store.purge_dead_letters(&query).await
        };
        let purged = store.run(purge).await?;
        output.result(&json!({ "purged": purged }), |text| {
            text.line("Purged", &purged.to_string());
        })
    }
}

fn write(text: &mut Text, letters: &[DeadLetter]) {
    for letter in letters {
        text.line("Task ID", &letter.task_id);
        text.line_if_any("Owner", &letter.scope.owner);
        text.line_if_any("Tenant", &letter.scope.tenant);
        text.line("Config ID", &letter.config_id);
        text.line("URL", &letter.url);
        text.line("Event", &letter.event.to_string());
        text.line("Attempts", &letter.attempts.to_string());
        text.line("Error", &letter.error);
        text.line("Timestamp", &letter.time.to_string());
    }
    text.line("Total", &letters.len().to_string());
}

fn document(letter: &DeadLetter) -> Value {
    json!({
        "taskId": letter.task_id,
        "owner": &*letter.scope.owner,
        "tenant": &*letter.scope.tenant,
        "configId": letter.config_id,
        "url": letter.url,
        "event": letter.event.to_string(),
        "attempts": letter.attempts,
        "error": letter.error,
        "time": letter.time.to_string(),
    })
}

//! `a2a store`: what operators ask of the store of a server.

use a2a_operations::store::DeadLetter;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::Keeping;
use crate::{
    failure::Failure,
    output::{Output, Text},
    serve,
    settings::{Environment, serve::store_location},
};

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// List the events that webhooks never took, newest first
    DeadLetters(DeadLetters),
}

#[derive(Args, Debug)]
pub(crate) struct DeadLetters {
    /// Where tasks are kept: the path of a file of which the server is stopped, or
    /// postgres://user@host/database. The variable is A2ACLI_SERVE_STORE_LOCATION
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// How many of them
    #[arg(long, default_value_t = 100, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    limit: u16,
}

impl StoreCommand {
    pub(super) async fn run(
        self,
        environment: &Environment,
        output: Output,
    ) -> Result<(), Failure> {
        match self {
            Self::DeadLetters(letters) => letters.run(environment, output).await,
        }
    }
}

impl DeadLetters {
    async fn run(self, environment: &Environment, output: Output) -> Result<(), Failure> {
        let location = match self.store {
            Some(location) => Some(location),
            None => store_location(environment)?,
        };
        let keeping = Keeping { store: location, ..Keeping::default() };
        let letters = serve::dead_letters(&keeping, usize::from(self.limit)).await?;
        if output.is_json() {
            let letters: Vec<_> = letters.iter().map(document).collect();
            return output.json(&json!({ "deadLetters": letters }));
        }
        let mut text = Text::new();
        for letter in &letters {
            text.line("Task ID", &letter.task_id);
            text.line_if_any("Owner", &letter.scope.owner);
            text.line_if_any("Tenant", &letter.scope.tenant);
            text.line("Config ID", &letter.config_id);
            text.line("URL", &letter.url);
            text.line("Attempts", &letter.attempts.to_string());
            text.line("Error", &letter.error);
            text.line("Timestamp", &letter.time.to_string());
        }
        text.line("Total", &letters.len().to_string());
        output.text(&text)
    }
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
